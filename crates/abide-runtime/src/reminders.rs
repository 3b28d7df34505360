//! Telling people of something once a minute, in bounded memory.

use abide_provider::HandlerKind;

/// What may be told of again and again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Topic {
    /// A lease of this instance could not be renewed.
    Renewal { instance: String },
    /// The sessions of this node could not be renewed.
    SessionRenewal,
    /// No execution waits for messages of this name.
    Unwaited { name: String },
    /// An orchestration is not registered here.
    UnregisteredOrchestration { name: String, version: String },
    /// An activity is not registered here.
    UnregisteredActivity { name: String },
    /// No live node serves an orchestration of this name and version, or an activity of this name and tag.
    Unserved { kind: HandlerKind, name: String, detail: Option<String> },
}

/// What was told of in the last minute, and when.
pub(crate) type Reminders = abide_provider::Reminders<Topic>;
