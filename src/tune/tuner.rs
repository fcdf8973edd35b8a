use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{
    TuneError,
    candidates::Settings,
    contender::{Contender, References},
    dataset::{Workload, workloads},
    report::{Machine, ModelFacts, Report, SCHEMA_VERSION, Status, WorkloadFacts},
    rounds::Rounds,
    statistics::bootstrap_median,
    strategy::{PerformanceValidation, Strategy},
    verify::Limits,
};
use crate::{
    graph::{GraphInfo, Model},
    runtime::{CancelToken, Runtime},
    serve::{ServeError, Server, available_threads},
    tensor::Tensor,
};

/// A gain below this is not worth another setting than the baseline's (AITune's threshold).
const WORTHWHILE: f64 = 1.01;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TuneOptions {
    pub strategy: Strategy,
    pub batch_sizes: Option<Vec<usize>>,
    pub max_batches_per_batch_size: usize,
    pub accuracy: Limits,
    pub performance_validation: PerformanceValidation,
    pub budget_ms: f64,
    /// Clients of the closed loop; the number of usable processors when left out.
    pub concurrency: Option<usize>,
    pub seed: u64,
}

/// Where a tune stands. No result depends on it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    pub phase: &'static str,
    pub candidate: String,
    /// Of the phase's steps; both 0 where they cannot be counted.
    pub index: usize,
    pub total: usize,
    /// Of the whole, from 0 to 1.
    pub fraction: f64,
    pub message: String,
    pub eta_ms: f64,
}

/// The result of a tune: a server that runs the winner, and how it came to win.
pub struct Tuned {
    pub server: Server,
    pub settings: Settings,
    pub report: Report,
}

struct Tuner<'a> {
    model: &'a Model,
    graph: GraphInfo,
    workloads: Vec<Workload>,
    options: &'a TuneOptions,
    progress: &'a dyn Fn(Progress),
    cancel: &'a CancelToken,
    start: Instant,
}

/// Tunes a model on samples (one tensor per input, in graph order). `baseline` is the setting the untuned model has.
pub fn tune(
    model: &Model,
    baseline: Settings,
    samples: &[Vec<Tensor>],
    options: &TuneOptions,
    progress: &dyn Fn(Progress),
    cancel: &CancelToken,
) -> Result<Tuned, TuneError> {
    let graph = model.info();
    let sizes = options.batch_sizes.as_deref();
    let workloads = workloads(samples, &graph, sizes, options.max_batches_per_batch_size)?;
    let tuner = Tuner { model, graph, workloads, options, progress, cancel, start: Instant::now() };
    tuner.run(baseline, samples.len())
}

impl Tuner<'_> {
    fn run(self, baseline: Settings, samples: usize) -> Result<Tuned, TuneError> {
        let sha256 = self.model.fingerprint()?;
        self.tell("record", &baseline.describe(), (0, 0));
        let mut contenders = vec![Contender::new(baseline)];
        contenders[0].build(self.model, self.cancel).map_err(TuneError::Baseline)?;
        let references = contenders[0].record(&self.workloads, self.cancel).map_err(TuneError::Baseline)?;
        (contenders[0].status, contenders[0].reason) = (Status::Ok, String::new());

        let concurrency = self.options.concurrency.unwrap_or_else(available_threads);
        // Workloads are in order of batch size: the largest is the one that counts for throughput.
        let workload = &self.workloads[self.workloads.len() - 1];
        let mut rounds = Rounds {
            workload,
            concurrency,
            cancel: self.cancel,
            random: fastrand::Rng::with_seed(self.options.seed),
            seed: self.options.seed,
            held: 0,
            hopeful: if self.holds_baseline() { 1.0 } else { 0.0 },
        };
        self.stage(&mut contenders, self.options.strategy.first(), &references, &mut rounds, 0.5)?;
        let leader = self.leader(&contenders);
        let second = self.options.strategy.second(&contenders[leader].settings);
        self.stage(&mut contenders, second, &references, &mut rounds, 1.0)?;
        self.tell("choose", "", (0, 0));

        if let Some(reasons) = all_failed(&contenders[1..]) {
            return Err(TuneError::NoCandidate { reasons });
        }
        let (winner, verdict) = self.choose(&mut contenders);
        let settings = contenders[winner].settings.clone();
        let server = contenders[winner].server.take().ok_or(ServeError::Closed)?;
        let facts = WorkloadFacts {
            samples,
            batch_sizes: self.workloads.iter().map(|workload| workload.batch_size).collect(),
            measured_batch_size: workload.batch_size,
            concurrency,
        };
        let ratios: Vec<Vec<f64>> = contenders.iter().map(|contender| contender.ratios(&contenders[0])).collect();
        let seed = self.options.seed;
        let report = Report {
            schema_version: SCHEMA_VERSION,
            model: ModelFacts { path: self.model.path().map(|path| path.display().to_string()), sha256 },
            machine: Machine::here(Runtime::get()?.version()),
            strategy: self.options.strategy.clone(),
            performance_validation: self.options.performance_validation,
            accuracy_limits: self.options.accuracy,
            workload: facts,
            candidates: contenders.into_iter().zip(ratios).map(|(c, ratios)| c.report(&ratios, seed)).collect(),
            winner,
            verdict,
            seed,
            budget_ms: self.options.budget_ms,
            elapsed_ms: self.start.elapsed().as_secs_f64() * 1e3,
        };
        Ok(Tuned { server, settings, report })
    }

    /// Builds and verifies new candidates, then times them against all that are still in the race, until `share` of the
    /// budget is spent.
    fn stage(
        &self,
        contenders: &mut Vec<Contender>,
        settings: Vec<Settings>,
        references: &References,
        rounds: &mut Rounds,
        share: f64,
    ) -> Result<(), TuneError> {
        let known = |contenders: &[Contender], settings: &Settings| contenders.iter().any(|c| c.settings == *settings);
        let names: Vec<String> = self.graph.outputs.iter().map(|output| output.name.clone()).collect();
        let total = settings.len();
        for (index, settings) in settings.into_iter().enumerate() {
            if known(contenders, &settings) {
                continue;
            }
            self.tell("build", &settings.describe(), (index, total));
            let mut contender = Contender::new(settings);
            if Instant::now() >= self.deadline(share) {
                contender.reason = "the time budget was spent before it was built".into();
            } else {
                let limits = self.options.accuracy;
                contender.prepare(self.model, &self.workloads, &names, references, limits, self.cancel)?;
            }
            contenders.push(contender);
        }
        rounds.hold(contenders, self.deadline(share), &|candidate| self.tell("measure", candidate, (0, 0)))
    }

    /// The fastest, or the simplest of those that are not measurably slower; then held against the baseline.
    fn choose(&self, contenders: &mut [Contender]) -> (usize, String) {
        let best = self.leader(contenders);
        let equal = |index: usize| {
            let ratios = contenders[best].ratios(&contenders[index]);
            contenders[index].server.is_some() && !ratios.is_empty() && self.interval(&ratios).low <= 1.0
        };
        let first = usize::from(!self.holds_baseline() && best > 0);
        let simplest = (first..contenders.len()).find(|&index| index == best || equal(index)).unwrap_or(best);
        let gain = self.interval(&contenders[simplest].ratios(&contenders[0]));
        let worthwhile = gain.low > 1.0 && gain.median >= WORTHWHILE;
        let enabled = self.options.performance_validation == PerformanceValidation::Enabled;
        let (winner, verdict) = match simplest {
            0 => (0, "the baseline stays: no candidate is faster beyond noise".to_owned()),
            _ if enabled && !worthwhile => {
                (0, format!("the baseline stays: the best gain, {:.3}x, is below {WORTHWHILE}x or noise", gain.median))
            }
            index => (index, format!("{:.2}x the baseline ({:.2} to {:.2})", gain.median, gain.low, gain.high)),
        };
        let losers: Vec<(usize, Vec<f64>)> = (0..contenders.len())
            .filter(|&index| index != winner && contenders[index].server.is_some())
            .map(|index| (index, contenders[index].ratios(&contenders[winner])))
            .collect();
        for (index, ratios) in losers {
            let to_winner = self.interval(&ratios);
            let contender = &mut contenders[index];
            match to_winner.high < 1.0 {
                true => contender.drop_out(Status::Slower, format!("{:.2}x the winner's throughput", to_winner.median)),
                false => contender.drop_out(Status::Ok, "no significant difference from the winner".into()),
            }
        }
        contenders[winner].reason = format!("chosen: {verdict}");
        (winner, verdict)
    }

    /// The contender in the race with the best median ratio; the baseline only where it may win or nothing else is left.
    fn leader(&self, contenders: &[Contender]) -> usize {
        let first = usize::from(!self.holds_baseline());
        let racing = contenders.iter().enumerate().skip(first).filter(|(_, contender)| contender.server.is_some());
        let scores = racing.map(|(index, contender)| (index, contender.score(&contenders[0])));
        scores.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(index, _)| index)
    }

    fn holds_baseline(&self) -> bool {
        self.options.performance_validation != PerformanceValidation::Disabled
    }

    fn interval(&self, ratios: &[f64]) -> super::statistics::Interval {
        bootstrap_median(ratios, self.options.seed)
    }

    fn deadline(&self, share: f64) -> Instant {
        self.start + Duration::from_secs_f64(self.options.budget_ms * share / 1e3)
    }

    fn tell(&self, phase: &'static str, candidate: &str, (index, total): (usize, usize)) {
        let elapsed = self.start.elapsed().as_secs_f64() * 1e3;
        let fraction = if phase == "choose" { 1.0 } else { (elapsed / self.options.budget_ms).min(0.99) };
        (self.progress)(Progress {
            phase,
            candidate: candidate.to_owned(),
            index,
            total,
            fraction,
            message: format!("{phase} {candidate}").trim_end().to_owned(),
            eta_ms: (self.options.budget_ms - elapsed).max(0.0) * f64::from(phase != "choose"),
        });
    }
}

/// The reasons, when there were candidates and none of them can run the model rightly.
fn all_failed(candidates: &[Contender]) -> Option<String> {
    let failed = |candidate: &Contender| matches!(candidate.status, Status::Failed | Status::Inaccurate);
    let lines = candidates.iter().map(|candidate| format!("{}: {}", candidate.settings.describe(), candidate.reason));
    (!candidates.is_empty() && candidates.iter().all(failed)).then(|| lines.collect::<Vec<_>>().join("; "))
}
