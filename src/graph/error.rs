use std::io;
use std::path::{Path, PathBuf};

/// Why a model can't be read. `what` names the source: the path, or "the model bytes".
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    /// Nothing lies at this path, or a link there points nowhere.
    #[error("no model file at '{}'", .path.display())]
    NotFound { path: PathBuf },

    /// A folder, pipe or device lies at this path.
    #[error("'{}' is not a file; give the path of the .onnx file itself", .path.display())]
    NotAFile { path: PathBuf },

    /// The system refuses to read it.
    #[error("can't read '{}': {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },

    /// Zero bytes.
    #[error("{what} is empty (0 bytes)")]
    Empty { what: String },

    /// The small text file that Git LFS leaves where the real one was not fetched.
    #[error("'{}' is a Git LFS pointer, not the file itself; fetch it with `git lfs pull`", .path.display())]
    LfsPointer { path: PathBuf },

    /// Another kind of file, or damaged beyond decoding.
    #[error("{what} is not an ONNX model: {reason}")]
    NotOnnx { what: String, reason: String },

    /// ONNX Runtime's own flatbuffer format.
    #[error(
        "{what} is in ONNX Runtime's ORT format; its graph can't be read or tuned, use the .onnx file it was made from"
    )]
    OrtFormat { what: String },

    /// The beginning of a model. `needed` is the least number of bytes that the whole one has.
    #[error("{what} is cut off: it has {actual} bytes and needs at least {needed}; copy or download it again")]
    Truncated { what: String, needed: u64, actual: u64 },

    /// It decodes, but there is nothing to run.
    #[error("{what} holds no graph with nodes or outputs; it is empty, cut off or not an ONNX model")]
    NoGraph { what: String },

    /// External data that isn't there. `path` is where the first missing file is expected, `None` for a model in
    /// memory; `missing` lists every missing location.
    #[error("{}", missing_data(.tensor, .location, .path.as_deref(), .missing))]
    ExternalDataMissing { tensor: String, location: String, path: Option<PathBuf>, missing: Vec<String> },

    /// External data that ends before the tensors do. In bytes.
    #[error(
        "external data '{location}' is too short: the model needs {needed} bytes of it and it has {actual}; copy or download it again"
    )]
    ExternalDataTooShort { location: String, needed: u64, actual: u64 },

    /// A location that would read outside the model's folder.
    #[error(
        "tensor '{tensor}' keeps its data at '{location}', which {reason}; external data must lie in the model's own folder"
    )]
    ExternalDataPath { tensor: String, location: String, reason: &'static str },

    /// An external reference that means nothing: no location, a bad number, a wrong length.
    #[error("tensor '{tensor}' has a broken reference to external data: {reason}")]
    ExternalDataInvalid { tensor: String, reason: String },
}

fn missing_data(tensor: &str, location: &str, path: Option<&Path>, missing: &[String]) -> String {
    let others = match missing.len() {
        0 | 1 => String::new(),
        count => format!(" ({count} files are missing: {})", quoted(missing)),
    };
    match path {
        Some(path) => format!(
            "tensor '{tensor}' keeps its data in '{location}', and there is no file at '{}'{others}; \
             external data must lie beside the model",
            path.display()
        ),
        None => format!(
            "tensor '{tensor}' keeps its data in '{location}', which was not given with the model's bytes{others}; \
             give it as external data under this name, or load the model from its path"
        ),
    }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}
