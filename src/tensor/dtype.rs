use std::fmt;

use serde::{Serialize, Serializer};

/// An ONNX tensor element type. Discriminants are the numbers of `TensorProto.DataType` in the ONNX format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DType {
    Float32 = 1,
    Uint8 = 2,
    Int8 = 3,
    Uint16 = 4,
    Int16 = 5,
    Int32 = 6,
    Int64 = 7,
    String = 8,
    Bool = 9,
    Float16 = 10,
    Float64 = 11,
    Uint32 = 12,
    Uint64 = 13,
    Complex64 = 14,
    Complex128 = 15,
    Bfloat16 = 16,
    Float8E4M3FN = 17,
    Float8E4M3FNUZ = 18,
    Float8E5M2 = 19,
    Float8E5M2FNUZ = 20,
    Uint4 = 21,
    Int4 = 22,
    Float4E2M1 = 23,
    Float8E8M0 = 24,
    Uint2 = 25,
    Int2 = 26,
}

/// Every type with its public name (the spelling of `onnxruntime-common` where it has one) and its width in bits.
/// Strings have no fixed width.
const TABLE: [(DType, &str, usize); 26] = [
    (DType::Float32, "float32", 32),
    (DType::Uint8, "uint8", 8),
    (DType::Int8, "int8", 8),
    (DType::Uint16, "uint16", 16),
    (DType::Int16, "int16", 16),
    (DType::Int32, "int32", 32),
    (DType::Int64, "int64", 64),
    (DType::String, "string", 0),
    (DType::Bool, "bool", 8),
    (DType::Float16, "float16", 16),
    (DType::Float64, "float64", 64),
    (DType::Uint32, "uint32", 32),
    (DType::Uint64, "uint64", 64),
    (DType::Complex64, "complex64", 64),
    (DType::Complex128, "complex128", 128),
    (DType::Bfloat16, "bfloat16", 16),
    (DType::Float8E4M3FN, "float8e4m3fn", 8),
    (DType::Float8E4M3FNUZ, "float8e4m3fnuz", 8),
    (DType::Float8E5M2, "float8e5m2", 8),
    (DType::Float8E5M2FNUZ, "float8e5m2fnuz", 8),
    (DType::Uint4, "uint4", 4),
    (DType::Int4, "int4", 4),
    (DType::Float4E2M1, "float4e2m1", 4),
    (DType::Float8E8M0, "float8e8m0", 8),
    (DType::Uint2, "uint2", 2),
    (DType::Int2, "int2", 2),
];

impl DType {
    /// The type with this number in the ONNX format.
    pub fn from_onnx(number: i32) -> Option<DType> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        TABLE.get(index).map(|row| row.0)
    }

    /// The type with this public name.
    pub fn from_name(name: &str) -> Option<DType> {
        TABLE.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    pub fn name(self) -> &'static str {
        TABLE[self as usize - 1].1
    }

    /// Width of one element in bits; 0 for strings.
    pub fn bits(self) -> usize {
        TABLE[self as usize - 1].2
    }

    /// Bytes that `elements` elements take; sub-byte types are packed. `None` on overflow and for strings.
    pub fn bytes(self, elements: usize) -> Option<usize> {
        match self.bits() {
            0 => None,
            bits @ 1..8 => Some(elements.div_ceil(8 / bits)),
            bits => elements.checked_mul(bits / 8),
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for DType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_follows_the_format_numbers() {
        for (index, (dtype, name, _)) in TABLE.iter().enumerate() {
            assert_eq!(*dtype as usize, index + 1);
            assert_eq!(DType::from_onnx(index as i32 + 1), Some(*dtype));
            assert_eq!(DType::from_name(name), Some(*dtype));
        }
        assert_eq!(DType::from_onnx(0), None);
        assert_eq!(DType::from_onnx(27), None);
    }

    #[test]
    fn sub_byte_types_are_packed() {
        assert_eq!(DType::Int4.bytes(3), Some(2));
        assert_eq!(DType::Uint2.bytes(5), Some(2));
        assert_eq!(DType::Float32.bytes(usize::MAX), None);
    }
}
