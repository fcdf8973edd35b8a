use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use napi::{
    Env,
    bindgen_prelude::{Object, PromiseRaw},
};
use napi_derive::napi;

use super::{
    Cancel,
    promise::{Settle, on_thread},
    tensor::{Outputs, RawView, Snapshot, read_inputs},
    to_json, to_napi, token,
};
use crate::{
    checkpoint,
    error::ErrorReport,
    graph::{GraphInfo, Model, ModelSource},
    runtime::{CancelToken, Runtime, RuntimeError},
    serve::{DEFAULT_QUEUE_LIMIT, Request, ServeError, Server},
    tensor::DType,
    tune::{Machine, Pins, Settings},
};

/// A loaded model with the threads that serve it, and the report of its tune if it was tuned.
#[napi]
pub struct NativeModule {
    served: Mutex<Option<Arc<Served>>>,
    info: ModuleInfo,
}

/// What stays readable after the module is disposed.
struct ModuleInfo {
    graph: String,
    backend: String,
    report: Option<String>,
    dtypes: Vec<Option<DType>>,
    outputs: Arc<[usize]>,
}

/// What a module runs on.
pub struct Served {
    pub model: Arc<Model>,
    pub graph: GraphInfo,
    pub server: Server,
    pub settings: Settings,
    /// Fingerprint of the model when it was tuned.
    sha256: Option<String>,
}

impl NativeModule {
    fn new(
        model: Arc<Model>,
        server: Server,
        settings: Settings,
        tuned: Option<(String, String)>,
    ) -> Result<NativeModule, ErrorReport> {
        let graph = model.info();
        let (report, sha256) = tuned.unzip();
        let backend = serde_json::json!({
            "name": "onnxruntime",
            "provider": "cpu",
            "version": Runtime::get()?.version(),
            "library": Runtime::get()?.path(),
            "settings": settings,
        });
        let info = ModuleInfo {
            graph: to_json(&graph)?,
            backend: backend.to_string(),
            report,
            dtypes: graph.inputs.iter().map(|input| input.dtype).collect(),
            outputs: (0..graph.outputs.len()).collect(),
        };
        let served = Served { model, graph, server, settings, sha256 };
        Ok(NativeModule { served: Mutex::new(Some(Arc::new(served))), info })
    }

    pub fn served(&self) -> napi::Result<Arc<Served>> {
        self.lock().clone().ok_or_else(|| to_napi(ServeError::Closed))
    }

    pub fn dtypes(&self) -> &[Option<DType>] {
        &self.info.dtypes
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Served>>> {
        // Only ever cloned or taken under the lock.
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[napi]
impl NativeModule {
    /// `GraphInfo` as JSON.
    #[napi(getter, catch_unwind)]
    pub fn graph_info(&self) -> &str {
        &self.info.graph
    }

    /// `BackendInfo` as JSON.
    #[napi(getter, catch_unwind)]
    pub fn backend(&self) -> &str {
        &self.info.backend
    }

    /// The report of the tune as JSON.
    #[napi(getter, catch_unwind)]
    pub fn report(&self) -> Option<&str> {
        self.info.report.as_deref()
    }

    /// Queues a run on parallel arrays of data and dimensions in graph order.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeOutput[]>")]
    pub fn run<'env>(
        &self,
        env: &'env Env,
        #[napi(ts_arg_type = "NativeData[]")] data: Object<'env>,
        #[napi(ts_arg_type = "(readonly number[])[]")] dims: Object<'env>,
        cancel: Option<&Cancel>,
    ) -> napi::Result<PromiseRaw<'env, Outputs>> {
        let served = self.served()?;
        // SAFETY: the tensors own copies.
        let inputs = unsafe { read_inputs(&data, &dims, &self.info.dtypes, Snapshot::Copy) }?;
        let cancel = cancel.map(|cancel| cancel.token.clone());
        let (settle, promise) = Settle::new(env)?;
        let request = Request { inputs, outputs: self.info.outputs.clone(), cancel };
        served.server.submit(request, move |result| settle.finish(result.map(Outputs)));
        Ok(promise)
    }

    /// Runs on the calling thread.
    #[napi(catch_unwind, ts_return_type = "NativeOutput[]")]
    pub fn run_sync<'env>(
        &self,
        #[napi(ts_arg_type = "NativeData[]")] data: Object<'env>,
        #[napi(ts_arg_type = "(readonly number[])[]")] dims: Object<'env>,
    ) -> napi::Result<Outputs> {
        let served = self.served()?;
        // SAFETY: the request is dropped before this function returns, and outputs are never views of inputs.
        let inputs = unsafe { read_inputs(&data, &dims, &self.info.dtypes, Snapshot::Borrow) }?;
        let request = Request { inputs, outputs: self.info.outputs.clone(), cancel: None };
        served.server.run(&request).map(Outputs).map_err(to_napi)
    }

    /// Takes no more runs; settles when those that were accepted have ended and the session is freed.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn dispose<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        let (settle, promise) = Settle::new(env)?;
        let served = self.lock().take();
        match served {
            Some(served) => served.server.close(move || settle.finish(Ok::<_, ServeError>(()))),
            None => settle.finish(Ok::<_, ServeError>(())),
        }
        Ok(promise)
    }

    /// Writes a tuned module to one file.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn save<'env>(
        &self,
        env: &'env Env,
        path: String,
        cancel: Option<&Cancel>,
    ) -> napi::Result<PromiseRaw<'env, ()>> {
        let served = self.served()?;
        let (report, cancel) = (self.info.report.clone().unwrap_or_default(), token(cancel));
        on_thread(env, "save", move || {
            let tuned = checkpoint::Tuned {
                settings: &served.settings,
                machine: Machine::here(Runtime::get()?.version()),
                report: &report,
                sha256: served.sha256.as_deref().unwrap_or_default(),
            };
            checkpoint::save(Path::new(&path), &served.model, tuned, &cancel).map_err(ErrorReport::from)
        })
    }
}

/// Where a model comes from: a path, or bytes with the external data by location.
pub fn read_source(
    path: Option<String>,
    bytes: Option<RawView>,
    external: Option<Vec<(String, RawView)>>,
) -> ModelSource {
    // SAFETY: the view was made for this call and is copied.
    let copy = |view: RawView| unsafe { view.bytes(DType::Uint8, Snapshot::Copy) };
    match (path, bytes) {
        (Some(path), _) => ModelSource::File(PathBuf::from(path)),
        (None, bytes) => ModelSource::Memory {
            bytes: bytes.map_or_else(Bytes::new, copy),
            external: external.unwrap_or_default().into_iter().map(|(name, view)| (name, copy(view))).collect(),
        },
    }
}

/// Reads the graph without a session; gives `GraphInfo` as JSON.
#[napi(catch_unwind, ts_return_type = "Promise<string>")]
pub fn read_graph<'env>(
    env: &'env Env,
    path: Option<String>,
    #[napi(ts_arg_type = "Uint8Array | null")] bytes: Option<RawView>,
    #[napi(ts_arg_type = "[string, Uint8Array][] | null")] external: Option<Vec<(String, RawView)>>,
) -> napi::Result<PromiseRaw<'env, String>> {
    let source = read_source(path, bytes, external);
    on_thread(env, "graph", move || to_json(&Model::open(source)?.info()))
}

/// Loads a model; `options` is JSON of the settings given, the rest takes its defaults.
#[napi(catch_unwind, ts_return_type = "Promise<NativeModule>")]
pub fn load_module<'env>(
    env: &'env Env,
    path: Option<String>,
    #[napi(ts_arg_type = "Uint8Array | null")] bytes: Option<RawView>,
    #[napi(ts_arg_type = "[string, Uint8Array][] | null")] external: Option<Vec<(String, RawView)>>,
    options: String,
    cancel: Option<&Cancel>,
) -> napi::Result<PromiseRaw<'env, NativeModule>> {
    let settings = super::from_json::<Pins>(&options)?.alone();
    let (source, cancel) = (read_source(path, bytes, external), token(cancel));
    on_thread(env, "load", move || {
        let model = Arc::new(Model::open(source)?);
        model.check_external_data()?;
        serve(model, settings, None, &cancel)
    })
}

/// Loads a checkpoint.
#[napi(catch_unwind, ts_return_type = "Promise<NativeModule>")]
pub fn load_checkpoint<'env>(
    env: &'env Env,
    path: String,
    cancel: Option<&Cancel>,
) -> napi::Result<PromiseRaw<'env, NativeModule>> {
    let cancel = token(cancel);
    on_thread(env, "load", move || {
        let checkpoint = checkpoint::load(Path::new(&path), &cancel)?;
        let tuned = (checkpoint.report, checkpoint.manifest.model.sha256);
        serve(Arc::new(checkpoint.model), checkpoint.manifest.settings, Some(tuned), &cancel)
    })
}

/// Builds the engine and starts its threads.
pub fn serve(
    model: Arc<Model>,
    settings: Settings,
    tuned: Option<(String, String)>,
    cancel: &CancelToken,
) -> Result<NativeModule, ErrorReport> {
    if cancel.is_cancelled() {
        return Err(RuntimeError::Cancelled.into());
    }
    let engine = settings.backend.build(&model, cancel)?;
    let server = Server::start(engine, settings.callers, DEFAULT_QUEUE_LIMIT)?;
    NativeModule::new(model, server, settings, tuned)
}
