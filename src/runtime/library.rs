use std::{
    ffi::CStr,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use super::RuntimeError;

/// File name under which the runtime ships. Its SONAME is private too, so that it lives beside another copy of ONNX
/// Runtime in one process (`onnxruntime-node` brings its own).
pub const FILE_NAME: &str = if cfg!(windows) {
    "onnxtune_onnxruntime.dll"
} else if cfg!(target_os = "macos") {
    "libonnxtune_onnxruntime.dylib"
} else {
    "libonnxtune_onnxruntime.so"
};

pub const ENVIRONMENT_VARIABLE: &str = "ONNXTUNE_ORT_LIBRARY";

/// The oldest ONNX Runtime whose C API has all that is called here (`1.MINIMUM_MINOR`).
pub const MINIMUM_MINOR: u32 = ort::MINOR_VERSION;

/// Finds the library: the path asked for, the environment variable, beside the addon, the checkout's cache.
pub(super) fn find(explicit: Option<&Path>) -> Result<PathBuf, RuntimeError> {
    let variable = std::env::var_os(ENVIRONMENT_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
    // A path that somebody named is the only one tried: running another library than the one asked for is worse than
    // an error.
    let candidates = match explicit.map(Path::to_path_buf).or(variable) {
        Some(path) => vec![path],
        None => addon_folder()
            .into_iter()
            .flat_map(|folder| [folder.join(FILE_NAME), folder.join(".cache/onnxruntime").join(FILE_NAME)])
            .collect(),
    };
    match candidates.iter().find(|path| path.exists()) {
        Some(path) => std::path::absolute(path)
            .map_err(|error| RuntimeError::LibraryInvalid { path: path.clone(), reason: error.to_string() }),
        None => Err(RuntimeError::LibraryNotFound { searched: candidates }),
    }
}

/// The folder of the shared object that holds this code.
#[cfg(unix)]
fn addon_folder() -> Option<PathBuf> {
    use std::{ffi::OsStr, os::unix::ffi::OsStrExt};
    // SAFETY: `Dl_info` is plain data for which all zeros is a valid value.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: the address is that of a function in this very object, and `info` outlives the call.
    let found = unsafe { libc::dladdr(addon_folder as *const () as *const _, &mut info) } != 0;
    if !found || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: dladdr gave a NUL-terminated string that lives as long as the loaded object.
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    let path = std::path::absolute(OsStr::from_bytes(name.to_bytes())).ok()?;
    path.parent().map(Path::to_path_buf)
}

#[cfg(not(unix))]
fn addon_folder() -> Option<PathBuf> {
    None
}

/// Opens the library, keeps it open for ever, and gives its version. Never panics, whatever the file is.
pub(super) fn open(path: &Path) -> Result<String, RuntimeError> {
    let invalid = |reason: String| RuntimeError::LibraryInvalid { path: path.to_path_buf(), reason };
    check_header(path)?;
    // SAFETY: loading runs the library's initialisers; it is the runtime that ships with us or one the user named.
    let library = unsafe { libloading::Library::new(path) }.map_err(|error| invalid(error.to_string()))?;
    let version = {
        type GetApiBase = unsafe extern "C" fn() -> *const ort::sys::OrtApiBase;
        // SAFETY: `OrtGetApiBase` has had this signature in every release of ONNX Runtime.
        let get_base = unsafe { library.get::<GetApiBase>(b"OrtGetApiBase") }
            .map_err(|_| invalid("it does not export OrtGetApiBase, so it is not ONNX Runtime".into()))?;
        // SAFETY: as above; the function takes nothing and returns a pointer to static data.
        let base = unsafe { get_base().as_ref() }.ok_or_else(|| invalid("OrtGetApiBase returned null".into()))?;
        // SAFETY: the version string is static and NUL-terminated.
        let version = unsafe { CStr::from_ptr((base.GetVersionString)()) }.to_string_lossy().into_owned();
        let too_old = RuntimeError::LibraryVersion { path: path.to_path_buf(), found: version.clone() };
        let minor = version.strip_prefix("1.").and_then(|rest| rest.split('.').next()?.parse::<u32>().ok());
        if minor.is_none_or(|minor| minor < MINIMUM_MINOR) {
            return Err(too_old);
        }
        // SAFETY: asks for an API table by number; null means that the library has none of that number.
        if unsafe { (base.GetApi)(ort::sys::ORT_API_VERSION) }.is_null() {
            return Err(too_old);
        }
        version
    };
    // Unloading ONNX Runtime while any of its threads lives crashes, so it stays.
    std::mem::forget(library);
    Ok(version)
}

/// Tells a file that is no library for this machine from its first bytes, in clearer words than the loader's. A library
/// that is cut off has to be found here: the loader would map what is not there and end the process.
fn check_header(path: &Path) -> Result<(), RuntimeError> {
    let invalid = |reason: String| RuntimeError::LibraryInvalid { path: path.to_path_buf(), reason };
    let metadata = path.metadata().map_err(|error| invalid(error.to_string()))?;
    if !metadata.is_file() {
        return Err(invalid("it is not a file; give the path of the library itself".into()));
    }
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    let mut file = File::open(path).map_err(|error| invalid(error.to_string()))?;
    let header: [u8; 64] = read_at(&mut file, 0).map_err(|_| invalid("it is not an ELF file".into()))?;
    if &header[..4] != b"\x7fELF" {
        return Err(invalid("it is not an ELF file".into()));
    }
    // System V ABI: byte 4 is the class (2 = 64 bit), bytes 18 and 19 the machine (e_machine).
    let found = match (header[4], u16_at(&header, 18)) {
        (2, 62) => "x86_64",
        (2, 183) => "aarch64",
        (1, 3) => "x86",
        (1, 40) => "arm",
        _ => "another architecture",
    };
    if found != std::env::consts::ARCH {
        return Err(RuntimeError::LibraryArchitecture { path: path.to_path_buf(), found });
    }
    // e_phoff, e_phnum; of each program header p_offset and p_filesz.
    for index in 0..u64::from(u16_at(&header, 56)) {
        let segment: [u8; 56] = u64_at(&header, 32)
            .checked_add(index * 56)
            .and_then(|offset| read_at(&mut file, offset).ok())
            .ok_or_else(|| invalid("it is cut off within its headers".into()))?;
        let end = u64_at(&segment, 8).saturating_add(u64_at(&segment, 32));
        if end > metadata.len() {
            return Err(invalid(format!("it is cut off: it has {} bytes and needs {end}", metadata.len())));
        }
    }
    Ok(())
}

fn read_at<const N: usize>(file: &mut File, offset: u64) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    file.seek(SeekFrom::Start(offset))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn u16_at(bytes: &[u8], offset: usize) -> u16 {
    u16::from_le_bytes([bytes[offset], bytes[offset + 1]])
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    bytes[offset..].first_chunk().copied().map_or(0, u64::from_le_bytes)
}
