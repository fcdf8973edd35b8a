//! What goes in and comes out of a graph.

use serde::Serialize;

use super::messages::{Dimension, TensorShapeProto, TypeProto, ValueInfoProto, dimension, type_proto};
use crate::tensor::DType;

/// An input or output of a graph.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ValueInfo {
    pub name: String,
    /// `tensor(float32)`, `sequence(map(int64,float32))`, `optional(tensor(float32))`, `sparse_tensor(float32)`, …;
    /// `unknown` stands for a type or element type that the file doesn't say.
    pub r#type: String,
    /// Element type; `None` for everything but dense tensors.
    pub dtype: Option<DType>,
    /// Shape of a dense tensor, empty for a scalar; `None` when the rank is unknown.
    pub shape: Option<Vec<Dim>>,
}

/// One dimension of a shape. Serialised as a number, a string or null.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(untagged)]
pub enum Dim {
    /// Always this length, which may be 0.
    Fixed(u64),
    /// Free; the same symbol means the same length within one run.
    Symbol(String),
    /// Free and unnamed. Some exporters write a negative number for it.
    Unknown,
}

impl ValueInfo {
    pub(super) fn new(value: &ValueInfoProto) -> ValueInfo {
        let kind = value.r#type.as_ref();
        let tensor = kind.and_then(|kind| match &kind.value {
            Some(type_proto::Value::TensorType(tensor)) => Some(tensor),
            _ => None,
        });
        ValueInfo {
            name: value.name().to_owned(),
            r#type: kind.map_or_else(|| UNKNOWN.to_owned(), type_name),
            dtype: tensor.and_then(|tensor| DType::from_onnx(tensor.elem_type())),
            shape: tensor.and_then(|tensor| tensor.shape.as_ref()).map(shape),
        }
    }
}

const UNKNOWN: &str = "unknown";

/// The public spelling of a type.
fn type_name(kind: &TypeProto) -> String {
    use type_proto::Value;
    match &kind.value {
        None => UNKNOWN.to_owned(),
        Some(Value::TensorType(tensor)) => format!("tensor({})", element_name(tensor.elem_type())),
        Some(Value::SparseTensorType(tensor)) => format!("sparse_tensor({})", element_name(tensor.elem_type())),
        Some(Value::SequenceType(sequence)) => format!("sequence({})", nested_name(sequence.elem_type.as_deref())),
        Some(Value::OptionalType(optional)) => format!("optional({})", nested_name(optional.elem_type.as_deref())),
        Some(Value::MapType(map)) => {
            format!("map({},{})", element_name(map.key_type()), map_value_name(map.value_type.as_deref()))
        }
        Some(Value::OpaqueType(opaque)) => match opaque.domain() {
            "" => format!("opaque({})", opaque.name()),
            domain => format!("opaque({domain},{})", opaque.name()),
        },
    }
}

fn nested_name(kind: Option<&TypeProto>) -> String {
    kind.map_or_else(|| UNKNOWN.to_owned(), type_name)
}

/// A map's value is a scalar, which the format writes as a tensor; ONNX names it by its element type alone.
fn map_value_name(kind: Option<&TypeProto>) -> String {
    match kind.and_then(|kind| kind.value.as_ref()) {
        Some(type_proto::Value::TensorType(tensor)) => element_name(tensor.elem_type()).to_owned(),
        _ => nested_name(kind),
    }
}

fn element_name(number: i32) -> &'static str {
    DType::from_onnx(number).map_or(UNKNOWN, DType::name)
}

fn shape(shape: &TensorShapeProto) -> Vec<Dim> {
    shape.dim.iter().map(dim).collect()
}

fn dim(dim: &Dimension) -> Dim {
    match &dim.value {
        Some(dimension::Value::DimValue(length)) => u64::try_from(*length).map_or(Dim::Unknown, Dim::Fixed),
        Some(dimension::Value::DimParam(symbol)) if !symbol.is_empty() => Dim::Symbol(symbol.clone()),
        _ => Dim::Unknown,
    }
}
