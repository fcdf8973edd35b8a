//! How many weights a model has, how large they are, and which type dominates.

use std::collections::HashMap;

use serde::Serialize;

use super::messages::{ModelProto, NodeProto, SparseTensorProto, TensorProto};
use super::value::ValueInfo;
use super::walk::{self, Stored};
use crate::tensor::DType;

/// The number format that a model computes with, judged by its weights. From wide to narrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    Fp64,
    Fp32,
    Fp16,
    Bf16,
    Fp8,
    Fp4,
    Int16,
    Int8,
    Int4,
    Int2,
}

impl Precision {
    /// As in JSON: `fp32`, `int8`, ….
    pub fn name(self) -> &'static str {
        NAMES[self as usize]
    }

    /// `quantised` says whether small integers are weights here, not mere numbers.
    fn of(dtype: DType, quantised: bool) -> Option<Precision> {
        Some(match dtype {
            DType::Float64 => Precision::Fp64,
            DType::Float32 => Precision::Fp32,
            DType::Float16 => Precision::Fp16,
            DType::Bfloat16 => Precision::Bf16,
            DType::Float8E4M3FN
            | DType::Float8E4M3FNUZ
            | DType::Float8E5M2
            | DType::Float8E5M2FNUZ
            | DType::Float8E8M0 => Precision::Fp8,
            DType::Float4E2M1 => Precision::Fp4,
            DType::Int16 | DType::Uint16 if quantised => Precision::Int16,
            DType::Int8 | DType::Uint8 if quantised => Precision::Int8,
            DType::Int4 | DType::Uint4 => Precision::Int4,
            DType::Int2 | DType::Uint2 => Precision::Int2,
            _ => return None,
        })
    }
}

const NAMES: [&str; 10] = ["fp64", "fp32", "fp16", "bf16", "fp8", "fp4", "int16", "int8", "int4", "int2"];

/// The sum over all weights of a model.
#[derive(Debug, Default)]
pub(super) struct Weights {
    pub parameters: u64,
    pub bytes: u64,
    by_precision: [u64; NAMES.len()],
}

impl Weights {
    pub fn of(model: &ModelProto, usage: &Usage) -> Weights {
        let mut weights = Weights::default();
        walk::tensors(model, &mut |stored| match stored {
            Stored::Initializer(tensor) => weights.add(tensor, tensor.name(), usage),
            // A scalar constant is an operand such as an epsilon, no weight.
            Stored::Constant(node, tensor) if !tensor.dims.is_empty() => {
                weights.add(tensor, node.output.first().map_or("", String::as_str), usage);
            }
            Stored::SparseInitializer(sparse) | Stored::SparseConstant(sparse) => weights.add_sparse(sparse, usage),
            Stored::Constant(..) | Stored::Attribute(_) => {}
        });
        weights
    }

    /// The precision of the most elements; the wider one of two with equally many.
    pub fn precision(&self) -> Option<Precision> {
        let most = *self.by_precision.iter().max()?;
        let index = self.by_precision.iter().position(|count| *count == most && most > 0)?;
        ALL.get(index).copied()
    }

    fn add(&mut self, tensor: &TensorProto, name: &str, usage: &Usage) {
        let Some(mut elements) = element_count(&tensor.dims) else { return };
        let dtype = DType::from_onnx(tensor.data_type());
        self.bytes = self.bytes.saturating_add(tensor_bytes(tensor, dtype, elements));
        let Some(dtype) = dtype else { return };
        let mut precision = Precision::of(dtype, usage.quantised);
        match usage.weights.get(name) {
            Some(Role::Packed { bits, precision: packed }) if dtype.bits() == 8 => {
                elements = elements.saturating_mul(8) / bits;
                precision = Some(*packed);
            }
            Some(Role::Quantised(target)) if precision.is_some() => precision = Some(*target),
            _ => {}
        }
        self.parameters = self.parameters.saturating_add(elements);
        if let Some(precision) = precision {
            let count = &mut self.by_precision[precision as usize];
            *count = count.saturating_add(elements);
        }
    }

    fn add_sparse(&mut self, sparse: &SparseTensorProto, usage: &Usage) {
        if let Some(values) = &sparse.values {
            self.add(values, values.name(), usage);
        }
        if let Some(indices) = &sparse.indices {
            let elements = element_count(&indices.dims).unwrap_or(0);
            let bytes = tensor_bytes(indices, DType::from_onnx(indices.data_type()), elements);
            self.bytes = self.bytes.saturating_add(bytes);
        }
    }
}

const ALL: [Precision; NAMES.len()] = [
    Precision::Fp64,
    Precision::Fp32,
    Precision::Fp16,
    Precision::Bf16,
    Precision::Fp8,
    Precision::Fp4,
    Precision::Int16,
    Precision::Int8,
    Precision::Int4,
    Precision::Int2,
];

/// What the nodes do with weights, by the weights' names.
#[derive(Debug, Default)]
pub(super) struct Usage<'a> {
    /// Some operator computes with quantised numbers.
    pub quantised: bool,
    weights: HashMap<&'a str, Role>,
}

#[derive(Debug)]
enum Role {
    /// Several narrow numbers to a byte, in a tensor of bytes.
    Packed { bits: u64, precision: Precision },
    /// Stored wide, and quantised when the model runs (as training with quantisation exports it).
    Quantised(Precision),
}

impl<'a> Usage<'a> {
    pub fn of(model: &'a ModelProto) -> Usage<'a> {
        let mut usage = Usage::default();
        walk::nodes(model, &mut |node| usage.quantised |= is_quantised(node.op_type()));
        if usage.quantised {
            let dtypes = stored_types(model);
            walk::nodes(model, &mut |node| usage.add(node, &dtypes));
        }
        usage
    }

    fn add(&mut self, node: &'a NodeProto, dtypes: &HashMap<&str, DType>) {
        let packed = |attribute: &str| {
            let bits = integer(node, attribute).unwrap_or(4);
            let precision = match bits {
                2 => Precision::Int2,
                4 => Precision::Int4,
                _ => Precision::Int8,
            };
            // Widths that don't divide a byte exist; anything else is no width.
            let bits = u64::try_from(bits).unwrap_or(8).clamp(1, 8);
            move || Role::Packed { bits, precision }
        };
        let (inputs, role): (&[usize], &dyn Fn() -> Role) = match node.op_type() {
            "MatMulNBits" => (&[1], &packed("bits")),
            "GatherBlockQuantized" => (&[0], &packed("bits")),
            "QMoE" => (&[2, 5, 8], &packed("expert_weight_bits")),
            "MatMulBnb4" => (&[1], &|| Role::Packed { bits: 4, precision: Precision::Fp4 }),
            "QuantizeLinear" => (&[0], &|| Role::Quantised(quantised_to(node, dtypes))),
            "TRT_FP8QuantizeLinear" => (&[0], &|| Role::Quantised(Precision::Fp8)),
            "TRT_INT4QuantizeLinear" => (&[0], &|| Role::Quantised(Precision::Int4)),
            _ => return,
        };
        for name in inputs.iter().filter_map(|index| node.input.get(*index)).filter(|name| !name.is_empty()) {
            self.weights.insert(name, role());
        }
    }
}

/// Whether an operator computes with quantised numbers, in the standard domain or ONNX Runtime's.
fn is_quantised(op: &str) -> bool {
    ["Quantize", "Dequantize", "Integer", "NBits", "Bnb4"].iter().any(|part| op.contains(part))
        || ["QLinear", "QGemm", "QAttention", "QMoE", "QOrdered", "QEmbed"].iter().any(|start| op.starts_with(start))
}

/// What `QuantizeLinear` makes: its zero point's type, else its `output_dtype`, else bytes.
fn quantised_to(node: &NodeProto, dtypes: &HashMap<&str, DType>) -> Precision {
    let zero_point = node.input.get(2).and_then(|name| dtypes.get(name.as_str())).copied();
    let named = || integer(node, "output_dtype").and_then(|number| DType::from_onnx(i32::try_from(number).ok()?));
    let dtype = zero_point.or_else(named).unwrap_or(DType::Uint8);
    Precision::of(dtype, true).unwrap_or(Precision::Int8)
}

fn stored_types(model: &ModelProto) -> HashMap<&str, DType> {
    let mut dtypes = HashMap::new();
    walk::tensors(model, &mut |stored| {
        let (name, tensor) = match stored {
            Stored::Initializer(tensor) => (tensor.name(), tensor),
            Stored::Constant(node, tensor) => (node.output.first().map_or("", String::as_str), tensor),
            _ => return,
        };
        if let Some(dtype) = DType::from_onnx(tensor.data_type()) {
            dtypes.insert(name, dtype);
        }
    });
    dtypes
}

fn integer(node: &NodeProto, name: &str) -> Option<i64> {
    node.attribute.iter().find(|attribute| attribute.name() == name).and_then(|attribute| attribute.i)
}

/// The precision of a model without weights: that of its first float input, else output; else of small integers
/// when it computes with quantised numbers.
pub(super) fn precision_of_values(inputs: &[ValueInfo], outputs: &[ValueInfo], quantised: bool) -> Option<Precision> {
    let first = |quantised| {
        let dtypes = inputs.iter().chain(outputs).filter_map(|value| value.dtype);
        dtypes.filter_map(|dtype| Precision::of(dtype, quantised)).next()
    };
    first(false).or_else(|| first(quantised))
}

/// Elements of a tensor with these dimensions; `None` for negative ones and on overflow.
pub(super) fn element_count(dims: &[i64]) -> Option<u64> {
    dims.iter().try_fold(1u64, |product, dim| product.checked_mul(u64::try_from(*dim).ok()?))
}

fn tensor_bytes(tensor: &TensorProto, dtype: Option<DType>, elements: u64) -> u64 {
    let fixed = dtype.and_then(|dtype| dtype.bytes(usize::try_from(elements).ok()?));
    let stored = || tensor.string_data.iter().map(|text| text.len()).sum::<usize>() + tensor.raw_data().len();
    fixed.unwrap_or_else(stored) as u64
}
