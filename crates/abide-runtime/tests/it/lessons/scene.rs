//! A store in which things can go wrong, a client, and nodes that work in one of four ways.
//!
//! [`every_way`] runs a test once for each [`Way`], in virtual time. Nodes that a test leaves running are shut down after it,
//! and then nothing of them may be left.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_client::Client;
use abide_engine::OrchestrationContext;
use abide_memory::Dump;
use abide_model::{
    BUILD_VERSION, Clock, Event, EventKind, INITIAL_EXECUTION_ID, OrchestrationStatus, WorkItem,
};
use abide_provider::{Abilities, Ability, Operation, Provider};
use abide_runtime::registry::{ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use abide_runtime::{ActivityContext, Runtime, RuntimeOptions};
use abide_sim::{FaultPlan, FaultStore, LocalTasks, RequiredOnly, VirtualClock, World, simulate};

/// Longer than any test waits.
pub(crate) const LONG: Duration = Duration::from_secs(24 * 60 * 60);

/// How nodes work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Instances stay in memory between their turns, and a result that nothing else is waited for beside is committed with its turn.
    Fused,
    /// Instances stay in memory between their turns, and every result is told by itself.
    Resident,
    /// Every turn replays its history.
    Cold,
    /// Every turn replays, and the store has the required methods only.
    Plain,
}

impl Way {
    pub(crate) const ALL: [Self; 4] = [Self::Fused, Self::Resident, Self::Cold, Self::Plain];

    /// The call that commits a turn.
    pub(crate) fn commit(self) -> Operation {
        match self {
            Self::Fused | Self::Resident | Self::Cold => Operation::CommitTurn,
            Self::Plain => Operation::AckOrchestrationItem,
        }
    }

    /// The call that leases instances.
    pub(crate) fn lease(self) -> Operation {
        match self {
            Self::Fused | Self::Resident | Self::Cold => Operation::LeaseInstances,
            Self::Plain => Operation::FetchOrchestrationItem,
        }
    }

    /// The call that leases activities.
    pub(crate) fn lease_work(self) -> Operation {
        match self {
            Self::Fused | Self::Resident | Self::Cold => Operation::LeaseWork,
            Self::Plain => Operation::FetchWorkItem,
        }
    }

    /// The call that tells the result of an activity by itself. Where steps are fused, those of which nothing else is under way are
    /// told by a commit.
    pub(crate) fn finish(self) -> Operation {
        match self {
            Self::Fused | Self::Resident | Self::Cold => Operation::FinishWork,
            Self::Plain => Operation::AckWorkItem,
        }
    }

    /// The call that tells the result of an activity for which the first turn of an instance waits, and its number if there was
    /// nothing before.
    pub(crate) fn first_result(self) -> (Operation, u64) {
        match self {
            Self::Fused => (self.commit(), 2),
            Self::Resident | Self::Cold | Self::Plain => (self.finish(), 1),
        }
    }
}

/// Runs a test in every way.
pub(crate) fn every_way<F: Future<Output = ()>>(test: impl Fn(Scene) -> F) {
    ways(&Way::ALL, test);
}

/// Runs a test in each of these ways.
pub(crate) fn ways<F: Future<Output = ()>>(ways: &[Way], test: impl Fn(Scene) -> F) {
    for way in ways {
        // Shown if the test fails.
        println!("{way:?}");
        simulate(LONG, async {
            let scene = Scene::new(*way);
            test(scene.clone()).await;
            scene.close().await;
        });
    }
}

/// A world, a store around its memory in which things can go wrong, and the nodes that were started.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) faults: Arc<FaultStore>,
    pub(crate) way: Way,
    nodes: Arc<Mutex<Vec<Arc<Runtime>>>>,
}

impl Scene {
    pub(crate) fn new(way: Way) -> Self {
        let world = World::new(7);
        let faults = world.faulty(FaultPlan::none());
        Self { world, faults, way, nodes: Arc::default() }
    }

    /// What nodes work on.
    pub(crate) fn store(&self) -> Arc<dyn Provider> {
        self.through(self.faults.clone())
    }

    /// The same store, through other faults.
    pub(crate) fn through(&self, faults: Arc<FaultStore>) -> Arc<dyn Provider> {
        match self.way {
            Way::Fused | Way::Cold => faults,
            Way::Resident => {
                let unfused = Abilities::ALL.without(Ability::FusedSteps);
                Arc::new(FaultStore::new(faults, self.world.clock.clone()).with_abilities(unfused))
            }
            Way::Plain => Arc::new(RequiredOnly::new(faults)),
        }
    }

    /// How much time has passed since the beginning.
    pub(crate) fn time(&self) -> Duration {
        self.world.clock.monotonic()
    }

    /// A client for which nothing goes wrong.
    pub(crate) fn client(&self) -> Client {
        let store: Arc<dyn Provider> = self.world.memory.clone();
        Client::builder(store).clock(self.world.clock.clone()).entropy(self.world.entropy.clone()).build()
    }

    /// Starts a node with this code.
    pub(crate) async fn node(&self, code: Code) -> Arc<Runtime> {
        self.node_on(self.store(), self.world.clock.clone(), code).await
    }

    /// Starts a node on another store, with another clock.
    pub(crate) async fn node_on(
        &self,
        store: Arc<dyn Provider>,
        clock: Arc<dyn Clock>,
        code: Code,
    ) -> Arc<Runtime> {
        let node = self.build(store, clock, self.world.tasks.clone(), code).await;
        self.nodes.lock().unwrap().push(node.clone());
        node
    }

    /// Starts a node that can be killed.
    pub(crate) async fn doomed_node(&self, code: Code) -> Arc<LocalTasks> {
        let tasks = Arc::new(LocalTasks::new());
        self.mortal_node(tasks.clone(), code).await;
        tasks
    }

    /// Starts a node whose tasks are these.
    pub(crate) async fn mortal_node(&self, tasks: Arc<LocalTasks>, code: Code) -> Arc<Runtime> {
        self.build(self.store(), self.world.clock.clone(), tasks, code).await
    }

    async fn build(
        &self,
        store: Arc<dyn Provider>,
        clock: Arc<dyn Clock>,
        tasks: Arc<LocalTasks>,
        mut code: Code,
    ) -> Arc<Runtime> {
        match self.way {
            Way::Fused | Way::Resident => {}
            Way::Cold | Way::Plain => code.options.instance_cache_bytes = 0,
        }
        let builder = Runtime::builder()
            .with_reference_policies()
            .with_provider(store)
            .with_activities(code.activities.build_result().unwrap())
            .with_orchestrations(code.orchestrations.build_result().unwrap())
            .with_options(code.options)
            .with_clock(clock)
            .with_entropy(self.world.entropy.clone())
            .with_spawn(tasks);
        builder.build().await.unwrap()
    }

    pub(crate) async fn start(&self, instance: &str, orchestration: &str, input: &str) {
        self.client().start_orchestration(instance, orchestration, input).await.unwrap();
    }

    /// How an instance ends: its output, or why it failed.
    pub(crate) async fn end_of(&self, instance: &str) -> Result<String, String> {
        match self.client().wait_for_orchestration(instance, LONG).await.unwrap() {
            OrchestrationStatus::Completed { output, .. } => Ok(output),
            OrchestrationStatus::Failed { details, .. } => Err(details.display_message()),
            status @ (OrchestrationStatus::NotFound | OrchestrationStatus::Running { .. }) => {
                panic!("{instance} has not ended: {status:?}")
            }
        }
    }

    pub(crate) async fn run(
        &self,
        instance: &str,
        orchestration: &str,
        input: &str,
    ) -> Result<String, String> {
        self.start(instance, orchestration, input).await;
        self.end_of(instance).await
    }

    /// The events of an execution.
    pub(crate) async fn events(&self, instance: &str, execution_id: u64) -> Vec<Event> {
        self.world.memory.read_with_execution(instance, execution_id).await.unwrap()
    }

    /// How often an execution has an event like this.
    pub(crate) async fn count(
        &self,
        instance: &str,
        execution_id: u64,
        like: fn(&EventKind) -> bool,
    ) -> usize {
        self.events(instance, execution_id).await.iter().filter(|event| like(&event.kind)).count()
    }

    /// Puts a message into a mailbox, as a provider would that delivers twice, late, or nonsense.
    pub(crate) async fn deliver(&self, item: WorkItem) {
        self.world.memory.enqueue_for_orchestrator(item, None).await.unwrap();
    }

    /// Writes the history of an instance `it` that runs `It`, as if somebody had run it: what comes after its start, each with
    /// the event it answers.
    pub(crate) async fn record(&self, kinds: Vec<(Option<u64>, EventKind)>) {
        let started = EventKind::OrchestrationStarted {
            name: "It".to_owned(),
            version: "1.0.0".to_owned(),
            input: String::new(),
            parent_instance: None,
            parent_id: None,
            parent_execution_id: None,
            carry_forward_events: None,
            initial_custom_status: None,
        };
        let all = std::iter::once((None, started)).chain(kinds);
        let events = (1..).zip(all).map(|(id, (answers, kind))| {
            let mut event = Event::with_event_id(id, "it", INITIAL_EXECUTION_ID, answers, kind);
            BUILD_VERSION.clone_into(&mut event.duroxide_version);
            event
        });
        self.world.memory.append_with_execution("it", INITIAL_EXECUTION_ID, events.collect()).await.unwrap();
    }

    /// Lets time pass.
    pub(crate) async fn pass(&self, time: Duration) {
        self.world.clock.sleep(time).await;
    }

    /// Waits until the store looks like this.
    pub(crate) async fn until(&self, is_there: impl Fn(&Dump) -> bool) {
        let mut looks = 0;
        while !is_there(&self.world.memory.dump()) {
            // Whoever waits long need not look often.
            self.pass(Duration::from_millis(if looks < 200 { 10 } else { 1_000 })).await;
            looks += 1;
        }
    }

    /// Waits until an instance waits for something.
    pub(crate) async fn until_idle(&self, instance: &str) {
        let idle = |dump: &Dump| {
            dump.instances.get(instance).is_some_and(|it| it.is_instance && it.leased_until.is_none())
                && dump.work.values().all(|work| work.instance != instance)
                && dump.messages.values().all(|mail| mail.mailbox != instance || mail.visible_at.is_some())
        };
        self.until(idle).await;
    }

    /// Shuts every node down; then nothing of them is left.
    pub(crate) async fn close(&self) {
        let nodes = std::mem::take(&mut *self.nodes.lock().unwrap());
        for node in nodes {
            node.shutdown(None).await;
        }
        assert_eq!(self.world.tasks.names(), [""; 0], "tasks are left");
        assert_eq!(self.world.tasks.panicked(), [""; 0]);
    }
}

impl fmt::Debug for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scene").field("way", &self.way).finish_non_exhaustive()
    }
}

/// Whether any lease is held on anything.
pub(crate) fn is_leased(dump: &Dump) -> bool {
    dump.instances.values().any(|instance| instance.leased_until.is_some())
        || dump.work.values().any(|work| work.leased_until.is_some())
}

/// What a node knows: `Echo` returns its input, `Fail` fails with it, `Sleep` takes that many milliseconds; `Hello` asks one
/// `Echo`, and `Wait` waits for the signal `go`.
pub(crate) struct Code {
    pub(crate) orchestrations: OrchestrationRegistryBuilder,
    pub(crate) activities: ActivityRegistryBuilder,
    pub(crate) options: RuntimeOptions,
}

impl Code {
    pub(crate) fn new() -> Self {
        Self::bare()
            .orchestration("Hello", |ctx, name| async move {
                ctx.schedule_activity("Echo", format!("hello {name}")).await
            })
            .orchestration("Wait", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) })
    }

    /// The activities only.
    pub(crate) fn bare() -> Self {
        let code = Self {
            orchestrations: OrchestrationRegistryBuilder::default(),
            activities: ActivityRegistryBuilder::default(),
            options: RuntimeOptions::default(),
        };
        code.activity("Echo", |_, input| async move { Ok(input) })
            .activity("Fail", |_, input| async move { Err(input) })
            .activity("Sleep", |_, millis| async move {
                VirtualClock::new().sleep(Duration::from_millis(millis.parse().unwrap())).await;
                Ok(millis)
            })
    }

    pub(crate) fn orchestration<F, Fut>(self, name: &str, f: F) -> Self
    where
        F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        Self { orchestrations: self.orchestrations.register(name, f), ..self }
    }

    pub(crate) fn version<F, Fut>(self, name: &str, version: &str, f: F) -> Self
    where
        F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        Self { orchestrations: self.orchestrations.register_versioned(name, version, f), ..self }
    }

    pub(crate) fn activity<F, Fut>(self, name: &str, f: F) -> Self
    where
        F: Fn(ActivityContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        Self { activities: self.activities.register(name, f), ..self }
    }

    pub(crate) fn options(mut self, choose: impl FnOnce(&mut RuntimeOptions)) -> Self {
        choose(&mut self.options);
        self
    }
}
