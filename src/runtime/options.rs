use std::{collections::BTreeMap, path::PathBuf};

use ort::{
    AsPointer,
    session::builder::{GraphOptimizationLevel, SessionBuilder},
};
use serde::{Deserialize, Serialize};

use super::{
    Runtime,
    api::{call, check},
};

/// How ONNX Runtime is to run a model on the CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionOptions {
    /// Threads that work on one operator; the thread that calls run is one of them.
    pub threads: usize,
    /// Whether idle threads spin before they sleep. It buys little latency for much CPU time.
    #[serde(default)]
    pub spinning: bool,
    #[serde(default)]
    pub graph_optimization: GraphOptimization,
    /// Whether branches of the graph that do not depend on each other run at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution_mode: Option<ExecutionMode>,
    /// Threads for such branches; 1 otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inter_op_threads: Option<usize>,
    /// Whether numbers too small for full precision count as zero, which is faster where they abound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush_denormals: Option<bool>,
    /// Whether freed memory is kept for the next run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_arena: Option<bool>,
    /// Whether the memory of a run is planned after the first one of the same shapes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_pattern: Option<bool>,
    /// Fixed lengths for the graph's symbolic dimensions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub dimension_overrides: BTreeMap<String, i64>,
    /// Entries of ONNX Runtime's own configuration.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub config_entries: BTreeMap<String, String>,
}

impl Default for SessionOptions {
    /// ONNX Runtime's defaults on one thread.
    fn default() -> Self {
        SessionOptions {
            threads: 1,
            spinning: false,
            graph_optimization: GraphOptimization::All,
            execution_mode: None,
            inter_op_threads: None,
            flush_denormals: None,
            memory_arena: None,
            memory_pattern: None,
            dimension_overrides: BTreeMap::new(),
            config_entries: BTreeMap::new(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExecutionMode {
    Sequential,
    Parallel,
}

/// How far the runtime rewrites the graph before it runs it; each level holds the ones before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GraphOptimization {
    Disabled,
    Basic,
    Extended,
    /// Includes layout changes for this processor.
    #[default]
    All,
}

/// Files that a session writes beside its work; no part of its settings.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionFiles {
    /// Where the graph is written as it is after optimisation.
    pub optimized_model_path: Option<PathBuf>,
    /// What the name of the profile begins with; profiling is off without.
    pub profile_prefix: Option<PathBuf>,
}

/// A builder with these options set; the error is a message.
pub(super) fn configure(
    runtime: &Runtime,
    options: &SessionOptions,
    files: &SessionFiles,
) -> Result<SessionBuilder, String> {
    let level = match options.graph_optimization {
        GraphOptimization::Disabled => GraphOptimizationLevel::Disable,
        GraphOptimization::Basic => GraphOptimizationLevel::Level1,
        GraphOptimization::Extended => GraphOptimizationLevel::Level2,
        GraphOptimization::All => GraphOptimizationLevel::All,
    };
    let parallel = options.execution_mode == Some(ExecutionMode::Parallel);
    let mut builder = SessionBuilder::new(&runtime.environment).map_err(message)?;
    builder = builder.with_intra_threads(options.threads).map_err(message)?;
    builder = builder.with_inter_threads(options.inter_op_threads.unwrap_or(1)).map_err(message)?;
    builder = builder.with_parallel_execution(parallel).map_err(message)?;
    builder = builder.with_optimization_level(level).map_err(message)?;
    builder = builder.with_intra_op_spinning(options.spinning).map_err(message)?;
    builder = builder.with_inter_op_spinning(options.spinning).map_err(message)?;
    // Read back as `placement`.
    builder = builder.with_config_entry("session.record_ep_graph_assignment_info", "1").map_err(message)?;
    if options.flush_denormals == Some(true) {
        builder = builder.with_flush_to_zero().map_err(message)?;
    }
    if let Some(enable) = options.memory_pattern {
        builder = builder.with_memory_pattern(enable).map_err(message)?;
    }
    if options.memory_arena == Some(false) {
        // SAFETY: live options.
        call!(DisableCpuMemArena(builder.ptr_mut()))?;
    }
    for (name, length) in &options.dimension_overrides {
        builder = builder.with_dimension_override(name, *length).map_err(message)?;
    }
    for (key, value) in &options.config_entries {
        builder = builder.with_config_entry(key, value).map_err(message)?;
    }
    if let Some(path) = &files.optimized_model_path {
        builder = builder.with_optimized_model_path(path).map_err(message)?;
    }
    if let Some(prefix) = &files.profile_prefix {
        builder = builder.with_profiling(prefix).map_err(message)?;
    }
    Ok(builder)
}

/// The builder rides in the crate's errors for reuse; only the message matters here.
fn message<T>(error: ort::Error<T>) -> String {
    error.to_string()
}
