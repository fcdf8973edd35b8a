use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use memmap2::Mmap;
use prost::Message;

use super::error::GraphError;
use super::external::{self, ExternalFile};
use super::info::GraphInfo;
use super::messages::{GraphProto, ModelProto, ValueInfoProto};
use super::sniff;

/// Where a model comes from.
#[derive(Clone, Debug)]
pub enum ModelSource {
    /// A file; relative paths count from the current folder, links are followed.
    File(PathBuf),
    /// Bytes, with the data of external tensors by the location that the model names.
    Memory { bytes: Bytes, external: Vec<(String, Bytes)> },
    /// Bytes, with the folder that holds the external data; its files are mapped.
    MemoryIn { bytes: Bytes, folder: PathBuf },
}

/// A model: its bytes, and its messages decoded once. Weights are slices of the bytes.
#[derive(Clone, Debug)]
pub struct Model {
    path: Option<PathBuf>,
    bytes: Bytes,
    external: Vec<(String, Bytes)>,
    proto: ModelProto,
    /// Whether there are no messages to read: ONNX Runtime's own format.
    opaque: bool,
    /// Whether the bytes are a mapping of the file.
    mapped: bool,
}

impl Model {
    /// Opens and decodes a model. A file is mapped, not read; it must not be shortened or overwritten in place while
    /// the model lives (replacing it by a rename is fine). External data is not looked at, see
    /// [`check_external_data`](Model::check_external_data).
    ///
    /// # Errors
    ///
    /// Every [`GraphError`] but those of external data.
    pub fn open(source: ModelSource) -> Result<Model, GraphError> {
        match source {
            ModelSource::File(path) => {
                let (bytes, mapped) = map(&path)?;
                let proto = decode(&format!("'{}'", path.display()), Some(&path), &bytes)?;
                Ok(Model { path: Some(path), bytes, external: Vec::new(), proto, opaque: false, mapped })
            }
            ModelSource::Memory { bytes, external } => {
                let (proto, mapped) = (decode("the model given as bytes", None, &bytes)?, false);
                Ok(Model { path: None, bytes, external, proto, opaque: false, mapped })
            }
            ModelSource::MemoryIn { bytes, folder } => {
                let (proto, mapped) = (decode("the model given as bytes", None, &bytes)?, false);
                // As if the model lay in the folder.
                let (mut files, _) = external::collect(&proto);
                external::resolve_on_disk(&mut files, &folder.join("model.onnx"));
                let present = files.into_iter().filter(|file| file.bytes.is_some());
                let data = |file: ExternalFile| Ok((file.location, map(&file.path.unwrap_or_default())?.0));
                let external = present.map(data).collect::<Result<_, GraphError>>()?;
                Ok(Model { path: None, bytes, external, proto, opaque: false, mapped })
            }
        }
    }

    /// A model in ONNX Runtime's own format, whose graph can't be read. It can be run; [`Model::declare`] fills in what
    /// the runtime then tells of it.
    ///
    /// # Errors
    ///
    /// Those of opening the file, and [`GraphError::NotOnnx`] when it isn't in that format.
    pub fn open_opaque(source: ModelSource) -> Result<Model, GraphError> {
        let (path, bytes) = match source {
            ModelSource::File(path) => (Some(path.clone()), map(&path)?.0),
            ModelSource::Memory { bytes, .. } | ModelSource::MemoryIn { bytes, .. } => (None, bytes),
        };
        match sniff::recognise("the model", path.as_deref(), &bytes) {
            Some(GraphError::OrtFormat { .. }) => Ok(Model {
                path,
                bytes,
                external: Vec::new(),
                proto: ModelProto::default(),
                opaque: true,
                mapped: false,
            }),
            _ => Err(GraphError::NotOnnx { what: "the model".into(), reason: "it is not in ORT format".into() }),
        }
    }

    pub fn is_opaque(&self) -> bool {
        self.opaque
    }

    /// Sets the inputs and outputs of an opaque model.
    pub fn declare(&mut self, inputs: Vec<ValueInfoProto>, outputs: Vec<ValueInfoProto>) {
        self.proto.graph = Some(GraphProto { input: inputs, output: outputs, ..Default::default() });
    }

    /// The path as given; `None` for a model in memory.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The path to load the model from with ONNX Runtime, which looks for external data only beside the path it is
    /// given: the path as given, or what its link points to when the data lies there. `None` for a model in memory.
    pub fn runtime_path(&self) -> Option<PathBuf> {
        let path = self.path.as_deref()?;
        let (mut files, _) = external::collect(&self.proto);
        let resolved = external::resolve_on_disk(&mut files, path).then(|| fs::canonicalize(path).ok()).flatten();
        Some(resolved.unwrap_or_else(|| path.to_owned()))
    }

    /// The model as it was read, without external data.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The decoded messages.
    pub fn proto(&self) -> &ModelProto {
        &self.proto
    }

    /// The external data given with a model in memory: location and bytes.
    pub fn external(&self) -> &[(String, Bytes)] {
        &self.external
    }

    /// What the graph needs and holds. Looks at the sizes of external files.
    pub fn info(&self) -> GraphInfo {
        GraphInfo::new(self)
    }

    /// The files that hold external data, in order of first use; present or not. Broken references are left out.
    pub fn external_files(&self) -> Vec<ExternalFile> {
        self.resolve().0
    }

    /// Checks that all external data is there and long enough. Its content is not read.
    ///
    /// # Errors
    ///
    /// [`GraphError::ExternalDataInvalid`], [`ExternalDataPath`](GraphError::ExternalDataPath),
    /// [`ExternalDataMissing`](GraphError::ExternalDataMissing),
    /// [`ExternalDataTooShort`](GraphError::ExternalDataTooShort), or [`LfsPointer`](GraphError::LfsPointer) for a
    /// data file that Git LFS didn't fetch.
    pub fn check_external_data(&self) -> Result<(), GraphError> {
        let (files, broken) = self.resolve();
        broken.map_or(Ok(()), Err)?;
        if let Some((file, reason)) = files.iter().find_map(|file| file.refused.map(|reason| (file, reason))) {
            let (tensor, location) = (file.tensor.clone(), file.location.clone());
            return Err(GraphError::ExternalDataPath { tensor, location, reason });
        }
        let missing: Vec<&ExternalFile> = files.iter().filter(|file| file.bytes.is_none()).collect();
        if let Some(first) = missing.first() {
            return Err(GraphError::ExternalDataMissing {
                tensor: first.tensor.clone(),
                location: first.location.clone(),
                path: first.path.clone(),
                missing: missing.iter().map(|file| file.location.clone()).collect(),
            });
        }
        files.iter().try_for_each(check_length)
    }

    /// Gives back the memory of the file's pages that reading it has touched; they come again when they are needed. The
    /// runtime reads the file for itself, and would otherwise have it in memory twice.
    pub fn release_pages(&self) {
        #[cfg(unix)]
        if self.mapped {
            // SAFETY: the whole of a private read-only mapping of a file, so dropping pages loses nothing.
            unsafe { libc::madvise(self.bytes.as_ptr().cast_mut().cast(), self.bytes.len(), libc::MADV_DONTNEED) };
        }
    }

    /// Whether encoding the messages again would lose or change something: fields that this crate doesn't know, or a
    /// way of writing that it doesn't keep (such as packed dimensions). Judged by length; takes a pass over the model.
    pub fn has_unknown_fields(&self) -> bool {
        self.proto.encoded_len() != self.bytes.len()
    }

    fn resolve(&self) -> (Vec<ExternalFile>, Option<GraphError>) {
        let (mut files, broken) = external::collect(&self.proto);
        match &self.path {
            Some(path) => {
                external::resolve_on_disk(&mut files, path);
            }
            None => external::resolve_in_memory(&mut files, &self.external),
        }
        (files, broken)
    }
}

fn check_length(file: &ExternalFile) -> Result<(), GraphError> {
    let actual = file.bytes.unwrap_or(0);
    if actual >= file.needed {
        return Ok(());
    }
    if let Some(path) = file.path.as_deref().filter(|path| begins_as_lfs_pointer(path)) {
        return Err(GraphError::LfsPointer { path: path.to_owned() });
    }
    Err(GraphError::ExternalDataTooShort { location: file.location.clone(), needed: file.needed, actual })
}

fn begins_as_lfs_pointer(path: &Path) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(64).read_to_end(&mut head));
    read.is_ok() && sniff::is_lfs_pointer(&head)
}

/// The bytes of a file, and whether they are a mapping of it.
fn map(path: &Path) -> Result<(Bytes, bool), GraphError> {
    let failed = |source: io::Error| match source.kind() {
        // A file where the path needs a folder: nothing can be there.
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => GraphError::NotFound { path: path.to_owned() },
        _ => GraphError::Unreadable { path: path.to_owned(), source },
    };
    let metadata = fs::metadata(path).map_err(failed)?;
    // Asked before opening: opening a pipe would wait for its writer.
    if !metadata.is_file() {
        return Err(GraphError::NotAFile { path: path.to_owned() });
    }
    let file = File::open(path).map_err(failed)?;
    if metadata.len() == 0 {
        return Ok((Bytes::new(), false));
    }
    // SAFETY: the mapping is private and read-only. It stays valid as long as nobody shortens the file in place, which
    // no program can rule out; `Model::open` says so to its callers.
    match unsafe { Mmap::map(&file) } {
        Ok(mapping) => Ok((Bytes::from_owner(mapping), true)),
        // Some network and FUSE file systems can't map.
        Err(_) => fs::read(path).map(|bytes| (bytes.into(), false)).map_err(failed),
    }
}

fn decode(what: &str, path: Option<&Path>, bytes: &Bytes) -> Result<ModelProto, GraphError> {
    if bytes.is_empty() {
        return Err(GraphError::Empty { what: what.to_owned() });
    }
    // Decoding comes first: a model may begin with the bytes of any other format's signature.
    let recognised = || sniff::recognise(what, path, bytes);
    match ModelProto::decode(bytes.clone()) {
        Ok(proto) if holds_graph(&proto) => Ok(proto),
        Ok(_) => Err(recognised().unwrap_or_else(|| GraphError::NoGraph { what: what.to_owned() })),
        Err(error) => Err(recognised().unwrap_or_else(|| sniff::diagnose(what, bytes, &error.to_string()))),
    }
}

/// Protobuf takes much garbage for a message of unknown fields, so a model counts only with something to run.
fn holds_graph(proto: &ModelProto) -> bool {
    proto.graph.as_ref().is_some_and(|graph| !graph.node.is_empty() || !graph.output.is_empty())
}
