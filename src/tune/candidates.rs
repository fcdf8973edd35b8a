use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    backend::{BackendConfig, OnnxRuntimeBackend},
    runtime::{ExecutionMode, GraphOptimization, SessionOptions},
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

/// Settings of which some are given. What is left out comes from the settings they are laid over, or is the tuner's to
/// choose.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Pins {
    pub threads: Option<usize>,
    pub callers: Option<usize>,
    pub spinning: Option<bool>,
    pub graph_optimization: Option<GraphOptimization>,
    pub execution_mode: Option<ExecutionMode>,
    pub inter_op_threads: Option<usize>,
    pub flush_denormals: Option<bool>,
    pub memory_arena: Option<bool>,
    pub memory_pattern: Option<bool>,
    pub dimension_overrides: Option<BTreeMap<String, i64>>,
    pub config_entries: Option<BTreeMap<String, String>>,
}

impl Settings {
    pub fn new(threads: usize, callers: usize, spinning: bool, graph_optimization: GraphOptimization) -> Settings {
        let session = SessionOptions { threads, spinning, graph_optimization, ..SessionOptions::default() };
        Settings { backend: BackendConfig::OnnxRuntime(OnnxRuntimeBackend { session }), callers }
    }

    /// What a model runs with when nobody chose: every processor, for one call or for several.
    pub fn untuned() -> Settings {
        let cores = available_threads();
        Settings::new(cores, cores, false, GraphOptimization::All)
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

    /// The same with another use of threads.
    fn with_threading(&self, threads: usize, callers: usize, spinning: bool) -> Settings {
        let session = SessionOptions { threads, spinning, ..self.session().clone() };
        Settings { backend: BackendConfig::OnnxRuntime(OnnxRuntimeBackend { session }), callers }
    }

    /// The same with another level of graph optimisation.
    fn with_graph(&self, graph_optimization: GraphOptimization) -> Settings {
        let session = SessionOptions { graph_optimization, ..self.session().clone() };
        Settings { backend: BackendConfig::OnnxRuntime(OnnxRuntimeBackend { session }), callers: self.callers }
    }
}

impl Pins {
    /// What is given, over `base`.
    pub fn over(&self, base: &Settings) -> Settings {
        let given = self.clone();
        let old = base.session();
        let session = SessionOptions {
            threads: given.threads.unwrap_or(old.threads),
            spinning: given.spinning.unwrap_or(old.spinning),
            graph_optimization: given.graph_optimization.unwrap_or(old.graph_optimization),
            execution_mode: given.execution_mode.or(old.execution_mode),
            inter_op_threads: given.inter_op_threads.or(old.inter_op_threads),
            flush_denormals: given.flush_denormals.or(old.flush_denormals),
            memory_arena: given.memory_arena.or(old.memory_arena),
            memory_pattern: given.memory_pattern.or(old.memory_pattern),
            dimension_overrides: given.dimension_overrides.unwrap_or_else(|| old.dimension_overrides.clone()),
            config_entries: given.config_entries.unwrap_or_else(|| old.config_entries.clone()),
        };
        let callers = given.callers.unwrap_or(base.callers);
        Settings { backend: BackendConfig::OnnxRuntime(OnnxRuntimeBackend { session }), callers }
    }

    /// First stage of the search: how the machine's threads are spent, simple settings first.
    pub fn threading(&self, base: &Settings) -> Vec<Settings> {
        let cores = available_threads();
        let steps = |pin: Option<usize>| pin.map_or_else(|| powers_of_two(cores), |value| vec![value]);
        let over = self.over(base);
        let mut found = Vec::new();
        for spinning in self.spinning.map_or(vec![false, true], |value| vec![value]) {
            for &threads in &steps(self.threads) {
                for &callers in &steps(self.callers) {
                    // A session of one thread has nobody to spin; each caller brings its own thread to share the rest.
                    let pointless = spinning && threads == 1 && self.spinning.is_none();
                    let crowded = threads * callers > 2 * cores && self.threads.is_none() && self.callers.is_none();
                    if !pointless && !crowded {
                        found.push(over.with_threading(threads, callers, spinning));
                    }
                }
            }
        }
        found
    }

    /// Second stage: other levels of graph optimisation for the best threading.
    pub fn graph_levels(&self, best: &Settings) -> Vec<Settings> {
        match self.graph_optimization {
            Some(_) => Vec::new(),
            None => {
                [GraphOptimization::Extended, GraphOptimization::Basic].map(|level| best.with_graph(level)).to_vec()
            }
        }
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
        let base = Settings::untuned();
        let pins = Pins { threads: Some(1), flush_denormals: Some(true), ..Pins::default() };
        let found = pins.threading(&base);
        assert!(!found.is_empty() && found.iter().all(|settings| settings.session().threads == 1));
        assert!(found.iter().all(|settings| settings.session().flush_denormals == Some(true)));
        assert!(found.iter().all(|settings| !settings.session().spinning));
        assert_eq!(pins.graph_levels(&found[0]).len(), 2);
        let all = Pins {
            threads: Some(3),
            callers: Some(5),
            spinning: Some(true),
            graph_optimization: Some(GraphOptimization::Basic),
            ..Pins::default()
        };
        assert_eq!(all.threading(&base), vec![all.over(&base)]);
        assert!(all.graph_levels(&base).is_empty());
    }

    #[test]
    fn what_the_model_was_loaded_with_is_kept() {
        let overrides = BTreeMap::from([("batch".to_owned(), 1)]);
        let loaded =
            Pins { dimension_overrides: Some(overrides.clone()), ..Pins::default() }.over(&Settings::untuned());
        let found = Pins::default().threading(&loaded);
        assert!(found.iter().all(|settings| settings.session().dimension_overrides == overrides));
    }

    #[test]
    fn steps_end_at_the_limit() {
        assert_eq!(powers_of_two(1), [1]);
        assert_eq!(powers_of_two(6), [1, 2, 4, 6]);
        assert_eq!(powers_of_two(8), [1, 2, 4, 8]);
    }
}
