//! The ONNX file, read without any runtime.
//!
//! [`Model::open`] maps a file (or takes bytes), decodes it once without copying its weights, and says precisely what
//! is wrong when it can't. [`Model::info`] lists what a graph needs and holds, [`Model::check_external_data`] proves
//! that the files beside it are there. Nothing here executes, changes or copies a model.

mod contents;
mod error;
mod external;
mod info;
pub mod messages;
mod reader;
mod sniff;
mod value;
pub mod walk;
mod weights;

#[cfg(test)]
mod tests;

pub use contents::{Content, Digested, fingerprint, hex};
pub use error::GraphError;
pub use external::{ExternalFile, ExternalReference};
pub use info::{ExternalDataInfo, GraphInfo};
pub use reader::{Model, ModelSource};
pub use value::{Dim, ValueInfo};
pub use weights::Precision;
