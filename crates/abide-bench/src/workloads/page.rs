//! The page `docs/benchmarks.md`. Pure: what people wrote about the results is handed in, and is kept.

use serde_json::{Value, json};

use super::counts;
use super::line::{Ended, Line, Side};
use super::rows::{Row, Verdict};
use super::show::{HEADINGS, cells, number, store_title, thousands};

/// Where and when it was measured.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Origin {
    pub(crate) command: String,
    pub(crate) commit: String,
    pub(crate) machine: String,
}

impl Origin {
    /// The first line of a file of results.
    pub(crate) fn to_json(&self) -> Value {
        json!({ "origin": { "command": self.command, "commit": self.commit, "machine": self.machine } })
    }

    fn cells(&self) -> Vec<String> {
        vec![format!("`{}`", self.command), self.commit.clone(), self.machine.clone()]
    }

    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get("origin")?.get(name)?.as_str().map(str::to_owned);
        Some(Self { command: text("command")?, commit: text("commit")?, machine: text("machine")? })
    }
}

pub(crate) fn page(origins: &[Origin], rows: &[Row], lines: &[Line], notes: &str) -> String {
    let mut text = "# Benchmarks\n\n\
         Made by `cargo xtask bench`, which measures, and with `--write` writes this page; what is said about the results is \
         [written by hand](benchmarks-notes.md) and copied here. The reference is duroxide 0.1.32, duroxide-pg 0.1.38.\n\n"
        .to_owned();
    text += &markdown(&["command", "commit", "machine"], origins.iter().map(Origin::cells));
    text += "\n";
    text += ABOUT;
    text += "\n## Targets\n\n![Ratio to the reference](benchmarks.svg)\n\n";
    text += COLUMNS;
    text += &markdown(&HEADINGS, rows.iter().map(cells));
    text.extend(["\n", &summary(rows), "\n\n## What dominates where a target is not met\n\n", notes.trim()]);
    text.extend(["\n\n## Counts per step\n\n", counts::ABOUT, "\n\n"]);
    text += &markdown(&counts::HEADINGS, counts::cells(lines));
    text += "\n## Everything that was measured\n\nMedians over the repetitions, with default options unless slots are named.\n\n";
    text += &markdown(&["who", "workload", "store", "slots", "figures"], all(lines));
    text
}

const ABOUT: &str = "\
Each measurement is a process of its own, on a store of its own; the reference runs the same file of workloads, in turn with ours, \
with the defaults of both libraries. What ours does within a second is measured three times in each repetition. Figures are medians, with the least and the most of all in brackets.\n\n\
| | what |\n|---|---|\n\
| W1 | so many orchestrations at once, 5 trivial activities one after the other in each |\n\
| W2 | one orchestration at a time, with one activity: from the start to the result in the client; also while 500 others are always under way, and while one instance is flooded with messages |\n\
| W3 | one orchestration joins so many activities |\n\
| W4 | one orchestration, so many activities one after the other |\n\
| W5 | so many executions by continue-as-new |\n\
| W6 | so many orchestrations with a timer of 100 ms: how late it is, and how many were early at all |\n\
| W7 | so many orchestrations wait for an event and all are raised: from the call until the code goes on |\n\
| W8 | a parent with so many children |\n\
| W9 | a runtime with nothing to do, alone or with so many sleeping instances |\n\
| W10 | from `cancel_instance` until the running activity has heard, in the same process or in another one |\n\
| W11 | a process with so many orchestrations under way is killed; another opens the store |\n\
| W12 | W1 with several processes |\n";

const COLUMNS: &str = "\
*Ratio*: how many times better than the reference; a size that it is not asked for is compared with its rate at the largest that it is. \
\"> …\": it did not get to the end of that in time, so that its rate is less than what it was asked for, divided by that time. What another engine did is the figure of the contract, taken \
on a machine of this kind; it was not measured again. *Of aim*: 1 is there. *Of ceiling*: what the store allows if nothing is done but the durable writes, measured \
before and after everything else as `abide-bench ceiling` does, the better of both: for W1 groups of whatever waits, one commit per step; for W2 two commits, for W4, W5 and W7 \
one, with nobody else there, and for W10 two; in groups as many rows for W3, and two for each event of W7 at 500 (the message and the turn) and each child of W8. Where time is waited for, or nothing is done, durable writes \
say nothing (W6, W9); W11 and W12 are compared with W1. *fsync*: what a lone one took (the median of 20) just before each measurement of a latency.\n\n";

/// Of each thing that was measured, the medians.
fn all(lines: &[Line]) -> Vec<Vec<String>> {
    let mut subjects: Vec<_> = lines.iter().map(|line| &line.subject).collect();
    subjects.sort();
    subjects.dedup();
    let row = |subject: &super::line::Subject| {
        let same: Vec<&Line> = lines.iter().filter(|line| line.subject == *subject).collect();
        let what = format!("{} {}{}", subject.workload, thousands(subject.size), subject.processes());
        vec![
            subject.side.name().to_owned(),
            what,
            store_title(&subject.store).to_owned(),
            subject.slots.map_or_else(String::new, |slots| slots.to_string()),
            figures(&same),
        ]
    };
    subjects.into_iter().map(row).collect()
}

fn figures(same: &[&Line]) -> String {
    let mut names: Vec<&String> = same.iter().flat_map(|line| line.figures.keys()).collect();
    names.sort();
    names.dedup();
    let median = |name: &String| {
        let values = same.iter().filter_map(|line| line.figure(name));
        super::rows::Spread::of(values).map(|spread| format!("{name} {}", number(spread.median)))
    };
    let mut parts: Vec<String> = names.into_iter().filter_map(median).collect();
    let failures: u64 = same.iter().map(|line| line.failures).sum();
    if failures > 0 {
        parts.insert(0, format!("**{failures} did not complete**"));
    }
    for line in same {
        match &line.ended {
            Ended::Good => {}
            Ended::TooLong(seconds) => parts.insert(0, format!("**did not finish in {seconds} s**")),
            Ended::Broken(complaint) => parts.insert(0, format!("**{}**", one_line(complaint))),
        }
    }
    parts.join("; ")
}

fn one_line(text: &str) -> String {
    text.replace(['|', '\n'], " ")
}

fn summary(rows: &[Row]) -> String {
    let count = |wanted: &[Verdict]| rows.iter().filter(|row| wanted.contains(&row.verdict)).count();
    format!(
        "{} met ({} of them with the aim), {} not met, {} failed, {} not measured, {} only shown.",
        count(&[Verdict::Met, Verdict::Aim]),
        count(&[Verdict::Aim]),
        count(&[Verdict::Missed]),
        count(&[Verdict::Failed]),
        count(&[Verdict::NotMeasured]),
        count(&[Verdict::Shown]),
    )
}

fn markdown(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let headings: Vec<String> = headings.iter().map(|it| (*it).to_owned()).collect();
    let rule = vec!["---".to_owned(); headings.len()];
    let mut text = line(&headings) + &line(&rule);
    for row in rows {
        text += &line(&row.iter().map(|cell| one_line(cell)).collect::<Vec<_>>());
    }
    text
}

/// Whether the page may be written: something of ours was measured.
pub(crate) fn is_worth_writing(lines: &[Line]) -> bool {
    lines.iter().any(|line| line.subject.side == Side::Ours && !line.figures.is_empty())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::line::{Subject, Time};
    use super::super::rows::rows;
    use super::super::targets;
    use super::*;

    #[test]
    fn every_target_has_a_row_and_notes_are_kept() {
        let (workload, store) = ("w2".to_owned(), "sqlite-full".to_owned());
        let side = Side::Ours;
        let subject = Subject { workload, size: 1, store, slots: None, nodes: 1, activity_ms: 0, side };
        let figures = BTreeMap::from([("p50_ms".to_owned(), 1.5), ("fsync_p50_ms".to_owned(), 0.2)]);
        let counters =
            BTreeMap::from([("steps".to_owned(), Some(200.0)), ("fsyncs".to_owned(), Some(300.0))]);
        let ended = Ended::Good;
        let lines = [Line { subject, time: Time::of(1), ended, failures: 0, figures, counters }];
        let origin = Origin { command: "cargo xtask bench".to_owned(), ..Origin::default() };
        let text = page(&[origin], &rows(&targets::all(), &lines), &lines, "W4: the disk.\n");
        assert!(text.contains("\n| `cargo xtask bench` |  |  |\n"), "{text}");
        assert!(
            text.contains("\n| W2 | SQLite | ms (p50) | 1.5 | – | – | ≤ 2 / 1 | 0.67 | – | 0.2 | met |\n"),
            "{text}"
        );
        assert!(text.contains("W4: the disk."));
        assert!(text.contains("| abide | W2 | SQLite | – | – | 1.5 | – | – | – |"), "{text}");
        assert!(text.contains("| abide | w2 1 | SQLite |  | fsync_p50_ms 0.2; p50_ms 1.5 |"));
        let verdicts = text.lines().filter(|line| line.ends_with(" | not measured |")).count();
        assert!(verdicts > 40, "{verdicts}");
    }

    #[test]
    fn the_origin_comes_back_as_it_was() {
        let (command, commit, machine) = ("a".to_owned(), "b".to_owned(), "c".to_owned());
        let origin = Origin { command, commit, machine };
        assert_eq!(Origin::from_json(&origin.to_json()), Some(origin));
    }

    #[test]
    fn trouble_is_said() {
        let subject = Subject {
            workload: "w8".to_owned(),
            size: 200,
            store: "postgres".to_owned(),
            slots: Some(16),
            nodes: 1,
            activity_ms: 0,
            side: Side::Reference,
        };
        let ended = Ended::TooLong(120);
        let (figures, counters) = (BTreeMap::new(), BTreeMap::new());
        let line = Line { subject, time: Time::of(1), ended, failures: 0, figures, counters };
        assert!(page(&[], &[], &[line], "").contains("**did not finish in 120 s**"));
    }
}
