use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use napi::{
    Env, Unknown,
    bindgen_prelude::{Object, PromiseRaw},
};
use napi_derive::napi;

use super::{
    Cancel,
    inputs::read_inputs,
    outputs::{Outputs, Target},
    promise::{LookOut, Settle, follow_module, on_thread},
    runner::sync_runner,
    state::State,
    to_json, to_napi, token,
    view::{RawView, Snapshot},
};
use crate::{
    checkpoint,
    error::ErrorReport,
    runtime::{CancelToken, Profile, Runtime},
    serve::{Request, ServeError},
    tune::Machine,
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
    state: Arc<State>,
}

impl NativeModule {
    pub fn new(state: State) -> NativeModule {
        NativeModule { state: Arc::new(state) }
    }

    pub fn state(&self) -> &State {
        &self.state
    }
}

#[napi]
impl NativeModule {
    /// `GraphInfo` as JSON.
    #[napi(getter, catch_unwind)]
    pub fn graph_info(&self) -> &str {
        &self.state.info.graph
    }

    /// `BackendInfo` as JSON.
    #[napi(getter, catch_unwind)]
    pub fn backend(&self) -> &str {
        &self.state.info.backend
    }

    /// The report of the tune as JSON.
    #[napi(getter, catch_unwind)]
    pub fn report(&self) -> Option<&str> {
        self.state.info.report.as_deref()
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
        let state = &self.state;
        let served = state.served()?;
        let cost = served.server.cost().unwrap_or(Duration::MAX);
        if state.inline && cancel.is_none() && cost < INLINE {
            let start = Instant::now();
            let outputs = state.run_here(&served, &data, &dims, outputs, into)?;
            served.server.observe(start.elapsed());
            return PromiseRaw::resolve(env, outputs);
        }
        // SAFETY: the values own copies.
        let inputs = unsafe { read_inputs(&data, &dims, &state.info.dtypes, Snapshot::Copy) }?;
        let into = Target::read(into, Snapshot::Copy)?;
        let cancel = cancel.map(|cancel| cancel.token.clone());
        let (settle, promise) = Settle::new(env)?;
        let (outputs, declared) = state.selected(outputs);
        let request = Request { inputs, outputs, cancel };
        let brisk = cost < BRISK && served.server.is_alert();
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

    /// A function that runs on the calling thread.
    #[napi(catch_unwind, ts_return_type = "SyncRunner")]
    pub fn sync_runner<'env>(&self, env: &'env Env) -> napi::Result<Unknown<'env>> {
        follow_module(env, &self.state)?;
        sync_runner(env, self.state.clone())
    }

    /// Which provider runs how many nodes, as JSON.
    #[napi(catch_unwind)]
    pub fn placement(&self) -> napi::Result<String> {
        let engine = self.state.served()?.server.engine().map_err(to_napi)?;
        to_json(&engine.placement().map_err(to_napi)?).map_err(to_napi)
    }

    /// Ends profiling; gives the path of the trace and its summary as JSON, or null where profiling is off.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null>")]
    pub fn end_profiling<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, Option<String>>> {
        let served = self.state.served()?;
        on_thread(env, "profile", &CancelToken::new(), move || {
            let Some(path) = served.server.engine()?.end_profiling()? else { return Ok(None) };
            let profile = Profile::read(&path)?;
            Ok::<_, ErrorReport>(Some(to_json(&profile)?))
        })
    }

    /// Takes no more runs; settles when those that were accepted have ended and the session is freed.
    #[napi(catch_unwind, ts_return_type = "Promise<void>")]
    pub fn dispose<'env>(&self, env: &'env Env) -> napi::Result<PromiseRaw<'env, ()>> {
        let (settle, promise) = Settle::new(env)?;
        let served = self.state.dispose();
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
        let served = self.state.served()?;
        let (report, cancel) = (self.state.info.report.clone().unwrap_or_default(), token(cancel));
        on_thread(env, "save", &cancel.clone(), move || {
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
