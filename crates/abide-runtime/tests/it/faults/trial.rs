//! One run of a program, and what is looked at afterwards.
//!
//! A [`Trial`] is a run from the start to the end of one runtime. Tests in which a runtime does not live that long put a run
//! together themselves, from a [`Setting`].

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use abide_client::Client;
use abide_model::Clock as _;
use abide_provider::{Abilities, Ability, Operation, Provider, TagFilter};
use abide_runtime::{Runtime, RuntimeOptions};
use abide_sim::{
    Call, Fault, FaultPlan, FaultStore, LocalTasks, RequiredOnly, SeededEntropy, VirtualClock, World,
    simulate,
};

use super::digest::{Digest, histories};
use super::programs::{Program, Stage, activities};

/// More than any run takes: one that takes longer hangs.
pub(super) const LIMIT: Duration = Duration::from_secs(24 * 3_600);

/// A shutdown takes a second of grace, and a little for what is given back.
const LONGEST_SHUTDOWN: Duration = Duration::from_secs(5);

pub(super) const LONGEST_LEASE: Duration = Duration::from_secs(30);

/// What the runtime sees of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// All of it.
    Everything,
    /// All of it, but no fused steps: every result is told by itself.
    Unfused,
    /// The required methods.
    RequiredOnly,
}

impl Sight {
    pub(super) const ALL: [Self; 3] = [Self::Everything, Self::Unfused, Self::RequiredOnly];
}

/// One run of one runtime.
pub(super) struct Trial {
    program: &'static Program,
    sight: Sight,
    /// What goes wrong for the runtime.
    plan: FaultPlan,
    /// What goes wrong for the client.
    client_plan: FaultPlan,
    /// How long the runtime has nothing to do before.
    idle: Duration,
    /// Whether instances are replayed in every turn.
    replays: Replays,
}

/// When the history of an instance is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replays {
    /// When the runtime does not have it.
    IfNeeded,
    /// In every turn: the runtime keeps nothing.
    Always,
}

/// What is known of a run.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) digest: Digest,
    /// Every history, without its times.
    pub(super) histories: String,
    /// The runtime's calls.
    pub(super) calls: Vec<(Operation, u64)>,
    /// The client's calls.
    pub(super) client_calls: Vec<(Operation, u64)>,
    /// What went wrong.
    pub(super) injected: Vec<(Call, Fault)>,
    /// How long it took.
    pub(super) took: Duration,
    /// How often each activity was begun.
    pub(super) runs: BTreeMap<String, u32>,
}

impl Trial {
    pub(super) fn new(program: &'static Program) -> Self {
        Self {
            program,
            sight: Sight::Everything,
            plan: FaultPlan::none(),
            client_plan: FaultPlan::none(),
            idle: Duration::ZERO,
            replays: Replays::IfNeeded,
        }
    }

    pub(super) fn seeing(self, sight: Sight) -> Self {
        Self { sight, ..self }
    }

    pub(super) fn with(self, plan: FaultPlan) -> Self {
        Self { plan, ..self }
    }

    pub(super) fn with_client(self, client_plan: FaultPlan) -> Self {
        Self { client_plan, ..self }
    }

    pub(super) fn after(self, idle: Duration) -> Self {
        Self { idle, ..self }
    }

    pub(super) fn replaying(self, replays: Replays) -> Self {
        Self { replays, ..self }
    }

    /// Runs the program to its end, shuts down, and checks what holds after every run.
    pub(super) fn run(self) -> Report {
        let Self { program, sight, plan, client_plan, idle, replays } = self;
        simulate(LIMIT, async move {
            let setting = Setting { replays, ..Setting::new(program, sight) };
            let (store, client_store) = (setting.world.faulty(plan), setting.world.faulty(client_plan));
            let runtime = setting.start(&store).await;
            setting.world.clock.sleep(idle).await;
            (program.script)(setting.client(&client_store)).await;
            let took = setting.world.clock.monotonic();
            setting.shut_down(runtime, None).await;
            if lost_a_lease(&store) {
                setting.world.clock.sleep(LONGEST_LEASE).await;
            }
            Report {
                digest: setting.digest(),
                histories: histories(&setting.world.memory.dump()),
                calls: store.calls(),
                client_calls: client_store.calls(),
                injected: [store.injected(), client_store.injected()].concat(),
                took,
                runs: setting.stage.runs(),
            }
        })
    }
}

/// Where a program runs.
pub(super) struct Setting {
    pub(super) world: World,
    pub(super) stage: Stage,
    /// Who runs the tasks of the next runtime.
    pub(super) tasks: Arc<LocalTasks>,
    /// What time it is for the runtime.
    pub(super) clock: Arc<VirtualClock>,
    program: &'static Program,
    sight: Sight,
    replays: Replays,
}

impl Setting {
    pub(super) fn new(program: &'static Program, sight: Sight) -> Self {
        let world = World::new(1);
        Self {
            stage: Stage::new(world.clock.clone()),
            tasks: world.tasks.clone(),
            clock: world.clock.clone(),
            world,
            program,
            sight,
            replays: Replays::IfNeeded,
        }
    }

    /// As much of the store as is seen.
    fn seen(&self, store: &Arc<FaultStore>) -> Arc<dyn Provider> {
        match self.sight {
            Sight::Everything => store.clone(),
            Sight::Unfused => {
                let unfused = Abilities::ALL.without(Ability::FusedSteps);
                Arc::new(FaultStore::new(store.clone(), self.world.clock.clone()).with_abilities(unfused))
            }
            Sight::RequiredOnly => Arc::new(RequiredOnly::new(store.clone())),
        }
    }

    /// A client that does not share the runtime's chance: what one draws changes nothing for the other.
    pub(super) fn client(&self, store: &Arc<FaultStore>) -> Client {
        let entropy = Arc::new(SeededEntropy::new(2));
        Client::builder(self.seen(store)).clock(self.world.clock.clone()).entropy(entropy).build()
    }

    pub(super) async fn start(&self, store: &Arc<FaultStore>) -> Arc<Runtime> {
        let tags = HashSet::from(["printer".to_owned()]);
        let defaults = RuntimeOptions::default();
        let options = RuntimeOptions {
            worker_tag_filter: TagFilter::DefaultAnd(tags),
            orchestration_concurrency: 16,
            worker_concurrency: 16,
            instance_cache_bytes: match self.replays {
                Replays::IfNeeded => defaults.instance_cache_bytes,
                Replays::Always => 0,
            },
            ..defaults
        };
        Runtime::builder()
            .with_reference_policies()
            .with_provider(self.seen(store))
            .with_activities(activities(&self.stage))
            .with_orchestrations(self.program.orchestrations())
            .with_options(options)
            .with_clock(self.clock.clone())
            .with_entropy(self.world.entropy.clone())
            .with_spawn(self.tasks.clone())
            .build()
            .await
            .expect("a runtime")
    }

    /// Shuts down, and checks that it takes no longer than it was given, and that nothing is left.
    pub(super) async fn shut_down(&self, runtime: Arc<Runtime>, grace: Option<Duration>) {
        let began = self.world.clock.monotonic();
        let millis = grace.map(|grace| u64::try_from(grace.as_millis()).expect("not that long"));
        runtime.shutdown(millis).await;
        let took = self.world.clock.monotonic().saturating_sub(began);
        assert!(took <= grace.unwrap_or_default() + LONGEST_SHUTDOWN, "the shutdown took {took:?}");
        // Those that have ended are told so a moment later.
        self.tasks.all_ended().await;
        assert_eq!(self.tasks.panicked(), Vec::<String>::new(), "no task panicked");
    }

    /// What came of the program. A runtime that is gone holds nothing, whatever went wrong.
    pub(super) fn digest(&self) -> Digest {
        let dump = self.world.memory.dump();
        let instances = dump.instances.iter().filter(|(_, instance)| instance.leased_until.is_some());
        let held: Vec<_> = instances.map(|(name, _)| name).collect();
        assert!(held.is_empty(), "instances are still leased: {held:?}");
        let held: Vec<_> = dump.work.values().filter(|work| work.leased_until.is_some()).collect();
        assert!(held.is_empty(), "activities are still leased: {held:#?}");
        Digest::of(&dump)
    }
}

/// Whether a lease was granted of which the runtime did not hear, or not in time: nobody can give it back, it runs out.
fn lost_a_lease(store: &FaultStore) -> bool {
    store.injected().iter().any(|(call, fault)| {
        is_lease(call.operation) && matches!(fault, Fault::Unknown | Fault::HangAfter | Fault::DelayAnswer(_))
    })
}

/// Whether a call asks for something to do.
pub(super) fn is_lease(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::LeaseInstances
            | Operation::LeaseWork
            | Operation::FetchOrchestrationItem
            | Operation::FetchWorkItem
    )
}
