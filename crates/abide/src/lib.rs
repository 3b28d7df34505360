//! Durable execution: orchestrations as plain async functions that survive crashes, restarts and deploys.
//!
//! An *orchestration* says what happens in which order. It may wait for days. Each step is recorded; after a crash the
//! function runs again from the top, and what already happened is answered from the record. An *activity* is a step that
//! touches the world: it may do I/O, and it may run more than once.
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use abide::prelude::*;
//!
//! async fn greet(_: ActivityContext, name: String) -> Result<String, String> {
//!     Ok(format!("hello {name}"))
//! }
//!
//! async fn welcome(ctx: OrchestrationContext, name: String) -> Result<String, String> {
//!     let greeting = ctx.schedule_activity("Greet", name).await?;
//!     ctx.schedule_timer(Duration::from_millis(10)).await; // days, if it must: nothing runs meanwhile
//!     Ok(greeting + "!")
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // A file in production: `SqliteProvider::new("sqlite:./data/shop.db", None)`.
//!     let store = Arc::new(SqliteProvider::new_in_memory().await?);
//!     let runtime = Runtime::builder()
//!         .with_provider(store.clone())
//!         .with_activities(ActivityRegistry::builder().register("Greet", greet).build())
//!         .with_orchestrations(OrchestrationRegistry::builder().register("Welcome", welcome).build())
//!         .build()
//!         .await?;
//!
//!     let client = Client::new(store);
//!     client.start_orchestration("welcome-ada", "Welcome", "Ada").await?;
//!     let status = client.wait_for_orchestration("welcome-ada", Duration::from_secs(10)).await?;
//!
//!     assert!(matches!(status, OrchestrationStatus::Completed { output, .. } if output == "hello Ada!"));
//!     runtime.shutdown(None).await;
//!     Ok(())
//! }
//! ```
//!
//! # Where to go on
//!
//! - [`OrchestrationContext`]: everything an orchestration can ask for: activities, timers, events, children,
//!   versions, values, progress.
//! - [`ActivityContext`]: who asked for an activity, and how it hears that it should stop.
//! - [`Client`]: start, signal, wait for, look at and delete orchestrations, from any process that reaches the store.
//! - [`Runtime`](runtime::Runtime) and [`RuntimeOptions`]: what runs them.
//! - [`providers`]: stores, and what it takes to write one.
//!
//! # What an orchestration may not do
//!
//! It is run again against its record, so it must ask for the same things in the same order. Time, chance and I/O belong in
//! activities; [`utc_now`](OrchestrationContext::utc_now) and [`new_guid`](OrchestrationContext::new_guid) are there for the
//! first two. Code that breaks the rule fails with a message that names the event, what the record holds and what the code
//! asked for.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `sqlite` (default) | the embedded store `providers::sqlite`, and `Runtime::start` |
//! | `postgres` | the store for many nodes `providers::postgres` |
//! | `logging` (default) | `runtime::observability::init_logging` |
//! | `testing` | `testing`: virtual time, seeded chance, crashes, and a store that fails on demand |
//! | `provider-test` | `provider_validation`: shows whether a store keeps the contract; `provider_stress_tests`: how fast it is |
//! | `test-hooks` | `runtime::test_hooks`: slows turns down, for tests of leases |
//! | `test` | `provider-test` and `test-hooks` |
//!
//! Module paths and names are those of the `duroxide` crate, 0.1.32: `duroxide = { package = "abide", … }` in a manifest, and
//! its programs compile. What is added here is beside them.
//!
//! Deliberately absent: code, but for what puts a runtime into a simulated world (`testing`) and what opens a store by its address
//! ([`providers::open`]). Everything else is defined in the crates this one brings together.

use std::sync::Arc;

mod address;
pub mod client;
pub mod prelude;
pub mod providers;
pub mod runtime;
pub mod seams;
#[cfg(feature = "testing")]
pub mod testing;

#[cfg(doctest)]
mod guide;

#[cfg(feature = "provider-test")]
#[doc(inline)]
pub use abide_conformance as provider_validation;
#[cfg(feature = "provider-test")]
pub use abide_conformance::provider_validations;
#[cfg(feature = "provider-test")]
#[doc(inline)]
pub use abide_conformance::stress as provider_stress_test;
#[cfg(feature = "provider-test")]
#[doc(inline)]
pub use abide_conformance::stress as provider_stress_tests;

// What code is written in.
pub use abide_engine::{DurableFuture, Elapsed, OrchestrationContext};
pub use abide_model::{BackoffStrategy, Either2, Either3, LogLevel, RetryPolicy, ScheduleKind};
pub use abide_runtime::{ActivityContext, CancellationReason};

// What runs it, and who calls it.
pub use abide_client::{Client, ClientError};
pub use abide_engine::{OrchestrationHandler, OrchestrationHandlerRef};
pub use abide_model::{ExecutionStatus, OrchestrationDescriptor, OrchestrationStatus};
pub use abide_runtime::RuntimeOptions;
pub use abide_runtime::registry::{OrchestrationRegistry, OrchestrationRegistryBuilder};

// What happened.
#[doc(hidden)]
pub use abide_model::CompletionResult;
pub use abide_model::{
    Action, AppErrorKind, ConfigErrorKind, ErrorDetails, Event, EventKind, INITIAL_EVENT_ID,
    INITIAL_EXECUTION_ID, PoisonMessageType, SUB_ORCH_AUTO_PREFIX, build_child_instance_id,
    is_auto_generated_sub_orch_id,
};

// What a store is asked, and answers.
pub use abide_provider::{
    DeleteInstanceResult, DispatcherCapabilityFilter, ExecutionInfo, InstanceFilter, InstanceInfo,
    InstanceTree, ProviderAdmin, PruneOptions, PruneResult, QueueDepths, ScheduledActivityIdentifier,
    SemverRange, SessionFetchConfig, SystemMetrics, SystemStats, TagFilter, current_build_version,
};

/// A store that is shared.
pub type ProviderRef = Arc<dyn abide_provider::Provider>;
