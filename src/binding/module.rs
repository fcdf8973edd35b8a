use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use napi::{
    Env,
    bindgen_prelude::{Object, PromiseRaw},
};
use napi_derive::napi;
use serde::{Deserialize, Serialize};

use super::{
    Cancel,
    inputs::read_inputs,
    outputs::{Outputs, Target},
    promise::{LookOut, Settle, on_thread},
    to_json, to_napi, token,
    view::{RawView, Snapshot},
};
use crate::{
    checkpoint,
    error::ErrorReport,
    graph::{GraphError, GraphInfo, Model, ModelSource},
    runtime::{CancelToken, Runtime, RuntimeError, SessionFiles},
    serve::{DEFAULT_QUEUE_LIMIT, Request, ServeError, Server},
    tensor::DType,
    tune::{Machine, Pins, Settings},
};

/// The longest run, by the average of recent ones, that `inline: 'auto'` does inside the call.
const INLINE: Duration = Duration::from_micros(100);
/// Runs shorter than this are waited for in the call, if a thread is there to take them at once, …
const BRISK: Duration = Duration::from_micros(20);
/// … but no longer than this, whatever they turn out to take.
const LOOK_OUT: Duration = Duration::from_micros(30);

/// A loaded model with the threads that serve it, and the report of its tune if it was tuned.
#[napi]
pub struct NativeModule {
    served: Mutex<Option<Arc<Served>>>,
    info: ModuleInfo,
    /// Whether runs that are known to be short may run inside the call.
    inline: bool,
}

/// What stays readable after the module is disposed.
struct ModuleInfo {
    graph: String,
    backend: String,
    report: Option<String>,
    /// Of the inputs and outputs, as the graph declares them.
    dtypes: Vec<Option<DType>>,
    output_dtypes: Vec<Option<DType>>,
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
        inline: bool,
        fallback: Option<Fallback>,
    ) -> Result<NativeModule, ErrorReport> {
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
        Ok(NativeModule { served: Mutex::new(Some(Arc::new(served))), info, inline })
    }

    pub fn served(&self) -> napi::Result<Arc<Served>> {
        self.lock().clone().ok_or_else(|| to_napi(ServeError::Closed))
    }

    pub fn dtypes(&self) -> &[Option<DType>] {
        &self.info.dtypes
    }

    /// The outputs asked for, and what the graph declares for them.
    fn selected(&self, outputs: Option<Vec<u32>>) -> (Arc<[usize]>, Vec<Option<DType>>) {
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

    /// Whether a run is known to be short enough to hold the event loop for it.
    fn is_free(&self, server: &Server) -> bool {
        server.cost().is_some_and(|cost| cost < INLINE)
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

    /// Queues a run; see `read_inputs` for the arrays. `outputs` selects by index, `into` holds arrays to write to.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeOutputs>")]
    pub fn run<'env>(
        &self,
        env: &'env Env,
        #[napi(ts_arg_type = "NativeData[]")] data: Object<'env>,
        #[napi(ts_arg_type = "Float64Array")] dims: RawView,
        outputs: Option<Vec<u32>>,
        #[napi(ts_arg_type = "(ArrayBufferView | undefined)[] | null")] into: Option<Object<'env>>,
        cancel: Option<&Cancel>,
    ) -> napi::Result<PromiseRaw<'env, Outputs>> {
        let served = self.served()?;
        if self.inline && cancel.is_none() && self.is_free(&served.server) {
            return PromiseRaw::resolve(env, self.run_here(&served, &data, dims, outputs, into)?);
        }
        // SAFETY: the values own copies.
        let inputs = unsafe { read_inputs(&data, dims, &self.info.dtypes, Snapshot::Copy) }?;
        let into = Target::read(into, Snapshot::Copy)?;
        let cancel = cancel.map(|cancel| cancel.token.clone());
        let (settle, promise) = Settle::new(env)?;
        let (outputs, declared) = self.selected(outputs);
        let request = Request { inputs, outputs, cancel };
        let brisk = served.server.is_alert() && served.server.cost().is_some_and(|cost| cost < BRISK);
        let look_out = if brisk { LookOut::begin(&settle) } else { None };
        served.server.submit(request, move |result| {
            let values = result.map_err(ErrorReport::from);
            settle.finish(Ok::<_, ErrorReport>(Outputs { values, declared, into }));
        });
        if let Some(look_out) = look_out {
            look_out.end(env, LOOK_OUT);
        }
        Ok(promise)
    }

    /// Runs on the calling thread.
    #[napi(catch_unwind, ts_return_type = "NativeOutputs")]
    pub fn run_sync<'env>(
        &self,
        #[napi(ts_arg_type = "NativeData[]")] data: Object<'env>,
        #[napi(ts_arg_type = "Float64Array")] dims: RawView,
        outputs: Option<Vec<u32>>,
        #[napi(ts_arg_type = "(ArrayBufferView | undefined)[] | null")] into: Option<Object<'env>>,
    ) -> napi::Result<Outputs> {
        self.run_here(&*self.served()?, &data, dims, outputs, into)
    }

    fn run_here(
        &self,
        served: &Served,
        data: &Object,
        dims: RawView,
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

    /// Which provider runs how many nodes, as JSON.
    #[napi(catch_unwind)]
    pub fn placement(&self) -> napi::Result<String> {
        let engine = self.served()?.server.engine().map_err(to_napi)?;
        to_json(&engine.placement().map_err(to_napi)?).map_err(to_napi)
    }

    /// Ends profiling; gives the path of the trace and its summary as JSON, or null where profiling is off.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null>")]
    pub fn end_profiling<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, Option<String>>> {
        let served = self.served()?;
        on_thread(env, "profile", move || {
            let Some(path) = served.server.engine()?.end_profiling()? else { return Ok(None) };
            let profile = crate::runtime::Profile::read(&path)?;
            Ok::<_, ErrorReport>(Some(to_json(&profile)?))
        })
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
    folder: Option<String>,
) -> ModelSource {
    // SAFETY: the view was made for this call and is copied.
    let copy = |view: RawView| unsafe { view.bytes(DType::Uint8, Snapshot::Copy) };
    let bytes = bytes.map_or_else(Bytes::new, copy);
    match (path, folder) {
        (Some(path), _) => ModelSource::File(PathBuf::from(path)),
        (None, Some(folder)) => ModelSource::MemoryIn { bytes, folder: PathBuf::from(folder) },
        (None, None) => ModelSource::Memory {
            bytes,
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
    folder: Option<String>,
) -> napi::Result<PromiseRaw<'env, String>> {
    let source = read_source(path, bytes, external, folder);
    on_thread(env, "graph", move || to_json(&Model::open(source)?.info()))
}

/// Loads a model; `options` is JSON of the settings given, the rest takes its defaults.
#[napi(catch_unwind, ts_return_type = "Promise<NativeModule>")]
pub fn load_module<'env>(
    env: &'env Env,
    path: Option<String>,
    #[napi(ts_arg_type = "Uint8Array | null")] bytes: Option<RawView>,
    #[napi(ts_arg_type = "[string, Uint8Array][] | null")] external: Option<Vec<(String, RawView)>>,
    folder: Option<String>,
    options: String,
    cancel: Option<&Cancel>,
) -> napi::Result<PromiseRaw<'env, NativeModule>> {
    let options: LoadOptions = super::from_json(&options)?;
    let (source, cancel) = (read_source(path, bytes, external, folder), token(cancel));
    on_thread(env, "load", move || {
        let model = match Model::open(source.clone()) {
            Err(GraphError::OrtFormat { .. }) => Model::open_opaque(source)?,
            model => model?,
        };
        model.check_external_data()?;
        let settings = options.settings.over(&Settings::untuned());
        serve(Arc::new(model), settings, &options.serving, None, &cancel)
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
        let settings = checkpoint.manifest.settings;
        serve(Arc::new(checkpoint.model), settings, &Serving::default(), Some(tuned), &cancel)
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LoadOptions {
    settings: Pins,
    serving: Serving,
}

/// How a module is served; no part of what a tune finds.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Serving {
    #[serde(default)]
    files: SessionFiles,
    queue_limit: Option<usize>,
    #[serde(default)]
    inline: bool,
    /// In order of preference; the CPU without.
    providers: Option<Vec<String>>,
    /// Whether the next provider is taken where one is not available.
    fallback: Option<bool>,
}

/// Builds the engine and starts its threads.
pub fn serve(
    model: Arc<Model>,
    settings: Settings,
    serving: &Serving,
    tuned: Option<(String, String)>,
    cancel: &CancelToken,
) -> Result<NativeModule, ErrorReport> {
    if cancel.is_cancelled() {
        return Err(RuntimeError::Cancelled.into());
    }
    let fallback = choose_provider(serving)?;
    let engine = settings.backend.build(&model, &serving.files, cancel)?;
    let model = match engine.signature().filter(|_| model.is_opaque()) {
        Some((inputs, outputs)) => {
            let mut declared = Model::clone(&model);
            declared.declare(inputs, outputs);
            Arc::new(declared)
        }
        None => model,
    };
    let server = Server::start(engine, settings.callers, serving.queue_limit.unwrap_or(DEFAULT_QUEUE_LIMIT))?;
    NativeModule::new(model, server, settings, tuned, serving.inline, fallback)
}

/// A provider that was asked for and is not there, where another may take its place.
#[derive(Serialize)]
struct Fallback {
    requested: String,
    reason: String,
}

fn choose_provider(serving: &Serving) -> Result<Option<Fallback>, ErrorReport> {
    let mut fallback = None;
    for provider in serving.providers.iter().flatten() {
        match Runtime::get()?.check_provider(provider) {
            Ok(()) => return Ok(fallback),
            Err(error) if serving.fallback == Some(true) => {
                fallback.get_or_insert(Fallback { requested: provider.clone(), reason: error.to_string() });
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(fallback)
}
