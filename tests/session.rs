//! Sessions on the real ONNX Runtime, without Node.

mod common;

use std::{sync::Arc, thread};

use common::{as_floats, binary_model, input, open, use_checkout_runtime};
use onnxtune::{
    runtime::{CancelToken, RuntimeError, Session, SessionFiles, SessionOptions},
    tensor::elements,
};

fn session(op: &str) -> Result<Session, RuntimeError> {
    use_checkout_runtime();
    let options = SessionOptions { threads: 2, ..SessionOptions::default() };
    Session::new(&open(binary_model(op)), &options, &SessionFiles::default(), &CancelToken::new())
}

#[test]
fn overlapping_runs_on_one_session_each_get_their_own_result() {
    let session = Arc::new(session("Add").expect("loads"));
    let runs = (0..16).map(|index| {
        let session = session.clone();
        thread::spawn(move || {
            for round in 0..200 {
                let value = (index * 1000 + round) as f32;
                let batch = 1 + index % 3;
                let input = input(&[batch, 4], &vec![value; 4 * batch as usize]);
                let outputs = session.run(&[input], &[0], None).expect("runs");
                let tensor = outputs[0].as_tensor().expect("a tensor");
                assert_eq!(elements(tensor.dims()), Some(4 * batch as usize));
                assert!(as_floats(&outputs[0]).iter().all(|&result| result == 2.0 * value));
            }
        })
    });
    let runs: Vec<_> = runs.collect();
    runs.into_iter().for_each(|run| run.join().expect("no thread panics"));
}

#[test]
fn outputs_outlive_their_session() {
    let outputs = {
        let session = session("Mul").expect("loads");
        session.run(&[input(&[1, 4], &[1.0, 2.0, 3.0, 4.0])], &[0], None).expect("runs")
    };
    assert_eq!(as_floats(&outputs[0]), [1.0, 4.0, 9.0, 16.0]);
}

#[test]
fn a_shape_the_graph_refuses_is_an_error_and_the_session_goes_on() {
    let session = session("Add").expect("loads");
    let wrong = session.run(&[input(&[2, 3], &[0.0; 6])], &[0], None);
    assert!(matches!(wrong, Err(RuntimeError::Run { .. })), "{wrong:?}");
    assert!(session.run(&[], &[0], None).is_err());
    assert!(session.run(&[input(&[1, 4], &[0.0; 4])], &[7], None).is_err());
    assert!(session.run(&[input(&[0, 4], &[])], &[0], None).is_ok());
}

#[test]
fn an_unknown_operator_is_named() {
    match session("Frobnicate").err() {
        Some(RuntimeError::Operator { operator, .. }) => assert!(operator.contains("Frobnicate"), "{operator}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cancelled_token_stops_load_and_run() {
    let cancelled = CancelToken::new();
    cancelled.cancel();
    use_checkout_runtime();
    let options = SessionOptions::default();
    let load = Session::new(&open(binary_model("Add")), &options, &SessionFiles::default(), &cancelled);
    assert!(matches!(load, Err(RuntimeError::Cancelled)));
    let run = session("Add").expect("loads").run(&[input(&[1, 4], &[0.0; 4])], &[0], Some(&cancelled));
    assert!(matches!(run, Err(RuntimeError::Cancelled)), "{run:?}");
}

#[test]
fn an_output_that_is_an_input_passed_on_has_memory_of_its_own() {
    use_checkout_runtime();
    let session = Session::new(
        &open(common::model(vec![], "x")),
        &SessionOptions::default(),
        &SessionFiles::default(),
        &CancelToken::new(),
    )
    .expect("loads");
    let inputs = [input(&[1, 4], &[1.0, 2.0, 3.0, 4.0])];
    let outputs = session.run(&inputs, &[0], None).expect("runs");
    let (given, got) = (inputs[0].as_tensor().expect("a tensor"), outputs[0].as_tensor().expect("a tensor"));
    assert_ne!(given.bytes().as_ptr(), got.bytes().as_ptr());
    drop(inputs);
    assert_eq!(as_floats(&outputs[0]), [1.0, 2.0, 3.0, 4.0]);
}
