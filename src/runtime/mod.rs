//! ONNX Runtime: finding and loading its library, its one environment, sessions, runs and their cancellation.
//!
//! Sessions are built through the `ort` crate; runs go to the C API directly, since `ort` takes `&mut Session` for a
//! run and so would allow one run at a time.

mod api;
mod blame;
mod blank;
mod cancel;
mod denormals;
mod environment;
mod error;
pub mod library;
mod options;
mod placement;
mod profile;
mod session;
mod signature;
mod value;

pub use cancel::{CancelGuard, CancelToken};
pub use environment::{Runtime, disable_telemetry, follow_log_level, set_library};
pub use error::RuntimeError;
pub use options::{ExecutionMode, GraphOptimization, SessionFiles, SessionOptions};
pub use placement::Placement;
pub use profile::{OperatorTime, Profile};
pub use session::Session;
