use std::time::{Duration, Instant};

use super::{
    TuneError, contender::Contender, dataset::Workload, measure, report::Status, statistics::bootstrap_median,
};
use crate::{
    runtime::{CancelToken, RuntimeError},
    serve::ServeError,
};

/// Rounds until the first contenders may be dropped; an interval over fewer says nothing.
const MINIMUM_ROUNDS: usize = 3;
/// More rounds than this narrow the interval too little to be worth the wait.
const MAXIMUM_ROUNDS: usize = 40;
/// A contender whose whole interval lies below this share of the best one's interval is hopeless.
const HOPELESS: f64 = 0.8;

/// Times contenders in rounds: each round gives every one that is still in the race a stretch of load, in random
/// order, so that a change in the machine's speed falls on all of them alike.
pub struct Rounds<'a> {
    pub workload: &'a Workload,
    pub concurrency: usize,
    pub cancel: &'a CancelToken,
    pub random: fastrand::Rng,
    pub seed: u64,
    /// Rounds held so far, over all stages.
    pub held: usize,
    /// The ratio that a contender has to come near at least: 1 where the baseline may win.
    pub hopeful: f64,
}

impl Rounds<'_> {
    /// Rounds until the deadline; past it only for contenders that have had fewer than [`MINIMUM_ROUNDS`]. The baseline is
    /// the first contender.
    pub fn hold(
        &mut self,
        contenders: &mut [Contender],
        deadline: Instant,
        progress: &dyn Fn(&str),
    ) -> Result<(), TuneError> {
        let racing = |contenders: &[Contender]| contenders.iter().filter(|contender| contender.is_racing()).count();
        // Long enough for several calls, short enough for a fair number of rounds in the time there is.
        let share = deadline.saturating_duration_since(Instant::now()) / (10 * racing(contenders).max(1) as u32);
        let stretch = share.clamp(Duration::from_millis(20), Duration::from_millis(400));
        for _ in 0..MAXIMUM_ROUNDS {
            let new = contenders.iter().any(|contender| contender.is_racing() && contender.rounds() < MINIMUM_ROUNDS);
            if racing(contenders) < 2 || (Instant::now() >= deadline && !new) {
                break;
            }
            self.round(contenders, stretch, progress)?;
            self.drop_hopeless(contenders);
        }
        Ok(())
    }

    fn round(
        &mut self,
        contenders: &mut [Contender],
        stretch: Duration,
        progress: &dyn Fn(&str),
    ) -> Result<(), TuneError> {
        let mut order: Vec<usize> = (0..contenders.len()).collect();
        self.random.shuffle(&mut order);
        for index in order {
            let contender = &mut contenders[index];
            let Some(server) = &contender.server else { continue };
            progress(&contender.settings.describe());
            match measure::closed_loop(server, self.workload, self.concurrency, stretch, self.cancel) {
                Ok(block) => contender.record_block(self.held, block),
                Err(error @ ServeError::Run(RuntimeError::Cancelled)) => return Err(error.into()),
                Err(error) if index == 0 => return Err(TuneError::Baseline(error)),
                Err(error) => contender.drop_out(Status::Failed, error.to_string()),
            }
        }
        self.held += 1;
        Ok(())
    }

    fn drop_hopeless(&self, contenders: &mut [Contender]) {
        let Some((baseline, others)) = contenders.split_first_mut() else { return };
        let racing = others.iter().filter(|contender| contender.is_racing() && contender.rounds() >= MINIMUM_ROUNDS);
        let lows = racing.map(|contender| bootstrap_median(&contender.ratios(baseline), self.seed).low);
        // The least that the best one can be: one lucky round must not throw the others out.
        let best = lows.fold(self.hopeful, f64::max);
        for contender in others.iter_mut().filter(|contender| contender.is_racing()) {
            let ratios = contender.ratios(baseline);
            if ratios.len() < MINIMUM_ROUNDS {
                continue;
            }
            let interval = bootstrap_median(&ratios, self.seed);
            if interval.high < HOPELESS * best {
                let reason = format!(
                    "{:.2}x the baseline, at most {:.2}x, against at least {best:.2}x of the best; dropped after {} rounds",
                    interval.median,
                    interval.high,
                    ratios.len()
                );
                contender.drop_out(Status::Slower, reason);
            }
        }
    }
}
