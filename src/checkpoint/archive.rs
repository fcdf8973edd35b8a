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
    graph::{Content, Digested, GraphError, Model, ModelSource, fingerprint, hex},
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

/// What goes into a checkpoint beside the model.
pub struct Tuned<'a> {
    pub settings: &'a Settings,
    pub machine: Machine,
    /// The report of the tune, as JSON.
    pub report: &'a str,
    /// Fingerprint that the model had when it was tuned.
    pub sha256: &'a str,
}

/// Writes a checkpoint. A file that is there already stays whole until the new one is complete. A model that has changed
/// since it was tuned is refused.
pub fn save(path: &Path, model: &Model, tuned: Tuned, cancel: &CancelToken) -> Result<(), CheckpointError> {
    let unwritable = |source: io::Error| match cancel.is_cancelled() {
        true => CheckpointError::Cancelled,
        false => CheckpointError::Unwritable { path: path.to_owned(), source },
    };
    let contents = match model.contents() {
        // Shortened external data is a change like any other.
        Err(GraphError::ExternalDataTooShort { .. }) => return Err(changed(tuned.sha256, "shorter external data")),
        contents => contents?,
    };
    let digests = contents.iter().map(|content| content.digest(&|| check(cancel)));
    let digests = digests.collect::<io::Result<Vec<_>>>().map_err(|source| match cancel.is_cancelled() {
        true => CheckpointError::Cancelled,
        false => CheckpointError::SourceUnreadable { source },
    })?;
    let sha256 = fingerprint(&contents, &digests);
    if sha256 != tuned.sha256 {
        return Err(changed(tuned.sha256, &sha256));
    }
    let names: Vec<String> = (0..contents.len()).map(part_name).collect();
    let mut parts: Vec<Part> = names.iter().zip(&digests).map(|(name, digest)| Part::new(name, digest)).collect();
    let report = Digested { bytes: tuned.report.len() as u64, sha256: hex(&Sha256::digest(tuned.report)) };
    parts.push(Part::new(REPORT, &report));
    let external = |(content, part): (&Content, &String)| {
        Some(ExternalEntry { location: content.location.clone()?, part: part.clone() })
    };
    let manifest = Manifest {
        format: FORMAT.to_owned(),
        schema_version: SCHEMA_VERSION,
        created: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        machine: tuned.machine,
        settings: tuned.settings.clone(),
        model: ModelEntry { sha256, external: contents.iter().zip(&names).filter_map(external).collect() },
        parts,
    };
    let manifest = serde_json::to_vec_pretty(&manifest).map_err(|error| unwritable(error.into()))?;
    write(path, |archive| {
        add(archive, MANIFEST, manifest.len() as u64, |out| out.write_all(&manifest))?;
        for ((content, name), digest) in contents.iter().zip(&names).zip(&digests) {
            add(archive, name, digest.bytes, |out| {
                content.read(|piece| check(cancel).and_then(|()| out.write_all(piece)))
            })?;
        }
        add(archive, REPORT, report.bytes, |out| out.write_all(tuned.report.as_bytes()))
    })
    .map_err(unwritable)
}

fn changed(expected: &str, found: &str) -> CheckpointError {
    CheckpointError::ModelChanged { expected: expected.to_owned(), found: found.to_owned() }
}

fn check(cancel: &CancelToken) -> io::Result<()> {
    if cancel.is_cancelled() { Err(io::Error::other("cancelled")) } else { Ok(()) }
}

/// The entry of the model (0) or of an external location.
fn part_name(index: usize) -> String {
    if index == 0 { MODEL.to_owned() } else { format!("external/{}", index - 1) }
}

type Archive<'a> = ZipWriter<BufWriter<&'a File>>;

fn add(
    archive: &mut Archive,
    name: &str,
    bytes: u64,
    content: impl FnOnce(&mut Archive) -> io::Result<()>,
) -> io::Result<()> {
    // Aligned, so that the weights can be read where they lie in the mapped file.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .large_file(bytes >= u64::from(u32::MAX))
        .with_alignment(64);
    archive.start_file(name, options)?;
    content(archive)
}

fn write(path: &Path, fill: impl FnOnce(&mut Archive) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // In the same folder, so that the rename at the end is atomic; removed by its destructor when anything fails.
    let mut builder = tempfile::Builder::new();
    builder.prefix(".onnxtune-").suffix(".tmp");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let temporary = builder.tempfile_in(folder)?;
    let mut archive = ZipWriter::new(BufWriter::with_capacity(1 << 20, temporary.as_file()));
    fill(&mut archive)?;
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
    // Nothing outside the archive is read: the runtime would look for what is missing in the current folder.
    model.check_external_data().map_err(|error| damaged(error.to_string()))?;
    manifest.settings.check().map_err(damaged)?;
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
