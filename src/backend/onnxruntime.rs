use std::{path::PathBuf, sync::Arc};

use serde::{Deserialize, Serialize};

use super::Engine;
use crate::{
    graph::{Model, messages::ValueInfoProto},
    runtime::{CancelToken, Placement, RuntimeError, Session, SessionFiles, SessionOptions},
    tensor::Value,
};

/// ONNX Runtime with its CPU execution provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnnxRuntimeBackend {
    #[serde(flatten)]
    pub session: SessionOptions,
}

impl OnnxRuntimeBackend {
    pub(super) fn build(
        &self,
        model: &Model,
        files: &SessionFiles,
        cancel: &CancelToken,
    ) -> Result<Arc<dyn Engine>, RuntimeError> {
        Ok(Arc::new(Session::new(model, &self.session, files, cancel)?))
    }
}

impl Engine for Session {
    fn run(
        &self,
        inputs: &[Value],
        outputs: &[usize],
        cancel: Option<&CancelToken>,
    ) -> Result<Vec<Value>, RuntimeError> {
        Session::run(self, inputs, outputs, cancel)
    }

    fn placement(&self) -> Result<Vec<Placement>, RuntimeError> {
        Session::placement(self)
    }

    fn signature(&self) -> Option<(Vec<ValueInfoProto>, Vec<ValueInfoProto>)> {
        Some(Session::signature(self))
    }

    fn end_profiling(&self) -> Result<Option<PathBuf>, RuntimeError> {
        Session::end_profiling(self)
    }
}
