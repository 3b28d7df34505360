//! Mail for an instance that does not exist: how long it waits for a start, what is dropped, and the warnings.

use std::time::Duration;

use abide_model::WorkItem;

use crate::reminders::Reminders;

/// How long a signal or a cancel waits for the start of its instance, from the time at which it is visible.
/// After that it is gone. Without a limit, a message to a mistyped id would stay for ever, and would reach
/// whatever is started under that id a year later.
pub const MAIL_WAITS_FOR_START: Duration = Duration::from_secs(3_600);

/// What a store did with a message that a client sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailOutcome {
    /// The message is in the queue of its instance, or is a repetition of one that was sent before.
    Kept,
    /// The instance does not exist. The message waits for its start, for [`MAIL_WAITS_FOR_START`].
    WaitsForStart,
    /// The instance does not exist, and the message is of a kind that does not wait for a start.
    Dropped,
}

/// The message that a warning is about: its instance and its kind, without its payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentMail {
    instance: String,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Signal,
    Cancel,
    Queue(String),
}

impl SentMail {
    /// Returns what warnings say about a message; `None` for the kinds that they leave out: what starts an
    /// instance, and answers and timers, which are dropped after every end that did not wait for them.
    #[must_use]
    pub fn of(item: &WorkItem) -> Option<Self> {
        let (instance, kind) = match item {
            WorkItem::ExternalRaised { instance, .. } => (instance, Kind::Signal),
            WorkItem::CancelInstance { instance, .. } => (instance, Kind::Cancel),
            WorkItem::QueueMessage { instance, name, .. } => (instance, Kind::Queue(name.clone())),
            WorkItem::StartOrchestration { .. }
            | WorkItem::ContinueAsNew { .. }
            | WorkItem::ActivityExecute { .. }
            | WorkItem::ActivityCompleted { .. }
            | WorkItem::ActivityFailed { .. }
            | WorkItem::TimerFired { .. }
            | WorkItem::SubOrchCompleted { .. }
            | WorkItem::SubOrchFailed { .. } => return None,
        };
        Some(Self { instance: instance.clone(), kind })
    }
}

/// Warns of messages that clients send to instances that do not exist: once per instance and minute, apart for
/// those that wait for a start and those that are dropped.
///
/// A store warns of what clients send. What a turn sends to an instance that does not exist waits like any
/// other mail, without a warning: it is the parent's cancel of a child that has been deleted.
#[derive(Debug, Default)]
pub struct WaitingMailWarnings {
    waiting: Reminders<String>,
    dropped: Reminders<String>,
}

impl WaitingMailWarnings {
    /// Warns operators if a message waits for a start or was dropped. `now` is the monotonic time.
    pub fn warn(&self, mail: Option<SentMail>, outcome: MailOutcome, now: Duration) {
        match (mail, outcome) {
            (Some(mail), MailOutcome::WaitsForStart) => self.warn_of_waiting(mail, now),
            (Some(SentMail { instance, kind: Kind::Queue(queue) }), MailOutcome::Dropped) => {
                self.warn_of_dropped(&instance, &queue, now);
            }
            _ => {}
        }
    }

    fn warn_of_waiting(&self, SentMail { instance, kind }: SentMail, now: Duration) {
        if self.waiting.is_due(instance.clone(), now) {
            let kind = if kind == Kind::Cancel { "cancel" } else { "signal" };
            tracing::warn!(target: "abide::store", instance_id = %instance, kind,
                wait = ?MAIL_WAITS_FOR_START,
                "a message was sent to an instance that does not exist; it is deleted if the instance is not \
                 started in time");
        }
    }

    fn warn_of_dropped(&self, instance: &str, queue: &str, now: Duration) {
        if self.dropped.is_due(instance.to_owned(), now) {
            tracing::warn!(target: "abide::store", instance_id = %instance, queue,
                "a queue message was sent to an instance that does not exist; it is dropped");
        }
    }
}
