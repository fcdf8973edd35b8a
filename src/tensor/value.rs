use bytes::Bytes;
use smallvec::SmallVec;

use super::DType;

/// What a model takes and gives.
#[derive(Clone, Debug)]
pub enum Value {
    Tensor(Tensor),
    Sequence(Vec<Value>),
    /// Parallel one-dimensional tensors.
    Map {
        keys: Tensor,
        values: Tensor,
    },
    /// An ONNX optional that holds nothing.
    None,
}

impl Value {
    pub fn is_none(&self) -> bool {
        matches!(self, Value::None)
    }

    pub fn is_empty_sequence(&self) -> bool {
        matches!(self, Value::Sequence(parts) if parts.is_empty())
    }

    /// The tensor, if this is one.
    pub fn as_tensor(&self) -> Option<&Tensor> {
        match self {
            Value::Tensor(tensor) => Some(tensor),
            _ => None,
        }
    }
}

/// Dimensions; those of most tensors fit without touching the heap.
pub type Dims = SmallVec<[i64; 6]>;

/// A dense tensor in row-major order. Cloning shares the data.
#[derive(Clone, Debug)]
pub struct Tensor {
    dtype: DType,
    dims: Dims,
    data: Data,
}

#[derive(Clone, Debug)]
pub enum Data {
    /// Elements in native byte order; types under a byte are packed, first element in the low bits.
    Bytes(Bytes),
    Strings(std::sync::Arc<[String]>),
}

#[derive(Debug, thiserror::Error)]
pub enum TensorError {
    #[error("a tensor dimension is negative or the shape {dims:?} has more elements than memory can hold")]
    Shape { dims: Dims },
    #[error("a {dtype} tensor of shape {dims:?} needs {expected} {unit}, but {received} were given")]
    Length { dtype: DType, dims: Dims, expected: usize, received: usize, unit: &'static str },
    #[error("{dtype} data cannot be given as {given}")]
    Kind { dtype: DType, given: &'static str },
}

/// The number of elements of a shape; `None` when a dimension is negative or the product overflows.
pub fn elements(dims: &[i64]) -> Option<usize> {
    dims.iter().try_fold(1usize, |product, &dim| product.checked_mul(usize::try_from(dim).ok()?))
}

impl Tensor {
    /// A tensor of exactly the bytes that `dtype` and `dims` call for.
    pub fn new(dtype: DType, dims: impl Into<Dims>, data: Data) -> Result<Tensor, TensorError> {
        let dims = dims.into();
        let Some(count) = elements(&dims) else { return Err(TensorError::Shape { dims }) };
        let (expected, received, unit) = match (&data, dtype) {
            (Data::Strings(strings), DType::String) => (count, strings.len(), "strings"),
            (Data::Strings(_), _) => return Err(TensorError::Kind { dtype, given: "strings" }),
            (Data::Bytes(_), DType::String) => return Err(TensorError::Kind { dtype, given: "bytes" }),
            (Data::Bytes(bytes), _) => match dtype.bytes(count) {
                Some(expected) => (expected, bytes.len(), "bytes"),
                None => return Err(TensorError::Shape { dims }),
            },
        };
        if expected != received {
            return Err(TensorError::Length { dtype, dims, expected, received, unit });
        }
        Ok(Tensor { dtype, dims, data })
    }

    pub fn dtype(&self) -> DType {
        self.dtype
    }

    pub fn dims(&self) -> &[i64] {
        &self.dims
    }

    pub fn data(&self) -> &Data {
        &self.data
    }

    /// The same data under other dimensions of the same number of elements.
    pub fn reshaped(&self, dims: impl Into<Dims>) -> Result<Tensor, TensorError> {
        Tensor::new(self.dtype, dims, self.data.clone())
    }

    /// The same tensor in memory of its own.
    pub fn to_owned_data(&self) -> Tensor {
        let data = match &self.data {
            Data::Bytes(bytes) => Data::Bytes(Bytes::copy_from_slice(bytes)),
            strings => strings.clone(),
        };
        Tensor { dtype: self.dtype, dims: self.dims.clone(), data }
    }

    /// The raw elements; empty for strings.
    pub fn bytes(&self) -> &[u8] {
        match &self.data {
            Data::Bytes(bytes) => bytes,
            Data::Strings(_) => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(n: usize) -> Data {
        Data::Bytes(Bytes::from(vec![0u8; n]))
    }

    #[test]
    fn length_must_fit_the_shape() {
        assert!(Tensor::new(DType::Float32, vec![2, 3], bytes(24)).is_ok());
        assert!(Tensor::new(DType::Float32, vec![0, 3], bytes(0)).is_ok());
        assert!(Tensor::new(DType::Int4, vec![3], bytes(2)).is_ok());
        assert!(matches!(Tensor::new(DType::Float32, vec![2, 3], bytes(23)), Err(TensorError::Length { .. })));
        assert!(matches!(Tensor::new(DType::Float32, vec![-1], bytes(4)), Err(TensorError::Shape { .. })));
        assert!(matches!(Tensor::new(DType::Float64, vec![i64::MAX, 8], bytes(4)), Err(TensorError::Shape { .. })));
        assert!(matches!(Tensor::new(DType::String, vec![1], bytes(4)), Err(TensorError::Kind { .. })));
    }
}
