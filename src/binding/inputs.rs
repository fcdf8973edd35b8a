//! What JavaScript gives, on its way in.

use std::ptr;

use napi::{
    JsValue, Unknown,
    bindgen_prelude::{FromNapiValue, Object},
    check_status, sys,
};
use smallvec::SmallVec;

use super::{
    to_napi,
    view::{RawView, Snapshot},
};
use crate::{
    error::ErrorReport,
    tensor::{DType, Data, Dims, Tensor, Value},
};

/// Makes values of an array with the data of each input and one with their dimensions, flat: `[rank, dim…]` for each.
/// A negative rank says that the data is a structure: what [`Outputs`] gives for values that are no plain tensors.
///
/// # Safety
/// With [`Snapshot::Borrow`] the values must be dropped before the call into native code returns.
pub unsafe fn read_inputs(
    data: &Object,
    dims: &RawView,
    dtypes: &[Option<DType>],
    snapshot: Snapshot,
) -> napi::Result<Vec<Value>> {
    let (env, array) = (data.value().env, data.raw());
    let element = |index| {
        let mut element = ptr::null_mut();
        // SAFETY: a live array and a place for the answer.
        check_status!(unsafe { sys::napi_get_element(env, array, index as u32, &mut element) })?;
        Ok(element)
    };
    let elements = (0..dtypes.len()).map(element).collect::<napi::Result<SmallVec<[_; 8]>>>()?;
    // SAFETY: as the caller promises.
    unsafe { read_values(env, &elements, dims, dtypes, snapshot) }
}

/// [`read_inputs`] of data that is at hand.
///
/// # Safety
/// As for [`read_inputs`].
pub unsafe fn read_values(
    env: sys::napi_env,
    data: &[sys::napi_value],
    dims: &RawView,
    dtypes: &[Option<DType>],
    snapshot: Snapshot,
) -> napi::Result<Vec<Value>> {
    let mut dims = dims.numbers()?.iter().map(|&dim| dim as i64);
    let read = |(&element, dtype): (&sys::napi_value, &Option<DType>)| {
        let rank = dims.next().unwrap_or(-1);
        match dtype {
            Some(dtype) if rank >= 0 => {
                let dims: Dims = dims.by_ref().take(rank as usize).collect();
                // SAFETY: as the caller promises.
                Ok(Value::Tensor(unsafe { read_tensor(env, element, *dtype, dims, snapshot) }?))
            }
            // SAFETY: as above.
            _ => unsafe { read_structure(env, element, snapshot) },
        }
    };
    data.iter().zip(dtypes).map(read).collect()
}

unsafe fn read_tensor(
    env: sys::napi_env,
    data: sys::napi_value,
    dtype: DType,
    dims: Dims,
    snapshot: Snapshot,
) -> napi::Result<Tensor> {
    // SAFETY: live values of this call; the view is used inside it, as the caller promises.
    let data = unsafe {
        match dtype {
            DType::String => Data::Strings(Vec::<String>::from_napi_value(env, data)?.into()),
            _ => Data::Bytes(RawView::from_napi_value(env, data)?.bytes(dtype, snapshot)),
        }
    };
    Tensor::new(dtype, dims, data).map_err(to_napi)
}

/// `[type, data, dims]`, `['sequence', parts]`, `['map', keys, values]` or null.
unsafe fn read_structure(env: sys::napi_env, value: sys::napi_value, snapshot: Snapshot) -> napi::Result<Value> {
    // SAFETY: live values of this call.
    unsafe {
        if napi::type_of!(env, value)? == napi::ValueType::Null {
            return Ok(Value::None);
        }
        let parts = Vec::<Unknown>::from_napi_value(env, value)?;
        let part = |index: usize| parts.get(index).map(JsValue::raw).ok_or_else(|| to_napi(malformed()));
        let tensor = |value| match read_structure(env, value, snapshot)? {
            Value::Tensor(tensor) => Ok(tensor),
            _ => Err(to_napi(malformed())),
        };
        match String::from_napi_value(env, part(0)?)?.as_str() {
            "sequence" => {
                let parts = Vec::<Unknown>::from_napi_value(env, part(1)?)?;
                let parts = parts.into_iter().map(|value| read_structure(env, value.raw(), snapshot));
                Ok(Value::Sequence(parts.collect::<napi::Result<_>>()?))
            }
            "map" => Ok(Value::Map { keys: tensor(part(1)?)?, values: tensor(part(2)?)? }),
            name => {
                let dtype = DType::from_name(name).ok_or_else(|| to_napi(malformed()))?;
                let dims = Vec::<i64>::from_napi_value(env, part(2)?)?;
                Ok(Value::Tensor(read_tensor(env, part(1)?, dtype, dims.into(), snapshot)?))
            }
        }
    }
}

fn malformed() -> ErrorReport {
    ErrorReport::new("ERR_INTERNAL", "the JavaScript face gave a value that is none")
}
