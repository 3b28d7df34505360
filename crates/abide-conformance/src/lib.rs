//! Shows that a store keeps the storage contract.
//!
//! For authors of providers. Implement [`ProviderFactory`], call [`run_all_validations`] from a test, and every
//! clause of `docs/guide/providers.md` is tried on your store: each clause names its function here. The
//! functions can also be called one by one.
//!
//! ```
//! use std::sync::Arc;
//!
//! use abide_conformance::{ProviderFactory, instance_creation};
//! use abide_provider::Provider;
//!
//! struct MyFactory;
//!
//! #[async_trait::async_trait]
//! impl ProviderFactory for MyFactory {
//!     async fn create_provider(&self) -> Arc<dyn Provider> {
//!         Arc::new(abide_memory::InMemoryProvider::new()) // yours, on an empty store
//!     }
//! }
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
//! # runtime.block_on(async {
//! // One of them; `run_all_validations(&MyFactory).await` tries all, and takes a while in real time.
//! instance_creation::test_instance_creation_via_metadata(&MyFactory).await;
//! # });
//! ```
//!
//! Modules are areas of the contract; a function asserts what its name says, and panics if it does not hold. They use
//! nothing but the provider's own methods and the factory's hooks.
//!
//! Deliberately absent: knowledge of any particular store.

#![expect(
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "a validation says what is wrong by panicking"
)]

mod factory;
mod suite;
mod support;

pub use abide_model::{Event, EventKind};
pub use abide_provider::ExecutionMetadata;
pub use factory::{Hook, Hooks, Polling, ProviderFactory};
pub use suite::{Need, Outcome, Report, Validation, report, run_all_validations, validations};

/// Declares the areas: a module each, with its functions in the suite.
macro_rules! areas {
    ($($(#[$doc:meta])* $area:ident;)*) => {
        $($(#[$doc])* pub mod $area;)*

        fn areas() -> Vec<Validation> {
            let mut all = Vec::new();
            $(all.extend($area::area());)*
            all
        }
    };
}

areas! {
    /// Instances come to be with their first turn, and not before.
    instance_creation;
    /// A commit happens as a whole or not at all.
    atomicity;
    /// What is wrong is refused, and changes nothing.
    error_handling;
    /// One instance has one turn at a time.
    instance_locking;
    /// Leases end by time, by ack or by abandon, and last longer by renewal.
    lock_expiration;
    /// Executions of one instance keep apart.
    multi_execution;
    /// Both queues: order, peek-lock, visibility, and mail for nobody.
    queue_semantics;
    /// Looking at instances, executions and queues.
    management;
    /// Activities that are taken back, and instances that are deleted under them.
    cancellation;
    /// Whether a fetch that finds nothing waits, and how long.
    long_polling;
    /// Attempts are counted, for each message and each activity.
    poison_message;
    /// Instances are deleted with everything they have, or not at all.
    deletion;
    /// Past executions are deleted; the current one never is.
    prune;
    /// Many finished instances are deleted by a filter.
    bulk_deletion;
    /// Instances are leased by those that can replay them.
    capability_filtering;
    /// Activities of a session run where the session is.
    sessions;
    /// What code says about its progress, with a version.
    custom_status;
    /// Activities with a tag go to workers that serve it.
    tag_filtering;
    /// Values of an instance: what finished executions left, and what the current one changed.
    kv_store;
    /// Several leases, commits and acks in one call.
    batches;
    /// Messages that a turn did not consume stay.
    unread_mail;
    /// Timers that nobody waits for are removed.
    timer_removal;
    /// Past executions are deleted by the commit that asks for it.
    prune_with_commit;
    /// A finished activity and the turn that takes its result, in one commit.
    fused_steps;
    /// Which try of its step an activity is.
    step_tries;
    /// Activities of an execution are taken back together, in parts.
    revoked_executions;
    /// A lease call that finds nothing waits in the store, and is served when there is something.
    parking;
    /// When something becomes leasable by the passing of time alone.
    due_times;
    /// Word of leases that were taken away.
    pushed_cancellations;
    /// A repeated request is done once.
    keyed_requests;
    /// An instance is started once, and whoever starts it is told whether it did.
    starts;
    /// How an instance stands, for those who look at it.
    status;
    /// Word of changes to an instance.
    changes;
    /// A deleted instance is not the next one of its name.
    incarnations;
    /// Rows that cannot be read harm nobody else.
    unreadable_rows;
    /// Starts of children that cannot be read: the parent that waits for the child is told.
    lost_starts;
    /// Mail for instances that do not exist harms nobody.
    orphan_mail;
    /// Mail that waits for a start does so for an hour, and then it is gone.
    waiting_mail;
    /// Instances page by page: filtered, in order, with what a person wants to see.
    listing;
    /// Finished children that nobody waits for are removed.
    orphans;
    /// Finished instances are removed after their time.
    retention;
    /// A node leases what it can run, and nothing else.
    serving;
    /// What cannot run waits, says why, and goes on when it is repaired.
    blocking;
    /// Nodes announce what they serve.
    nodes;
    /// One instance at a glance: what it waits for, without its history.
    overviews;
}

/// The same functions where programs written for the older layout look for them: most at the root, the rest in modules.
///
/// With the feature `runtime` also `race_replay`.
pub mod provider_validations {
    pub use crate::ProviderFactory;
    pub use crate::atomicity::*;
    pub use crate::cancellation::*;
    pub use crate::error_handling::*;
    pub use crate::instance_creation::*;
    pub use crate::instance_locking::*;
    pub use crate::lock_expiration::*;
    pub use crate::management::*;
    pub use crate::multi_execution::*;
    pub use crate::queue_semantics::*;
    pub use crate::{
        bulk_deletion, capability_filtering, custom_status, deletion, kv_store, long_polling, poison_message,
        prune, sessions, tag_filtering,
    };

    #[cfg(feature = "runtime")]
    pub use crate::race_replay;
}

#[cfg(feature = "runtime")]
pub mod race_replay;
#[cfg(feature = "runtime")]
pub mod stress;

/// What the guide shows compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/providers.md")]
struct Guide;
