//! Leasing instances: the right to run one turn.
//!
//! A lease is a row with a token and an end, judged by the store's clock. It fences: a commit with a token that
//! is not the row's any more writes nothing. It does not carry the history: a node that ran the instance before
//! still has it, and others read it under the lease.

use std::collections::BTreeMap;
use std::time::Duration;

use abide_model::{Event, ExecutionStatus, INITIAL_EXECUTION_ID, KvEntry, Timestamp, WorkItem};

use crate::{DispatcherCapabilityFilter, OrchestrationItem, Position, RefusedExecution, Serving, Suspicion};

/// A lease hands out at most this many messages. The rest stays queued.
pub const BATCH_MESSAGES: usize = 1_000;

/// A lease hands out no further message once this size is reached.
pub const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// A lease call, for instances or for work, grants no further lease once those before it brought this size together. It
/// grants one at least, and the rest stays queued.
pub const LEASE_BYTES: usize = 16 * 1024 * 1024;

/// Ask for instances that have mail.
#[derive(Debug, Clone)]
pub struct LeaseInstances {
    /// At most this many.
    pub limit: usize,
    /// How long each lease lasts.
    pub lease_for: Duration,
    /// How long to wait in the store if there is none; zero answers at once.
    pub wait: Duration,
    /// What the caller can replay; `None` takes everything.
    pub capabilities: Option<DispatcherCapabilityFilter>,
    /// What the caller can run; `None` takes everything that not all builds have refused.
    pub serving: Option<Serving>,
}

/// Under which terms whoever commits a turn would take the next one of the same instance at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextLease {
    /// How long the lease lasts.
    pub lease_for: Duration,
    /// What the caller can replay; `None` takes everything.
    pub capabilities: Option<DispatcherCapabilityFilter>,
    /// What the caller can run; `None` takes everything that not all builds have refused.
    pub serving: Option<Serving>,
}

/// The right to run one turn of one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceLease {
    /// The instance.
    pub instance: String,
    /// Proof of the lease.
    pub token: String,
    /// How often its messages have been leased, this time included: the most of any of them.
    pub attempt: u32,
    /// What time it is by the store's clock: not before the grant, and never later than that clock; `None` if the store does not
    /// say: then the caller's clock must do.
    pub store_time: Option<Timestamp>,
    /// By how much the store's clock may be ahead of `store_time` in the poll that hands the lease over: what the answer took on
    /// its way, and what was rounded off. Zero without a `store_time`. Recorded times are not later for it; timers are.
    pub store_time_slack: Duration,
    /// Where the instance stands. Its execution is zero if it has none yet.
    pub position: Position,
    /// How its current execution stands; `None` if it has none yet.
    pub status: Option<ExecutionStatus>,
    /// The registered name of its orchestration.
    pub orchestration_name: String,
    /// The version of its handler, `"unknown"` if the start left it to the registry.
    pub orchestration_version: String,
    /// Who waits for its result.
    pub parent: Option<ParentLink>,
    /// Its mail: what starts it first, then a cancel for which there would be no room, then the rest in the order of
    /// enqueueing, which is the order of their ids.
    pub messages: Vec<Message>,
    /// The builds that refused the execution, and what blocks it; `None` if no build has refused it.
    pub refused: Option<Box<RefusedExecution>>,
    /// What the store read already, if it cannot lease without reading. Such a store knows no incarnations, so its lease
    /// never vouches for a copy that somebody kept: replay what is here.
    pub preloaded: Option<Box<Preloaded>>,
}

impl InstanceLease {
    /// Whether the lease was granted as a suspect: its lowest message was under way in too many crashes.
    #[must_use]
    pub fn suspicion(&self) -> Suspicion {
        let lowest = self.messages.iter().min_by_key(|message| message.id);
        Suspicion::after(lowest.map_or(0, |message| message.attempt.saturating_sub(1)))
    }

    /// The same in the form of the required method: messages in the order of enqueueing, with history and snapshot.
    #[must_use]
    pub fn into_item(
        self,
        history: Result<Vec<Event>, String>,
        kv: BTreeMap<String, KvEntry>,
    ) -> (OrchestrationItem, String, u32) {
        let (history, history_error) = match history {
            Ok(history) => (history, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let mut messages = self.messages;
        messages.sort_by_key(|message| message.id);
        let item = OrchestrationItem {
            instance: self.instance,
            orchestration_name: self.orchestration_name,
            execution_id: self.position.execution_id.max(INITIAL_EXECUTION_ID),
            version: self.orchestration_version,
            history,
            messages: messages.into_iter().map(|message| message.item).collect(),
            history_error,
            kv_snapshot: kv.into_iter().collect(),
        };
        (item, self.token, self.attempt)
    }
}

/// Which message of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(pub u64);

/// One message of a leased instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its name in a commit.
    pub id: MessageId,
    /// How often it has been leased, this time included.
    pub attempt: u32,
    /// What it says.
    pub item: WorkItem,
}

/// Who waits for the result of an instance, kept apart from its history so that they can be told even if that
/// cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParentLink {
    /// The instance that waits.
    pub instance: String,
    /// Its execution that asked; unknown for children started by older versions.
    pub execution_id: Option<u64>,
    /// Its event that asked; unknown if only the instance was given.
    pub event_id: Option<u64>,
}

/// History and snapshot that came with a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preloaded {
    /// The history of the current execution, or why it cannot be read.
    pub history: Result<Vec<Event>, String>,
    /// What earlier executions left in the key-value store.
    pub kv: BTreeMap<String, KvEntry>,
}
