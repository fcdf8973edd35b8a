mod info;
mod open;

use bytes::Bytes;
use prost::Message;

use super::messages::*;
use super::*;

pub fn tensor(name: &str, data_type: i32, dims: &[i64], raw: &[u8]) -> TensorProto {
    TensorProto {
        name: Some(name.into()),
        data_type: Some(data_type),
        dims: dims.to_vec(),
        raw_data: Some(Bytes::copy_from_slice(raw)),
        ..Default::default()
    }
}

pub fn external(name: &str, dims: &[i64], entries: &[(&str, &str)]) -> TensorProto {
    TensorProto {
        name: Some(name.into()),
        data_type: Some(1),
        dims: dims.to_vec(),
        data_location: Some(DataLocation::External as i32),
        external_data: entries.iter().map(|(key, value)| entry(key, value)).collect(),
        ..Default::default()
    }
}

pub fn entry(key: &str, value: &str) -> StringStringEntryProto {
    StringStringEntryProto { key: Some(key.into()), value: Some(value.into()) }
}

pub fn node(op: &str, domain: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    NodeProto {
        op_type: Some(op.into()),
        domain: (!domain.is_empty()).then(|| domain.into()),
        input: inputs.iter().map(|name| name.to_string()).collect(),
        output: outputs.iter().map(|name| name.to_string()).collect(),
        ..Default::default()
    }
}

pub fn with(mut node: NodeProto, attribute: AttributeProto) -> NodeProto {
    node.attribute.push(attribute);
    node
}

pub fn integer(name: &str, value: i64) -> AttributeProto {
    AttributeProto {
        name: Some(name.into()),
        i: Some(value),
        r#type: Some(AttributeType::Int as i32),
        ..Default::default()
    }
}

pub fn subgraph(name: &str, graph: GraphProto) -> AttributeProto {
    let kind = Some(AttributeType::Graph as i32);
    AttributeProto { name: Some(name.into()), g: Some(Box::new(graph)), r#type: kind, ..Default::default() }
}

pub fn tensor_type(elem_type: i32, shape: Option<Vec<Dimension>>) -> TypeProto {
    let shape = shape.map(|dim| TensorShapeProto { dim });
    let tensor = type_proto::Tensor { elem_type: Some(elem_type), shape };
    TypeProto { value: Some(type_proto::Value::TensorType(tensor)), denotation: None }
}

pub fn length(value: i64) -> Dimension {
    Dimension { value: Some(dimension::Value::DimValue(value)), denotation: None }
}

pub fn symbol(name: &str) -> Dimension {
    Dimension { value: Some(dimension::Value::DimParam(name.into())), denotation: None }
}

pub fn value(name: &str, kind: TypeProto) -> ValueInfoProto {
    ValueInfoProto { name: Some(name.into()), r#type: Some(kind), ..Default::default() }
}

pub fn model(graph: GraphProto) -> ModelProto {
    ModelProto {
        ir_version: Some(8),
        producer_name: Some("tests".into()),
        opset_import: vec![OperatorSetIdProto { domain: Some(String::new()), version: Some(17) }],
        graph: Some(graph),
        ..Default::default()
    }
}

/// `y = x + w`, with w as given.
pub fn adder(weight: TensorProto) -> ModelProto {
    let kind = || tensor_type(1, Some(vec![symbol("batch"), length(2)]));
    model(GraphProto {
        name: Some("adder".into()),
        node: vec![node("Add", "", &["x", "w"], &["y"])],
        input: vec![value("x", kind())],
        output: vec![value("y", kind())],
        initializer: vec![weight],
        ..Default::default()
    })
}

pub fn memory(model: &ModelProto) -> Model {
    open_bytes(model.encode_to_vec()).expect("a model")
}

pub fn open_bytes(bytes: impl Into<Bytes>) -> Result<Model, GraphError> {
    Model::open(ModelSource::Memory { bytes: bytes.into(), external: Vec::new() })
}

/// A model that uses most kinds of messages.
pub fn everything() -> ModelProto {
    let body = GraphProto {
        name: Some("then".into()),
        node: vec![with(
            node("Constant", "", &[], &["c"]),
            AttributeProto {
                name: Some("value".into()),
                t: Some(Box::new(TensorProto { float_data: vec![f32::NAN, -0.0], ..tensor("", 1, &[2], &[]) })),
                ..Default::default()
            },
        )],
        output: vec![value("c", tensor_type(1, None))],
        ..Default::default()
    };
    let mut proto = adder(tensor("w", 1, &[2], &[0; 8]));
    proto.doc_string = Some(Bytes::from_static(b"not UTF-8: \xff"));
    proto.metadata_props = vec![entry("__proto__", "é"), entry("", "")];
    proto.functions = vec![FunctionProto {
        name: Some("Twice".into()),
        domain: Some("local".into()),
        input: vec!["a".into()],
        node: vec![node("Add", "", &["a", "a"], &["b"])],
        attribute_proto: vec![integer("n", -1)],
        ..Default::default()
    }];
    proto.configuration =
        vec![DeviceConfigurationProto { name: Some("two".into()), num_devices: Some(2), device: vec![] }];
    let graph = proto.graph.get_or_insert_default();
    graph.node.push(with(node("If", "", &["flag"], &["z"]), subgraph("then_branch", body)));
    graph.node.push(node("Twice", "local", &["y"], &["t"]));
    graph.node[0].device_configurations = vec![NodeDeviceConfigurationProto {
        configuration_id: Some("two".into()),
        sharding_spec: vec![ShardingSpecProto {
            tensor_name: Some("x".into()),
            device: vec![0, -1],
            index_to_device_group_map: vec![IntIntListEntryProto { key: Some(-1), value: vec![0, 1] }],
            sharded_dim: vec![ShardedDimProto {
                axis: Some(0),
                simple_sharding: vec![SimpleShardedDimProto {
                    dim: Some(simple_sharded_dim::Dim::DimParam("batch".into())),
                    num_shards: Some(2),
                }],
            }],
        }],
        pipeline_stage: Some(1),
    }];
    graph.sparse_initializer = vec![SparseTensorProto {
        values: Some(tensor("s", 1, &[2], &[0; 8])),
        indices: Some(TensorProto { int64_data: vec![0, 5], ..tensor("i", 7, &[2], &[]) }),
        dims: vec![100],
    }];
    proto
}
