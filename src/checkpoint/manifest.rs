use serde::{Deserialize, Serialize};

use crate::{
    graph::Digested,
    tune::{Machine, Settings},
};

/// Raised when an older reader would misread a newer checkpoint.
pub const SCHEMA_VERSION: u64 = 1;
pub const FORMAT: &str = "onnxtune-checkpoint";

/// The first entry of a checkpoint.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    pub format: String,
    pub schema_version: u64,
    /// Seconds since 1970.
    pub created: u64,
    /// Of the machine that tuned.
    pub machine: Machine,
    /// What won, as it is to be run.
    pub settings: Settings,
    pub model: ModelEntry,
    /// Every other entry of the archive.
    pub parts: Vec<Part>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelEntry {
    /// Of the model with its external data.
    pub sha256: String,
    /// Entry that holds each external location.
    pub external: Vec<ExternalEntry>,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExternalEntry {
    pub location: String,
    pub part: String,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    pub name: String,
    pub bytes: u64,
    pub sha256: String,
}

impl Part {
    pub fn new(name: &str, digest: &Digested) -> Part {
        Part { name: name.to_owned(), bytes: digest.bytes, sha256: digest.sha256.clone() }
    }
}
