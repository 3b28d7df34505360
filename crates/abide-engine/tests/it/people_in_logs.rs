//! What may be logged of a nondeterminism: both sides, without payloads.

use crate::support::disagree::{asks, started};
use crate::support::drive::{cold, feed, recorded};
use crate::support::mail::{done, signal, start};
use crate::support::{Code, Turn, code};

/// A payload that must not be in any log.
const CARD: &str = "card 4711";

fn waits() -> Code {
    code(|ctx, _| async move { Ok(ctx.schedule_wait("other").await) })
}

/// Histories with the payload in each kind of event, and code that asks for something else there.
fn differences() -> Vec<(Code, Vec<Turn>, Code)> {
    let answered = || vec![vec![start("in")], vec![done(2, CARD)]];
    let two_steps = || {
        code(|ctx, _| async move {
            ctx.schedule_activity("a", "in").await?;
            ctx.schedule_activity("b", CARD).await
        })
    };
    let asks_more = || {
        code(|ctx, _| async move {
            let first = ctx.schedule_activity("a", "in");
            let _more = ctx.schedule_activity("audit", CARD);
            first.await
        })
    };
    let returns = || code(|_, _| async move { Ok(CARD.to_owned()) });
    let fails = || code(|_, _| async move { Err(CARD.to_owned()) });
    vec![
        (asks(|ctx| ctx.schedule_activity("charge", CARD)), started(), waits()),
        (waits(), started(), asks(|ctx| ctx.schedule_activity("charge", CARD))),
        (asks(|ctx| ctx.schedule_sub_orchestration("Child", CARD)), started(), waits()),
        (asks(|ctx| ctx.set_custom_status(CARD)), started(), waits()),
        (waits(), started(), asks(|ctx| ctx.set_kv_value("k", CARD))),
        (two_steps(), answered(), asks_more()),
        (two_steps(), answered(), returns()),
        (two_steps(), answered(), fails()),
        (
            asks(|ctx| ctx.schedule_wait("go")),
            vec![vec![start("in")], vec![signal("go", CARD)]],
            code(|ctx, _| async move { ctx.schedule_activity("a", "in").await }),
        ),
    ]
}

#[test]
fn a_summary_names_both_sides_and_shows_no_payload() {
    for (number, (was, turns, is)) in differences().into_iter().enumerate() {
        let output = feed(&mut cold(&is, recorded(&was, &turns)), vec![]);
        let summary = output.fault_summary.unwrap_or_else(|| panic!("{number} agrees: {:?}", output.outcome));
        assert!(summary.starts_with("nondeterministic: "), "{number}: {summary}");
        assert!(!summary.contains("4711"), "{number}: {summary}");
        assert!(output.fault_event_id.is_some(), "{number}");
    }
}
