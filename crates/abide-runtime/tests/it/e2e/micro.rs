//! §32, §33: small facts, and the constants.

use abide_model::{Either2, PruneOptions, WorkItem, limits};
use abide_sim::Gate;

use super::support::{Log, Node, World, names, on_every_store};

#[test]
fn an_error_at_once_makes_two_rows() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |_, _| async move { Err("no".to_owned()) });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap_err(), "no");
        assert_eq!(world.trace("i").await, ["1 OrchestrationStarted", "2 OrchestrationFailed no"]);
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_wait_and_its_signal_make_four_rows() {
    on_every_store(async |world: World| {
        let node =
            Node::new().orchestration("Main", |ctx, _| async move { Ok(ctx.schedule_wait("s").await) });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        world.raise("i", "s", "x").await;
        world.end("i").await.unwrap();
        assert_eq!(
            world.trace("i").await,
            [
                "1 OrchestrationStarted",
                "2 ExternalSubscribed s",
                "3 ExternalEvent s:x",
                "4 OrchestrationCompleted x"
            ]
        );
        runtime.shutdown(None).await;
    });
}

#[test]
fn of_two_signals_in_one_batch_the_first_wins_the_race() {
    on_every_store(async |world: World| {
        let node = || {
            Node::new().orchestration("Main", |ctx, _| async move {
                let (a, b) = (ctx.schedule_wait("a"), ctx.schedule_wait("b"));
                Ok(match ctx.select2(a, b).await {
                    Either2::First(a) => a,
                    Either2::Second(b) => b,
                })
            })
        };
        let runtime = world.run(node()).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 2).await;
        runtime.shutdown(None).await;
        world.raise("i", "b", "b").await;
        world.raise("i", "a", "a").await;
        let runtime = world.run(node()).await;
        assert_eq!(world.end("i").await.unwrap(), "b");
        runtime.shutdown(None).await;
    });
}

#[test]
fn starting_a_completed_instance_again_gives_the_same_output() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            let now = ctx.utc_now().await?.duration_since(std::time::UNIX_EPOCH).unwrap();
            Ok(now.as_nanos().to_string())
        });
        let runtime = world.run(node).await;
        let first = world.start_and_end("i", "Main", "").await.unwrap();
        world.start("i", "Main", "").await;
        world.is_drained().await;
        assert_eq!(world.end("i").await.unwrap(), first);
        runtime.shutdown(None).await;
    });
}

#[test]
fn pruning_a_chain_keeps_the_last_ones_and_always_the_current() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, input| async move {
            let left: u32 = input.parse().unwrap();
            if left == 0 { Ok(String::new()) } else { ctx.continue_as_new((left - 1).to_string()).await }
        });
        let runtime = world.run(node).await;
        world.start_and_end("i", "Main", "5").await.unwrap();
        let client = world.client();
        let keep = |keep_last| PruneOptions { keep_last: Some(keep_last), completed_before: None };
        for (kept, expected) in [(10, vec![1, 2, 3, 4, 5, 6]), (3, vec![4, 5, 6]), (1, vec![6]), (0, vec![6])]
        {
            client.prune_executions("i", keep(kept)).await.unwrap();
            assert_eq!(client.list_executions("i").await.unwrap(), expected, "{kept}");
        }
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_deleted_id_can_be_used_again_and_hears_nothing_of_its_past() {
    on_every_store(async |world: World| {
        let (log, gate) = (Log::new(), Gate::closed());
        let node = Node::new()
            .held("Held", &log, &gate)
            .orchestration("Old", |ctx, _| async move { ctx.schedule_activity("Held", "old").await })
            .orchestration("New", |ctx, _| async move { Ok(ctx.schedule_wait("s").await) });
        let runtime = world.run(node).await;
        world.start("i", "Old", "").await;
        log.has(1).await;
        world.client().delete_instance("i", true).await.unwrap();
        world.start("i", "New", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        // The activity of the deleted one returns now: its row is gone, and so is whoever asked.
        gate.open();
        let late = WorkItem::TimerFired { instance: "i".to_owned(), execution_id: 9, id: 2, fire_at_ms: 1 };
        world.mail(late).await;
        world.is_drained().await;
        world.raise("i", "s", "new").await;
        assert_eq!(world.end("i").await.unwrap(), "new");
        assert_eq!(names(&world.history("i").await).len(), 4);
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_join_of_1024_completes_also_when_it_is_replayed_each_turn() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            let all = (0..1_024).map(|n| ctx.schedule_activity("Echo", n.to_string())).collect();
            let results: Result<Vec<_>, _> = ctx.join(all).await.into_iter().collect();
            let sum: u32 = results?.iter().map(|text| text.parse::<u32>().unwrap()).sum();
            Ok(sum.to_string())
        });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), (0..1_024).sum::<u32>().to_string());
        assert_eq!(world.history("i").await.len(), 2 + 2 * 1_024);
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_chain_of_continue_as_new_runs_on_and_on() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, input| async move {
            let left: u32 = input.parse().unwrap();
            if left == 0 {
                return Ok(ctx.execution_id().to_string());
            }
            ctx.continue_as_new((left - 1).to_string()).await
        });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "50").await.unwrap(), "51");
        runtime.shutdown(None).await;
    });
}

#[test]
fn constants_are_those_of_the_format() {
    assert_eq!(limits::MAX_CARRY_FORWARD_EVENTS, 100);
    assert_eq!(limits::MAX_CUSTOM_STATUS_BYTES, 262_144);
    assert_eq!(limits::MAX_TAG_NAME_BYTES, 256);
    assert_eq!(limits::MAX_KV_KEYS, 150);
    assert_eq!(limits::MAX_KV_VALUE_BYTES, 65_536);
    assert_eq!(abide_model::SUB_ORCH_AUTO_PREFIX, "sub::");
    assert_eq!(abide_model::INITIAL_EXECUTION_ID, 1);
}
