use std::ffi::CStr;

use ort::sys;

/// Calls a function of the C API by name and turns its status into a `Result<(), String>`.
/// Each use says in a SAFETY comment why its arguments are valid.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        check(unsafe { (ort::api().$function)($($argument),*) })
    };
}
pub(super) use call;

/// The runtime's message, if the status is an error. Takes over the status.
pub(super) fn check(status: sys::OrtStatusPtr) -> Result<(), String> {
    if status.0.is_null() {
        return Ok(());
    }
    // SAFETY: a non-null status owns a NUL-terminated message and is released once, after the message is copied.
    unsafe {
        let message = CStr::from_ptr((ort::api().GetErrorMessage)(status.0)).to_string_lossy().trim_end().to_owned();
        (ort::api().ReleaseStatus)(status.0);
        Err(message)
    }
}
