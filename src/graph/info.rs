use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use super::messages::{GraphProto, ModelProto};
use super::reader::Model;
use super::value::{Dim, ValueInfo};
use super::walk::{self, Part};
use super::weights::{Precision, Usage, Weights, precision_of_values};
use crate::tensor::DType;

/// What a graph needs and holds. Absent facts are `None` (null in JSON), never guessed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphInfo {
    /// As given; `None` for a model in memory.
    pub model_path: Option<String>,
    pub ir_version: Option<i64>,
    /// Version by domain; `""` is the standard domain, also when the file spells it `ai.onnx`. The highest counts
    /// when a domain occurs twice.
    pub opsets: BTreeMap<String, i64>,
    /// Version of the standard domain.
    pub opset_version: Option<i64>,
    /// Sorted and unique; `domain::Op` outside the standard domain. Subgraphs and the bodies of model-local functions
    /// are included, and so are the functions themselves where they are called.
    pub operators: Vec<String>,
    /// Nodes by operator. The body of a function counts once, however often it is called.
    pub operator_counts: BTreeMap<String, u64>,
    /// In graph order; initialisers that are listed as inputs (with defaults, as files before IR version 4 must) are
    /// none.
    pub inputs: Vec<ValueInfo>,
    /// In graph order.
    pub outputs: Vec<ValueInfo>,
    // The views below are arrays parallel to `inputs` and `outputs`, not maps by name: any name is possible in a
    // graph, `__proto__` too, and order matters.
    pub input_names: Vec<String>,
    pub output_names: Vec<String>,
    /// `None` for everything but dense tensors.
    pub input_dtypes: Vec<Option<DType>>,
    pub output_dtypes: Vec<Option<DType>>,
    /// `None` when the rank is unknown.
    pub input_shapes: Vec<Option<Vec<Dim>>>,
    pub output_shapes: Vec<Option<Vec<Dim>>>,
    /// The number format of most weights, counted in elements. Float weights count with their own type, those that
    /// feed a `QuantizeLinear` with the type they are quantised to, packed ones (`MatMulNBits`) with their bits;
    /// small integers count only in a model that computes with quantised numbers, 32 and 64 bit integers never.
    /// Without such weights: that of the first float input, else output. `None` when nothing tells.
    pub precision: Option<Precision>,
    /// Elements of all initialisers and of the tensors in `Constant` nodes that aren't scalars, subgraphs and
    /// functions included; the stored elements of sparse ones; the unpacked elements of packed ones.
    pub parameters: u64,
    /// Bytes of the same, external ones and the indices of sparse ones included.
    pub weight_bytes: u64,
    /// One entry per location, in order of first use.
    pub external_data: Vec<ExternalDataInfo>,
    pub producer_name: Option<String>,
    pub producer_version: Option<String>,
    pub model_version: Option<i64>,
    pub doc_string: Option<String>,
    /// The model's own key-value pairs; the last counts when a key occurs twice.
    pub metadata: BTreeMap<String, String>,
    /// Model-local functions as `domain::name`, sorted and unique.
    pub functions: Vec<String>,
}

/// A file that holds external data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ExternalDataInfo {
    /// As written in the model.
    pub location: String,
    /// Size of the file when it is present, else what the model needs of it.
    pub bytes: u64,
    /// Whether it is there and may be read.
    pub present: bool,
}

impl GraphInfo {
    pub(super) fn new(model: &Model) -> GraphInfo {
        let proto = model.proto();
        let (inputs, outputs) = proto.graph.as_ref().map(signature).unwrap_or_default();
        let opsets = opsets(proto);
        let operator_counts = operator_counts(proto);
        let usage = Usage::of(proto);
        let weights = Weights::of(proto, &usage);
        GraphInfo {
            model_path: model.path().map(|path| path.to_string_lossy().into_owned()),
            ir_version: proto.ir_version,
            opset_version: opsets.get("").copied(),
            opsets,
            operators: operator_counts.keys().cloned().collect(),
            operator_counts,
            input_names: inputs.iter().map(|value| value.name.clone()).collect(),
            output_names: outputs.iter().map(|value| value.name.clone()).collect(),
            input_dtypes: inputs.iter().map(|value| value.dtype).collect(),
            output_dtypes: outputs.iter().map(|value| value.dtype).collect(),
            input_shapes: inputs.iter().map(|value| value.shape.clone()).collect(),
            output_shapes: outputs.iter().map(|value| value.shape.clone()).collect(),
            precision: weights.precision().or_else(|| precision_of_values(&inputs, &outputs, usage.quantised)),
            parameters: weights.parameters,
            weight_bytes: weights.bytes,
            external_data: external_data(model),
            producer_name: text(proto.producer_name.as_deref()),
            producer_version: text(proto.producer_version.as_deref()),
            model_version: proto.model_version,
            doc_string: text(proto.doc_string.as_deref().map(String::from_utf8_lossy).as_deref()),
            metadata: metadata(proto),
            functions: functions(proto),
            inputs,
            outputs,
        }
    }
}

impl Model {
    /// The symbolic dimensions of the graph's inputs, in order, repeated as they are.
    pub fn symbols(&self) -> Vec<String> {
        let (inputs, _) = self.proto().graph.as_ref().map(signature).unwrap_or_default();
        let dims = inputs.into_iter().flat_map(|input| input.shape.unwrap_or_default());
        let symbol = |dim| match dim {
            Dim::Symbol(symbol) => Some(symbol),
            _ => None,
        };
        dims.filter_map(symbol).collect()
    }
}

/// The public name of an operator or function.
pub(super) fn operator_name(domain: &str, name: &str) -> String {
    match standard(domain) {
        "" => name.to_owned(),
        domain => format!("{domain}::{name}"),
    }
}

/// The standard domain has two spellings; this gives the one that is used here.
fn standard(domain: &str) -> &str {
    if domain == "ai.onnx" { "" } else { domain }
}

/// Exporters write an empty text for an absent one.
fn text(value: Option<&str>) -> Option<String> {
    value.filter(|value| !value.is_empty()).map(str::to_owned)
}

fn signature(graph: &GraphProto) -> (Vec<ValueInfo>, Vec<ValueInfo>) {
    let sparse = graph.sparse_initializer.iter().filter_map(|sparse| sparse.values.as_ref());
    let initializers: HashSet<&str> = graph.initializer.iter().chain(sparse).map(|tensor| tensor.name()).collect();
    let inputs = graph.input.iter().filter(|value| !initializers.contains(value.name())).map(ValueInfo::new).collect();
    (inputs, graph.output.iter().map(ValueInfo::new).collect())
}

fn opsets(proto: &ModelProto) -> BTreeMap<String, i64> {
    let mut opsets = BTreeMap::new();
    for entry in &proto.opset_import {
        let version = opsets.entry(standard(entry.domain()).to_owned()).or_insert(entry.version());
        *version = entry.version().max(*version);
    }
    opsets
}

fn operator_counts(proto: &ModelProto) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    walk::nodes(proto, &mut |node| *counts.entry(operator_name(node.domain(), node.op_type())).or_insert(0) += 1);
    counts
}

fn functions(proto: &ModelProto) -> Vec<String> {
    let mut names = Vec::new();
    walk::parts(proto, &mut |part| {
        if let Part::Function(function) = part {
            names.push(operator_name(function.domain(), function.name()));
        }
    });
    names.sort();
    names.dedup();
    names
}

fn metadata(proto: &ModelProto) -> BTreeMap<String, String> {
    proto.metadata_props.iter().map(|entry| (entry.key().to_owned(), entry.value().to_owned())).collect()
}

fn external_data(model: &Model) -> Vec<ExternalDataInfo> {
    let files = model.external_files().into_iter();
    let info = files.map(|file| ExternalDataInfo {
        location: file.location,
        bytes: file.bytes.unwrap_or(file.needed),
        present: file.bytes.is_some(),
    });
    info.collect()
}
