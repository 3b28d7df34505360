//! The state of health is about progress.

use std::sync::Arc;
use std::time::Duration;

use abide_engine::OrchestrationContext;
use abide_provider::Operation;
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide_runtime::{ActivityContext, RuntimeOptions, Stalled};
use abide_sim::{FaultPlan, FaultStore, Gate, simulate};

use crate::support::{LONG, World, output};

const MINUTE: Duration = Duration::from_secs(60);

fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Work", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("Work", input).await
        })
        .build()
}

fn activities(gate: &Gate) -> ActivityRegistry {
    let gate = gate.clone();
    ActivityRegistry::builder()
        .register("Work", move |_: ActivityContext, input: String| {
            let gate = gate.clone();
            async move {
                gate.pass().await;
                Ok(input)
            }
        })
        .build()
}

fn open() -> Gate {
    let gate = Gate::closed();
    gate.open();
    gate
}

#[test]
fn an_idle_runtime_is_not_stalled_however_long_it_idles() {
    simulate(LONG, async {
        let world = World::new(1);
        let store = world.store.clone();
        let runtime =
            world.runtime(store, activities(&open()), orchestrations(), RuntimeOptions::default()).await;
        world.clock.sleep(10 * MINUTE).await;
        let health = runtime.health();
        assert_eq!(health.stalled(Duration::from_secs(1)), None, "{health:?}");
        assert_eq!((health.since_last_commit, health.storage_errors), (None, 0));
        runtime.shutdown(None).await;
    });
}

#[test]
fn work_that_waits_for_a_slot_grows_old() {
    simulate(LONG, async {
        let world = World::new(2);
        let gate = Gate::closed();
        let options = RuntimeOptions { worker_concurrency: 1, ..RuntimeOptions::default() };
        let runtime = world.runtime(world.store.clone(), activities(&gate), orchestrations(), options).await;
        let client = world.client();
        for n in 0..2 {
            client.start_orchestration(format!("i{n}"), "Work", "x").await.unwrap();
        }
        gate.waiting().await;
        world.clock.sleep(5 * MINUTE).await;
        let health = runtime.health();
        assert!(health.oldest_ready_activity > 4 * MINUTE, "{health:?}");
        assert_eq!(health.oldest_ready_instance, Duration::ZERO, "{health:?}");
        assert_eq!(health.renewal_lag, Duration::ZERO, "{health:?}");
        let stalled = health.stalled(MINUTE);
        assert!(matches!(stalled, Some(Stalled::NothingCommitted { .. })), "{stalled:?}");
        gate.open();
        for n in 0..2 {
            let ended = client.wait_for_orchestration(&format!("i{n}"), LONG).await.unwrap();
            assert_eq!(output(ended), "x");
        }
        assert_eq!(runtime.health().stalled(MINUTE), None);
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_outage_shows_while_it_lasts() {
    simulate(LONG, async {
        let world = World::new(3);
        let plan = FaultPlan::none().outage(MINUTE, 5 * MINUTE);
        let store = Arc::new(FaultStore::new(world.store.clone(), world.clock.clone()).with_plan(plan));
        let runtime =
            world.runtime(store, activities(&open()), orchestrations(), RuntimeOptions::default()).await;
        world.clock.sleep(3 * MINUTE).await;
        let health = runtime.health();
        assert!(health.storage_errors > 0, "{health:?}");
        let stalled = health.stalled(MINUTE).expect("the store is down");
        assert!(matches!(stalled, Stalled::StorageDown { .. }), "{stalled:?}");
        assert!(stalled.to_string().starts_with("the store has given nothing but errors for"), "{stalled}");
        world.clock.sleep(3 * MINUTE).await;
        assert_eq!(runtime.health().stalled(Duration::from_secs(30)), None, "{:?}", runtime.health());
        runtime.shutdown(None).await;
    });
}

#[test]
fn renewals_that_get_no_answer_are_late() {
    simulate(LONG, async {
        let world = World::new(4);
        let (work, renewals) = (Gate::closed(), Gate::closed());
        let store = Arc::new(FaultStore::new(world.store.clone(), world.clock.clone()));
        store.hold(Operation::RenewWorkItemLock, &renewals);
        let runtime =
            world.runtime(store, activities(&work), orchestrations(), RuntimeOptions::default()).await;
        let client = world.client();
        client.start_orchestration("a", "Work", "x").await.unwrap();
        work.waiting().await;
        renewals.waiting().await;
        world.clock.sleep(Duration::from_secs(8)).await;
        assert!(runtime.health().renewal_lag > Duration::from_secs(7), "{:?}", runtime.health());
        renewals.open();
        work.open();
        assert_eq!(output(client.wait_for_orchestration("a", LONG).await.unwrap()), "x");
        assert_eq!(runtime.health().renewal_lag, Duration::ZERO);
        runtime.shutdown(None).await;
    });
}
