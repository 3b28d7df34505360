//! Code that awaits nothing durable stays running until it is canceled: the turn says so, and warns once.

use std::future::pending;
use std::pin::pin;
use std::task::Waker;

use abide_engine::model::{ConfigErrorKind, ErrorDetails, EventKind};
use abide_engine::{Foreign, Notice, TurnOutput};
use expect_test::expect;
use futures::channel::oneshot;

use crate::support::drive::{Shelf, agree, cold, elsewhere, end, feed, fresh, observed, returned, text};
use crate::support::mail::{cancel, done, message, signal, start};
use crate::support::past::{past, started};
use crate::support::{Code, code};

fn waits_for_nothing() -> Code {
    code(|_, _| async move { pending().await })
}

fn warnings(output: &TurnOutput) -> usize {
    output.notices.iter().filter(|notice| **notice == Notice::WaitsForNothing).count()
}

#[test]
fn an_orchestration_that_awaits_nothing_durable_stays_running_until_it_is_cancelled() {
    let mut execution = fresh(&waits_for_nothing());
    let first = feed(&mut execution, vec![start("in")]);
    assert!(first.waits_for_nothing && execution.waits_for_nothing());
    expect![[r#"
        T1
          1 OrchestrationStarted { input: "in" }
          notice: the orchestration waits for nothing: no durable operation is open, so only a cancel ends it. It awaits something that is not durable (a channel, a spawned task, a future that is never ready), or only futures whose result it has taken. Await a timer, an activity, a child, an event or a queue of the context, or cancel the instance
          => Running
    "#]]
    .assert_eq(&text(&first));

    let ended = feed(&mut execution, vec![cancel("why")]);
    assert!(!ended.waits_for_nothing);
    expect![[r#"
        T1
          2 OrchestrationCancelRequested { reason: "why" }
          3 OrchestrationFailed { details: Application { kind: Cancelled { reason: "why" }, message: "", retryable: false } }
          => Failed application | canceled: why
    "#]]
    .assert_eq(&text(&ended));
}

#[test]
fn its_messages_are_recorded_and_it_goes_on_waiting_on_replay_too() {
    let turns = [
        vec![start("in")],
        vec![signal("s", "1"), message("q", "2")],
        vec![cancel("why"), signal("s", "late")],
    ];
    let outputs = agree(&waits_for_nothing(), &turns);
    assert_eq!(outputs.iter().map(|turn| turn.waits_for_nothing).collect::<Vec<_>>(), [true, true, false]);
}

#[test]
fn only_the_turn_after_which_it_waits_for_nothing_warns() {
    let code = code(|ctx, _| async move {
        ctx.schedule_wait("go").await;
        pending().await
    });
    let mut execution = fresh(&code);
    let first = feed(&mut execution, vec![start("in")]);
    assert_eq!((first.waits_for_nothing, warnings(&first)), (false, 0));
    let second = feed(&mut execution, vec![signal("go", "")]);
    assert_eq!((second.waits_for_nothing, warnings(&second)), (true, 1));
    let third = feed(&mut execution, vec![signal("more", "")]);
    assert_eq!((third.waits_for_nothing, warnings(&third)), (true, 0), "it was said");

    let history = [first.events, second.events, third.events].concat();
    let again = feed(&mut cold(&code, history), vec![signal("again", "")]);
    assert_eq!((again.waits_for_nothing, warnings(&again)), (true, 0), "it was said by another node");
}

#[test]
fn a_replay_that_ends_in_the_first_turn_does_not_warn_again() {
    let code = waits_for_nothing();
    let first = feed(&mut fresh(&code), vec![start("in")]);
    let again = feed(&mut cold(&code, first.events), vec![]);
    assert_eq!((again.waits_for_nothing, warnings(&again)), (true, 0));
}

#[test]
fn a_channel_that_nobody_can_complete_is_nothing_to_wait_for() {
    let code = code(|_, _| async move {
        let (_sender, receiver) = oneshot::channel::<String>();
        receiver.await.map_err(|error| error.to_string())
    });
    assert!(feed(&mut fresh(&code), vec![start("in")]).waits_for_nothing);
}

#[test]
fn a_foreign_wake_still_fails_it() {
    let wakers: Shelf<Waker> = Shelf::new();
    let code = {
        let wakers = wakers.clone();
        code(move |_, _| {
            let wakers = wakers.clone();
            std::future::poll_fn(move |cx| {
                wakers.put(cx.waker().clone());
                std::task::Poll::Pending
            })
        })
    };
    let (mut execution, told) = observed(&code);
    assert!(feed(&mut execution, vec![start("in")]).waits_for_nothing);
    let waker = wakers.take();
    elsewhere(move || waker.wake());
    assert_eq!(told.take_all(), vec![Foreign::Wake], "the listener is told at once");
    let failed = feed(&mut execution, vec![signal("any", "")]);
    assert!(end(&failed).contains("foreign asynchrony"), "{}", end(&failed));
    assert!(!failed.waits_for_nothing);
}

#[test]
fn waiting_for_nothing_beside_something_durable_is_waiting_for_that() {
    let code = code(|ctx, _| async move {
        let wait = ctx.schedule_wait("go");
        let nothing = pin!(pending::<()>());
        let _first = futures::future::select(wait, nothing).await;
        Ok("went".to_owned())
    });
    let mut execution = fresh(&code);
    let first = feed(&mut execution, vec![start("in")]);
    assert_eq!((end(&first).as_str(), first.waits_for_nothing), ("Running", false));
    assert_eq!(returned(&feed(&mut execution, vec![signal("go", "")])), "went");
}

#[test]
fn an_activity_whose_future_is_held_is_something_to_wait_for() {
    let code = code(|ctx, _| async move {
        let _held = ctx.schedule_activity("a", "");
        pending().await
    });
    let mut execution = fresh(&code);
    assert!(!feed(&mut execution, vec![start("in")]).waits_for_nothing);
    let answered = feed(&mut execution, vec![done(2, "r")]);
    assert!(answered.waits_for_nothing, "its result came, and the code did not take it");
}

// Releases up to 0.2.0 failed such an execution. Their histories replay in silence.
#[test]
fn a_history_that_an_older_release_failed_for_it_still_fits() {
    let details = ErrorDetails::Configuration {
        kind: ConfigErrorKind::Nondeterminism,
        resource: String::new(),
        message: Some("the orchestration waits, but nothing durable is open".to_owned()),
    };
    for version in ["0.2.0", "0.1.32"] {
        let failed = (None, EventKind::OrchestrationFailed { details: details.clone() });
        let history = past(version, vec![started("in"), failed]);
        let mut execution = cold(&waits_for_nothing(), history);
        assert_eq!(execution.mismatch(), None, "{version}");
        let late = feed(&mut execution, vec![signal("late", "")]);
        assert_eq!((late.events.len(), late.waits_for_nothing), (0, false), "{version}");
        assert!(end(&late).contains("nothing durable is open"), "{version}");
    }
}
