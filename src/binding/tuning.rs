use std::sync::{Arc, Mutex, PoisonError};

use napi::{
    Env, Status,
    bindgen_prelude::{Function, Object, PromiseRaw},
    threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode},
};
use napi_derive::napi;

use super::{
    Cancel, from_json,
    inputs::read_inputs,
    loading::{Serving, serve},
    module::NativeModule,
    promise::on_thread,
    to_json, to_napi, token,
    view::{RawView, Snapshot},
};
use crate::{
    error::ErrorReport,
    tensor::{Tensor, Value},
    tune::{self, InspectOptions, TuneOptions},
};

/// Samples copied out of JavaScript, one by one.
#[napi]
pub struct NativeDataset {
    samples: Mutex<Vec<Vec<Tensor>>>,
}

#[napi]
impl NativeDataset {
    #[napi(constructor)]
    #[allow(clippy::new_without_default, reason = "JavaScript calls it")]
    pub fn new() -> NativeDataset {
        NativeDataset { samples: Mutex::default() }
    }

    /// Adds a sample: parallel arrays in the order of the module's inputs.
    #[napi(catch_unwind)]
    pub fn add<'env>(
        &self,
        module: &NativeModule,
        #[napi(ts_arg_type = "NativeData[]")] data: Object<'env>,
        #[napi(ts_arg_type = "Float64Array")] dims: RawView,
    ) -> napi::Result<()> {
        // SAFETY: the values own copies.
        let sample = unsafe { read_inputs(&data, &dims, &module.state().info.dtypes, Snapshot::Copy) }?;
        let tensor = |value| match value {
            Value::Tensor(tensor) => Ok(tensor),
            _ => Err(to_napi(ErrorReport::new("ERR_INPUT_TYPE", "only models that take tensors can be measured"))),
        };
        let sample = sample.into_iter().map(tensor).collect::<napi::Result<_>>()?;
        self.samples.lock().unwrap_or_else(PoisonError::into_inner).push(sample);
        Ok(())
    }

    /// Hands the samples over; the dataset is empty afterwards.
    fn take(&self) -> Vec<Vec<Tensor>> {
        std::mem::take(&mut self.samples.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Weak, so that it keeps no process alive; bounded, so that a busy event loop loses events rather than memory.
type ProgressFunction = ThreadsafeFunction<String, (), String, Status, false, true, 64>;

fn progress_function(callback: Function<'_, String, ()>) -> napi::Result<ProgressFunction> {
    callback.build_threadsafe_function().callee_handled::<false>().weak::<true>().max_queue_size::<64>().build()
}

fn send(progress: &ProgressFunction, event: &impl serde::Serialize) {
    if let Ok(json) = to_json(event) {
        progress.call(json, ThreadsafeFunctionCallMode::NonBlocking);
    }
}

/// Tunes the module's model on a dataset; `options` is JSON, events are `Progress` as JSON.
#[napi(catch_unwind, ts_return_type = "Promise<NativeModule>")]
pub fn tune<'env>(
    env: &'env Env,
    module: &NativeModule,
    dataset: &NativeDataset,
    options: String,
    #[napi(ts_arg_type = "(event: string) => void")] progress: Function<'env, String, ()>,
    cancel: Option<&Cancel>,
) -> napi::Result<PromiseRaw<'env, NativeModule>> {
    let options: TuneOptions = from_json(&options)?;
    let (served, samples) = (module.state().served()?, dataset.take());
    let (progress, cancel) = (progress_function(progress)?, token(cancel));
    on_thread(env, "tune", &cancel.clone(), move || {
        let baseline = served.settings.clone();
        let told = |event| send(&progress, &event);
        let tuned = tune::tune(&served.model, &served.graph, baseline, &samples, &options, &told, &cancel)?;
        let facts = (to_json(&tuned.report)?, tuned.report.model.sha256);
        serve(Arc::clone(&served.model), tuned.settings, &Serving::default(), Some(facts), &cancel)
    })
}

/// Times the module on a dataset; `options` is JSON, the result `InspectReport` as JSON, events the number of calls made.
#[napi(catch_unwind, ts_return_type = "Promise<string>")]
pub fn inspect<'env>(
    env: &'env Env,
    module: &NativeModule,
    dataset: &NativeDataset,
    options: String,
    #[napi(ts_arg_type = "(event: string) => void")] progress: Function<'env, String, ()>,
    cancel: Option<&Cancel>,
) -> napi::Result<PromiseRaw<'env, String>> {
    let options: InspectOptions = from_json(&options)?;
    let (served, samples) = (module.state().served()?, dataset.take());
    let (progress, cancel) = (progress_function(progress)?, token(cancel));
    on_thread(env, "inspect", &cancel.clone(), move || {
        let told = |calls: usize| send(&progress, &calls);
        let report = tune::inspect(&served.server, served.graph.clone(), &samples, options, &told, &cancel)?;
        to_json(&report)
    })
}
