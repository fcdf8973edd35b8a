//! Visiting all parts of a model, subgraphs and model-local functions included.
//!
//! The bodies of functions are visited once each, however often they are called. Training graphs are no part of
//! inference and are not visited. Depth is bounded for decoded models: the decoder refuses more than 100 levels.

use super::messages::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto,
};

/// One part of a model.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// The main graph or a subgraph; its nodes follow.
    Graph(&'a GraphProto),
    /// A node; its subgraphs follow.
    Node(&'a NodeProto),
    /// A model-local function; its nodes follow.
    Function(&'a FunctionProto),
}

/// A stored tensor with its place in the model.
#[derive(Clone, Copy, Debug)]
pub enum Stored<'a> {
    /// A named initialiser of a graph.
    Initializer(&'a TensorProto),
    /// A sparse initialiser.
    SparseInitializer(&'a SparseTensorProto),
    /// The `value` of a `Constant` node.
    Constant(&'a NodeProto, &'a TensorProto),
    /// The `sparse_value` of a `Constant` node.
    SparseConstant(&'a SparseTensorProto),
    /// A tensor in any other attribute.
    Attribute(&'a TensorProto),
}

impl<'a> Stored<'a> {
    /// The messages that hold data: one, or values and indices of a sparse tensor.
    pub fn tensors(self) -> impl Iterator<Item = &'a TensorProto> {
        let (first, second) = match self {
            Stored::Initializer(tensor) | Stored::Constant(_, tensor) | Stored::Attribute(tensor) => {
                (Some(tensor), None)
            }
            Stored::SparseInitializer(sparse) | Stored::SparseConstant(sparse) => {
                (sparse.values.as_ref(), sparse.indices.as_ref())
            }
        };
        first.into_iter().chain(second)
    }
}

/// Visits every graph, node and function of a model.
pub fn parts<'a>(model: &'a ModelProto, visit: &mut dyn FnMut(Part<'a>)) {
    if let Some(main) = &model.graph {
        graph(main, visit);
    }
    for function in &model.functions {
        visit(Part::Function(function));
        function.node.iter().for_each(|item| node(item, visit));
        function.attribute_proto.iter().flat_map(graphs).for_each(|item| graph(item, visit));
    }
}

/// Visits every node.
pub fn nodes<'a>(model: &'a ModelProto, visit: &mut dyn FnMut(&'a NodeProto)) {
    parts(model, &mut |part| {
        if let Part::Node(node) = part {
            visit(node);
        }
    });
}

/// Visits every stored tensor.
pub fn tensors<'a>(model: &'a ModelProto, visit: &mut dyn FnMut(Stored<'a>)) {
    parts(model, &mut |part| match part {
        Part::Graph(graph) => {
            graph.initializer.iter().for_each(|tensor| visit(Stored::Initializer(tensor)));
            graph.sparse_initializer.iter().for_each(|tensor| visit(Stored::SparseInitializer(tensor)));
        }
        Part::Node(node) => node.attribute.iter().for_each(|item| attribute(Some(node), item, visit)),
        Part::Function(function) => function.attribute_proto.iter().for_each(|item| attribute(None, item, visit)),
    });
}

/// The graphs that an attribute holds.
pub fn graphs(attribute: &AttributeProto) -> impl Iterator<Item = &GraphProto> {
    attribute.g.as_deref().into_iter().chain(&attribute.graphs)
}

fn graph<'a>(graph: &'a GraphProto, visit: &mut dyn FnMut(Part<'a>)) {
    visit(Part::Graph(graph));
    graph.node.iter().for_each(|item| node(item, visit));
}

fn node<'a>(node: &'a NodeProto, visit: &mut dyn FnMut(Part<'a>)) {
    visit(Part::Node(node));
    node.attribute.iter().flat_map(graphs).for_each(|item| graph(item, visit));
}

fn attribute<'a>(node: Option<&'a NodeProto>, attribute: &'a AttributeProto, visit: &mut dyn FnMut(Stored<'a>)) {
    let constant = node.filter(|node| node.op_type() == "Constant" && matches!(node.domain(), "" | "ai.onnx"));
    for tensor in attribute.t.as_deref().into_iter().chain(&attribute.tensors) {
        visit(constant.map_or(Stored::Attribute(tensor), |node| Stored::Constant(node, tensor)));
    }
    for sparse in attribute.sparse_tensor.as_deref().into_iter().chain(&attribute.sparse_tensors) {
        if constant.is_some() {
            visit(Stored::SparseConstant(sparse));
        } else {
            let parts = [sparse.values.as_ref(), sparse.indices.as_ref()];
            parts.into_iter().flatten().for_each(|tensor| visit(Stored::Attribute(tensor)));
        }
    }
}
