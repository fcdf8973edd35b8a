use std::{io, path::PathBuf};

use super::manifest::SCHEMA_VERSION;
use crate::graph::GraphError;

/// Why a checkpoint cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("no checkpoint at '{}'", .path.display())]
    NotFound { path: PathBuf },
    #[error("can't read '{}': {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("'{}' is not an onnxtune checkpoint: {reason}", .path.display())]
    Foreign { path: PathBuf, reason: String },
    #[error("'{}' has schema {found}; this version of onnxtune reads up to {SCHEMA_VERSION}", .path.display())]
    Newer { path: PathBuf, found: u64 },
    #[error("'{}' is damaged: {reason}", .path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error("can't write '{}': {source}", .path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error("can't read the model: {source}")]
    SourceUnreadable { source: io::Error },
    #[error("the model has changed since it was tuned (SHA-256 {found} instead of {expected})")]
    ModelChanged { expected: String, found: String },
    #[error(transparent)]
    Model(#[from] GraphError),
    #[error("cancelled")]
    Cancelled,
}
