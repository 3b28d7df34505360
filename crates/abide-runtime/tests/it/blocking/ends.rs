//! Canceling and deleting instances blocked by each kind of problem, alone and as children.

use abide_model::{EventKind, OrchestrationStatus};
use abide_provider::{BlockInstance, HoldWork, LeaseInstances, LeaseWork, TagFilter};

use super::*;
use crate::lessons::scene::ways;

/// What blocks an instance.
#[derive(Debug, Clone, Copy)]
enum Problem {
    Nondeterminism,
    Panic,
    Corrupt,
    QuarantinedTurn,
    QuarantinedActivity,
}

const PROBLEMS: [Problem; 5] = [
    Problem::Nondeterminism,
    Problem::Panic,
    Problem::Corrupt,
    Problem::QuarantinedTurn,
    Problem::QuarantinedActivity,
];

/// Blocked instances: one alone, and one that `parent` waits for.
const ALONE: &str = "order";
const CHILD: &str = "child";

/// The same code with a parent of orders.
fn with_parent(code: Code) -> Code {
    code.orchestration("Parent", |ctx, _| async move {
        ctx.schedule_sub_orchestration_with_id("Order", CHILD, "o").await
    })
}

/// Blocks both instances by this problem, beside a node that serves them.
async fn block_both(scene: &Scene, problem: Problem) {
    let old = scene.node(with_parent(order("old"))).await;
    scene.start(ALONE, "Order", "o").await;
    scene.start("parent", "Parent", "").await;
    for instance in [ALONE, CHILD] {
        scene.until_idle(instance).await;
    }
    old.shutdown(None).await;
    match problem {
        Problem::Nondeterminism => refuse_both(scene, changed_order("bad")).await,
        Problem::Panic => refuse_both(scene, panicking_order("bad")).await,
        Problem::Corrupt => {
            for instance in [ALONE, CHILD] {
                scene.world.memory.make_history_unreadable(instance, 1);
            }
            refuse_both(scene, order("new")).await;
        }
        Problem::QuarantinedTurn => quarantine_turns(scene).await,
        Problem::QuarantinedActivity => quarantine_activities(scene).await,
    }
    for instance in [ALONE, CHILD] {
        assert_eq!(scene.blocks(instance).await.len(), 1, "{problem:?}: {instance}");
    }
}

/// Wakes both instances beside a node that refuses them.
async fn refuse_both(scene: &Scene, code: Code) {
    scene.node(with_parent(code)).await;
    for instance in [ALONE, CHILD] {
        scene.signal(instance).await;
        scene.until_blocked(instance).await;
    }
}

/// Quarantines both turns, as a node does after too many crashes.
async fn quarantine_turns(scene: &Scene) {
    for instance in [ALONE, CHILD] {
        scene.signal(instance).await;
    }
    let request = LeaseInstances {
        limit: 2,
        lease_for: MINUTE,
        wait: Duration::ZERO,
        capabilities: None,
        serving: None,
    };
    for lease in scene.world.memory.lease_instances(request).await.unwrap() {
        let block = BlockInstance {
            token: lease.token,
            kind: BlockKind::Quarantine,
            detail: "its turn was under way in 10 crashes".to_owned(),
            build: "old".to_owned(),
            event_id: None,
            retry_after: None,
        };
        scene.world.memory.block_instance(block).await.unwrap();
    }
    scene.node(with_parent(order("new"))).await;
}

/// Quarantines the second activity of both, as a node does after too many crashes.
async fn quarantine_activities(scene: &Scene) {
    let turns_only = |code: Code| code.options(|options| options.worker_concurrency = 0);
    let node = scene.node(turns_only(with_parent(order("old")))).await;
    for instance in [ALONE, CHILD] {
        scene.signal(instance).await;
    }
    scene.until(|dump| dump.work.len() == 2).await;
    let request = LeaseWork {
        limit: 2,
        lease_for: MINUTE,
        wait: Duration::ZERO,
        session: None,
        tags: TagFilter::Any,
        serving: None,
    };
    for lease in scene.world.memory.lease_work(request).await.unwrap() {
        let hold = HoldWork {
            token: lease.token,
            detail: "activity 'Echo' was under way in 10 crashes".to_owned(),
            build: "old".to_owned(),
        };
        scene.world.memory.hold_work(hold).await.unwrap();
    }
    node.shutdown(None).await;
    scene.node(with_parent(order("new"))).await;
}

/// Runs a test for each problem, in each way.
fn for_each_problem(test: &impl AsyncFn(&Scene)) {
    for problem in PROBLEMS {
        println!("{problem:?}");
        ways(&REMEMBERING, |scene| async move {
            block_both(&scene, problem).await;
            test(&scene).await;
            scene.until(|dump| dump.work.is_empty() && dump.messages.is_empty()).await;
            assert_eq!(scene.blocked().await, 0);
        });
    }
}

#[test]
fn canceled_they_end_and_parents_are_told() {
    for_each_problem(&async |scene| {
        for instance in [ALONE, CHILD] {
            scene.client().cancel_instance(instance, "not needed").await.unwrap();
            let error = scene.end_of(instance).await.unwrap_err();
            assert!(error.contains("not needed"), "{instance}: {error}");
        }
        let error = scene.end_of("parent").await.unwrap_err();
        assert!(error.contains("not needed"), "{error}");
        let is_failure = |kind: &EventKind| matches!(kind, EventKind::SubOrchestrationFailed { .. });
        assert_eq!(scene.count("parent", 1, is_failure).await, 1);
    });
}

#[test]
fn children_end_with_their_canceled_parents() {
    for_each_problem(&async |scene| {
        for instance in [ALONE, "parent"] {
            scene.client().cancel_instance(instance, "not needed").await.unwrap();
        }
        assert_eq!(scene.end_of("parent").await.unwrap_err(), "canceled: not needed");
        for instance in [ALONE, CHILD] {
            scene.end_of(instance).await.unwrap_err();
        }
    });
}

#[test]
fn deleted_they_and_the_children_of_what_is_deleted_leave_nothing_behind() {
    for_each_problem(&async |scene| {
        for instance in [ALONE, "parent"] {
            scene.world.memory.delete_instance(instance, true).await.unwrap();
        }
        for instance in [ALONE, CHILD, "parent"] {
            let status = scene.client().get_orchestration_status(instance).await.unwrap();
            assert!(matches!(status, OrchestrationStatus::NotFound), "{instance}: {status:?}");
            assert!(scene.events(instance, 1).await.is_empty(), "{instance}");
        }
    });
}
