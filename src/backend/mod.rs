//! Ways of running a model. A backend turns a model and its settings into an engine; everything above knows engines
//! only. A new backend is a file with an [`Engine`] and a variant of [`BackendConfig`].

mod onnxruntime;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use self::onnxruntime::OnnxRuntimeBackend;
use crate::{
    graph::Model,
    runtime::{CancelToken, RuntimeError},
    tensor::{Tensor, Value},
};

/// A model ready to run. Runs may overlap.
pub trait Engine: Send + Sync {
    /// Runs the model on inputs in graph order; gives the outputs asked for by index, in that order.
    fn run(
        &self,
        inputs: &[Tensor],
        outputs: &[usize],
        cancel: Option<&CancelToken>,
    ) -> Result<Vec<Value>, RuntimeError>;
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
    pub fn build(&self, model: &Model, cancel: &CancelToken) -> Result<Arc<dyn Engine>, RuntimeError> {
        match self {
            BackendConfig::OnnxRuntime(backend) => backend.build(model, cancel),
        }
    }
}
