//! Turns that take longer than `max_turn_time`, on real threads and a clock that runs fast.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use abide_client::Client;
use abide_engine::OrchestrationContext;
use abide_host::SystemClock;
use abide_memory::InMemoryProvider;
use abide_model::{Clock, ErrorDetails, OrchestrationStatus};
use abide_provider::{BlockKind, Provider as _, SUSPECT_AFTER, TagFilter};
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide_runtime::{ActivityContext, ProblemPolicy, Runtime, RuntimeOptions};
use abide_sim::SeededEntropy;
use futures::executor::block_on;

use super::support::{FastClock, Heard};
use crate::lessons::listener::Listener;
use crate::support::output;

const PATIENCE: Duration = Duration::from_secs(60);
const FASTER: u32 = 10;
const MAX_TURN_TIME: Duration = Duration::from_secs(5);
const LEASE: Duration = Duration::from_secs(2);
const MAX_ATTEMPTS: u32 = 5;

/// Enough for one that blocks in each attempt, and some that work beside them.
const THREADS: usize = 10;

/// What blocks the threads of turns.
struct Blocker {
    clock: Arc<FastClock>,
    is_over: AtomicBool,
    runs: AtomicU32,
}

impl Blocker {
    /// Blocks the thread for this long.
    fn block_for(&self, time: Duration) {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let until = self.clock.monotonic().saturating_add(time);
        while self.clock.monotonic() < until && !self.is_over.load(Ordering::SeqCst) {
            std::thread::park_timeout(Duration::from_millis(1));
        }
    }
}

struct Scene {
    listener: Listener,
    clock: Arc<FastClock>,
    store: Arc<InMemoryProvider>,
    client: Client,
    blocker: Arc<Blocker>,
    handle: tokio::runtime::Handle,
}

/// Runs a test beside an executor that has threads to spare. What blocks them is let go at its end.
fn on_threads(test: impl FnOnce(&Scene)) {
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).build().unwrap();
    let clock = Arc::new(FastClock::new(FASTER));
    let store = Arc::new(InMemoryProvider::with_seams(clock.clone(), Arc::new(SeededEntropy::new(5))));
    let client = Client::builder(store.clone()).clock(clock.clone()).build();
    let blocker =
        Arc::new(Blocker { clock: clock.clone(), is_over: AtomicBool::new(false), runs: AtomicU32::new(0) });
    let handle = tokio.handle().clone();
    let scene = Scene { listener: Listener::of_warnings(), clock, store, client, blocker, handle };
    test(&scene);
}

impl Drop for Scene {
    /// Also if the test fails: the executor would wait for its threads.
    fn drop(&mut self) {
        self.blocker.is_over.store(true, Ordering::SeqCst);
    }
}

fn activities(blocker: &Arc<Blocker>) -> ActivityRegistry {
    let never = blocker.clone();
    ActivityRegistry::builder()
        .register("Quick", |_: ActivityContext, _| async { Ok("done".to_owned()) })
        .register("Never", move |_: ActivityContext, _| {
            let blocker = never.clone();
            async move {
                blocker.block_for(Duration::MAX);
                Ok("never".to_owned())
            }
        })
        .build()
}

fn orchestrations(blocker: &Arc<Blocker>) -> OrchestrationRegistry {
    let (slow, fused, never) = (blocker.clone(), blocker.clone(), blocker.clone());
    OrchestrationRegistry::builder()
        .register("Slow", move |_: OrchestrationContext, _| {
            let blocker = slow.clone();
            async move {
                blocker.block_for(2 * MAX_TURN_TIME);
                Ok("late".to_owned())
            }
        })
        .register("Never", move |_: OrchestrationContext, _| {
            let blocker = never.clone();
            async move {
                blocker.block_for(Duration::MAX);
                Ok("never".to_owned())
            }
        })
        .register("Hello", |_: OrchestrationContext, _| async { Ok("hello".to_owned()) })
        .register("Asks", |ctx: OrchestrationContext, activity| async move {
            ctx.schedule_activity(activity, "").await
        })
        .register("SlowAfterActivity", move |ctx: OrchestrationContext, _| {
            let blocker = fused.clone();
            async move {
                ctx.schedule_activity("Quick", "").await?;
                blocker.block_for(2 * MAX_TURN_TIME);
                Ok("late".to_owned())
            }
        })
        .build()
}

impl Scene {
    fn node(&self, policy: ProblemPolicy) -> Arc<Runtime> {
        self.node_with(policy, |_| {})
    }

    fn node_with(&self, policy: ProblemPolicy, change: impl FnOnce(&mut RuntimeOptions)) -> Arc<Runtime> {
        let spawn = Heard { handle: self.handle.clone(), listener: self.listener.clone() };
        let mut options = RuntimeOptions {
            max_turn_time: MAX_TURN_TIME,
            max_attempts: MAX_ATTEMPTS,
            orchestrator_lock_timeout: LEASE,
            worker_lock_timeout: LEASE,
            activity_cancellation_grace_period: LEASE,
            ..RuntimeOptions::default()
        };
        change(&mut options);
        let builder = Runtime::builder()
            .with_provider(self.store.clone())
            .with_activities(activities(&self.blocker))
            .with_orchestrations(orchestrations(&self.blocker))
            .with_options(options)
            .with_clock(self.clock.clone())
            .with_spawn(Arc::new(spawn));
        let builder = match policy {
            ProblemPolicy::Block => builder,
            ProblemPolicy::Fail => builder.with_reference_policies(),
        };
        block_on(builder.build()).unwrap()
    }

    fn stop(&self, node: Arc<Runtime>) {
        self.blocker.is_over.store(true, Ordering::SeqCst);
        block_on(node.shutdown(None));
    }

    fn start(&self, instance: &str, orchestration: &str, input: &str) {
        block_on(self.client.start_orchestration(instance, orchestration, input)).unwrap();
    }

    /// Starts an instance whose first turn was under way in so many crashes that it is a suspect.
    fn start_suspect(&self, instance: &str, orchestration: &str) {
        self.start(instance, orchestration, "");
        for _ in 0..SUSPECT_AFTER {
            let mut others = Vec::new();
            loop {
                let fetch = self.store.fetch_orchestration_item(LEASE, Duration::ZERO, None);
                let (item, token, _) = block_on(fetch).unwrap().unwrap();
                if item.instance == instance {
                    block_on(self.store.abandon_orchestration_item(&token, None, false)).unwrap();
                    break;
                }
                others.push(token);
            }
            for other in others {
                block_on(self.store.abandon_orchestration_item(&other, None, true)).unwrap();
            }
        }
    }

    /// Waits until so many activities are queued, and makes suspects of them.
    fn suspect_activities(&self, count: usize) {
        let fetch = || {
            let filter = TagFilter::default();
            block_on(self.store.fetch_work_item(10 * MAX_TURN_TIME, PATIENCE * FASTER, None, &filter))
        };
        for _ in 0..SUSPECT_AFTER {
            let leased: Vec<String> = (0..count).map(|_| fetch().unwrap().unwrap().1).collect();
            for token in leased {
                block_on(self.store.abandon_work_item(&token, None, false)).unwrap();
            }
        }
    }

    /// Waits until code blocks a thread.
    fn wait_for_run(&self) {
        let clock = SystemClock::new();
        while self.blocker.runs.load(Ordering::SeqCst) == 0 {
            assert!(clock.monotonic() < PATIENCE, "{:#?}", self.listener.lines());
            std::thread::yield_now();
        }
    }

    fn end_of(&self, instance: &str) -> OrchestrationStatus {
        block_on(self.client.wait_for_orchestration(instance, PATIENCE * FASTER)).unwrap()
    }

    fn wait_for_quarantine(&self, instance: &str) {
        let mut kinds = Vec::new();
        let clock = SystemClock::new();
        while kinds.is_empty() {
            assert!(clock.monotonic() < PATIENCE, "{:#?}", self.listener.lines());
            std::thread::yield_now();
            kinds = block_on(self.client.blocks(instance))
                .unwrap()
                .iter()
                .map(|block| block.block.kind)
                .collect();
        }
        assert_eq!(kinds, [BlockKind::Quarantine]);
    }
}

#[test]
fn a_turn_that_takes_too_long_every_time_is_quarantined() {
    on_threads(|scene| {
        let node = scene.node(ProblemPolicy::Block);
        scene.start("i", "Slow", "");
        scene.wait_for_quarantine("i");
        assert!(scene.blocker.runs.load(Ordering::SeqCst) >= MAX_ATTEMPTS);
        scene.stop(node);
    });
}

#[test]
fn a_turn_that_takes_too_long_every_time_fails_with_the_policies_of_the_reference() {
    on_threads(|scene| {
        let node = scene.node(ProblemPolicy::Fail);
        scene.start("i", "Slow", "");
        let status = scene.end_of("i");
        let OrchestrationStatus::Failed { details: ErrorDetails::Poison { .. }, .. } = status else {
            panic!("{status:?}");
        };
        scene.stop(node);
    });
}

#[test]
fn a_turn_that_comes_with_an_activity_and_takes_too_long_every_time_is_quarantined() {
    on_threads(|scene| {
        let node = scene.node(ProblemPolicy::Block);
        scene.start("i", "SlowAfterActivity", "");
        scene.wait_for_quarantine("i");
        assert!(scene.blocker.runs.load(Ordering::SeqCst) > MAX_ATTEMPTS, "once with the activity");
        scene.stop(node);
    });
}

#[test]
fn a_suspect_whose_turn_never_returns_leaves_the_node_to_other_suspects_and_is_quarantined() {
    on_threads(|scene| {
        scene.start_suspect("never", "Never");
        scene.start_suspect("other", "Hello");
        let node = scene.node(ProblemPolicy::Block);
        assert_eq!(output(scene.end_of("other")), "hello");
        scene.wait_for_quarantine("never");
        scene.stop(node);
    });
}

#[test]
fn a_canceled_suspect_activity_that_never_returns_leaves_the_node_to_other_suspects() {
    on_threads(|scene| {
        scene.start("never", "Asks", "Never");
        scene.start("other", "Asks", "Quick");
        let turns = scene.node_with(ProblemPolicy::Block, |options| options.worker_concurrency = 0);
        scene.suspect_activities(2);
        let activities = scene.node_with(ProblemPolicy::Block, |options| options.max_attempts = 10);
        scene.wait_for_run();
        block_on(scene.client.cancel_instance("never", "enough")).unwrap();
        assert_eq!(output(scene.end_of("other")), "done");
        scene.stop(turns);
        scene.stop(activities);
    });
}
