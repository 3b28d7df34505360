//! The end of the day: a table of all orders, and what it comes to. Pure.

use std::time::Duration;

use crate::line::{Line, Tone, column};
use crate::referee::Finding;
use crate::shop::Outcome;
use crate::words::{counted, readable};

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
        "  {}{}{}{:>8}{:>8}{:>5}{:>7}",
        column("order", 10),
        column("kind", 15),
        column("outcome", 25),
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
    let mark = if finding.faults.is_empty() { Tone::Good.line("✓ ") } else { Tone::Bad.line("✗ ") };
    mark.and(Tone::Normal, column(&finding.id, 10))
        .and(Tone::Dim, column(finding.kind, 15))
        .and(tone, column(&outcome, 25))
        .and(Tone::Normal, format!("{payment:>8}{:>8}", finding.effects))
        .and(runs_tone, format!("{:>5}", finding.runs))
        .and(Tone::Dim, format!("{:>7}", format!("{:.1} s", finding.took.as_secs_f64())))
}

pub(crate) fn totals(findings: &[Finding], totals: &Totals) -> Vec<Line> {
    let sum = |number: fn(&Finding) -> usize| findings.iter().map(number).sum::<usize>();
    let (runs, effects) = (sum(|finding| finding.runs), sum(|finding| finding.effects));
    let charged = findings.iter().filter(|finding| finding.charges > 0).count();
    let mut lines = judgement(findings);
    let mut fact = |name: &str, text: String| {
        lines.push(Tone::Dim.line(format!("  {name:<12}")).and(Tone::Normal, text));
    };
    if let Some(crash) = &totals.crash {
        let lost = counted(crash.under_way, "order");
        fact("crash", format!("{lost} under way; at work again {} after the restart", readable(crash.gap)));
    }
    fact(
        "activities",
        match runs.saturating_sub(effects) {
            0 => format!("{runs} runs, {effects} effects: none ran twice"),
            1 => format!("{runs} runs, {effects} effects: 1 was cut off, ran again, and counts once"),
            again => {
                format!("{runs} runs, {effects} effects: {again} were cut off, ran again, and count once")
            }
        },
    );
    let twice = match findings.iter().filter(|finding| finding.charges > 1).count() {
        0 => "none".to_owned(),
        some => some.to_string(),
    };
    fact("cards", format!("{charged} charged, {twice} of them twice"));
    fact("database", format!("{} events of {} orchestrations", totals.events, totals.orchestrations));
    fact("time", readable(totals.took));
    lines
}

fn judgement(findings: &[Finding]) -> Vec<Line> {
    let wrong: Vec<&Finding> = findings.iter().filter(|finding| !finding.faults.is_empty()).collect();
    let orders = findings.len();
    if wrong.is_empty() {
        let is_shipped = |finding: &&Finding| matches!(finding.outcome, Ok(Outcome::Shipped { .. }));
        let shipped = findings.iter().filter(is_shipped).count();
        let undone = orders - shipped;
        let text =
            format!("Every order ended exactly right: {shipped} shipped, {undone} cancelled and undone.");
        return vec![Tone::Good.line(text)];
    }
    let mut lines = vec![Tone::Bad.line(format!("{} of {orders} orders did not end right:", wrong.len()))];
    for finding in wrong {
        let told = finding.faults.iter().map(|fault| Tone::Bad.line(format!("  {}: {fault}", finding.id)));
        lines.extend(told);
    }
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
            charges: 1,
            effects: 9,
            runs: 9,
            took: Duration::from_millis(4_250),
            faults: Vec::new(),
        }
    }

    fn text(lines: &[Line]) -> String {
        assert!(lines.iter().all(|line| line.width() <= 80), "{lines:?}");
        lines.iter().map(Line::plain).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_good_day() {
        let mut first = finding("order-01", Ok(Outcome::Shipped { parcel: "parcel-01".to_owned() }));
        first.runs = 10;
        let mut second = finding("order-02", Ok(Outcome::Cancelled { reason: Reason::BadAddress }));
        second.payments = 1;
        let crash = Crash { at_ms: 0, under_way: 2, gap: Duration::from_millis(41) };
        let day =
            Totals { crash: Some(crash), orchestrations: 4, events: 98, took: Duration::from_millis(9_900) };
        expect![[r#"
              order     kind           outcome                   payment effects runs   time
            ✓ order-01  flaky payment  shipped as parcel-01      3 tries       9   10  4.2 s
            ✓ order-02  flaky payment  cancelled: bad address      1 try       9    9  4.2 s"#]]
        .assert_eq(&text(&table(&[first.clone(), second.clone()])));
        expect![[r#"
            Every order ended exactly right: 1 shipped, 1 cancelled and undone.
              crash       2 orders under way; at work again 41 ms after the restart
              activities  19 runs, 18 effects: 1 was cut off, ran again, and counts once
              cards       2 charged, none of them twice
              database    98 events of 4 orchestrations
              time        9.9 s"#]]
        .assert_eq(&text(&totals(&[first, second], &day)));
    }

    #[test]
    fn a_bad_day() {
        let mut first = finding("order-01", Err("no".to_owned()));
        first.faults = vec![Fault::Effects { what: Happening::Charged, expected: 1, found: 2 }];
        let day = Totals { crash: None, orchestrations: 1, events: 12, took: Duration::from_millis(900) };
        expect![[r#"
              order     kind           outcome                   payment effects runs   time
            ✗ order-01  flaky payment  failed                    3 tries       9    9  4.2 s"#]]
        .assert_eq(&text(&table(&[first.clone()])));
        expect![[r#"
            1 of 1 orders did not end right:
              order-01: charged 2 times instead of 1
              activities  9 runs, 9 effects: none ran twice
              cards       1 charged, none of them twice
              database    12 events of 1 orchestrations
              time        900 ms"#]]
        .assert_eq(&text(&totals(&[first], &day)));
    }
}
