use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    backend::Engine,
    runtime::{CancelGuard, CancelToken, RuntimeError},
    tensor::Value,
};

/// Calls that may wait for a free caller before further ones are refused.
pub const DEFAULT_QUEUE_LIMIT: usize = 4096;

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("{limit} calls are waiting already")]
    QueueFull { limit: usize },
    #[error("the module has been disposed")]
    Closed,
    #[error("a thread could not be started: {0}")]
    Thread(String),
    #[error("the engine panicked: {0}")]
    Panic(String),
    #[error(transparent)]
    Run(#[from] RuntimeError),
}

/// One call: inputs in graph order, the outputs wanted by index, and who may cancel it.
pub struct Request {
    pub inputs: Vec<Value>,
    pub outputs: Arc<[usize]>,
    pub cancel: Option<CancelToken>,
}

type Done = Box<dyn FnOnce(Result<Vec<Value>, ServeError>) + Send>;

struct Job {
    id: u64,
    request: Request,
    done: Done,
    /// Takes a waiting job out of the queue at cancellation.
    _guard: Option<CancelGuard>,
}

/// How long a thread that is called often looks for its next job before it sleeps. Waking a thread costs tens of
/// microseconds, more than a small model's run.
const LOOK_OUT: Duration = Duration::from_micros(100);

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    /// Threads that have to be woken for a job.
    sleeping: usize,
    /// Since when no job has been waiting.
    idle_since: Option<Instant>,
    /// Whether the last call came soon after the one before it had ended, so that looking out for the next one pays.
    eager: bool,
    next_id: u64,
    closed: bool,
    callers: usize,
    when_closed: Vec<Box<dyn FnOnce() + Send>>,
}

struct Shared {
    limit: usize,
    queue: Mutex<Queue>,
    wake: Condvar,
    /// Jobs waiting; a hint for threads that look out without taking the lock.
    waiting: AtomicUsize,
    /// Threads that look out.
    looking: AtomicUsize,
    /// Ends the runs that have no token of their own.
    stop: CancelToken,
    /// Told when a caller has ended.
    caller_ended: Condvar,
    /// Whether there is a processor beside the one that looks out; with one, nobody could hand over a job meanwhile.
    several: bool,
    /// Nanoseconds that recent runs took, as a moving average; 0 before the first.
    cost: AtomicU64,
}

/// An engine with `callers` threads that take calls from one queue in the order they came.
pub struct Server {
    shared: Arc<Shared>,
    /// For [`Server::run`]; each thread holds the engine itself, so that the last of them frees it, not the closer.
    engine: Mutex<Option<Arc<dyn Engine>>>,
}

impl Server {
    /// Starts the threads. They end after [`Server::close`] or when the server is dropped.
    pub fn start(engine: Arc<dyn Engine>, callers: usize, limit: usize) -> Result<Server, ServeError> {
        let shared = Arc::new(Shared {
            limit,
            queue: Mutex::default(),
            wake: Condvar::new(),
            waiting: AtomicUsize::new(0),
            looking: AtomicUsize::new(0),
            cost: AtomicU64::new(0),
            several: super::available_threads() > 1,
            stop: CancelToken::new(),
            caller_ended: Condvar::new(),
        });
        let server = Server { shared, engine: Mutex::new(Some(engine.clone())) };
        for _ in 0..callers {
            let shared = server.shared.clone();
            shared.queue().callers += 1;
            let started = super::spawn("caller", {
                let (shared, engine) = (shared.clone(), engine.clone());
                move || shared.work(engine)
            });
            if let Err(error) = started {
                shared.queue().callers -= 1;
                return Err(error);
            }
        }
        Ok(server)
    }

    /// Queues a call. `done` gets its result, or why it was not accepted: on one of the server's threads, on the one that
    /// cancels it, or on this one.
    pub fn submit(&self, request: Request, done: impl FnOnce(Result<Vec<Value>, ServeError>) + Send + 'static) {
        let id = {
            let mut queue = self.shared.queue();
            queue.next_id += 1;
            queue.next_id
        };
        // Registered before the job is queued, outside the lock: a hook may run at once.
        let guard = request.cancel.as_ref().map(|token| {
            let shared = Arc::downgrade(&self.shared);
            token.on_cancel(move || {
                if let Some(shared) = shared.upgrade() {
                    shared.remove(id);
                }
            })
        });
        let mut queue = self.shared.queue();
        let refused = if queue.closed {
            ServeError::Closed
        } else if request.cancel.as_ref().is_some_and(CancelToken::is_cancelled) {
            RuntimeError::Cancelled.into()
        } else if queue.jobs.len() >= self.shared.limit {
            ServeError::QueueFull { limit: self.shared.limit }
        } else {
            queue.eager = queue.idle_since.take().is_none_or(|idle| idle.elapsed() < LOOK_OUT);
            queue.jobs.push_back(Job { id, request, done: Box::new(done), _guard: guard });
            self.shared.waiting.store(queue.jobs.len(), Ordering::Release);
            let wake = queue.sleeping > 0 && queue.jobs.len() > self.shared.looking.load(Ordering::Acquire);
            drop(queue);
            if wake {
                self.shared.wake.notify_one();
            }
            return;
        };
        drop(queue);
        done(Err(refused));
    }

    /// Runs on the calling thread, past the queue.
    pub fn run(&self, request: &Request) -> Result<Vec<Value>, ServeError> {
        Ok(self.engine()?.run(&request.inputs, &request.outputs, request.cancel.as_ref())?)
    }

    /// The engine, for what is no run.
    pub fn engine(&self) -> Result<Arc<dyn Engine>, ServeError> {
        self.held_engine().clone().ok_or(ServeError::Closed)
    }

    /// What recent runs took, as a moving average; none before the first.
    pub fn cost(&self) -> Option<Duration> {
        Some(self.shared.cost.load(Ordering::Relaxed)).filter(|&cost| cost > 0).map(Duration::from_nanos)
    }

    /// Counts what a run past the queue took.
    pub fn observe(&self, took: Duration) {
        self.shared.observe(took);
    }

    /// Whether a thread is looking out for a call right now, so that one would be taken at once.
    pub fn is_alert(&self) -> bool {
        self.shared.looking.load(Ordering::Acquire) > 0
    }

    /// Takes no more calls. `when_closed` runs after those that were accepted have ended and the engine is freed.
    pub fn close(&self, when_closed: impl FnOnce() + Send + 'static) {
        *self.held_engine() = None;
        let mut queue = self.shared.queue();
        queue.closed = true;
        if queue.callers > 0 {
            queue.when_closed.push(Box::new(when_closed));
            drop(queue);
            self.shared.wake.notify_all();
        } else {
            drop(queue);
            when_closed();
        }
    }

    /// Ends everything at once, waiting calls and running ones, and waits for the threads; but not beyond `patience`. For a
    /// process that exits: the runtime's globals go away then, and a run under way would crash. [`Server::run`] still works.
    pub fn stop(&self, patience: Duration) {
        let waiting = {
            let mut queue = self.shared.queue();
            queue.closed = true;
            std::mem::take(&mut queue.jobs)
        };
        self.shared.wake.notify_all();
        self.shared.stop.cancel();
        waiting.into_iter().for_each(|job| (job.done)(Err(RuntimeError::Cancelled.into())));
        let left = |queue: &mut Queue| queue.callers > 0;
        let _ = self.shared.caller_ended.wait_timeout_while(self.shared.queue(), patience, left);
    }

    fn held_engine(&self) -> MutexGuard<'_, Option<Arc<dyn Engine>>> {
        // Only ever cloned or replaced under the lock.
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.close(|| ());
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Nothing that can panic runs under the lock.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, engine: Arc<dyn Engine>) {
        while let Some(job) = self.next() {
            let Job { request, done, .. } = job;
            done(self.run(engine.as_ref(), &request));
        }
        drop(engine);
        super::give_memory_back();
        let mut queue = self.queue();
        queue.callers -= 1;
        let last = if queue.callers == 0 { std::mem::take(&mut queue.when_closed) } else { Vec::new() };
        drop(queue);
        self.caller_ended.notify_all();
        last.into_iter().for_each(|when_closed| when_closed());
    }

    fn run(&self, engine: &dyn Engine, request: &Request) -> Result<Vec<Value>, ServeError> {
        let start = Instant::now();
        let cancel = request.cancel.as_ref().unwrap_or(&self.stop);
        let _guard = request.cancel.clone().map(|own| self.stop.on_cancel(move || own.cancel()));
        let run = || engine.run(&request.inputs, &request.outputs, Some(cancel));
        let result = catch_unwind(AssertUnwindSafe(run));
        self.observe(start.elapsed());
        match result {
            Ok(result) => result.map_err(ServeError::Run),
            Err(panic) => Err(ServeError::Panic(panic_message(panic.as_ref()))),
        }
    }

    fn observe(&self, took: Duration) {
        let (took, before) = (took.as_nanos() as u64, self.cost.load(Ordering::Relaxed));
        // A rise counts at once: what the cost decides is how long a caller may be held.
        let cost = if before == 0 || took > 4 * before { took } else { before - before / 8 + took / 8 };
        self.cost.store(cost.max(1), Ordering::Relaxed);
    }

    /// The next job, waiting for one; none once the server is closed and all are done.
    fn next(&self) -> Option<Job> {
        let mut queue = self.queue();
        if queue.jobs.is_empty() {
            queue.idle_since = Some(Instant::now());
            if queue.eager && self.several && !queue.closed && self.looking.load(Ordering::Acquire) == 0 {
                drop(queue);
                self.look_out();
                queue = self.queue();
            }
        }
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                self.waiting.store(queue.jobs.len(), Ordering::Release);
                return Some(job);
            }
            if queue.closed {
                return None;
            }
            queue.sleeping += 1;
            queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.sleeping -= 1;
        }
    }

    /// Waits a moment for a job without sleeping. One that comes at the very end is found under the lock by the caller.
    fn look_out(&self) {
        self.looking.fetch_add(1, Ordering::AcqRel);
        let start = Instant::now();
        while self.waiting.load(Ordering::Acquire) == 0 && start.elapsed() < LOOK_OUT {
            std::hint::spin_loop();
        }
        self.looking.fetch_sub(1, Ordering::AcqRel);
    }

    /// Ends a waiting job; a running one is stopped by its engine.
    fn remove(&self, id: u64) {
        let mut queue = self.queue();
        let Some(index) = queue.jobs.iter().position(|job| job.id == id) else { return };
        let job = queue.jobs.remove(index);
        self.waiting.store(queue.jobs.len(), Ordering::Release);
        drop(queue);
        if let Some(job) = job {
            (job.done)(Err(RuntimeError::Cancelled.into()));
        }
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Tensor;
    use std::{
        sync::mpsc::{self, Receiver},
        thread,
    };

    /// Takes as many milliseconds as its first input's first dimension says; stops early when cancelled.
    struct Sleeper(AtomicUsize);

    impl Engine for Sleeper {
        fn run(&self, inputs: &[Value], _: &[usize], cancel: Option<&CancelToken>) -> Result<Vec<Value>, RuntimeError> {
            let Some(length) = inputs[0].as_tensor() else { return Ok(vec![]) };
            for _ in 0..length.dims()[0] {
                if cancel.is_some_and(CancelToken::is_cancelled) {
                    return Err(RuntimeError::Cancelled);
                }
                thread::sleep(Duration::from_millis(1));
            }
            self.0.fetch_add(1, Ordering::SeqCst);
            Ok(vec![])
        }
    }

    fn request(milliseconds: i64, cancel: Option<CancelToken>) -> Request {
        let data = crate::tensor::Data::Bytes(vec![0u8; milliseconds as usize].into());
        let tensor = Tensor::new(crate::tensor::DType::Uint8, vec![milliseconds], data).expect("a valid tensor");
        Request { inputs: vec![Value::Tensor(tensor)], outputs: Arc::new([]), cancel }
    }

    fn submit(server: &Server, request: Request) -> Receiver<Result<Vec<Value>, ServeError>> {
        let (sender, receiver) = mpsc::channel();
        server.submit(request, move |result| {
            let _ = sender.send(result);
        });
        receiver
    }

    #[test]
    fn close_waits_for_accepted_calls_and_refuses_later_ones() {
        let server = Server::start(Arc::new(Sleeper(AtomicUsize::new(0))), 2, 10).expect("starts");
        let results: Vec<_> = (0..5).map(|_| submit(&server, request(5, None))).collect();
        let (sender, closed) = mpsc::channel();
        server.close(move || sender.send(()).expect("still listening"));
        assert!(matches!(submit(&server, request(1, None)).recv(), Ok(Err(ServeError::Closed))));
        closed.recv().expect("closes");
        assert!(results.iter().all(|result| matches!(result.try_recv(), Ok(Ok(_)))));
        let (sender, again) = mpsc::channel();
        server.close(move || sender.send(()).expect("still listening"));
        again.recv().expect("closing twice is fine");
    }

    #[test]
    fn waiting_and_running_calls_can_be_cancelled_alone() {
        let engine = Arc::new(Sleeper(AtomicUsize::new(0)));
        let server = Server::start(engine.clone(), 1, 10).expect("starts");
        let (running, waiting) = (CancelToken::new(), CancelToken::new());
        let first = submit(&server, request(10_000, Some(running.clone())));
        let second = submit(&server, request(1, Some(waiting.clone())));
        let third = submit(&server, request(1, None));
        thread::sleep(Duration::from_millis(10));
        waiting.cancel();
        assert!(matches!(second.recv(), Ok(Err(ServeError::Run(RuntimeError::Cancelled)))));
        running.cancel();
        assert!(matches!(first.recv(), Ok(Err(ServeError::Run(RuntimeError::Cancelled)))));
        assert!(matches!(third.recv(), Ok(Ok(_))));
        assert_eq!(engine.0.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_full_queue_refuses() {
        let server = Server::start(Arc::new(Sleeper(AtomicUsize::new(0))), 1, 2).expect("starts");
        let token = CancelToken::new();
        let _running = submit(&server, request(10_000, Some(token.clone())));
        while !server.shared.queue().jobs.is_empty() {
            thread::yield_now();
        }
        let _kept: Vec<_> = (0..2).map(|_| submit(&server, request(1, None))).collect();
        assert!(matches!(submit(&server, request(1, None)).recv(), Ok(Err(ServeError::QueueFull { limit: 2 }))));
        token.cancel();
    }

    #[test]
    fn a_panicking_engine_fails_its_call_only() {
        struct Panics;
        impl Engine for Panics {
            fn run(&self, _: &[Value], _: &[usize], _: Option<&CancelToken>) -> Result<Vec<Value>, RuntimeError> {
                panic!("on purpose")
            }
        }
        let server = Server::start(Arc::new(Panics), 1, 2).expect("starts");
        for _ in 0..2 {
            assert!(matches!(submit(&server, request(1, None)).recv(), Ok(Err(ServeError::Panic(_)))));
        }
    }
}
