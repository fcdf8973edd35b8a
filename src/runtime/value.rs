use std::{ffi::c_void, ptr, slice, sync::Arc};

use bytes::Bytes;
use ort::sys::{self, ONNXTensorElementDataType as OrtType, ONNXType};

use super::api::{call, check};
use crate::tensor::{DType, Data, Dims, Tensor, Value as TensorValue, elements};

/// An owned `OrtValue`.
pub(super) struct OrtValue(*mut sys::OrtValue);

// SAFETY: a value has no thread affinity; it is only read through shared references.
unsafe impl Send for OrtValue {}
// SAFETY: as above.
unsafe impl Sync for OrtValue {}

impl Drop for OrtValue {
    fn drop(&mut self) {
        // SAFETY: the pointer came from the runtime and is released once.
        unsafe { (ort::api().ReleaseValue)(self.0) }
    }
}

/// Memory that the runtime filled and a [`Bytes`] now owns.
struct OrtBytes {
    _value: OrtValue,
    data: *const u8,
    len: usize,
}

// SAFETY: the memory belongs to `_value`, is never written again, and has no thread affinity.
unsafe impl Send for OrtBytes {}

impl AsRef<[u8]> for OrtBytes {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: `data` points to `len` initialised bytes that live as long as `_value`.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }
}

impl OrtValue {
    pub(super) fn as_ptr(&self) -> *const sys::OrtValue {
        self.0
    }

    /// Takes over a value that a run gave out; null is an optional that holds nothing.
    pub(super) fn from_raw(value: *mut sys::OrtValue) -> Option<OrtValue> {
        (!value.is_null()).then_some(OrtValue(value))
    }

    /// A value that reads the memory of the tensors in `value`, which must outlive it.
    pub(super) fn borrow(value: &TensorValue, memory: *const sys::OrtMemoryInfo) -> Result<OrtValue, String> {
        let tensor = |tensor: &Tensor| OrtValue::borrow_tensor(tensor, memory);
        match value {
            TensorValue::Tensor(data) => tensor(data),
            TensorValue::Sequence(parts) => {
                let parts = parts.iter().map(|part| OrtValue::borrow(part, memory)).collect::<Result<Vec<_>, _>>()?;
                OrtValue::compose(&parts, ONNXType::ONNX_TYPE_SEQUENCE)
            }
            TensorValue::Map { keys, values } => {
                OrtValue::compose(&[tensor(keys)?, tensor(values)?], ONNXType::ONNX_TYPE_MAP)
            }
            TensorValue::None => Err("an absent optional has no place inside another value".into()),
        }
    }

    /// A sequence or map that shares the values.
    fn compose(parts: &[OrtValue], kind: ONNXType) -> Result<OrtValue, String> {
        let (pointers, mut value): (Vec<_>, _) = (parts.iter().map(OrtValue::as_ptr).collect(), ptr::null_mut());
        // SAFETY: live values, their number, and a place for the answer.
        call!(CreateValue(pointers.as_ptr(), pointers.len(), kind, &mut value))?;
        Ok(OrtValue(value))
    }

    fn borrow_tensor(tensor: &Tensor, memory: *const sys::OrtMemoryInfo) -> Result<OrtValue, String> {
        match tensor.data() {
            Data::Bytes(bytes) => {
                let (dims, mut value) = (tensor.dims(), ptr::null_mut());
                // SAFETY: pointers and lengths are those of live slices; the runtime only reads input tensors, and the
                // caller keeps the tensor for as long as the value.
                call!(CreateTensorWithDataAsOrtValue(
                    memory,
                    bytes.as_ptr() as *mut c_void,
                    bytes.len(),
                    dims.as_ptr(),
                    dims.len(),
                    to_ort(tensor.dtype()),
                    &mut value
                ))?;
                Ok(OrtValue(value))
            }
            Data::Strings(strings) => strings_to_ort(tensor.dims(), strings),
        }
    }

    pub(super) fn into_value(self) -> Result<TensorValue, String> {
        // First of all: an absent optional tells of a type that it has no value of.
        let mut present = 0;
        // SAFETY: a live value and a place for the answer.
        call!(HasValue(self.0, &mut present))?;
        if present == 0 {
            return Ok(TensorValue::None);
        }
        let mut kind = ONNXType::ONNX_TYPE_UNKNOWN;
        // SAFETY: a live value and a place for the answer.
        call!(GetValueType(self.0, &mut kind))?;
        match kind {
            ONNXType::ONNX_TYPE_TENSOR => Ok(TensorValue::Tensor(self.into_tensor()?)),
            ONNXType::ONNX_TYPE_SEQUENCE => {
                let parts = (0..self.count()?).map(|index| self.part(index)?.into_value());
                Ok(TensorValue::Sequence(parts.collect::<Result<_, _>>()?))
            }
            ONNXType::ONNX_TYPE_MAP => {
                Ok(TensorValue::Map { keys: self.part(0)?.into_tensor()?, values: self.part(1)?.into_tensor()? })
            }
            _ => Err("neither a tensor, a sequence nor a map".into()),
        }
    }

    fn count(&self) -> Result<usize, String> {
        let mut count = 0;
        // SAFETY: a live value and a place for the answer.
        call!(GetValueCount(self.0, &mut count))?;
        Ok(count)
    }

    fn part(&self, index: usize) -> Result<OrtValue, String> {
        let index = i32::try_from(index).map_err(|_| "a sequence of over 2^31 parts".to_string())?;
        let (mut allocator, mut part) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: gives the process-wide default allocator, which is never released.
        call!(GetAllocatorWithDefaultOptions(&mut allocator))?;
        // SAFETY: a live value, an index below its count, a live allocator.
        call!(GetValue(self.0, index, allocator, &mut part))?;
        OrtValue::from_raw(part).ok_or_else(|| "an empty part".to_string())
    }

    fn into_tensor(self) -> Result<Tensor, String> {
        let (dtype, dims) = self.type_and_dims()?;
        let count = elements(&dims).ok_or("a shape larger than memory")?;
        if dtype == DType::String {
            let strings = self.strings(count)?;
            return Tensor::new(dtype, dims, Data::Strings(strings.into())).map_err(|error| error.to_string());
        }
        let len = dtype.bytes(count).ok_or("a shape larger than memory")?;
        let bytes = if len == 0 {
            Bytes::new()
        } else {
            let mut data = ptr::null_mut();
            // SAFETY: a live tensor; the pointer stays valid as long as the value, which moves into the owner below.
            call!(GetTensorMutableData(self.0, &mut data))?;
            Bytes::from_owner(OrtBytes { _value: self, data: data.cast(), len })
        };
        Tensor::new(dtype, dims, Data::Bytes(bytes)).map_err(|error| error.to_string())
    }

    fn type_and_dims(&self) -> Result<(DType, Dims), String> {
        let mut element = OrtType::ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
        let (mut dims, mut rank) = (ptr::null(), 0);
        // SAFETY: a live tensor and places for the answers; the dimensions belong to the tensor.
        call!(GetTensorElementTypeAndShapeDataReference(self.0, &mut element, &mut dims, &mut rank))?;
        // SAFETY: `rank` numbers that live as long as the tensor; null only where there are none.
        let dims = if rank == 0 { Dims::new() } else { Dims::from_slice(unsafe { slice::from_raw_parts(dims, rank) }) };
        let dtype = from_ort(element).ok_or_else(|| format!("element type {element:?} is unknown here"))?;
        Ok((dtype, dims))
    }

    fn strings(&self, count: usize) -> Result<Vec<String>, String> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut len = 0;
        // SAFETY: a live string tensor and a place for the answer.
        call!(GetStringTensorDataLength(self.0, &mut len))?;
        let (mut content, mut offsets) = (vec![0u8; len], vec![0usize; count]);
        // SAFETY: both buffers are as long as said.
        call!(GetStringTensorContent(self.0, content.as_mut_ptr().cast(), len, offsets.as_mut_ptr(), count))?;
        let ends = offsets.iter().skip(1).copied().chain([len]);
        offsets
            .iter()
            .zip(ends)
            .map(|(&start, end)| {
                let bytes = content.get(start..end).ok_or("string offsets out of order")?;
                String::from_utf8(bytes.to_vec()).map_err(|_| "a string that is not valid UTF-8".to_string())
            })
            .collect()
    }
}

fn strings_to_ort(dims: &[i64], strings: &Arc<[String]>) -> Result<OrtValue, String> {
    let (mut allocator, mut value) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: gives the process-wide default allocator, which is never released.
    call!(GetAllocatorWithDefaultOptions(&mut allocator))?;
    // SAFETY: a live allocator and the pointer and length of a live slice.
    call!(CreateTensorAsOrtValue(
        allocator,
        dims.as_ptr(),
        dims.len(),
        OrtType::ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING,
        &mut value
    ))?;
    let value = OrtValue(value);
    for (index, string) in strings.iter().enumerate() {
        // Not FillStringTensor: it takes C strings and would cut at a NUL.
        let mut buffer = ptr::null_mut();
        // SAFETY: `index` is below the element count, which Tensor::new held equal to the number of strings.
        call!(GetResizedStringTensorElementBuffer(value.0, index, string.len(), &mut buffer))?;
        // SAFETY: the runtime gave room for `string.len()` bytes, and the two do not overlap.
        unsafe { ptr::copy_nonoverlapping(string.as_ptr(), buffer.cast::<u8>(), string.len()) };
    }
    Ok(value)
}

/// ONNX and ONNX Runtime number the element types alike but for the last three.
const RENUMBERED: [(DType, OrtType); 3] = [
    (DType::Float8E8M0, OrtType::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0),
    (DType::Uint2, OrtType::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2),
    (DType::Int2, OrtType::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2),
];

fn to_ort(dtype: DType) -> OrtType {
    match RENUMBERED.iter().find(|(ours, _)| *ours == dtype) {
        Some((_, theirs)) => *theirs,
        // SAFETY: OrtType is a C enum of 32 bits whose values 1 to 23 are those of DType.
        None => unsafe { std::mem::transmute::<u32, OrtType>(dtype as u32) },
    }
}

pub(super) fn from_ort(element: OrtType) -> Option<DType> {
    match RENUMBERED.iter().find(|(_, theirs)| *theirs == element) {
        Some((ours, _)) => Some(*ours),
        None => DType::from_onnx(element as i32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn element_types_map_both_ways() {
        for number in 1..=26 {
            let dtype = DType::from_onnx(number).expect("1 to 26 are types");
            assert_eq!(from_ort(to_ort(dtype)), Some(dtype));
        }
        assert_eq!(to_ort(DType::Float4E2M1), OrtType::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1);
    }
}
