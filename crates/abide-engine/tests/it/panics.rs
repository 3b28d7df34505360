//! Panics of user code, wherever they happen, fail that one orchestration: no panic leaves the engine, no
//! lock is poisoned, and everybody else goes on.
//!
//! The messages that the panic hook prints are left alone: the hook belongs to the whole process.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use abide_engine::OrchestrationContext;
use expect_test::expect;
use futures::FutureExt;

use crate::support::drive::{
    Shelf, cold, elsewhere, end, feed, feed_safely, fresh, recorded, returned, text,
};
use crate::support::mail::{done, message, signal, start};
use crate::support::{Code, check, code};

/// Panics when it is dropped.
struct Trap(&'static str);

impl Drop for Trap {
    fn drop(&mut self) {
        panic!("{}", self.0);
    }
}

/// How code ends that gets its start and then a message.
#[track_caller]
fn ends_after(code: &Code, mail: Vec<abide_engine::model::WorkItem>) -> String {
    let mut execution = fresh(code);
    let mut output = feed_safely(&mut execution, vec![start("in")]);
    for item in mail {
        output = feed_safely(&mut execution, vec![item]);
    }
    let after = feed_safely(&mut execution, vec![signal("late", "")]);
    assert_eq!(
        (after.events, after.outcome),
        (vec![], output.outcome.clone()),
        "it is usable and stays ended"
    );
    end(&output)
}

#[test]
fn a_panic_fails_the_orchestration_and_no_other() {
    let healthy = code(|ctx, _| async move { ctx.schedule_activity("a", "").await });
    let mut other = fresh(&healthy);
    feed(&mut other, vec![start("in")]);

    let code = code(|ctx, input| async move {
        ctx.schedule_activity("a", "").await?;
        panic!("at {input}")
    });
    assert_eq!(ends_after(&code, vec![done(2, "r")]), "Failed application | orchestration panicked: at in");
    assert_eq!(returned(&feed(&mut other, vec![done(2, "fine")])), "fine");
}

#[test]
fn a_panic_before_the_first_await_is_contained() {
    let code = code(|_, _| -> std::future::Ready<Result<String, String>> { panic!("while it is called") });
    assert_eq!(ends_after(&code, vec![]), "Failed application | orchestration panicked: while it is called");
}

#[test]
fn a_panic_is_replayed_in_silence() {
    check(
        code(|ctx, _| async move {
            ctx.schedule_activity("a", "").await?;
            panic!("no")
        }),
        vec![vec![start("in")], vec![done(2, "r"), signal("late", "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "a", input: "" }
              -> worker ActivityExecute 2 a()
              => Running
            T2
              3 ActivityCompleted[2] { result: "r" }
              4 OrchestrationFailed { details: Application { kind: Panicked, message: "no", retryable: false } }
              notice: ExternalRaised dropped: the execution has ended
              => Failed application | orchestration panicked: no
        "#]],
    );
}

#[test]
fn a_panic_in_a_map_closure_fails_it() {
    let code = code(|ctx, _| async move {
        ctx.schedule_activity("a", "")
            .map(|result| -> Result<String, String> { panic!("mapping {result:?}") })
            .await
    });
    assert_eq!(
        ends_after(&code, vec![done(2, "r")]),
        "Failed application | orchestration panicked: mapping Ok(\"r\")"
    );
}

#[test]
fn a_panic_in_a_nested_future_of_a_join_fails_it() {
    let code = code(|ctx, _| async move {
        let good = async { ctx.schedule_activity("a", "").await };
        let bad = async {
            ctx.schedule_wait("s").await;
            panic!("nested")
        };
        let (good, ()): (Result<String, String>, ()) = futures::join!(good, bad);
        good
    });
    assert_eq!(
        ends_after(&code, vec![signal("s", "")]),
        "Failed application | orchestration panicked: nested"
    );
}

#[test]
fn a_panic_in_a_drop_at_return_fails_it() {
    let code = code(|ctx, _| async move {
        let _trap = Trap("dropped at return");
        ctx.schedule_activity("a", "").await
    });
    assert_eq!(
        ends_after(&code, vec![done(2, "r")]),
        "Failed application | orchestration panicked: dropped at return"
    );
}

#[test]
fn a_panic_in_a_drop_after_the_outcome_leaves_the_outcome() {
    check(
        code(|ctx, _| async move {
            let _trap = Trap("after the outcome");
            ctx.continue_as_new("again").await
        }),
        vec![vec![start("in")], vec![signal("late", "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 OrchestrationContinuedAsNew { input: "again" }
              -> ContinueAsNew i(again) version=None carry=[] status=None
              notice: the code panicked after its outcome was fixed, which stands: after the outcome
              => ContinuedAsNew "again" None
            T2
              => ContinuedAsNew "again" None
        "#]],
    );
}

#[test]
fn a_panic_in_a_drop_when_it_is_cancelled_leaves_the_cancel() {
    let code = code(|ctx, _| async move {
        let _trap = Trap("cancelled");
        ctx.schedule_activity("a", "").await
    });
    let mut execution = fresh(&code);
    feed_safely(&mut execution, vec![start("in")]);
    expect![[r#"
        T1
          3 OrchestrationCancelRequested { reason: "stop" }
          4 ActivityCancelRequested[2] { reason: "orchestration_terminal_cancelled" }
          5 OrchestrationFailed { details: Application { kind: Cancelled { reason: "stop" }, message: "", retryable: false } }
          -> cancel activity 2
          notice: the code panicked after its outcome was fixed, which stands: cancelled
          => Failed application | canceled: stop
    "#]].assert_eq(&text(&feed_safely(&mut execution, vec![crate::support::mail::cancel("stop")])));
}

#[test]
fn a_panic_in_a_drop_does_not_stop_an_eviction() {
    let code = code(|ctx, _| async move {
        let _trap = Trap("evicted");
        ctx.schedule_activity("a", "").await
    });
    let mut execution = fresh(&code);
    feed(&mut execution, vec![start("in")]);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(execution))).is_ok(), "an eviction never panics");
}

#[test]
fn a_panic_in_a_drop_while_a_panicking_thread_evicts_it_is_no_abort() {
    let code = code(|ctx, _| async move {
        let _trap = Trap("evicted");
        ctx.schedule_activity("a", "").await
    });
    let dispatcher = catch_unwind(AssertUnwindSafe(|| {
        let mut execution = fresh(&code);
        feed(&mut execution, vec![start("in")]);
        panic!("the dispatcher");
    }));
    let payload = dispatcher.expect_err("it panicked");
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"the dispatcher"));
}

#[test]
fn a_payload_that_is_no_text_has_a_text_of_its_own() {
    let code = code(|_, _| async move { panic_any(17_u32) });
    assert_eq!(
        ends_after(&code, vec![]),
        "Failed application | orchestration panicked: orchestration panicked"
    );
}

#[test]
fn a_payload_whose_drop_panics_is_contained() {
    let code = code(|_, _| async move { panic_any(Trap("the payload")) });
    assert_eq!(
        ends_after(&code, vec![]),
        "Failed application | orchestration panicked: orchestration panicked"
    );
}

/// A payload whose drop panics with a payload whose drop panics.
struct Nest(u32);

impl Drop for Nest {
    fn drop(&mut self) {
        if let Some(fewer) = self.0.checked_sub(1) {
            panic_any(Nest(fewer));
        }
    }
}

#[test]
fn a_payload_whose_drop_panics_with_another_such_payload_is_contained() {
    let code = code(|_, _| async move { panic_any(Nest(2)) });
    assert_eq!(
        ends_after(&code, vec![]),
        "Failed application | orchestration panicked: orchestration panicked"
    );
}

#[test]
fn asks_before_a_panic_are_recorded_and_drops_while_unwinding_are_not() {
    check(
        code(|ctx, _| async move {
            let earlier = ctx.schedule_activity("earlier", "");
            ctx.schedule_wait("go").await;
            let _child = ctx.schedule_sub_orchestration("Child", "");
            let _timer = ctx.schedule_timer(std::time::Duration::from_secs(1));
            ctx.schedule_orchestration("Detached", "d", "x");
            ctx.set_kv_value("k", "v");
            drop(ctx.schedule_activity("dropped before", ""));
            let result: Result<String, String> =
                if ctx.get_kv_length() == 1 { panic!("now") } else { earlier.await };
            result
        }),
        vec![vec![start("in")], vec![signal("go", "")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "earlier", input: "" }
              3 ExternalSubscribed { name: "go" }
              -> worker ActivityExecute 2 earlier()
              => Running
            T2
              4 ExternalEvent { name: "go", data: "" }
              5 SubOrchestrationScheduled { name: "Child", instance: "sub::5", input: "" }
              6 TimerCreated { fire_at_ms: 3000 }
              7 OrchestrationChained { name: "Detached", instance: "d", input: "x" }
              8 KeyValueSet { key: "k", value: "v", last_updated_at_ms: 2000 }
              9 ActivityScheduled { name: "dropped before", input: "" }
              10 ActivityCancelRequested[9] { reason: "dropped_future" }
              11 ActivityCancelRequested[2] { reason: "orchestration_terminal_failed" }
              12 SubOrchestrationCancelRequested[5] { reason: "orchestration_terminal_failed" }
              13 OrchestrationFailed { details: Application { kind: Panicked, message: "now", retryable: false } }
              -> Cancel i::sub::5 "parent failed"
              -> Start i::sub::5 Child() for i#5
              -> Start d Detached(x)
              -> cancel activity 2
              -> cancel activity 9
              => Failed application | orchestration panicked: now
        "#]],
    );
}

#[test]
fn drops_count_when_the_code_catches_its_own_panic() {
    check(
        code(|ctx, _| async move {
            let doomed = async {
                let _activity = ctx.schedule_activity("doomed", "");
                ctx.schedule_wait("go").await;
                panic!("caught");
            };
            let caught: Result<(), _> = AssertUnwindSafe(doomed).catch_unwind().await;
            let result = ctx.schedule_activity("after", "").await?;
            Ok(format!("{} {result}", caught.is_err()))
        }),
        vec![vec![start("in")], vec![signal("go", "")], vec![done(5, "r")]],
        expect![[r#"
            T1
              1 OrchestrationStarted { input: "in" }
              2 ActivityScheduled { name: "doomed", input: "" }
              3 ExternalSubscribed { name: "go" }
              -> worker ActivityExecute 2 doomed()
              => Running
            T2
              4 ExternalEvent { name: "go", data: "" }
              5 ActivityScheduled { name: "after", input: "" }
              6 ActivityCancelRequested[2] { reason: "dropped_future" }
              -> worker ActivityExecute 5 after()
              -> cancel activity 2
              => Running
            T3
              7 ActivityCompleted[5] { result: "r" }
              8 OrchestrationCompleted { output: "true r" }
              => Completed "true r"
        "#]],
    );
}

#[test]
fn a_dequeue_that_is_dropped_by_a_caught_panic_gives_its_message_to_the_next() {
    let code = code(|ctx, _| async move {
        let doomed = async {
            let _first = ctx.dequeue_event("q");
            ctx.schedule_wait("go").await;
            panic!("caught");
        };
        let caught: Result<(), _> = AssertUnwindSafe(doomed).catch_unwind().await;
        drop(caught);
        Ok(ctx.dequeue_event("q").await)
    });
    check(
        code,
        vec![vec![start("in")], vec![message("q", "m"), signal("go", "")]],
        expect![[r#"
        T1
          1 OrchestrationStarted { input: "in" }
          2 QueueSubscribed { name: "q" }
          3 ExternalSubscribed { name: "go" }
          => Running
        T2
          4 QueueEventDelivered { name: "q", data: "m" }
          5 ExternalEvent { name: "go", data: "" }
          6 QueueSubscribed { name: "q" }
          7 QueueSubscriptionCancelled[2] { reason: "dropped_future" }
          8 OrchestrationCompleted { output: "m" }
          => Completed "m"
    "#]],
    );
}

#[test]
fn a_tag_on_something_that_has_none_fails_it() {
    type Misuse = fn(&OrchestrationContext);
    let misuses: [Misuse; 4] = [
        |ctx| drop(ctx.schedule_timer(std::time::Duration::ZERO).with_tag("t")),
        |ctx| drop(ctx.schedule_wait("w").with_tag("t")),
        |ctx| drop(ctx.dequeue_event("q").with_tag("t")),
        |ctx| drop(ctx.schedule_sub_orchestration("C", "").with_tag("t")),
    ];
    let said: Vec<_> = misuses
        .map(|misuse| {
            ends_after(&code(move |ctx, _| async move { Ok(format!("{:?}", misuse(&ctx))) }), vec![])
        })
        .to_vec();
    expect![[r#"
        Failed application | orchestration panicked: with_tag() can only be called on activity futures, got Timer
        Failed application | orchestration panicked: with_tag() can only be called on activity futures, got ExternalWait { event_name: "w" }
        Failed application | orchestration panicked: with_tag() can only be called on activity futures, got QueueDequeue { event_name: "q" }
        Failed application | orchestration panicked: with_tag() can only be called on activity futures, got SubOrchestration { token: 1 }"#]].assert_eq(&said.join("\n"));
}

#[test]
fn a_tag_that_comes_too_late_fails_it() {
    let code = code(|ctx, _| async move {
        let activity = ctx.schedule_activity("a", "");
        ctx.schedule_wait("go").await;
        activity.with_tag("t").await
    });
    expect!["Failed application | orchestration panicked: with_tag(): token 1 not found in emitted_actions — actions were drained before with_tag() was called; call it directly on the future that schedule_activity returns"].assert_eq(&ends_after(&code, vec![signal("go", "")]));
}

#[test]
fn code_that_only_panics_when_it_is_replayed_fails_unless_it_had_ended() {
    let was = code(|ctx, _| async move {
        ctx.schedule_activity("a", "").await?;
        ctx.schedule_activity("b", "").await
    });
    let is = code(|ctx, _| async move {
        ctx.schedule_activity("a", "").await?;
        panic!("not any more")
    });
    let mut execution = cold(&is, recorded(&was, &[vec![start("in")], vec![done(2, "r")]]));
    expect![[r#"
        T1
          5 ActivityCancelRequested[4] { reason: "orchestration_terminal_failed" }
          6 OrchestrationFailed { details: Application { kind: Panicked, message: "not any more", retryable: false } }
          -> cancel activity 4
          notice: ActivityCompleted dropped: the execution has ended
          => Failed application | orchestration panicked: not any more
    "#]].assert_eq(&text(&feed_safely(&mut execution, vec![done(4, "r")])));

    let ended = recorded(&was, &[vec![start("in")], vec![done(2, "r")], vec![done(4, "r")]]);
    let mut execution = cold(&is, ended);
    assert!(execution.mismatch().is_some(), "a test wants to know");
    assert_eq!(end(&feed_safely(&mut execution, vec![])), "Completed \"r\"", "what is recorded stands");
}

/// A waker of the user's own that does something when it is called or dropped.
struct Custom {
    on_wake: fn(),
    on_drop: fn(),
}

impl Wake for Custom {
    fn wake(self: Arc<Self>) {
        (self.on_wake)();
    }
}

impl Drop for Custom {
    fn drop(&mut self) {
        (self.on_drop)();
    }
}

/// Polls a future with a waker of its own, as executors inside executors do.
struct WithWaker<F> {
    future: F,
    on_wake: fn(),
    on_drop: fn(),
}

impl<F: Future + Unpin> Future for WithWaker<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<F::Output> {
        let waker = Waker::from(Arc::new(Custom { on_wake: self.on_wake, on_drop: self.on_drop }));
        Pin::new(&mut self.future).poll(&mut Context::from_waker(&waker))
    }
}

fn polled_with(on_wake: fn(), on_drop: fn()) -> Code {
    code(move |ctx, _| {
        let future = ctx.schedule_activity("a", "");
        WithWaker { future, on_wake, on_drop }
    })
}

#[test]
fn a_waker_that_does_nothing_is_legal() {
    let code = polled_with(|| (), || ());
    assert_eq!(ends_after(&code, vec![done(2, "r")]), "Completed \"r\"");
}

#[test]
fn a_waker_that_panics_when_it_is_called_is_contained() {
    let code = polled_with(|| panic!("the waker"), || ());
    expect!["Failed application | orchestration panicked: the waker"]
        .assert_eq(&ends_after(&code, vec![done(2, "r")]));

    let again = cold(&code, recorded(&code, &[vec![start("in")], vec![done(2, "r")]]));
    assert_eq!(again.mismatch(), None, "it replays");
}

#[test]
fn a_waker_that_panics_when_it_is_dropped_is_contained() {
    let code = polled_with(|| (), || panic!("the waker"));
    let mut execution = fresh(&code);
    feed_safely(&mut execution, vec![start("in")]);
    let cancelled = feed_safely(&mut execution, vec![crate::support::mail::cancel("stop")]);
    assert_eq!(end(&cancelled), "Failed application | canceled: stop");
}

#[test]
fn a_waker_that_panics_when_it_is_dropped_does_not_stop_an_eviction() {
    let code = polled_with(|| (), || panic!("the waker"));
    let mut execution = fresh(&code);
    feed_safely(&mut execution, vec![start("in")]);
    let evicted = catch_unwind(AssertUnwindSafe(|| drop(execution)));
    assert!(evicted.is_ok(), "an eviction never panics");
}

#[test]
fn a_context_works_on_after_a_panic_under_way() {
    let contexts = Shelf::new();
    let code = {
        let contexts = contexts.clone();
        code(move |ctx, _| {
            contexts.put(ctx.clone());
            async move {
                ctx.set_kv_value("k", "v");
                panic!("no")
            }
        })
    };
    feed_safely(&mut fresh(&code), vec![start("in")]);
    let ctx: OrchestrationContext = contexts.take();
    assert_eq!(ctx.get_kv_value("k").as_deref(), Some("v"), "no lock is poisoned");
    elsewhere(|| ctx.set_kv_value("k", "late"));
    assert_eq!(ctx.get_kv_value("k").as_deref(), Some("v"), "its outcome is fixed");
}
