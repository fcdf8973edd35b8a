//! Promises that any thread can settle. One threadsafe function serves all of an environment: results collect in a list,
//! and the event loop is woken once for all that wait there. (`Env::create_deferred` makes a threadsafe function for each
//! promise, which costs more than a small run.)

use std::{
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use napi::{
    Env,
    bindgen_prelude::{PromiseRaw, ToNapiValue},
    check_status, sys,
};

use super::{state::State, to_napi};
use crate::{error::ErrorReport, runtime::CancelToken};

/// Makes the value on the JavaScript thread.
type Resolver = Box<dyn FnOnce(sys::napi_env) -> napi::Result<sys::napi_value> + Send>;

struct Completed {
    deferred: Deferred,
    result: Result<Resolver, ErrorReport>,
}

struct Deferred(sys::napi_deferred);

// SAFETY: other threads only carry it; it is used on the JavaScript thread.
unsafe impl Send for Deferred {}

/// The results of an environment on their way to it.
struct Completions {
    state: Mutex<Ready>,
    /// Promises not settled yet; counted on the JavaScript thread alone.
    pending: AtomicUsize,
    /// Results waiting, for the JavaScript thread while it looks out.
    arrived: AtomicUsize,
    jobs: Mutex<Jobs>,
    /// Told when a job has ended.
    job_ended: Condvar,
}

/// Work of this environment on threads of its own, with what cancels it.
#[derive(Default)]
struct Jobs {
    next: u64,
    running: Vec<(u64, CancelToken)>,
    /// Modules, whose runs are ended too.
    modules: Vec<Weak<State>>,
}

/// How long a process that exits waits for such work to end. The runtime's globals go away at exit, and a thread that is
/// creating a session would crash then.
const EXIT_PATIENCE: Duration = Duration::from_millis(1500);

struct Ready {
    /// Null once the environment is closing: nobody is left to hear of a result.
    wake: sys::napi_threadsafe_function,
    completed: Vec<Completed>,
    /// Whether the JavaScript thread looks out, and so need not be woken.
    looking: bool,
}

// SAFETY: calling a threadsafe function is its use on any thread; teardown takes it away under the same lock.
unsafe impl Send for Ready {}

impl Completions {
    /// Those of this environment, made on first use.
    fn of(env: &Env) -> napi::Result<Arc<Completions>> {
        if let Some(completions) = env.get_instance_data::<Arc<Completions>>()? {
            return Ok(completions.clone());
        }
        let state = Mutex::new(Ready { wake: ptr::null_mut(), completed: Vec::new(), looking: false });
        let counts = || AtomicUsize::new(0);
        let completions = Arc::new(Completions {
            state,
            pending: counts(),
            arrived: counts(),
            jobs: Mutex::default(),
            job_ended: Condvar::new(),
        });
        let name = env.create_string("onnxtune")?;
        let context = Arc::into_raw(completions.clone()).cast_mut().cast::<c_void>();
        let mut wake = ptr::null_mut();
        // SAFETY: a live environment, a live string, a place for the answer; the context is freed by `finalize`.
        check_status!(unsafe {
            sys::napi_create_threadsafe_function(
                env.raw(),
                ptr::null_mut(),
                ptr::null_mut(),
                napi::JsValue::raw(&name),
                0,
                1,
                context,
                Some(finalize),
                context,
                Some(settle),
                &mut wake,
            )
        })?;
        // SAFETY: just made. Idle modules keep no process alive; `promise` takes a reference while one is pending.
        check_status!(unsafe { sys::napi_unref_threadsafe_function(env.raw(), wake) })?;
        completions.state().wake = wake;
        let hook = Arc::into_raw(completions.clone()).cast_mut().cast::<c_void>();
        // SAFETY: hooks run in reverse order, so this one before Node frees the function made above.
        check_status!(unsafe { sys::napi_add_env_cleanup_hook(env.raw(), Some(close), hook) })?;
        env.set_instance_data(completions.clone(), (), |_| ())?;
        // The threads that hold results outlive the environment of a worker, so the code must stay loaded.
        napi::bindgen_prelude::retain_current_module_for_unload_safety();
        Ok(completions)
    }

    /// # Safety
    /// On the JavaScript thread, with its live environment.
    unsafe fn settle_arrived(&self, env: sys::napi_env) {
        let completed = {
            let mut state = self.state();
            state.looking = false;
            self.arrived.store(0, Ordering::Release);
            std::mem::take(&mut state.completed)
        };
        let count = completed.len();
        for Completed { deferred, result } in completed {
            // SAFETY: as the caller promises; the deferred is settled here and nowhere else.
            unsafe { settle_one(env, deferred, result) };
        }
        if count > 0 && self.pending.fetch_sub(count, Ordering::Relaxed) == count {
            let wake = self.state().wake;
            if !wake.is_null() {
                // SAFETY: not null, so not released.
                unsafe { sys::napi_unref_threadsafe_function(env, wake) };
            }
        }
    }

    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        // Nothing that can panic runs under the lock.
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin_job(&self, cancel: CancelToken) -> u64 {
        let mut jobs = self.jobs();
        jobs.next += 1;
        let id = jobs.next;
        jobs.running.push((id, cancel));
        id
    }

    fn end_job(&self, id: u64) {
        self.jobs().running.retain(|(running, _)| *running != id);
        self.job_ended.notify_all();
    }

    /// Cancels all work and waits for it, but not for ever.
    fn end_jobs(&self) {
        let end = Instant::now() + EXIT_PATIENCE;
        let (tokens, modules) = {
            let mut jobs = self.jobs();
            let tokens: Vec<CancelToken> = jobs.running.iter().map(|(_, cancel)| cancel.clone()).collect();
            (tokens, std::mem::take(&mut jobs.modules))
        };
        tokens.iter().for_each(CancelToken::cancel);
        for module in modules.iter().filter_map(Weak::upgrade) {
            module.stop(end.saturating_duration_since(Instant::now()));
        }
        let patience = end.saturating_duration_since(Instant::now());
        let _ = self.job_ended.wait_timeout_while(self.jobs(), patience, |jobs| !jobs.running.is_empty());
    }

    fn state(&self) -> MutexGuard<'_, Ready> {
        // Nothing that can panic runs under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs on the JavaScript thread: settles all promises whose results are there.
unsafe extern "C" fn settle(env: sys::napi_env, _: sys::napi_value, context: *mut c_void, _: *mut c_void) {
    if env.is_null() {
        return;
    }
    // SAFETY: the context given at creation, which lives until `finalize`.
    let completions = unsafe { &*context.cast::<Completions>() };
    // SAFETY: on the JavaScript thread with a live environment.
    unsafe { completions.settle_arrived(env) };
}

unsafe fn settle_one(env: sys::napi_env, Deferred(deferred): Deferred, result: Result<Resolver, ErrorReport>) {
    let mut scope = ptr::null_mut();
    // SAFETY: on the JavaScript thread with a live environment; the scope is closed below.
    unsafe { sys::napi_open_handle_scope(env, &mut scope) };
    let value = result.map_err(to_napi).and_then(|resolver| {
        let made = catch_unwind(AssertUnwindSafe(|| resolver(env)));
        made.unwrap_or_else(|_| Err(to_napi(ErrorReport::new("ERR_INTERNAL", "a result could not be handed over"))))
    });
    // SAFETY: as above; value and error belong to this environment.
    unsafe {
        match value {
            Ok(value) => sys::napi_resolve_deferred(env, deferred, value),
            Err(error) => sys::napi_reject_deferred(env, deferred, napi::JsError::from(error).into_value(env)),
        };
        sys::napi_close_handle_scope(env, scope);
    }
}

/// Runs when the environment closes, before Node frees the threadsafe function.
unsafe extern "C" fn close(completions: *mut c_void) {
    // SAFETY: the reference that was given to the hook, taken back once.
    let completions = unsafe { Arc::from_raw(completions.cast::<Completions>()) };
    completions.end_jobs();
    let mut state = completions.state();
    let wake = std::mem::replace(&mut state.wake, ptr::null_mut());
    let dropped = std::mem::take(&mut state.completed);
    drop(state);
    // SAFETY: taken out under the lock, so no other thread will call it.
    unsafe { sys::napi_release_threadsafe_function(wake, sys::ThreadsafeFunctionReleaseMode::abort) };
    drop(dropped);
}

unsafe extern "C" fn finalize(_: sys::napi_env, context: *mut c_void, _: *mut c_void) {
    // SAFETY: the reference that was given as context, taken back once.
    drop(unsafe { Arc::from_raw(context.cast::<Completions>()) });
}

/// Has the runs of this module ended when the environment closes.
pub fn follow_module(env: &Env, module: &Arc<State>) -> napi::Result<()> {
    let completions = Completions::of(env)?;
    let mut jobs = completions.jobs();
    jobs.modules.retain(|module| module.strong_count() > 0);
    jobs.modules.push(Arc::downgrade(module));
    Ok(())
}

/// Ends all work of the environment and waits for it a while; for the process's exit.
pub fn end_jobs(env: &Env) -> napi::Result<()> {
    Completions::of(env)?.end_jobs();
    Ok(())
}

/// The other end of a promise. Settles it exactly once: with an error if it is dropped unsettled, since a promise left
/// pending would keep the process alive for ever.
pub struct Settle {
    completions: Arc<Completions>,
    deferred: Option<Deferred>,
}

impl Settle {
    pub fn new<'env, T>(env: &'env Env) -> napi::Result<(Settle, PromiseRaw<'env, T>)> {
        let completions = Completions::of(env)?;
        let (mut deferred, mut promise) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: a live environment and places for the answers.
        check_status!(unsafe { sys::napi_create_promise(env.raw(), &mut deferred, &mut promise) })?;
        if completions.pending.fetch_add(1, Ordering::Relaxed) == 0 {
            let wake = completions.state().wake;
            // SAFETY: JavaScript is running, so the environment is not closed and the function not released.
            unsafe { sys::napi_ref_threadsafe_function(env.raw(), wake) };
        }
        Ok((Settle { completions, deferred: Some(Deferred(deferred)) }, PromiseRaw::new(env.raw(), promise)))
    }

    /// From any thread. The value is turned into JavaScript on the JavaScript thread.
    pub fn finish<T: ToNapiValue + Send + 'static>(mut self, result: Result<T, impl Into<ErrorReport>>) {
        // SAFETY: resolvers are called with the live environment they are given.
        let resolver = |value| Box::new(move |env| unsafe { T::to_napi_value(env, value) }) as Resolver;
        self.complete(result.map(resolver).map_err(Into::into));
    }

    fn complete(&mut self, result: Result<Resolver, ErrorReport>) {
        let Some(deferred) = self.deferred.take() else { return };
        let mut state = self.completions.state();
        if state.wake.is_null() {
            drop(state);
            return;
        }
        state.completed.push(Completed { deferred, result });
        self.completions.arrived.store(state.completed.len(), Ordering::Release);
        if state.completed.len() == 1 && !state.looking {
            // SAFETY: not null, so not released; teardown waits for the lock.
            unsafe {
                sys::napi_call_threadsafe_function(
                    state.wake,
                    ptr::null_mut(),
                    sys::ThreadsafeFunctionCallMode::nonblocking,
                )
            };
        }
    }
}

impl Drop for Settle {
    fn drop(&mut self) {
        self.complete(Err(ErrorReport::new("ERR_INTERNAL", "the call ended without a result")));
    }
}

/// Work handed to another thread that is about to end, for which the JavaScript thread waits a moment in the call itself:
/// waking it afterwards would cost more than the work.
pub struct LookOut {
    completions: Arc<Completions>,
}

impl LookOut {
    /// Begins before the work of this promise is handed over; `end` has to follow. Only where no other promise is pending.
    pub fn begin(settle: &Settle) -> Option<LookOut> {
        let completions = settle.completions.clone();
        if completions.pending.load(Ordering::Relaxed) > 1 {
            return None;
        }
        completions.state().looking = true;
        Some(LookOut { completions })
    }

    /// Waits until a result has arrived, for `limit` at the most, and settles what has.
    pub fn end(self, env: &Env, limit: Duration) {
        let start = Instant::now();
        while self.completions.arrived.load(Ordering::Acquire) == 0 && start.elapsed() < limit {
            std::hint::spin_loop();
        }
        // SAFETY: on the JavaScript thread, inside a call.
        unsafe { self.completions.settle_arrived(env.raw()) };
    }
}

/// Runs work on a thread of its own and gives a promise of its result. `cancel` ends the work when the environment closes.
pub fn on_thread<'env, T, E>(
    env: &'env Env,
    name: &'static str,
    cancel: &CancelToken,
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> napi::Result<PromiseRaw<'env, T>>
where
    T: ToNapiValue + Send + 'static,
    E: Into<ErrorReport>,
{
    let (settle, promise) = Settle::new(env)?;
    let completions = settle.completions.clone();
    let job = completions.begin_job(cancel.clone());
    // Shared, so that the promise can still be told when no thread can be started.
    let settle = Arc::new(Mutex::new(Some(settle)));
    let take = |settle: &Mutex<Option<Settle>>| settle.lock().unwrap_or_else(PoisonError::into_inner).take();
    let started = crate::serve::spawn(name, {
        let (settle, completions) = (settle.clone(), completions.clone());
        move || {
            let panicked = |_| Err(ErrorReport::new("ERR_INTERNAL", format!("the {name} thread panicked")));
            let result =
                catch_unwind(AssertUnwindSafe(work)).map_or_else(panicked, |result| result.map_err(Into::into));
            if let Some(settle) = take(&settle) {
                settle.finish(result);
            }
            completions.end_job(job);
        }
    });
    if let Err(error) = started
        && let Some(settle) = take(&settle)
    {
        completions.end_job(job);
        settle.finish(Err::<T, _>(error));
    }
    Ok(promise)
}
