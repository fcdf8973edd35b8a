//! Ways of running a model. A backend turns a model and its settings into an engine; everything above knows engines
//! only. A new backend is a file with an [`Engine`] and a variant of [`BackendConfig`].

mod onnxruntime;

use std::{path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};

pub use self::onnxruntime::OnnxRuntimeBackend;
use crate::{
    graph::{Model, messages::ValueInfoProto},
    runtime::{CancelToken, Placement, RuntimeError, SessionFiles},
    tensor::Value,
};

/// A model ready to run. Runs may overlap.
pub trait Engine: Send + Sync {
    /// Runs the model on inputs in graph order; gives the outputs asked for by index, in that order.
    fn run(
        &self,
        inputs: &[Value],
        outputs: &[usize],
        cancel: Option<&CancelToken>,
    ) -> Result<Vec<Value>, RuntimeError>;

    /// What really runs the nodes, read back from the runtime; empty where it doesn't tell.
    fn placement(&self) -> Result<Vec<Placement>, RuntimeError> {
        Ok(Vec::new())
    }

    /// Inputs and outputs, for models whose graph can't be read; `None` where the engine doesn't tell.
    fn signature(&self) -> Option<(Vec<ValueInfoProto>, Vec<ValueInfoProto>)> {
        None
    }

    /// Ends profiling and gives the path of the Chrome trace; `None` where it was not on.
    fn end_profiling(&self) -> Result<Option<PathBuf>, RuntimeError> {
        Ok(None)
    }
}

/// A backend with its settings, as reports and checkpoints keep it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "camelCase")]
pub enum BackendConfig {
    #[serde(rename = "onnxruntime")]
    OnnxRuntime(OnnxRuntimeBackend),
}

impl BackendConfig {
    /// Prepares the model; cancelling the token ends it early.
    pub fn build(
        &self,
        model: &Model,
        files: &SessionFiles,
        cancel: &CancelToken,
    ) -> Result<Arc<dyn Engine>, RuntimeError> {
        match self {
            BackendConfig::OnnxRuntime(backend) => backend.build(model, files, cancel),
        }
    }
}
