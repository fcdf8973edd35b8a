use std::{
    collections::BTreeMap,
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::RuntimeError;

/// A profile that ONNX Runtime wrote, summed up. The file is a Chrome trace (chrome://tracing, Perfetto).
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Profile {
    pub path: PathBuf,
    /// Runs in the trace.
    pub runs: usize,
    /// By operator and provider, the costliest first.
    pub operators: Vec<OperatorTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperatorTime {
    pub operator: String,
    pub provider: String,
    pub calls: usize,
    pub total_ms: f64,
    /// Of the time of all operators.
    pub share: f64,
}

/// What is read of an event; the trace holds more.
#[derive(Deserialize)]
struct Event {
    #[serde(default)]
    cat: String,
    #[serde(default)]
    name: String,
    /// Microseconds.
    #[serde(default)]
    dur: f64,
    #[serde(default)]
    args: Arguments,
}

#[derive(Default, Deserialize)]
struct Arguments {
    op_name: Option<String>,
    provider: Option<String>,
}

impl Profile {
    pub fn read(path: &Path) -> Result<Profile, RuntimeError> {
        let failed = |reason: String| RuntimeError::Profile { path: path.to_owned(), reason };
        let file = File::open(path).map_err(|error| failed(error.to_string()))?;
        let events: Vec<Event> =
            serde_json::from_reader(BufReader::new(file)).map_err(|error| failed(error.to_string()))?;
        let mut sums: BTreeMap<(String, String), (usize, f64)> = BTreeMap::new();
        let runs = events.iter().filter(|event| event.cat == "Session" && event.name == "model_run").count();
        for event in events.into_iter().filter(|event| event.cat == "Node" && event.name.ends_with("_kernel_time")) {
            let key = (event.args.op_name.unwrap_or_default(), event.args.provider.unwrap_or_default());
            let (calls, microseconds) = sums.entry(key).or_default();
            *calls += 1;
            *microseconds += event.dur;
        }
        let all: f64 = sums.values().map(|(_, microseconds)| microseconds).sum();
        let time = |((operator, provider), (calls, microseconds)): ((String, String), (usize, f64))| OperatorTime {
            operator,
            provider,
            calls,
            total_ms: microseconds / 1e3,
            share: if all > 0.0 { microseconds / all } else { 0.0 },
        };
        let mut operators: Vec<OperatorTime> = sums.into_iter().map(time).collect();
        operators.sort_by(|a, b| b.total_ms.total_cmp(&a.total_ms));
        Ok(Profile { path: path.to_owned(), runs, operators })
    }
}
