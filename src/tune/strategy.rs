use serde::{Deserialize, Serialize};

use super::candidates::{Pins, Settings};

/// What is tried, and which of it wins.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(tag = "name", rename_all_fields = "camelCase")]
pub enum Strategy {
    /// One candidate against the baseline.
    #[serde(rename = "OneBackendStrategy")]
    OneBackend { backend: Pins },
    /// The most items per second of all that can be found.
    #[serde(rename = "MaxThroughputStrategy")]
    MaxThroughput { backends: Vec<Pins> },
}

impl Strategy {
    /// Candidates of the first stage, the simplest first.
    pub fn first(&self, baseline: &Settings) -> Vec<Settings> {
        match self {
            Strategy::OneBackend { backend } => vec![backend.over(baseline)],
            Strategy::MaxThroughput { backends } => backends.iter().flat_map(|pins| pins.threading(baseline)).collect(),
        }
    }

    /// Candidates of the second stage, which vary the best of the first.
    pub fn second(&self, best: &Settings) -> Vec<Settings> {
        match self {
            Strategy::OneBackend { .. } => Vec::new(),
            Strategy::MaxThroughput { backends } => backends.iter().flat_map(|pins| pins.graph_levels(best)).collect(),
        }
    }
}

/// Whether the winner must beat the untuned baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PerformanceValidation {
    /// The baseline stays unless the winner is faster by at least 1 % and beyond noise.
    #[default]
    Enabled,
    /// The comparison is reported; the fastest candidate is taken all the same.
    Diagnostic,
    /// The fastest candidate is taken and not held against the baseline.
    Disabled,
}
