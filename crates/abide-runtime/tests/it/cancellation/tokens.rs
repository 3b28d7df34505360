//! What an activity hears, and what it can pass on.

use std::sync::mpsc::{Sender, channel};

use abide_model::Either2;

use crate::e2e::support::{Left, Log, Node, World, in_real_time, on_every_store, on_own_stores, seconds};

/// An orchestration that asks for three activities at once.
fn three(node: Node) -> Node {
    node.orchestration("Three", |ctx, _| async move {
        let all = (1..=3).map(|number| ctx.schedule_activity("Activity", number.to_string()));
        ctx.join(all.collect()).await.swap_remove(0)
    })
}

#[test]
fn an_activity_that_begins_is_not_asked_to_stop() {
    on_every_store(async |world: World| {
        let node = Node::new()
            .activity("Looks", |ctx, _| async move {
                let token = ctx.cancellation_token();
                let heard = [ctx.is_cancellation_requested(), ctx.is_cancelled(), token.is_cancelled()];
                Ok(format!("{heard:?} {:?}", ctx.cancellation_reason()))
            })
            .orchestration("Main", |ctx, _| async move { ctx.schedule_activity("Looks", "").await });
        let runtime = world.run(node).await;
        let seen = world.start_and_end("i", "Main", "").await;
        assert_eq!(seen.unwrap(), "[false, false, false] None");
        runtime.shutdown(None).await;
    });
}

#[test]
fn three_activities_of_one_orchestration_all_hear_and_each_ends_in_its_own_way() {
    on_own_stores(async |world: World| {
        let log = Log::new();
        let writes = log.clone();
        let node = Node::new().activity("Activity", move |ctx, number| {
            let log = writes.clone();
            async move {
                log.write("began");
                ctx.cancelled().await;
                log.write(format!("{number} {:?}", ctx.cancellation_reason().unwrap()));
                match number.as_str() {
                    "1" => Ok("done".to_owned()),
                    "2" => Err("stopped".to_owned()),
                    // Not at all: it is dropped when its grace is over.
                    _ => std::future::pending().await,
                }
            }
        });
        let node = node.with(|options| options.activity_cancellation_grace_period = seconds(1));
        let runtime = world.run(three(node)).await;
        world.start("i", "Three", "").await;
        log.has(3).await;
        world.client().cancel_instance("i", "why").await.unwrap();
        let mut heard = log.has(6).await.split_off(3);
        heard.sort();
        let ended = ["1", "2", "3"].map(|n| format!("{n} OrchestrationEnded {{ status: Failed }}"));
        assert_eq!(heard, ended);
        assert_eq!(world.end("i").await.unwrap_err(), "canceled: why");
        runtime.shutdown(None).await;
        world.leaves(Left::NOTHING).await;
    });
}

/// An orchestration that stops waiting for an activity when it is told `go`.
fn gives_up(node: Node) -> Node {
    node.orchestration("Main", |ctx, _| async move {
        let activity = ctx.schedule_activity("Activity", "");
        Ok(match ctx.select2(activity, ctx.schedule_wait("go")).await {
            Either2::First(result) => format!("{result:?}"),
            Either2::Second(_) => "gave up".to_owned(),
        })
    })
}

/// A thread that an activity starts by itself: it waits until it may go on, and says so.
#[expect(clippy::disallowed_methods, reason = "what user code does on its own is nobody's to supervise")]
fn thread(work: impl FnOnce() + Send + 'static) {
    std::thread::spawn(work);
}

#[test]
fn threads_that_have_the_token_hear_what_their_activity_hears() {
    in_real_time(async |world: World| {
        let log = Log::new();
        let writes = log.clone();
        let node = Node::new().activity("Activity", move |ctx, _| {
            let log = writes.clone();
            async move {
                for _ in 0..2 {
                    let (token, log) = (ctx.cancellation_token(), log.clone());
                    thread(move || {
                        futures::executor::block_on(token.cancelled());
                        log.write("thread stopped");
                    });
                }
                log.write("began");
                ctx.cancelled().await;
                log.write("activity stopped");
                Ok(String::new())
            }
        });
        let runtime = world.run(gives_up(node)).await;
        world.start("i", "Main", "").await;
        log.has(1).await;
        world.raise("i", "go", "").await;
        let mut lines = log.has(4).await;
        lines.sort();
        assert_eq!(lines, ["activity stopped", "began", "thread stopped", "thread stopped"]);
        runtime.shutdown(None).await;
    });
}

/// What the guide warns of: the activity is dropped when its grace is over, and its thread knows nothing of it.
#[test]
fn a_thread_without_the_token_outlives_its_activity() {
    in_real_time(async |world: World| {
        let log = Log::new();
        let (hands_over, to_thread) = channel::<Sender<()>>();
        let node = Node::new().activity("Activity", {
            let (writes, hands_over) = (log.clone(), hands_over);
            move |_, _| {
                let (log, (go_on, may_go_on)) = (writes.clone(), channel());
                hands_over.send(go_on).unwrap();
                let in_thread = log.clone();
                thread(move || {
                    may_go_on.recv().unwrap();
                    in_thread.write("thread goes on");
                });
                log.write("began");
                std::future::pending()
            }
        });
        let node = node.with(|options| {
            options.worker_concurrency = 1;
            options.activity_cancellation_grace_period = std::time::Duration::from_millis(10);
        });
        let node =
            node.orchestration("Next", |ctx, _| async move { ctx.schedule_activity("Echo", "next").await });
        let runtime = world.run(gives_up(node)).await;
        world.start("i", "Main", "").await;
        log.has(1).await;
        world.raise("i", "go", "").await;
        assert_eq!(world.end("i").await.unwrap(), "gave up");
        // The activity is gone: its slot is free.
        assert_eq!(world.start_and_end("j", "Next", "").await.unwrap(), "next");
        to_thread.recv().unwrap().send(()).unwrap();
        assert_eq!(log.has(2).await, ["began", "thread goes on"]);
        runtime.shutdown(None).await;
    });
}
