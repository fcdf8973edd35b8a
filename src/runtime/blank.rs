//! Inputs that hold nothing. The C API makes neither an empty sequence nor an absent optional, so the graph does.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use bytes::Bytes;
use prost::Message;

use super::{CancelToken, RuntimeError, Session, SessionFiles, SessionOptions, value::OrtValue};
use crate::graph::{Model, ModelSource, messages::*};

/// An empty sequence of the type that one input declares.
pub(super) struct EmptySequence {
    declared: Option<TypeProto>,
    made: OnceLock<Result<OrtValue, String>>,
}

impl EmptySequence {
    /// For the input of this name.
    pub(super) fn new(model: &Model, name: &str) -> EmptySequence {
        EmptySequence { declared: declared(model, name).cloned(), made: OnceLock::new() }
    }

    /// Made at the first use, by a model of one node.
    pub(super) fn get(&self) -> Result<&OrtValue, String> {
        let declared = self.declared.as_ref().ok_or("the model doesn't declare the input's type")?;
        self.made.get_or_init(|| make_sequence(declared)).as_ref().map_err(Clone::clone)
    }
}

fn declared<'a>(model: &'a Model, name: &str) -> Option<&'a TypeProto> {
    let inputs = model.proto().graph.iter().flat_map(|graph| &graph.input);
    inputs.filter(|input| input.name() == name).find_map(|input| input.r#type.as_ref())
}

fn make_sequence(declared: &TypeProto) -> Result<OrtValue, String> {
    // What an optional holds is given as such.
    let declared = match &declared.value {
        Some(type_proto::Value::OptionalType(optional)) => optional.elem_type.as_deref().unwrap_or(declared),
        _ => declared,
    };
    let element = match &declared.value {
        Some(type_proto::Value::SequenceType(sequence)) => {
            sequence.elem_type.as_ref().and_then(|kind| kind.value.as_ref())
        }
        _ => None,
    };
    let Some(type_proto::Value::TensorType(tensor)) = element else {
        return Err("only sequences of tensors can be given empty".into());
    };
    let dtype = AttributeProto {
        name: Some("dtype".into()),
        r#type: Some(AttributeType::Int as i32),
        i: Some(i64::from(tensor.elem_type())),
        ..Default::default()
    };
    let output = ValueInfoProto { name: Some("y".into()), r#type: Some(declared.clone()), ..Default::default() };
    let graph = GraphProto {
        name: Some("empty".into()),
        node: vec![node("SequenceEmpty", "y", dtype)],
        output: vec![output],
        ..Default::default()
    };
    let opset = OperatorSetIdProto { domain: Some(String::new()), version: Some(11) };
    let model = ModelProto { ir_version: Some(6), graph: Some(graph), opset_import: vec![opset], ..Default::default() };
    let source = ModelSource::Memory { bytes: model.encode_to_vec().into(), external: vec![] };
    let model = Model::open(source).map_err(|error| error.to_string())?;
    let session = Session::new(&model, &SessionOptions::default(), &SessionFiles::default(), &CancelToken::new());
    let mut outputs =
        session.and_then(|session| session.run_raw(&[], &[0], None)).map_err(|error| error.to_string())?;
    outputs.pop().flatten().ok_or_else(|| "the runtime gave no value".into())
}

fn node(operator: &str, output: &str, attribute: AttributeProto) -> NodeProto {
    NodeProto {
        op_type: Some(operator.into()),
        output: vec![output.into()],
        attribute: vec![attribute],
        ..Default::default()
    }
}

/// For models with optional inputs: sessions of the same graph in which some of them are absent for good.
pub(super) struct WithoutOptionals {
    proto: ModelProto,
    folder: Option<PathBuf>,
    external: Vec<(String, Bytes)>,
    options: SessionOptions,
    sessions: Mutex<HashMap<Vec<String>, Arc<Session>>>,
}

impl WithoutOptionals {
    /// `None` for models without optional inputs.
    pub(super) fn new(model: &Model, options: &SessionOptions) -> Option<WithoutOptionals> {
        let optional = |input: &ValueInfoProto| matches!(kind(input), Some(type_proto::Value::OptionalType(_)));
        model.proto().graph.as_ref()?.input.iter().any(optional).then(|| WithoutOptionals {
            proto: model.proto().clone(),
            folder: model.runtime_path().and_then(|path| Some(path.parent()?.to_owned())),
            external: model.external().to_vec(),
            options: options.clone(),
            sessions: Mutex::default(),
        })
    }

    /// The session without these inputs, made at the first use.
    pub(super) fn session(&self, absent: Vec<String>) -> Result<Arc<Session>, RuntimeError> {
        // Held while a session is made, so that it is made once.
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = sessions.get(&absent) {
            return Ok(session.clone());
        }
        let bytes = Bytes::from(self.without(&absent).encode_to_vec());
        let source = match &self.folder {
            Some(folder) => ModelSource::MemoryIn { bytes, folder: folder.clone() },
            None => ModelSource::Memory { bytes, external: self.external.clone() },
        };
        let model = Model::open(source).map_err(|error| RuntimeError::Load { reason: error.to_string() })?;
        let session = Session::new(&model, &self.options, &SessionFiles::default(), &CancelToken::new())?;
        Ok(sessions.entry(absent).or_insert(Arc::new(session)).clone())
    }

    fn without(&self, absent: &[String]) -> ModelProto {
        let mut proto = self.proto.clone();
        if let Some(graph) = &mut proto.graph {
            let (gone, kept) = graph.input.drain(..).partition(|input| absent.iter().any(|name| name == input.name()));
            graph.input = kept;
            let nothing = |input: &ValueInfoProto| match kind(input) {
                Some(type_proto::Value::OptionalType(optional)) => {
                    let attribute = AttributeProto {
                        name: Some("type".into()),
                        r#type: Some(AttributeType::TypeProto as i32),
                        tp: optional.elem_type.clone(),
                        ..Default::default()
                    };
                    Some(node("Optional", input.name(), attribute))
                }
                _ => None,
            };
            let gone: Vec<ValueInfoProto> = gone;
            graph.node.splice(0..0, gone.iter().filter_map(nothing));
        }
        proto
    }
}

fn kind(input: &ValueInfoProto) -> Option<&type_proto::Value> {
    input.r#type.as_ref()?.value.as_ref()
}
