//! A running runtime: what can be asked of it, and how it stops.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use abide_model::{EventKind, OrchestrationDescriptor};
use abide_provider::{Operation, Provider};
use futures_util::future::select;

use crate::RuntimeOptions;
use crate::builder::{RuntimeBuilder, StartError};
use crate::core::Core;
use crate::health::Health;
use crate::observability::{MetricsSnapshot, ObservabilityHandle};
use crate::registry::{ActivityRegistry, OrchestrationRegistry};
use crate::store_call::{Called, PATIENCE};
use crate::watchdog;

/// How long a shutdown waits for what is under way, if it is not told.
const DEFAULT_GRACE: Duration = Duration::from_secs(1);

/// Runs orchestrations and activities until it is [shut down](Self::shutdown).
///
/// Dropping it stops nothing.
pub struct Runtime {
    core: Arc<Core>,
    observability: ObservabilityHandle,
}

impl Runtime {
    pub(crate) fn new(core: Arc<Core>, observability: ObservabilityHandle) -> Arc<Self> {
        Arc::new(Self { core, observability })
    }

    /// Puts a runtime together piece by piece; errors are returned.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::default()
    }

    /// Starts on an embedded store in memory, which is gone when the runtime is.
    ///
    /// # Panics
    ///
    /// If the store cannot be made, or outside of a tokio runtime.
    #[cfg(feature = "sqlite")]
    pub async fn start(activities: ActivityRegistry, orchestrations: OrchestrationRegistry) -> Arc<Self> {
        let store = match abide_sqlite::SqliteProvider::new_in_memory().await {
            Ok(store) => store,
            Err(error) => panic!("the store in memory could not be made: {error}"),
        };
        Self::start_with_store(Arc::new(store), activities, orchestrations).await
    }

    /// Starts on a store, with default options.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub async fn start_with_store(
        history_store: Arc<dyn Provider>,
        activity_registry: ActivityRegistry,
        orchestration_registry: OrchestrationRegistry,
    ) -> Arc<Self> {
        let options = RuntimeOptions::default();
        Self::start_with_options(history_store, activity_registry, orchestration_registry, options).await
    }

    /// Starts on a store.
    ///
    /// # Panics
    ///
    /// If the options make no sense, or outside of a tokio runtime. [`Runtime::builder`] returns errors instead.
    pub async fn start_with_options(
        history_store: Arc<dyn Provider>,
        activity_registry: ActivityRegistry,
        orchestration_registry: OrchestrationRegistry,
        options: RuntimeOptions,
    ) -> Arc<Self> {
        let started = Self::builder()
            .with_provider(history_store)
            .with_activities(activity_registry)
            .with_orchestrations(orchestration_registry)
            .with_options(options)
            .with_reference_policies()
            .build()
            .await;
        or_panic(started)
    }

    /// Stops: fetches nothing more, finishes what was fetched, and hands back what is not finished after `timeout_ms`
    /// (`None`: a second; 0: at once). Returns when nothing of this runtime is left, and at the latest 5 seconds after that time.
    ///
    /// Code that blocks its thread cannot be stopped. It is not waited for longer than that: a WARN names it, its lease
    /// is handed back, and what it returns later is discarded. Several calls may wait at once; the shortest patience counts. A call
    /// that is dropped has still begun the shutdown.
    pub async fn shutdown(self: Arc<Self>, timeout_ms: Option<u64>) {
        let (clock, stop) = (&self.core.clock, self.core.stop.clone());
        let grace = timeout_ms.map_or(DEFAULT_GRACE, Duration::from_millis);
        stop.ending.cancel();
        stop.tasks.close();
        stop.servants.close();
        if grace.is_zero() {
            stop.giving_up.cancel();
        }
        // The watchdog counts the time: whoever waits for the shutdown may have no timers, and the executor no free thread.
        stop.deadline.set(clock.monotonic().saturating_add(grace));
        let all = async {
            stop.tasks.wait().await;
            stop.servants.wait().await;
            // What served the tasks may have made calls until the end.
            stop.tasks.wait().await;
        };
        let _either = select(Box::pin(all), Box::pin(stop.left_behind.cancelled())).await;
    }

    /// How it does: whether there is progress, not whether there is a process.
    #[must_use]
    pub fn health(&self) -> Health {
        let now = self.core.clock.monotonic();
        let (blocked, oldest) = self.core.blocked.summary();
        let mut health = self.core.pulse.health(now, self.core.renewals.lag(now));
        health.executor_silent_for = watchdog::executor_silent_for(&self.core, now);
        health.longest_poll = watchdog::longest_poll(&self.core, now);
        health.blocked = blocked;
        health.oldest_blocked = oldest.map(|blocked| blocked.instance);
        health
    }

    /// What was counted so far.
    #[must_use]
    pub fn metrics_snapshot(&self) -> Option<MetricsSnapshot> {
        Some(self.observability.metrics_snapshot())
    }

    /// The metrics of this runtime.
    #[must_use]
    pub fn observability_handle(&self) -> Option<&ObservabilityHandle> {
        Some(&self.observability)
    }

    /// What an instance runs, and for whom; `None` if it is unknown or cannot be read.
    pub async fn get_orchestration_descriptor(&self, instance: &str) -> Option<OrchestrationDescriptor> {
        let (store, id) = (Arc::clone(&self.core.store), instance.to_owned());
        let call = async move { store.read(&id).await };
        let Called::Answered(Ok(history)) = self.core.caller.call(Operation::Read, PATIENCE, call).await
        else {
            return None;
        };
        history.into_iter().rev().find_map(|event| {
            if let EventKind::OrchestrationStarted { name, version, parent_instance, parent_id, .. } =
                event.kind
            {
                Some(OrchestrationDescriptor { name, version, parent_instance, parent_id })
            } else {
                None
            }
        })
    }
}

/// The reference's constructors cannot return an error.
fn or_panic(started: Result<Arc<Runtime>, StartError>) -> Arc<Runtime> {
    match started {
        Ok(runtime) => runtime,
        Err(error) => panic!("{error}"),
    }
}

impl fmt::Debug for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runtime")
            .field("id", &self.core.id)
            .field("store", &self.core.store.name())
            .field("health", &self.health())
            .finish_non_exhaustive()
    }
}
