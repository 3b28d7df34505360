//! The activity runs in one runtime, the turn that cancels it in another; both use one store.

use std::sync::Arc;
use std::time::Duration;

use abide_provider::{Operation, Provider};
use abide_runtime::Runtime;
use abide_sim::{FaultStore, Gate};

use crate::e2e::support::{Log, Node, World, in_real_time, on_own_stores, seconds, virtually};

pub(super) fn node(log: &Log) -> Node {
    Node::new()
        .patient("Patient", log)
        .orchestration("Main", |ctx, _| async move { ctx.schedule_activity("Patient", "").await })
}

pub(super) fn decides(log: &Log) -> Node {
    node(log).with(|options| options.worker_concurrency = 0)
}

/// A store of which a runtime gets no turn until the gate is opened.
pub(super) fn without_turns(world: &World, store: Arc<dyn Provider>, gate: &Gate) -> Arc<FaultStore> {
    let store = Arc::new(FaultStore::new(store, world.clock.clone()));
    for operation in [Operation::LeaseInstances, Operation::FetchOrchestrationItem] {
        store.hold(operation, gate);
    }
    store
}

async fn works(world: &World, store: Arc<dyn Provider>, log: &Log, gate: &Gate) -> Arc<Runtime> {
    world.run_on(without_turns(world, store, gate), node(log)).await
}

/// Both, on the store of this world.
async fn both(world: &World, log: &Log, other: Arc<dyn Provider>, times: usize) {
    let gate = Gate::closed();
    let (decides, works) = (world.run(decides(log)).await, works(world, other, log, &gate).await);
    for number in 0..times {
        let took = cancelled(world, log, &format!("i{number}")).await;
        // The first renewal is after ten seconds.
        let soon = if world.has_required_only() { seconds(10) } else { seconds(5) };
        assert!(took <= soon, "{took:?}");
    }
    gate.open();
    for runtime in [works, decides] {
        runtime.shutdown(None).await;
    }
}

async fn cancelled(world: &World, log: &Log, instance: &str) -> Duration {
    begun(world, log, instance).await;
    heard(world, log, instance).await
}

/// Starts an instance, and waits until its activity runs.
pub(super) async fn begun(world: &World, log: &Log, instance: &str) {
    let before = log.len();
    world.start(instance, "Main", "").await;
    log.has(before + 1).await;
}

/// Cancels an instance whose activity was the last to begin; says how long that took to be heard.
pub(super) async fn heard(world: &World, log: &Log, instance: &str) -> Duration {
    let before = log.len() - 1;
    let (took, lines) = world
        .time(async {
            world.client().cancel_instance(instance, "why").await.unwrap();
            log.has(before + 2).await
        })
        .await;
    assert_eq!(lines[before..], ["began", "OrchestrationEnded { status: Failed }"]);
    assert_eq!(world.end(instance).await.unwrap_err(), "canceled: why");
    took
}

#[test]
fn an_activity_of_another_runtime_on_the_store_hears_at_once() {
    on_own_stores(async |world: World| {
        both(&world, &Log::new(), world.store.clone(), 1).await;
    });
}

#[test]
fn an_activity_of_another_process_hears_well_before_a_renewal() {
    in_real_time(async |world: World| {
        both(&world, &Log::new(), world.another().await, 3).await;
    });
}

/// None of them is told why. That is asked for all of them at once.
#[test]
fn many_activities_of_one_execution_cost_few_reads_of_its_history() {
    const MANY: usize = 60;
    let many = |log: &Log| {
        node(log).orchestration("Many", |ctx, _| async move {
            let all = (0..MANY).map(|_| ctx.schedule_activity("Patient", ""));
            let _results = ctx.join(all.collect()).await;
            Ok(String::new())
        })
    };
    in_real_time(async |world: World| {
        let (log, gate) = (Log::new(), Gate::closed());
        let store = without_turns(&world, world.another().await, &gate);
        let works = world.run_on(store.clone(), many(&log)).await;
        let decides = world.run(many(&log).with(|options| options.worker_concurrency = 0)).await;
        world.start("i", "Many", "").await;
        log.has(MANY).await;
        world.client().cancel_instance("i", "why").await.unwrap();
        let lines = log.has(2 * MANY).await;
        let heard = lines.iter().filter(|line| *line == "OrchestrationEnded { status: Failed }");
        assert_eq!(heard.count(), MANY);
        let reads = store.count(Operation::ReadWithExecution);
        assert!(reads <= u64::try_from(MANY / 4).unwrap(), "{reads}: not one for each");
        gate.open();
        for runtime in [works, decides] {
            runtime.shutdown(None).await;
        }
    });
}

/// The store says nothing: the renewal after a third of the lease finds out.
#[test]
fn without_a_push_an_activity_of_another_runtime_hears_by_its_next_renewal() {
    virtually(async |world: World| {
        both(&world, &Log::new(), world.store.clone(), 1).await;
    });
}
