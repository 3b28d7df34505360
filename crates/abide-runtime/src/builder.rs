//! Starting a runtime.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use abide_client::Client;
use abide_host::SystemEntropy;
use abide_model::{Clock, Entropy, Spawn, panic_text};
use abide_provider::{Abilities, Ability, Provider};
use futures_util::FutureExt;
use futures_util::future::{join, join5};
use tokio::sync::Notify;
use tracing::{debug, info, warn};

use crate::block_log::{BlockLog, Blocked};
use crate::chances::Chances;
use crate::clock::TokioClock;
use crate::core::Core;
use crate::crowd::Crowd;
use crate::dispatch::dispatch;
use crate::executor::Executor;
use crate::health::Pulse;
use crate::observability::{InstrumentedProvider, ObservabilityHandle};
use crate::orchestrator::Orchestrator;
use crate::registry::{ActivityRegistry, OrchestrationRegistry};
use crate::reminders::Reminders;
use crate::renewal::{Renewals, renew_leases};
use crate::runtime::Runtime;
use crate::serving::NodeServing;
use crate::settings::Settings;
use crate::stop::Stop;
use crate::store_call::Caller;
use crate::supervise::supervise;
use crate::tasks::TokioTasks;
use crate::watchdog::keep_watch;
use crate::worker::{Worker, keep_sessions, listen, watch};
use crate::{InvalidOptions, ProblemPolicy, RuntimeOptions, housekeeping, nodes, retention, syscall};

/// Puts a runtime together.
///
/// ```
/// # use std::sync::Arc;
/// # use abide_runtime::{Runtime, registry::{ActivityRegistry, OrchestrationRegistry}};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Arc::new(abide_memory::InMemoryProvider::new());
/// let runtime = Runtime::builder()
///     .with_provider(store)
///     .with_activities(ActivityRegistry::builder().build())
///     .with_orchestrations(OrchestrationRegistry::builder().build())
///     .build()
///     .await?;
/// runtime.shutdown(None).await;
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
#[must_use = "nothing runs until `build` is awaited"]
pub struct RuntimeBuilder {
    provider: Option<Arc<dyn Provider>>,
    activities: ActivityRegistry,
    orchestrations: OrchestrationRegistry,
    options: RuntimeOptions,
    clock: Option<Arc<dyn Clock>>,
    entropy: Option<Arc<dyn Entropy>>,
    spawn: Option<Arc<dyn Spawn>>,
    default_policy: Option<ProblemPolicy>,
}

/// Why a runtime did not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// No store was given.
    #[error("a runtime needs a store: call `with_provider`")]
    NoProvider,
    /// The options make no sense.
    #[error(transparent)]
    InvalidOptions(#[from] InvalidOptions),
    /// There is no tokio runtime to run on.
    #[error(
        "a runtime starts inside of a tokio runtime: call it from an async function under `#[tokio::main]`"
    )]
    NoTokio,
    /// The tokio runtime has no timers.
    #[error(
        "a runtime needs the timers of tokio: call `enable_time` or `enable_all` on the builder of the tokio runtime"
    )]
    NoTimers,
    /// The metrics could not be set up.
    #[error("the metrics could not be set up: {message}")]
    Observability {
        /// Why.
        message: String,
    },
}

impl RuntimeBuilder {
    /// The store to run on.
    pub fn with_provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.provider = Some(provider);
        self
    }

    /// The activities it runs.
    pub fn with_activities(mut self, activities: ActivityRegistry) -> Self {
        self.activities = activities;
        self
    }

    /// The orchestrations it runs.
    pub fn with_orchestrations(mut self, orchestrations: OrchestrationRegistry) -> Self {
        self.orchestrations = orchestrations;
        self
    }

    /// How it runs them.
    pub fn with_options(mut self, options: RuntimeOptions) -> Self {
        self.options = options;
        self
    }

    /// What time it is, instead of the machine's clock.
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Where chance comes from, instead of the machine.
    pub fn with_entropy(mut self, entropy: Arc<dyn Entropy>) -> Self {
        self.entropy = Some(entropy);
        self
    }

    /// Who runs its tasks, instead of tokio.
    pub fn with_spawn(mut self, spawn: Arc<dyn Spawn>) -> Self {
        self.spawn = Some(spawn);
        self
    }

    /// Fails instances where the reference fails them, unless the options name another
    /// [policy](crate::ProblemPolicy): the defaults of the reference's constructors.
    pub fn with_reference_policies(mut self) -> Self {
        self.default_policy = Some(ProblemPolicy::Fail);
        self
    }

    /// Checks everything and starts.
    ///
    /// # Errors
    ///
    /// If something is missing or makes no sense. Nothing runs then.
    #[expect(clippy::unused_async, reason = "a store may have to be asked before the start")]
    pub async fn build(self) -> Result<Arc<Runtime>, StartError> {
        let provider = self.provider.ok_or(StartError::NoProvider)?;
        let default_policy = self.default_policy.unwrap_or(ProblemPolicy::Block);
        let settings = checked(self.options, default_policy, provider.abilities())?;
        let spawn = match self.spawn {
            Some(spawn) => spawn,
            None => Arc::new(TokioTasks::current().ok_or(StartError::NoTokio)?),
        };
        // Without one, the client of activities keeps a clock of its own: they may use it on threads without tokio.
        let of_client = self.clock.clone();
        let clock: Arc<dyn Clock> = if let Some(clock) = self.clock {
            clock
        } else {
            Arc::new(TokioClock::try_new().ok_or(StartError::NoTimers)?)
        };
        let entropy = self.entropy.unwrap_or_else(|| Arc::new(SystemEntropy));
        let observability = ObservabilityHandle::init(&settings.observability)
            .map_err(|message| StartError::Observability { message })?;
        let handlers = Handlers::of(&self.orchestrations, &self.activities);
        let metrics = Arc::clone(observability.metrics_provider());
        let measured =
            InstrumentedProvider::with_clock(provider, Some(Arc::clone(&metrics)), Arc::clone(&clock));
        let store: Arc<dyn Provider> = Arc::new(measured);
        let (stop, alive) = Stop::new();
        let caller = Caller {
            clock: Arc::clone(&clock),
            spawn: Arc::clone(&spawn),
            stop: stop.clone(),
            metrics: Arc::clone(&metrics),
        };
        let activities =
            syscall::with_system_calls(self.activities, Arc::clone(&clock), Arc::clone(&entropy));
        let id = format!("{:016x}{:016x}", entropy.next_u64(), entropy.next_u64());
        let serving =
            NodeServing::new(id.clone(), store.abilities(), &settings, &self.orchestrations, &activities);
        let core = Arc::new(Core {
            abilities: store.abilities(),
            activities,
            orchestrations: self.orchestrations,
            serving,
            blocks: BlockLog::default(),
            blocked: Blocked::default(),
            executor: Executor::new(Arc::clone(&clock), Arc::clone(&spawn)),
            renewals: Arc::new(Renewals::default()),
            pulse: Pulse::new(clock.monotonic()),
            crowd: Crowd::default(),
            chances: Chances::default(),
            reminders: Reminders::default(),
            id,
            renewed: Notify::new(),
            new_mail: Notify::new(),
            new_work: Notify::new(),
            work_done: AtomicU64::new(0),
            store,
            clock,
            entropy,
            spawn,
            settings,
            metrics,
            stop,
            caller,
        });
        introduce(&core, &handlers);
        start(&core, of_client);
        // From here on its tasks hold it.
        drop(alive);
        Ok(Runtime::new(core, observability))
    }
}

/// What is registered, for people.
struct Handlers {
    orchestrations: String,
    activities: String,
}

impl Handlers {
    fn of(orchestrations: &OrchestrationRegistry, activities: &ActivityRegistry) -> Self {
        let versioned = |name: &String| {
            let versions = orchestrations.list_versions(name);
            versions.iter().map(|version| format!("{name} {version}")).collect::<Vec<_>>().join(", ")
        };
        let orchestrations: Vec<String> = orchestrations.list_names().iter().map(versioned).collect();
        Self { orchestrations: orchestrations.join(", "), activities: activities.list_names().join(", ") }
    }
}

/// Says in one line what runs where.
fn introduce(core: &Core, handlers: &Handlers) {
    let Core { settings, store, .. } = core;
    let range = &settings.supported_replay_versions;
    let durability = store.durability().unwrap_or("not stated");
    info!(target: "abide::runtime", service_name = %settings.observability.service_name,
        service_version = settings.observability.service_version.as_deref(),
        node_id = settings.worker_node_id.as_deref().unwrap_or(&core.id), build = %settings.build_id,
        store = store.name(), durability,
        orchestrations = %handlers.orchestrations, activities = %handlers.activities,
        "abide runtime ({}) starting with provider {} ({})",
        abide_model::BUILD_VERSION, store.name(), store.version());
    debug!(target: "abide::runtime", supported_range = %format_args!("{}..={}", range.min, range.max),
        "Orchestration dispatcher capability filter configured");
}

/// Checks options for a store with these abilities, and says what is not as it was asked for.
fn checked(
    options: RuntimeOptions,
    default_policy: ProblemPolicy,
    abilities: Abilities,
) -> Result<Settings, StartError> {
    let mut settings = Settings::checked(options, default_policy)?;
    settings.problem_policies = settings.problem_policies.on(abilities);
    for warning in &settings.warnings {
        warn!(target: "abide::runtime", "{warning}");
    }
    Ok(settings)
}

/// Starts everything that runs for a runtime. What must be heard at once, whatever user code does, has threads of its own.
fn start(core: &Arc<Core>, clock_of_client: Option<Arc<dyn Clock>>) {
    let client = Client::builder(Arc::clone(&core.store))
        .entropy(Arc::clone(&core.entropy))
        .max_payload_bytes(core.settings.max_payload_bytes);
    let client = match clock_of_client {
        Some(clock) => client.clock(clock),
        None => client,
    };
    let orchestrator = Arc::new(Orchestrator::new(Arc::clone(core)));
    let worker = Arc::new(Worker::new(Arc::clone(core), Arc::clone(&orchestrator), client.build()));
    serve(core, &worker);

    let (of_turns, of_work) = (Arc::clone(core), Arc::clone(core));
    let turns = async move {
        if of_turns.settings.orchestration_concurrency > 0 {
            dispatch(of_turns, orchestrator).await;
        }
    };
    let work = async move {
        if of_work.settings.worker_concurrency > 0 {
            dispatch(of_work, worker).await;
        }
    };
    let lanes = join(turns, work).map(|((), ())| ());
    core.spawn.spawn_apart("abide-dispatch", core.stop.tracked(lanes.boxed()));
    let of_house = Arc::clone(core);
    let house =
        supervise(Arc::clone(core), "housekeeping", move || housekeeping::keep_house(Arc::clone(&of_house)));
    core.spawn("housekeeping", house.boxed());
    if core.abilities.has(Ability::Nodes) {
        let of_nodes = Arc::clone(core);
        let announce =
            supervise(Arc::clone(core), "announcement", move || nodes::keep_announced(Arc::clone(&of_nodes)));
        core.spawn("announcement", announce.boxed());
    }
    if core.settings.retention.is_some() {
        let of_retention = Arc::clone(core);
        let enforce =
            supervise(Arc::clone(core), "retention", move || retention::enforce(Arc::clone(&of_retention)));
        core.spawn("retention", enforce.boxed());
    }
}

/// Starts what serves the tasks: it ends with the last of them.
fn serve(core: &Arc<Core>, worker: &Arc<Worker>) {
    let (of_leases, of_sessions) = (Arc::clone(core), Arc::clone(worker));
    let (of_listener, of_watch) = (Arc::clone(worker), Arc::clone(worker));
    let leases = supervise(Arc::clone(core), "lease renewals", move || renew_leases(Arc::clone(&of_leases)));
    let sessions = supervise(Arc::clone(core), "sessions", move || keep_sessions(Arc::clone(&of_sessions)));
    // Before anything is leased, or what is taken away at once would not be heard of.
    let subscribed = std::panic::catch_unwind(AssertUnwindSafe(|| core.store.stolen_leases()));
    let mut stolen = subscribed.unwrap_or_else(|payload| {
        let _said = panic_text(payload);
        None
    });
    let hear = supervise(Arc::clone(core), "stolen leases", move || {
        let stolen = stolen.take().or_else(|| of_listener.stolen_leases());
        listen(Arc::clone(&of_listener), stolen)
    });
    let watch = supervise(Arc::clone(core), "running activities", move || watch(Arc::clone(&of_watch)));
    let of_dog = Arc::clone(core);
    let dog = supervise(Arc::clone(core), "watchdog", move || keep_watch(Arc::clone(&of_dog)));
    let serve = join5(leases, sessions, hear, watch, dog).map(|((), (), (), (), ())| ());
    let servants = &core.stop.servants;
    core.spawn.spawn_apart("abide-renewals", servants.track_future(serve).boxed());
    core.spawn.spawn("sentinel", servants.track_future(core.stop.sentinel()).boxed());
}

impl fmt::Debug for RuntimeBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuntimeBuilder")
            .field("provider", &self.provider.as_ref().map(|provider| provider.name().to_owned()))
            .field("activities", &self.activities)
            .field("orchestrations", &self.orchestrations)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
