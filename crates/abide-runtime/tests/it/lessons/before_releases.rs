//! §7, *earlier*: absolute timers, crashes around an acknowledgement, siblings, one turn at a time, late commits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use abide_model::EventKind;
use abide_sim::{Fault, FaultPlan, Gate};

use super::scene::{Code, Way, every_way};

#[test]
fn lesson_07_earlier_a_two_timers_in_sequence_fire_at_their_own_times() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Waits", |ctx, _| async move {
            ctx.schedule_timer(Duration::from_secs(10)).await;
            ctx.schedule_activity("Sleep", "5000").await?;
            ctx.schedule_timer(Duration::from_secs(10)).await;
            Ok(String::new())
        });
        scene.node(code).await;
        let before = scene.time();
        scene.run("waits", "Waits", "").await.unwrap();
        let took = scene.time() - before;
        assert!(took >= Duration::from_secs(25) && took < Duration::from_secs(26), "{took:?}");
        let events = scene.events("waits", 1).await;
        let fired = events.iter().filter_map(|event| {
            if let EventKind::TimerFired { fire_at_ms } = event.kind {
                Some((event, fire_at_ms))
            } else {
                None
            }
        });
        for (event, due) in fired {
            assert!(event.timestamp_ms >= due, "early: {event:?}");
            assert!(event.timestamp_ms < due + 500, "late: {event:?}");
        }
    });
}

#[test]
fn lesson_07_earlier_b_what_is_acknowledged_before_its_effect_is_durable_is_done_again() {
    every_way(|scene| async move {
        // Fused, a result is in one of the four commits.
        let results = u64::from(scene.way != Way::Fused);
        let (commit, finish) = (scene.way.commit(), scene.way.finish());
        let code = || {
            Code::new().orchestration("Steps", |ctx, _| async move {
                ctx.schedule_timer(Duration::from_secs(1)).await;
                let echo = ctx.schedule_activity("Echo", "done").await?;
                ctx.schedule_timer(Duration::from_secs(1)).await;
                Ok(echo)
            })
        };
        // The process dies before the effect of a call, and after it.
        for (operation, calls) in [(commit, 4), (finish, results)] {
            for (number, fault) in (1..=calls).flat_map(|n| [(n, Fault::HangBefore), (n, Fault::HangAfter)]) {
                let name = format!("{operation} {number} {fault:?}");
                scene.faults.set_plan(FaultPlan::none().at(operation, number, fault));
                let doomed = scene.doomed_node(code()).await;
                scene.start(&name, "Steps", "").await;
                while !scene.faults.fired() {
                    scene.pass(Duration::from_millis(100)).await;
                }
                doomed.kill();
                doomed.all_ended().await;
                scene.faults.set_plan(FaultPlan::none());
                scene.node(code()).await;
                assert_eq!(scene.end_of(&name).await.unwrap(), "done", "{name}");
                scene.close().await;
            }
        }
    });
}

#[test]
fn lesson_07_earlier_c_children_at_the_same_place_of_two_parents_are_two() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Parent", |ctx, name| async move {
            ctx.schedule_sub_orchestration("Hello", name).await
        });
        scene.node(code).await;
        scene.start("a", "Parent", "of a").await;
        scene.start("b", "Parent", "of b").await;
        assert_eq!(scene.end_of("a").await.unwrap(), "hello of a");
        assert_eq!(scene.end_of("b").await.unwrap(), "hello of b");
    });
}

#[test]
fn lesson_07_earlier_d_many_dispatchers_take_one_turn_at_a_time() {
    every_way(|scene| async move {
        let (inside, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
        for _ in 0..5 {
            let (inside, most) = (Arc::clone(&inside), Arc::clone(&most));
            let code = Code::new()
                .activity("Alone", move |_, number| {
                    let (inside, most) = (Arc::clone(&inside), Arc::clone(&most));
                    async move {
                        most.fetch_max(inside.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
                        abide_sim::VirtualClock::new().sleep(Duration::from_millis(10)).await;
                        inside.fetch_sub(1, Ordering::Relaxed);
                        Ok(number)
                    }
                })
                .orchestration("Counts", |ctx, _| async move {
                    let mut said = Vec::new();
                    for _ in 0..20 {
                        let message = ctx.dequeue_event("q").await;
                        said.push(ctx.schedule_activity("Alone", message).await?);
                    }
                    Ok(said.join(" "))
                });
            scene.node(code).await;
        }
        scene.start("counts", "Counts", "").await;
        scene.until_idle("counts").await;
        let messages: Vec<_> = (0..20).map(|number| number.to_string()).collect();
        for message in &messages {
            scene.client().enqueue_event("counts", "q", message.clone()).await.unwrap();
        }
        assert_eq!(scene.end_of("counts").await.unwrap(), messages.join(" "));
        assert_eq!(most.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn lesson_07_earlier_e_a_late_commit_does_not_bring_back_what_was_deleted() {
    every_way(|scene| async move {
        let gate = Gate::closed();
        scene.node(Code::new()).await;
        scene.start("it", "Wait", "").await;
        scene.until_idle("it").await;
        scene.faults.hold(scene.way.commit(), &gate);
        scene.client().raise_event("it", "go", "now").await.unwrap();
        gate.waiting().await;
        scene.client().delete_instance("it", true).await.unwrap();
        gate.open();
        scene.pass(Duration::from_secs(60)).await;
        let dump = scene.world.memory.dump();
        assert!(dump.instances.is_empty() && dump.work.is_empty() && dump.messages.is_empty(), "{dump:?}");
        assert_eq!(scene.run("it", "Hello", "again").await.unwrap(), "hello again");
    });
}
