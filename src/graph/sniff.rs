//! What a file is that doesn't decode as a model.

use std::path::Path;

use super::error::GraphError;

/// Beginnings of files that people take for a model.
const MAGICS: [(usize, &[u8], &str); 14] = [
    (0, b"TFL3", "it is a TensorFlow Lite model"),
    (4, b"TFL3", "it is a TensorFlow Lite model"),
    (0, b"\x89HDF\r\n\x1a\n", "it is an HDF5 file (Keras); convert it with tf2onnx"),
    (0, b"GGUF", "it is a GGUF model (llama.cpp)"),
    (0, b"ptrt", "it is a TensorRT engine"),
    (0, b"ftrt", "it is a TensorRT engine"),
    (0, b"\x93NUMPY", "it is a NumPy array"),
    (0, b"\x1f\x8b", "it is a gzip archive; unpack it first"),
    (0, b"\x28\xb5\x2f\xfd", "it is a Zstandard archive; unpack it first"),
    (0, b"7z\xbc\xaf\x27\x1c", "it is a 7-Zip archive; unpack it first"),
    (0, b"\xfd7zXZ", "it is an xz archive; unpack it first"),
    (0, b"\x7fELF", "it is a program or library"),
    (0, b"%PDF", "it is a PDF document"),
    (257, b"ustar", "it is a tar archive; unpack it first"),
];

/// How much of a file is looked at to tell text from binary.
const TEXT_SAMPLE: usize = 1024;

/// The kind of file that `bytes` is, as an error, where its content tells.
pub(super) fn recognise(what: &str, path: Option<&Path>, bytes: &[u8]) -> Option<GraphError> {
    if is_lfs_pointer(bytes) {
        return Some(match path {
            Some(path) => GraphError::LfsPointer { path: path.to_owned() },
            None => not_onnx(what, "it is a Git LFS pointer; fetch the real file with `git lfs pull`"),
        });
    }
    if bytes.get(4..8) == Some(b"ORTM") {
        return Some(GraphError::OrtFormat { what: what.to_owned() });
    }
    let reason = MAGICS
        .iter()
        .find(|(at, magic, _)| bytes.get(*at..).is_some_and(|rest| rest.starts_with(magic)))
        .map(|row| row.2)
        .or_else(|| zip(bytes))
        .or_else(|| pickle(bytes))
        .or_else(|| safetensors(bytes))
        .or_else(|| zeros(bytes))
        .or_else(|| text(bytes))?;
    Some(not_onnx(what, reason))
}

/// Says why `bytes`, which nothing above recognises, doesn't decode. `reason` is the decoder's own.
pub(super) fn diagnose(what: &str, bytes: &[u8], reason: &str) -> GraphError {
    match truncation(bytes) {
        Some(needed) => GraphError::Truncated { what: what.to_owned(), needed, actual: bytes.len() as u64 },
        None => not_onnx(what, &format!("it does not decode ({reason}); it is damaged or another kind of file")),
    }
}

pub(super) fn is_lfs_pointer(bytes: &[u8]) -> bool {
    bytes.starts_with(b"version https://git-lfs")
}

fn not_onnx(what: &str, reason: &str) -> GraphError {
    GraphError::NotOnnx { what: what.to_owned(), reason: reason.to_owned() }
}

fn zip(bytes: &[u8]) -> Option<&'static str> {
    if !bytes.starts_with(b"PK\x03\x04") {
        return None;
    }
    // The first entry's name follows the fixed header; torch.save always writes data.pkl first.
    let torch = bytes.get(30..256.min(bytes.len())).is_some_and(|head| contains(head, b"data.pkl"));
    Some(if torch {
        "it is a PyTorch file (.pt, .pth); export it with torch.onnx.export"
    } else {
        "it is a zip archive; unpack it first"
    })
}

fn pickle(bytes: &[u8]) -> Option<&'static str> {
    let is_pickle = matches!(bytes, [0x80, 2..=5, ..]);
    is_pickle.then_some("it is a Python pickle (an old PyTorch or scikit-learn file); export it to ONNX first")
}

fn safetensors(bytes: &[u8]) -> Option<&'static str> {
    let is_header = bytes.get(6..10) == Some(b"\0\0{\"");
    is_header.then_some("it is a safetensors file, which holds weights without a graph")
}

fn zeros(bytes: &[u8]) -> Option<&'static str> {
    let sample = bytes.get(..TEXT_SAMPLE.min(bytes.len()))?;
    sample
        .iter()
        .all(|byte| *byte == 0)
        .then_some("it begins with zeros; the copy or download that wrote it never finished")
}

fn text(bytes: &[u8]) -> Option<&'static str> {
    let sample = bytes.get(..TEXT_SAMPLE.min(bytes.len()))?;
    let valid = match std::str::from_utf8(sample) {
        Ok(text) => text,
        // The sample may end inside a character; anything earlier isn't text.
        Err(error) if error.valid_up_to() + 4 > sample.len() => {
            std::str::from_utf8(sample.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    if valid.is_empty() || valid.chars().any(|char| char.is_control() && !matches!(char, '\n' | '\r' | '\t')) {
        return None;
    }
    let start = valid.trim_start_matches('\u{feff}').trim_start().to_ascii_lowercase();
    Some(match start.as_bytes() {
        [b'<', b'!', ..] | [b'<', b'h', b't', b'm', b'l', ..] => {
            "it is a web page; the download gave a page instead of the file"
        }
        [b'<', ..] => "it is an XML file",
        [b'{' | b'[', ..] => "it is a JSON file",
        _ => "it is a text file",
    })
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

/// The least length of the whole model when `bytes` is the beginning of one: some top-level field ends past the end.
/// `None` when the fields are not a model's.
fn truncation(bytes: &[u8]) -> Option<u64> {
    /// No protobuf message is longer.
    const LIMIT: u64 = i32::MAX as u64;
    let mut rest = bytes;
    while !rest.is_empty() {
        let at = (bytes.len() - rest.len()) as u64;
        let Some(key) = varint(&mut rest)? else { return Some(at + 2) };
        match (key >> 3, key & 7) {
            (1 | 5, 0) => {
                if varint(&mut rest)?.is_none() {
                    return Some(bytes.len() as u64 + 1);
                }
            }
            (2 | 3 | 4 | 6 | 7 | 8 | 14 | 20 | 25 | 26, 2) => {
                let Some(length) = varint(&mut rest)? else { return Some(bytes.len() as u64 + 1) };
                let start = (bytes.len() - rest.len()) as u64;
                match usize::try_from(length).ok().and_then(|length| rest.get(length..)) {
                    Some(after) => rest = after,
                    None => return (length <= LIMIT).then_some(start + length),
                }
            }
            _ => return None,
        }
    }
    None
}

/// The next varint: `Some(None)` when the bytes end inside it, `None` when it is longer than any.
fn varint(rest: &mut &[u8]) -> Option<Option<u64>> {
    let mut value = 0u64;
    for shift in (0..70).step_by(7) {
        let Some((byte, after)) = rest.split_first() else { return Some(None) };
        *rest = after;
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Some(Some(value));
        }
    }
    None
}
