use std::{ffi::c_void, ptr};

use bytes::Bytes;
use napi::{
    bindgen_prelude::{FromNapiValue, JsObjectValue, Object, ToNapiValue, TypeName, ValidateNapiValue},
    check_status, sys,
};

use super::to_napi;
use crate::{
    error::ErrorReport,
    tensor::{DType, Data, Tensor, Value},
};

/// How long the memory of an input has to stay valid.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Snapshot {
    /// Copied, for work that goes on after the call returns.
    Copy,
    /// Read where it lies, for work that ends inside the call.
    Borrow,
}

/// Makes tensors of parallel arrays: typed arrays (string arrays for string tensors) and dimensions.
///
/// # Safety
/// With [`Snapshot::Borrow`] the tensors must be dropped before the call into native code returns.
pub unsafe fn read_inputs(
    data: &Object,
    dims: &Object,
    dtypes: &[Option<DType>],
    snapshot: Snapshot,
) -> napi::Result<Vec<Tensor>> {
    let read = |(index, dtype): (usize, &Option<DType>)| {
        let dtype = dtype.ok_or_else(|| to_napi(ErrorReport::new("ERR_INPUT_TYPE", "only tensors can be given")))?;
        let dims: Vec<i64> = dims.get_element(index as u32)?;
        let data = if dtype == DType::String {
            Data::Strings(data.get_element::<Vec<String>>(index as u32)?.into())
        } else {
            let view: RawView = data.get_element(index as u32)?;
            // SAFETY: the view was taken in this very call, and the caller keeps to the rule above.
            Data::Bytes(unsafe { view.bytes(dtype, snapshot) })
        };
        Tensor::new(dtype, dims, data).map_err(to_napi)
    };
    dtypes.iter().enumerate().map(read).collect()
}

/// The memory of a typed array during a call.
pub struct RawView {
    data: *const u8,
    len: usize,
}

impl RawView {
    /// # Safety
    /// Only inside the call that made the view; with [`Snapshot::Borrow`] the result must not outlive it either.
    pub unsafe fn bytes(&self, dtype: DType, snapshot: Snapshot) -> Bytes {
        if self.len == 0 {
            return Bytes::new();
        }
        // SAFETY: the engine told pointer and length of live memory, and nothing can free it during the call. Another
        // thread may write to shared memory meanwhile; then the values are undefined, but not their place.
        let bytes: &'static [u8] = unsafe { std::slice::from_raw_parts(self.data, self.len) };
        let aligned = (self.data as usize).is_multiple_of(dtype.bits().div_ceil(8).max(1));
        match snapshot {
            Snapshot::Borrow if aligned => Bytes::from_static(bytes),
            _ => Bytes::copy_from_slice(bytes),
        }
    }
}

impl TypeName for RawView {
    fn type_name() -> &'static str {
        "TypedArray"
    }

    fn value_type() -> napi::ValueType {
        napi::ValueType::Object
    }
}

impl ValidateNapiValue for RawView {}

impl FromNapiValue for RawView {
    unsafe fn from_napi_value(env: sys::napi_env, value: sys::napi_value) -> napi::Result<Self> {
        let (mut kind, mut length, mut data) = (0, 0, ptr::null_mut());
        let (mut buffer, mut offset) = (ptr::null_mut(), 0);
        // SAFETY: places for the answers; a value that is no typed array gives an error status.
        let status = unsafe {
            sys::napi_get_typedarray_info(env, value, &mut kind, &mut length, &mut data, &mut buffer, &mut offset)
        };
        check_status!(status, "a typed array was expected")?;
        let width = match kind {
            sys::TypedarrayType::int8_array
            | sys::TypedarrayType::uint8_array
            | sys::TypedarrayType::uint8_clamped_array => 1,
            sys::TypedarrayType::int16_array | sys::TypedarrayType::uint16_array => 2,
            sys::TypedarrayType::int32_array
            | sys::TypedarrayType::uint32_array
            | sys::TypedarrayType::float32_array => 4,
            sys::TypedarrayType::float64_array
            | sys::TypedarrayType::bigint64_array
            | sys::TypedarrayType::biguint64_array => 8,
            _ => return Err(napi::Error::from_reason("this kind of typed array is unknown")),
        };
        Ok(RawView { data: data.cast(), len: length * width })
    }
}

/// The outputs of a run, turned into arrays `[type, data, dims]` that JavaScript owns; sequences are
/// `['sequence', parts]`, maps `['map', keys, values]`, an absent optional is null.
pub struct Outputs(pub Vec<Value>);

impl ToNapiValue for Outputs {
    unsafe fn to_napi_value(env: sys::napi_env, outputs: Self) -> napi::Result<sys::napi_value> {
        // SAFETY: on the JavaScript thread, with its live environment.
        unsafe { values_to_js(env, &outputs.0) }
    }
}

unsafe fn values_to_js(env: sys::napi_env, values: &[Value]) -> napi::Result<sys::napi_value> {
    // SAFETY: as for the caller.
    let parts = values.iter().map(|value| unsafe { value_to_js(env, value) }).collect::<napi::Result<Vec<_>>>()?;
    // SAFETY: as above.
    unsafe { array(env, &parts) }
}

unsafe fn value_to_js(env: sys::napi_env, value: &Value) -> napi::Result<sys::napi_value> {
    // SAFETY: all of it on the JavaScript thread, with its live environment and values made just now.
    unsafe {
        match value {
            Value::Tensor(tensor) => tensor_to_js(env, tensor),
            Value::Sequence(parts) => {
                let parts = values_to_js(env, parts)?;
                array(env, &[ToNapiValue::to_napi_value(env, "sequence")?, parts])
            }
            Value::Map { keys, values } => {
                let (keys, values) = (tensor_to_js(env, keys)?, tensor_to_js(env, values)?);
                array(env, &[ToNapiValue::to_napi_value(env, "map")?, keys, values])
            }
            Value::None => ToNapiValue::to_napi_value(env, napi::bindgen_prelude::Null),
        }
    }
}

unsafe fn tensor_to_js(env: sys::napi_env, tensor: &Tensor) -> napi::Result<sys::napi_value> {
    // SAFETY: all of it on the JavaScript thread, with its live environment and values made just now.
    unsafe {
        let data = match tensor.data() {
            Data::Bytes(bytes) => typed_array(env, tensor.dtype(), bytes)?,
            Data::Strings(strings) => ToNapiValue::to_napi_value(env, strings.to_vec())?,
        };
        let name = ToNapiValue::to_napi_value(env, tensor.dtype().name())?;
        array(env, &[name, data, ToNapiValue::to_napi_value(env, tensor.dims().to_vec())?])
    }
}

unsafe fn array(env: sys::napi_env, elements: &[sys::napi_value]) -> napi::Result<sys::napi_value> {
    let mut result = ptr::null_mut();
    // SAFETY: a live environment and a place for the answer.
    check_status!(unsafe { sys::napi_create_array_with_length(env, elements.len(), &mut result) })?;
    for (index, element) in elements.iter().enumerate() {
        // SAFETY: a live array and a live element.
        check_status!(unsafe { sys::napi_set_element(env, result, index as u32, *element) })?;
    }
    Ok(result)
}

/// A typed array in memory that V8 owns; external memory would be refused by Electron and pile up between collections.
unsafe fn typed_array(env: sys::napi_env, dtype: DType, bytes: &Bytes) -> napi::Result<sys::napi_value> {
    let (kind, width) = match dtype {
        DType::Float32 | DType::Complex64 => (sys::TypedarrayType::float32_array, 4),
        DType::Float64 | DType::Complex128 => (sys::TypedarrayType::float64_array, 8),
        DType::Int8 => (sys::TypedarrayType::int8_array, 1),
        DType::Int16 => (sys::TypedarrayType::int16_array, 2),
        DType::Int32 => (sys::TypedarrayType::int32_array, 4),
        DType::Int64 => (sys::TypedarrayType::bigint64_array, 8),
        DType::Uint16 | DType::Float16 | DType::Bfloat16 => (sys::TypedarrayType::uint16_array, 2),
        DType::Uint32 => (sys::TypedarrayType::uint32_array, 4),
        DType::Uint64 => (sys::TypedarrayType::biguint64_array, 8),
        _ => (sys::TypedarrayType::uint8_array, 1),
    };
    let (mut data, mut buffer, mut result): (*mut c_void, _, _) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: a live environment and places for the answers.
    check_status!(unsafe { sys::napi_create_arraybuffer(env, bytes.len(), &mut data, &mut buffer) })?;
    if !bytes.is_empty() {
        // SAFETY: the new buffer has room for `bytes.len()` bytes, and the two do not overlap.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast::<u8>(), bytes.len()) };
    }
    // SAFETY: the buffer holds exactly `bytes.len() / width` elements.
    check_status!(unsafe { sys::napi_create_typedarray(env, kind, bytes.len() / width, buffer, 0, &mut result) })?;
    Ok(result)
}
