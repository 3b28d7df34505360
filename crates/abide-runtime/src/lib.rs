//! Runs orchestrations and activities on a store.
//!
//! A [`Runtime`] leases what is ready in a store, runs it, and commits what came of it. [`Runtime::builder`] starts one; the
//! constructors of the reference are beside it. Code is found by name in [registries](registry).
//!
//! Read in this order: `runtime.rs` and `builder.rs` (what there is, and how it starts and stops), `dispatch.rs` (the one
//! loop that finds work) and `crew.rs` (the tasks that do it), `orchestrator/` (turns) and `worker/` (activities), `renewal.rs` (leases), `store_call.rs` (what
//! happens when the store fails).
//!
//! Faults of the store are not failures: what may succeed later is tried again, for as long as it takes. Only what a store
//! refuses for certain ends anything.
//!
//! Deliberately absent: the rules of replay (`abide-engine`), storage (`abide-provider` and its stores), and a global
//! subscriber or recorder: programs install those.

mod builder;
mod runtime;

mod core;
mod stop;
mod supervise;
mod suspects;

mod crew;
mod crowd;
mod dispatch;
mod executor;
mod orchestrator;
mod task_state;
mod unregistered;
mod unserved;
mod watchdog;
mod worker;

mod block_log;
mod chances;
mod give_back;
mod health;
mod housekeeping;
mod insist;
mod nodes;
mod pacing;
mod payload_size;
mod recurrence;
mod reminders;
mod renewal;
mod retention;
mod serving;
mod store_call;
mod store_time;
mod tally;

mod activity_context;
mod cancellation;
mod handler;
mod syscall;

mod build_id;
mod options;
mod problem_policy;
mod prune_policy;
mod settings;

mod clock;
mod tasks;

pub mod observability;
pub mod registry;
#[cfg(feature = "test-hooks")]
pub mod test_hooks;
#[cfg(not(feature = "test-hooks"))]
mod test_hooks;

pub use abide_engine::{FnOrchestration, OrchestrationHandler, OrchestrationHandlerRef};
pub use activity_context::ActivityContext;
pub use builder::{RuntimeBuilder, StartError};
pub use cancellation::CancellationReason;
pub use handler::{ActivityHandler, FnActivity};
pub use health::{Health, LongPoll, Stalled};
pub use options::{RetentionConfig, RuntimeOptions, UnregisteredBackoffConfig};
pub use problem_policy::ProblemPolicy;
pub use prune_policy::{AutoPruneConfig, AutoPrunePolicy, NeverPrunes, PruneTrigger};
pub use runtime::Runtime;
pub use settings::InvalidOptions;
