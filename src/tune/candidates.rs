use serde::{Deserialize, Serialize};

use crate::{
    backend::{BackendConfig, OnnxRuntimeBackend},
    runtime::{GraphOptimization, SessionOptions},
    serve::available_threads,
};

/// All that it takes to run a model again as it was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settings {
    pub backend: BackendConfig,
    /// Calls that run at once on one copy of the model.
    pub callers: usize,
}

/// A backend to try. What is given stays as it is; what is left out is the tuner's to choose.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pins {
    pub threads: Option<usize>,
    pub callers: Option<usize>,
    pub spinning: Option<bool>,
    pub graph_optimization: Option<GraphOptimization>,
}

impl Settings {
    pub fn new(threads: usize, callers: usize, spinning: bool, graph_optimization: GraphOptimization) -> Settings {
        let session = SessionOptions { threads, spinning, graph_optimization };
        Settings { backend: BackendConfig::OnnxRuntime(OnnxRuntimeBackend { session }), callers }
    }

    /// One line for people: `onnxruntime cpu, 2 threads, 1 caller, graph all`.
    pub fn describe(&self) -> String {
        let BackendConfig::OnnxRuntime(OnnxRuntimeBackend { session }) = &self.backend;
        let plural = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        let spin = if session.spinning { ", spinning" } else { "" };
        let graph = format!("{:?}", session.graph_optimization).to_lowercase();
        format!(
            "onnxruntime cpu, {}, {}{spin}, graph {graph}",
            plural(session.threads, "thread"),
            plural(self.callers, "caller")
        )
    }

    /// Refuses settings that nothing of ours writes: no threads at all, or more than a machine can start.
    pub fn check(&self) -> Result<(), String> {
        const LIMIT: usize = 1024;
        let counts = [("threads", self.session().threads), ("callers", self.callers)];
        match counts.into_iter().find(|(_, count)| !(1..=LIMIT).contains(count)) {
            Some((name, count)) => Err(format!("{count} {name}, where 1 to {LIMIT} are possible")),
            None => Ok(()),
        }
    }

    fn session(&self) -> &SessionOptions {
        let BackendConfig::OnnxRuntime(OnnxRuntimeBackend { session }) = &self.backend;
        session
    }
}

impl Pins {
    /// The one candidate of a strategy that does not search.
    pub fn alone(&self) -> Settings {
        let cores = available_threads();
        Settings::new(
            self.threads.unwrap_or(cores),
            self.callers.unwrap_or(cores),
            self.spinning.unwrap_or(false),
            self.graph_optimization.unwrap_or_default(),
        )
    }

    /// First stage of the search: how the machine's threads are spent, simple settings first.
    pub fn threading(&self) -> Vec<Settings> {
        let cores = available_threads();
        let steps = |pin: Option<usize>| pin.map_or_else(|| powers_of_two(cores), |value| vec![value]);
        let mut found = Vec::new();
        for spinning in self.spinning.map_or(vec![false, true], |value| vec![value]) {
            for &threads in &steps(self.threads) {
                for &callers in &steps(self.callers) {
                    // A session of one thread has nobody to spin; each caller brings its own thread to share the rest.
                    let pointless = spinning && threads == 1 && self.spinning.is_none();
                    let crowded = threads * callers > 2 * cores && self.threads.is_none() && self.callers.is_none();
                    if !pointless && !crowded {
                        let level = self.graph_optimization.unwrap_or_default();
                        found.push(Settings::new(threads, callers, spinning, level));
                    }
                }
            }
        }
        found
    }

    /// Second stage: other levels of graph optimisation for the best threading.
    pub fn graph_levels(&self, best: &Settings) -> Vec<Settings> {
        if self.graph_optimization.is_some() {
            return Vec::new();
        }
        let session = best.session();
        [GraphOptimization::Extended, GraphOptimization::Basic]
            .map(|level| Settings::new(session.threads, best.callers, session.spinning, level))
            .to_vec()
    }
}

/// 1, 2, 4, … and the limit itself.
fn powers_of_two(limit: usize) -> Vec<usize> {
    let mut steps: Vec<usize> =
        std::iter::successors(Some(1), |step| Some(step * 2)).take_while(|&step| step < limit).collect();
    steps.push(limit);
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_hold_and_the_rest_is_searched() {
        let pins = Pins { threads: Some(1), ..Pins::default() };
        let found = pins.threading();
        assert!(!found.is_empty() && found.iter().all(|settings| settings.session().threads == 1));
        assert!(found.iter().all(|settings| !settings.session().spinning));
        assert_eq!(pins.graph_levels(&found[0]).len(), 2);
        let all = Pins {
            threads: Some(3),
            callers: Some(5),
            spinning: Some(true),
            graph_optimization: Some(GraphOptimization::Basic),
        };
        assert_eq!(all.threading(), vec![all.alone()]);
        assert!(all.graph_levels(&all.alone()).is_empty());
    }

    #[test]
    fn steps_end_at_the_limit() {
        assert_eq!(powers_of_two(1), [1]);
        assert_eq!(powers_of_two(6), [1, 2, 4, 6]);
        assert_eq!(powers_of_two(8), [1, 2, 4, 8]);
    }
}
