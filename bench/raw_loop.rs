//! The limit that the benchmarks compare with: `OrtRun` in a loop, with nothing around it. Started with the path of the
//! runtime library; reads commands from stdin and answers each with a line on stdout, both JSON.
//!
//! Unlike the core's runtime it keeps one input and one set of outputs for each model and makes all it can beforehand.

use std::{
    error::Error,
    ffi::{CStr, CString, c_char, c_void},
    io::{self, BufRead, Write},
    ptr,
    time::{Duration, Instant},
};

use ort::{
    AsPointer,
    environment::Environment,
    session::{
        Session,
        builder::{GraphOptimizationLevel, SessionBuilder},
    },
    sys::{self, ONNXTensorElementDataType as ElementType},
};
use serde::Deserialize;
use serde_json::{Value as Json, json};

mod wake;

type Fallible<T> = Result<T, Box<dyn Error>>;

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Command {
    /// Creates a session; its number is how many there were before. Answers with the outputs' first numbers.
    Load { path: String, threads: usize, inputs: Vec<Input> },
    /// Runs a model for `warmup_ms`, then times `chunks` times `chunk` runs; answers with microseconds a run.
    Time { model: usize, form: Form, chunk: u32, chunks: usize, warmup_ms: u64 },
    /// Times how long two threads take to wake each other in turn; answers with microseconds a round trip.
    Wake { placement: wake::Placement, rounds: usize },
}

#[derive(Deserialize)]
struct Input {
    dims: Vec<i64>,
    #[serde(flatten)]
    data: Data,
}

#[derive(Deserialize)]
#[serde(tag = "type", content = "data", rename_all = "camelCase")]
enum Data {
    Float32(Vec<f32>),
    Int64(Vec<i64>),
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Form {
    /// The runtime allocates the outputs, which are copied to the caller's memory.
    Copied,
    /// The runtime writes to the caller's memory.
    Bound,
}

fn main() -> Fallible<()> {
    let library = std::env::args().nth(1).ok_or("give the path of the runtime library")?;
    let environment = ort::init_from(library)?.with_name("raw_loop").with_telemetry(false).build()?;
    let mut models = Vec::new();
    for line in io::stdin().lock().lines() {
        let answer = match serde_json::from_str(&line?)? {
            Command::Load { path, threads, inputs } => {
                let mut model = Model::load(&environment, &path, threads, inputs)?;
                model.run(Form::Copied)?;
                let answer = json!({ "outputs": model.outputs.iter().map(Output::head).collect::<Vec<_>>() });
                models.push(model);
                answer
            }
            Command::Time { model, form, chunk, chunks, warmup_ms } => {
                let model = models.get_mut(model).ok_or("no such model")?;
                json!({ "micros": model.time(form, chunk, chunks, Duration::from_millis(warmup_ms))? })
            }
            Command::Wake { placement, rounds } => json!({ "micros": wake::measure(placement, rounds)? }),
        };
        say(&answer)?;
    }
    Ok(())
}

fn say(answer: &Json) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{answer}")?;
    out.flush()
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// Calls a function of the C API by name; its status becomes a `Result`.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        check(unsafe { (ort::api().$function)($($argument),*) })
    };
}

fn check(status: sys::OrtStatusPtr) -> Result<(), String> {
    if status.0.is_null() {
        return Ok(());
    }
    // SAFETY: a status that is not null has a NUL-terminated message. It is not released: the program ends with it.
    let message = unsafe { CStr::from_ptr((ort::api().GetErrorMessage)(status.0)) };
    Err(message.to_string_lossy().into_owned())
}

struct Model {
    session: Session,
    memory: *mut sys::OrtMemoryInfo,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    input_names: Vec<CString>,
    output_names: Vec<CString>,
    // Room for the arguments of a run.
    input_pointers: Vec<*const c_char>,
    output_pointers: Vec<*const c_char>,
    input_values: Vec<*mut sys::OrtValue>,
    output_values: Vec<*mut sys::OrtValue>,
}

/// Memory of the caller's for an output.
struct Output {
    element: ElementType,
    dims: Vec<i64>,
    /// In words, so that it is aligned for every element type.
    words: Vec<u64>,
    len: usize,
}

impl Model {
    fn load(environment: &Environment, path: &str, threads: usize, inputs: Vec<Input>) -> Fallible<Model> {
        // The settings that the core gives its sessions.
        let mut builder = SessionBuilder::new(environment)?
            .with_intra_threads(threads)?
            .with_inter_threads(1)?
            .with_optimization_level(GraphOptimizationLevel::All)?
            .with_intra_op_spinning(false)?
            .with_inter_op_spinning(false)?;
        let session = builder.commit_from_file(path)?;
        let names = |names: Vec<&str>| names.into_iter().map(CString::new).collect::<Result<Vec<_>, _>>();
        let input_names = names(session.inputs().iter().map(|input| input.name()).collect())?;
        let output_names = names(session.outputs().iter().map(|output| output.name()).collect())?;
        if inputs.len() != input_names.len() {
            return Err(format!("{path} has {} inputs, not {}", input_names.len(), inputs.len()).into());
        }
        let mut memory = ptr::null_mut();
        // SAFETY: a place for the answer.
        call!(CreateCpuMemoryInfo(
            sys::OrtAllocatorType::OrtArenaAllocator,
            sys::OrtMemType::OrtMemTypeDefault,
            &mut memory
        ))?;
        Ok(Model {
            input_pointers: input_names.iter().map(|name| name.as_ptr()).collect(),
            output_pointers: output_names.iter().map(|name| name.as_ptr()).collect(),
            input_values: vec![ptr::null_mut(); input_names.len()],
            output_values: vec![ptr::null_mut(); output_names.len()],
            outputs: Vec::new(),
            session,
            memory,
            inputs,
            input_names,
            output_names,
        })
    }

    fn time(&mut self, form: Form, chunk: u32, chunks: usize, warmup: Duration) -> Result<Vec<f64>, String> {
        let start = Instant::now();
        while start.elapsed() < warmup {
            self.run(form)?;
        }
        let mut times = Vec::with_capacity(chunks);
        for _ in 0..chunks {
            let start = Instant::now();
            for _ in 0..chunk {
                self.run(form)?;
            }
            times.push(micros(start.elapsed()) / f64::from(chunk));
        }
        Ok(times)
    }

    /// One call as a program would make it: values over the caller's input, the run, the outputs to the caller.
    fn run(&mut self, form: Form) -> Result<(), String> {
        for (input, value) in self.inputs.iter_mut().zip(&mut self.input_values) {
            let (data, len, element) = match &mut input.data {
                Data::Float32(data) => {
                    (data.as_mut_ptr().cast(), data.len() * 4, ElementType::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT)
                }
                Data::Int64(data) => {
                    (data.as_mut_ptr().cast(), data.len() * 8, ElementType::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64)
                }
            };
            *value = tensor(self.memory, data, len, &input.dims, element)?;
        }
        self.output_values.fill(ptr::null_mut());
        if let Form::Bound = form {
            for (output, value) in self.outputs.iter_mut().zip(&mut self.output_values) {
                let data = output.words.as_mut_ptr().cast();
                *value = tensor(self.memory, data, output.len, &output.dims, output.element)?;
            }
        }
        // SAFETY: all arrays are as long as said; names, inputs and outputs live as long as the model.
        call!(Run(
            self.session.ptr().cast_mut(),
            ptr::null(),
            self.input_pointers.as_ptr(),
            self.input_values.as_ptr().cast(),
            self.input_names.len(),
            self.output_pointers.as_ptr(),
            self.output_names.len(),
            self.output_values.as_mut_ptr()
        ))?;
        if self.outputs.is_empty() {
            self.outputs =
                self.output_values.iter().map(|&value| Output::like(value)).collect::<Result<Vec<_>, String>>()?;
        }
        if let Form::Copied = form {
            for (output, &value) in self.outputs.iter_mut().zip(&self.output_values) {
                output.copy(value)?;
            }
        }
        for &value in self.input_values.iter().chain(&self.output_values) {
            // SAFETY: made above, released once.
            unsafe { (ort::api().ReleaseValue)(value) };
        }
        Ok(())
    }
}

/// A value over memory that outlives it.
fn tensor(
    memory: *const sys::OrtMemoryInfo,
    data: *mut c_void,
    len: usize,
    dims: &[i64],
    element: ElementType,
) -> Result<*mut sys::OrtValue, String> {
    let mut value = ptr::null_mut();
    // SAFETY: lengths are those of live memory, which its owner keeps until the value is released.
    call!(CreateTensorWithDataAsOrtValue(memory, data, len, dims.as_ptr(), dims.len(), element, &mut value))?;
    Ok(value)
}

impl Output {
    /// Memory for outputs like this one.
    fn like(value: *const sys::OrtValue) -> Result<Output, String> {
        let (mut info, mut rank, mut len) = (ptr::null_mut(), 0, 0);
        let mut element = ElementType::ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
        // SAFETY: this and the next three: a live tensor, or its live description, and a place for the answer.
        call!(GetTensorTypeAndShape(value, &mut info))?;
        // SAFETY: see above.
        call!(GetTensorElementType(info, &mut element))?;
        // SAFETY: see above.
        call!(GetDimensionsCount(info, &mut rank))?;
        // SAFETY: see above.
        call!(GetTensorSizeInBytes(value, &mut len))?;
        let mut dims = vec![0; rank];
        // SAFETY: `dims` has room for `rank` numbers.
        call!(GetDimensions(info, dims.as_mut_ptr(), rank))?;
        // SAFETY: given out above, released once.
        unsafe { (ort::api().ReleaseTensorTypeAndShapeInfo)(info) };
        Ok(Output { element, dims, words: vec![0; len.div_ceil(8)], len })
    }

    fn copy(&mut self, value: *mut sys::OrtValue) -> Result<(), String> {
        let (mut data, mut len) = (ptr::null_mut(), 0);
        // SAFETY: a live tensor and a place for the answer.
        call!(GetTensorMutableData(value, &mut data))?;
        // SAFETY: as above.
        call!(GetTensorSizeInBytes(value, &mut len))?;
        if len != self.len {
            return Err(format!("an output of {len} bytes, which had {}", self.len));
        }
        // SAFETY: both hold `len` bytes and lie apart.
        unsafe { ptr::copy_nonoverlapping(data.cast::<u8>(), self.words.as_mut_ptr().cast(), len) };
        Ok(())
    }

    /// The first numbers, to see that all compute the same.
    fn head(&self) -> Vec<f32> {
        let halves = self.words.iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]);
        match self.element {
            ElementType::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT => {
                halves.take(self.len / 4).take(16).map(f32::from_bits).collect()
            }
            _ => Vec::new(),
        }
    }
}
