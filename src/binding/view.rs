//! Memory of JavaScript during a call.

use std::ptr;

use bytes::Bytes;
use napi::{
    bindgen_prelude::{FromNapiValue, TypeName, ValidateNapiValue},
    check_status, sys,
};

use crate::{error::ErrorReport, tensor::DType};

/// How long the memory of an input has to stay valid.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Snapshot {
    /// Copied, for work that goes on after the call returns.
    Copy,
    /// Read where it lies, for work that ends inside the call.
    Borrow,
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

impl RawView {
    /// The numbers of a `Float64Array`, during the call.
    pub fn numbers(&self) -> napi::Result<&[f64]> {
        if self.len == 0 {
            return Ok(&[]);
        }
        if !self.data.cast::<f64>().is_aligned() {
            return Err(napi::Error::from_reason("an array of numbers is not aligned"));
        }
        // SAFETY: live memory of that length, aligned, in which any bits are numbers.
        Ok(unsafe { std::slice::from_raw_parts(self.data.cast(), self.len / 8) })
    }

    /// Writes numbers to the beginning of a `Float64Array` that has room for them; says whether it has.
    pub fn write_numbers(&self, numbers: &[f64]) -> bool {
        let fits = numbers.len() <= self.len / 8 && self.data.cast::<f64>().is_aligned();
        if fits {
            // SAFETY: live memory of this call with that much room, which belongs to the JavaScript face alone.
            unsafe { ptr::copy_nonoverlapping(numbers.as_ptr(), self.data.cast_mut().cast(), numbers.len()) };
        }
        fits
    }

    /// Writes `bytes` over the array, which must be as long.
    pub fn fill(&self, bytes: &[u8], output: usize) -> Result<(), ErrorReport> {
        if self.len != bytes.len() {
            let (given, needed) = (self.len, bytes.len());
            let message =
                format!("the array given in `into` for output #{output} has {given} bytes and needs {needed}");
            return Err(ErrorReport::new("ERR_INTO", message));
        }
        if !bytes.is_empty() {
            // SAFETY: the engine told pointer and length of live memory in this very call; outputs never lie in it.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.data.cast_mut(), bytes.len()) };
        }
        Ok(())
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
