use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Engine;
use crate::{
    graph::Model,
    runtime::{CancelToken, RuntimeError, Session, SessionOptions},
    tensor::{Tensor, Value},
};

/// ONNX Runtime with its CPU execution provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnnxRuntimeBackend {
    #[serde(flatten)]
    pub session: SessionOptions,
}

impl OnnxRuntimeBackend {
    pub(super) fn build(&self, model: &Model, cancel: &CancelToken) -> Result<Arc<dyn Engine>, RuntimeError> {
        Ok(Arc::new(Session::new(model, &self.session, cancel)?))
    }
}

impl Engine for Session {
    fn run(
        &self,
        inputs: &[Tensor],
        outputs: &[usize],
        cancel: Option<&CancelToken>,
    ) -> Result<Vec<Value>, RuntimeError> {
        Session::run(self, inputs, outputs, cancel)
    }
}
