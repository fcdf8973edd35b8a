//! Compresses gzip files anew, in place, as tightly as libdeflate can: npm's own compression makes the packages 3 % larger.

use std::{error::Error, fs};

use libdeflater::{CompressionLvl, Compressor, Decompressor};

fn main() -> Result<(), Box<dyn Error>> {
    for path in std::env::args().skip(1) {
        let packed = fs::read(&path)?;
        let tail = packed.last_chunk::<4>().ok_or("not a gzip file")?;
        // RFC 1952: a gzip file ends with the length of its content, modulo 2^32.
        let mut content = vec![0; u32::from_le_bytes(*tail) as usize];
        let length = Decompressor::new().gzip_decompress(&packed, &mut content)?;
        let mut compressor = Compressor::new(CompressionLvl::best());
        let mut repacked = vec![0; compressor.gzip_compress_bound(length)];
        let length = compressor.gzip_compress(&content[..length], &mut repacked)?;
        fs::write(&path, &repacked[..length])?;
    }
    Ok(())
}
