//! The short way for runs on the calling thread: a function that carries its module, without a class around it.

use std::{
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
    sync::Arc,
};

use napi::{
    Env, JsError, Unknown,
    bindgen_prelude::{FromNapiValue, Object, ToNapiValue},
    check_status, sys,
};

use super::{state::State, to_napi, view::RawView};
use crate::error::ErrorReport;

/// `(data, dims, outputs, into) => NativeOutputs`; see `NativeModule::run`.
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

unsafe fn run_call(env: sys::napi_env, info: sys::napi_callback_info) -> napi::Result<sys::napi_value> {
    let (mut arguments, mut count, mut context) = ([ptr::null_mut(); 4], 4, ptr::null_mut());
    // SAFETY: the array has room for `count` arguments; those not given are set to undefined.
    check_status!(unsafe {
        sys::napi_get_cb_info(env, info, &mut count, arguments.as_mut_ptr(), ptr::null_mut(), &mut context)
    })?;
    // SAFETY: the context given at creation, alive as long as the function that is being called.
    let state = unsafe { &*context.cast::<State>() };
    let [data, dims, outputs, into] = arguments;
    // SAFETY: live values of this call.
    unsafe {
        let data = Object::from_napi_value(env, data)?;
        let dims = RawView::from_napi_value(env, dims)?;
        let outputs = Option::<Vec<u32>>::from_napi_value(env, outputs)?;
        let into = Option::<Object>::from_napi_value(env, into)?;
        let results = state.run_here(&*state.served()?, &data, dims, outputs, into)?;
        ToNapiValue::to_napi_value(env, results)
    }
}

unsafe extern "C" fn finalize(_: sys::napi_env, context: *mut c_void, _: *mut c_void) {
    // SAFETY: the reference that was given as context, taken back once.
    drop(unsafe { Arc::from_raw(context.cast::<State>()) });
}
