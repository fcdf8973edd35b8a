use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ort::logging::{LogLevel, LoggerFunction};

use super::{RuntimeError, library};

/// The loaded ONNX Runtime. There is at most one in a process, and it lives until the process ends.
pub struct Runtime {
    path: PathBuf,
    version: String,
    pub(super) environment: ort::environment::Environment,
}

#[derive(Default)]
struct State {
    explicit: Option<PathBuf>,
    runtime: Option<&'static Runtime>,
}

/// The one global: ONNX Runtime allows a single environment in a process.
static STATE: Mutex<State> = Mutex::new(State { explicit: None, runtime: None });

fn state() -> MutexGuard<'static, State> {
    // A panic while holding the lock leaves the state as it was before the failed step, which is valid.
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Names the library to load. Takes effect until the runtime is loaded; afterwards only the same path is accepted.
pub fn set_library(path: &Path) -> Result<(), RuntimeError> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut state = state();
    match state.runtime {
        Some(runtime) if runtime.path != path => Err(RuntimeError::AlreadyLoaded { loaded: runtime.path.clone() }),
        _ => {
            state.explicit = Some(path);
            Ok(())
        }
    }
}

/// Tells a loaded runtime that another log level is listened to.
pub fn follow_log_level() {
    if let Some(runtime) = state().runtime {
        runtime.follow_log_level();
    }
}

impl Runtime {
    /// The runtime, loaded on first use. A failed attempt leaves nothing behind: the next call tries again.
    pub fn get() -> Result<&'static Runtime, RuntimeError> {
        let mut state = state();
        if let Some(runtime) = state.runtime {
            return Ok(runtime);
        }
        let path = library::find(state.explicit.as_deref())?;
        let runtime: &'static Runtime = Box::leak(Box::new(Runtime::load(path)?));
        state.runtime = Some(runtime);
        Ok(runtime)
    }

    fn load(path: PathBuf) -> Result<Runtime, RuntimeError> {
        disable_telemetry();
        let version = library::open(&path)?;
        let start = |reason: String| RuntimeError::Start { path: path.clone(), reason };
        let environment = ort::init_from(&path)
            .map_err(|error| start(error.to_string()))?
            .with_name("onnxtune")
            .with_telemetry(false)
            .with_logger(logger())
            .build()
            .map_err(|error| start(error.to_string()))?;
        let runtime = Runtime { path, version, environment };
        runtime.follow_log_level();
        Ok(runtime)
    }

    /// Has the runtime make the lines that somebody listens to, and no others.
    fn follow_log_level(&self) {
        let level = match crate::log::level() {
            Some(tracing::Level::TRACE | tracing::Level::DEBUG) => LogLevel::Verbose,
            Some(tracing::Level::INFO) => LogLevel::Info,
            Some(tracing::Level::ERROR) => LogLevel::Error,
            _ => LogLevel::Warning,
        };
        self.environment.set_log_level(level);
    }

    /// Refuses configuration keys that this library doesn't know; it would take them and do nothing.
    ///
    /// Known is what the library holds as a string of its own: its keys are constants, and no list of them ages.
    pub(super) fn check_config_keys<'a>(&self, keys: impl Iterator<Item = &'a String>) -> Result<(), RuntimeError> {
        let mut keys = keys.peekable();
        if keys.peek().is_none() {
            return Ok(());
        }
        let library = std::fs::read(&self.path)
            .map_err(|error| RuntimeError::LibraryInvalid { path: self.path.clone(), reason: error.to_string() })?;
        let known = |key: &str| memchr::memmem::find(&library, format!("\0{key}\0").as_bytes()).is_some();
        // The library holds other strings with a dot; its keys begin with one of these.
        const KINDS: [&str; 5] = ["session.", "ep.", "optimization.", "mlas.", "memory."];
        let kind = |key: &str| KINDS.iter().any(|kind| key.starts_with(kind));
        match keys.find(|key| !kind(key) || !known(key)) {
            Some(key) => Err(RuntimeError::ConfigKey { key: key.clone(), runtime: self.version.clone() }),
            None => Ok(()),
        }
    }

    /// Whether an execution provider can be used; the error names the library that is missing.
    pub fn check_provider(&self, provider: &str) -> Result<(), RuntimeError> {
        if provider == "cpu" {
            return Ok(());
        }
        let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        let library = self.path.with_file_name(format!("{prefix}onnxruntime_providers_{provider}{suffix}"));
        let reason = match library.exists() {
            // The libraries of GPUs are not used yet: saying so is better than running elsewhere.
            true => "this version of onnxtune runs on the CPU only".to_owned(),
            false => format!("{} is not there", library.display()),
        };
        Err(RuntimeError::Provider { provider: provider.to_owned(), reason })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The version the library tells of itself, such as `1.31.1`.
    pub fn version(&self) -> &str {
        &self.version
    }
}

/// Keeps ONNX Runtime from reporting to its vendor.
///
/// Since 1.30 its releases write a device identifier under the home folder and upload events, and this variable, read
/// when the library starts, is the only full way out (microsoft/onnxruntime#27379, #29843). Whoever wants the events sets
/// it to 0. To be called as early as can be, from the thread that starts everything.
pub fn disable_telemetry() {
    const VARIABLE: &str = "ORT_DISABLE_TELEMETRY";
    if std::env::var_os(VARIABLE).is_none() {
        // SAFETY: setting a variable races with C code that reads one on another thread at that moment. Node does the
        // same whenever a program assigns to `process.env`; this happens once, when the addon is loaded.
        unsafe { std::env::set_var(VARIABLE, "1") };
    }
}

/// Sends the runtime's log lines to `tracing`; nothing reaches stderr unless a subscriber puts it there.
fn logger() -> LoggerFunction {
    Arc::new(|level, category, _id, location, message| match level {
        LogLevel::Fatal | LogLevel::Error => tracing::error!(target: "onnxruntime", category, location, "{message}"),
        LogLevel::Warning => tracing::warn!(target: "onnxruntime", category, location, "{message}"),
        LogLevel::Info => tracing::info!(target: "onnxruntime", category, location, "{message}"),
        LogLevel::Verbose => tracing::trace!(target: "onnxruntime", category, location, "{message}"),
    })
}
