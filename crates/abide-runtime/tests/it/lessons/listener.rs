//! A subscriber that writes down everything that is said, fields and spans included.

use std::fmt::{Debug, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::NoSubscriber;
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

/// What was said. Clones hear the same.
#[derive(Debug, Clone)]
pub(crate) struct Listener {
    heard: Arc<Mutex<Vec<String>>>,
    spans: Arc<AtomicU64>,
    /// Nothing less urgent than this is heard.
    least: Level,
}

/// While there is only one subscriber, a line that is met for the first time by a thread that does not listen is never heard of
/// again, by nobody. So there is always another one.
static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::new()));

impl Default for Listener {
    fn default() -> Self {
        LazyLock::force(&ANOTHER);
        Self { heard: Arc::default(), spans: Arc::default(), least: Level::TRACE }
    }
}

impl Listener {
    /// One that hears warnings and errors only.
    pub(crate) fn of_warnings() -> Self {
        Self { least: Level::WARN, ..Self::default() }
    }

    /// How many lines have this in them.
    pub(crate) fn count(&self, text: &str) -> usize {
        self.lines().iter().filter(|line| line.contains(text)).count()
    }

    /// Every line: its target, and what it says.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }

    pub(crate) fn forget(&self) {
        self.heard.lock().unwrap().clear();
    }

    fn note(&self, metadata: &Metadata<'_>, fields: impl FnOnce(&mut Line)) {
        let mut line = Line(format!("{}:", metadata.target()));
        fields(&mut line);
        self.heard.lock().unwrap().push(line.0);
    }
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {}={value:?}", field.name()).unwrap();
    }
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.least
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.note(span.metadata(), |line| span.record(line));
        Id::from_u64(self.spans.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        let mut line = Line("a span:".to_owned());
        values.record(&mut line);
        self.heard.lock().unwrap().push(line.0);
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.note(event.metadata(), |line| event.record(line));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
