/// A quantity with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Interval {
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

/// The value below which a share `q` of the sorted values lies, by linear interpolation; NaN for no values.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let position = q * last as f64;
    let (below, above) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
    below + (above - below) * position.fract()
}

pub fn sort(values: &mut [f64]) {
    values.sort_by(f64::total_cmp);
}

pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sort(&mut sorted);
    quantile(&sorted, 0.5)
}

/// The median with a 95 % percentile-bootstrap interval (Efron and Tibshirani, An Introduction to the Bootstrap, §13.3).
pub fn bootstrap_median(values: &[f64], seed: u64) -> Interval {
    const RESAMPLES: usize = 1000;
    let mut random = fastrand::Rng::with_seed(seed);
    let mut medians: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let resample: Vec<f64> = values.iter().map(|_| values[random.usize(..values.len())]).collect();
            median(&resample)
        })
        .collect();
    sort(&mut medians);
    Interval { median: median(values), low: quantile(&medians, 0.025), high: quantile(&medians, 0.975) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), 2.5);
        assert_eq!(quantile(&[5.0], 0.99), 5.0);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn interval_holds_the_median_and_is_reproducible() {
        let values: Vec<f64> = (0..20).map(|i| 1.0 + f64::from(i % 7) / 10.0).collect();
        let interval = bootstrap_median(&values, 1);
        assert!(interval.low <= interval.median && interval.median <= interval.high);
        assert_eq!(interval, bootstrap_median(&values, 1));
        let constant = bootstrap_median(&[2.0; 5], 1);
        assert_eq!((constant.low, constant.high), (2.0, 2.0));
    }
}
