//! One table from the rooms' errors to the codes that users see.

use serde::Serialize;

use crate::{
    checkpoint::CheckpointError, graph::GraphError, runtime::RuntimeError, serve::ServeError, tensor::TensorError,
    tune::TuneError,
};

/// An error as it crosses to JavaScript. `docs/errors.md` lists the codes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorReport {
    pub code: &'static str,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The ONNX Runtime library concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
}

/// The code of a cancelled call; JavaScript turns it into an `AbortError`.
pub const CANCELLED: &str = "ABORT_ERR";

impl ErrorReport {
    pub fn new(code: &'static str, message: impl Into<String>) -> ErrorReport {
        ErrorReport { code, message: message.into(), hint: None, library: None }
    }
}

impl From<GraphError> for ErrorReport {
    fn from(error: GraphError) -> Self {
        let code = match &error {
            GraphError::NotFound { .. } => "ERR_MODEL_NOT_FOUND",
            GraphError::NotAFile { .. } => "ERR_MODEL_NOT_A_FILE",
            GraphError::Unreadable { .. } => "ERR_MODEL_UNREADABLE",
            GraphError::Empty { .. } => "ERR_MODEL_EMPTY",
            GraphError::LfsPointer { .. } => "ERR_MODEL_LFS_POINTER",
            GraphError::NotOnnx { .. } => "ERR_MODEL_INVALID",
            GraphError::OrtFormat { .. } => "ERR_MODEL_ORT_FORMAT",
            GraphError::Truncated { .. } => "ERR_MODEL_TRUNCATED",
            GraphError::NoGraph { .. } => "ERR_MODEL_NO_GRAPH",
            GraphError::ExternalDataMissing { .. } => "ERR_EXTERNAL_DATA_MISSING",
            GraphError::ExternalDataTooShort { .. } => "ERR_EXTERNAL_DATA_TOO_SHORT",
            GraphError::ExternalDataPath { .. } => "ERR_EXTERNAL_DATA_PATH",
            GraphError::ExternalDataInvalid { .. } => "ERR_EXTERNAL_DATA_INVALID",
        };
        ErrorReport::new(code, error.to_string())
    }
}

impl From<RuntimeError> for ErrorReport {
    fn from(error: RuntimeError) -> Self {
        let (code, library) = match &error {
            RuntimeError::LibraryNotFound { .. } => ("ERR_RUNTIME_NOT_FOUND", None),
            RuntimeError::LibraryInvalid { path, .. } => ("ERR_RUNTIME_INVALID", Some(path)),
            RuntimeError::LibraryArchitecture { path, .. } => ("ERR_RUNTIME_ARCHITECTURE", Some(path)),
            RuntimeError::LibraryVersion { path, .. } => ("ERR_RUNTIME_VERSION", Some(path)),
            RuntimeError::AlreadyLoaded { loaded } => ("ERR_RUNTIME_ALREADY_LOADED", Some(loaded)),
            RuntimeError::Start { path, .. } => ("ERR_RUNTIME_START", Some(path)),
            RuntimeError::Ir { .. } => ("ERR_IR_UNSUPPORTED", None),
            RuntimeError::Opset { .. } => ("ERR_OPSET_UNSUPPORTED", None),
            RuntimeError::Operator { .. } => ("ERR_OPERATOR_UNSUPPORTED", None),
            RuntimeError::Load { .. } => ("ERR_MODEL_LOAD", None),
            RuntimeError::Dimension { .. } => ("ERR_DIMENSION_OVERRIDE", None),
            RuntimeError::ConfigKey { .. } => ("ERR_CONFIG_ENTRY", None),
            RuntimeError::Provider { .. } => ("ERR_PROVIDER_UNAVAILABLE", None),
            RuntimeError::Profile { .. } => ("ERR_PROFILE", None),
            RuntimeError::Run { .. } => ("ERR_RUN_FAILED", None),
            RuntimeError::Cancelled => (CANCELLED, None),
            RuntimeError::Output { .. } => ("ERR_OUTPUT_UNREADABLE", None),
            RuntimeError::Tensor(error) => (tensor_code(error), None),
        };
        let library = library.map(|path| path.display().to_string());
        ErrorReport { code, message: error.to_string(), hint: error.hint(), library }
    }
}

impl From<ServeError> for ErrorReport {
    fn from(error: ServeError) -> Self {
        let code = match error {
            ServeError::Run(error) => return error.into(),
            ServeError::QueueFull { .. } => "ERR_QUEUE_FULL",
            ServeError::Closed => "ERR_DISPOSED",
            ServeError::Thread(_) => "ERR_THREAD",
            ServeError::Panic(_) => "ERR_INTERNAL",
        };
        ErrorReport::new(code, error.to_string())
    }
}

impl From<TensorError> for ErrorReport {
    fn from(error: TensorError) -> Self {
        ErrorReport::new(tensor_code(&error), error.to_string())
    }
}

fn tensor_code(error: &TensorError) -> &'static str {
    match error {
        TensorError::Shape { .. } => "ERR_INPUT_SHAPE",
        TensorError::Length { .. } => "ERR_INPUT_LENGTH",
        TensorError::Kind { .. } => "ERR_INPUT_TYPE",
    }
}

impl From<TuneError> for ErrorReport {
    fn from(error: TuneError) -> Self {
        let code = match error {
            TuneError::Graph(error) => return error.into(),
            TuneError::Serve(error) => return error.into(),
            TuneError::Tensor(error) => return error.into(),
            TuneError::Baseline(ServeError::Run(RuntimeError::Cancelled)) => CANCELLED,
            TuneError::EmptyDataset => "ERR_DATASET_EMPTY",
            TuneError::SampleRank { .. } | TuneError::SampleExtent { .. } | TuneError::SampleEmpty { .. } => {
                "ERR_DATASET_SHAPE"
            }
            TuneError::SamplesAreBatches { .. } | TuneError::UnbatchedInputDiffers { .. } => "ERR_DATASET_BATCH",
            TuneError::FixedBatch { .. } => "ERR_BATCH_FIXED",
            TuneError::ModelUnreadable(_) => "ERR_MODEL_UNREADABLE",
            TuneError::Baseline(_) => "ERR_TUNE_BASELINE",
            TuneError::NoCandidate { .. } => "ERR_TUNE_NO_CANDIDATE",
        };
        ErrorReport::new(code, error.to_string())
    }
}

impl From<CheckpointError> for ErrorReport {
    fn from(error: CheckpointError) -> Self {
        let code = match error {
            CheckpointError::Model(error) => return error.into(),
            CheckpointError::NotFound { .. } => "ERR_CHECKPOINT_NOT_FOUND",
            CheckpointError::Unreadable { .. } => "ERR_CHECKPOINT_UNREADABLE",
            CheckpointError::Foreign { .. } => "ERR_CHECKPOINT_INVALID",
            CheckpointError::Newer { .. } => "ERR_CHECKPOINT_VERSION",
            CheckpointError::Damaged { .. } => "ERR_CHECKPOINT_DAMAGED",
            CheckpointError::Unwritable { .. } => "ERR_CHECKPOINT_UNWRITABLE",
            CheckpointError::SourceUnreadable { .. } => "ERR_MODEL_UNREADABLE",
            CheckpointError::ModelChanged { .. } => "ERR_MODEL_CHANGED",
            CheckpointError::Cancelled => CANCELLED,
        };
        ErrorReport::new(code, error.to_string())
    }
}
