//! Tensors whose data lies in files beside the model.
//!
//! ONNX Runtime (1.31, measured) looks for a location in the folder of the path it is given and nowhere else; where
//! that path is a link it doesn't try the folder of the link's target. It refuses absolute locations and files that
//! lie, links resolved, neither under that folder nor under the folder of the resolved model. The same rules hold
//! here, with one thing more: when the data isn't beside a link but is beside the model that the link points to, it
//! is found there, and [`Model::runtime_path`](super::Model::runtime_path) gives the path that the runtime needs.

use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;

use super::error::GraphError;
use super::messages::{DataLocation, ModelProto, TensorProto};
use super::walk;
use super::weights::element_count;
use crate::tensor::DType;

/// Where an external tensor's data lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalReference {
    /// As written in the model: a path relative to the model's folder.
    pub location: String,
    /// First byte in the file.
    pub offset: u64,
    /// Number of bytes: as written, else as the tensor's type and dimensions say.
    pub length: u64,
}

impl ExternalReference {
    /// The reference of a tensor; `None` when its data is in the model.
    ///
    /// # Errors
    ///
    /// [`GraphError::ExternalDataInvalid`] when there is no location, a number is none, or the length is not the one
    /// that type and dimensions ask for (ONNX Runtime refuses those too).
    pub fn of(tensor: &TensorProto) -> Result<Option<ExternalReference>, GraphError> {
        if tensor.data_location() != DataLocation::External {
            return Ok(None);
        }
        let invalid = |reason: String| GraphError::ExternalDataInvalid { tensor: tensor.name().to_owned(), reason };
        let entry =
            |key: &str| tensor.external_data.iter().rev().find(|entry| entry.key() == key).map(|entry| entry.value());
        let number = |key: &str| match entry(key) {
            None => Ok(None),
            Some(text) => match text.trim().parse::<u64>() {
                Ok(number) => Ok(Some(number)),
                Err(_) => Err(invalid(format!("its {key} is '{text}'"))),
            },
        };
        let location = entry("location").filter(|text| !text.is_empty());
        let location = location.ok_or_else(|| invalid("it names no location".to_owned()))?.to_owned();
        let (offset, given, expected) = (number("offset")?.unwrap_or(0), number("length")?, stored_bytes(tensor));
        let length = match (given, expected) {
            (Some(given), Some(expected)) if given != expected => {
                return Err(invalid(format!("its length is {given} bytes where type and dimensions make {expected}")));
            }
            (Some(length), _) | (None, Some(length)) => length,
            (None, None) => return Err(invalid("its size is unknown".to_owned())),
        };
        let fits = offset.checked_add(length).is_some();
        fits.then_some(Some(ExternalReference { location, offset, length }))
            .ok_or_else(|| invalid("offset and length overflow".to_owned()))
    }

    fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// One file that holds external data of a model, or one block of bytes given in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalFile {
    /// As written in the model.
    pub location: String,
    /// The first tensor that names it.
    pub tensor: String,
    /// Bytes of it that the model uses, counted from its beginning.
    pub needed: u64,
    /// Where it is or should be; `None` for a model in memory and for a refused location.
    pub path: Option<PathBuf>,
    /// Its length in bytes; `None` when it isn't there or may not be read.
    pub bytes: Option<u64>,
    /// Why the location may not be read, completing "the location …".
    pub refused: Option<&'static str>,
}

/// Every external file of a model in order of first use, and the first reference that is broken.
pub(super) fn collect(model: &ModelProto) -> (Vec<ExternalFile>, Option<GraphError>) {
    let (mut files, mut broken) = (Vec::<ExternalFile>::new(), None);
    let mut index = HashMap::<String, usize>::new();
    let mut add = |tensor: &TensorProto| match ExternalReference::of(tensor) {
        Ok(None) => {}
        Err(error) => {
            broken.get_or_insert(error);
        }
        Ok(Some(reference)) => match index.get(&reference.location) {
            Some(&at) => files[at].needed = files[at].needed.max(reference.end()),
            None => {
                index.insert(reference.location.clone(), files.len());
                let (needed, tensor) = (reference.end(), tensor.name().to_owned());
                files.push(ExternalFile {
                    location: reference.location,
                    tensor,
                    needed,
                    path: None,
                    bytes: None,
                    refused: None,
                });
            }
        },
    };
    walk::tensors(model, &mut |stored| stored.tensors().for_each(&mut add));
    (files, broken)
}

/// Fills in what the caller gave for a model in memory.
pub(super) fn resolve_in_memory(files: &mut [ExternalFile], given: &[(String, Bytes)]) {
    let plain = |name: &str| name.trim_start_matches("./").to_owned();
    for file in files {
        let wanted = plain(&file.location);
        file.bytes = given.iter().find(|(name, _)| plain(name) == wanted).map(|(_, bytes)| bytes.len() as u64);
    }
}

/// Fills in what lies beside the model file at `model`. Returns whether all of it lies beside the link's target
/// rather than beside the path as given.
pub(super) fn resolve_on_disk(files: &mut [ExternalFile], model: &Path) -> bool {
    if files.is_empty() {
        return false;
    }
    let given = folder(model);
    let target = fs::canonicalize(model).map(|path| folder(&path)).ok();
    let roots: Vec<PathBuf> = [fs::canonicalize(&given).ok(), target.clone()].into_iter().flatten().collect();
    let all_in = |place: &Path| {
        files.iter().all(|file| escape(&file.location).is_some() || place.join(&file.location).is_file())
    };
    let beside_target = !all_in(&given) && target.as_deref().is_some_and(all_in);
    let place = target.filter(|_| beside_target).unwrap_or(given);
    for file in files {
        resolve_file(file, &place, &roots);
    }
    beside_target
}

fn resolve_file(file: &mut ExternalFile, place: &Path, roots: &[PathBuf]) {
    file.refused = escape(&file.location);
    if file.refused.is_some() {
        return;
    }
    let path = place.join(&file.location);
    let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file);
    let inside = fs::canonicalize(&path).is_ok_and(|real| roots.iter().any(|root| real.starts_with(root)));
    match metadata {
        Some(_) if !inside => file.refused = Some("is a link to a place outside it"),
        Some(metadata) => file.bytes = Some(metadata.len()),
        None => {}
    }
    file.path = Some(path);
}

/// Why a location may not be read, judged by its text.
fn escape(location: &str) -> Option<&'static str> {
    let mut depth = 0usize;
    for component in Path::new(location).components() {
        match component {
            Component::Prefix(_) | Component::RootDir => return Some("is an absolute path"),
            Component::CurDir => {}
            Component::Normal(_) => depth += 1,
            Component::ParentDir if depth == 0 => return Some("leads out of it"),
            Component::ParentDir => depth -= 1,
        }
    }
    None
}

/// The folder of a file; the current one for a bare name.
fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Bytes that a tensor's elements take; `None` for strings, unknown types and impossible dimensions.
fn stored_bytes(tensor: &TensorProto) -> Option<u64> {
    let elements = usize::try_from(element_count(&tensor.dims)?).ok()?;
    DType::from_onnx(tensor.data_type())?.bytes(elements).map(|bytes| bytes as u64)
}
