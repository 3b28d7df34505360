//! Queue items as rows: what a store must know about them without reading them.

use std::time::Duration;

use abide_model::{Retry, ScheduledActivityIdentifier, StepTry, Timestamp, WorkItem, kind_of};

use crate::ParentLink;

/// One message to enqueue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    /// The instance it is for.
    pub to: String,
    /// When it can be seen; `None` is at once, whatever the clock says.
    pub visible_at: Option<Timestamp>,
    /// What a store must know about it.
    pub class: MessageClass,
    /// What it says.
    pub item: WorkItem,
}

/// What a store must know about a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageClass {
    /// It starts an instance.
    Start,
    /// It starts the next execution of an instance.
    ContinueAsNew,
    /// A queue message: dropped if there is no such instance and none is about to start.
    Queue,
    /// A timer of an execution, which may be removed before it fires: dropped like a queue message.
    Timer {
        /// The execution.
        execution_id: u64,
        /// The event that created it.
        event_id: u64,
    },
    /// It cancels an instance, which needs no code.
    Cancel,
    /// The result of an activity or the answer of a child: dropped like a queue message.
    Answer,
    /// Anything else: a signal, which waits for a start.
    Other,
}

impl MessageClass {
    /// Whether an instance that does not exist gets its first turn by it.
    #[must_use]
    pub const fn starts(self) -> bool {
        matches!(self, Self::Start | Self::ContinueAsNew)
    }

    /// Whether it is dropped if there is no such instance and none is about to start. Only an instance that
    /// exists can have asked for it; kept, it would reach another one that is started under the same name
    /// later.
    #[must_use]
    pub const fn needs_instance(self) -> bool {
        matches!(self, Self::Queue | Self::Timer { .. } | Self::Answer)
    }
}

/// One activity to enqueue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkRow {
    /// Who asked for it.
    pub activity: ScheduledActivityIdentifier,
    /// Its session, if any.
    pub session: Option<String>,
    /// Its tag, if any.
    pub tag: Option<String>,
    /// Which try of its step it is, if it is not the first.
    pub retry: Option<StepTry>,
    /// What to run.
    pub item: WorkItem,
}

/// Something that cannot be enqueued here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidItem {
    /// It is for workers.
    #[error("{kind} is not a message for an instance: enqueue it for workers")]
    NotAMessage {
        /// What it is.
        kind: &'static str,
    },
    /// It is for an instance.
    #[error("{kind} is not an activity: enqueue it for its instance")]
    NotWork {
        /// What it is.
        kind: &'static str,
    },
    /// It carries a number that no store can hold.
    #[error("the number {0} does not fit a column of 63 bits")]
    TooLarge(u64),
}

/// Something that starts an execution was to be sent to an instance that exists.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} is not a message for an instance that exists: enqueue it with enqueue_once or start_once")]
pub struct NotForExisting {
    /// What it is.
    pub kind: &'static str,
}

/// Something that does not end an activity was to end one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} does not complete an activity: only ActivityCompleted and ActivityFailed do")]
pub struct NotACompletion {
    /// What it is.
    pub kind: &'static str,
}

/// What a message says about the instance that it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Starter {
    /// The registered name of the orchestration.
    pub orchestration_name: String,
    /// The version of its handler, `"unknown"` if the registry is to decide.
    pub orchestration_version: String,
    /// Who waits for the result.
    pub parent: Option<ParentLink>,
}

impl Starter {
    /// Reads a message; `None` if it starts nothing.
    #[must_use]
    pub fn of(item: &WorkItem) -> Option<Self> {
        let (WorkItem::StartOrchestration {
            orchestration,
            version,
            parent_instance,
            parent_id,
            parent_execution_id,
            ..
        }
        | WorkItem::ContinueAsNew {
            orchestration,
            version,
            parent_instance,
            parent_id,
            parent_execution_id,
            ..
        }) = item
        else {
            return None;
        };
        let parent = parent_instance.clone().map(|instance| ParentLink {
            instance,
            execution_id: *parent_execution_id,
            event_id: *parent_id,
        });
        Some(Self {
            orchestration_name: orchestration.clone(),
            orchestration_version: version.clone().unwrap_or_else(|| "unknown".to_owned()),
            parent,
        })
    }
}

impl MessageRow {
    /// Whose child it starts, if it starts one: it goes with its parent if that is deleted.
    #[must_use]
    pub fn parent(&self) -> Option<&str> {
        if let WorkItem::StartOrchestration { parent_instance, .. } = &self.item {
            parent_instance.as_deref()
        } else {
            None
        }
    }

    /// Who waits for the child that it starts, if it starts one. Numbers that no store can hold are left out:
    /// they are those of no event.
    #[must_use]
    pub fn parent_link(&self) -> Option<ParentLink> {
        self.parent()?;
        let fitting = |number: Option<u64>| number.filter(|number| fits(*number).is_ok());
        let link = Starter::of(&self.item)?.parent?;
        Some(ParentLink {
            execution_id: fitting(link.execution_id),
            event_id: fitting(link.event_id),
            ..link
        })
    }

    /// A message that a turn or a client sends: timers show when they fire, everything else at once.
    ///
    /// # Errors
    ///
    /// If it is an activity, or a timer with a number that no store can hold.
    pub fn of(item: WorkItem) -> Result<Self, InvalidItem> {
        let Some(to) = item.addressee().map(ToOwned::to_owned) else {
            return Err(InvalidItem::NotAMessage { kind: kind_of(&item) });
        };
        let (class, visible_at) = classify(&item);
        if let MessageClass::Timer { execution_id, event_id } = class {
            fits(execution_id).and_then(|()| fits(event_id))?;
        }
        Ok(Self { to, visible_at, class, item })
    }

    /// A message that is only sent to an instance that exists or is about to start.
    ///
    /// # Errors
    ///
    /// If it starts an execution, or is an activity.
    pub fn of_existing(item: WorkItem) -> Result<Self, NotForExisting> {
        let kind = kind_of(&item);
        let row = Self::of(item).map_err(|_| NotForExisting { kind })?;
        if row.class.starts() { Err(NotForExisting { kind }) } else { Ok(row) }
    }

    /// The same message; if it is a timer, it shows that much later than it says.
    pub(super) fn with_timer_slack(mut self, slack: Duration) -> Self {
        if matches!(self.class, MessageClass::Timer { .. }) {
            self.visible_at = self.visible_at.map(|fires_at| fires_at.saturating_add(slack));
        }
        self
    }

    /// What a finished activity tells its instance.
    ///
    /// # Errors
    ///
    /// If it is not the end of an activity.
    pub fn of_completion(item: WorkItem) -> Result<Self, NotACompletion> {
        let kind = kind_of(&item);
        if !matches!(item, WorkItem::ActivityCompleted { .. } | WorkItem::ActivityFailed { .. }) {
            return Err(NotACompletion { kind });
        }
        Self::of(item).map_err(|_| NotACompletion { kind })
    }

    /// The same message, not to be seen before `time`.
    #[must_use]
    pub fn hidden_until(mut self, time: Timestamp) -> Self {
        self.visible_at = Some(self.visible_at.map_or(time, |visible_at| visible_at.max(time)));
        self
    }
}

fn classify(item: &WorkItem) -> (MessageClass, Option<Timestamp>) {
    match item {
        WorkItem::StartOrchestration { .. } => (MessageClass::Start, None),
        WorkItem::ContinueAsNew { .. } => (MessageClass::ContinueAsNew, None),
        WorkItem::QueueMessage { .. } => (MessageClass::Queue, None),
        WorkItem::TimerFired { execution_id, id, fire_at_ms, .. } => {
            let class = MessageClass::Timer { execution_id: *execution_id, event_id: *id };
            (class, Some(Timestamp::from_millis(*fire_at_ms)))
        }
        WorkItem::ActivityCompleted { .. }
        | WorkItem::ActivityFailed { .. }
        | WorkItem::SubOrchCompleted { .. }
        | WorkItem::SubOrchFailed { .. } => (MessageClass::Answer, None),
        WorkItem::ActivityExecute { .. } | WorkItem::ExternalRaised { .. } => (MessageClass::Other, None),
        WorkItem::CancelInstance { .. } => (MessageClass::Cancel, None),
    }
}

impl WorkRow {
    /// An activity that a turn schedules.
    ///
    /// # Errors
    ///
    /// If it is a message, or has a number that no store can hold.
    pub fn of(item: WorkItem) -> Result<Self, InvalidItem> {
        let WorkItem::ActivityExecute { instance, execution_id, id, session_id, tag, .. } = &item else {
            return Err(InvalidItem::NotWork { kind: kind_of(&item) });
        };
        fits(*execution_id).and_then(|()| fits(*id))?;
        let activity = ScheduledActivityIdentifier {
            instance: instance.clone(),
            execution_id: *execution_id,
            activity_id: *id,
        };
        Ok(Self { activity, session: session_id.clone(), tag: tag.clone(), retry: None, item })
    }

    /// The same activity, with the try that the turn says it is. Those of a turn are in the order of their
    /// events.
    pub(super) fn with_retry(mut self, retries: &[Retry]) -> Self {
        let place = retries.binary_search_by_key(&self.activity.activity_id, |retry| retry.event_id).ok();
        self.retry = place.and_then(|place| retries.get(place)).map(|retry| retry.step);
        self
    }
}

fn fits(number: u64) -> Result<(), InvalidItem> {
    if i64::try_from(number).is_ok() { Ok(()) } else { Err(InvalidItem::TooLarge(number)) }
}
