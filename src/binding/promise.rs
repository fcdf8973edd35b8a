use napi::{
    Env, JsDeferred,
    bindgen_prelude::{Object, PromiseRaw, ToNapiValue},
};

use super::to_napi;
use crate::error::ErrorReport;

type Resolver<T> = Box<dyn FnOnce(Env) -> napi::Result<T> + Send>;

/// The other end of a promise. Settles it exactly once: with an error if it is dropped unsettled, since a promise left
/// pending would keep the process alive for ever.
pub struct Settle<T: ToNapiValue + Send + 'static>(Option<JsDeferred<T, Resolver<T>>>);

impl<T: ToNapiValue + Send + 'static> Settle<T> {
    pub fn new<'env>(env: &'env Env) -> napi::Result<(Settle<T>, PromiseRaw<'env, T>)> {
        let (deferred, promise): (_, Object<'env>) = env.create_deferred::<T, Resolver<T>>()?;
        let promise = PromiseRaw::new(env.raw(), napi::JsValue::raw(&promise));
        Ok((Settle(Some(deferred)), promise))
    }

    /// From any thread. The value is turned into JavaScript on the JavaScript thread.
    pub fn finish(mut self, result: Result<T, impl Into<ErrorReport>>) {
        let Some(deferred) = self.0.take() else { return };
        match result {
            Ok(value) => deferred.resolve(Box::new(move |_| Ok(value))),
            Err(error) => deferred.reject(to_napi(error)),
        }
    }
}

impl<T: ToNapiValue + Send + 'static> Drop for Settle<T> {
    fn drop(&mut self) {
        if let Some(deferred) = self.0.take() {
            deferred.reject(to_napi(ErrorReport::new("ERR_INTERNAL", "the call ended without a result")));
        }
    }
}

/// Runs work on a thread of its own and gives a promise of its result.
pub fn on_thread<'env, T, E>(
    env: &'env Env,
    name: &'static str,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> napi::Result<PromiseRaw<'env, T>>
where
    T: ToNapiValue + Send + 'static,
    E: Into<ErrorReport>,
{
    let (settle, promise) = Settle::new(env)?;
    crate::serve::spawn(name, move || {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        match result {
            Ok(result) => settle.finish(result.map_err(Into::into)),
            Err(_) => settle.finish(Err(ErrorReport::new("ERR_INTERNAL", format!("the {name} thread panicked")))),
        }
    })
    .map_err(to_napi)?;
    Ok(promise)
}
