//! What a module is, apart from the JavaScript object that stands for it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use napi::bindgen_prelude::Object;
use serde::Serialize;

use super::{
    inputs::read_inputs,
    outputs::{Outputs, Target},
    to_json, to_napi,
    view::{RawView, Snapshot},
};
use crate::{
    error::ErrorReport,
    graph::{GraphInfo, Model},
    runtime::Runtime,
    serve::{Request, ServeError, Server},
    tensor::DType,
    tune::Settings,
};

pub struct State {
    served: Mutex<Option<Arc<Served>>>,
    pub info: ModuleInfo,
    /// Whether runs that are known to be short may run inside the call.
    pub inline: bool,
}

/// What stays readable after the module is disposed.
pub struct ModuleInfo {
    pub graph: String,
    pub backend: String,
    pub report: Option<String>,
    /// Of the inputs and outputs, as the graph declares them.
    pub dtypes: Vec<Option<DType>>,
    output_dtypes: Arc<[Option<DType>]>,
    outputs: Arc<[usize]>,
}

/// What a module runs on.
pub struct Served {
    pub model: Arc<Model>,
    pub graph: GraphInfo,
    pub server: Server,
    pub settings: Settings,
    /// Fingerprint of the model when it was tuned.
    pub sha256: Option<String>,
}

/// A provider that was asked for and is not there, where another may take its place.
#[derive(Serialize)]
pub struct Fallback {
    pub requested: String,
    pub reason: String,
}

impl State {
    pub fn new(
        model: Arc<Model>,
        server: Server,
        settings: Settings,
        tuned: Option<(String, String)>,
        inline: bool,
        fallback: Option<Fallback>,
    ) -> Result<State, ErrorReport> {
        let graph = model.info();
        let (report, sha256) = tuned.unzip();
        let backend = serde_json::json!({
            "name": "onnxruntime",
            "provider": "cpu",
            "version": Runtime::get()?.version(),
            "library": Runtime::get()?.path(),
            "settings": settings,
            "fallback": fallback,
        });
        let info = ModuleInfo {
            graph: to_json(&graph)?,
            backend: backend.to_string(),
            report,
            dtypes: graph.inputs.iter().map(|input| input.dtype).collect(),
            output_dtypes: graph.outputs.iter().map(|output| output.dtype).collect(),
            outputs: (0..graph.outputs.len()).collect(),
        };
        let served = Served { model, graph, server, settings, sha256 };
        Ok(State { served: Mutex::new(Some(Arc::new(served))), info, inline })
    }

    pub fn served(&self) -> napi::Result<Arc<Served>> {
        self.lock().clone().ok_or_else(|| to_napi(ServeError::Closed))
    }

    /// Takes what the module runs on away; nothing on a second call.
    pub fn dispose(&self) -> Option<Arc<Served>> {
        self.lock().take()
    }

    /// Ends its runs, for a process that exits.
    pub fn stop(&self, patience: Duration) {
        if let Ok(served) = self.served() {
            served.server.stop(patience);
        }
    }

    /// The outputs asked for, and what the graph declares for them.
    pub fn selected(&self, outputs: Option<Vec<u32>>) -> (Arc<[usize]>, Arc<[Option<DType>]>) {
        match outputs {
            None => (self.info.outputs.clone(), self.info.output_dtypes.clone()),
            Some(indices) => {
                let declared = |&index: &usize| self.info.output_dtypes.get(index).copied().flatten();
                let indices: Arc<[usize]> = indices.into_iter().map(|index| index as usize).collect();
                let declared = indices.iter().map(declared).collect();
                (indices, declared)
            }
        }
    }

    /// A run inside a call that gives a promise.
    pub fn run_here(
        &self,
        served: &Served,
        data: &Object,
        dims: &RawView,
        outputs: Option<Vec<u32>>,
        into: Option<Object>,
    ) -> napi::Result<Outputs> {
        // SAFETY: the request is dropped before this function returns, and outputs are never views of inputs.
        let inputs = unsafe { read_inputs(data, dims, &self.info.dtypes, Snapshot::Borrow) }?;
        let into = Target::read(into, Snapshot::Borrow)?;
        let (outputs, declared) = self.selected(outputs);
        let request = Request { inputs, outputs, cancel: None };
        let values = served.server.run(&request).map_err(ErrorReport::from);
        Ok(Outputs { values, declared, into })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Served>>> {
        // Only ever cloned or taken under the lock.
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
