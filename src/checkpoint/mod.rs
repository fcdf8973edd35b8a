//! A tuned model in one file: a zip of stored entries, the manifest first. Loading maps the file, checks every hash and
//! executes nothing that is stored in it; the source model is not needed.

mod archive;
mod error;
mod manifest;

pub use archive::{Checkpoint, Tuned, load, save};
pub use error::CheckpointError;
pub use manifest::{Manifest, SCHEMA_VERSION};
