//! Models and checkpoints on their way to a module.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use napi::{Env, bindgen_prelude::PromiseRaw};
use napi_derive::napi;
use serde::Deserialize;

use super::{
    Cancel,
    module::NativeModule,
    promise::on_thread,
    state::{Fallback, State},
    to_json, token,
    view::{RawView, Snapshot},
};
use crate::{
    checkpoint,
    error::ErrorReport,
    graph::{GraphError, Model, ModelSource},
    runtime::{CancelToken, Runtime, RuntimeError, SessionFiles},
    serve::{DEFAULT_QUEUE_LIMIT, Server, give_memory_back},
    tensor::DType,
    tune::{Pins, Settings},
};

/// Where a model comes from: a path, or bytes with the external data by location.
fn read_source(
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
    on_thread(env, "graph", &CancelToken::new(), move || to_json(&Model::open(source)?.info()))
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
    on_thread(env, "load", &cancel.clone(), move || {
        let model = match Model::open(source.clone()) {
            Err(GraphError::OrtFormat { .. }) => Model::open_opaque(source)?,
            model => model?,
        };
        model.check_external_data()?;
        if let (Some(source), Some(target)) = (model.path(), &options.serving.files.optimized_model_path)
            && source.canonicalize().is_ok_and(|source| target.canonicalize().is_ok_and(|target| source == target))
        {
            return Err(ErrorReport::new("ERR_OPTION", "options.optimizedModelPath is the model itself"));
        }
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
    on_thread(env, "load", &cancel.clone(), move || {
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
    model.release_pages();
    let engine = settings.backend.build(&model, &serving.files, cancel)?;
    give_memory_back();
    let model = match engine.signature().filter(|_| model.is_opaque()) {
        Some((inputs, outputs)) => {
            let mut declared = Model::clone(&model);
            declared.declare(inputs, outputs);
            Arc::new(declared)
        }
        None => model,
    };
    let server = Server::start(engine, settings.callers, serving.queue_limit.unwrap_or(DEFAULT_QUEUE_LIMIT))?;
    Ok(NativeModule::new(State::new(model, server, settings, tuned, serving.inline, fallback)?))
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
