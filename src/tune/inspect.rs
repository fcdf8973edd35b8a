use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::{
    TuneError,
    dataset::whole_inputs,
    statistics::{quantile, sort},
};
use crate::{
    graph::GraphInfo,
    runtime::{CancelToken, RuntimeError},
    serve::{Request, Server},
    tensor::{Tensor, Value},
};

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InspectOptions {
    pub iterations: usize,
    pub warmup: usize,
}

/// What running a model on a dataset showed. Times are in milliseconds.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InspectReport {
    pub warmup: usize,
    pub elapsed_ms: f64,
    pub modules: Vec<ModuleReport>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModuleReport {
    pub calls: usize,
    pub total_ms: f64,
    pub mean_ms: f64,
    pub p50_ms: f64,
    pub p90_ms: f64,
    pub p99_ms: f64,
    /// Of the time spent in all modules.
    pub share: f64,
    /// `float32[1,3,48,320]` for each distinct set of inputs seen, in order of appearance.
    pub input_types: Vec<Vec<String>>,
    pub output_types: Vec<Vec<String>>,
    pub onnx_graph: GraphInfo,
}

/// Calls the model `warmup` times untimed and `iterations` times timed, going round the samples.
pub fn inspect(
    server: &Server,
    graph: GraphInfo,
    samples: &[Vec<Tensor>],
    options: InspectOptions,
    progress: &dyn Fn(usize),
    cancel: &CancelToken,
) -> Result<InspectReport, TuneError> {
    let start = Instant::now();
    let samples = whole_inputs(samples, &graph)?;
    let outputs: std::sync::Arc<[usize]> = (0..graph.outputs.len()).collect();
    let (mut input_types, mut output_types, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for (call, sample) in samples.iter().cycle().take(options.warmup + options.iterations).enumerate() {
        if cancel.is_cancelled() {
            return Err(RuntimeError::Cancelled.into());
        }
        let request = Request { inputs: sample.clone(), outputs: outputs.clone(), cancel: Some(cancel.clone()) };
        let sent = Instant::now();
        let results = server.run(&request)?;
        if call >= options.warmup {
            times.push(sent.elapsed().as_secs_f64() * 1e3);
            add_new(&mut input_types, sample.iter().map(value_type).collect());
            add_new(&mut output_types, results.iter().map(value_type).collect());
        }
        progress(call + 1);
    }
    let total: f64 = times.iter().sum();
    let calls = times.len();
    sort(&mut times);
    let module = ModuleReport {
        calls,
        total_ms: total,
        mean_ms: total / calls as f64,
        p50_ms: quantile(&times, 0.5),
        p90_ms: quantile(&times, 0.9),
        p99_ms: quantile(&times, 0.99),
        share: 1.0,
        input_types,
        output_types,
        onnx_graph: graph,
    };
    Ok(InspectReport { warmup: options.warmup, elapsed_ms: start.elapsed().as_secs_f64() * 1e3, modules: vec![module] })
}

fn add_new(seen: &mut Vec<Vec<String>>, types: Vec<String>) {
    if !seen.contains(&types) {
        seen.push(types);
    }
}

fn tensor_type(tensor: &Tensor) -> String {
    let dims: Vec<String> = tensor.dims().iter().map(i64::to_string).collect();
    format!("{}[{}]", tensor.dtype(), dims.join(","))
}

fn value_type(value: &Value) -> String {
    match value {
        Value::Tensor(tensor) => tensor_type(tensor),
        Value::Sequence(parts) => format!("sequence of {}", parts.len()),
        Value::Map { keys, values } => format!("map({},{})", tensor_type(keys), tensor_type(values)),
        Value::None => "none".into(),
    }
}
