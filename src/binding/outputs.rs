//! What goes out to JavaScript.

use std::{ffi::c_void, ptr, sync::Arc};

use bytes::Bytes;
use napi::{
    JsValue,
    bindgen_prelude::{FromNapiValue, JsObjectValue, Object, ToNapiValue},
    check_status, sys,
};
use smallvec::SmallVec;

use super::{
    to_napi,
    view::{RawView, Snapshot},
};
use crate::{
    error::ErrorReport,
    tensor::{DType, Data, Tensor, Value},
};

/// The outputs of a run on their way to JavaScript: one flat array with `data, rank, dim…` for each. The data of a tensor
/// is a typed array that JavaScript owns (strings: an array), or undefined where it was written to an array of the
/// caller's. A rank of -1 says that it is a structure: `[type, data, dims]` where the type is not the one that the graph
/// declares, `['sequence', parts]`, `['map', keys, values]`, or null for an absent optional.
pub struct Outputs {
    pub values: Result<Vec<Value>, ErrorReport>,
    /// What the graph declares for each.
    pub declared: Arc<[Option<DType>]>,
    /// Arrays of the caller's, parallel to the values; empty for none.
    pub into: Vec<Target>,
}

/// A caller's array that an output is to be written to.
pub enum Target {
    None,
    /// During the call that brought it.
    View(RawView),
    /// Kept alive until the run ends; its memory is looked up again then, since it may have been moved meanwhile.
    Kept(sys::napi_ref),
}

// SAFETY: other threads only carry the reference; it is used and deleted on the JavaScript thread.
unsafe impl Send for Target {}

impl Target {
    /// The targets in an array; holes are undefined.
    pub fn read(array: Option<Object>, snapshot: Snapshot) -> napi::Result<Vec<Target>> {
        let Some(array) = array else { return Ok(Vec::new()) };
        let (env, length) = (array.value().env, array.get_array_length()?);
        let read = |index| {
            let mut element = ptr::null_mut();
            // SAFETY: a live array and a place for the answer.
            check_status!(unsafe { sys::napi_get_element(env, array.raw(), index, &mut element) })?;
            // SAFETY: a live value.
            unsafe { Target::read_one(env, element, snapshot) }
        };
        (0..length).map(read).collect()
    }

    /// # Safety
    /// With a live value of the call under way.
    pub unsafe fn read_one(env: sys::napi_env, element: sys::napi_value, snapshot: Snapshot) -> napi::Result<Target> {
        if napi::type_of!(env, element)? == napi::ValueType::Undefined {
            return Ok(Target::None);
        }
        // SAFETY: a live value; anything but a typed array is an error.
        let view = unsafe { RawView::from_napi_value(env, element) }?;
        if snapshot == Snapshot::Borrow {
            return Ok(Target::View(view));
        }
        let mut reference = ptr::null_mut();
        // SAFETY: a live object and a place for the answer.
        check_status!(unsafe { sys::napi_create_reference(env, element, 1, &mut reference) })?;
        Ok(Target::Kept(reference))
    }

    /// Writes the output to the array; says whether there is one.
    unsafe fn fill(self, env: sys::napi_env, value: &Value, index: usize) -> napi::Result<bool> {
        let view = match self {
            Target::None => return Ok(false),
            Target::View(view) => view,
            // SAFETY: on the JavaScript thread; the reference is used and deleted once.
            Target::Kept(reference) => unsafe {
                let mut element = ptr::null_mut();
                check_status!(sys::napi_get_reference_value(env, reference, &mut element))?;
                check_status!(sys::napi_delete_reference(env, reference))?;
                RawView::from_napi_value(env, element)?
            },
        };
        match value.as_tensor() {
            Some(tensor) if tensor.dtype() != DType::String => view.fill(tensor.bytes(), index).map_err(to_napi)?,
            _ => {
                return Err(to_napi(ErrorReport::new(
                    "ERR_INTO",
                    "only tensors of numbers can be written to an array",
                )));
            }
        }
        Ok(true)
    }
}

impl ToNapiValue for Outputs {
    unsafe fn to_napi_value(env: sys::napi_env, outputs: Self) -> napi::Result<sys::napi_value> {
        // SAFETY: as for the caller.
        unsafe { outputs.into_js(env, None) }
    }
}

impl Outputs {
    /// With `dims`, the dimensions go into that array as long as they fit, and the result holds the data alone; where all
    /// of it was written to arrays of the caller's, there is no result.
    ///
    /// # Safety
    /// On the JavaScript thread, with its live environment.
    pub unsafe fn into_js(self, env: sys::napi_env, dims: Option<&RawView>) -> napi::Result<sys::napi_value> {
        let Outputs { values, declared, into } = self;
        // SAFETY: all of it as the caller promises, on values made just now.
        unsafe {
            // Every target is let go of, whatever went wrong.
            let none = Value::None;
            let value = |index: usize| values.as_ref().ok().and_then(|values| values.get(index)).unwrap_or(&none);
            let filled: SmallVec<[_; 4]> =
                into.into_iter().enumerate().map(|(index, target)| target.fill(env, value(index), index)).collect();
            let values = values.map_err(to_napi)?;
            let filled = filled.into_iter().collect::<napi::Result<SmallVec<[bool; 4]>>>()?;
            let is_filled = |index: usize| filled.get(index).copied().unwrap_or(false);
            let all_filled = (0..values.len()).all(is_filled);
            let shapes = shapes(&values, &declared);
            let beside = dims.is_some_and(|dims| dims.write_numbers(&shapes));
            if beside && all_filled {
                return undefined(env);
            }
            let mut flat: SmallVec<[sys::napi_value; 16]> = SmallVec::new();
            let mut shapes = shapes.into_iter();
            for (index, value) in values.iter().enumerate() {
                let rank = shapes.next().unwrap_or(-1.0);
                flat.push(match value {
                    Value::Tensor(_) if is_filled(index) => undefined(env)?,
                    Value::Tensor(tensor) if rank >= 0.0 => data_to_js(env, tensor)?,
                    _ => value_to_js(env, value)?,
                });
                let dims = shapes.by_ref().take(rank.max(0.0) as usize);
                if beside {
                    dims.for_each(drop);
                } else {
                    flat.push(number(env, rank)?);
                    for dim in dims {
                        flat.push(number(env, dim)?);
                    }
                }
            }
            array(env, &flat)
        }
    }
}

/// `rank, dim…` for each value, flat; -1 for those that are no plain tensors of the declared type.
fn shapes(values: &[Value], declared: &[Option<DType>]) -> SmallVec<[f64; 16]> {
    let mut shapes = SmallVec::new();
    for (value, declared) in values.iter().zip(declared) {
        match value {
            Value::Tensor(tensor) if Some(tensor.dtype()) == *declared => {
                shapes.push(tensor.dims().len() as f64);
                shapes.extend(tensor.dims().iter().map(|&dim| dim as f64));
            }
            _ => shapes.push(-1.0),
        }
    }
    shapes
}

unsafe fn number(env: sys::napi_env, number: f64) -> napi::Result<sys::napi_value> {
    let mut result = ptr::null_mut();
    // SAFETY: a live environment and a place for the answer.
    check_status!(unsafe { sys::napi_create_double(env, number, &mut result) })?;
    Ok(result)
}

unsafe fn undefined(env: sys::napi_env) -> napi::Result<sys::napi_value> {
    let mut result = ptr::null_mut();
    // SAFETY: a live environment and a place for the answer.
    check_status!(unsafe { sys::napi_get_undefined(env, &mut result) })?;
    Ok(result)
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
        let data = data_to_js(env, tensor)?;
        let name = ToNapiValue::to_napi_value(env, tensor.dtype().name())?;
        array(env, &[name, data, ToNapiValue::to_napi_value(env, tensor.dims().to_vec())?])
    }
}

unsafe fn data_to_js(env: sys::napi_env, tensor: &Tensor) -> napi::Result<sys::napi_value> {
    // SAFETY: as for the caller.
    unsafe {
        match tensor.data() {
            Data::Bytes(bytes) => typed_array(env, tensor.dtype(), bytes),
            Data::Strings(strings) => ToNapiValue::to_napi_value(env, strings.to_vec()),
        }
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
