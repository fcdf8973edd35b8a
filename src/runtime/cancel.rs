use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

type Hook = Box<dyn Fn() + Send + Sync>;

/// A one-way switch shared by whoever may cancel a piece of work and whoever does it.
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Inner>);

#[derive(Default)]
struct Inner {
    cancelled: AtomicBool,
    hooks: Mutex<Hooks>,
}

#[derive(Default)]
struct Hooks {
    next: u64,
    active: Vec<(u64, Hook)>,
}

impl CancelToken {
    pub fn new() -> CancelToken {
        CancelToken::default()
    }

    /// Cancels, and runs the hooks of the work under way. Calling it again does nothing.
    pub fn cancel(&self) {
        // The lock orders this against `on_cancel`: a hook is either taken here or sees the flag there. It is not held
        // while hooks run, since they may drop guards.
        let hooks = {
            let mut hooks = self.hooks();
            self.0.cancelled.store(true, Ordering::Release);
            std::mem::take(&mut hooks.active)
        };
        hooks.iter().for_each(|(_, hook)| hook());
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire)
    }

    /// Runs `hook` at cancellation, or at once if it is cancelled already. Dropping the guard takes the hook back; a hook
    /// that has begun by then still ends, so it must own what it touches.
    pub fn on_cancel(&self, hook: impl Fn() + Send + Sync + 'static) -> CancelGuard {
        let mut hooks = self.hooks();
        let id = hooks.next;
        hooks.next += 1;
        if self.is_cancelled() {
            drop(hooks);
            hook();
        } else {
            hooks.active.push((id, Box::new(hook)));
        }
        CancelGuard { token: self.clone(), id }
    }

    fn hooks(&self) -> MutexGuard<'_, Hooks> {
        // Hooks run outside the lock, so a panic in one cannot leave the list half changed.
        self.0.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes its hook back when dropped.
#[must_use]
pub struct CancelGuard {
    token: CancelToken,
    id: u64,
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        self.token.hooks().active.retain(|(id, _)| *id != self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn hooks_run_once_and_only_while_guarded() {
        let (token, count) = (CancelToken::new(), Arc::new(AtomicUsize::new(0)));
        let add = || {
            let count = count.clone();
            move || {
                count.fetch_add(1, Ordering::SeqCst);
            }
        };
        drop(token.on_cancel(add()));
        let _kept = token.on_cancel(add());
        token.cancel();
        token.cancel();
        assert_eq!(count.load(Ordering::SeqCst), 1);
        let _late = token.on_cancel(add());
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }
}
