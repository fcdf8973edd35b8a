use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::{GraphError, Model};

impl Model {
    /// The external data: each location with its bytes, mapped where it lies in a file.
    ///
    /// # Errors
    ///
    /// Those of [`Model::check_external_data`] and of opening the files.
    pub fn external_data(&self) -> Result<Vec<(String, Bytes)>, GraphError> {
        self.check_external_data()?;
        let Some(_) = self.path() else { return Ok(self.external().to_vec()) };
        let data = |file: super::ExternalFile| match file.path {
            Some(path) => Ok((file.location, super::reader::map(&path)?)),
            None => Ok((file.location, Bytes::new())),
        };
        self.external_files().into_iter().map(data).collect()
    }

    /// SHA-256 in hexadecimal of the model's bytes and of each external location and its data. For a model without
    /// external data it is that of the file.
    pub fn fingerprint(&self) -> Result<String, GraphError> {
        let mut hash = Sha256::new_with_prefix(self.bytes());
        for (location, data) in self.external_data()? {
            hash.update(location);
            hash.update(data);
        }
        Ok(hex(&hash.finalize()))
    }
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
