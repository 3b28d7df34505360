//! Whatever else could break it: leaks, late uses, extreme sizes and numbers, messages that make no sense.

use std::future::{Future, pending, poll_fn};
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use abide_engine::model::{Event, Timestamp, WorkItem};
use abide_engine::{DurableFuture, OrchestrationContext, Outcome, TurnError, TurnStats};
use expect_test::expect;

use crate::support::drive::{Shelf, cold, elsewhere, end, feed, fresh, mail, recorded, returned, text};
use crate::support::mail::{cancel, continued, done, message, signal, start, start_by};
use crate::support::{Code, Given, INSTANCE, Turn, check, check_from, code};

fn waits() -> Code {
    code(|ctx, _| async move { ctx.schedule_activity("a", "").await })
}

#[test]
fn a_context_in_a_static_asks_for_nothing_after_the_end() {
    static KEPT: Mutex<Option<OrchestrationContext>> = Mutex::new(None);
    let code = code(|ctx, _| async move {
        *KEPT.lock().map_err(|error| error.to_string())? = Some(ctx.clone());
        ctx.schedule_activity("a", "").await
    });
    let mut execution = fresh(&code);
    feed(&mut execution, vec![start("in")]);
    feed(&mut execution, vec![done(2, "r")]);

    let ctx = KEPT.lock().expect("no lock is poisoned").take().expect("it was kept");
    drop(ctx.schedule_activity("late", ""));
    ctx.schedule_orchestration("late", "late", "");
    ctx.set_custom_status("late");
    ctx.set_kv_value("late", "late");
    ctx.trace_info("late");
    let after = feed(&mut execution, vec![]);
    assert_eq!(after.events, vec![]);
    assert_eq!((after.orchestrator_items, after.lines, after.custom_status), (vec![], vec![], None));
    assert_eq!((ctx.get_kv_length(), ctx.get_custom_status()), (0, None));
}

#[test]
fn what_is_asked_in_a_destructor_after_the_return_is_ignored() {
    /// Asks when it is dropped, and drops a future.
    struct Asks(OrchestrationContext, Option<DurableFuture<String>>);
    impl Drop for Asks {
        fn drop(&mut self) {
            drop(self.0.schedule_activity("in a drop", ""));
            self.0.set_custom_status("in a drop");
            self.1 = None;
        }
    }
    let code = code(|ctx, _| async move {
        let _asks = Asks(ctx.clone(), Some(ctx.schedule_wait("w")));
        ctx.continue_as_new("again").await
    });
    check(
        code,
        vec![vec![start("in")]],
        expect![[r#"
        T1
          1 OrchestrationStarted { input: "in" }
          2 ExternalSubscribed { name: "w" }
          3 ExternalSubscribedCancelled[2] { reason: "orchestration_terminal" }
          4 OrchestrationContinuedAsNew { input: "again" }
          -> ContinueAsNew i(again) version=None carry=[] status=None
          => ContinuedAsNew "again" None
    "#]],
    );
}

#[test]
fn a_future_that_is_moved_out_and_dropped_after_the_end_is_nothing() {
    let futures: Shelf<DurableFuture<String>> = Shelf::new();
    let code = {
        let futures = futures.clone();
        code(move |ctx, _| {
            futures.put(ctx.schedule_wait("w"));
            async move { ctx.schedule_activity("a", "").await }
        })
    };
    let mut execution = fresh(&code);
    feed(&mut execution, vec![start("in")]);
    expect![[r#"
        T1
          4 ActivityCompleted[3] { result: "r" }
          5 ExternalSubscribedCancelled[2] { reason: "orchestration_terminal" }
          6 OrchestrationCompleted { output: "r" }
          => Completed "r"
    "#]]
    .assert_eq(&text(&feed(&mut execution, vec![done(3, "r")])));
    drop(futures.take_all());
    assert_eq!(feed(&mut execution, vec![]).events, vec![]);
}

#[test]
fn a_future_of_one_execution_that_another_one_polls() {
    let futures: Shelf<DurableFuture<Result<String, String>>> = Shelf::new();
    let (lender, borrower) = {
        let (lent, borrowed) = (futures.clone(), futures.clone());
        let lender = code(move |ctx, _| {
            lent.put(ctx.schedule_activity("lent", ""));
            async move { ctx.schedule_activity("own", "").await }
        });
        (lender, code(move |_, _| borrowed.take()))
    };
    let (mut one, mut two) = (fresh(&lender), fresh(&borrower));
    feed(&mut one, vec![start("in")]);
    assert!(feed(&mut two, vec![start("in")]).waits_for_nothing);
    let marked = end(&feed(&mut one, vec![done(3, "r")]));
    assert!(marked.contains("polled from outside"), "{marked}");
}

/// Holds itself, and is never freed.
#[derive(Default)]
struct Circle(Mutex<Option<Box<dyn std::any::Any + Send>>>);

#[test]
fn futures_that_are_leaked_are_cancelled_by_the_end() {
    check(
        code(|ctx, _| async move {
            let _leaked = ManuallyDrop::new(ctx.schedule_activity("leaked", ""));
            let circle = Arc::new(Circle::default());
            let held = (Arc::clone(&circle), ctx.schedule_wait("circle"));
            *circle.0.lock().map_err(|error| error.to_string())? = Some(Box::new(held));
            ctx.schedule_activity("a", "").await
        }),
        vec![vec![start("in")], vec![done(4, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "leaked", input: "" }
              3 ExternalSubscribed { name: "circle" }
              4 ActivityScheduled { name: "a", input: "" }
              -> worker ActivityExecute 2 leaked()
              -> worker ActivityExecute 4 a()
              => Running
            T2
              5 ActivityCompleted[4] { result: "r" }
              6 ActivityCancelRequested[2] { reason: "orchestration_terminal_completed" }
              7 ExternalSubscribedCancelled[3] { reason: "orchestration_terminal" }
              8 OrchestrationCompleted { output: "r" }
              -> cancel activity 2
              => Completed "r"
        "#]],
    );
}

#[test]
fn a_start_does_not_begin_a_later_execution() {
    let mut second = Given::execution(2).fresh(&waits());
    let refused = second.turn(mail(vec![start("in"), signal("s", "")]), Timestamp::EPOCH);
    let expected = TurnError::NotStarted { instance: INSTANCE.to_owned(), execution_id: 2, mail: 2 };
    assert_eq!(refused, Err(expected));
    let output = feed(&mut second, vec![start("in"), continued("next", &[], None)]);
    expect![[r#"
        T1
          1 OrchestrationStarted { input: "next" }
          2 ActivityScheduled { name: "a", input: "" }
          -> worker ActivityExecute 2 a()
          notice: StartOrchestration ignored: the instance exists already
          => Running
    "#]]
    .assert_eq(&text(&output));
}

#[test]
fn a_second_start_of_any_kind_is_ignored() {
    let mut execution = fresh(&waits());
    feed(&mut execution, vec![start("in")]);
    let again = vec![start("other"), continued("next", &[("q", "m")], Some("s")), start_by(("p", 3, 1), "x")];
    expect![[r#"
        T1
          -> ChildFailed to p/1#3 sub-orchestration instance id 'i' already exists
          notice: StartOrchestration ignored: the instance exists already
          notice: ContinueAsNew ignored: the instance exists already
          notice: the instance exists already: its would-be parent 'p' is told
          => Running
    "#]]
    .assert_eq(&text(&feed(&mut execution, again)));
}

#[test]
fn messages_for_unknown_ids_fail_it_and_stale_ones_do_not() {
    for id in [0, 1, 3, 99, i64::MAX.unsigned_abs(), u64::MAX] {
        let mut execution = fresh(&waits());
        feed(&mut execution, vec![start("in")]);
        let stale = feed(&mut execution, vec![crate::support::mail::done_in(9, id, "r")]);
        assert_eq!((stale.outcome, stale.events), (Outcome::Running, vec![]));
        let failed = end(&feed(&mut execution, vec![done(id, "r"), done(2, "r")]));
        assert!(failed.contains(&format!("no matching schedule for completion id={id}\n")), "{failed}");
    }
}

#[test]
fn work_for_a_worker_is_misrouted() {
    let mut execution = fresh(&waits());
    let first = feed(&mut execution, vec![start("in")]);
    expect![[r#"
        T1
          notice: ActivityExecute dropped: it does not belong into this queue
          => Running
    "#]]
    .assert_eq(&text(&feed(&mut execution, first.worker_items)));
}

#[test]
fn empty_turns_cost_nothing() {
    let mut execution = fresh(&waits());
    feed(&mut execution, vec![start("in")]);
    for _ in 0..1_000 {
        let output = feed(&mut execution, vec![]);
        assert_eq!((output.events, output.stats), (vec![], TurnStats::default()));
    }
    assert_eq!(returned(&feed(&mut execution, vec![done(2, "r")])), "r");
}

#[test]
fn thousands_of_waits_of_one_name_are_served_in_order() {
    let code = code(|ctx, _| async move {
        let waits: Vec<_> = (0..3_000).map(|_| ctx.schedule_wait("s")).collect();
        let all = ctx.join(waits).await;
        Ok((0..3_000).all(|i| all[i] == i.to_string()).to_string())
    });
    let mut execution = fresh(&code);
    feed(&mut execution, vec![start("in")]);
    let signals = (0..3_000).map(|i| signal("s", &i.to_string())).collect();
    assert_eq!(returned(&feed(&mut execution, signals)), "true");
}

#[test]
fn thousands_of_queues_keep_their_messages_apart_and_in_order() {
    let code = code(|ctx, _| async move {
        ctx.schedule_wait("go").await;
        for i in (0..2_000).filter(|i| i % 2 == 0) {
            let read = ctx.dequeue_event(format!("q{i}")).await;
            assert_eq!(read, i.to_string());
        }
        ctx.continue_as_new("next").await
    });
    let mut execution = fresh(&code);
    let mut turn = vec![start("in")];
    turn.extend((0..2_000).rev().map(|i| message(&format!("q{i}"), &i.to_string())));
    feed(&mut execution, turn);
    let output = feed(&mut execution, vec![signal("go", "")]);
    let Some(WorkItem::ContinueAsNew { carry_forward_events, .. }) = output.orchestrator_items.last() else {
        panic!("{}", end(&output))
    };
    let expected: Vec<_> =
        (0..2_000).rev().filter(|i| i % 2 == 1).map(|i| (format!("q{i}"), i.to_string())).collect();
    assert_eq!(*carry_forward_events, expected, "in the order they came");
}

#[test]
fn a_cancel_while_everything_is_open_takes_all_of_it_back() {
    let code = code(|ctx, _| async move {
        let _held = (
            ctx.schedule_activity("a", ""),
            ctx.schedule_timer(Duration::MAX),
            ctx.schedule_wait("w"),
            ctx.dequeue_event("q"),
            ctx.schedule_sub_orchestration("C", ""),
        );
        pending().await
    });
    check(
        code,
        vec![vec![start("in")], vec![cancel("one"), cancel("two")]],
        expect![[r#"
        T1
          1 OrchestrationStarted { input: "in" }
          2 ActivityScheduled { name: "a", input: "" }
          3 TimerCreated { fire_at_ms: 9223372036854775807 }
          4 ExternalSubscribed { name: "w" }
          5 QueueSubscribed { name: "q" }
          6 SubOrchestrationScheduled { name: "C", instance: "sub::6", input: "" }
          -> worker ActivityExecute 2 a()
          -> TimerFired 3 at 9223372036854775807
          -> Start i::sub::6 C() for i#6
          => Running
        T2
          7 OrchestrationCancelRequested { reason: "one" }
          8 ActivityCancelRequested[2] { reason: "orchestration_terminal_cancelled" }
          9 ExternalSubscribedCancelled[4] { reason: "orchestration_terminal" }
          10 QueueSubscriptionCancelled[5] { reason: "orchestration_terminal" }
          11 SubOrchestrationCancelRequested[6] { reason: "orchestration_terminal_cancelled" }
          12 OrchestrationFailed { details: Application { kind: Cancelled { reason: "one" }, message: "", retryable: false } }
          -> Cancel i::sub::6 "parent canceled"
          -> cancel activity 2
          -> remove timer 3
          notice: CancelInstance dropped: the execution has ended
          => Failed application | canceled: one
    "#]],
    );
}

#[test]
fn a_history_from_nowhere_never_panics() {
    let whole = recorded(&waits(), &[vec![start("in")], vec![done(2, "r")]]);
    for skipped in 0..whole.len() {
        for swapped in 0..whole.len() {
            let mut history = whole.clone();
            history.swap(skipped, swapped);
            history.remove(skipped);
            let ended = history.last().is_some_and(Event::is_terminal);
            let output =
                elsewhere(|| feed(&mut cold(&waits(), history.clone()), vec![start("in"), cancel("stop")]));
            assert!(output.outcome.is_terminal(), "{history:?}");
            assert!(!ended || output.events.is_empty(), "{history:?}");
        }
    }
}

#[test]
fn carried_messages_come_before_all_others() {
    let given = crate::support::Given::execution(2);
    check_from(
        &given,
        code(|ctx, _| async move {
            let first = ctx.dequeue_event("q").await;
            Ok(first + &ctx.dequeue_event("q").await)
        }),
        vec![vec![message("q", "new"), continued("in", &[("q", "old"), ("z", "kept")], None)]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in", carry: [("q", "old"), ("z", "kept")] }
              2 QueueSubscribed { name: "q" }
              3 QueueEventDelivered { name: "q", data: "old" }
              4 QueueSubscribed { name: "q" }
              5 QueueEventDelivered { name: "z", data: "kept" }
              6 QueueEventDelivered { name: "q", data: "new" }
              7 OrchestrationCompleted { output: "oldnew" }
              => Completed "oldnew"
        "#]],
    );
}

/// A waker of the user's own that drops something when it is called.
struct Dropper(Mutex<Option<Box<dyn Send>>>, Waker);

impl Wake for Dropper {
    fn wake(self: Arc<Self>) {
        drop(self.0.lock().unwrap().take());
        self.1.wake_by_ref();
    }
}

/// Reads a message that is there already: the dequeue is ready the moment it is recorded, between two asks
/// of one poll, and its waker drops the activity that was asked for behind it.
async fn reads_and_drops_an_activity(ctx: &OrchestrationContext) -> String {
    ctx.schedule_wait("go").await;
    let mut dequeue = ctx.dequeue_event("q");
    let mut activity = Some(ctx.schedule_activity("a", ""));
    poll_fn(move |cx| {
        let Some(activity) = activity.take() else { return Pin::new(&mut dequeue).poll(cx) };
        let dropper = Dropper(Mutex::new(Some(Box::new(activity))), cx.waker().clone());
        Pin::new(&mut dequeue).poll(&mut Context::from_waker(&Waker::from(Arc::new(dropper))))
    })
    .await
}

fn with_a_message_there() -> Vec<Turn> {
    vec![vec![start("in")], vec![message("q", "m")], vec![signal("go", "")]]
}

// A drop that happened while the engine woke the code, of a future whose own ask was recorded next, was lost.
#[test]
fn a_drop_inside_a_waker_between_two_asks_of_one_poll_is_recorded() {
    check(
        code(|ctx, _| async move {
            let message = reads_and_drops_an_activity(&ctx).await;
            ctx.schedule_wait("end").await;
            Ok(message)
        }),
        with_a_message_there(),
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ExternalSubscribed { name: "go" }
              => Running
            T2
              3 QueueEventDelivered { name: "q", data: "m" }
              => Running
            T3
              4 ExternalEvent { name: "go", data: "" }
              5 QueueSubscribed { name: "q" }
              6 ActivityScheduled { name: "a", input: "" }
              7 ExternalSubscribed { name: "end" }
              8 ActivityCancelRequested[6] { reason: "dropped_future" }
              -> cancel activity 6
              => Running
        "#]],
    );
}

// The same drop closed the last durable thing: that the code then waits for nothing must be seen.
#[test]
fn waiting_for_nothing_is_seen_after_a_drop_inside_a_waker() {
    let code = code(|ctx, _| async move {
        reads_and_drops_an_activity(&ctx).await;
        pending().await
    });
    let last = crate::support::run(&code, &with_a_message_there()).pop().expect("a turn");
    assert!(last.waits_for_nothing, "{last:?}");
}
