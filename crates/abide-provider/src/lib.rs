//! What abide asks of a store.
//!
//! A store keeps histories, two queues and a few tables around them. [`Provider`] is the contract: nineteen
//! required methods, and provided ones that a fast store replaces (leases in batches, commits in groups, fused
//! steps, waiting instead of polling). A provider that implements only the required ones works, more slowly.
//!
//! Start with [`Provider`]. Then [`CommitRows`]: what a turn writes, computed once and purely, so that two
//! stores cannot disagree about what an event means. [`StoreError`] says what became of a call that failed.
//!
//! Deliberately absent: a store. `abide-memory` is the reference model, `abide-sqlite` the embedded default.

mod provider;
mod provider_defaults;

mod item;
mod lease;
mod turn;
mod work;

pub mod rows;
pub mod unreadable;

mod error;
mod filter;

mod ability;
mod block;
mod deadline;
mod listeners;
mod nearest;
mod node;
mod overview;
mod reminders;
mod serving;
mod unserved;
mod waiting_mail;

mod admin;
mod admin_defaults;
mod admin_refusal;
mod cleanup;
mod listing;
pub mod management;

pub use abide_model::limits::MAX_WORKER_TAGS;
pub use abide_model::{
    KvEntry, PruneOptions, PruneResult, ScheduledActivityIdentifier, SemverRange, SystemStats, WorkItem,
    current_build_version,
};
pub use ability::{Abilities, Ability};
pub use admin::ProviderAdmin;
pub use admin_refusal::AdminRefusal;
pub use block::{
    Block, BlockInstance, BlockKind, BlockSummary, BlockedCounts, BlockedInstance, HoldWork,
    MAX_BLOCK_DETAIL, RefusedExecution, UnknownBlockKind, cut_detail,
};
pub use cleanup::{DEFAULT_BULK, Force, InvalidOrphanStatus, OrphanFilter, Retention};
pub use deadline::{LARGEST_ANSWER, transfer_time};
pub use error::{ErrorKind, Operation, ProviderError, Rejection, StoreError};
pub use filter::{DispatcherCapabilityFilter, TagFilter};
pub use item::{ExecutionMetadata, OrchestrationItem, SessionFetchConfig};
pub use lease::{
    BATCH_BYTES, BATCH_MESSAGES, InstanceLease, LEASE_BYTES, LeaseInstances, Message, MessageId, NextLease,
    ParentLink, Preloaded,
};
pub use listeners::{ChangeListeners, NewListener};
pub use listing::{
    BlockFilter, DEFAULT_PAGE, InstanceOrder, InstancePage, InstanceQuery, InstanceSummary, InvalidQuery,
    LARGEST_PAGE, PageCursor, Parentage,
};
pub use management::{
    DeleteInstanceResult, ExecutionInfo, InstanceFilter, InstanceInfo, InstanceTree, ManagementProvider,
    QueueDepths, SystemMetrics,
};
pub use nearest::nearest_name;
pub use node::{Node, NodeAnnouncement, NodeOrchestration, PinRange, ServedTags};
pub use overview::{
    ChildOverview, InstanceOverview, LeaseOverview, OVERVIEW_COUNT, OVERVIEW_OUTPUT, OVERVIEW_ROWS,
    WorkOverview, cut_output,
};
pub use provider::Provider;
pub use reminders::Reminders;
pub use rows::{CommitRows, InvalidTurn};
pub use serving::{
    Handlers, InstanceRoute, REMEMBERED_REFUSALS, Refusals, SUSPECT_AFTER, ServedVersions, Serving, Suspicion,
};
pub use turn::{AppendConflict, Authority, Committed, Consumed, PRUNE_BATCH, Position, Turn, TurnCommit};
pub use unserved::{HandlerKind, Unserved, UnservedReason};
pub use waiting_mail::{MAIL_WAITS_FOR_START, MailOutcome, SentMail, WaitingMailWarnings};
pub use work::{
    Changes, Enqueue, FinishedWork, Lane, LeaseWork, REVOKE_BATCH, RenewSessions, RequestKey, RevokeWork,
    RevokedWork, Start, StolenBecause, StolenLease, StolenLeases, WorkLease,
};
