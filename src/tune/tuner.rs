use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{
    TuneError,
    candidates::Settings,
    choice::{choose, leader},
    contender::{Contender, References},
    dataset::{Workload, workloads},
    report::{Machine, ModelFacts, Report, SCHEMA_VERSION, Status, WorkloadFacts},
    rounds::Rounds,
    strategy::{PerformanceValidation, Strategy},
    verify::Limits,
};
use crate::{
    graph::{GraphError, GraphInfo, Model, fingerprint},
    runtime::{CancelToken, Runtime, RuntimeError},
    serve::{ServeError, available_threads, give_way},
    tensor::Tensor,
};

/// A budget beyond this is as good as none; clocks cannot count on for ever.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

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

/// The result of a tune: the winner, and how it came to win.
pub struct Tuned {
    pub settings: Settings,
    pub report: Report,
}

struct Tuner<'a> {
    model: &'a Model,
    graph: &'a GraphInfo,
    workloads: Vec<Workload>,
    options: &'a TuneOptions,
    progress: &'a (dyn Fn(Progress) + Sync),
    cancel: &'a CancelToken,
    start: Instant,
}

/// Tunes a model on samples (one tensor per input, in graph order). `baseline` is the setting the untuned model has.
pub fn tune(
    model: &Model,
    graph: &GraphInfo,
    baseline: Settings,
    samples: &[Vec<Tensor>],
    options: &TuneOptions,
    progress: &(dyn Fn(Progress) + Sync),
    cancel: &CancelToken,
) -> Result<Tuned, TuneError> {
    if model.is_opaque() {
        return Err(GraphError::OrtFormat { what: "the model".into() }.into());
    }
    let sizes = options.batch_sizes.as_deref();
    let workloads = workloads(samples, graph, sizes, options.max_batches_per_batch_size)?;
    let tuner = Tuner { model, graph, workloads, options, progress, cancel, start: Instant::now() };
    // On a thread of its own, whose low priority all threads of the race inherit: a tune loads every processor, and the
    // event loop must not wait for it. The winner is built anew by whoever serves it, at normal priority.
    std::thread::scope(|scope| {
        let race = scope.spawn(|| {
            give_way();
            tuner.run(baseline, samples.len())
        });
        race.join().unwrap_or_else(|_| Err(ServeError::Panic("the tuner".into()).into()))
    })
}

impl Tuner<'_> {
    fn run(&self, baseline: Settings, samples: usize) -> Result<Tuned, TuneError> {
        let sha256 = self.fingerprint()?;
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
            hopeful: f64::from(self.options.performance_validation == PerformanceValidation::Enabled),
        };
        let first = self.options.strategy.first(&contenders[0].settings);
        self.stage(&mut contenders, first, &references, &mut rounds, 0.5)?;
        let second = self.options.strategy.second(&contenders[leader(&contenders)].settings);
        self.stage(&mut contenders, second, &references, &mut rounds, 1.0)?;
        self.tell("choose", "", (0, 0));

        if let Some(reasons) = all_failed(&contenders[1..]) {
            return Err(TuneError::NoCandidate { reasons });
        }
        let (winner, verdict) = choose(&mut contenders, self.options.performance_validation, self.options.seed);
        let settings = contenders[winner].settings.clone();
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
        Ok(Tuned { settings, report })
    }

    fn fingerprint(&self) -> Result<String, TuneError> {
        let check = || match self.cancel.is_cancelled() {
            true => Err(std::io::Error::other("cancelled")),
            false => Ok(()),
        };
        let contents = self.model.contents()?;
        let digests = contents.iter().map(|content| content.digest(&check)).collect::<Result<Vec<_>, _>>();
        match digests {
            Ok(digests) => Ok(fingerprint(&contents, &digests)),
            Err(_) if self.cancel.is_cancelled() => Err(RuntimeError::Cancelled.into()),
            Err(error) => Err(TuneError::ModelUnreadable(error)),
        }
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

    fn deadline(&self, share: f64) -> Instant {
        self.start + Duration::try_from_secs_f64(self.options.budget_ms * share / 1e3).unwrap_or(LONGEST).min(LONGEST)
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
