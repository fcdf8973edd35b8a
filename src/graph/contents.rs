use std::{
    fs::File,
    io::{self, Read},
    path::PathBuf,
};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::{GraphError, Model};

/// One stretch of a model's bytes: the model itself, or what lies at one external location.
pub struct Content {
    /// `None` for the model itself.
    pub location: Option<String>,
    source: Source,
}

enum Source {
    File(PathBuf),
    Bytes(Bytes),
}

/// Length in bytes and SHA-256 in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digested {
    pub bytes: u64,
    pub sha256: String,
}

/// Bytes handed over at a time.
const PIECE: usize = 1 << 20;

impl Model {
    /// The model and its external data, in order of first use.
    ///
    /// # Errors
    ///
    /// Those of [`Model::check_external_data`].
    pub fn contents(&self) -> Result<Vec<Content>, GraphError> {
        self.check_external_data()?;
        let own = match self.path() {
            Some(path) => Source::File(path.to_owned()),
            None => Source::Bytes(self.bytes().clone()),
        };
        let mut contents = vec![Content { location: None, source: own }];
        let external = |(location, source)| Content { location: Some(location), source };
        match self.path() {
            Some(_) => {
                let files = self.external_files().into_iter();
                contents.extend(files.filter_map(|file| Some(external((file.location, Source::File(file.path?))))));
            }
            None => contents.extend(
                self.external()
                    .iter()
                    .map(|(location, data)| external((location.clone(), Source::Bytes(data.clone())))),
            ),
        }
        Ok(contents)
    }
}

impl Content {
    /// Hands over the bytes in pieces. Files are read anew and not through the model's mapping, which ends the process
    /// when somebody has shortened the file meanwhile.
    pub fn read(&self, mut sink: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        match &self.source {
            Source::Bytes(bytes) => bytes.chunks(PIECE).try_for_each(sink),
            Source::File(path) => {
                let (mut file, mut piece) = (File::open(path)?, vec![0; PIECE]);
                loop {
                    match file.read(&mut piece)? {
                        0 => return Ok(()),
                        length => sink(&piece[..length])?,
                    }
                }
            }
        }
    }

    /// `check` is called between pieces; its error ends the work.
    pub fn digest(&self, check: &dyn Fn() -> io::Result<()>) -> io::Result<Digested> {
        let (mut hash, mut bytes) = (Sha256::new(), 0);
        self.read(|piece| {
            hash.update(piece);
            bytes += piece.len() as u64;
            check()
        })?;
        Ok(Digested { bytes, sha256: hex(&hash.finalize()) })
    }
}

/// One hash for a model with its external data, from the hashes of its contents. Without external data it is that of
/// the file.
pub fn fingerprint(contents: &[Content], digests: &[Digested]) -> String {
    match digests {
        [only] => only.sha256.clone(),
        _ => {
            let mut hash = Sha256::new();
            for (content, digest) in contents.iter().zip(digests) {
                hash.update(content.location.as_deref().unwrap_or_default());
                hash.update([0]);
                hash.update(&digest.sha256);
            }
            hex(&hash.finalize())
        }
    }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
