//! Nodes that prune under a lease that is not theirs any more.

use std::sync::Arc;
use std::time::Duration;

use abide_model::{EventKind, PruneOptions};
use abide_provider::{Operation, ProviderAdmin as _};
use abide_sim::{Call, Fault, FaultPlan, FaultStore, Gate, Offset, VirtualClock};

use super::keep;
use crate::lessons::scene::{Code, Scene, Way, every_way, ways};

/// The fifth execution prunes in its first turn, and waits.
fn code() -> Code {
    Code::bare().orchestration("Main", |ctx, input| async move {
        if ctx.execution_id() < 5 {
            return ctx.continue_as_new(input).await;
        }
        ctx.prune_history(keep(3)).await?;
        Ok(ctx.schedule_wait("end").await)
    })
}

/// A node that is held where it prunes, and does not get its lease renewed until then.
async fn held_node(scene: &Scene, code: fn() -> Code, until: Duration) -> (Arc<FaultStore>, Gate) {
    let renews = Operation::RenewOrchestrationItemLock;
    let fails = move |call: &Call| (call.operation == renews && call.at < until).then_some(Fault::NotApplied);
    let faults = scene.world.faulty(FaultPlan::none().when(fails));
    let gate = Gate::closed();
    faults.hold(Operation::PruneExecutions, &gate);
    // With one thing at a time it does not take the instance over from itself.
    let busy = code().options(|options| options.orchestration_concurrency = 1);
    scene.node_on(scene.through(faults.clone()), scene.world.clock.clone(), busy).await;
    scene.start("i", "Main", "").await;
    gate.waiting().await;
    (faults, gate)
}

/// Another node takes the instance over, and has pruned.
async fn take_over(scene: &Scene) {
    scene.node(code()).await;
    scene.until(|dump| dump.executions.contains_key(&("i".to_owned(), 5))).await;
    assert_eq!(scene.world.memory.list_executions("i").await.unwrap(), [3, 4, 5]);
}

/// As if there had been one node.
async fn is_well(scene: &Scene) {
    assert_eq!(scene.world.memory.list_executions("i").await.unwrap(), [3, 4, 5]);
    let told = |kind: &EventKind| matches!(kind, EventKind::HistoryPruned { executions_deleted: 2, .. });
    assert_eq!(scene.count("i", 5, told).await, 1);
    scene.client().raise_event("i", "end", "bye").await.unwrap();
    assert_eq!(scene.end_of("i").await.unwrap(), "bye");
}

#[test]
fn a_holder_that_lost_its_lease_takes_nothing_that_should_stay() {
    every_way(|scene| async move {
        let (faults, gate) = held_node(&scene, code, Duration::MAX).await;
        take_over(&scene).await;
        gate.open();
        scene.pass(Duration::from_secs(60)).await;
        assert!(faults.count(Operation::PruneExecutions) > 0);
        is_well(&scene).await;
    });
}

/// The third execution prunes, and the ninth waits.
fn long() -> Code {
    Code::bare().orchestration("Main", |ctx, input| async move {
        if ctx.execution_id() == 3 {
            ctx.prune_history(keep(1)).await?;
        }
        if ctx.execution_id() < 9 {
            return ctx.continue_as_new(input).await;
        }
        Ok(ctx.schedule_wait("end").await)
    })
}

#[test]
fn a_holder_that_lost_its_lease_takes_nothing_that_came_after_it() {
    every_way(|scene| async move {
        let (faults, gate) = held_node(&scene, long, Duration::MAX).await;
        scene.node(long()).await;
        scene.until(|dump| dump.executions.contains_key(&("i".to_owned(), 9))).await;
        let kept = scene.world.memory.list_executions("i").await.unwrap();
        gate.open();
        scene.pass(Duration::from_secs(60)).await;
        assert!(faults.count(Operation::PruneExecutions) > 0);
        assert_eq!(kept, [3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(scene.world.memory.list_executions("i").await.unwrap(), kept);
    });
}

/// What ended by a clock that was an hour ahead did not end before half an hour from now, whatever its number.
#[test]
fn a_promise_is_kept_by_its_time_and_takes_nothing_that_ended_later() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
        let soon = VirtualClock::EPOCH.as_millis() + 1_800_000;
        let code = Code::bare().orchestration("Main", move |ctx, input| async move {
            match ctx.execution_id() {
                1 => ctx.continue_as_new(input).await,
                2 => {
                    ctx.schedule_wait("go").await;
                    ctx.continue_as_new(input).await
                }
                _ => {
                    ctx.prune_history(PruneOptions { completed_before: Some(soon), ..keep(1) }).await?;
                    Ok(ctx.schedule_wait("end").await)
                }
            }
        });
        scene.world.clock.set_offset(Offset::Ahead(Duration::from_secs(3_600)));
        scene.node(code).await;
        scene.start("i", "Main", "").await;
        scene.until(|dump| dump.executions.contains_key(&("i".to_owned(), 2))).await;
        scene.until_idle("i").await;
        scene.world.clock.set_offset(Offset::NONE);
        scene.client().raise_event("i", "go", "").await.unwrap();
        scene.until(|dump| dump.executions.contains_key(&("i".to_owned(), 3))).await;
        scene.until_idle("i").await;
        assert_eq!(scene.world.memory.list_executions("i").await.unwrap(), [1, 3]);
    });
}

#[test]
fn a_holder_that_knows_that_its_lease_is_lost_asks_for_nothing() {
    every_way(|scene| async move {
        let (faults, gate) = held_node(&scene, code, Duration::from_secs(6)).await;
        take_over(&scene).await;
        // By then it has heard from its renewal, and the calls that were out are given up.
        scene.pass(Duration::from_secs(20)).await;
        let asked = faults.count(Operation::PruneExecutions);
        scene.pass(Duration::from_secs(60)).await;
        assert_eq!((gate.held(), faults.count(Operation::PruneExecutions)), (0, asked));
        gate.open();
        is_well(&scene).await;
    });
}
