//! Pruning parents: what becomes of their children. Nothing, whether pruned or not.

use std::cell::Cell;

use abide_client::ClientError;
use abide_model::WorkItem;
use abide_provider::OrphanFilter;

use super::keep;
use crate::e2e::support::{Node, World, on_every_store};
use crate::lessons::listener::Listener;

/// `Quick` ends by itself, `Bad` fails, `Slow` waits for a signal.
fn node() -> Node {
    Node::new()
        .orchestration("Quick", |ctx, input| async move { ctx.schedule_activity("Echo", input).await })
        .orchestration("Bad", |_, input| async move { Err(input) })
        .orchestration("Slow", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Prune {
    Yes,
    No,
}

/// Runs a scenario twice on every store: once its parent is pruned, once it is not.
fn pruned_or_not(scenario: impl AsyncFn(World, Prune)) {
    for prune in [Prune::Yes, Prune::No] {
        println!("{prune:?}");
        on_every_store(async |world: World| scenario(world, prune).await);
    }
}

/// Starts a parent, waits until its second execution waits for its end, and prunes the first.
async fn begin(world: &World, prune: Prune) {
    world.start("i", "Parent", "").await;
    world.until(async || world.history_of("i", 2).await.len() >= 2).await;
    match prune {
        Prune::No => {}
        Prune::Yes => {
            world.client().prune_executions("i", keep(1)).await.unwrap();
            assert_eq!(world.client().list_executions("i").await.unwrap(), [2]);
        }
    }
}

async fn tree(world: &World) -> Vec<String> {
    let mut ids = world.client().get_instance_tree("i").await.unwrap().all_ids;
    ids.sort();
    ids
}

async fn clean_up(world: &World, filter: OrphanFilter) -> u64 {
    world.client().cleanup_orphaned_instances(filter).await.unwrap().instances_deleted
}

#[test]
fn children_outlive_the_execution_that_asked_for_them_and_know_their_parent() {
    pruned_or_not(async |world, prune| {
        let node = node().orchestration("Parent", |ctx, input| async move {
            let child = format!("child-{}", ctx.execution_id());
            ctx.schedule_sub_orchestration_with_id("Quick", child, "done").await?;
            if ctx.execution_id() == 1 {
                return ctx.continue_as_new(input).await;
            }
            Ok(ctx.schedule_wait("end").await)
        });
        let runtime = world.run(node).await;
        world.start("i", "Parent", "").await;
        world.recorded("i", "SubOrchestrationCompleted", 1).await;
        world.until(async || !world.history_of("i", 2).await.is_empty()).await;
        world.recorded("i", "SubOrchestrationCompleted", 1).await;
        if prune == Prune::Yes {
            world.client().prune_executions("i", keep(1)).await.unwrap();
        }
        assert_eq!(tree(&world).await, ["child-1", "child-2", "i"]);
        for child in ["child-1", "child-2"] {
            let known = world.client().get_instance_info(child).await.unwrap();
            assert_eq!(known.parent_instance_id.as_deref(), Some("i"));
            assert_eq!(known.output.as_deref(), Some("done"));
            assert!(!world.history(child).await.is_empty());
        }
        world.raise("i", "end", "over").await;
        assert_eq!(world.end("i").await.unwrap(), "over");
        runtime.shutdown(None).await;
    });
}

#[test]
fn unobserved_1_a_loser_is_cancelled_whether_pruned_or_not() {
    pruned_or_not(async |world, prune| {
        let node = node().orchestration("Parent", |ctx, input| async move {
            if ctx.execution_id() > 1 {
                return Ok(ctx.schedule_wait("end").await);
            }
            let quick = ctx.schedule_sub_orchestration_with_id("Quick", "quick", "first");
            let slow = ctx.schedule_sub_orchestration_with_id("Slow", "slow", "");
            let _winner = ctx.select2(quick, slow).await;
            ctx.continue_as_new(input).await
        });
        let runtime = world.run(node).await;
        begin(&world, prune).await;
        assert_eq!(world.end("quick").await.unwrap(), "first");
        let loser = world.end("slow").await.unwrap_err();
        assert!(loser.starts_with("canceled"), "{loser}");
        world.raise("i", "end", "over").await;
        assert_eq!(world.end("i").await.unwrap(), "over");
        world.is_drained().await;
        runtime.shutdown(None).await;
    });
}

#[test]
fn unobserved_2_a_child_that_nobody_awaits_is_cancelled_whether_pruned_or_not() {
    pruned_or_not(async |world, prune| {
        let node = node().orchestration("Parent", |ctx, input| async move {
            if ctx.execution_id() > 1 {
                return Ok(ctx.schedule_wait("end").await);
            }
            let _forgotten = ctx.schedule_sub_orchestration_with_id("Slow", "forgotten", "");
            ctx.schedule_sub_orchestration_with_id("Quick", "quick", "first").await?;
            ctx.continue_as_new(input).await
        });
        let runtime = world.run(node).await;
        begin(&world, prune).await;
        let forgotten = world.end("forgotten").await.unwrap_err();
        assert!(forgotten.starts_with("canceled"), "{forgotten}");
        world.raise("i", "end", "over").await;
        assert_eq!(world.end("i").await.unwrap(), "over");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_late_completion_reaches_nobody_whether_pruned_or_not() {
    pruned_or_not(async |world, prune| {
        let node = node().orchestration("Parent", |ctx, input| async move {
            if ctx.execution_id() > 1 {
                // At the place of the first one's child, so that a confused delivery would be taken for its answer.
                let mine = ctx.schedule_sub_orchestration_with_id("Slow", "mine", "");
                return mine.await;
            }
            let _lost = ctx.schedule_sub_orchestration_with_id("Slow", "lost", "");
            ctx.schedule_sub_orchestration_with_id("Quick", "quick", "first").await?;
            ctx.continue_as_new(input).await
        });
        let runtime = world.run(node).await;
        begin(&world, prune).await;
        let late = WorkItem::SubOrchCompleted {
            parent_instance: "i".to_owned(),
            parent_execution_id: 1,
            parent_id: 2,
            result: "too late".to_owned(),
        };
        world.mail(late).await;
        world.is_drained().await;
        world.raise("mine", "go", "in time").await;
        assert_eq!(world.end("i").await.unwrap(), "in time");
        runtime.shutdown(None).await;
    });
}

/// A parent whose first execution leaves a child of every fate behind, and observes none.
fn careless() -> Node {
    node().orchestration("Parent", |ctx, input| async move {
        if ctx.execution_id() > 1 {
            return Ok(ctx.schedule_wait("end").await);
        }
        let _running = ctx.schedule_sub_orchestration_with_id("Slow", "running", "");
        let _failed = ctx.schedule_sub_orchestration_with_id("Bad", "failed", "no");
        let _completed = ctx.schedule_sub_orchestration_with_id("Quick", "completed", "yes");
        ctx.schedule_wait("on").await;
        ctx.continue_as_new(input).await
    })
}

/// Both have ended when the parent continues.
async fn leave_behind(world: &World, prune: Prune) {
    world.start("i", "Parent", "").await;
    assert_eq!(world.end("completed").await.unwrap(), "yes");
    assert_eq!(world.end("failed").await.unwrap_err(), "no");
    world.raise("i", "on", "").await;
    world.until(async || world.history_of("i", 2).await.len() >= 2).await;
    if prune == Prune::Yes {
        world.client().prune_executions("i", keep(1)).await.unwrap();
    }
}

#[test]
fn an_orphan_ends_the_same_whether_its_parents_execution_is_pruned_or_not() {
    pruned_or_not(async |world, prune| {
        let runtime = world.run(careless()).await;
        leave_behind(&world, prune).await;
        assert_eq!(world.end("completed").await.unwrap(), "yes");
        assert_eq!(world.end("failed").await.unwrap_err(), "no");
        let running = world.end("running").await.unwrap_err();
        assert!(running.starts_with("canceled"), "{running}");
        assert_eq!(tree(&world).await, ["completed", "failed", "i", "running"]);
        runtime.shutdown(None).await;
    });
}

#[test]
fn orphans_are_cleaned_up_and_nobody_else() {
    pruned_or_not(async |world, prune| {
        let runtime = world.run(careless()).await;
        world.start("i", "Parent", "").await;
        assert_eq!(world.end("completed").await.unwrap(), "yes");
        // The execution that asked for them still runs.
        assert_eq!(clean_up(&world, OrphanFilter::default()).await, 0);
        leave_behind(&world, prune).await;
        world.end("running").await.unwrap_err();

        let only =
            |status: &str| OrphanFilter { child_status: vec![status.to_owned()], ..OrphanFilter::default() };
        let refused = world.client().cleanup_orphaned_instances(only("Running")).await.unwrap_err();
        assert!(matches!(refused, ClientError::InvalidInput { .. }), "{refused:?}");
        let none_so_old = OrphanFilter { parent_completed_before: Some(1), ..OrphanFilter::default() };
        assert_eq!(clean_up(&world, none_so_old).await, 0);
        assert_eq!(clean_up(&world, only("Completed")).await, 1);
        assert_eq!(tree(&world).await, ["failed", "i", "running"]);
        assert_eq!(clean_up(&world, OrphanFilter { limit: Some(1), ..OrphanFilter::default() }).await, 1);
        assert_eq!(clean_up(&world, OrphanFilter::default()).await, 1);
        assert_eq!(clean_up(&world, OrphanFilter::default()).await, 0);
        assert_eq!(tree(&world).await, ["i"]);
        // Their parent has not noticed.
        world.raise("i", "end", "over").await;
        assert_eq!(world.end("i").await.unwrap(), "over");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_detached_start_is_nobodys_child_and_no_orphan() {
    pruned_or_not(async |world, prune| {
        let node = node().orchestration("Parent", |ctx, input| async move {
            if ctx.execution_id() > 1 {
                return Ok(ctx.schedule_wait("end").await);
            }
            ctx.schedule_orchestration("Slow", "detached", "");
            ctx.continue_as_new(input).await
        });
        let runtime = world.run(node).await;
        begin(&world, prune).await;
        assert_eq!(tree(&world).await, ["i"]);
        world.raise("i", "end", "over").await;
        world.end("i").await.unwrap();
        world.recorded("detached", "ExternalSubscribed", 1).await;
        assert_eq!(clean_up(&world, OrphanFilter::default()).await, 0);
        world.raise("detached", "go", "by itself").await;
        assert_eq!(world.end("detached").await.unwrap(), "by itself");
        assert_eq!(clean_up(&world, OrphanFilter::default()).await, 0);
        let known = world.client().get_instance_info("detached").await.unwrap();
        assert_eq!(known.parent_instance_id, None);
        runtime.shutdown(None).await;
    });
}

#[test]
fn who_started_whom_can_be_said_in_a_line_that_outlives_the_history() {
    let (heard, stores) = (Listener::default(), Cell::new(0));
    tracing::subscriber::with_default(heard.clone(), || {
        crate::e2e::support::virtually(async |world: World| {
            stores.set(stores.get() + 1);
            let node = node().orchestration("Parent", |ctx, input| async move {
                if ctx.execution_id() > 1 {
                    return Ok(ctx.schedule_wait("end").await);
                }
                ctx.trace_info("starts child-7");
                ctx.set_kv_value("child-7", "started in execution 1");
                ctx.schedule_sub_orchestration_with_id("Quick", "child-7", "").await?;
                ctx.continue_as_new(input).await
            });
            let runtime = world.run(node).await;
            begin(&world, Prune::Yes).await;
            let value = world.client().get_kv_value("i", "child-7").await.unwrap();
            assert_eq!(value.as_deref(), Some("started in execution 1"));
            runtime.shutdown(None).await;
        });
    });
    // Once for each store, however often it is replayed.
    assert_eq!(heard.count("starts child-7"), stores.get(), "{:#?}", heard.lines());
}
