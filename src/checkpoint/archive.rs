use std::{
    fs::File,
    io::{self, BufWriter, Cursor, Read, Write},
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use bytes::Bytes;
use memmap2::Mmap;
use sha2::{Digest, Sha256};
use zip::{CompressionMethod, ZipArchive, ZipWriter, result::ZipError, write::SimpleFileOptions};

use super::{
    CheckpointError,
    manifest::{ExternalEntry, FORMAT, Manifest, ModelEntry, Part, SCHEMA_VERSION},
};
use crate::{
    graph::{Model, ModelSource, hex},
    runtime::CancelToken,
    tune::{Machine, Settings},
};

const MANIFEST: &str = "manifest.json";
const MODEL: &str = "model.onnx";
const REPORT: &str = "report.json";
/// A manifest lists a few parts; one larger than this is no manifest.
const MANIFEST_LIMIT: u64 = 16 << 20;
/// Work between two looks at the cancel token.
const CHUNK: usize = 4 << 20;

/// A checkpoint that has been read and found whole.
pub struct Checkpoint {
    pub manifest: Manifest,
    pub model: Model,
    /// The report of the tune, as JSON.
    pub report: String,
}

/// Writes a checkpoint. A file that is there already stays whole until the new one is complete.
///
/// `sha256` is the fingerprint that the model had when it was tuned; a model that has changed since is refused.
pub fn save(
    path: &Path,
    model: &Model,
    settings: Settings,
    machine: Machine,
    report: &str,
    sha256: &str,
    cancel: &CancelToken,
) -> Result<(), CheckpointError> {
    let fingerprint = model.fingerprint()?;
    if fingerprint != sha256 {
        return Err(CheckpointError::ModelChanged { expected: sha256.to_owned(), found: fingerprint });
    }
    let external = model.external_data()?;
    let part_of = |index: usize| format!("external/{index}");
    let mut contents = vec![(MODEL.to_owned(), model.bytes().clone())];
    contents.push((REPORT.to_owned(), Bytes::copy_from_slice(report.as_bytes())));
    contents.extend(external.iter().enumerate().map(|(index, (_, data))| (part_of(index), data.clone())));
    let part = |(name, data): &(String, Bytes)| {
        Ok(Part { name: name.clone(), bytes: data.len() as u64, sha256: hash(data, cancel)? })
    };
    let manifest = Manifest {
        format: FORMAT.to_owned(),
        schema_version: SCHEMA_VERSION,
        created: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        machine,
        settings,
        model: ModelEntry {
            sha256: fingerprint,
            external: external
                .iter()
                .enumerate()
                .map(|(index, (location, _))| ExternalEntry { location: location.clone(), part: part_of(index) })
                .collect(),
        },
        parts: contents.iter().map(part).collect::<Result<_, CheckpointError>>()?,
    };
    let unwritable = |source: io::Error| CheckpointError::Unwritable { path: path.to_owned(), source };
    let manifest = serde_json::to_vec_pretty(&manifest).map_err(|error| unwritable(error.into()))?;
    contents.insert(0, (MANIFEST.to_owned(), manifest.into()));
    write(path, &contents, cancel).map_err(|error| match cancel.is_cancelled() {
        true => CheckpointError::Cancelled,
        false => unwritable(error),
    })
}

fn write(path: &Path, contents: &[(String, Bytes)], cancel: &CancelToken) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // In the same folder, so that the rename at the end is atomic; removed by its destructor when anything fails.
    let mut builder = tempfile::Builder::new();
    builder.prefix(".onnxtune-").suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let temporary = builder.tempfile_in(folder)?;
    let mut archive = ZipWriter::new(BufWriter::with_capacity(1 << 20, temporary.as_file()));
    for (name, data) in contents {
        let large = data.len() as u64 >= u64::from(u32::MAX);
        // Aligned, so that the weights can be read where they lie in the mapped file.
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(large)
            .with_alignment(64);
        archive.start_file(name.as_str(), options)?;
        for chunk in data.chunks(CHUNK) {
            if cancel.is_cancelled() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            archive.write_all(chunk)?;
        }
    }
    archive.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
    temporary.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Reads a checkpoint, mapped rather than copied, and checks every part of it.
pub fn load(path: &Path, cancel: &CancelToken) -> Result<Checkpoint, CheckpointError> {
    let bytes = map(path)?;
    let foreign = |reason: String| CheckpointError::Foreign { path: path.to_owned(), reason };
    let damaged = |reason: String| CheckpointError::Damaged { path: path.to_owned(), reason };
    if !bytes.starts_with(b"PK\x03\x04") {
        return Err(foreign("it is not a zip archive".into()));
    }
    let mut archive = ZipArchive::new(Cursor::new(&bytes)).map_err(|error| damaged(error.to_string()))?;
    let manifest = read_manifest(path, &mut archive)?;
    if archive.len() != manifest.parts.len() + 1 {
        return Err(damaged(format!(
            "{} entries where the manifest lists {}",
            archive.len(),
            manifest.parts.len() + 1
        )));
    }
    let mut parts = Vec::with_capacity(manifest.parts.len());
    for part in &manifest.parts {
        let data = stored_entry(&mut archive, &part.name, &bytes).map_err(damaged)?;
        if data.len() as u64 != part.bytes || hash(&data, cancel)? != part.sha256 {
            return Err(damaged(format!("{} is not what it was when it was written", part.name)));
        }
        parts.push((part.name.as_str(), data));
    }
    let find = |name: &str| {
        let found = parts.iter().find(|(part, _)| *part == name).map(|(_, data)| data.clone());
        found.ok_or_else(|| damaged(format!("{name} is missing")))
    };
    let external = manifest.model.external.iter().map(|entry| Ok((entry.location.clone(), find(&entry.part)?)));
    let external = external.collect::<Result<Vec<_>, CheckpointError>>()?;
    let model = Model::open(ModelSource::Memory { bytes: find(MODEL)?, external })?;
    let report = String::from_utf8(find(REPORT)?.to_vec()).map_err(|error| damaged(error.to_string()))?;
    Ok(Checkpoint { manifest, model, report })
}

fn read_manifest(path: &Path, archive: &mut ZipArchive<Cursor<&Bytes>>) -> Result<Manifest, CheckpointError> {
    let foreign = |reason: &str| CheckpointError::Foreign { path: path.to_owned(), reason: reason.into() };
    let damaged = |reason: String| CheckpointError::Damaged { path: path.to_owned(), reason };
    let entry = match archive.by_name(MANIFEST) {
        Ok(entry) => entry,
        Err(ZipError::FileNotFound) => return Err(foreign("the archive has no manifest.json")),
        Err(error) => return Err(damaged(error.to_string())),
    };
    let mut text = Vec::new();
    // Reading to the end checks the entry's CRC, which is what guards the manifest itself.
    entry.take(MANIFEST_LIMIT).read_to_end(&mut text).map_err(|error| damaged(error.to_string()))?;
    let value: serde_json::Value =
        serde_json::from_slice(&text).map_err(|_| foreign("its manifest.json is not JSON"))?;
    if value["format"] != FORMAT {
        return Err(foreign("its manifest.json is not that of a checkpoint"));
    }
    let schema = value["schemaVersion"].as_u64().unwrap_or(0);
    if schema > SCHEMA_VERSION {
        return Err(CheckpointError::Newer { path: path.to_owned(), found: schema });
    }
    serde_json::from_value(value).map_err(|error| damaged(format!("manifest.json: {error}")))
}

/// The bytes of a stored entry, where they lie in the archive.
fn stored_entry(archive: &mut ZipArchive<Cursor<&Bytes>>, name: &str, bytes: &Bytes) -> Result<Bytes, String> {
    let entry = archive.by_name(name).map_err(|error| format!("{name}: {error}"))?;
    if entry.compression() != CompressionMethod::Stored {
        return Err(format!("{name} is compressed, which no checkpoint is"));
    }
    let start = entry.data_start().ok_or_else(|| format!("{name}: its place is unknown"))?;
    let end = start.checked_add(entry.size()).filter(|&end| end <= bytes.len() as u64);
    match (usize::try_from(start), end.map(usize::try_from)) {
        (Ok(start), Some(Ok(end))) => Ok(bytes.slice(start..end)),
        _ => Err(format!("{name} lies outside the file")),
    }
}

fn hash(data: &Bytes, cancel: &CancelToken) -> Result<String, CheckpointError> {
    let mut hash = Sha256::new();
    for chunk in data.chunks(CHUNK) {
        if cancel.is_cancelled() {
            return Err(CheckpointError::Cancelled);
        }
        hash.update(chunk);
    }
    Ok(hex(&hash.finalize()))
}

fn map(path: &Path) -> Result<Bytes, CheckpointError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => CheckpointError::NotFound { path: path.to_owned() },
        _ => CheckpointError::Unreadable { path: path.to_owned(), source },
    };
    let metadata = path.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(CheckpointError::Foreign { path: path.to_owned(), reason: "it is not a file".into() });
    }
    if metadata.len() == 0 {
        return Err(CheckpointError::Foreign { path: path.to_owned(), reason: "it is empty".into() });
    }
    let file = File::open(path).map_err(failed)?;
    // SAFETY: the mapping is private and read-only; `save` replaces checkpoints by a rename and never writes in place,
    // so only an outsider that shortens the file could invalidate it.
    let mapping = unsafe { Mmap::map(&file) }.map_err(failed)?;
    Ok(Bytes::from_owner(mapping))
}
