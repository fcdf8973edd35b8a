//! Finds the fastest right way of running a model: candidates are built, checked against the untuned baseline's
//! outputs, timed against it in interleaved rounds, and chosen by a strategy; everything is told in a report.

mod axes;
mod candidates;
mod choice;
mod contender;
mod dataset;
mod error;
mod inspect;
mod measure;
mod report;
mod rounds;
mod statistics;
mod strategy;
mod tuner;
mod verify;

pub use candidates::{Pins, Settings};
pub use error::TuneError;
pub use inspect::{InspectOptions, InspectReport, inspect};
pub use report::{Machine, Report};
pub use strategy::{PerformanceValidation, Strategy};
pub use tuner::{Progress, TuneOptions, Tuned, tune};
pub use verify::{Accuracy, Limits};
