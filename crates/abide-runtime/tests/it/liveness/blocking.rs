//! Turns and activities that never yield, on real threads and a clock that runs fast.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_client::Client;
use abide_engine::OrchestrationContext;
use abide_host::SystemClock;
use abide_memory::InMemoryProvider;
use abide_model::Clock;
use abide_provider::Operation;
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide_runtime::{ActivityContext, Runtime, RuntimeOptions};
use abide_sim::{FaultStore, SeededEntropy};

use super::support::{FastClock, Heard};
use crate::lessons::listener::Listener;
use crate::support::output;

const PATIENCE: Duration = Duration::from_secs(60);
const FASTER: u32 = 20;

/// Blocks threads until it is let go of.
#[derive(Debug, Clone, Default)]
struct Block {
    is_over: Arc<AtomicBool>,
    blocked: Arc<AtomicU64>,
}

impl Block {
    fn thread(&self) {
        self.blocked.fetch_add(1, Ordering::SeqCst);
        while !self.is_over.load(Ordering::SeqCst) {
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }

    fn blocked(&self) -> u64 {
        self.blocked.load(Ordering::SeqCst)
    }

    fn let_go(&self) {
        self.is_over.store(true, Ordering::SeqCst);
    }
}

struct Scene {
    listener: Listener,
    clock: Arc<FastClock>,
    store: Arc<FaultStore>,
    client: Client,
    block: Block,
    handle: tokio::runtime::Handle,
}

/// Runs a test beside an executor with two threads, one more than it blocks.
fn on_two_threads(test: impl FnOnce(&Scene)) {
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let clock = Arc::new(FastClock::new(FASTER));
    let memory = InMemoryProvider::with_seams(clock.clone(), Arc::new(SeededEntropy::new(5)));
    let store = Arc::new(FaultStore::new(Arc::new(memory), clock.clone()));
    let client = Client::builder(store.clone()).clock(clock.clone()).build();
    let scene = Scene {
        listener: Listener::of_warnings(),
        clock,
        store,
        client,
        block: Block::default(),
        handle: tokio.handle().clone(),
    };
    test(&scene);
    scene.block.let_go();
}

impl Scene {
    fn node(&self, options: RuntimeOptions) -> Arc<Runtime> {
        let of_activity = self.block.clone();
        let activities = ActivityRegistry::builder()
            .register("Blocks", move |_: ActivityContext, _| {
                let block = of_activity.clone();
                async move {
                    block.thread();
                    Ok("done".to_owned())
                }
            })
            .register("Quick", |_: ActivityContext, _| async { Ok("done".to_owned()) });
        let (of_turn, of_fused) = (self.block.clone(), self.block.clone());
        let once = Arc::new(Mutex::new(true));
        let orchestrations = OrchestrationRegistry::builder()
            .register("InActivity", |ctx: OrchestrationContext, _| async move {
                ctx.schedule_activity("Blocks", "").await
            })
            .register("InTurn", move |_: OrchestrationContext, _| {
                let (block, is_first) = (of_turn.clone(), std::mem::take(&mut *once.lock().unwrap()));
                async move {
                    if is_first {
                        block.thread();
                    }
                    Ok("done".to_owned())
                }
            })
            .register("InFusedTurn", move |ctx: OrchestrationContext, _| {
                let block = of_fused.clone();
                async move {
                    ctx.schedule_activity("Quick", "").await?;
                    block.thread();
                    Ok("done".to_owned())
                }
            });
        let spawn = Heard { handle: self.handle.clone(), listener: self.listener.clone() };
        let start = Runtime::builder()
            .with_provider(self.store.clone())
            .with_activities(activities.build())
            .with_orchestrations(orchestrations.build())
            .with_options(options)
            .with_clock(self.clock.clone())
            .with_spawn(Arc::new(spawn))
            .build();
        futures::executor::block_on(start).unwrap()
    }

    fn start(&self, orchestration: &str) {
        let start = self.client.start_orchestration("i", orchestration, "");
        futures::executor::block_on(start).unwrap();
        until("the thread to be blocked", || self.block.blocked() == 1);
    }

    fn end(&self) -> String {
        let wait = self.client.wait_for_orchestration("i", PATIENCE * FASTER);
        output(futures::executor::block_on(wait).unwrap())
    }

    fn shutdown(&self, node: Arc<Runtime>) {
        self.block.let_go();
        futures::executor::block_on(node.shutdown(None));
    }
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let clock = SystemClock::new();
    while !is_so() {
        assert!(clock.monotonic() < PATIENCE, "waited for {what}");
        std::thread::yield_now();
    }
}

#[test]
fn an_activity_that_does_not_yield_is_told_of_after_five_seconds_and_every_minute_and_keeps_its_lease() {
    on_two_threads(|scene| {
        let node = scene.node(RuntimeOptions::default());
        let before = scene.clock.monotonic();
        scene.start("InActivity");
        let told = "the activity has not yielded";
        until("a warning", || scene.listener.count(told) == 1);
        assert!(scene.clock.monotonic() - before >= Duration::from_secs(5));
        let line = scene.listener.lines().into_iter().find(|line| line.contains(told)).unwrap();
        for part in ["instance_id=i", "orchestration_name=InActivity", "activity_name=Blocks"] {
            assert!(line.contains(part), "{line}");
        }
        let longest = node.health().longest_poll.unwrap();
        assert_eq!((longest.instance.as_str(), longest.activity.as_deref()), ("i", Some("Blocks")));
        assert!(longest.lasts >= Duration::from_secs(5), "{longest:?}");
        until("a reminder", || scene.listener.count(told) == 2);
        assert!(scene.clock.monotonic() - before >= Duration::from_secs(65));
        assert!(
            scene.store.count(Operation::RenewWorkItemLock) >= 2,
            "it is renewed for as long as it takes"
        );
        scene.block.let_go();
        assert_eq!(scene.end(), "done");
        assert_eq!(scene.block.blocked(), 1, "it ran once");
        // The commit can be seen before the poll that made it ends.
        until("the poll to end", || node.health().longest_poll.is_none());
        scene.shutdown(node);
    });
}

#[test]
fn a_turn_that_does_not_yield_is_renewed_for_max_turn_time_and_then_another_takes_over() {
    on_two_threads(|scene| {
        let max_turn_time = Duration::from_secs(20);
        let node = scene.node(RuntimeOptions { max_turn_time, ..RuntimeOptions::default() });
        let before = scene.clock.monotonic();
        scene.start("InTurn");
        assert_eq!(scene.end(), "done");
        assert!(scene.clock.monotonic() - before >= max_turn_time);
        assert_eq!(scene.listener.count("a turn of the orchestration has not yielded"), 1);
        assert_eq!(scene.listener.count("longer than max_turn_time"), 1, "{:#?}", scene.listener.lines());
        assert!(scene.store.count(Operation::RenewOrchestrationItemLock) >= 5);
        assert_eq!(scene.store.count(Operation::AbandonOrchestrationItem), 0, "it ran out, and counts");
        scene.shutdown(node);
    });
}

#[test]
fn a_turn_that_comes_with_an_activity_is_told_of_as_a_turn_and_has_the_same_limit() {
    on_two_threads(|scene| {
        let max_turn_time = Duration::from_secs(20);
        let node = scene.node(RuntimeOptions { max_turn_time, ..RuntimeOptions::default() });
        scene.start("InFusedTurn");
        until("a warning", || scene.listener.count("a turn of the orchestration has not yielded") == 1);
        assert_eq!(scene.listener.count("the activity has not yielded"), 0);
        let longest = node.health().longest_poll.unwrap();
        assert_eq!((longest.orchestration.as_str(), longest.activity), ("InFusedTurn", None));
        until("its end", || scene.listener.count("longer than max_turn_time") == 1);
        scene.block.let_go();
        assert_eq!(scene.end(), "done");
        scene.shutdown(node);
    });
}

#[test]
fn a_shutdown_names_what_does_not_stop_and_hands_its_lease_back() {
    on_two_threads(|scene| {
        let node = scene.node(RuntimeOptions::default());
        scene.start("InActivity");
        futures::executor::block_on(node.shutdown(None));
        let told = "did not stop; the shutdown does not wait for it";
        let line = scene.listener.lines().into_iter().find(|line| line.contains(told)).unwrap();
        for part in ["instance_id=i", "orchestration_name=InActivity", "activity_name=\"Blocks\""] {
            assert!(line.contains(part), "{line}");
        }
        assert_eq!(scene.store.count(Operation::AbandonWorkItem), 1);
        scene.block.let_go();
        // Another runs it, without waiting until a lease of 30 s has run out.
        let next = scene.node(RuntimeOptions::default());
        assert_eq!(scene.end(), "done");
        scene.shutdown(next);
    });
}
