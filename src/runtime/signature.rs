use ort::{
    session::Session,
    value::{TensorElementType, ValueType},
};

use super::value::from_ort;
use crate::graph::messages::{
    Dimension, TensorShapeProto, TypeProto, ValueInfoProto, dimension,
    type_proto::{Map, Optional, Sequence, Tensor, Value},
};

/// A session's inputs and outputs as a graph declares them, for models whose graph can't be read.
pub(super) fn read(session: &Session) -> (Vec<ValueInfoProto>, Vec<ValueInfoProto>) {
    let value = |(name, kind): (&str, &ValueType)| ValueInfoProto {
        name: Some(name.to_owned()),
        r#type: Some(type_of(kind)),
        ..Default::default()
    };
    let inputs = session.inputs().iter().map(|input| value((input.name(), input.dtype())));
    let outputs = session.outputs().iter().map(|output| value((output.name(), output.dtype())));
    (inputs.collect(), outputs.collect())
}

fn type_of(kind: &ValueType) -> TypeProto {
    let value = match kind {
        ValueType::Tensor { ty, shape, dimension_symbols } => {
            let dim = |(&length, symbol): (&i64, &String)| Dimension {
                value: match symbol.is_empty() {
                    _ if length >= 0 => Some(dimension::Value::DimValue(length)),
                    true => None,
                    false => Some(dimension::Value::DimParam(symbol.clone())),
                },
                ..Default::default()
            };
            let dims = shape.iter().zip(dimension_symbols.iter()).map(dim).collect();
            Value::TensorType(Tensor { elem_type: element(*ty), shape: Some(TensorShapeProto { dim: dims }) })
        }
        ValueType::Sequence(inner) => Value::SequenceType(Box::new(Sequence { elem_type: boxed(inner) })),
        ValueType::Optional(inner) => Value::OptionalType(Box::new(Optional { elem_type: boxed(inner) })),
        ValueType::Map { key, value } => {
            let scalar = Value::TensorType(Tensor { elem_type: element(*value), shape: None });
            let value_type = Some(Box::new(TypeProto { value: Some(scalar), ..Default::default() }));
            Value::MapType(Box::new(Map { key_type: element(*key), value_type }))
        }
    };
    TypeProto { value: Some(value), ..Default::default() }
}

fn boxed(kind: &ValueType) -> Option<Box<TypeProto>> {
    Some(Box::new(type_of(kind)))
}

fn element(ty: TensorElementType) -> Option<i32> {
    from_ort(ty.into()).map(|dtype| dtype as i32)
}
