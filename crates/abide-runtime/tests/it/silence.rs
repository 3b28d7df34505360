//! A store that says nothing for a while: what it costs, what is told of it, and how a runtime ends meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide_provider::{Abilities, Ability, Operation};
use abide_runtime::Runtime;
use abide_sim::{Fault, FaultPlan, FaultStore, Gate};
use futures::FutureExt as _;
use metrics::with_local_recorder;
use tracing::subscriber::with_default;

use crate::lessons::listener::Listener;
use crate::lessons::scene::{Code, Scene, Way, every_way, is_leased, ways};
use crate::recorder::Shown;

const MINUTE: Duration = Duration::from_secs(60);

fn silent(operations: impl IntoIterator<Item = Operation>) -> FaultPlan {
    let operations: Vec<_> = operations.into_iter().collect();
    FaultPlan::none().when(move |call| operations.contains(&call.operation).then_some(Fault::HangBefore))
}

#[test]
fn calls_without_an_answer_do_not_pile_up() {
    const SLOTS: usize = 4;
    every_way(|scene| async move {
        let code = Code::new().options(|options| {
            options.orchestration_concurrency = SLOTS;
            options.worker_concurrency = SLOTS;
        });
        scene.node(code).await;
        let others = scene.world.tasks.running();
        let renewals = [Operation::RenewOrchestrationItemLock, Operation::RenewWorkItemLock];
        scene.faults.set_plan(silent(renewals.into_iter().chain([scene.way.commit(), scene.way.finish()])));
        for number in 0..5 {
            scene.start(&format!("i-{number}"), "Hello", "you").await;
        }
        scene.pass(20 * MINUTE).await;
        // A task for each slot, and for each result that waits.
        let most = others + SLOTS + (1 + 4) * SLOTS;
        assert!(scene.world.tasks.running() <= most, "{:?}", scene.world.tasks.names());
        scene.faults.set_plan(FaultPlan::none());
        for number in 0..5 {
            assert_eq!(scene.end_of(&format!("i-{number}")).await.unwrap(), "hello you");
        }
    });
}

#[test]
fn an_answer_that_comes_late_counts() {
    every_way(|scene| async move {
        let runs = Arc::new(AtomicU64::new(0));
        let (operation, ordinal) = scene.way.first_result();
        let late = Fault::DelayAnswer(Duration::from_secs(7));
        let plan = FaultPlan::none().at(operation, ordinal, late);
        scene.faults.set_plan(plan.at(operation, ordinal + 1, Fault::HangBefore));
        scene.node(counting(&runs)).await;
        assert_eq!(scene.run("i", "Counts", "x").await.unwrap(), "x");
        assert_eq!(runs.load(Ordering::Relaxed), 1);
        // While the second try hangs, the first is heard of.
        assert!(scene.time() < Duration::from_secs(6), "{:?}", scene.time());
        scene.pass(Duration::from_secs(60)).await;
        assert_eq!(scene.faults.injected().len(), 2);
        assert_eq!(scene.faults.count(operation), ordinal + 1, "there is no third try");
    });
}

/// As over a slow connection to a server, with what is large.
#[test]
fn a_lease_whose_answer_takes_long_is_used_and_not_given_back_for_ever() {
    let leases = [
        Operation::FetchOrchestrationItem,
        Operation::LeaseInstances,
        Operation::FetchWorkItem,
        Operation::LeaseWork,
    ];
    every_way(|scene| async move {
        let runs = Arc::new(AtomicU64::new(0));
        let slow = Fault::DelayAnswer(MINUTE);
        let plan = FaultPlan::none().when(move |call| leases.contains(&call.operation).then_some(slow));
        scene.faults.set_plan(plan);
        let code = counting(&runs).options(|options| {
            options.dispatcher_long_poll_timeout = Duration::from_secs(1);
            options.orchestrator_lock_timeout = 5 * MINUTE;
            options.worker_lock_timeout = 5 * MINUTE;
        });
        scene.node(code).await;
        assert_eq!(scene.run("i", "Counts", "x").await.unwrap(), "x");
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    });
}

/// An orchestration of one activity that is counted.
fn counting(runs: &Arc<AtomicU64>) -> Code {
    let runs = runs.clone();
    Code::new()
        .activity("Count", move |_, input| {
            runs.fetch_add(1, Ordering::Relaxed);
            async move { Ok(input) }
        })
        .orchestration("Counts", |ctx, input| async move { ctx.schedule_activity("Count", input).await })
}

#[test]
fn what_is_about_to_be_written_when_a_runtime_gives_up_is_waited_for() {
    every_way(|scene| async move {
        let runs = Arc::new(AtomicU64::new(0));
        let slow = Fault::Delay(Duration::from_millis(500));
        let (operation, ordinal) = scene.way.first_result();
        scene.faults.set_plan(FaultPlan::none().at(operation, ordinal, slow));
        let node = scene.node(counting(&runs)).await;
        scene.start("i", "Counts", "x").await;
        while !scene.faults.fired() {
            scene.pass(Duration::from_millis(1)).await;
        }
        node.shutdown(Some(0)).await;
        scene.node(counting(&runs)).await;
        assert_eq!(scene.end_of("i").await.unwrap(), "x");
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_lease_is_handed_back_once_when_a_runtime_gives_up() {
    every_way(|scene| async move {
        let node = scene.node(Code::new()).await;
        scene.faults.set_plan(silent([scene.way.commit()]));
        scene.start("i", "Hello", "you").await;
        scene.until(is_leased).await;
        node.shutdown(Some(0)).await;
        assert!(!is_leased(&scene.world.memory.dump()));
        assert_eq!(scene.faults.count(Operation::AbandonOrchestrationItem), 1);
        assert!(scene.time() < Duration::from_secs(2), "{:?}", scene.time());
    });
}

#[test]
fn a_shutdown_that_is_dropped_leaves_nothing_behind() {
    every_way(|scene| async move {
        let node = scene.node(Code::new()).await;
        scene.start("i", "Wait", "").await;
        scene.until_idle("i").await;
        assert_eq!(node.shutdown(Some(1_000)).now_or_never(), None);
        scene.pass(Duration::from_secs(2)).await;
        assert_eq!(scene.world.tasks.names(), [""; 0]);
    });
}

#[test]
fn a_runtime_whose_executor_ends_lets_go_of_its_store() {
    let store = Arc::new(abide_memory::InMemoryProvider::new());
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap();
    let node = tokio.block_on(Runtime::start_with_store(
        store.clone(),
        abide_runtime::registry::ActivityRegistry::builder().build(),
        abide_runtime::registry::OrchestrationRegistry::builder().build(),
    ));
    drop(node);
    drop(tokio);
    // The thread that renews leases hears of it on its own.
    while Arc::strong_count(&store) > 1 {
        std::thread::yield_now();
    }
}

async fn an_outage(scene: Scene) {
    scene.node(Code::new()).await;
    scene.start("before", "Hello", "you").await;
    scene.end_of("before").await.unwrap();
    scene.faults.set_plan(FaultPlan::none().when(|_| Some(Fault::HangBefore)));
    for number in 0..20 {
        scene.start(&format!("i-{number}"), "Hello", "you").await;
    }
    scene.pass(10 * MINUTE).await;
    scene.faults.set_plan(FaultPlan::none());
    for number in 0..20 {
        scene.end_of(&format!("i-{number}")).await.unwrap();
    }
}

#[test]
fn silence_is_counted_and_told_when_it_begins_and_ends() {
    for way in [Way::Fused, Way::Resident] {
        is_counted_and_told(way);
    }
}

fn is_counted_and_told(way: Way) {
    let (listener, shown) = (Listener::default(), Shown::default());
    with_local_recorder(&shown, || {
        with_default(listener.clone(), || ways(&[way], an_outage));
    });
    let text = shown.text();
    assert!(text.contains("abide_storage_errors_total{operation=lease_work, kind=unknown}"), "{text}");
    // Twice: a look that waited since before the outage has its answer in the midst of it. Calls that were made in it and are late
    // after its end begin no other.
    assert_eq!(listener.count("a store call failed; trying again"), 2, "{:#?}", listener.lines());
    assert_eq!(listener.count("the store answers again"), 2, "{:#?}", listener.lines());
    assert!(listener.count("still cannot lease") <= 10, "{}", listener.count("still cannot lease"));
}

/// The store answers with leases when the end has begun, and takes none of them back.
#[test]
fn a_shutdown_does_not_wait_for_one_lease_after_the_other() {
    const MANY: usize = 40;
    ways(&[Way::Fused, Way::Resident], |scene| async move {
        let without_waiting = Abilities::ALL.without(Ability::Parking);
        let clock = scene.world.clock.clone();
        let store =
            FaultStore::new(scene.world.memory.clone(), clock.clone()).with_abilities(without_waiting);
        let (store, leases, back) = (Arc::new(store), Gate::closed(), Gate::closed());
        store.hold(Operation::LeaseWork, &leases);
        store.hold(Operation::AbandonWorkItem, &back);
        let code = Code::new().options(|options| options.worker_concurrency = MANY);
        let code = code.orchestration("Many", |ctx, _| async move {
            let all = (0..MANY).map(|_| ctx.schedule_activity("Echo", ""));
            let _results = ctx.join(all.collect()).await;
            Ok(String::new())
        });
        let node = scene.node_on(store.clone(), clock.clone(), code).await;
        scene.start("i", "Many", "").await;
        scene.until(|dump| dump.work.len() == MANY).await;
        leases.waiting().await;
        let before = scene.time();
        let answering = async {
            scene.pass(Duration::from_millis(20)).await;
            leases.open();
        };
        futures::join!(node.shutdown(Some(1_000)), answering);
        let took = scene.time() - before;
        assert!(took <= Duration::from_secs(6), "{took:?}");
        assert!(store.count(Operation::AbandonWorkItem) >= u64::try_from(MANY).unwrap(), "all were offered");
    });
}

#[test]
fn a_shutdown_blames_no_store_that_answers() {
    let listener = Listener::of_warnings();
    with_default(listener.clone(), || {
        every_way(|scene| async move {
            scene.node(Code::new()).await;
            scene.start("i", "Hello", "you").await;
            scene.end_of("i").await.unwrap();
            scene.start("waits", "Wait", "").await;
            scene.until_idle("waits").await;
            scene.close().await;
        });
    });
    assert!(listener.lines().is_empty(), "{:#?}", listener.lines());
}

#[test]
fn a_failure_without_its_code_has_a_duration_too() {
    let shown = Shown::default();
    with_local_recorder(&shown, || {
        ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
            scene.node(Code::new()).await;
            scene.start("i", "Wait", "").await;
            scene.until_idle("i").await;
            scene.pass(MINUTE).await;
            scene.close().await;
            scene.client().raise_event("i", "go", "").await.unwrap();
            // Three processes die of it.
            let code = || Code::new().options(|options| options.max_attempts = 3);
            for _ in 0..3 {
                scene.faults.set_plan(FaultPlan::none().at(scene.way.commit(), 1, Fault::HangBefore));
                let doomed = scene.doomed_node(code()).await;
                while !scene.faults.fired() {
                    scene.pass(Duration::from_millis(10)).await;
                }
                doomed.kill();
                doomed.all_ended().await;
            }
            scene.faults.set_plan(FaultPlan::none());
            scene.node(code()).await;
            assert!(scene.end_of("i").await.unwrap_err().contains("poison"));
        });
    });
    let text = shown.text();
    let mut durations = text.lines().filter(|line| line.starts_with("abide_orchestration_duration_seconds"));
    let line = durations.next().unwrap_or_else(|| panic!("{text}"));
    let samples = line.split_once('[').unwrap().1.trim_end_matches(']').split(", ");
    for seconds in samples.map(|sample| sample.parse::<f64>().unwrap()) {
        assert!((60.0..3_600.0).contains(&seconds), "{line}");
    }
}

#[test]
fn a_turn_whose_lease_cannot_be_renewed_for_a_while_is_logged_once_a_minute() {
    let listener = Listener::of_warnings();
    with_default(listener.clone(), || {
        every_way(|scene| async move {
            let long = |options: &mut abide_runtime::RuntimeOptions| {
                options.orchestrator_lock_timeout = MINUTE;
            };
            scene.node(Code::new().options(long)).await;
            let commit = scene.way.commit();
            let plan = FaultPlan::none().when(move |call| {
                let is_down = call.at < Duration::from_secs(50);
                if call.operation == Operation::RenewOrchestrationItemLock {
                    is_down.then_some(Fault::NotApplied)
                } else {
                    (is_down && call.operation == commit).then_some(Fault::HangBefore)
                }
            });
            scene.faults.set_plan(plan);
            assert_eq!(scene.run("i", "Hello", "you").await.unwrap(), "hello you");
            assert!(scene.faults.count(Operation::RenewOrchestrationItemLock) > 3);
        });
    });
    let warned = listener.count("a lease could not be renewed; it is tried again until it is lost");
    assert_eq!(warned, Way::ALL.len(), "{:#?}", listener.lines());
}
