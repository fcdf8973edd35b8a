//! What Node sees: converts and delegates, no logic. JavaScript memory is touched on the JavaScript thread only, inside
//! the call; everything that takes time runs on a thread of our own and settles a promise.

mod inputs;
mod loading;
mod module;
mod outputs;
mod promise;
mod runner;
mod runtime;
mod state;
mod tuning;
mod view;

use napi_derive::napi;

use crate::{error::ErrorReport, runtime::CancelToken};

#[napi_derive::module_init]
fn start() {
    crate::runtime::disable_telemetry();
    runtime::log_as_environment_says();
}

/// Cancels the call it was given to.
#[napi]
pub struct Cancel {
    token: CancelToken,
}

#[napi]
impl Cancel {
    #[napi(constructor)]
    #[allow(clippy::new_without_default, reason = "JavaScript calls it")]
    pub fn new() -> Cancel {
        Cancel { token: CancelToken::new() }
    }

    #[napi(catch_unwind)]
    pub fn cancel(&self) {
        self.token.cancel();
    }
}

/// The token of an optional handle; one that nobody cancels where there is none.
fn token(cancel: Option<&Cancel>) -> CancelToken {
    cancel.map(|cancel| cancel.token.clone()).unwrap_or_default()
}

/// An error whose message is the report as JSON; `lib/errors.js` makes the public error of it.
fn to_napi(error: impl Into<ErrorReport>) -> napi::Error {
    let report = error.into();
    let json = serde_json::to_string(&report).unwrap_or(report.message);
    napi::Error::from_reason(json)
}

fn to_json(value: &impl serde::Serialize) -> Result<String, ErrorReport> {
    serde_json::to_string(value).map_err(|error| ErrorReport::new("ERR_INTERNAL", error.to_string()))
}

fn from_json<T: serde::de::DeserializeOwned>(json: &str) -> napi::Result<T> {
    serde_json::from_str(json).map_err(|error| to_napi(ErrorReport::new("ERR_OPTION", error.to_string())))
}
