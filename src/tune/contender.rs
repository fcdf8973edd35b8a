use std::time::Instant;

use super::{
    TuneError,
    candidates::Settings,
    dataset::Workload,
    measure,
    report::{CandidateReport, Status, Timing},
    statistics::{bootstrap_median, median, quantile, sort},
    verify::{Accuracy, Limits},
};
use crate::{
    graph::Model,
    runtime::{CancelToken, RuntimeError, SessionFiles},
    serve::{DEFAULT_QUEUE_LIMIT, ServeError, Server},
    tensor::Value,
};

/// A candidate on its way through the tune.
pub struct Contender {
    pub settings: Settings,
    /// Present while it is in the race.
    pub server: Option<Server>,
    pub status: Status,
    pub reason: String,
    build_ms: Option<f64>,
    accuracy: Option<Accuracy>,
    latencies: Vec<f64>,
    /// Items per second by round; none for rounds it took no part in.
    pub throughputs: Vec<Option<f64>>,
}

/// The baseline's outputs for every batch of every workload.
pub type References = Vec<Vec<Vec<Value>>>;

impl Contender {
    pub fn new(settings: Settings) -> Contender {
        Contender {
            settings,
            server: None,
            status: Status::Skipped,
            reason: "not reached".into(),
            build_ms: None,
            accuracy: None,
            latencies: Vec::new(),
            throughputs: Vec::new(),
        }
    }

    /// Built and right, and not dropped since.
    pub fn is_racing(&self) -> bool {
        self.status == Status::Ok
    }

    /// Leaves the race and frees its session.
    pub fn drop_out(&mut self, status: Status, reason: String) {
        (self.status, self.reason, self.server) = (status, reason, None);
    }

    pub fn build(&mut self, model: &Model, cancel: &CancelToken) -> Result<&Server, ServeError> {
        let start = Instant::now();
        let engine = self.settings.backend.build(model, &SessionFiles::default(), cancel)?;
        let server = Server::start(engine, self.settings.callers, DEFAULT_QUEUE_LIMIT)?;
        self.build_ms = Some(start.elapsed().as_secs_f64() * 1e3);
        Ok(self.server.insert(server))
    }

    /// Runs every batch once, for the outputs that the candidates are held against.
    pub fn record(&self, workloads: &[Workload], cancel: &CancelToken) -> Result<References, ServeError> {
        let server = self.server.as_ref().ok_or(ServeError::Closed)?;
        let outputs = |workload: &Workload| {
            workload.batches.iter().map(|batch| measure::call(server, workload, batch, cancel)).collect()
        };
        workloads.iter().map(outputs).collect()
    }

    /// Builds it and holds its outputs against the baseline's. Only cancellation is an error; all else drops it out.
    pub fn prepare(
        &mut self,
        model: &Model,
        workloads: &[Workload],
        names: &[String],
        references: &References,
        limits: Limits,
        cancel: &CancelToken,
    ) -> Result<(), TuneError> {
        let outputs = self.build(model, cancel).map(drop).and_then(|()| self.record(workloads, cancel));
        let outputs = match outputs {
            Ok(outputs) => outputs,
            Err(error @ ServeError::Run(RuntimeError::Cancelled)) => return Err(error.into()),
            Err(error) => {
                self.drop_out(Status::Failed, error.to_string());
                return Ok(());
            }
        };
        let mut accuracy = Accuracy::default();
        let mut pairs = references.iter().flatten().zip(outputs.iter().flatten());
        let verdict = pairs.try_for_each(|(baseline, candidate)| accuracy.compare(names, baseline, candidate, limits));
        self.accuracy = Some(accuracy);
        match verdict {
            Ok(()) => (self.status, self.reason) = (Status::Ok, String::new()),
            Err(reason) => self.drop_out(Status::Inaccurate, reason),
        }
        Ok(())
    }

    pub fn record_block(&mut self, round: usize, block: measure::Block) {
        self.throughputs.resize(round, None);
        self.throughputs.push(Some(block.throughput()));
        self.latencies.extend(block.latencies);
    }

    pub fn rounds(&self) -> usize {
        self.throughputs.iter().flatten().count()
    }

    /// Throughput over the other's, round by round, where both took part.
    pub fn ratios(&self, other: &Contender) -> Vec<f64> {
        let both = self.throughputs.iter().zip(&other.throughputs);
        both.filter_map(|(own, other)| Some((*own)? / (*other)?)).collect()
    }

    /// Median ratio to the baseline; zero when it was not timed.
    pub fn score(&self, baseline: &Contender) -> f64 {
        let ratios = self.ratios(baseline);
        if ratios.is_empty() { 0.0 } else { median(&ratios) }
    }

    pub fn report(mut self, baseline_ratios: &[f64], seed: u64) -> CandidateReport {
        sort(&mut self.latencies);
        let throughputs: Vec<f64> = self.throughputs.iter().flatten().copied().collect();
        let timing = (!baseline_ratios.is_empty()).then(|| Timing {
            calls: self.latencies.len(),
            rounds: throughputs.len(),
            median_ms: quantile(&self.latencies, 0.5),
            p90_ms: quantile(&self.latencies, 0.9),
            p99_ms: quantile(&self.latencies, 0.99),
            throughput: median(&throughputs),
            ratio: bootstrap_median(baseline_ratios, seed),
        });
        CandidateReport {
            name: self.settings.describe(),
            settings: self.settings,
            status: self.status,
            reason: self.reason,
            build_ms: self.build_ms,
            accuracy: self.accuracy,
            timing,
        }
    }
}
