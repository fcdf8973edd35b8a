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

/// Starts a named thread for work that would otherwise hold the caller.
pub fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), ServeError> {
    let builder = thread::Builder::new().name(format!("onnxtune-{name}")).stack_size(STACK_BYTES);
    builder.spawn(work).map(drop).map_err(|error| ServeError::Thread(error.to_string()))
}
