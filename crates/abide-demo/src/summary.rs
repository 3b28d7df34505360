//! The end of the day: a table of all orders, and what it comes to. Pure.

use std::time::Duration;

use crate::line::{Line, Tone, column};
use crate::referee::Finding;
use crate::screen::blank;
use crate::shop::Outcome;
use crate::time::readable;

/// What happened to the worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Crash {
    /// When it was killed, in milliseconds since the Unix epoch.
    pub(crate) at_ms: u64,
    /// How many orders were under way.
    pub(crate) under_way: usize,
    /// From the start of the next process to the first thing it did outside.
    pub(crate) gap: Duration,
}

/// What the whole day comes to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Totals {
    pub(crate) crash: Option<Crash>,
    pub(crate) orchestrations: u64,
    pub(crate) events: u64,
    pub(crate) took: Duration,
}

pub(crate) fn table(findings: &[Finding]) -> Vec<Line> {
    let header = format!(
        "{}{}{}{:>8}{:>8}{:>6}{:>8}",
        column("order", 10),
        column("kind", 15),
        column("outcome", 27),
        "payment",
        "effects",
        "runs",
        "time"
    );
    let mut lines = vec![Tone::Bold.line(header)];
    lines.extend(findings.iter().map(row));
    lines
}

fn row(finding: &Finding) -> Line {
    let (tone, outcome) = match &finding.outcome {
        Ok(outcome @ Outcome::Shipped { .. }) => (Tone::Good, outcome.to_string()),
        Ok(outcome @ Outcome::Cancelled { .. }) => (Tone::Undone, outcome.to_string()),
        Err(_) => (Tone::Bad, "failed".to_owned()),
    };
    let payment = match finding.payments {
        1 => "1 try".to_owned(),
        tries => format!("{tries} tries"),
    };
    let runs_tone = if finding.runs > finding.effects { Tone::Bold } else { Tone::Normal };
    let line = Tone::Normal
        .line(column(&finding.id, 10))
        .and(Tone::Dim, column(finding.kind, 15))
        .and(tone, column(&outcome, 27))
        .and(Tone::Normal, format!("{payment:>8}{:>8}", finding.effects))
        .and(runs_tone, format!("{:>6}", finding.runs))
        .and(Tone::Dim, format!("{:>8}", format!("{:.1} s", finding.took.as_secs_f64())));
    if finding.faults.is_empty() { line } else { line.and(Tone::Bad, "  WRONG") }
}

pub(crate) fn totals(findings: &[Finding], totals: &Totals) -> Vec<Line> {
    let wrong: Vec<&Finding> = findings.iter().filter(|finding| !finding.faults.is_empty()).collect();
    let shipped = findings.iter().filter(|finding| matches!(finding.outcome, Ok(Outcome::Shipped { .. })));
    let shipped = shipped.count();
    let orders = findings.len();
    let mut lines = Vec::new();
    if wrong.is_empty() {
        let undone = orders - shipped;
        let all =
            format!("Every order ended exactly right: {shipped} shipped, {undone} cancelled and undone.");
        lines.push(Tone::Good.line(all));
    } else {
        lines.push(Tone::Bad.line(format!("{} of {orders} orders did not end right:", wrong.len())));
        for finding in wrong {
            for fault in &finding.faults {
                lines.push(Tone::Bad.line(format!("  {}: {fault}", finding.id)));
            }
        }
    }
    let runs: usize = findings.iter().map(|finding| finding.runs).sum();
    let effects: usize = findings.iter().map(|finding| finding.effects).sum();
    if let Some(crash) = &totals.crash {
        lines.push(Tone::Normal.line(format!(
            "The worker was killed with {} orders under way; the next one was at work {} after its start.",
            crash.under_way,
            readable(crash.gap)
        )));
    }
    lines.push(Tone::Normal.line(match runs - effects {
        0 => format!("Activities ran {runs} times and had {effects} effects: none ran twice."),
        again => format!(
            "Activities ran {runs} times and had {effects} effects: {again} were cut off and ran again, with the same key."
        ),
    }));
    lines.push(Tone::Normal.line(format!(
        "The database holds {} events of {} orchestrations. The day took {}.",
        totals.events,
        totals.orchestrations,
        readable(totals.took)
    )));
    lines.push(blank());
    lines
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::referee::Fault;
    use crate::shop::Reason;
    use crate::world::Happening;

    fn finding(id: &str, outcome: Result<Outcome, String>) -> Finding {
        Finding {
            id: id.to_owned(),
            kind: "flaky payment",
            outcome,
            payments: 3,
            effects: 9,
            runs: 9,
            took: Duration::from_millis(4_250),
            faults: Vec::new(),
        }
    }

    fn text(lines: &[Line]) -> String {
        assert!(lines.iter().all(|line| line.width() <= 120), "{lines:?}");
        lines.iter().map(Line::plain).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_good_day() {
        let mut first = finding("order-01", Ok(Outcome::Shipped { parcel: "parcel-01".to_owned() }));
        first.runs = 10;
        let mut second = finding("order-02", Ok(Outcome::Cancelled { reason: Reason::AddressUnknown }));
        second.payments = 1;
        let crash = Crash { at_ms: 0, under_way: 2, gap: Duration::from_millis(41) };
        let day =
            Totals { crash: Some(crash), orchestrations: 4, events: 98, took: Duration::from_millis(9_900) };
        expect![[r#"
            order     kind           outcome                     payment effects  runs    time
            order-01  flaky payment  shipped as parcel-01        3 tries       9    10   4.2 s
            order-02  flaky payment  cancelled: address unknown    1 try       9     9   4.2 s"#]].assert_eq(&text(&table(&[first.clone(), second.clone()])));
        expect![[r#"
            Every order ended exactly right: 1 shipped, 1 cancelled and undone.
            The worker was killed with 2 orders under way; the next one was at work 41 ms after its start.
            Activities ran 19 times and had 18 effects: 1 were cut off and ran again, with the same key.
            The database holds 98 events of 4 orchestrations. The day took 9.9 s.
        "#]].assert_eq(&text(&totals(&[first, second], &day)));
    }

    #[test]
    fn a_bad_day() {
        let mut first = finding("order-01", Err("no".to_owned()));
        first.faults = vec![Fault::Effects { what: Happening::Charged, expected: 1, found: 2 }];
        let day = Totals { crash: None, orchestrations: 1, events: 12, took: Duration::from_millis(900) };
        expect![[r#"
            order     kind           outcome                     payment effects  runs    time
            order-01  flaky payment  failed                      3 tries       9     9   4.2 s  WRONG"#]].assert_eq(&text(&table(&[first.clone()])));
        expect![[r#"
            1 of 1 orders did not end right:
              order-01: charged 2 times instead of 1
            Activities ran 9 times and had 9 effects: none ran twice.
            The database holds 12 events of 1 orchestrations. The day took 900 ms.
        "#]].assert_eq(&text(&totals(&[first], &day)));
    }
}
