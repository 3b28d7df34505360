//! What a turn has to say to people: the code's own log lines, and what the engine noticed.
//!
//! Both are data. The engine has no logger: whoever commits the turn prints them, so that a line is
//! printed by exactly one turn, however often that turn is replayed. Inputs, results and messages never appear
//! in notices.

use std::fmt;

/// How loud a [`LogLine`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineLevel {
    /// Something is broken.
    Error,
    /// A person should look.
    Warn,
    /// Normal progress.
    Info,
    /// Detail for developers.
    Debug,
    /// The finest detail.
    Trace,
    /// A level the code made up: printed at trace level with the name as a field.
    Custom(String),
}

impl LineLevel {
    /// Reads a level as `ctx.trace(level, …)` takes it: the usual names, in any case.
    #[must_use]
    pub fn parse(level: &str) -> Self {
        const NAMED: [(&str, LineLevel); 6] = [
            ("error", LineLevel::Error),
            ("warn", LineLevel::Warn),
            ("warning", LineLevel::Warn),
            ("info", LineLevel::Info),
            ("debug", LineLevel::Debug),
            ("trace", LineLevel::Trace),
        ];
        NAMED
            .into_iter()
            .find(|(name, _)| level.eq_ignore_ascii_case(name))
            .map_or_else(|| Self::Custom(level.to_owned()), |(_, known)| known)
    }
}

/// One line that the code wrote through `ctx.trace*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// How loud.
    pub level: LineLevel,
    /// What it says.
    pub message: String,
}

/// Something the engine noticed in a turn and handled; nothing is wrong with the turn itself.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// A message for another execution of this instance was dropped.
    StaleMessage {
        /// The kind of message.
        kind: &'static str,
        /// The execution it was meant for.
        execution_id: u64,
    },
    /// A completion that had been recorded before came again and was dropped.
    DuplicateMessage {
        /// The kind of message.
        kind: &'static str,
        /// The event that asked for it.
        source_event_id: u64,
    },
    /// A timer fired although its future had been dropped.
    DroppedTimerFired {
        /// The event that created it.
        source_event_id: u64,
    },
    /// A start for an instance that exists already was ignored.
    DuplicateStart {
        /// The kind of message.
        kind: &'static str,
    },
    /// A child start met an instance that exists already; the parent that asked is told.
    ChildIdTaken {
        /// The parent that asked.
        parent_instance: String,
    },
    /// A message that does not belong into this queue was dropped.
    Misrouted {
        /// The kind of message.
        kind: &'static str,
    },
    /// A message came after the execution had ended and was dropped.
    MessageAfterEnd {
        /// The kind of message.
        kind: &'static str,
    },
    /// A signal was recorded, but nobody waited for it.
    SignalWithoutWait {
        /// The signal's name.
        name: String,
    },
    /// The version that started this execution cannot be read; it is replayed with the reference's
    /// leniencies.
    InvalidPinnedVersion {
        /// What the first event says.
        stamp: String,
    },
    /// The code waits, but nothing durable is open: only a cancel ends this execution. Told by the turn after
    /// which this is so for the first time.
    WaitsForNothing,
    /// The code panicked in a `Drop` after its outcome was fixed; the outcome stands.
    PanicAfterEnd {
        /// The panic's message.
        message: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StaleMessage { kind, execution_id } => {
                write!(f, "{kind} dropped: it was meant for execution {execution_id}")
            }
            Self::DuplicateMessage { kind, source_event_id } => {
                write!(f, "{kind} dropped: event {source_event_id} had its answer before")
            }
            Self::DroppedTimerFired { source_event_id } => {
                write!(f, "timer {source_event_id} fired, but nobody waits for it any more")
            }
            Self::DuplicateStart { kind } => write!(f, "{kind} ignored: the instance exists already"),
            Self::ChildIdTaken { parent_instance } => {
                write!(f, "the instance exists already: its would-be parent '{parent_instance}' is told")
            }
            Self::Misrouted { kind } => write!(f, "{kind} dropped: it does not belong into this queue"),
            Self::MessageAfterEnd { kind } => write!(f, "{kind} dropped: the execution has ended"),
            Self::SignalWithoutWait { name } => {
                write!(f, "signal '{name}' recorded, but nobody waits for it")
            }
            Self::InvalidPinnedVersion { stamp } => write!(
                f,
                "Invalid pinned version '{stamp}': replaying with the leniencies for executions before 0.2.0"
            ),
            Self::WaitsForNothing => f.write_str(
                "the orchestration waits for nothing: no durable operation is open, so only a cancel ends it. \
                 It awaits something that is not durable (a channel, a spawned task, a future that is never \
                 ready), or only futures whose result it has taken. Await a timer, an activity, a child, an \
                 event or a queue of the context, or cancel the instance",
            ),
            Self::PanicAfterEnd { message } => {
                write!(f, "the code panicked after its outcome was fixed, which stands: {message}")
            }
        }
    }
}
