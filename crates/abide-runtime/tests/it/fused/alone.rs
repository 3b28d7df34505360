//! What is fused: the result of the only thing that an instance has under way, where that instance is in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide_model::{Either2, PruneOptions};
use abide_provider::{Operation, TagFilter};
use abide_sim::Gate;

use super::{Written, chain, written};
use crate::lessons::scene::{Code, Way, ways};

#[test]
fn all_turns_of_a_chain_but_the_first_come_with_a_result() {
    ways(&[Way::Fused], |scene| async move {
        let runs = Arc::new(AtomicU64::new(0));
        let node = scene.node(chain(&runs)).await;
        assert_eq!(scene.run("i", "Chain", "7").await.unwrap(), "done");
        assert_eq!(written(&scene), Written { commits: 8, results: 0 });
        // The lease of the first turn, and the look that waits for more.
        assert_eq!(scene.faults.count(Operation::LeaseInstances), 2);
        assert_eq!(scene.faults.count(Operation::ReadHistoryAfter), 0);
        assert_eq!(runs.load(Ordering::Relaxed), 7);
        let told = node.metrics_snapshot().unwrap();
        assert_eq!((told.activity_success, told.orch_completions), (7, 1));
    });
}

#[test]
fn of_a_fan_out_only_the_last_result_is_fused() {
    const MANY: u64 = 5;
    ways(&[Way::Fused], |scene| async move {
        let gate = Gate::closed();
        let held = gate.clone();
        let code = Code::bare()
            .activity("Held", move |_, input| {
                let held = held.clone();
                async move {
                    held.pass().await;
                    Ok(input)
                }
            })
            .orchestration("Many", |ctx, _| async move {
                let all = (0..MANY).map(|number| ctx.schedule_activity("Held", number.to_string()));
                let results: Result<Vec<_>, _> = ctx.join(all.collect()).await.into_iter().collect();
                Ok(results?.join(" "))
            })
            .options(|options| options.worker_concurrency = 5);
        scene.node(code).await;
        scene.start("i", "Many", "").await;
        gate.waiting_for(5).await;
        // One at a time, each with a message and a turn of its own.
        for ended in 1..MANY {
            gate.let_one();
            scene.pass(Duration::from_secs(1)).await;
            assert_eq!(written(&scene), Written { commits: 1 + ended, results: ended });
        }
        gate.let_one();
        assert_eq!(scene.end_of("i").await.unwrap(), "0 1 2 3 4");
        assert_eq!(written(&scene), Written { commits: 1 + MANY, results: MANY - 1 });
    });
}

/// A child is waited for as an activity is: its answer is mail.
#[test]
fn nothing_is_fused_while_a_child_is_under_way() {
    ways(&[Way::Fused], |scene| async move {
        let code = Code::new().orchestration("Parent", |ctx, _| async move {
            let child = ctx.schedule_sub_orchestration_with_id("Wait", "child", "");
            let done = ctx.schedule_activity("Echo", "first").await?;
            let said = child.await?;
            ctx.schedule_activity("Echo", format!("{done} {said}")).await
        });
        scene.node(code).await;
        scene.start("i", "Parent", "").await;
        scene.until_idle("child").await;
        scene.until_idle("i").await;
        assert_eq!(written(&scene).results, 1);
        scene.client().raise_event("child", "go", "second").await.unwrap();
        assert_eq!(scene.end_of("i").await.unwrap(), "first second");
        assert_eq!(written(&scene).results, 1, "the last one is fused");
    });
}

/// What comes by itself, a timer or a message, does not keep a result waiting.
#[test]
fn a_step_is_fused_beside_timers_and_waits_and_what_it_drops_is_removed() {
    ways(&[Way::Fused], |scene| async move {
        let code = Code::bare().orchestration("Race", |ctx, _| async move {
            let (_signal, _message) = (ctx.schedule_wait("go"), ctx.dequeue_event("q"));
            let timer = ctx.schedule_timer(Duration::from_secs(60));
            match ctx.select2(ctx.schedule_activity("Sleep", "1000"), timer).await {
                Either2::First(slept) => slept,
                Either2::Second(()) => Err("too late".to_owned()),
            }
        });
        scene.node(code).await;
        assert_eq!(scene.run("i", "Race", "").await.unwrap(), "1000");
        assert_eq!(written(&scene), Written { commits: 2, results: 0 });
        assert!(scene.world.memory.dump().messages.is_empty(), "the timer is gone");
    });
}

#[test]
fn what_is_not_kept_is_not_fused() {
    ways(&[Way::Fused], |scene| async move {
        let runs = Arc::new(AtomicU64::new(0));
        scene.node(chain(&runs).options(|options| options.instance_cache_bytes = 0)).await;
        assert_eq!(scene.run("i", "Chain", "3").await.unwrap(), "done");
        assert_eq!(written(&scene), Written { commits: 4, results: 3 });
        assert_eq!(runs.load(Ordering::Relaxed), 3);
    });
}

/// One node has the code of the orchestration and takes no activities, the other has only these.
#[test]
fn an_activity_of_an_instance_elsewhere_is_not_fused() {
    ways(&[Way::Fused], |scene| async move {
        let runs = Arc::new(AtomicU64::new(0));
        scene.node(chain(&runs).options(|options| options.worker_tag_filter = TagFilter::None)).await;
        let counted = Arc::clone(&runs);
        let worker = Code::bare().activity("Count", move |_, input| {
            counted.fetch_add(1, Ordering::Relaxed);
            async move { Ok(input) }
        });
        scene.node(worker).await;
        assert_eq!(scene.run("i", "Chain", "3").await.unwrap(), "done");
        assert_eq!(written(&scene), Written { commits: 4, results: 3 });
        assert_eq!(runs.load(Ordering::Relaxed), 3);
    });
}

/// A prune is asked of the host in the middle of a turn, under a lease on the instance.
#[test]
fn a_turn_that_stops_for_its_host_has_a_lease() {
    ways(&[Way::Fused], |scene| async move {
        let code = Code::bare().orchestration("Prunes", |ctx, _| async move {
            ctx.schedule_activity("Echo", "").await?;
            let options = PruneOptions { keep_last: Some(1), ..PruneOptions::default() };
            let pruned = ctx.prune_history(options).await?.executions_deleted.to_string();
            let said = ctx.schedule_activity("Echo", pruned).await?;
            ctx.schedule_activity("Echo", said).await
        });
        scene.node(code).await;
        assert_eq!(scene.run("i", "Prunes", "").await.unwrap(), "0");
        // Not one commit in vain; and the two steps after it are fused.
        assert_eq!(written(&scene), Written { commits: 4, results: 1 });
    });
}
