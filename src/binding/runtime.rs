use std::{path::Path, str::FromStr};

use napi::{
    Env, Status,
    bindgen_prelude::{Function, PromiseRaw},
    threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode},
};
use napi_derive::napi;

use super::{
    promise::{end_jobs, on_thread},
    to_napi,
};
use crate::{
    error::ErrorReport,
    log,
    runtime::{CancelToken, Runtime, follow_log_level, set_library},
};

/// Names the ONNX Runtime library to load.
#[napi(catch_unwind)]
pub fn set_runtime(library_path: String) -> napi::Result<()> {
    set_library(Path::new(&library_path)).map_err(to_napi)
}

/// Ends all work of this environment and waits for it a while. To be called when the process exits: Node closes
/// environments of workers only, and the runtime's globals go away under the threads that still use them.
#[napi(catch_unwind)]
pub fn end_work(env: &Env) -> napi::Result<()> {
    end_jobs(env)
}

/// Loads the runtime if it isn't loaded yet; gives its facts as JSON.
#[napi(catch_unwind, ts_return_type = "Promise<string>")]
pub fn versions<'env>(env: &'env Env) -> napi::Result<PromiseRaw<'env, String>> {
    on_thread(env, "versions", &CancelToken::new(), || {
        let runtime = Runtime::get()?;
        Ok::<_, ErrorReport>(
            serde_json::json!({
                "onnxtune": env!("CARGO_PKG_VERSION"),
                "onnxruntime": runtime.version(),
                "library": runtime.path(),
            })
            .to_string(),
        )
    })
}

/// Weak, so that it keeps no process alive; bounded, so that a busy event loop loses lines rather than memory.
type LogFunction = ThreadsafeFunction<String, (), String, Status, false, true, 1024>;

/// Sends log lines of this level and above to a callback, as JSON; none ends it.
#[napi(catch_unwind)]
pub fn set_logger(
    level: String,
    #[napi(ts_arg_type = "((line: string) => void) | null")] callback: Option<Function<'_, String, ()>>,
) -> napi::Result<()> {
    let level = tracing::Level::from_str(&level).unwrap_or(tracing::Level::WARN);
    let callback: Option<LogFunction> = callback
        .map(|callback| {
            callback
                .build_threadsafe_function()
                .callee_handled::<false>()
                .weak::<true>()
                .max_queue_size::<1024>()
                .build()
        })
        .transpose()?;
    let sink = callback.map(|callback| {
        Box::new(move |record: log::Record| {
            let line = serde_json::json!({
                "level": record.level.as_str().to_lowercase(),
                "target": record.target,
                "message": record.message,
            });
            callback.call(line.to_string(), ThreadsafeFunctionCallMode::NonBlocking);
        }) as Box<dyn Fn(log::Record) + Send + Sync>
    });
    log::set_sink(level, sink);
    follow_log_level();
    Ok(())
}

/// Writes log lines to stderr if the environment asks for it: `ONNXTUNE_LOG=error|warn|info|debug|trace`.
pub fn log_as_environment_says() {
    let level = std::env::var("ONNXTUNE_LOG").ok().and_then(|level| tracing::Level::from_str(&level).ok());
    if let Some(level) = level {
        let write = |record: log::Record| eprintln!("{} {}: {}", record.level, record.target, record.message);
        log::set_sink(level, Some(Box::new(write)));
    }
}
