//! What the integration tests share: the runtime of the checkout and small models made in memory.

use bytes::Bytes;
use onnxtune::{
    graph::{Model, ModelSource, messages::*},
    runtime::set_library,
    tensor::{DType, Data, Tensor, Value},
};
use prost::Message;

/// Points the core at the library that `npm run fetch:runtime` puts into the checkout.
pub fn use_checkout_runtime() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join(".cache/onnxruntime").join(onnxtune::runtime::library::FILE_NAME);
    assert!(path.exists(), "{} is missing: run `npm run fetch:runtime`", path.display());
    set_library(&path).expect("the same library in every test");
}

fn float_value(name: &str) -> ValueInfoProto {
    let dim = |value| Dimension { value: Some(value), ..Default::default() };
    let dims = vec![dim(dimension::Value::DimParam("batch".into())), dim(dimension::Value::DimValue(4))];
    let tensor = type_proto::Tensor { elem_type: Some(1), shape: Some(TensorShapeProto { dim: dims }) };
    let kind = TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..Default::default() };
    ValueInfoProto { name: Some(name.into()), r#type: Some(kind), ..Default::default() }
}

/// `y = op(x, x)` over `float32[batch, 4]`.
pub fn binary_model(op: &str) -> Bytes {
    let node = NodeProto {
        op_type: Some(op.into()),
        input: vec!["x".into(), "x".into()],
        output: vec!["y".into()],
        ..Default::default()
    };
    model(vec![node], "y")
}

/// A graph of these nodes over `float32[batch, 4]`.
pub fn model(node: Vec<NodeProto>, output: &str) -> Bytes {
    let graph = GraphProto {
        name: Some("g".into()),
        node,
        input: vec![float_value("x")],
        output: vec![float_value(output)],
        ..Default::default()
    };
    let opset = OperatorSetIdProto { domain: Some(String::new()), version: Some(17) };
    let model = ModelProto { ir_version: Some(8), graph: Some(graph), opset_import: vec![opset], ..Default::default() };
    model.encode_to_vec().into()
}

pub fn open(bytes: Bytes) -> Model {
    Model::open(ModelSource::Memory { bytes, external: vec![] }).expect("a valid model")
}

pub fn floats(dims: &[i64], values: &[f32]) -> Tensor {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    Tensor::new(DType::Float32, dims.to_vec(), Data::Bytes(bytes.into())).expect("a valid tensor")
}

pub fn as_floats(value: &Value) -> Vec<f32> {
    let bytes = value.as_tensor().expect("a tensor").bytes();
    bytes.as_chunks::<4>().0.iter().map(|chunk| f32::from_ne_bytes(*chunk)).collect()
}

/// [`floats`] as a model takes them.
pub fn input(dims: &[i64], values: &[f32]) -> Value {
    Value::Tensor(floats(dims, values))
}
