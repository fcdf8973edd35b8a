//! The short way for runs on the calling thread: a function that carries its module, without a class around it.

use std::{
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
    sync::Arc,
};

use napi::{Env, JsError, Unknown, bindgen_prelude::FromNapiValue, check_status, sys};
use smallvec::{SmallVec, smallvec};

use super::{
    inputs::read_values,
    outputs::{Outputs, Target},
    state::State,
    to_napi,
    view::{RawView, Snapshot},
};
use crate::{error::ErrorReport, serve::Request};

/// `(dims, outputs, ...inputs, ...into) => NativeOutputs`; see `NativeModule::run`. Dimensions of the outputs come back in
/// the array that brought those of the inputs.
pub fn sync_runner<'env>(env: &'env Env, state: Arc<State>) -> napi::Result<Unknown<'env>> {
    let (context, mut function) = (Arc::into_raw(state).cast_mut().cast::<c_void>(), ptr::null_mut());
    // SAFETY: a live environment, a place for the answer; the context lives until `finalize`.
    let status = unsafe { sys::napi_create_function(env.raw(), ptr::null(), 0, Some(run), context, &mut function) };
    if status != sys::Status::napi_ok {
        // SAFETY: nobody took the reference.
        unsafe { finalize(env.raw(), context, ptr::null_mut()) };
    }
    check_status!(status)?;
    // SAFETY: the function just made; the reference is given back when it is collected.
    check_status!(unsafe {
        sys::napi_add_finalizer(env.raw(), function, context, Some(finalize), ptr::null_mut(), ptr::null_mut())
    })?;
    // SAFETY: a live value of this environment.
    unsafe { Unknown::from_napi_value(env.raw(), function) }
}

unsafe extern "C" fn run(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    // SAFETY: called by the engine with its environment and the arguments of the call.
    let result = catch_unwind(AssertUnwindSafe(|| unsafe { run_call(env, info) }));
    let result = result.unwrap_or_else(|_| Err(to_napi(ErrorReport::new("ERR_INTERNAL", "the run panicked"))));
    result.unwrap_or_else(|error| {
        // SAFETY: as above.
        unsafe { JsError::from(error).throw_into(env) };
        ptr::null_mut()
    })
}

/// Arguments that most calls stay below.
type Arguments = SmallVec<[sys::napi_value; 12]>;

unsafe fn run_call(env: sys::napi_env, info: sys::napi_callback_info) -> napi::Result<sys::napi_value> {
    let mut arguments: Arguments = smallvec![ptr::null_mut(); 12];
    let (mut count, mut context) = (arguments.len(), ptr::null_mut());
    // SAFETY: the array has room for `count` arguments.
    check_status!(unsafe {
        sys::napi_get_cb_info(env, info, &mut count, arguments.as_mut_ptr(), ptr::null_mut(), &mut context)
    })?;
    if count > arguments.len() {
        arguments.resize(count, ptr::null_mut());
        // SAFETY: as above.
        check_status!(unsafe {
            sys::napi_get_cb_info(env, info, &mut count, arguments.as_mut_ptr(), ptr::null_mut(), ptr::null_mut())
        })?;
    }
    arguments.truncate(count);
    // SAFETY: the context given at creation, alive as long as the function that is being called.
    let state = unsafe { &*context.cast::<State>() };
    let inputs = state.info.dtypes.len();
    let [dims, outputs, values @ ..] = &arguments[..] else { return Err(to_napi(missing())) };
    if values.len() < inputs {
        return Err(to_napi(missing()));
    }
    let (data, into) = values.split_at(inputs);
    // SAFETY: live values of this call; the request is dropped before it returns, and outputs are never views of inputs.
    unsafe {
        let dims = RawView::from_napi_value(env, *dims)?;
        let outputs = Option::<Vec<u32>>::from_napi_value(env, *outputs)?;
        let inputs = read_values(env, data, &dims, &state.info.dtypes, Snapshot::Borrow)?;
        let into = into.iter().map(|&array| Target::read_one(env, array, Snapshot::Borrow));
        let into = into.collect::<napi::Result<_>>()?;
        let (outputs, declared) = state.selected(outputs);
        let request = Request { inputs, outputs, cancel: None };
        let values = state.served()?.server.run(&request).map_err(ErrorReport::from);
        Outputs { values, declared, into }.into_js(env, Some(&dims))
    }
}

fn missing() -> ErrorReport {
    ErrorReport::new("ERR_INTERNAL", "the JavaScript face gave too few arguments")
}

unsafe extern "C" fn finalize(_: sys::napi_env, context: *mut c_void, _: *mut c_void) {
    // SAFETY: the reference that was given as context, taken back once.
    drop(unsafe { Arc::from_raw(context.cast::<State>()) });
}
