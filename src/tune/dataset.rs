use std::{collections::HashMap, sync::Arc};

use bytes::{Bytes, BytesMut};

use super::{TuneError, axes};
use crate::{
    graph::GraphInfo,
    tensor::{Data, Dims, Tensor, Value},
};

/// One call's inputs, in graph order, and how many items it carries.
pub struct Batch {
    pub inputs: Vec<Value>,
    pub items: usize,
}

/// Calls that all carry the same number of items.
pub struct Workload {
    pub batch_size: usize,
    pub batches: Vec<Batch>,
    /// Indices of every output of the graph.
    pub outputs: Arc<[usize]>,
}

/// A sample with its batch dimension in place.
struct Sample {
    inputs: Vec<Tensor>,
    /// Items it holds; 1 unless the user gave whole batches.
    extent: usize,
}

/// Makes calls of each batch size out of samples.
///
/// A sample whose rank is one below the graph's is an item and gets a batch dimension; one of the graph's rank is a
/// whole input. Items of equal shape are stacked; too few of them are repeated. Without `batch_sizes` they are 1 and 2,
/// or 1 where the graph's batch is fixed; samples that are batches already are then taken as they are.
pub fn workloads(
    samples: &[Vec<Tensor>],
    graph: &GraphInfo,
    batch_sizes: Option<&[usize]>,
    max_batches: usize,
) -> Result<Vec<Workload>, TuneError> {
    if samples.is_empty() {
        return Err(TuneError::EmptyDataset);
    }
    let batched = axes::batched_inputs(graph);
    let samples = samples
        .iter()
        .enumerate()
        .map(|(index, inputs)| with_batch_dimension(index, inputs, graph, &batched))
        .collect::<Result<Vec<_>, _>>()?;
    let outputs: Arc<[usize]> = (0..graph.outputs.len()).collect();
    let workload = |batch_size, batches| Workload { batch_size, batches, outputs: outputs.clone() };

    if let Some(whole) = samples.iter().find(|sample| sample.extent != 1) {
        if batch_sizes.is_some() {
            return Err(TuneError::SamplesAreBatches { extent: whole.extent });
        }
        let largest = samples.iter().map(|sample| sample.extent).max().unwrap_or(1);
        let batches = samples
            .into_iter()
            .take(max_batches)
            .map(|sample| Batch { items: sample.extent, inputs: values(sample.inputs) });
        return Ok(vec![workload(largest, batches.collect())]);
    }
    let dynamic = batched.contains(&true);
    let default: &[usize] = if dynamic { &[1, 2] } else { &[1] };
    let mut sizes = batch_sizes.unwrap_or(default).to_vec();
    sizes.sort_unstable();
    sizes.dedup();
    if let Some(&size) = sizes.iter().find(|&&size| size != 1).filter(|_| !dynamic) {
        return Err(TuneError::FixedBatch { requested: size });
    }
    sizes.into_iter().map(|size| Ok(workload(size, stack(&samples, graph, &batched, size, max_batches)?))).collect()
}

/// The samples as whole inputs: items get a batch dimension of 1.
pub fn whole_inputs(samples: &[Vec<Tensor>], graph: &GraphInfo) -> Result<Vec<Vec<Value>>, TuneError> {
    if samples.is_empty() {
        return Err(TuneError::EmptyDataset);
    }
    let batched = axes::batched_inputs(graph);
    let whole = |(index, sample): (usize, &Vec<Tensor>)| with_batch_dimension(index, sample, graph, &batched);
    samples.iter().enumerate().map(|sample| Ok(values(whole(sample)?.inputs))).collect()
}

fn values(tensors: Vec<Tensor>) -> Vec<Value> {
    tensors.into_iter().map(Value::Tensor).collect()
}

fn with_batch_dimension(
    index: usize,
    inputs: &[Tensor],
    graph: &GraphInfo,
    batched: &[bool],
) -> Result<Sample, TuneError> {
    let mut extent = None;
    let mut result = Vec::with_capacity(inputs.len());
    for ((tensor, input), &batched) in inputs.iter().zip(&graph.inputs).zip(batched) {
        let rank = input.shape.as_ref().map_or(tensor.dims().len(), Vec::len);
        let tensor = match tensor.dims().len() {
            given if given == rank => tensor.clone(),
            given if given + 1 == rank && (batched || axes::has_fixed_batch_of_one(input)) => {
                tensor.reshaped([1].into_iter().chain(tensor.dims().iter().copied()).collect::<Dims>())?
            }
            received => {
                return Err(TuneError::SampleRank {
                    sample: index,
                    input: input.name.clone(),
                    expected: rank,
                    received,
                });
            }
        };
        if batched {
            let own = usize::try_from(tensor.dims()[0]).unwrap_or(0);
            let first = *extent.get_or_insert(own);
            if own == 0 {
                return Err(TuneError::SampleEmpty { sample: index, input: input.name.clone() });
            }
            if own != first {
                return Err(TuneError::SampleExtent { sample: index, input: input.name.clone(), first, own });
            }
        }
        result.push(tensor);
    }
    Ok(Sample { inputs: result, extent: extent.unwrap_or(1) })
}

fn stack(
    samples: &[Sample],
    graph: &GraphInfo,
    batched: &[bool],
    size: usize,
    max_batches: usize,
) -> Result<Vec<Batch>, TuneError> {
    let mut groups: Vec<Vec<&Sample>> = Vec::new();
    let mut group_of: HashMap<Vec<&[i64]>, usize> = HashMap::new();
    for sample in samples {
        let shapes = sample.inputs.iter().map(Tensor::dims).collect();
        let group = *group_of.entry(shapes).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[group].push(sample);
    }
    let mut batches = Vec::new();
    for group in &groups {
        for start in (0..group.len()).step_by(size) {
            let items: Vec<&Sample> = group.iter().cycle().skip(start).take(size).copied().collect();
            batches.push(Batch { inputs: values(join(&items, graph, batched)?), items: size });
        }
    }
    // Spread over the whole dataset rather than its beginning.
    let step = batches.len().div_ceil(max_batches).max(1);
    Ok(batches.into_iter().step_by(step).collect())
}

/// Concatenates the batched inputs along axis 0; the others must be the same in every item.
fn join(items: &[&Sample], graph: &GraphInfo, batched: &[bool]) -> Result<Vec<Tensor>, TuneError> {
    let first = items[0];
    if items.len() == 1 {
        return Ok(first.inputs.clone());
    }
    let column = |input: usize| items.iter().map(move |item| &item.inputs[input]);
    (0..first.inputs.len())
        .map(|input| match batched[input] {
            true => concatenate(column(input), items.len()),
            false if column(input).all(|tensor| same(tensor, &first.inputs[input])) => Ok(first.inputs[input].clone()),
            false => Err(TuneError::UnbatchedInputDiffers { input: graph.inputs[input].name.clone() }),
        })
        .collect()
}

fn same(a: &Tensor, b: &Tensor) -> bool {
    match (a.data(), b.data()) {
        (Data::Bytes(a), Data::Bytes(b)) => a == b,
        (Data::Strings(a), Data::Strings(b)) => a == b,
        _ => false,
    }
}

fn concatenate<'a>(tensors: impl Iterator<Item = &'a Tensor> + Clone, count: usize) -> Result<Tensor, TuneError> {
    let mut all = tensors.clone();
    // `count` is at least 2 here, so there is a first one.
    let Some(first) = all.next() else { return Err(TuneError::EmptyDataset) };
    let mut dims = Dims::from_slice(first.dims());
    dims[0] = dims[0].saturating_mul(count as i64);
    let data = match first.data() {
        Data::Bytes(_) => {
            let mut joined = BytesMut::new();
            tensors.for_each(|tensor| joined.extend_from_slice(tensor.bytes()));
            Data::Bytes(Bytes::from(joined))
        }
        Data::Strings(_) => {
            let strings = tensors.flat_map(|tensor| match tensor.data() {
                Data::Strings(strings) => strings.to_vec(),
                Data::Bytes(_) => Vec::new(),
            });
            Data::Strings(strings.collect())
        }
    };
    // Types under a byte whose items do not end on a byte boundary fail the length check here.
    Ok(Tensor::new(first.dtype(), dims, data)?)
}
