//! Counts that can be read back, without a recorder.

use std::sync::atomic::{AtomicU64, Ordering};

/// Defines each count once: in what is counted, and in what is read.
macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What has been counted since the start.
        #[derive(Debug, Default, Clone, PartialEq, Eq)]
        pub struct MetricsSnapshot {
            $($(#[$doc])* pub $name: u64,)*
        }

        /// The counts as they go.
        #[derive(Debug, Default)]
        pub(super) struct Counts {
            $(pub(super) $name: Count,)*
        }

        impl Counts {
            pub(super) fn snapshot(&self) -> MetricsSnapshot {
                MetricsSnapshot { $($name: self.$name.get(),)* }
            }
        }
    };
}

counts! {
    /// Executions that were started.
    orch_starts,
    /// Executions that ended with an output.
    orch_completions,
    /// Executions that failed.
    orch_failures,
    /// Of those: because their code said so.
    orch_application_errors,
    /// Of those: because of the store.
    orch_infrastructure_errors,
    /// Of those: because code and history do not fit.
    orch_configuration_errors,
    /// Executions given up after too many attempts.
    orch_poison,
    /// Activities that gave a result.
    activity_success,
    /// Activities that gave an error, or panicked.
    activity_app_errors,
    /// Runs of activities whose outcome could not be recorded.
    activity_infra_errors,
    /// Activities that had no handler.
    activity_config_errors,
    /// Activities given up after too many attempts.
    activity_poison,
    /// Turns that were leased.
    orch_dispatcher_items_fetched,
    /// Activities that were leased.
    worker_dispatcher_items_fetched,
    /// Executions that continued as new.
    orch_continue_as_new,
    /// Children that answered.
    suborchestration_calls,
    /// Calls of the store that failed.
    provider_errors,
}

/// A count that many threads add to.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    pub(super) fn one(&self) {
        self.add(1);
    }

    /// Takes one back that was counted before.
    pub(super) fn less(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
