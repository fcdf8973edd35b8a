use std::path::Path;

use napi::{Env, bindgen_prelude::PromiseRaw};
use napi_derive::napi;

use super::{promise::on_thread, to_napi};
use crate::{
    error::ErrorReport,
    runtime::{Runtime, set_library},
};

/// Names the ONNX Runtime library to load.
#[napi(catch_unwind)]
pub fn set_runtime(library_path: String) -> napi::Result<()> {
    set_library(Path::new(&library_path)).map_err(to_napi)
}

/// Loads the runtime if it isn't loaded yet; gives its facts as JSON.
#[napi(catch_unwind, ts_return_type = "Promise<string>")]
pub fn versions<'env>(env: &'env Env) -> napi::Result<PromiseRaw<'env, String>> {
    on_thread(env, "versions", || {
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
