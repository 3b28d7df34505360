//! The words of abide: what a history, a queue and an error are made of.
//!
//! Every other crate speaks in these types. [`Event`] is what happened, [`WorkItem`] is what waits in
//! a queue, [`Action`] is what orchestration code asked for, [`ErrorDetails`] is how an end is told.
//! Start with [`EventKind`]: the list of its variants is the list of everything that can happen.
//!
//! `Event` and `WorkItem` are stored as JSON, and histories outlive every build that wrote them. Their
//! shape is frozen: fields may be added if they may also be missing, and nothing else may change.
//!
//! Deliberately absent: storage, replay, an async runtime, randomness and logging. Time, chance and
//! tasks appear only as the traits of the [seams](Clock) that a host implements; the one place that reads the
//! wall clock is behind two constructors of [`Event`] that compatibility demands.

// Reading order: what happened, what waits, what is asked, what goes wrong; then the small words.
mod event;
mod event_kind;
mod work_item;

mod action;
mod select;

mod error;
mod retry;
mod status;

mod child_id;
mod id;
mod kv;
mod log;
mod panic;
mod payload;
mod prune;
pub mod reason;
mod stats;
mod step_try;
mod time;
mod version;

mod seams;

pub mod codec;
pub mod decode_error;
pub mod limits;
pub mod names;
pub mod waiting;

pub use action::Action;
#[doc(hidden)]
pub use action::CompletionResult;
pub use action::ScheduleKind;
pub use child_id::{
    SUB_ORCH_AUTO_PREFIX, auto_child_suffix, build_child_instance_id, is_auto_generated_sub_orch_id,
    is_reserved_root_id, pending_child_suffix,
};
pub use codec::Codec;
pub use error::{AppErrorKind, ConfigErrorKind, ErrorDetails, PoisonMessageType};
pub use event::Event;
pub use event_kind::EventKind;
pub use id::{EventId, INITIAL_EVENT_ID, INITIAL_EXECUTION_ID, ScheduledActivityIdentifier};
pub use kv::KvEntry;
pub use log::LogLevel;
pub use panic::panic_text;
pub use payload::PayloadTooLarge;
pub use prune::{PruneOptions, PruneResult};
pub use retry::{BackoffStrategy, RetryPolicy};
pub use seams::{Clock, Entropy, Sleep, Spawn, Task};
pub use select::{Either2, Either3};
pub use stats::SystemStats;
pub use status::{ExecutionStatus, OrchestrationDescriptor, OrchestrationStatus, UnknownExecutionStatus};
pub use step_try::{Retry, StepTry};
pub use time::Timestamp;
pub use version::{BUILD_VERSION, SemverRange, current_build_version};
pub use waiting::{OpenOperation, Tries, WaitKind, Waiting};
pub use work_item::{WorkItem, kind_of};
