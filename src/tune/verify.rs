use half::{bf16, f16};
use serde::{Deserialize, Serialize};

use crate::tensor::{DType, Data, Tensor, Value};

/// How far an output may be from the baseline's: `|a - b| <= atol * max|b| + rtol * |b|` for each element of each
/// floating-point output, where `b` is the baseline's. Anything else must be equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    pub rtol: Option<f64>,
    /// Relative to the largest magnitude in the output, so that one number fits logits and probabilities alike.
    pub atol: Option<f64>,
}

/// The worst over all outputs compared so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Accuracy {
    pub max_abs_error: f64,
    /// Over elements whose baseline is not zero.
    pub max_rel_error: f64,
    /// Of the output least alike.
    pub min_cosine: f64,
}

impl Default for Accuracy {
    fn default() -> Self {
        Accuracy { max_abs_error: 0.0, max_rel_error: 0.0, min_cosine: 1.0 }
    }
}

impl Accuracy {
    /// Takes one run's outputs in; the error says which output is off and by how much.
    pub fn compare(
        &mut self,
        names: &[String],
        baseline: &[Value],
        candidate: &[Value],
        limits: Limits,
    ) -> Result<(), String> {
        if baseline.len() != candidate.len() {
            return Err(format!("{} outputs instead of {}", candidate.len(), baseline.len()));
        }
        for (index, (expected, received)) in baseline.iter().zip(candidate).enumerate() {
            let fallback = format!("#{index}");
            let name = names.get(index).unwrap_or(&fallback);
            self.value(expected, received, limits).map_err(|reason| format!("output {name:?}: {reason}"))?;
        }
        Ok(())
    }

    fn value(&mut self, expected: &Value, received: &Value, limits: Limits) -> Result<(), String> {
        match (expected, received) {
            (Value::Tensor(expected), Value::Tensor(received)) => self.tensor(expected, received, limits),
            (Value::Sequence(expected), Value::Sequence(received)) if expected.len() == received.len() => {
                expected.iter().zip(received).try_for_each(|(a, b)| self.value(a, b, limits))
            }
            (Value::Map { keys: k1, values: v1 }, Value::Map { keys: k2, values: v2 }) => {
                self.tensor(k1, k2, limits)?;
                self.tensor(v1, v2, limits)
            }
            (Value::None, Value::None) => Ok(()),
            _ => Err("another kind of value, or another length".into()),
        }
    }

    fn tensor(&mut self, expected: &Tensor, received: &Tensor, limits: Limits) -> Result<(), String> {
        if expected.dtype() != received.dtype() {
            return Err(format!("{} instead of {}", received.dtype(), expected.dtype()));
        }
        if expected.dims() != received.dims() {
            return Err(format!("shape {:?} instead of {:?}", received.dims(), expected.dims()));
        }
        match (floats(expected), floats(received)) {
            (Some(expected_floats), Some(received_floats)) => {
                self.floats(&expected_floats, &received_floats, limits.resolve(expected.dtype()))
            }
            _ => match (expected.data(), received.data()) {
                (Data::Bytes(a), Data::Bytes(b)) if a == b => Ok(()),
                (Data::Strings(a), Data::Strings(b)) if a == b => Ok(()),
                _ => Err(format!("{} values differ, which must be equal", expected.dtype())),
            },
        }
    }

    fn floats(&mut self, expected: &[f64], received: &[f64], (rtol, atol): (f64, f64)) -> Result<(), String> {
        let scale = expected.iter().filter(|x| x.is_finite()).fold(0.0f64, |max, x| max.max(x.abs()));
        let (mut dot, mut norm_a, mut norm_b) = (0.0, 0.0, 0.0);
        let mut worst: Option<(usize, f64)> = None;
        for (index, (&a, &b)) in expected.iter().zip(received).enumerate() {
            if !a.is_finite() || !b.is_finite() {
                if a == b || (a.is_nan() && b.is_nan()) {
                    continue;
                }
                return Err(format!("element {index} is {b} instead of {a}"));
            }
            let error = (a - b).abs();
            self.max_abs_error = self.max_abs_error.max(error);
            if a != 0.0 {
                self.max_rel_error = self.max_rel_error.max(error / a.abs());
            }
            let excess = error - (atol * scale + rtol * a.abs());
            if excess > worst.map_or(0.0, |(_, excess)| excess) {
                worst = Some((index, excess));
            }
            dot += a * b;
            norm_a += a * a;
            norm_b += b * b;
        }
        if norm_a > 0.0 && norm_b > 0.0 {
            self.min_cosine = self.min_cosine.min(dot / (norm_a.sqrt() * norm_b.sqrt()));
        }
        match worst {
            None => Ok(()),
            Some((index, _)) => Err(format!(
                "element {index} is {} instead of {}, beyond rtol {rtol} and atol {atol} of the largest magnitude {scale}",
                received[index], expected[index]
            )),
        }
    }
}

impl Limits {
    /// Defaults by precision: a reordered float32 sum over some thousand terms stays within 1e-4 of the scale.
    fn resolve(self, dtype: DType) -> (f64, f64) {
        let (rtol, atol) = match dtype {
            DType::Float64 => (1e-6, 1e-9),
            DType::Float16 => (1e-2, 1e-3),
            DType::Bfloat16 => (4e-2, 8e-3),
            _ => (1e-3, 1e-4),
        };
        (self.rtol.unwrap_or(rtol), self.atol.unwrap_or(atol))
    }
}

/// The elements of a floating-point tensor; none for other types.
fn floats(tensor: &Tensor) -> Option<Vec<f64>> {
    fn decode<const N: usize>(bytes: &[u8], element: impl Fn([u8; N]) -> f64) -> Vec<f64> {
        bytes.as_chunks::<N>().0.iter().map(|chunk| element(*chunk)).collect()
    }
    let bytes = tensor.bytes();
    match tensor.dtype() {
        DType::Float32 => Some(decode(bytes, |b| f64::from(f32::from_ne_bytes(b)))),
        DType::Float64 => Some(decode(bytes, f64::from_ne_bytes)),
        DType::Float16 => Some(decode(bytes, |b| f16::from_ne_bytes(b).to_f64())),
        DType::Bfloat16 => Some(decode(bytes, |b| bf16::from_ne_bytes(b).to_f64())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float32(values: &[f32]) -> Value {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_ne_bytes()).collect();
        Value::Tensor(Tensor::new(DType::Float32, vec![values.len() as i64], Data::Bytes(bytes.into())).expect("valid"))
    }

    fn compare(expected: &[f32], received: &[f32]) -> Result<Accuracy, String> {
        let mut accuracy = Accuracy::default();
        accuracy.compare(&["y".into()], &[float32(expected)], &[float32(received)], Limits::default())?;
        Ok(accuracy)
    }

    #[test]
    fn close_numbers_pass_and_are_measured() {
        let accuracy = compare(&[1.0, -2.0, 0.0], &[1.0001, -2.0, 0.0]).expect("close enough");
        assert!((accuracy.max_abs_error - 1e-4).abs() < 1e-6);
        assert!(accuracy.min_cosine > 0.999_999);
    }

    #[test]
    fn wrong_numbers_shapes_types_and_lost_nans_fail() {
        assert!(compare(&[1.0, 2.0], &[1.0, 2.1]).unwrap_err().contains("element 1"));
        assert!(compare(&[1.0], &[f32::NAN]).is_err());
        assert!(compare(&[f32::NAN], &[1.0]).is_err());
        assert!(compare(&[f32::INFINITY], &[f32::NEG_INFINITY]).is_err());
        assert!(compare(&[f32::NAN, f32::INFINITY], &[f32::NAN, f32::INFINITY]).is_ok());
        assert!(compare(&[1.0, 2.0], &[1.0]).unwrap_err().contains("shape"));
    }

    #[test]
    fn integers_and_strings_must_be_equal() {
        let int =
            |v: i64| Tensor::new(DType::Int64, vec![1], Data::Bytes(v.to_ne_bytes().to_vec().into())).expect("ok");
        let text = |s: &str| Tensor::new(DType::String, vec![1], Data::Strings(vec![s.to_owned()].into())).expect("ok");
        let mut accuracy = Accuracy::default();
        let mut same = |a: Tensor, b: Tensor| accuracy.tensor(&a, &b, Limits::default()).is_ok();
        assert!(same(int(5), int(5)) && !same(int(5), int(6)));
        assert!(same(text("a"), text("a")) && !same(text("a"), text("b")));
    }
}
