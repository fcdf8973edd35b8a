use std::{
    ffi::{CStr, CString, c_char},
    path::PathBuf,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use ort::{
    AsPointer,
    session::{Session as OrtSession, builder::SessionBuilder},
    sys,
};
use smallvec::{SmallVec, smallvec};

use super::{
    CancelToken, Placement, Runtime, RuntimeError, SessionFiles, SessionOptions,
    api::{call, check},
    blame,
    blank::{EmptySequence, WithoutOptionals},
    denormals::FlushDenormals,
    options::configure,
    placement, signature,
    value::OrtValue,
};
use crate::{
    graph::{Model, messages::ValueInfoProto},
    tensor::{Tensor, Value},
};

/// One loaded model. Runs may overlap: ONNX Runtime's `Run` is thread-safe on the CPU.
pub struct Session {
    inner: OrtSession,
    memory: MemoryInfo,
    inputs: Names,
    outputs: Names,
    empty: Vec<EmptySequence>,
    without_optionals: Option<WithoutOptionals>,
    profiling: AtomicBool,
    flush_denormals: bool,
    /// Weights given in memory, which the runtime reads as long as the session lives.
    _external: Vec<Bytes>,
}

/// Names with the pointers that the C API takes.
struct Names {
    pointers: Vec<*const c_char>,
    names: Vec<CString>,
}

// SAFETY: the pointers are to the names beside them, which never change.
unsafe impl Send for Names {}
// SAFETY: as above.
unsafe impl Sync for Names {}

/// Enough for most models to run without touching the heap.
type List<T> = SmallVec<[T; 8]>;

impl Session {
    /// Creates a session; cancelling the token ends it early with [`RuntimeError::Cancelled`].
    pub fn new(
        model: &Model,
        options: &SessionOptions,
        files: &SessionFiles,
        cancel: &CancelToken,
    ) -> Result<Session, RuntimeError> {
        let runtime = Runtime::get()?;
        runtime.check_config_keys(options.config_entries.keys())?;
        check_overrides(model, options.dimension_overrides.keys())?;
        let failed = |message: &str| match cancel.is_cancelled() {
            true => RuntimeError::Cancelled,
            false => blame::locate(RuntimeError::from_load(message, runtime.version()), model),
        };
        let mut builder = configure(runtime, options, files).map_err(|message| failed(&message))?;
        let canceler = builder.canceler();
        let _guard = cancel.on_cancel(move || drop(canceler.cancel()));
        add_external(&mut builder, model).map_err(|message| failed(&message))?;
        let inner = match model.runtime_path() {
            Some(path) => builder.commit_from_file(path),
            None => builder.commit_from_memory(model.bytes()),
        }
        .map_err(|error| failed(error.message()))?;
        let names = |names: Vec<&str>| Names::new(&names).map_err(|message| failed(&message));
        Ok(Session {
            empty: inner.inputs().iter().map(|input| EmptySequence::new(model, input.name())).collect(),
            without_optionals: WithoutOptionals::new(model, options),
            inputs: names(inner.inputs().iter().map(|input| input.name()).collect())?,
            outputs: names(inner.outputs().iter().map(|output| output.name()).collect())?,
            memory: MemoryInfo::cpu().map_err(|message| failed(&message))?,
            flush_denormals: options.flush_denormals == Some(true),
            profiling: AtomicBool::new(files.profile_prefix.is_some()),
            _external: model.external().iter().map(|(_, data)| data.clone()).collect(),
            inner,
        })
    }

    /// Runs the model on inputs in graph order and gives the outputs asked for by index, in that order.
    pub fn run(
        &self,
        inputs: &[Value],
        outputs: &[usize],
        cancel: Option<&CancelToken>,
    ) -> Result<Vec<Value>, RuntimeError> {
        let results = self.run_raw(inputs, outputs, cancel)?;
        let name = |index: usize| self.outputs.names[outputs[index]].to_string_lossy().into_owned();
        let convert = |(index, value): (usize, Option<OrtValue>)| match value {
            None => Ok(Value::None),
            Some(value) => match value.into_value() {
                Ok(value) => Ok(detach(value, inputs)),
                Err(reason) => Err(RuntimeError::Output { output: name(index), reason }),
            },
        };
        results.into_iter().enumerate().map(convert).collect()
    }

    /// [`Session::run`] with the runtime's own values.
    pub(super) fn run_raw(
        &self,
        inputs: &[Value],
        outputs: &[usize],
        cancel: Option<&CancelToken>,
    ) -> Result<List<Option<OrtValue>>, RuntimeError> {
        let failed = |reason: String| match cancel.is_some_and(CancelToken::is_cancelled) {
            true => RuntimeError::Cancelled,
            false => RuntimeError::Run { reason },
        };
        if let Some(variants) = &self.without_optionals
            && inputs.iter().any(Value::is_none)
        {
            let absent =
                |(value, name): (&Value, &CString)| value.is_none().then(|| name.to_string_lossy().into_owned());
            let absent = inputs.iter().zip(&self.inputs.names).filter_map(absent).collect();
            let given: Vec<Value> = inputs.iter().filter(|value| !value.is_none()).cloned().collect();
            return variants.session(absent)?.run_raw(&given, outputs, cancel);
        }
        if inputs.len() != self.inputs.names.len() {
            return Err(failed(format!("{} inputs given for {}", inputs.len(), self.inputs.names.len())));
        }
        let mut owned: List<OrtValue> = SmallVec::with_capacity(inputs.len());
        let mut input_values: List<*const sys::OrtValue> = SmallVec::with_capacity(inputs.len());
        for (value, empty) in inputs.iter().zip(&self.empty) {
            if value.is_empty_sequence() {
                input_values.push(empty.get().map_err(failed)?.as_ptr());
            } else {
                let value = OrtValue::borrow(value, self.memory.0).map_err(failed)?;
                input_values.push(value.as_ptr());
                owned.push(value);
            }
        }
        let output_name = |&index: &usize| self.outputs.pointers.get(index).copied();
        let output_names: Option<List<*const c_char>> = outputs.iter().map(output_name).collect();
        let output_names = output_names.ok_or_else(|| failed("an output index is out of range".into()))?;
        let mut raw: List<*mut sys::OrtValue> = smallvec![ptr::null_mut(); outputs.len()];

        let options = cancel.map(|_| RunOptions::new().map(Arc::new)).transpose().map_err(failed)?;
        let _guard = cancel.zip(options.clone()).map(|(token, options)| token.on_cancel(move || options.terminate()));
        let _mode = self.flush_denormals.then(FlushDenormals::new);
        // SAFETY: all arrays are as long as said and live through the call; names are NUL-terminated; the session is
        // alive, and ORT documents Run as thread-safe for one session.
        let status = call!(Run(
            self.inner.ptr().cast_mut(),
            options.as_ref().map_or(ptr::null(), |options| options.0),
            self.inputs.pointers.as_ptr(),
            input_values.as_ptr(),
            inputs.len(),
            output_names.as_ptr(),
            raw.len(),
            raw.as_mut_ptr()
        ));
        // Before the status is looked at, so that nothing leaks when only some outputs were made.
        let results = raw.into_iter().map(OrtValue::from_raw).collect();
        status.map_err(failed)?;
        Ok(results)
    }

    /// Ends profiling and gives the path of the Chrome trace; `None` where it is off or has ended.
    pub fn end_profiling(&self) -> Result<Option<PathBuf>, RuntimeError> {
        if !self.profiling.swap(false, Ordering::AcqRel) {
            return Ok(None);
        }
        let failed = |reason: String| RuntimeError::Run { reason };
        let (mut allocator, mut name) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: gives the process-wide default allocator, which is never released.
        call!(GetAllocatorWithDefaultOptions(&mut allocator)).map_err(failed)?;
        // SAFETY: a live session and allocator, and a place for the answer.
        call!(SessionEndProfiling(self.inner.ptr().cast_mut(), allocator, &mut name)).map_err(failed)?;
        // SAFETY: a NUL-terminated string, which is ours until it is given back to its allocator.
        let path = PathBuf::from(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned());
        // SAFETY: made by this allocator just now, freed once.
        let _ = call!(AllocatorFree(allocator, name.cast()));
        Ok(Some(path))
    }

    /// Inputs and outputs as the runtime sees them.
    pub fn signature(&self) -> (Vec<ValueInfoProto>, Vec<ValueInfoProto>) {
        signature::read(&self.inner)
    }

    /// Which provider runs how many nodes of which operators, as the runtime decided.
    pub fn placement(&self) -> Result<Vec<Placement>, RuntimeError> {
        placement::read(self.inner.ptr()).map_err(|reason| RuntimeError::Run { reason })
    }
}

impl Names {
    fn new(names: &[&str]) -> Result<Names, String> {
        let names = names.iter().map(|&name| CString::new(name)).collect::<Result<Vec<_>, _>>();
        let names = names.map_err(|error| error.to_string())?;
        Ok(Names { pointers: names.iter().map(|name| name.as_ptr()).collect(), names })
    }
}

/// Refuses overrides of symbols that no input of the graph has; the runtime would take them and do nothing.
fn check_overrides<'a>(model: &Model, mut names: impl Iterator<Item = &'a String>) -> Result<(), RuntimeError> {
    let mut known: Vec<String> = model.symbols();
    known.sort();
    known.dedup();
    match names.find(|name| !model.is_opaque() && !known.contains(name)) {
        Some(name) => Err(RuntimeError::Dimension { name: name.clone(), known: known.join(", ") }),
        None => Ok(()),
    }
}

/// An output that is an input passed on lies in the input's memory, which its owner may free as soon as the run has
/// ended: such a one is copied.
fn detach(output: Value, inputs: &[Value]) -> Value {
    match output {
        Value::Tensor(tensor) if inputs.iter().any(|input| shares_memory(input, &tensor)) => {
            Value::Tensor(tensor.to_owned_data())
        }
        Value::Sequence(parts) => Value::Sequence(parts.into_iter().map(|part| detach(part, inputs)).collect()),
        Value::Map { keys, values } => {
            match (detach(Value::Tensor(keys), inputs), detach(Value::Tensor(values), inputs)) {
                (Value::Tensor(keys), Value::Tensor(values)) => Value::Map { keys, values },
                _ => Value::None,
            }
        }
        other => other,
    }
}

fn shares_memory(input: &Value, output: &Tensor) -> bool {
    let within = |tensor: &Tensor| tensor.bytes().as_ptr_range().contains(&output.bytes().as_ptr());
    match input {
        Value::Tensor(tensor) => within(tensor),
        Value::Sequence(parts) => parts.iter().any(|part| shares_memory(part, output)),
        Value::Map { keys, values } => within(keys) || within(values),
        Value::None => false,
    }
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
