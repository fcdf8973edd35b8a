//! The core of `onnxtune`: reads ONNX graphs, runs them through ONNX Runtime, finds the fastest right way of running
//! them, and keeps the result in one file. It knows no Node; `binding` does.

pub mod backend;
#[cfg(feature = "binding")]
mod binding;
pub mod checkpoint;
pub mod error;
pub mod graph;
pub mod log;
pub mod runtime;
pub mod serve;
pub mod tensor;
pub mod tune;
