use std::{
    ffi::{CString, c_char},
    ptr,
    sync::Arc,
};

use bytes::Bytes;
use ort::{
    AsPointer,
    session::{
        Session as OrtSession,
        builder::{GraphOptimizationLevel, SessionBuilder},
    },
    sys,
};
use serde::{Deserialize, Serialize};

use super::{
    CancelToken, Runtime, RuntimeError,
    api::{call, check},
    value::OrtValue,
};
use crate::{
    graph::Model,
    tensor::{Tensor, Value},
};

/// How ONNX Runtime is to run a model on the CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionOptions {
    /// Threads that work on one operator; the thread that calls run is one of them.
    pub threads: usize,
    /// Whether idle threads spin before they sleep. It buys little latency for much CPU time.
    #[serde(default)]
    pub spinning: bool,
    #[serde(default)]
    pub graph_optimization: GraphOptimization,
}

/// How far the runtime rewrites the graph before it runs it; each level holds the ones before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum GraphOptimization {
    Disabled,
    Basic,
    Extended,
    /// Includes layout changes for this processor.
    #[default]
    All,
}

/// One loaded model. Runs may overlap: ONNX Runtime's `Run` is thread-safe on the CPU.
pub struct Session {
    inner: OrtSession,
    memory: MemoryInfo,
    inputs: Vec<CString>,
    outputs: Vec<CString>,
    /// Weights given in memory, which the runtime reads as long as the session lives.
    _external: Vec<Bytes>,
}

impl Session {
    /// Creates a session; cancelling the token ends it early with [`RuntimeError::Cancelled`].
    pub fn new(model: &Model, options: &SessionOptions, cancel: &CancelToken) -> Result<Session, RuntimeError> {
        let runtime = Runtime::get()?;
        let failed = |message: &str| match cancel.is_cancelled() {
            true => RuntimeError::Cancelled,
            false => RuntimeError::from_load(message, runtime.version()),
        };
        let mut builder = configure(runtime, options).map_err(|message| failed(&message))?;
        let canceler = builder.canceler();
        let _guard = cancel.on_cancel(move || drop(canceler.cancel()));
        add_external(&mut builder, model).map_err(|message| failed(&message))?;
        let inner = match model.runtime_path() {
            Some(path) => builder.commit_from_file(path),
            None => builder.commit_from_memory(model.bytes()),
        }
        .map_err(|error| failed(error.message()))?;
        let name = |name: &str| CString::new(name).map_err(|error| failed(&error.to_string()));
        Ok(Session {
            inputs: inner.inputs().iter().map(|input| name(input.name())).collect::<Result<_, _>>()?,
            outputs: inner.outputs().iter().map(|output| name(output.name())).collect::<Result<_, _>>()?,
            memory: MemoryInfo::cpu().map_err(|message| failed(&message))?,
            _external: model.external().iter().map(|(_, data)| data.clone()).collect(),
            inner,
        })
    }

    /// Runs the model on inputs in graph order and gives the outputs asked for by index, in that order.
    pub fn run(
        &self,
        inputs: &[Tensor],
        outputs: &[usize],
        cancel: Option<&CancelToken>,
    ) -> Result<Vec<Value>, RuntimeError> {
        let failed = |reason: String| match cancel.is_some_and(CancelToken::is_cancelled) {
            true => RuntimeError::Cancelled,
            false => RuntimeError::Run { reason },
        };
        if inputs.len() != self.inputs.len() {
            return Err(failed(format!("{} inputs given for {}", inputs.len(), self.inputs.len())));
        }
        let values = inputs
            .iter()
            .map(|tensor| OrtValue::borrow(tensor, self.memory.0))
            .collect::<Result<Vec<_>, _>>()
            .map_err(failed)?;
        let output_name = |&index: &usize| self.outputs.get(index).map(|name| name.as_ptr());
        let output_names: Option<Vec<*const c_char>> = outputs.iter().map(output_name).collect();
        let output_names = output_names.ok_or_else(|| failed("an output index is out of range".into()))?;
        let input_names: Vec<*const c_char> = self.inputs.iter().map(|name| name.as_ptr()).collect();
        let input_values: Vec<*const sys::OrtValue> = values.iter().map(OrtValue::as_ptr).collect();
        let mut raw = vec![ptr::null_mut(); outputs.len()];

        let options = cancel.map(|_| RunOptions::new().map(Arc::new)).transpose().map_err(failed)?;
        let _guard = cancel.zip(options.clone()).map(|(token, options)| token.on_cancel(move || options.terminate()));
        // SAFETY: all arrays are as long as said and live through the call; names are NUL-terminated; the session is
        // alive, and ORT documents Run as thread-safe for one session.
        let status = call!(Run(
            self.inner.ptr().cast_mut(),
            options.as_ref().map_or(ptr::null(), |options| options.0),
            input_names.as_ptr(),
            input_values.as_ptr(),
            inputs.len(),
            output_names.as_ptr(),
            raw.len(),
            raw.as_mut_ptr()
        ));
        // Before the status is looked at, so that nothing leaks when only some outputs were made.
        let results: Vec<Option<OrtValue>> = raw.into_iter().map(OrtValue::from_raw).collect();
        status.map_err(failed)?;
        let name = |index: usize| self.outputs[outputs[index]].to_string_lossy().into_owned();
        let convert = |(index, value): (usize, Option<OrtValue>)| match value {
            None => Ok(Value::None),
            Some(value) => value.into_value().map_err(|reason| RuntimeError::Output { output: name(index), reason }),
        };
        results.into_iter().enumerate().map(convert).collect()
    }
}

fn configure(runtime: &Runtime, options: &SessionOptions) -> Result<SessionBuilder, String> {
    let level = match options.graph_optimization {
        GraphOptimization::Disabled => GraphOptimizationLevel::Disable,
        GraphOptimization::Basic => GraphOptimizationLevel::Level1,
        GraphOptimization::Extended => GraphOptimizationLevel::Level2,
        GraphOptimization::All => GraphOptimizationLevel::All,
    };
    // The builder rides in the crate's errors for reuse; only the message matters here.
    fn message<T>(error: ort::Error<T>) -> String {
        error.to_string()
    }
    let builder = SessionBuilder::new(&runtime.environment).map_err(message)?;
    let builder = builder.with_intra_threads(options.threads).map_err(message)?;
    let builder = builder.with_inter_threads(1).map_err(message)?;
    let builder = builder.with_optimization_level(level).map_err(message)?;
    let builder = builder.with_intra_op_spinning(options.spinning).map_err(message)?;
    builder.with_inter_op_spinning(false).map_err(message)
}

/// Hands over weights that were given in memory for a model whose external files are not on disk.
fn add_external(builder: &mut SessionBuilder, model: &Model) -> Result<(), String> {
    if model.external().is_empty() {
        return Ok(());
    }
    let names: Vec<Vec<sys::os_char>> = model.external().iter().map(|(name, _)| os_string(name)).collect();
    let name_pointers: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
    let buffers: Vec<*mut c_char> = model.external().iter().map(|(_, data)| data.as_ptr() as *mut c_char).collect();
    let lengths: Vec<usize> = model.external().iter().map(|(_, data)| data.len()).collect();
    // SAFETY: the three arrays are of the length said; the names live through the call, the buffers as long as the
    // session, which keeps them; the runtime only reads them.
    call!(AddExternalInitializersFromMemory(
        builder.ptr_mut(),
        name_pointers.as_ptr(),
        buffers.as_ptr(),
        lengths.as_ptr(),
        names.len()
    ))
}

#[cfg(windows)]
fn os_string(text: &str) -> Vec<sys::os_char> {
    text.encode_utf16().chain([0]).collect()
}

#[cfg(not(windows))]
fn os_string(text: &str) -> Vec<sys::os_char> {
    text.bytes().chain([0]).map(|byte| byte as sys::os_char).collect()
}

struct MemoryInfo(*mut sys::OrtMemoryInfo);

// SAFETY: an immutable description without thread affinity.
unsafe impl Send for MemoryInfo {}
// SAFETY: as above.
unsafe impl Sync for MemoryInfo {}

impl MemoryInfo {
    fn cpu() -> Result<MemoryInfo, String> {
        let mut info = ptr::null_mut();
        // SAFETY: a place for the answer.
        call!(CreateCpuMemoryInfo(
            sys::OrtAllocatorType::OrtArenaAllocator,
            sys::OrtMemType::OrtMemTypeDefault,
            &mut info
        ))?;
        Ok(MemoryInfo(info))
    }
}

impl Drop for MemoryInfo {
    fn drop(&mut self) {
        // SAFETY: given out by the runtime, released once.
        unsafe { (ort::api().ReleaseMemoryInfo)(self.0) }
    }
}

/// Options of one run; they exist to stop it.
struct RunOptions(*mut sys::OrtRunOptions);

// SAFETY: the only thing done with them after creation is setting an atomic flag.
unsafe impl Send for RunOptions {}
// SAFETY: as above.
unsafe impl Sync for RunOptions {}

impl RunOptions {
    fn new() -> Result<RunOptions, String> {
        let mut options = ptr::null_mut();
        // SAFETY: a place for the answer.
        call!(CreateRunOptions(&mut options))?;
        Ok(RunOptions(options))
    }

    fn terminate(&self) {
        // SAFETY: live options; setting the flag from another thread is what the runtime made it for.
        let _ = call!(RunOptionsSetTerminate(self.0));
    }
}

impl Drop for RunOptions {
    fn drop(&mut self) {
        // SAFETY: given out by the runtime, released once.
        unsafe { (ort::api().ReleaseRunOptions)(self.0) }
    }
}
