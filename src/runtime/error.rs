use std::path::PathBuf;

use super::library::{ENVIRONMENT_VARIABLE, MINIMUM_MINOR};
use crate::tensor::TensorError;

/// What can go wrong with the ONNX Runtime library, its sessions and its runs.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    #[error("the ONNX Runtime library was not found; looked for {}", list(.searched))]
    LibraryNotFound { searched: Vec<PathBuf> },
    #[error("{} is not a usable ONNX Runtime library: {reason}", .path.display())]
    LibraryInvalid { path: PathBuf, reason: String },
    #[error("{} is built for {found}, but this process runs on {}", .path.display(), std::env::consts::ARCH)]
    LibraryArchitecture { path: PathBuf, found: &'static str },
    #[error("{} is ONNX Runtime {found}; 1.{MINIMUM_MINOR} or newer is needed", .path.display())]
    LibraryVersion { path: PathBuf, found: String },
    #[error("ONNX Runtime is already loaded from {}; one process can hold only one", .loaded.display())]
    AlreadyLoaded { loaded: PathBuf },
    #[error("ONNX Runtime from {} did not start: {reason}", .path.display())]
    Start { path: PathBuf, reason: String },
    #[error("the model's IR version {found} is newer than the {maximum} that ONNX Runtime {runtime} reads")]
    Ir { found: String, maximum: String, runtime: String },
    #[error(
        "the model's opset {found} of domain {domain} is newer than the {maximum} that ONNX Runtime {runtime} supports"
    )]
    Opset { domain: String, found: String, maximum: String, runtime: String },
    #[error("ONNX Runtime {runtime} has no operator {operator}{place}: {reason}")]
    Operator {
        /// `domain::Op`.
        operator: String,
        /// Where it stands in the model, as far as that is known: opset and tensors.
        place: String,
        runtime: String,
        reason: String,
    },
    #[error("ONNX Runtime cannot load the model: {reason}")]
    Load { reason: String },
    #[error("ONNX Runtime {runtime} has no configuration entry {key:?}")]
    ConfigKey { key: String, runtime: String },
    #[error("no input of the graph has a dimension {name:?} to override; there are: {known}")]
    Dimension { name: String, known: String },
    #[error("the execution provider {provider:?} is not available: {reason}")]
    Provider { provider: String, reason: String },
    #[error("the profile {} can't be read: {reason}", .path.display())]
    Profile { path: PathBuf, reason: String },
    #[error("the run failed: {reason}")]
    Run { reason: String },
    #[error("cancelled")]
    Cancelled,
    #[error("output {output:?} is of a kind that cannot be read: {reason}")]
    Output { output: String, reason: String },
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

impl RuntimeError {
    /// A step that puts it right, where one is known.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            RuntimeError::LibraryNotFound { .. } => format!(
                "in a checkout run `npm run fetch:runtime`; in an application reinstall the package with its optional \
                 dependencies, or name a library with setRuntime({{ libraryPath }}) or {ENVIRONMENT_VARIABLE}"
            ),
            RuntimeError::Ir { .. } | RuntimeError::Opset { .. } => {
                "export the model again for an older opset, or convert it with onnx.version_converter".into()
            }
            RuntimeError::Operator { .. } => {
                "check the operator's domain and opset; custom operators need a runtime that has them".into()
            }
            _ => return None,
        })
    }

    /// Reads the reason for a failed load out of the runtime's message: its error codes say only "fail".
    pub(super) fn from_load(message: &str, runtime: &str) -> RuntimeError {
        let runtime = runtime.to_owned();
        let after = |mark: &str| message.split_once(mark).map(|(_, rest)| rest);
        let number = |mark: &str| after(mark).map(leading_number);
        if let (Some(found), Some(maximum)) =
            (number("Unsupported model IR version: "), number("max supported IR version: "))
        {
            return RuntimeError::Ir { found, maximum, runtime };
        }
        if let (Some(found), Some(rest)) = (number("Opset "), after("Current official support for domain ")) {
            let (domain, rest) = rest.split_once(" is till opset ").unwrap_or((rest, ""));
            return RuntimeError::Opset { domain: domain.to_owned(), found, maximum: leading_number(rest), runtime };
        }
        if let Some((before, _)) = message.split_once(" is not a registered function/op") {
            let operator = before.rsplit(' ').next().unwrap_or(before);
            let operator = operator.trim_end_matches("(-1)").replacen(':', "::", 1);
            return RuntimeError::Operator {
                operator,
                place: String::new(),
                runtime,
                reason: "it is not registered".into(),
            };
        }
        for mark in ["Could not find an implementation for ", "No Op registered for "] {
            if let Some(rest) = after(mark) {
                let operator = rest.split_whitespace().next().unwrap_or(rest).to_owned();
                return RuntimeError::Operator { operator, place: String::new(), runtime, reason: message.to_owned() };
            }
        }
        RuntimeError::Load { reason: message.to_owned() }
    }
}

fn leading_number(text: &str) -> String {
    text.chars().take_while(char::is_ascii_digit).collect()
}

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn load_failures_are_told_apart() {
        let ir = "Load model from m.onnx failed: Unsupported model IR version: 99, max supported IR version: 13";
        assert!(matches!(RuntimeError::from_load(ir, "1"), RuntimeError::Ir { found, maximum, .. }
            if found == "99" && maximum == "13"));
        let opset = "ONNX Runtime only *guarantees* support for models stamped with official released onnx opset \
            versions. Opset 99 is under development. Current official support for domain ai.onnx is till opset 25.";
        assert!(matches!(RuntimeError::from_load(opset, "1"), RuntimeError::Opset { domain, found, maximum, .. }
            if domain == "ai.onnx" && found == "99" && maximum == "25"));
        let op = "Load model from m.onnx failed:Fatal error: com.foo:Bar(-1) is not a registered function/op";
        assert!(matches!(RuntimeError::from_load(op, "1"), RuntimeError::Operator { operator, .. }
            if operator == "com.foo::Bar"));
        let kernel = "Could not find an implementation for Relu(1) node with name ''";
        assert!(matches!(RuntimeError::from_load(kernel, "1"), RuntimeError::Operator { operator, .. }
            if operator == "Relu(1)"));
        assert!(matches!(RuntimeError::from_load("whatever", "1"), RuntimeError::Load { .. }));
    }
}
