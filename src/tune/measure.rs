use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use super::dataset::{Batch, Workload};
use crate::{
    runtime::CancelToken,
    serve::{Request, ServeError, Server},
    tensor::Value,
};

/// What one stretch of load on one server gave.
#[derive(Default)]
pub struct Block {
    /// Milliseconds from submission to result, queueing included.
    pub latencies: Vec<f64>,
    pub items: usize,
    pub seconds: f64,
}

impl Block {
    /// Items per second.
    pub fn throughput(&self) -> f64 {
        self.items as f64 / self.seconds
    }
}

/// A closed loop: each of `concurrency` clients sends its next request when its last one is answered, for `duration`
/// and at least one request each. Cancelling ends it early.
pub fn closed_loop(
    server: &Server,
    workload: &Workload,
    concurrency: usize,
    duration: Duration,
    cancel: &CancelToken,
) -> Result<Block, ServeError> {
    let start = Instant::now();
    let client = &|offset: usize| -> Result<(Vec<f64>, usize), ServeError> {
        let (mut latencies, mut items) = (Vec::new(), 0);
        // Clients start at different batches, so that they do not all send the same one.
        let first = offset * workload.batches.len() / concurrency;
        for batch in workload.batches.iter().cycle().skip(first) {
            let sent = Instant::now();
            call(server, workload, batch, cancel)?;
            latencies.push(sent.elapsed().as_secs_f64() * 1e3);
            items += batch.items;
            if start.elapsed() >= duration {
                break;
            }
        }
        Ok((latencies, items))
    };
    let mut block = Block::default();
    thread::scope(|scope| {
        let clients: Vec<_> = (0..concurrency).map(|index| scope.spawn(move || client(index))).collect();
        for handle in clients {
            let (latencies, items) = handle.join().unwrap_or_else(|_| Err(ServeError::Panic("a client".into())))?;
            block.latencies.extend(latencies);
            block.items += items;
        }
        Ok::<_, ServeError>(())
    })?;
    block.seconds = start.elapsed().as_secs_f64();
    Ok(block)
}

/// One call through the server, waited for; gives the outputs.
pub fn call(
    server: &Server,
    workload: &Workload,
    batch: &Batch,
    cancel: &CancelToken,
) -> Result<Vec<Value>, ServeError> {
    let (sender, receiver) = mpsc::sync_channel(1);
    let request =
        Request { inputs: batch.inputs.clone(), outputs: workload.outputs.clone(), cancel: Some(cancel.clone()) };
    server.submit(request, move |result| {
        let _ = sender.send(result);
    });
    receiver.recv().unwrap_or(Err(ServeError::Closed))
}
