//! Foreign asynchrony in the very last poll: the code returns or continues as new, but what another thread
//! asked or dropped meanwhile is lost, so the execution fails and says why instead of ending as if nothing were.

use abide_engine::{Foreign, OrchestrationContext};

use crate::support::drive::{cold, elsewhere, end, feed, observed};
use crate::support::mail::{signal, start};
use crate::support::{Code, code};

fn asks_elsewhere(ctx: &OrchestrationContext) {
    elsewhere(|| ctx.schedule_orchestration("Detached", "d", ""));
}

fn drops_elsewhere(ctx: &OrchestrationContext) {
    let future = ctx.schedule_activity("a", "");
    elsewhere(move || drop(future));
}

/// Fails in the turn that would have been its last, and replays in silence.
#[track_caller]
fn fails_and_replays(code: &Code, what: Foreign, message: &str) {
    let (mut execution, told) = observed(code);
    let first = feed(&mut execution, vec![start("in")]);
    assert_eq!((end(&first).as_str(), told.take_all()), ("Running", vec![]));
    let last = feed(&mut execution, vec![signal("go", "")]);
    assert!(end(&last).contains(message), "{}", end(&last));
    assert_eq!(told.take_all(), vec![what]);
    assert_eq!(last.orchestrator_items, vec![], "no successor, no detached start");

    let mut again = cold(code, [first.events, last.events].concat());
    assert_eq!(again.mismatch(), None);
    let silent = feed(&mut again, vec![]);
    assert_eq!((silent.events, silent.outcome), (vec![], last.outcome));
}

fn returns_after(foreign: fn(&OrchestrationContext)) -> Code {
    code(move |ctx, _| async move {
        ctx.schedule_wait("go").await;
        foreign(&ctx);
        Ok("done".to_owned())
    })
}

fn continues_after(foreign: fn(&OrchestrationContext)) -> Code {
    code(move |ctx, _| async move {
        ctx.schedule_wait("go").await;
        foreign(&ctx);
        ctx.continue_as_new("again").await
    })
}

// A detached start from a thread of the code's own was lost without a word when the same poll returned.
#[test]
fn an_ask_from_outside_in_the_poll_that_returns_fails_it() {
    fails_and_replays(&returns_after(asks_elsewhere), Foreign::Ask, "its context was used from outside");
}

#[test]
fn an_ask_from_outside_in_the_poll_that_continues_as_new_fails_it() {
    fails_and_replays(&continues_after(asks_elsewhere), Foreign::Ask, "its context was used from outside");
}

#[test]
fn a_drop_from_outside_in_the_poll_that_returns_fails_it() {
    fails_and_replays(&returns_after(drops_elsewhere), Foreign::Drop, "was dropped from outside");
}

#[test]
fn a_drop_from_outside_in_the_poll_that_continues_as_new_fails_it() {
    fails_and_replays(&continues_after(drops_elsewhere), Foreign::Drop, "was dropped from outside");
}
