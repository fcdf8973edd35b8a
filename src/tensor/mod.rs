//! Tensors in host memory: element types, shapes and values. The ground floor; it knows no model and no runtime.

mod dtype;
mod value;

pub use dtype::DType;
pub use value::{Data, Dims, Tensor, TensorError, Value, elements};
