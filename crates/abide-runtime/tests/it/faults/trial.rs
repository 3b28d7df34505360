//! One run of a program, and what is looked at afterwards.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use abide_client::Client;
use abide_memory::Dump;
use abide_model::{Clock as _, Spawn};
use abide_provider::{Operation, Provider, TagFilter};
use abide_runtime::{Runtime, RuntimeOptions};
use abide_sim::{Call, Fault, FaultPlan, FaultStore, RequiredOnly, VirtualClock, World, simulate};

use super::digest::Digest;
use super::programs::{Program, Stage, activities};

/// More than any run takes: one that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(24 * 3_600);

/// A shutdown takes a second of grace, and a little for what is given back.
const LONGEST_SHUTDOWN: Duration = Duration::from_secs(5);

const LONGEST_LEASE: Duration = Duration::from_secs(30);

/// What the runtime sees of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// All of it.
    Everything,
    /// The required methods.
    RequiredOnly,
}

/// One run.
pub(super) struct Trial {
    pub(super) program: &'static Program,
    pub(super) sight: Sight,
    /// What goes wrong for the runtime.
    pub(super) plan: FaultPlan,
    /// What goes wrong for the client.
    pub(super) client_plan: FaultPlan,
    /// How long the runtime has nothing to do before.
    pub(super) idle: Duration,
}

/// What is known of a run.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) digest: Digest,
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
    pub(super) dump: Dump,
}

impl Trial {
    pub(super) fn new(program: &'static Program) -> Self {
        Self {
            program,
            sight: Sight::Everything,
            plan: FaultPlan::none(),
            client_plan: FaultPlan::none(),
            idle: Duration::ZERO,
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

    /// Runs the program to its end, shuts down, and checks what holds after every run.
    pub(super) fn run(self) -> Report {
        simulate(LIMIT, async {
            let world = World::new(1);
            let stage = Stage::new(world.clock.clone());
            let store = world.faulty(self.plan);
            let client_store = world.faulty(self.client_plan);
            let runtime = start(&world, self.program, &stage, seen(store.clone(), self.sight)).await;
            world.clock.sleep(self.idle).await;
            (self.program.script)(client(&world, seen(client_store.clone(), self.sight))).await;
            let took = world.clock.monotonic();
            shut_down(&world, runtime).await;
            if lost_a_lease(&store) {
                world.clock.sleep(LONGEST_LEASE).await;
            }
            let dump = world.memory.dump();
            check_nothing_held(&dump);
            Report {
                digest: Digest::of(&dump),
                calls: store.calls(),
                client_calls: client_store.calls(),
                injected: [store.injected(), client_store.injected()].concat(),
                took,
                runs: stage.runs(),
                dump,
            }
        })
    }
}

/// The store, as much as is seen of it.
pub(super) fn seen(store: Arc<FaultStore>, sight: Sight) -> Arc<dyn Provider> {
    match sight {
        Sight::Everything => store,
        Sight::RequiredOnly => Arc::new(RequiredOnly::new(store)),
    }
}

/// A client that does not share the runtime's chance: what one draws changes nothing for the other.
pub(super) fn client(world: &World, store: Arc<dyn Provider>) -> Client {
    let entropy = Arc::new(abide_sim::SeededEntropy::new(2));
    Client::builder(store).clock(world.clock.clone()).entropy(entropy).build()
}

pub(super) async fn start(
    world: &World,
    program: &Program,
    stage: &Stage,
    store: Arc<dyn Provider>,
) -> Arc<Runtime> {
    start_with(world, program, stage, store, (world.tasks.clone(), world.clock.clone())).await
}

/// The same, with tasks and a clock of its own.
pub(super) async fn start_with(
    world: &World,
    program: &Program,
    stage: &Stage,
    store: Arc<dyn Provider>,
    (tasks, clock): (Arc<dyn Spawn>, Arc<VirtualClock>),
) -> Arc<Runtime> {
    let tags = HashSet::from(["printer".to_owned()]);
    let options = RuntimeOptions {
        worker_tag_filter: TagFilter::DefaultAnd(tags),
        orchestration_concurrency: 16,
        worker_concurrency: 16,
        ..RuntimeOptions::default()
    };
    Runtime::builder()
        .with_provider(store)
        .with_activities(activities(stage))
        .with_orchestrations(program.orchestrations())
        .with_options(options)
        .with_clock(clock)
        .with_entropy(world.entropy.clone())
        .with_spawn(tasks)
        .build()
        .await
        .expect("a runtime")
}

/// Shuts down, and checks that nothing is left of the runtime.
pub(super) async fn shut_down(world: &World, runtime: Arc<Runtime>) {
    let began = world.clock.monotonic();
    runtime.shutdown(None).await;
    let took = world.clock.monotonic().saturating_sub(began);
    assert!(took <= LONGEST_SHUTDOWN, "the shutdown took {took:?}");
    // Those that have ended are told so a moment later.
    world.tasks.all_ended().await;
    assert_eq!(world.tasks.panicked(), Vec::<String>::new(), "no task panicked");
}

/// Whether a lease was granted of which the runtime did not hear, or not in time: nobody can give it back, it runs out.
fn lost_a_lease(store: &FaultStore) -> bool {
    store.injected().iter().any(|(call, fault)| {
        let leases = matches!(
            call.operation,
            Operation::LeaseInstances
                | Operation::LeaseWork
                | Operation::FetchOrchestrationItem
                | Operation::FetchWorkItem
        );
        leases && matches!(fault, Fault::Unknown | Fault::HangAfter | Fault::DelayAnswer(_))
    })
}

/// Whatever went wrong, a runtime that is gone holds nothing.
pub(super) fn check_nothing_held(dump: &Dump) {
    let held: Vec<_> =
        dump.instances.iter().filter(|(_, instance)| instance.leased_until.is_some()).collect();
    assert!(held.is_empty(), "instances are still leased: {held:#?}");
    let held: Vec<_> = dump.work.values().filter(|work| work.leased_until.is_some()).collect();
    assert!(held.is_empty(), "activities are still leased: {held:#?}");
}
