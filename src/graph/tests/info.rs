use super::*;
use crate::tensor::DType;

fn types(kind: TypeProto) -> ValueInfo {
    let mut proto = adder(tensor("w", 1, &[2], &[0; 8]));
    proto.graph.get_or_insert_default().output = vec![value("y", kind)];
    memory(&proto).info().outputs.remove(0)
}

fn kind(value: type_proto::Value) -> TypeProto {
    TypeProto { value: Some(value), denotation: None }
}

fn boxed(value: TypeProto) -> Option<Box<TypeProto>> {
    Some(Box::new(value))
}

#[test]
fn type_names() {
    use type_proto::*;
    let map = Map { key_type: Some(7), value_type: boxed(tensor_type(1, None)) };
    let sequence = Sequence { elem_type: boxed(kind(Value::MapType(Box::new(map)))) };
    assert_eq!(types(kind(Value::SequenceType(Box::new(sequence)))).r#type, "sequence(map(int64,float32))");
    let optional = Optional { elem_type: boxed(tensor_type(1, None)) };
    let optional = types(kind(Value::OptionalType(Box::new(optional))));
    assert_eq!((optional.r#type.as_str(), optional.dtype), ("optional(tensor(float32))", None));
    let sparse = SparseTensor { elem_type: Some(1), shape: None };
    assert_eq!(types(kind(Value::SparseTensorType(sparse))).r#type, "sparse_tensor(float32)");
    let opaque = Opaque { domain: Some("com.foo".into()), name: Some("Bar".into()) };
    assert_eq!(types(kind(Value::OpaqueType(opaque))).r#type, "opaque(com.foo,Bar)");
    assert_eq!(types(TypeProto::default()).r#type, "unknown");
    let unknown = types(tensor_type(99, None));
    assert_eq!((unknown.r#type.as_str(), unknown.dtype, unknown.shape), ("tensor(unknown)", None, None));
}

#[test]
fn shapes() {
    let nameless = Dimension { value: None, denotation: Some("DATA_BATCH".into()) };
    let dims = vec![length(-1), length(0), symbol("batch"), symbol(""), nameless, length(3)];
    let shape = types(tensor_type(1, Some(dims))).shape;
    assert_eq!(serde_json::to_string(&shape).expect("JSON"), r#"[null,0,"batch",null,null,3]"#);
    assert_eq!(types(tensor_type(1, Some(vec![]))).shape, Some(vec![]));
    assert_eq!(types(tensor_type(1, None)).shape, None);
}

#[test]
fn whole_picture() {
    let mut proto = everything();
    proto.ir_version = Some(99);
    proto.opset_import = vec![
        OperatorSetIdProto { domain: Some("ai.onnx".into()), version: Some(99) },
        OperatorSetIdProto { domain: Some("local".into()), version: Some(1) },
    ];
    let graph = proto.graph.get_or_insert_default();
    graph.input.push(value("w", tensor_type(1, None)));
    graph.input.push(value("__proto__", tensor_type(9, Some(vec![]))));
    graph.node.push(node("Bar", "com.foo", &[], &["q"]));
    let info = memory(&proto).info();
    assert_eq!((info.ir_version, info.opset_version), (Some(99), Some(99)));
    assert_eq!(info.opsets.keys().collect::<Vec<_>>(), ["", "local"]);
    assert_eq!(info.operators, ["Add", "Constant", "If", "com.foo::Bar", "local::Twice"]);
    assert_eq!(info.operator_counts["Add"], 2);
    assert_eq!(info.input_names, ["x", "__proto__"]);
    assert_eq!(info.input_dtypes, [Some(DType::Float32), Some(DType::Bool)]);
    assert_eq!(info.input_shapes[1], Some(vec![]));
    assert_eq!(info.functions, ["local::Twice"]);
    assert_eq!(info.metadata["__proto__"], "é");
    assert!(info.doc_string.expect("text").starts_with("not UTF-8: "));
    // w, two stored values of the sparse one, the constant of the branch; the sparse one's indices in bytes too.
    assert_eq!((info.parameters, info.weight_bytes), (6, 8 + 8 + 16 + 8));
    assert_eq!(info.precision, Some(Precision::Fp32));
}

#[test]
fn json_is_in_camel_case() {
    let json = serde_json::to_value(memory(&adder(tensor("w", 10, &[2], &[0; 4]))).info()).expect("JSON");
    assert_eq!(json["precision"], "fp16");
    assert_eq!(json["modelPath"], serde_json::Value::Null);
    assert_eq!(json["inputs"][0]["type"], "tensor(float32)");
    assert_eq!(json["inputShapes"][0], serde_json::json!(["batch", 2]));
    assert_eq!(json["weightBytes"], 4);
}

#[test]
fn precision_names_are_the_json_ones() {
    for precision in [Precision::Fp64, Precision::Bf16, Precision::Fp4, Precision::Int16, Precision::Int2] {
        assert_eq!(serde_json::to_value(precision).expect("JSON"), precision.name());
    }
}

fn precision(nodes: Vec<NodeProto>, weights: Vec<TensorProto>) -> Option<Precision> {
    let mut proto = adder(tensor("w", 1, &[1], &[0; 4]));
    let graph = proto.graph.get_or_insert_default();
    graph.node.extend(nodes);
    graph.initializer.extend(weights);
    memory(&proto).info().precision
}

#[test]
fn precision_follows_the_weights() {
    let bytes = || tensor("q", 3, &[4, 4], &[0; 16]);
    assert_eq!(precision(vec![], vec![bytes()]), Some(Precision::Fp32), "a table of bytes is no weight");
    let dequantize = || node("DequantizeLinear", "", &["q", "s", "z"], &["d"]);
    assert_eq!(precision(vec![dequantize()], vec![bytes()]), Some(Precision::Int8));
    let nbits = |bits| with(node("MatMulNBits", "com.microsoft", &["x", "q", "s"], &["d"]), integer("bits", bits));
    assert_eq!(precision(vec![nbits(4)], vec![bytes()]), Some(Precision::Int4));
    assert_eq!(precision(vec![nbits(8)], vec![bytes()]), Some(Precision::Int8));
    let fake = node("QuantizeLinear", "", &["f", "s", "z"], &["q"]);
    let weights = vec![tensor("f", 1, &[4], &[0; 16]), tensor("z", 17, &[], &[0])];
    assert_eq!(precision(vec![fake, dequantize()], weights), Some(Precision::Fp8));
}

#[test]
fn precision_without_weights_follows_the_values() {
    let graph = |elem_type| GraphProto {
        node: vec![node("Abs", "", &["x"], &["y"])],
        input: vec![value("x", tensor_type(elem_type, None))],
        output: vec![value("y", tensor_type(elem_type, None))],
        ..Default::default()
    };
    assert_eq!(memory(&model(graph(16))).info().precision, Some(Precision::Bf16));
    assert_eq!(memory(&model(graph(7))).info().precision, None);
}

#[test]
fn packed_parameters_are_counted_unpacked() {
    let mut proto = adder(tensor("w", 2, &[8], &[0; 8]));
    proto.graph.get_or_insert_default().node = vec![node("MatMulNBits", "com.microsoft", &["x", "w", "s"], &["y"])];
    let info = memory(&proto).info();
    assert_eq!((info.parameters, info.weight_bytes), (16, 8));
}

#[test]
fn impossible_dimensions_count_nothing() {
    let info = memory(&adder(tensor("w", 1, &[i64::MAX, i64::MAX, -1], &[]))).info();
    assert_eq!((info.parameters, info.weight_bytes), (0, 0));
    let huge = memory(&adder(tensor("w", 1, &[i64::MAX, 2], &[]))).info();
    assert_eq!(huge.weight_bytes, 0);
}
