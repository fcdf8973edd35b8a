//! Where log lines go. All rooms write through `tracing`; nothing is shown until a sink is set.

use std::{
    fmt::{self, Write},
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
};

use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

/// One line.
pub struct Record {
    pub level: Level,
    /// `onnxruntime` for the runtime's own, else the module that wrote it.
    pub target: String,
    pub message: String,
}

type Sink = Box<dyn Fn(Record) + Send + Sync>;

/// The one subscriber that `tracing` allows in a process hands every line to whichever sink is set.
static SINK: RwLock<Option<(Level, Sink)>> = RwLock::new(None);
static INSTALLED: AtomicBool = AtomicBool::new(false);

/// Sends lines of this level and above to `sink`; `None` ends it. False where the program has a `tracing` subscriber of
/// its own, which then gets the lines.
pub fn set_sink(level: Level, sink: Option<Sink>) -> bool {
    *SINK.write().unwrap_or_else(PoisonError::into_inner) = sink.map(|sink| (level, sink));
    let installed = INSTALLED.load(Ordering::Acquire) || tracing::subscriber::set_global_default(Lines).is_ok();
    INSTALLED.store(installed, Ordering::Release);
    tracing::callsite::rebuild_interest_cache();
    installed
}

/// The level that is listened to.
pub fn level() -> Option<Level> {
    SINK.read().unwrap_or_else(PoisonError::into_inner).as_ref().map(|(level, _)| *level)
}

struct Lines;

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        level().is_some_and(|level| *metadata.level() <= level)
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text::default();
        event.record(&mut text);
        let metadata = event.metadata();
        let record = Record {
            level: *metadata.level(),
            target: metadata.target().to_owned(),
            message: text.0.trim_end().to_owned(),
        };
        if let Some((_, sink)) = &*SINK.read().unwrap_or_else(PoisonError::into_inner) {
            sink(record);
        }
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// The message and the other fields as `key=value`.
#[derive(Default)]
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string can't fail.
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?} "),
            name => write!(self.0, "{name}={value:?} "),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[test]
    fn lines_reach_the_sink_by_level_until_it_is_taken_away() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let sink = seen.clone();
        assert!(set_sink(
            Level::WARN,
            Some(Box::new(move |record| sink.lock().expect("no panic").push((record.level, record.message))))
        ));
        tracing::warn!(target: "onnxruntime", code = 5, "first");
        tracing::info!(target: "onnxruntime", "second");
        set_sink(Level::WARN, None);
        tracing::warn!(target: "onnxruntime", "third");
        let seen = seen.lock().expect("no panic");
        assert!(seen.contains(&(Level::WARN, "first code=5".into())), "{seen:?}");
        assert!(!seen.iter().any(|(_, message)| message == "second" || message == "third"));
    }
}
