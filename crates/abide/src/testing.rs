//! Tests of orchestrations: virtual time, seeded chance, crashes, and a store that fails on demand.
//!
//! Start with [`simulate`], which runs a program in virtual time, and [`World`], which has one of everything a program gets
//! from its machine. [`WorldExt`] puts runtimes and clients into a world.
//!
//! ```
//! use std::time::Duration;
//!
//! use abide::prelude::*;
//! use abide::testing::{World, WorldExt as _, simulate};
//!
//! async fn remind(ctx: OrchestrationContext, what: String) -> Result<String, String> {
//!     ctx.schedule_timer(Duration::from_secs(30 * 24 * 60 * 60)).await;
//!     Ok(format!("do not forget: {what}"))
//! }
//!
//! simulate(Duration::MAX, async {
//!     let world = World::new(42);
//!     let remind = OrchestrationRegistry::builder().register("Remind", remind).build();
//!     let runtime = world.runtime().with_orchestrations(remind).build().await.unwrap();
//!
//!     let client = world.client();
//!     client.start_orchestration("rent", "Remind", "the rent").await.unwrap();
//!     let done = client.wait_for_orchestration("rent", Duration::MAX).await.unwrap();
//!
//!     assert!(matches!(done, OrchestrationStatus::Completed { .. })); // thirty days later, at once
//!     runtime.shutdown(None).await;
//! });
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use abide_engine::{Execution, Identity, Notice};
use abide_model::ConfigErrorKind;

#[doc(inline)]
pub use abide_sim::*;

use crate::runtime::observability::ObservabilityConfig;
use crate::runtime::registry::ActivityRegistry;
use crate::runtime::{Runtime, RuntimeBuilder};
use crate::{
    Client, ErrorDetails, Event, EventKind, OrchestrationContext, OrchestrationRegistry, OrchestrationStatus,
    RuntimeOptions,
};

/// Longer than anybody waits.
const AGE: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// What lives in a [`World`].
pub trait WorldExt {
    /// A runtime to be built: on the store of this world, in its time, with its chance and its tasks, and
    /// [`quiet_options`]. Without orchestrations and activities yet; another store, such as one that [fails](World::faulty),
    /// may take the place of the world's.
    fn runtime(&self) -> RuntimeBuilder;

    /// A client of this world's store, in its time. A wait for an orchestration that is blocked ends with an error that
    /// says why: nobody is going to repair it.
    fn client(&self) -> Client;

    /// Ends everything that runs in this world, as a crash of the process would, and gives the world after it: the same
    /// store, time and chance, in which nothing runs.
    fn crash(&self) -> impl Future<Output = World> + Send;
}

impl WorldExt for World {
    fn runtime(&self) -> RuntimeBuilder {
        Runtime::builder()
            .with_provider(self.memory.clone())
            .with_clock(self.clock.clone())
            .with_entropy(self.entropy.clone())
            .with_spawn(self.tasks.clone())
            .with_options(quiet_options())
    }

    fn client(&self) -> Client {
        Client::builder(self.memory.clone())
            .clock(self.clock.clone())
            .entropy(self.entropy.clone())
            .safety_net(AGE)
            .end_waits_at_blocks()
            .build()
    }

    async fn crash(&self) -> World {
        self.tasks.kill();
        self.tasks.all_ended().await;
        World { tasks: Arc::new(LocalTasks::new()), ..self.clone() }
    }
}

/// Options with which nothing happens from time to time, so that a year in which nothing happens takes no time: whatever
/// would be looked at as a safety net, or to be counted, is looked at after ten years. A call for work that hangs in the store
/// is given up after that time, too.
#[must_use]
pub fn quiet_options() -> RuntimeOptions {
    RuntimeOptions {
        dispatcher_long_poll_timeout: AGE,
        session_cleanup_interval: AGE,
        observability: ObservabilityConfig { gauge_poll_interval: AGE, ..ObservabilityConfig::default() },
        ..RuntimeOptions::default()
    }
}

/// Runs one orchestration to its end, in virtual time, and replays it from the top at every turn.
///
/// Code that is not deterministic may run for weeks in a process that is never restarted. Here it fails, with what it would
/// fail with then. Nothing stays in memory between two turns, so a sleep or channel of somebody else's wakes nobody; that is
/// found where instances are resident, as they are without this function.
///
/// ```
/// use abide::prelude::*;
/// use abide::testing::replay_every_turn;
///
/// async fn greet(ctx: OrchestrationContext, name: String) -> Result<String, String> {
///     let greeting = ctx.schedule_activity("Greet", name).await?;
///     ctx.schedule_activity("Greet", greeting).await
/// }
///
/// let activities = ActivityRegistry::builder()
///     .register("Greet", |_, name| async move { Ok(format!("hello {name}")) })
///     .build();
/// assert_eq!(replay_every_turn(greet, "Ada", activities).unwrap(), "hello hello Ada");
/// ```
///
/// # Errors
///
/// What the orchestration failed with; or that it [waits for nothing](Execution::waits_for_nothing), which
/// outside of tests would be so until it is canceled.
///
/// # Panics
///
/// If it is not done after ten years, because it waits for something that nobody sends.
pub fn replay_every_turn<F, Fut>(
    orchestration: F,
    input: impl Into<String>,
    activities: ActivityRegistry,
) -> Result<String, ErrorDetails>
where
    F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, String>> + Send + 'static,
{
    const NAME: &str = "orchestration";

    let input = input.into();
    simulate(Duration::MAX, async move {
        let world = World::new(0);
        let options = RuntimeOptions { instance_cache_bytes: 0, ..quiet_options() };
        let orchestrations = OrchestrationRegistry::builder().register(NAME, orchestration).build();
        let runtime = world
            .runtime()
            .with_activities(activities)
            .with_orchestrations(orchestrations.clone())
            .with_options(options)
            .with_reference_policies()
            .build()
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        let client = world.client();
        let started = client.start_orchestration(NAME, NAME, input).await;
        started.unwrap_or_else(|error| panic!("{error}"));
        let ended = client.wait_for_orchestration(NAME, AGE).await;
        runtime.shutdown(None).await;
        if ended.is_err() {
            let executions = client.list_executions(NAME).await.unwrap_or_else(|error| panic!("{error}"));
            let last = executions.last().copied().unwrap_or(1);
            let history = client.read_execution_history(NAME, last).await;
            let history = history.unwrap_or_else(|error| panic!("{error}"));
            if replayed(&orchestrations, history).waits_for_nothing() {
                return Err(waits_for_nothing());
            }
        }
        match ended {
            Ok(OrchestrationStatus::Completed { output, .. }) => Ok(output),
            Ok(OrchestrationStatus::Failed { details, .. }) => Err(details),
            Ok(status @ (OrchestrationStatus::NotFound | OrchestrationStatus::Running { .. })) => {
                panic!("a wait ended with {status:?}")
            }
            Err(error) => panic!("the orchestration has not ended after ten years: {error}"),
        }
    })
}

/// Replays a recorded history against the code that is registered under its name and version: whether what is about to be
/// deployed can go on with what is running.
///
/// Histories come from [`Client::read_execution_history`]; they are serializable, and may be kept as files. Values that
/// *earlier* executions of the instance kept are not in a history: code that reads them finds none.
///
/// # Errors
///
/// Why the code does not fit.
///
/// # Panics
///
/// If the history does not begin with its start, or its code is not registered.
pub fn replay_history(
    orchestrations: &OrchestrationRegistry,
    history: Vec<Event>,
) -> Result<(), ErrorDetails> {
    replayed(orchestrations, history).mismatch().map_or(Ok(()), |mismatch| Err(mismatch.clone()))
}

fn waits_for_nothing() -> ErrorDetails {
    ErrorDetails::Configuration {
        kind: ConfigErrorKind::Nondeterminism,
        resource: String::new(),
        message: Some(Notice::WaitsForNothing.to_string()),
    }
}

/// Replays a history with the code that is registered for it.
fn replayed(orchestrations: &OrchestrationRegistry, history: Vec<Event>) -> Execution {
    let Some((first, EventKind::OrchestrationStarted { name, version, .. })) =
        history.first().map(|first| (first, &first.kind))
    else {
        panic!("a history begins with OrchestrationStarted");
    };
    let registered =
        orchestrations.list_versions(name).into_iter().find(|known| known.to_string() == *version);
    let code = registered.and_then(|version| orchestrations.resolve_handler_exact(name, &version));
    let code = code.unwrap_or_else(|| panic!("{name} {version} is not registered"));
    let who = Identity {
        instance: first.instance_id.clone(),
        execution_id: first.execution_id,
        orchestration: name.clone(),
        version: version.clone(),
    };
    let mut execution = Execution::new(who, BTreeMap::new(), code);
    execution.replay(history).unwrap_or_else(|error| panic!("{error}"));
    execution
}
