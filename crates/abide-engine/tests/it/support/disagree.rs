//! What is said when history and code disagree.

use abide_engine::model::{ConfigErrorKind, ErrorDetails, Event, EventKind};
use abide_engine::{OrchestrationContext, Outcome};
use expect_test::Expect;

use super::drive::{cold, feed, recorded};
use super::mail::start;
use super::{Code, Turn, code};

/// Records a history with the code as it was, and replays it with the code as it is now.
#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "scripts are written in place")]
pub(crate) fn disagree(was: Code, turns: Vec<Turn>, is: Code, expected: Expect) {
    expected.assert_eq(&complaint(&is, recorded(&was, &turns)));
}

/// What is said when `history` is replayed, with the documented kind of error around it.
#[track_caller]
pub(crate) fn complaint(code: &Code, history: Vec<Event>) -> String {
    let has_ended = history.last().is_some_and(Event::is_terminal);
    let mut execution = cold(code, history);
    let output = feed(&mut execution, vec![]);
    let details = match output.outcome {
        Outcome::Failed { details } if !has_ended => {
            let last = output.events.last().map(|event| event.kind.clone());
            assert_eq!(last, Some(EventKind::OrchestrationFailed { details: details.clone() }));
            details
        }
        outcome @ (Outcome::Completed { .. } | Outcome::Failed { .. } | Outcome::ContinuedAsNew { .. }) => {
            assert!(output.events.is_empty(), "an ended history stands: {:?}", output.events);
            execution.mismatch().cloned().unwrap_or_else(|| panic!("they agree: {outcome:?}"))
        }
        Outcome::Running => panic!("they agree"),
    };
    let ErrorDetails::Configuration { kind: ConfigErrorKind::Nondeterminism, ref resource, .. } = details
    else {
        panic!("it is nondeterminism, but: {details:?}")
    };
    assert_eq!(resource, "");
    let message = details.display_message();
    message.strip_prefix("nondeterministic: ").unwrap_or_else(|| panic!("{message}")).to_owned()
}

/// Code that asks for one thing and then waits for a signal.
pub(crate) fn asks<T>(ask: impl Fn(&OrchestrationContext) -> T + Send + Sync + Clone + 'static) -> Code
where
    T: Send,
{
    code(move |ctx, _| {
        let ask = ask.clone();
        async move {
            let _held = ask(&ctx);
            Ok(ctx.schedule_wait("end").await)
        }
    })
}

/// Code that runs activities in sequence.
pub(crate) fn steps(names: &'static [&'static str]) -> Code {
    code(move |ctx, _| async move {
        for name in names {
            ctx.schedule_activity(*name, "in").await?;
        }
        Ok("out".to_owned())
    })
}

/// The first turn, and nothing else.
pub(crate) fn started() -> Vec<Turn> {
    vec![vec![start("in")]]
}
