//! Leasing and finishing work, sending messages, and hearing of what was taken away.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use abide_model::{ExecutionStatus, StepTry, Timestamp, WorkItem};
use futures_core::Stream;

use crate::{Serving, SessionFetchConfig, TagFilter};

/// One of the two queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Mail for instances.
    Instances,
    /// Activities for workers.
    Work,
}

/// Ask for activities to run.
#[derive(Debug, Clone)]
pub struct LeaseWork {
    /// At most this many.
    pub limit: usize,
    /// How long each lease lasts.
    pub lease_for: Duration,
    /// How long to wait in the store if there is none; zero answers at once.
    pub wait: Duration,
    /// Who asks, if activities of sessions are wanted too.
    pub session: Option<SessionFetchConfig>,
    /// Which tags are wanted.
    pub tags: TagFilter,
    /// What the caller can run; `None` takes every activity.
    pub serving: Option<Serving>,
}

/// Extend the locks of sessions.
#[derive(Debug, Clone)]
pub struct RenewSessions {
    /// The owner of the sessions.
    pub owner: String,
    /// How long each lock lasts from now on.
    pub extend_for: Duration,
    /// A session that was not used for this long is not renewed.
    pub idle_timeout: Duration,
    /// Which tags the owner wants.
    pub tags: TagFilter,
    /// What the owner can run; `None` if it can run every activity.
    pub serving: Option<Serving>,
}

/// One activity to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkLease {
    /// What to run.
    pub item: WorkItem,
    /// The registered name of the orchestration that asked; empty if the store does not know it.
    pub orchestration_name: String,
    /// The version of that orchestration; empty if the store does not know it.
    pub orchestration_version: String,
    /// Proof of the lease.
    pub token: String,
    /// How often it has been leased, this time included.
    pub attempt: u32,
    /// Which try of its step it is. A store that does not keep it says the first, scheduled by the item's own
    /// event.
    pub step: StepTry,
    /// What time it is by the store's clock: not before the grant, and never later than that clock; `None` if the store does not
    /// say: then the caller's clock must do.
    pub store_time: Option<Timestamp>,
    /// By how much the store's clock may be ahead of `store_time` in the poll that hands the lease over: what the answer took on
    /// its way, and what was rounded off. Zero without a `store_time`. Recorded times are not later for it; timers are.
    pub store_time_slack: Duration,
}

/// An activity that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedWork {
    /// The token of its lease.
    pub token: String,
    /// What to tell the instance; `None` removes the work without a word.
    pub completion: Option<WorkItem>,
}

/// A message to send, safely repeatable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enqueue {
    /// The message.
    pub item: WorkItem,
    /// How long it stays invisible.
    pub delay: Option<Duration>,
    /// The same for every repetition, and different for every message. Stores remember it for an hour.
    pub key: RequestKey,
}

/// What became of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Start {
    /// It was sent: the instance will run.
    Created,
    /// There is an instance of that name, running or ended, or the start of one is in the queue. Nothing was sent.
    Exists,
}

/// Identifies one request through all its repetitions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestKey(pub [u8; 16]);

impl fmt::Debug for RequestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestKey({:032x})", u128::from_be_bytes(self.0))
    }
}

/// One call of [`revoke_work`](crate::Provider::revoke_work) takes back at most this many activities.
pub const REVOKE_BATCH: u32 = 256;

/// Takes back queued activities of one execution, under the lease on its instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevokeWork {
    /// The token of the lease on the instance. The call does not end the lease.
    pub token: String,
    /// The execution whose activities are taken back.
    pub execution_id: u64,
    /// At most this many; a store takes back at most [`REVOKE_BATCH`] in one call.
    pub limit: u32,
    /// What the holders of leases on these activities are told.
    pub because: StolenBecause,
}

impl RevokeWork {
    /// How many activities this call may take back.
    #[must_use]
    pub const fn at_most(&self) -> u32 {
        if self.limit < REVOKE_BATCH { self.limit } else { REVOKE_BATCH }
    }
}

/// What one call of [`revoke_work`](crate::Provider::revoke_work) did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RevokedWork {
    /// How many activities were taken back.
    pub count: u32,
    /// Whether activities of the execution may be left, because as many as allowed were found: the call is to
    /// be repeated.
    pub more: bool,
}

/// A lease on an activity that was taken away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StolenLease {
    /// The token of the lease.
    pub token: String,
    /// Why.
    pub because: StolenBecause,
}

/// Why a lease on an activity was taken away.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StolenBecause {
    /// Its future was dropped.
    Dropped,
    /// Its execution ended.
    OrchestrationEnded {
        /// How.
        status: ExecutionStatus,
    },
    /// Its instance was deleted, or its execution was pruned.
    InstanceDeleted,
    /// Another process did it, and the store sees that the activity is not there any more, but not why: the history says so. If the
    /// lease ran out before, another holder may have finished it.
    Unknown,
}

/// Leases that were taken away, as they are.
pub type StolenLeases = Pin<Box<dyn Stream<Item = StolenLease> + Send>>;

/// Something may have changed, again and again.
pub type Changes = Pin<Box<dyn Stream<Item = ()> + Send>>;
