//! Foreign asynchrony: what reaches into an execution from outside its own poll is told at once and fails it
//! at its next live step; it never changes what is replayed. What stays inside is legal.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use abide_engine::model::Event;
use abide_engine::{DurableFuture, Foreign, OrchestrationContext};
use expect_test::expect;
use futures::channel::{mpsc, oneshot};
use futures::{SinkExt, StreamExt};

use crate::support::drive::{Shelf, cold, elsewhere, end, feed, fresh, observed, recorded, returned, text};
use crate::support::mail::{done, signal, start};
use crate::support::{Code, check, code};

/// Code that leaves its waker on a shelf and waits for an activity.
fn leaves_its_waker(shelf: &Shelf<Waker>) -> Code {
    let shelf = shelf.clone();
    code(move |ctx, _| {
        let shelf = shelf.clone();
        async move {
            poll_fn(|cx| {
                shelf.put(cx.waker().clone());
                Poll::Ready(())
            })
            .await;
            ctx.schedule_activity("a", "").await
        }
    })
}

#[test]
fn a_thread_that_wakes_it_later_fails_it_at_its_next_live_step() {
    let wakers = Shelf::new();
    let (mut execution, told) = observed(&leaves_its_waker(&wakers));
    feed(&mut execution, vec![start("in")]);
    assert_eq!(told.take_all(), vec![]);

    let waker = wakers.take();
    elsewhere(move || waker.wake());
    assert_eq!(told.take_all(), vec![Foreign::Wake], "the listener is told at once");

    expect![[r#"
        T1
          3 ActivityCancelRequested[2] { reason: "orchestration_terminal_failed" }
          4 OrchestrationFailed { details: Configuration { kind: Nondeterminism, resource: "", message: Some("foreign asynchrony in an orchestration: it was woken by something that is not durable\n  Something inside it is not durable: a tokio sleep, a channel, a spawned task, an I/O call. Replay cannot repeat what such things do. Use the context instead (schedule_timer, schedule_activity, dequeue_event), or move the work into an activity.") } }
          -> cancel activity 2
          notice: ActivityCompleted dropped: the execution has ended
          => Failed configuration | nondeterministic: foreign asynchrony in an orchestration: it was woken by something that is not durable
          Something inside it is not durable: a tokio sleep, a channel, a spawned task, an I/O call. Replay cannot repeat what such things do. Use the context instead (schedule_timer, schedule_activity, dequeue_event), or move the work into an activity.
    "#]].assert_eq(&text(&feed(&mut execution, vec![done(2, "r")])));
}

#[test]
fn a_wake_between_turns_is_foreign_on_the_same_thread_too() {
    let wakers = Shelf::new();
    let (mut execution, told) = observed(&leaves_its_waker(&wakers));
    feed(&mut execution, vec![start("in")]);
    wakers.take().wake();
    assert_eq!(told.take_all(), vec![Foreign::Wake]);
    assert!(end(&feed(&mut execution, vec![])).contains("foreign asynchrony"));
}

#[test]
fn a_channel_that_another_thread_completes_is_foreign() {
    let senders = Shelf::new();
    let code = {
        let senders = senders.clone();
        code(move |ctx, _| {
            let (sender, receiver) = oneshot::channel::<String>();
            senders.put(sender);
            async move {
                let _open = ctx.schedule_wait("never");
                receiver.await.map_err(|error| error.to_string())
            }
        })
    };
    let (mut execution, told) = observed(&code);
    assert_eq!(end(&feed(&mut execution, vec![start("in")])), "Running");
    elsewhere(|| senders.take().send("from elsewhere".to_owned())).expect("the receiver is alive");
    assert_eq!(told.take_all(), vec![Foreign::Wake]);
    expect![[r#"
        Failed configuration | nondeterministic: foreign asynchrony in an orchestration: it was woken by something that is not durable
          Something inside it is not durable: a tokio sleep, a channel, a spawned task, an I/O call. Replay cannot repeat what such things do. Use the context instead (schedule_timer, schedule_activity, dequeue_event), or move the work into an activity."#]].assert_eq(&end(&feed(&mut execution, vec![signal("other", "")])));
}

/// Code that leaves its context and an activity's future on shelves, and waits.
struct Giveaway {
    contexts: Shelf<OrchestrationContext>,
    futures: Shelf<DurableFuture<Result<String, String>>>,
    code: Code,
}

fn giveaway() -> Giveaway {
    let (contexts, futures) = (Shelf::new(), Shelf::new());
    let code = {
        let (contexts, futures) = (contexts.clone(), futures.clone());
        code(move |ctx, _| {
            contexts.put(ctx.clone());
            futures.put(ctx.schedule_activity("given away", ""));
            async move { ctx.schedule_activity("b", "").await }
        })
    };
    Giveaway { contexts, futures, code }
}

#[test]
fn a_context_that_is_used_on_another_thread_is_foreign() {
    let Giveaway { contexts, futures, code } = giveaway();
    let (mut execution, told) = observed(&code);
    feed(&mut execution, vec![start("in")]);

    let ctx = contexts.take();
    elsewhere(move || drop(ctx.schedule_activity("smuggled", "")));
    assert_eq!(told.take_all(), vec![Foreign::Ask], "its future is void: to drop it is nothing");

    let output = feed(&mut execution, vec![done(3, "r")]);
    expect![[r#"
        T1
          4 ActivityCancelRequested[2] { reason: "orchestration_terminal_failed" }
          5 ActivityCancelRequested[3] { reason: "orchestration_terminal_failed" }
          6 OrchestrationFailed { details: Configuration { kind: Nondeterminism, resource: "", message: Some("foreign asynchrony in an orchestration: its context was used from outside\n  Something inside it is not durable: a tokio sleep, a channel, a spawned task, an I/O call. Replay cannot repeat what such things do. Use the context instead (schedule_timer, schedule_activity, dequeue_event), or move the work into an activity.") } }
          -> cancel activity 2
          -> cancel activity 3
          notice: ActivityCompleted dropped: the execution has ended
          => Failed configuration | nondeterministic: foreign asynchrony in an orchestration: its context was used from outside
          Something inside it is not durable: a tokio sleep, a channel, a spawned task, an I/O call. Replay cannot repeat what such things do. Use the context instead (schedule_timer, schedule_activity, dequeue_event), or move the work into an activity.
    "#]].assert_eq(&text(&output));
    drop(futures);
}

#[test]
fn every_way_to_ask_from_outside_is_foreign() {
    type Use = fn(&OrchestrationContext);
    let uses: [(&str, Use); 10] = [
        ("timer", |ctx| drop(ctx.schedule_timer(std::time::Duration::ZERO))),
        ("wait", |ctx| drop(ctx.schedule_wait("w"))),
        ("dequeue", |ctx| drop(ctx.dequeue_event("q"))),
        ("child", |ctx| drop(ctx.schedule_sub_orchestration("C", ""))),
        ("detached", |ctx| ctx.schedule_orchestration("D", "d", "")),
        ("status", |ctx| ctx.set_custom_status("s")),
        ("kv", |ctx| ctx.set_kv_value("k", "v")),
        ("continue", |ctx| drop(ctx.continue_as_new("again"))),
        ("guid", |ctx| drop(ctx.new_guid())),
        ("trace", |ctx| ctx.trace_info("from outside")),
    ];
    for (name, from_outside) in uses {
        let Giveaway { contexts, code, .. } = giveaway();
        let (mut execution, told) = observed(&code);
        feed(&mut execution, vec![start("in")]);
        let ctx = contexts.take();
        elsewhere(|| from_outside(&ctx));
        assert_eq!(told.take_all(), vec![Foreign::Ask], "{name}");
        assert_eq!((ctx.get_kv_value("k"), ctx.get_custom_status()), (None, None), "{name} did not happen");
        let output = feed(&mut execution, vec![]);
        assert!(end(&output).contains("its context was used from outside"), "{name}");
        assert_eq!(output.lines, vec![], "{name} is not printed");
    }
}

#[test]
fn a_durable_future_that_is_polled_on_another_thread_is_foreign() {
    let Giveaway { futures, code, .. } = giveaway();
    let (mut execution, told) = observed(&code);
    feed(&mut execution, vec![start("in")]);
    let mut future = futures.take();
    let polled = elsewhere(|| Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop())));
    assert!(polled.is_pending());
    assert_eq!(told.take_all(), vec![Foreign::Poll]);
    expect![[r#"
        Failed configuration | nondeterministic: foreign asynchrony in an orchestration: one of its durable futures was polled from outside
          Something inside it is not durable: a tokio sleep, a channel, a spawned task, an I/O call. Replay cannot repeat what such things do. Use the context instead (schedule_timer, schedule_activity, dequeue_event), or move the work into an activity."#]].assert_eq(&end(&feed(&mut execution, vec![done(3, "r")])));
}

#[test]
fn a_durable_future_that_is_dropped_on_another_thread_is_foreign() {
    let Giveaway { futures, code, .. } = giveaway();
    let (mut execution, told) = observed(&code);
    feed(&mut execution, vec![start("in")]);
    elsewhere(|| drop(futures.take()));
    assert_eq!(told.take_all(), vec![Foreign::Drop]);
    expect![[r#"
        T1
          4 ActivityCancelRequested[2] { reason: "orchestration_terminal_failed" }
          5 ActivityCancelRequested[3] { reason: "orchestration_terminal_failed" }
          6 OrchestrationFailed { details: Configuration { kind: Nondeterminism, resource: "", message: Some("foreign asynchrony in an orchestration: one of its durable futures was dropped from outside\n  Something inside it is not durable: a tokio sleep, a channel, a spawned task, an I/O call. Replay cannot repeat what such things do. Use the context instead (schedule_timer, schedule_activity, dequeue_event), or move the work into an activity.") } }
          -> cancel activity 2
          -> cancel activity 3
          notice: ActivityCompleted dropped: the execution has ended
          => Failed configuration | nondeterministic: foreign asynchrony in an orchestration: one of its durable futures was dropped from outside
          Something inside it is not durable: a tokio sleep, a channel, a spawned task, an I/O call. Replay cannot repeat what such things do. Use the context instead (schedule_timer, schedule_activity, dequeue_event), or move the work into an activity.
    "#]].assert_eq(&text(&feed(&mut execution, vec![done(3, "r")])));
}

#[test]
fn a_thread_that_is_spawned_inside_and_asks_is_foreign() {
    let code = code(|ctx, _| async move {
        let smuggled = elsewhere(|| ctx.schedule_activity("smuggled", ""));
        smuggled.await
    });
    let (mut execution, told) = observed(&code);
    expect![[r#"
        T1
          1 OrchestrationStarted { input: "in" }
          2 OrchestrationFailed { details: Configuration { kind: Nondeterminism, resource: "", message: Some("foreign asynchrony in an orchestration: its context was used from outside\n  Something inside it is not durable: a tokio sleep, a channel, a spawned task, an I/O call. Replay cannot repeat what such things do. Use the context instead (schedule_timer, schedule_activity, dequeue_event), or move the work into an activity.") } }
          => Failed configuration | nondeterministic: foreign asynchrony in an orchestration: its context was used from outside
          Something inside it is not durable: a tokio sleep, a channel, a spawned task, an I/O call. Replay cannot repeat what such things do. Use the context instead (schedule_timer, schedule_activity, dequeue_event), or move the work into an activity.
    "#]].assert_eq(&text(&feed(&mut execution, vec![start("in")])));
    assert_eq!(told.take_all(), vec![Foreign::Ask]);
}

#[test]
fn a_thread_that_is_spawned_inside_and_only_computes_is_legal() {
    let code = code(|ctx, _| async move {
        let sum = elsewhere(|| (1..=10).sum::<u32>());
        ctx.schedule_activity("a", sum.to_string()).await
    });
    let mut execution = fresh(&code);
    feed(&mut execution, vec![start("in")]);
    assert_eq!(returned(&feed(&mut execution, vec![done(2, "r")])), "r");
}

#[test]
fn a_channel_between_two_branches_is_legal() {
    check(
        code(|ctx, _| async move {
            let (mut sender, mut receiver) = mpsc::channel::<String>(0);
            let produce = async {
                for name in ["a", "b"] {
                    let made = ctx.schedule_activity(name, "").await.unwrap_or_default();
                    sender.send(made).await.unwrap_or_default();
                }
                drop(sender);
            };
            let consume = async {
                let mut eaten = Vec::new();
                while let Some(made) = receiver.next().await {
                    eaten.push(ctx.schedule_activity("eat", made).await.unwrap_or_default());
                }
                eaten.join("+")
            };
            Ok(futures::join!(produce, consume).1)
        }),
        vec![vec![start("in")], vec![done(2, "A")], vec![done(5, "B"), done(4, "x")], vec![done(8, "y")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "" }
              -> worker ActivityExecute 2 a()
              => Running
            T2
              3 ActivityCompleted[2] { result: "A" }
              4 ActivityScheduled { name: "eat", input: "A" }
              5 ActivityScheduled { name: "b", input: "" }
              -> worker ActivityExecute 4 eat(A)
              -> worker ActivityExecute 5 b()
              => Running
            T3
              6 ActivityCompleted[5] { result: "B" }
              7 ActivityCompleted[4] { result: "x" }
              8 ActivityScheduled { name: "eat", input: "B" }
              -> worker ActivityExecute 8 eat(B)
              => Running
            T4
              9 ActivityCompleted[8] { result: "y" }
              10 OrchestrationCompleted { output: "x+y" }
              => Completed "x+y"
        "#]],
    );
}

/// A step that is clean in one run and foreign in another, asking for the same.
fn steps_with(foreign: impl Fn(&Waker) + Send + Sync + Clone + 'static) -> Code {
    code(move |ctx, _| {
        let foreign = foreign.clone();
        async move {
            for name in ["a", "b"] {
                poll_fn(|cx| {
                    foreign(cx.waker());
                    Poll::Ready(())
                })
                .await;
                ctx.schedule_activity(name, "").await?;
            }
            Ok("out".to_owned())
        }
    })
}

fn clean_history(turns: usize) -> Vec<Event> {
    let turns = &[vec![start("in")], vec![done(2, "r")], vec![done(4, "r")]][..turns];
    recorded(&steps_with(|_| ()), turns)
}

#[test]
fn a_mark_made_during_replay_changes_nothing_that_is_replayed() {
    let foreign = steps_with(|waker| elsewhere(|| waker.wake_by_ref()));

    let mut execution = cold(&foreign, clean_history(3));
    assert_eq!(execution.mismatch(), None);
    let silent = feed(&mut execution, vec![]);
    assert_eq!((silent.events.len(), end(&silent)), (0, "Completed \"out\"".to_owned()));

    let mut execution = cold(&foreign, clean_history(2));
    assert_eq!(execution.outcome(), abide_engine::Outcome::Running, "until the next live step");
    expect![[r#"
        T1
          5 ActivityCancelRequested[4] { reason: "orchestration_terminal_failed" }
          6 OrchestrationFailed { details: Configuration { kind: Nondeterminism, resource: "", message: Some("foreign asynchrony in an orchestration: it was woken by something that is not durable\n  Something inside it is not durable: a tokio sleep, a channel, a spawned task, an I/O call. Replay cannot repeat what such things do. Use the context instead (schedule_timer, schedule_activity, dequeue_event), or move the work into an activity.") } }
          -> cancel activity 4
          notice: ActivityCompleted dropped: the execution has ended
          => Failed configuration | nondeterministic: foreign asynchrony in an orchestration: it was woken by something that is not durable
          Something inside it is not durable: a tokio sleep, a channel, a spawned task, an I/O call. Replay cannot repeat what such things do. Use the context instead (schedule_timer, schedule_activity, dequeue_event), or move the work into an activity.
    "#]].assert_eq(&text(&feed(&mut execution, vec![done(4, "r")])));
}

#[test]
fn wakes_and_drops_after_the_end_are_silent() {
    let wakers = Shelf::new();
    let Giveaway { contexts, futures, code } = giveaway();
    let (mut execution, told) = observed(&code);
    feed(&mut execution, vec![start("in")]);
    let (mut waking, told_too) = observed(&leaves_its_waker(&wakers));
    feed(&mut waking, vec![start("in")]);
    assert_eq!(end(&feed(&mut execution, vec![done(3, "r")])), "Completed \"r\"");
    assert_eq!(end(&feed(&mut waking, vec![done(2, "r")])), "Completed \"r\"");

    let (ctx, future) = (contexts.take(), futures.take());
    elsewhere(move || {
        drop(future);
        drop(ctx.schedule_activity("late", ""));
        wakers.take().wake();
    });
    assert_eq!((told.take_all(), told_too.take_all()), (vec![], vec![]));
    let after = feed(&mut execution, vec![]);
    assert_eq!((after.events, after.notices), (vec![], vec![]));
}

#[test]
fn wakes_and_drops_after_an_eviction_are_silent() {
    let Giveaway { contexts, futures, code } = giveaway();
    let (mut execution, told) = observed(&code);
    feed(&mut execution, vec![start("in")]);
    drop(execution);
    let (ctx, future) = (contexts.take(), futures.take());
    elsewhere(move || {
        drop(future);
        drop(ctx.schedule_activity("late", ""));
    });
    assert_eq!(told.take_all(), vec![]);
}

#[test]
fn a_foreign_thread_that_never_stops_waking_is_told_of_once() {
    let wakers = Shelf::new();
    let (mut execution, told) = observed(&leaves_its_waker(&wakers));
    feed(&mut execution, vec![start("in")]);
    let waker = wakers.take();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        let (told_begun, begun) = std::sync::mpsc::channel();
        scope.spawn(|| {
            let told_begun = told_begun;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                waker.wake_by_ref();
                told_begun.send(()).unwrap_or_default();
            }
        });
        begun.recv().expect("it began");
        let output = feed(&mut execution, vec![done(2, "r")]);
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        output
    });
    assert!(end(&output).contains("woken by something that is not durable"));
    assert_eq!(told.take_all(), vec![Foreign::Wake]);
}
