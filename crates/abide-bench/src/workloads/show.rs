//! Rows for people: how figures are written, and the table in a terminal.

use super::rows::{Ratio, Row, Spread, Verdict};
use super::targets::{Figure, Goal};
use crate::replay;

pub(crate) const HEADINGS: [&str; 11] = [
    "workload",
    "store",
    "what",
    "abide",
    "reference",
    "ratio",
    "must / aim",
    "of aim",
    "of ceiling",
    "fsync, ms",
    "verdict",
];

/// The cells of a row, under the headings.
pub(crate) fn cells(row: &Row) -> Vec<String> {
    let target = &row.target;
    let workload = place_of(target.workload, target.size);
    let dash = || "–".to_owned();
    vec![
        workload,
        store_title(target.store).to_owned(),
        what(target.figure),
        row.ours.map_or_else(dash, spread),
        row.reference.map_or_else(dash, spread),
        row.ratio.map_or_else(dash, ratio),
        goal(target.goal),
        row.of_aim.map_or_else(dash, share),
        row.ceiling
            .zip(row.of_ceiling)
            .map_or_else(dash, |(ceiling, of)| format!("{} of {}", share(of), number(ceiling))),
        row.fsync.map_or_else(dash, spread),
        verdict(row),
    ]
}

/// A workload at a size.
pub(crate) fn place_of(workload: &str, size: u64) -> String {
    match size {
        _ if workload == "all" => workload.to_owned(),
        0 | 1 => title(workload),
        size => format!("{}, {}", title(workload), thousands(size)),
    }
}

/// `w2-busy` is W2 beside other load.
fn title(workload: &str) -> String {
    match workload {
        "w2-busy" => "W2 beside 500 others".to_owned(),
        "w2-flood" => "W2 beside a flood".to_owned(),
        replay::WORKLOAD => "cold replay".to_owned(),
        other => other.to_uppercase(),
    }
}

pub(crate) fn store_title(store: &str) -> &str {
    match store {
        "sqlite-full" => "SQLite",
        "sqlite-normal" => "SQLite, NORMAL",
        "sqlite-memory" => "SQLite in memory",
        "postgres" => "PostgreSQL",
        other => other,
    }
}

pub(crate) fn what(figure: Figure) -> String {
    match figure {
        Figure::Plain { unit, .. } | Figure::OnNodes { unit, .. } => unit.to_owned(),
        Figure::WithSlots { unit, slots: 1, .. } => format!("{unit}, with 1 slot"),
        Figure::WithSlots { unit, slots, .. } => format!("{unit}, with {slots} slots"),
        Figure::ToSize { size, .. } => format!("× the rate at {}", thousands(size)),
        Figure::ToWorkload { workload, size, .. } => {
            format!("× the rate of {} at {}", title(workload), thousands(size))
        }
        Figure::ToAnother { engine, .. } => format!("× {engine}"),
        Figure::Nodes { nodes, activity_ms: 0, .. } => format!("× one process, with {nodes}"),
        Figure::Nodes { nodes, activity_ms, .. } => {
            format!("× one process, with {nodes}, activities of {activity_ms} ms, 16 slots")
        }
        Figure::Failures => "failures and hangs, all workloads and slots".to_owned(),
        Figure::Deadlocks => "deadlocks, all workloads".to_owned(),
    }
}

fn goal(goal: Goal) -> String {
    let pair = |sign: &str, must: f64, aim: Option<f64>| {
        let aim = aim.map_or_else(String::new, |aim| format!(" / {}", number(aim)));
        format!("{sign} {}{aim}", number(must))
    };
    match goal {
        Goal::TimesReference { must, aim, alone } => {
            let alone = alone
                .map_or_else(String::new, |(must, aim)| format!(" ({} / {})", number(must), number(aim)));
            format!("{} × / {} ×{alone}", number(must), number(aim))
        }
        Goal::AtLeast { must, aim } => pair("≥", must, aim),
        Goal::AtMost { must, aim } => pair("≤", must, aim),
        Goal::None => "–".to_owned(),
    }
}

fn verdict(row: &Row) -> String {
    let word = match row.verdict {
        Verdict::Aim => "met, and the aim",
        Verdict::Met => "met",
        Verdict::Missed => "not met",
        Verdict::Shown => "–",
        Verdict::NotMeasured => "not measured",
        Verdict::Failed => return format!("FAILED: {}", row.trouble.as_deref().unwrap_or_default()),
    };
    word.to_owned()
}

/// How many times, or more than that.
fn ratio(ratio: Ratio) -> String {
    format!("{}{} ×", if ratio.is_bound { "> " } else { "" }, spread(ratio.spread))
}

/// The median, and how far apart they were.
pub(crate) fn spread(spread: Spread) -> String {
    let Spread { least, median, most } = spread;
    let (least, median, most) = (number(least), number(median), number(most));
    if least == most { median } else { format!("{median} ({least}–{most})") }
}

fn share(share: f64) -> String {
    format!("{share:.2}")
}

/// Three digits are more than a benchmark knows.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    match () {
        () if size == 0.0 => "0".to_owned(),
        () if size >= 999.5 => {
            let whole = format!("{value:.0}");
            let (sign, digits) = whole.strip_prefix('-').map_or(("", whole.as_str()), |rest| ("-", rest));
            digits.parse().map_or_else(|_| whole.clone(), |count| format!("{sign}{}", thousands(count)))
        }
        () if size >= 100.0 => format!("{value:.0}"),
        () if size >= 10.0 => trimmed(format!("{value:.1}")),
        () if size >= 0.1 => trimmed(format!("{value:.2}")),
        () => trimmed(format!("{value:.4}")),
    }
}

fn trimmed(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

pub(crate) fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

/// Columns as wide as they must be.
pub(crate) fn table(headings: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let headings: Vec<String> = headings.iter().map(|heading| (*heading).to_owned()).collect();
    let lines: Vec<Vec<String>> = std::iter::once(headings).chain(rows).collect();
    let columns = lines.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let padded = |line: &Vec<String>| {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    lines.iter().map(padded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_they_deserve() {
        for (value, text) in [
            (0.0, "0"),
            (0.0134, "0.0134"),
            (0.5, "0.5"),
            (1.234, "1.23"),
            (12.34, "12.3"),
            (123.4, "123"),
            (999.7, "1,000"),
            (12_345.6, "12,346"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(thousands(1_000_000), "1,000,000");
    }

    #[test]
    fn a_spread_is_shown_only_if_there_is_one() {
        assert_eq!(spread(Spread { least: 2.0, median: 2.0, most: 2.0 }), "2");
        assert_eq!(spread(Spread { least: 1.0, median: 2.0, most: 4.0 }), "2 (1–4)");
    }
}
