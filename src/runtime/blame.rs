//! Where in the model the cause of a failed load lies; the runtime's messages leave most of it out.

use super::RuntimeError;
use crate::{
    graph::{
        Model,
        messages::{NodeProto, TypeProto, ValueInfoProto, type_proto},
        walk,
    },
    tensor::DType,
};

/// The same error with what the model tells of it.
pub(super) fn locate(error: RuntimeError, model: &Model) -> RuntimeError {
    match error {
        RuntimeError::Operator { operator, runtime, reason, .. } => {
            let name = operator.split('(').next().unwrap_or(&operator);
            let (domain, op) = name.rsplit_once("::").map_or((None, name), |(domain, op)| (Some(domain), op));
            match find(model, domain, op) {
                Some(found) => RuntimeError::Operator { operator: found.operator, place: found.place, runtime, reason },
                None => RuntimeError::Operator { operator, place: String::new(), runtime, reason },
            }
        }
        RuntimeError::Load { reason } => RuntimeError::Load {
            reason: match model.proto().graph.iter().flat_map(|graph| &graph.input).find_map(strange_type) {
                Some(input) => format!("{input}, a type that it has no values of ({reason})"),
                None => reason,
            },
        },
        other => other,
    }
}

struct Found {
    operator: String,
    place: String,
}

fn find(model: &Model, domain: Option<&str>, op: &str) -> Option<Found> {
    let mut found = None;
    walk::nodes(model.proto(), &mut |node| {
        let fits = node.op_type() == op && domain.is_none_or(|domain| full(node.domain()) == full(domain));
        if fits && found.is_none() {
            found = Some(describe(model, node));
        }
    });
    found
}

fn describe(model: &Model, node: &NodeProto) -> Found {
    let domain = full(node.domain());
    let opset = model.proto().opset_import.iter().find(|entry| full(entry.domain()) == domain);
    let opset = opset.map_or("no opset".to_owned(), |entry| format!("opset {}", entry.version()));
    let tensors: Vec<String> = node.input.iter().map(|name| typed(model, name)).collect();
    Found {
        operator: format!("{domain}::{}", node.op_type()),
        place: format!(" of {opset} for {}", if tensors.is_empty() { "no inputs".into() } else { tensors.join(", ") }),
    }
}

/// The tensor's name, with its type where the model declares it.
fn typed(model: &Model, name: &str) -> String {
    let graph = model.proto().graph.iter();
    let mut values = graph.flat_map(|graph| graph.input.iter().chain(&graph.value_info));
    match values.find(|value| value.name() == name).and_then(|value| element(value.r#type.as_ref()?)) {
        Some(dtype) => format!("{name:?} ({dtype})"),
        None => format!("{name:?}"),
    }
}

fn strange_type(input: &ValueInfoProto) -> Option<String> {
    let dtype = element(input.r#type.as_ref()?)?;
    let strange = matches!(dtype, DType::Complex64 | DType::Complex128);
    strange.then(|| format!("input {:?} is a tensor({dtype})", input.name()))
}

fn element(kind: &TypeProto) -> Option<DType> {
    match &kind.value {
        Some(type_proto::Value::TensorType(tensor)) => DType::from_onnx(tensor.elem_type()),
        _ => None,
    }
}

/// The standard domain is written empty in most models.
fn full(domain: &str) -> &str {
    if domain.is_empty() { "ai.onnx" } else { domain }
}
