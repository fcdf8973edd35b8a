use super::{
    contender::Contender,
    report::Status,
    statistics::{Interval, bootstrap_median},
    strategy::PerformanceValidation,
};

/// A gain below this is not worth another setting than the baseline's (AITune's threshold).
const WORTHWHILE: f64 = 1.01;

/// Index of the contender to race the next stage with: the best median ratio to the baseline, which is the first.
pub fn leader(contenders: &[Contender]) -> usize {
    best_of(contenders, 0..contenders.len())
}

/// Chooses the winner, says why, and settles what the others are told. The baseline is the first contender.
///
/// Of the candidates that beat the baseline, by 1 % and beyond noise unless validation is off, the fastest wins, or the
/// simplest (first) of those that are not measurably slower than it. Where none does, the baseline stays.
pub fn choose(contenders: &mut [Contender], validation: PerformanceValidation, seed: u64) -> (usize, String) {
    let interval = |ratios: &[f64]| bootstrap_median(ratios, seed);
    let gain = |contenders: &[Contender], index: usize| interval(&contenders[index].ratios(&contenders[0]));
    let worthwhile = |gain: Interval| gain.low > 1.0 && gain.median >= WORTHWHILE;
    let enabled = validation == PerformanceValidation::Enabled;
    let eligible: Vec<usize> = (1..contenders.len())
        .filter(|&index| contenders[index].is_racing() && !contenders[index].ratios(&contenders[0]).is_empty())
        .filter(|&index| !enabled || worthwhile(gain(contenders, index)))
        .collect();
    let (winner, verdict) = match eligible.is_empty() {
        true => (0, "the baseline stays: no candidate is faster by 1 % and beyond noise".to_owned()),
        false => {
            let best = best_of(contenders, eligible.iter().copied());
            let equal = |&index: &usize| interval(&contenders[best].ratios(&contenders[index])).low <= 1.0;
            let winner = eligible.into_iter().find(|index| *index == best || equal(index)).unwrap_or(best);
            let gain = gain(contenders, winner);
            let slower = if worthwhile(gain) { "" } else { ", taken since performance validation is not enabled" };
            (winner, format!("{:.2}x the baseline ({:.2} to {:.2}){slower}", gain.median, gain.low, gain.high))
        }
    };
    for index in (0..contenders.len()).filter(|&index| index != winner) {
        let to_winner = interval(&contenders[index].ratios(&contenders[winner]));
        let contender = &mut contenders[index];
        if !contender.is_racing() {
            continue;
        }
        match to_winner.high < 1.0 {
            true => contender.drop_out(Status::Slower, format!("{:.2}x the winner's throughput", to_winner.median)),
            false => contender.reason = "no significant difference from the winner".into(),
        }
    }
    contenders[winner].reason = format!("chosen: {verdict}");
    (winner, verdict)
}

fn best_of(contenders: &[Contender], indices: impl Iterator<Item = usize>) -> usize {
    let racing = indices.filter(|&index| contenders[index].is_racing());
    let scores = racing.map(|index| (index, contenders[index].score(&contenders[0])));
    scores.max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{runtime::GraphOptimization, tune::Settings};

    /// Contenders with the given items per second in each round.
    fn race(throughputs: &[&[f64]]) -> Vec<Contender> {
        let contender = |(index, rounds): (usize, &&[f64])| {
            let mut contender = Contender::new(Settings::new(1 + index, 1, false, GraphOptimization::All));
            contender.status = Status::Ok;
            contender.throughputs = rounds.iter().map(|&throughput| Some(throughput)).collect();
            contender
        };
        throughputs.iter().enumerate().map(contender).collect()
    }

    fn winner(throughputs: &[&[f64]], validation: PerformanceValidation) -> usize {
        choose(&mut race(throughputs), validation, 1).0
    }

    use PerformanceValidation::{Diagnostic, Disabled, Enabled};

    #[test]
    fn a_clear_gain_wins_and_noise_does_not() {
        let base: &[f64] = &[100.0; 6];
        assert_eq!(winner(&[base, &[150.0, 151.0, 149.0, 150.0, 152.0, 148.0]], Enabled), 1);
        assert_eq!(winner(&[base, &[90.0, 120.0, 80.0, 130.0, 101.0, 99.0]], Enabled), 0);
        assert_eq!(winner(&[base, &[100.5; 6]], Enabled), 0, "half a percent is not worth a change");
    }

    #[test]
    fn a_simpler_candidate_within_noise_of_the_best_hides_no_winner() {
        // The first candidate is not measurably slower than the second, but does not beat the baseline itself.
        let noisy: &[f64] = &[88.0, 124.0, 103.0, 90.0, 120.0, 103.0];
        let clear: &[f64] = &[110.0, 112.0, 111.0, 104.0, 121.0, 110.0];
        assert_eq!(winner(&[&[100.0; 6], noisy, clear], Enabled), 2);
    }

    #[test]
    fn of_equals_the_simpler_wins() {
        let (a, b): (&[f64], &[f64]) = (&[149.0, 151.0, 150.0, 152.0], &[151.0, 149.0, 152.0, 151.0]);
        assert_eq!(winner(&[&[100.0; 4], a, b], Enabled), 1);
    }

    #[test]
    fn without_validation_the_best_candidate_is_taken_even_when_slower() {
        let slower: &[&[f64]] = &[&[100.0; 4], &[50.0; 4], &[70.0; 4]];
        assert_eq!(winner(slower, Enabled), 0);
        assert_eq!(winner(slower, Diagnostic), 2);
        assert_eq!(winner(slower, Disabled), 2);
        assert_eq!(winner(&[&[100.0; 4]], Disabled), 0, "with no candidate the baseline is left");
    }

    #[test]
    fn wrong_and_dropped_candidates_never_win() {
        let mut contenders = race(&[&[100.0; 4], &[900.0; 4], &[800.0; 4], &[120.0; 4]]);
        contenders[1].drop_out(Status::Inaccurate, "wrong".into());
        contenders[2].drop_out(Status::Failed, "threw".into());
        assert_eq!(choose(&mut contenders, Enabled, 1).0, 3);
        assert_eq!(contenders[1].status, Status::Inaccurate);
        assert_eq!(contenders[2].reason, "threw");
    }
}
