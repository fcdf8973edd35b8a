use crate::{graph::GraphError, runtime::RuntimeError, serve::ServeError, tensor::TensorError};

/// Why a dataset cannot be used or a tune ended without a result.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    #[error("the dataset is empty; at least one sample is needed")]
    EmptyDataset,
    #[error(
        "sample {sample}: input {input:?} has rank {received}; the graph's is {expected}, or one less for a single item"
    )]
    SampleRank { sample: usize, input: String, expected: usize, received: usize },
    #[error("sample {sample}: input {input:?} holds {own} items, but another input of the sample holds {first}")]
    SampleExtent { sample: usize, input: String, first: usize, own: usize },
    #[error("sample {sample}: input {input:?} holds no items")]
    SampleEmpty { sample: usize, input: String },
    #[error(
        "the samples are batches of {extent} already, so batch sizes cannot be made from them; leave batchSizes out or give single items"
    )]
    SamplesAreBatches { extent: usize },
    #[error("the graph's batch dimension is fixed, so batch size {requested} cannot be run")]
    FixedBatch { requested: usize },
    #[error(
        "input {input:?} has no batch axis and differs between samples, so they cannot be joined into one batch; use batchSizes: [1]"
    )]
    UnbatchedInputDiffers { input: String },
    #[error("the model can't be read: {0}")]
    ModelUnreadable(std::io::Error),
    #[error("the untuned model fails on the dataset: {0}")]
    Baseline(ServeError),
    #[error("no candidate can run the model: {reasons}")]
    NoCandidate { reasons: String },
    #[error(transparent)]
    Graph(#[from] GraphError),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

impl From<RuntimeError> for TuneError {
    fn from(error: RuntimeError) -> Self {
        TuneError::Serve(ServeError::Run(error))
    }
}
