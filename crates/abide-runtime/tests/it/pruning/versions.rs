//! Pruning while code changes.

use abide_engine::OrchestrationContext;
use abide_model::{Event, EventKind};
use abide_runtime::AutoPruneConfig;

use super::{keep, keeps};
use crate::e2e::support::{Node, World, millis, on_every_store};

async fn first(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.schedule_activity("Echo", "batch").await?;
    ctx.schedule_wait("go").await;
    ctx.continue_as_new(input).await
}

async fn second(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let (one, two) = (ctx.schedule_activity("Echo", "half"), ctx.schedule_activity("Echo", "other half"));
    ctx.join(vec![one, two]).await;
    match ctx.schedule_wait("go").await.as_str() {
        "end" => Ok("done by the second".to_owned()),
        _ => ctx.continue_as_new(input).await,
    }
}

fn old() -> Node {
    Node::new().version("Process", "1.0.0", first).with(|options| {
        options.unregistered_backoff.base_delay = millis(20);
        options.unregistered_backoff.max_delay = millis(20);
    })
}

fn both() -> Node {
    old().version("Process", "2.0.0", second)
}

/// Waits until an execution waits for its signal.
async fn waits(world: &World, execution: u64) {
    world
        .until(async || {
            let events = world.history_of("i", execution).await;
            events.iter().any(|event| matches!(event.kind, EventKind::ExternalSubscribed { .. }))
        })
        .await;
}

/// Has one execution after the other continue, until this one waits.
async fn go_on(world: &World, from: u64, to: u64) {
    for execution in from..to {
        waits(world, execution).await;
        world.raise("i", "go", "on").await;
    }
    waits(world, to).await;
}

/// Two executions of the old version, then two of the new one.
async fn upgraded(world: &World, node: impl Fn() -> Node) {
    let runtime = world.run(old()).await;
    world.start("i", "Process", "").await;
    go_on(world, 1, 2).await;
    runtime.shutdown(None).await;
    let runtime = world.run(node()).await;
    go_on(world, 2, 4).await;
    runtime.shutdown(None).await;
}

async fn left(world: &World) -> Vec<u64> {
    world.client().list_executions("i").await.unwrap()
}

async fn prune(world: &World, keep_last: u32) {
    world.client().prune_executions("i", keep(keep_last)).await.unwrap();
}

fn version_of(events: &[Event]) -> &str {
    match &events[0].kind {
        EventKind::OrchestrationStarted { version, .. } => version,
        other => panic!("no start: {other:?}"),
    }
}

#[test]
fn a_executions_of_the_new_version_go_on_after_a_prune() {
    on_every_store(async |world: World| {
        upgraded(&world, both).await;
        prune(&world, 2).await;
        assert_eq!(left(&world).await, [3, 4]);
        for execution in [3, 4] {
            assert_eq!(version_of(&world.history_of("i", execution).await), "2.0.0");
        }
        // A new runtime has to replay what is left.
        let runtime = world.run(both()).await;
        world.raise("i", "go", "end").await;
        assert_eq!(world.end("i").await.unwrap(), "done by the second");
        runtime.shutdown(None).await;
    });
}

#[test]
fn what_is_current_replays_after_everything_else_is_pruned() {
    on_every_store(async |world: World| {
        upgraded(&world, both).await;
        let before = world.history("i").await;
        prune(&world, 1).await;
        assert_eq!(left(&world).await, [4]);
        assert_eq!(world.history("i").await, before);
        let runtime = world.run(both()).await;
        world.raise("i", "go", "end").await;
        assert_eq!(world.end("i").await.unwrap(), "done by the second");
        assert_eq!(world.history("i").await[..before.len()], before);
        runtime.shutdown(None).await;
    });
}

/// What is pruned, in the tests that compare with and without.
const PRUNED_OR_NOT: [Option<u32>; 2] = [Some(1), None];

#[test]
fn b_a_rollback_waits_for_the_version_whether_pruned_or_not() {
    for pruned in PRUNED_OR_NOT {
        on_every_store(async |world: World| {
            upgraded(&world, both).await;
            if let Some(keep_last) = pruned {
                prune(&world, keep_last).await;
            }
            let before = world.history("i").await;
            let witness =
                |ctx: OrchestrationContext, _| async move { ctx.schedule_activity("Echo", "seen").await };
            let rolled_back = world.run(old().orchestration("Witness", witness)).await;
            world.raise("i", "go", "end").await;
            // What comes later is done, so it was looked at; some time later, several times.
            assert_eq!(world.start_and_end("witness", "Witness", "").await.unwrap(), "seen");
            world.pass(millis(60)).await;
            // It does not run, and does not fail either.
            assert_eq!(world.history("i").await, before);
            rolled_back.shutdown(None).await;
            let again = world.run(both()).await;
            assert_eq!(world.end("i").await.unwrap(), "done by the second");
            again.shutdown(None).await;
        });
    }
}

/// How it fails when this code meets the history, after this prune.
async fn failure_of(world: &World, pruned: Option<u32>, node: Node) -> String {
    upgraded(world, both).await;
    if let Some(keep_last) = pruned {
        prune(world, keep_last).await;
    }
    let runtime = world.run(node).await;
    world.raise("i", "go", "end").await;
    let failure = world.end("i").await.unwrap_err();
    runtime.shutdown(None).await;
    failure
}

#[test]
fn b_a_rollback_under_the_same_version_does_not_fit_whether_pruned_or_not() {
    on_every_store(async |world: World| {
        let rolled_back = || Node::new().version("Process", "2.0.0", first);
        let pruned = failure_of(&world, Some(1), rolled_back()).await;
        assert!(pruned.starts_with("nondeterministic: "), "{pruned}");
        world.client().delete_instance("i", true).await.unwrap();
        assert_eq!(failure_of(&world, None, rolled_back()).await, pruned);
    });
}

#[test]
fn code_that_does_not_fit_is_noticed_as_if_nothing_had_been_pruned() {
    on_every_store(async |world: World| {
        let changed = || {
            Node::new().version("Process", "2.0.0", |ctx, _| async move {
                ctx.schedule_activity("Another", "").await
            })
        };
        let pruned = failure_of(&world, Some(1), changed()).await;
        assert!(pruned.contains("Another") && pruned.contains("event 2 of execution 4"), "{pruned}");
        world.client().delete_instance("i", true).await.unwrap();
        assert_eq!(failure_of(&world, None, changed()).await, pruned);
    });
}

#[test]
fn c_what_an_old_version_did_is_lost_unless_it_is_kept() {
    on_every_store(async |world: World| {
        upgraded(&world, both).await;
        prune(&world, 10).await;
        assert_eq!(version_of(&world.history_of("i", 2).await), "1.0.0");
        assert!(world.client().get_execution_info("i", 2).await.is_ok());
        prune(&world, 2).await;
        assert_eq!(world.history_of("i", 2).await, []);
        assert!(world.client().get_execution_info("i", 2).await.is_err());
    });
}

#[test]
fn policies_that_are_off_during_a_roll_out_keep_everything_and_catch_up_after_it() {
    on_every_store(async |world: World| {
        let policy = |enabled| AutoPruneConfig {
            enabled,
            default_policy: Some(keeps(1)),
            ..AutoPruneConfig::default()
        };
        upgraded(&world, || both().with(|options| options.auto_prune = policy(false))).await;
        assert_eq!(left(&world).await, [1, 2, 3, 4]);
        let runtime = world.run(both().with(|options| options.auto_prune = policy(true))).await;
        go_on(&world, 4, 5).await;
        assert_eq!(left(&world).await, [4, 5]);
        runtime.shutdown(None).await;
    });
}
