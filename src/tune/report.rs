use serde::{Deserialize, Serialize};

use super::{
    candidates::Settings,
    statistics::Interval,
    strategy::{PerformanceValidation, Strategy},
    verify::{Accuracy, Limits},
};

/// Raised when a reader of older reports would misread a newer one.
pub const SCHEMA_VERSION: u32 = 1;

/// All that a tune did and found. Times are in milliseconds.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub schema_version: u32,
    pub model: ModelFacts,
    pub machine: Machine,
    pub strategy: Strategy,
    pub performance_validation: PerformanceValidation,
    pub accuracy_limits: Limits,
    pub workload: WorkloadFacts,
    /// The baseline first, then in the order tried.
    pub candidates: Vec<CandidateReport>,
    /// Index into `candidates`.
    pub winner: usize,
    pub verdict: String,
    pub seed: u64,
    pub budget_ms: f64,
    pub elapsed_ms: f64,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelFacts {
    pub path: Option<String>,
    pub sha256: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    pub os: String,
    pub arch: String,
    /// Threads the process may keep busy.
    pub threads: usize,
    pub cpu_features: Vec<String>,
    pub onnxruntime: String,
    pub onnxtune: String,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadFacts {
    pub samples: usize,
    pub batch_sizes: Vec<usize>,
    /// The batch size that was timed; all of them were verified.
    pub measured_batch_size: usize,
    /// Clients in the closed loop.
    pub concurrency: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Status {
    /// Right, and either chosen or not measurably slower than the chosen one.
    Ok,
    Failed,
    Skipped,
    Slower,
    Inaccurate,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CandidateReport {
    pub name: String,
    pub settings: Settings,
    pub status: Status,
    pub reason: String,
    pub build_ms: Option<f64>,
    pub accuracy: Option<Accuracy>,
    pub timing: Option<Timing>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Timing {
    pub calls: usize,
    pub rounds: usize,
    pub median_ms: f64,
    pub p90_ms: f64,
    pub p99_ms: f64,
    /// Items per second, the median of the rounds.
    pub throughput: f64,
    /// Throughput over the baseline's in the same rounds.
    pub ratio: Interval,
}

impl Machine {
    pub fn here(onnxruntime: &str) -> Machine {
        Machine {
            os: std::env::consts::OS.to_owned(),
            arch: std::env::consts::ARCH.to_owned(),
            threads: crate::serve::available_threads(),
            cpu_features: cpu_features().into_iter().map(str::to_owned).collect(),
            onnxruntime: onnxruntime.to_owned(),
            onnxtune: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// The instruction sets that decide which kernels ONNX Runtime picks.
#[cfg(target_arch = "x86_64")]
fn cpu_features() -> Vec<&'static str> {
    macro_rules! detected {
        ($($name:tt),*) => { [$(($name, std::is_x86_feature_detected!($name))),*] };
    }
    let all = detected!("avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vnni", "avxvnni", "avx512bf16");
    all.into_iter().filter(|(_, present)| *present).map(|(name, _)| name).collect()
}

#[cfg(target_arch = "aarch64")]
fn cpu_features() -> Vec<&'static str> {
    macro_rules! detected {
        ($($name:tt),*) => { [$(($name, std::arch::is_aarch64_feature_detected!($name))),*] };
    }
    let all = detected!("neon", "fp16", "dotprod", "i8mm", "bf16", "sve");
    all.into_iter().filter(|(_, present)| *present).map(|(name, _)| name).collect()
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn cpu_features() -> Vec<&'static str> {
    Vec::new()
}
