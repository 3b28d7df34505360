//! Leases whose tasks nobody polls, in virtual time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide_client::Client;
use abide_engine::OrchestrationContext;
use abide_model::Clock as _;
use abide_provider::Operation;
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide_runtime::{ActivityContext, Runtime, RuntimeOptions, Stalled};
use abide_sim::{Call, Fault, FaultPlan, FaultStore, Gate, World, simulate};

use super::support::Stallable;
use crate::support::output;

const LONG: Duration = Duration::from_secs(3_600);
const SECOND: Duration = Duration::from_secs(1);
const MANY: u64 = 8;

/// A world with a node whose executor can be stopped, and what its activities wait for.
struct Scene {
    world: World,
    store: Arc<FaultStore>,
    client: Client,
    runs: Arc<AtomicU64>,
}

impl Scene {
    fn new() -> Self {
        let world = World::new(11);
        let store = world.faulty(FaultPlan::none());
        let client = Client::builder(store.clone()).clock(world.clock.clone()).build();
        Self { world, store, client, runs: Arc::default() }
    }

    fn stallable(&self) -> Stallable {
        Stallable::new(self.world.tasks.clone())
    }

    async fn node(&self, spawn: &Stallable, gate: &Gate) -> Arc<Runtime> {
        let (gate, runs) = (gate.clone(), self.runs.clone());
        let activities = ActivityRegistry::builder().register("Work", move |_: ActivityContext, input| {
            let (gate, runs) = (gate.clone(), runs.clone());
            async move {
                runs.fetch_add(1, Ordering::Relaxed);
                gate.pass().await;
                Ok(input)
            }
        });
        let orchestrations = OrchestrationRegistry::builder()
            .register("Work", |ctx: OrchestrationContext, input: String| async move {
                ctx.schedule_activity("Work", input).await
            })
            .register("Echo", |_: OrchestrationContext, input: String| async move { Ok(input) });
        Runtime::builder()
            .with_provider(self.store.clone())
            .with_activities(activities.build())
            .with_orchestrations(orchestrations.build())
            .with_options(RuntimeOptions::default())
            .with_clock(self.world.clock.clone())
            .with_entropy(self.world.entropy.clone())
            .with_spawn(Arc::new(spawn.clone()))
            .build()
            .await
            .unwrap()
    }

    async fn start(&self, orchestration: &str) {
        for number in 0..MANY {
            let id = format!("{orchestration}-{number}");
            self.client.start_orchestration(id, orchestration, number.to_string()).await.unwrap();
        }
    }

    async fn all_end(&self, orchestration: &str) {
        for number in 0..MANY {
            let id = format!("{orchestration}-{number}");
            let ended = self.client.wait_for_orchestration(&id, LONG).await.unwrap();
            assert_eq!(output(ended), number.to_string());
        }
    }

    async fn pass(&self, time: Duration) {
        let clock = &self.world.clock;
        clock.sleep_until(clock.monotonic() + time).await;
    }

    fn attempts(&self) -> Vec<u32> {
        self.world.memory.dump().work.values().map(|work| work.attempts).collect()
    }
}

fn open() -> Gate {
    let gate = Gate::closed();
    gate.open();
    gate
}

#[test]
fn turns_that_nobody_polls_go_back_within_a_third_of_their_lease_and_another_node_runs_them() {
    simulate(LONG, async {
        let scene = Scene::new();
        let (stuck, free) = (scene.stallable(), scene.stallable());
        let blocked = scene.node(&stuck, &open()).await;
        scene.pass(SECOND).await;
        stuck.block();
        scene.start("Echo").await;
        scene.pass(SECOND).await;
        assert_eq!(scene.store.count(Operation::AbandonOrchestrationItem), 0, "a quarter of 5 s is 1.25 s");
        let healthy = scene.node(&free, &open()).await;
        let before = scene.world.clock.monotonic();
        scene.all_end("Echo").await;
        assert!(scene.world.clock.monotonic() - before <= SECOND, "{:?}", scene.store.calls());
        assert_eq!(scene.store.count(Operation::AbandonOrchestrationItem), MANY);
        stuck.unblock();
        healthy.shutdown(None).await;
        blocked.shutdown(None).await;
    });
}

#[test]
fn activities_that_nobody_polls_go_back_uncounted_and_their_tasks_do_nothing_when_they_are_polled_at_last() {
    simulate(LONG, async {
        let scene = Scene::new();
        let (stuck, gate) = (scene.stallable(), Gate::closed());
        // Another node runs the turns.
        let turns = scene.node(&scene.stallable(), &gate).await;
        scene.start("Work").await;
        scene.pass(SECOND).await;
        let ran = scene.runs.load(Ordering::Relaxed);
        assert_eq!(ran, MANY);
        turns.shutdown(Some(0)).await;
        let blocked = scene.node(&stuck, &gate).await;
        stuck.block();
        scene.pass(7 * SECOND).await;
        assert_eq!(scene.attempts(), [1; 8], "leased");
        scene.pass(2 * SECOND).await;
        assert_eq!(scene.attempts(), [0; 8], "given back, and not counted");
        assert_eq!(
            blocked.health().stalled(SECOND).map(|stalled| matches!(stalled, Stalled::ExecutorSilent { .. })),
            Some(true)
        );
        gate.open();
        let healthy = scene.node(&scene.stallable(), &gate).await;
        scene.all_end("Work").await;
        let ran = scene.runs.load(Ordering::Relaxed);
        stuck.unblock();
        scene.pass(SECOND).await;
        assert_eq!(scene.runs.load(Ordering::Relaxed), ran, "what was given back is not run");
        assert_eq!(blocked.health().executor_silent_for, None);
        healthy.shutdown(None).await;
        // It leases again.
        scene.client.start_orchestration("after", "Work", "x").await.unwrap();
        assert_eq!(output(scene.client.wait_for_orchestration("after", LONG).await.unwrap()), "x");
        blocked.shutdown(None).await;
    });
}

#[test]
fn activities_that_were_woken_and_are_not_polled_go_back() {
    simulate(LONG, async {
        let scene = Scene::new();
        let (stuck, gate) = (scene.stallable(), Gate::closed());
        let blocked = scene.node(&stuck, &gate).await;
        scene.start("Work").await;
        scene.pass(SECOND).await;
        assert_eq!(scene.runs.load(Ordering::Relaxed), MANY, "all of them have begun, and wait");
        stuck.block();
        // They wait for something, and nobody owes them a poll.
        scene.pass(120 * SECOND).await;
        assert_eq!(scene.store.count(Operation::AbandonWorkItem), 0);
        gate.open();
        scene.pass(9 * SECOND).await;
        assert_eq!(scene.store.count(Operation::AbandonWorkItem), MANY);
        let healthy = scene.node(&scene.stallable(), &gate).await;
        scene.all_end("Work").await;
        stuck.unblock();
        healthy.shutdown(None).await;
        blocked.shutdown(None).await;
    });
}

#[test]
fn a_node_whose_executor_does_not_answer_leases_nothing_until_it_does() {
    simulate(LONG, async {
        let scene = Scene::new();
        let stuck = scene.stallable();
        let blocked = scene.node(&stuck, &open()).await;
        scene.pass(SECOND).await;
        stuck.block();
        scene.start("Echo").await;
        scene.pass(5 * SECOND).await;
        let leases = scene.store.count(Operation::LeaseInstances);
        scene.pass(600 * SECOND).await;
        assert_eq!(scene.store.count(Operation::LeaseInstances), leases, "not one call in ten minutes");
        assert!(blocked.health().executor_silent_for.is_some_and(|silent| silent > 600 * SECOND));
        stuck.unblock();
        scene.all_end("Echo").await;
        assert_eq!(blocked.health().executor_silent_for, None);
        blocked.shutdown(None).await;
    });
}

#[test]
fn an_idle_node_asks_its_executor_once_for_each_call_that_waited() {
    simulate(2 * LONG, async {
        let scene = Scene::new();
        let tasks = scene.stallable();
        let node = scene.node(&tasks, &open()).await;
        scene.pass(LONG).await;
        assert!(tasks.probes() <= 240, "{}", tasks.probes());
        node.shutdown(None).await;
    });
}

#[test]
fn a_shutdown_returns_within_its_grace_and_five_seconds_although_no_task_is_polled() {
    simulate(LONG, async {
        for (grace, patience) in [(Some(0), 0), (None, 1), (Some(3_000), 3)] {
            let scene = Scene::new();
            let (stuck, gate) = (scene.stallable(), Gate::closed());
            let node = scene.node(&stuck, &gate).await;
            scene.start("Work").await;
            scene.pass(SECOND).await;
            stuck.block();
            let before = scene.world.clock.monotonic();
            node.shutdown(grace).await;
            let took = scene.world.clock.monotonic() - before;
            assert!(took <= Duration::from_secs(patience + 5), "{took:?}");
            assert_eq!(scene.attempts(), [0; 8], "all leases were handed back, and do not count");
            stuck.unblock();
            scene.world.tasks.all_ended().await;
        }
    });
}

#[test]
fn a_renewal_that_fails_is_told_of_once_per_instance_and_minute() {
    let listener = crate::lessons::listener::Listener::of_warnings();
    tracing::subscriber::with_default(listener.clone(), || {
        simulate(LONG, async {
            let scene = Scene::new();
            let gate = Gate::closed();
            let node = scene.node(&scene.stallable(), &gate).await;
            scene.start("Work").await;
            scene.pass(SECOND).await;
            let fails = |call: &Call| call.operation == Operation::RenewWorkItemLock;
            scene
                .store
                .set_plan(FaultPlan::none().when(move |call| fails(call).then_some(Fault::NotApplied)));
            scene.pass(50 * SECOND).await;
            let failures = scene.store.count(Operation::RenewWorkItemLock);
            assert!(failures > 3 * MANY, "{failures}");
            let told = "a lease could not be renewed";
            assert_eq!(listener.count(told), usize::try_from(MANY).unwrap(), "{:#?}", listener.lines());
            assert_eq!(listener.count("instance_id=Work-3"), 1);
            scene.store.set_plan(FaultPlan::none());
            gate.open();
            scene.all_end("Work").await;
            node.shutdown(None).await;
        });
    });
}
