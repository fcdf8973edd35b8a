//! Runs any engine on threads of its own: a bounded queue, several callers, cancellation of waiting and running calls.

mod server;

use std::thread;

pub use server::{DEFAULT_QUEUE_LIMIT, Request, ServeError, Server};

/// Room for the recursion of deeply nested control flow in a model; the main thread's usual size.
const STACK_BYTES: usize = 8 << 20;

/// How many threads this process may keep busy: affinity and control groups count.
pub fn available_threads() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Gives memory that was freed back to the system. glibc would keep what a session of a large model leaves behind, and the
/// next one would often not fit into the pieces.
pub fn give_memory_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: may be called at any time from any thread.
    unsafe {
        libc::malloc_trim(0)
    };
}

/// Lowers the priority of the calling thread and of those it starts afterwards. There is no way back without privileges.
#[cfg(target_os = "linux")]
pub fn give_way() {
    const NICE: libc::c_int = 10;
    // SAFETY: plain numbers; on Linux the priority of "process 0" is that of the calling thread alone.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
}

/// Elsewhere a thread has no priority of its own to lower.
#[cfg(not(target_os = "linux"))]
pub fn give_way() {}

/// Starts a named thread for work that would otherwise hold the caller.
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), ServeError> {
    let builder = thread::Builder::new().name(format!("onnxtune-{name}")).stack_size(STACK_BYTES);
    builder.spawn(work).map(drop).map_err(|error| ServeError::Thread(error.to_string()))
}
