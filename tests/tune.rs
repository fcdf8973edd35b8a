//! A tune and its checkpoint on the real ONNX Runtime, without Node.

mod common;

use common::{as_floats, binary_model, floats, input, open, use_checkout_runtime};
use onnxtune::{
    checkpoint::{self, CheckpointError},
    runtime::{CancelToken, GraphOptimization, RuntimeError, SessionFiles},
    serve::ServeError,
    tensor::Tensor,
    tune::{Limits, Machine, PerformanceValidation, Pins, Settings, Strategy, TuneError, TuneOptions, Tuned, tune},
};

fn options() -> TuneOptions {
    TuneOptions {
        strategy: Strategy::MaxThroughput { backends: vec![Pins::default()] },
        batch_sizes: None,
        max_batches_per_batch_size: 4,
        accuracy: Limits::default(),
        performance_validation: PerformanceValidation::Enabled,
        budget_ms: 500.0,
        concurrency: Some(2),
        seed: 1,
    }
}

fn samples() -> Vec<Vec<Tensor>> {
    (0..3).map(|index| vec![floats(&[4], &[index as f32; 4])]).collect()
}

fn tune_add(options: &TuneOptions, samples: &[Vec<Tensor>], cancel: &CancelToken) -> Result<Tuned, TuneError> {
    use_checkout_runtime();
    let baseline = Settings::new(1, 1, false, GraphOptimization::All);
    let model = open(binary_model("Add"));
    tune(&model, &model.info(), baseline, samples, options, &|_| (), cancel)
}

#[test]
fn every_candidate_has_a_reason_and_the_winner_runs() {
    let tuned = tune_add(&options(), &samples(), &CancelToken::new()).expect("tunes");
    let report = &tuned.report;
    assert!(report.candidates.len() > 3);
    assert!(report.candidates.iter().all(|candidate| !candidate.reason.is_empty()), "{report:#?}");
    assert_eq!(report.candidates[report.winner].settings, tuned.settings);
    assert_eq!(report.workload.batch_sizes, [1, 2]);
    let engine = tuned
        .settings
        .backend
        .build(&open(binary_model("Add")), &SessionFiles::default(), &CancelToken::new())
        .expect("builds");
    assert_eq!(as_floats(&engine.run(&[input(&[1, 4], &[3.0; 4])], &[0], None).expect("runs")[0]), [6.0; 4]);
}

#[test]
fn a_strategy_that_has_only_the_baseline_to_try_keeps_it() {
    let pins = Pins { threads: Some(1), callers: Some(1), spinning: Some(false), ..Pins::default() };
    let only = TuneOptions { strategy: Strategy::OneBackend { backend: pins }, ..options() };
    let tuned = tune_add(&only, &samples(), &CancelToken::new()).expect("tunes");
    assert_eq!((tuned.report.winner, tuned.report.candidates.len()), (0, 1));
    let hurried = TuneOptions { budget_ms: 0.001, ..options() };
    assert_eq!(tune_add(&hurried, &samples(), &CancelToken::new()).expect("tunes").report.winner, 0);
}

#[test]
fn datasets_that_cannot_be_used_are_refused() {
    let never = CancelToken::new();
    assert!(matches!(tune_add(&options(), &[], &never), Err(TuneError::EmptyDataset)));
    let deep = vec![vec![floats(&[1, 1, 4], &[0.0; 4])]];
    assert!(matches!(tune_add(&options(), &deep, &never), Err(TuneError::SampleRank { .. })));
    let batches = vec![vec![floats(&[3, 4], &[0.0; 12])]];
    let sized = TuneOptions { batch_sizes: Some(vec![1, 2]), ..options() };
    assert!(matches!(tune_add(&sized, &batches, &never), Err(TuneError::SamplesAreBatches { extent: 3 })));
    assert_eq!(tune_add(&options(), &batches, &never).expect("as they are").report.workload.batch_sizes, [3]);
}

#[test]
fn a_cancelled_tune_ends_as_cancelled() {
    let cancel = CancelToken::new();
    cancel.cancel();
    let cancelled = tune_add(&options(), &samples(), &cancel).err();
    let inner = match cancelled {
        Some(TuneError::Baseline(inner) | TuneError::Serve(inner)) => inner,
        other => panic!("{other:?}"),
    };
    assert!(matches!(inner, ServeError::Run(RuntimeError::Cancelled)));
}

#[test]
fn a_checkpoint_comes_back_whole_or_not_at_all() {
    use_checkout_runtime();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("model.ait");
    let model = open(binary_model("Add"));
    let contents = model.contents().expect("readable");
    let sha256 = contents[0].digest(&|| Ok(())).expect("a hash").sha256;
    let (settings, never) = (Settings::new(1, 1, false, GraphOptimization::Basic), CancelToken::new());
    let tuned =
        || checkpoint::Tuned { settings: &settings, machine: Machine::here("1"), report: "{}", sha256: &sha256 };
    checkpoint::save(&path, &model, tuned(), &never).expect("saves");
    let loaded = checkpoint::load(&path, &never).expect("loads");
    assert_eq!(loaded.manifest.settings, settings);
    assert_eq!(loaded.model.bytes(), model.bytes());
    assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 1, "no temporary file is left");

    let whole = std::fs::read(&path).expect("readable");
    let copy = folder.path().join("copy.ait");
    for position in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[position] ^= 0x55;
        std::fs::write(&copy, bytes).expect("writable");
        match checkpoint::load(&copy, &never) {
            // A byte that nothing reads, such as a time stamp: the content must be what it was.
            Ok(loaded) => assert_eq!((loaded.model.bytes(), &loaded.manifest.settings), (model.bytes(), &settings)),
            Err(CheckpointError::Foreign { .. } | CheckpointError::Damaged { .. }) => {}
            Err(other) => panic!("byte {position}: {other}"),
        }
    }
    for length in (0..whole.len()).step_by(7) {
        std::fs::write(&copy, &whole[..length]).expect("writable");
        assert!(checkpoint::load(&copy, &never).is_err());
    }
    let changed = checkpoint::save(&path, &open(binary_model("Sub")), tuned(), &never);
    assert!(matches!(changed, Err(CheckpointError::ModelChanged { .. })));
    assert_eq!(std::fs::read(&path).expect("readable"), whole, "a refused save leaves the old file");
}
