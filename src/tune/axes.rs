use crate::graph::{Dim, GraphInfo, ValueInfo};

/// Which inputs carry the batch on axis 0.
///
/// The graph's own symbols decide: the symbol on axis 0 of the first input that has one, and every input that has the
/// same symbol there. Where a graph leaves axis 0 unnamed, each input with an unnamed axis 0 takes part.
pub fn batched_inputs(graph: &GraphInfo) -> Vec<bool> {
    let symbol = graph.inputs.iter().find_map(|input| match first_axis(input) {
        Some(Dim::Symbol(symbol)) => Some(symbol),
        _ => None,
    });
    let takes_part = |input: &ValueInfo| match (first_axis(input), symbol) {
        (Some(Dim::Symbol(own)), Some(symbol)) => own == symbol,
        (Some(Dim::Unknown), None) => true,
        _ => false,
    };
    graph.inputs.iter().map(takes_part).collect()
}

/// Whether the input has a batch dimension that can only be 1, which a sample may leave out.
pub fn has_fixed_batch_of_one(input: &ValueInfo) -> bool {
    matches!(first_axis(input), Some(Dim::Fixed(1)))
}

fn first_axis(input: &ValueInfo) -> Option<&Dim> {
    input.shape.as_ref()?.first()
}
