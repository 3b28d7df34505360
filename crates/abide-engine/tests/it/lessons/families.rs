//! Dropped dequeues and waits, and what continue-as-new carries as 0.1.32 of the reference had it wrong.
//!
//! In the reference a dropped dequeue kept its place until the next turn, a dropped wait shifted values that
//! were not its own, and continue-as-new carried messages that had been read, or lost some that had not.

use abide_engine::OrchestrationContext;
use abide_engine::model::WorkItem;
use expect_test::expect;

use crate::support::mail::{continued, message, signal, start};
use crate::support::{Given, check, check_from, code, run};

/// Waits for the signal `go`, which takes no message.
async fn go(ctx: &OrchestrationContext) {
    ctx.schedule_wait("go").await;
}

// A dequeue dropped before its message came must not keep the message from the next one.
#[test]
fn a_dropped_dequeue_frees_its_place_at_once() {
    check(
        code(|ctx, _| async move {
            let (older, younger) = (ctx.dequeue_event("q"), ctx.dequeue_event("q"));
            go(&ctx).await;
            drop(older);
            Ok(younger.await)
        }),
        vec![vec![start("in")], vec![signal("go", ""), message("q", "m1")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 QueueSubscribed { name: "q" }
              3 QueueSubscribed { name: "q" }
              4 ExternalSubscribed { name: "go" }
              => Running
            T2
              5 ExternalEvent { name: "go", data: "" }
              6 QueueSubscriptionCancelled[2] { reason: "dropped_future" }
              7 QueueEventDelivered { name: "q", data: "m1" }
              8 OrchestrationCompleted { output: "m1" }
              => Completed "m1"
        "#]],
    );
}

// A dequeue dropped after its message came must give it back: a queue message is never lost.
#[test]
fn a_dequeue_dropped_before_it_was_read_gives_its_message_to_the_next() {
    check(
        code(|ctx, _| async move {
            let (older, younger) = (ctx.dequeue_event("q"), ctx.dequeue_event("q"));
            go(&ctx).await;
            drop(older);
            let first = younger.await;
            Ok(format!("{first} {}", ctx.dequeue_event("q").await))
        }),
        vec![vec![start("in")], vec![message("q", "m1"), message("q", "m2"), signal("go", "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 QueueSubscribed { name: "q" }
              3 QueueSubscribed { name: "q" }
              4 ExternalSubscribed { name: "go" }
              => Running
            T2
              5 QueueEventDelivered { name: "q", data: "m1" }
              6 QueueEventDelivered { name: "q", data: "m2" }
              7 ExternalEvent { name: "go", data: "" }
              8 QueueSubscribed { name: "q" }
              9 QueueSubscriptionCancelled[2] { reason: "dropped_future" }
              10 OrchestrationCompleted { output: "m1 m2" }
              => Completed "m1 m2"
        "#]],
    );
}

// A dequeue that is held and not polled keeps its place: the younger one gets the second message.
#[test]
fn a_held_dequeue_keeps_its_place() {
    check(
        code(|ctx, _| async move {
            let (older, younger) = (ctx.dequeue_event("q"), ctx.dequeue_event("q"));
            let second = younger.await;
            Ok(format!("{} {second}", older.await))
        }),
        vec![vec![start("in")], vec![message("q", "m1")], vec![message("q", "m2")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 QueueSubscribed { name: "q" }
              3 QueueSubscribed { name: "q" }
              => Running
            T2
              4 QueueEventDelivered { name: "q", data: "m1" }
              => Running
            T3
              5 QueueEventDelivered { name: "q", data: "m2" }
              6 OrchestrationCompleted { output: "m1 m2" }
              => Completed "m1 m2"
        "#]],
    );
}

// A dequeue dropped in the poll that made it never had a place.
#[test]
fn a_dequeue_dropped_where_it_was_made_takes_nothing() {
    check(
        code(|ctx, _| async move {
            drop(ctx.dequeue_event("q"));
            drop(ctx.schedule_wait("s"));
            let (message, signal) = ctx.join2(ctx.dequeue_event("q"), ctx.schedule_wait("s")).await;
            Ok(format!("{message} {signal}"))
        }),
        vec![vec![start("in")], vec![message("q", "m1"), signal("s", "x")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 QueueSubscribed { name: "q" }
              3 ExternalSubscribed { name: "s" }
              4 QueueSubscribed { name: "q" }
              5 ExternalSubscribed { name: "s" }
              6 QueueSubscriptionCancelled[2] { reason: "dropped_future" }
              7 ExternalSubscribedCancelled[3] { reason: "dropped_future" }
              => Running
            T2
              8 QueueEventDelivered { name: "q", data: "m1" }
              9 ExternalEvent { name: "s", data: "x" }
              10 OrchestrationCompleted { output: "m1 x" }
              => Completed "m1 x"
        "#]],
    );
}

// Queues do not disturb each other.
#[test]
fn a_dropped_dequeue_leaves_other_queues_alone() {
    check(
        code(|ctx, _| async move {
            let (p, q) = (ctx.dequeue_event("p"), ctx.dequeue_event("q"));
            go(&ctx).await;
            drop(p);
            Ok(format!("{} {}", q.await, ctx.dequeue_event("p").await))
        }),
        vec![vec![start("in")], vec![message("p", "p1"), signal("go", ""), message("q", "q1")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 QueueSubscribed { name: "p" }
              3 QueueSubscribed { name: "q" }
              4 ExternalSubscribed { name: "go" }
              => Running
            T2
              5 QueueEventDelivered { name: "p", data: "p1" }
              6 ExternalEvent { name: "go", data: "" }
              7 QueueSubscriptionCancelled[2] { reason: "dropped_future" }
              8 QueueEventDelivered { name: "q", data: "q1" }
              9 QueueSubscribed { name: "p" }
              10 OrchestrationCompleted { output: "q1 p1" }
              => Completed "q1 p1"
        "#]],
    );
}

// A wait that was given a signal and dropped unread takes the signal with it; its successors keep theirs.
#[test]
fn a_wait_dropped_with_its_signal_discards_it_and_shifts_nobody() {
    check(
        code(|ctx, _| async move {
            let (first, second, third) =
                (ctx.schedule_wait("s"), ctx.schedule_wait("s"), ctx.schedule_wait("s"));
            go(&ctx).await;
            drop(first);
            Ok(format!("{} {}", second.await, third.await))
        }),
        vec![vec![start("in")], vec![signal("s", "x"), signal("s", "y"), signal("go", ""), signal("s", "z")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ExternalSubscribed { name: "s" }
              3 ExternalSubscribed { name: "s" }
              4 ExternalSubscribed { name: "s" }
              5 ExternalSubscribed { name: "go" }
              => Running
            T2
              6 ExternalEvent { name: "s", data: "x" }
              7 ExternalEvent { name: "s", data: "y" }
              8 ExternalEvent { name: "go", data: "" }
              9 ExternalEvent { name: "s", data: "z" }
              10 OrchestrationCompleted { output: "y z" }
              => Completed "y z"
        "#]],
    );
}

// A wait that was dropped empty takes nothing, wherever it stood among the others.
#[test]
fn a_wait_dropped_empty_leaves_the_signal_to_the_others() {
    check(
        code(|ctx, _| async move {
            let (first, second, third) =
                (ctx.schedule_wait("s"), ctx.schedule_wait("s"), ctx.schedule_wait("s"));
            go(&ctx).await;
            drop(second);
            Ok(format!("{} {}", first.await, third.await))
        }),
        vec![vec![start("in")], vec![signal("s", "x"), signal("go", ""), signal("s", "y")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ExternalSubscribed { name: "s" }
              3 ExternalSubscribed { name: "s" }
              4 ExternalSubscribed { name: "s" }
              5 ExternalSubscribed { name: "go" }
              => Running
            T2
              6 ExternalEvent { name: "s", data: "x" }
              7 ExternalEvent { name: "go", data: "" }
              8 ExternalSubscribedCancelled[3] { reason: "dropped_future" }
              9 ExternalEvent { name: "s", data: "y" }
              10 OrchestrationCompleted { output: "x y" }
              => Completed "x y"
        "#]],
    );
}

// Read messages are not carried, unread ones are: also that of a dequeue that was ready and not polled.
#[test]
fn continue_as_new_carries_what_was_not_read_in_the_order_it_came() {
    check(
        code(|ctx, _| async move {
            let held = ctx.dequeue_event("q");
            let read = ctx.dequeue_event("q").await;
            go(&ctx).await;
            let result = ctx.continue_as_new(read).await;
            drop(held);
            result
        }),
        vec![
            vec![start("in")],
            vec![message("q", "q1"), message("p", "p1"), message("q", "q2"), message("q", "q3")],
            vec![signal("go", "")],
        ],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 QueueSubscribed { name: "q" }
              3 QueueSubscribed { name: "q" }
              => Running
            T2
              4 QueueEventDelivered { name: "q", data: "q1" }
              5 QueueEventDelivered { name: "p", data: "p1" }
              6 QueueEventDelivered { name: "q", data: "q2" }
              7 ExternalSubscribed { name: "go" }
              8 QueueEventDelivered { name: "q", data: "q3" }
              => Running
            T3
              9 ExternalEvent { name: "go", data: "" }
              10 QueueSubscriptionCancelled[2] { reason: "orchestration_terminal" }
              11 OrchestrationContinuedAsNew { input: "q2" }
              -> ContinueAsNew i(q2) version=None carry=[("q", "q1"), ("p", "p1"), ("q", "q3")] status=None
              => ContinuedAsNew "q2" None
        "#]],
    );
}

// A dequeue dropped in the poll that continued as new had taken its message along.
#[test]
fn continue_as_new_carries_the_message_of_a_dequeue_dropped_in_the_same_poll() {
    check(
        code(|ctx, _| async move {
            let (unread, read) = (ctx.dequeue_event("q"), ctx.dequeue_event("q"));
            go(&ctx).await;
            let second = read.await;
            drop(unread);
            ctx.continue_as_new(second).await
        }),
        vec![vec![start("in")], vec![message("q", "q1"), message("q", "q2"), signal("go", "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 QueueSubscribed { name: "q" }
              3 QueueSubscribed { name: "q" }
              4 ExternalSubscribed { name: "go" }
              => Running
            T2
              5 QueueEventDelivered { name: "q", data: "q1" }
              6 QueueEventDelivered { name: "q", data: "q2" }
              7 ExternalEvent { name: "go", data: "" }
              8 QueueSubscriptionCancelled[2] { reason: "dropped_future" }
              9 OrchestrationContinuedAsNew { input: "q2" }
              -> ContinueAsNew i(q2) version=None carry=[("q", "q1")] status=None
              => ContinuedAsNew "q2" None
        "#]],
    );
}

// A successor that continues as new at once had not even taken what was carried to it.
#[test]
fn what_was_carried_and_not_taken_is_carried_on() {
    check_from(
        &Given::execution(2),
        code(|ctx, _| async move {
            let first = ctx.dequeue_event("q").await;
            ctx.continue_as_new(first).await
        }),
        vec![vec![continued("next", &[("q", "q1"), ("p", "p1"), ("q", "q2")], None), message("q", "q3")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "next", carry: [("q", "q1"), ("p", "p1"), ("q", "q2")] }
              2 QueueSubscribed { name: "q" }
              3 QueueEventDelivered { name: "q", data: "q1" }
              4 OrchestrationContinuedAsNew { input: "q1" }
              -> ContinueAsNew i(q1) version=None carry=[("p", "p1"), ("q", "q2")] status=None
              => ContinuedAsNew "q1" None
        "#]],
    );
}

// More than a hundred unread messages were cut off.
#[test]
fn no_carried_message_is_dropped_however_many_there_are() {
    let waits = code(|ctx, _| async move {
        go(&ctx).await;
        ctx.continue_as_new("next").await
    });
    let mut flood: Vec<_> = (0..250).map(|n| message("q", &n.to_string())).collect();
    flood.push(signal("go", ""));
    let turns = run(&waits, &[vec![start("in")], flood]);
    let [WorkItem::ContinueAsNew { carry_forward_events, .. }] = turns[1].orchestrator_items.as_slice()
    else {
        panic!("one successor")
    };
    let numbers: Vec<_> = carry_forward_events.iter().map(|(_, data)| data.clone()).collect();
    assert_eq!(numbers, (0..250).map(|n| n.to_string()).collect::<Vec<_>>());
}
