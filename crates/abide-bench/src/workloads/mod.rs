//! Whole orchestrations: what a user waits for, on every store, beside the reference and beside what the store allows.
//!
//! Each measurement is a process (`abide-workloads`, or the same around the reference) on a store of its own. Read `plan.rs` for
//! what is measured, `measure.rs` for how, `targets.rs` for what it must come to, `rows.rs` for the judgement; `show.rs`, `counts.rs`,
//! `page.rs` and `chart.rs` show it.

mod against;
mod arguments;
mod chart;
mod counts;
pub(crate) mod line;
mod measure;
mod origin;
mod page;
pub(crate) mod place;
mod plan;
mod rows;
mod run;
mod show;
mod targets;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use arguments::Arguments;
use line::{Ended, Line, Side, Time};
use page::Origin;
use plan::{STORES, WORKLOADS};
use serde_json::Value;
use targets::Target;

use crate::program::{Program, Verdict, block_on};
use crate::store::Fallible;

pub(crate) fn main(words: impl Iterator<Item = String>) -> ExitCode {
    let program = Program { name: "abide-bench", usage: arguments::USAGE };
    program.run(Arguments::parse(words), |arguments| {
        if arguments.only_check { Ok(Verdict::Met) } else { block_on(run_all(&arguments)) }
    })
}

async fn run_all(arguments: &Arguments) -> Fallible<Verdict> {
    if let Some(earlier) = &arguments.earlier {
        return against::compare(arguments, earlier).await;
    }
    let (origins, lines) = match &arguments.from {
        Some(file) => read(file)?,
        None => measure::all(arguments).await?,
    };
    let rows = rows::rows(&targets::all(), &lines);
    let is_measured = |row: &rows::Row| row.ours.is_some() || row.trouble.is_some();
    let mut shown: Vec<_> = rows.iter().filter(|row| is_measured(row)).cloned().collect();
    shown.extend(rows::rows(&without_target(&lines), &lines));
    println!("\n{}", show::table(&show::HEADINGS, shown.iter().map(show::cells)));
    println!("for each activity\n\n{}", show::table(&counts::HEADINGS, counts::cells(&lines)));
    if arguments.writes {
        write_page(&origins, &rows, &lines)?;
    }
    let is_bad =
        |line: &&Line| line.subject.side == Side::Ours && (line.failures > 0 || line.ended != Ended::Good);
    let bad: Vec<&Line> = lines.iter().filter(is_bad).collect();
    for line in &bad {
        eprintln!("abide-bench: failed: {}", line.to_json());
    }
    Ok(if bad.is_empty() { Verdict::Met } else { Verdict::Missed })
}

/// What was measured with default options at sizes that have no target.
fn without_target(lines: &[Line]) -> Vec<Target> {
    let (with_goal, mut targets) = (targets::all(), Vec::<Target>::new());
    for subject in lines.iter().map(|line| &line.subject) {
        let workload = WORKLOADS.into_iter().find(|known| *known == subject.workload);
        let store = STORES.into_iter().find(|known| *known == subject.store);
        let Some((workload, store)) = workload.zip(store) else { continue };
        let same = |target: &&Target| {
            (target.workload, target.store, target.size) == (workload, store, subject.size)
        };
        let is_plain = subject.slots.is_none() && subject.nodes == 1 && subject.side == Side::Ours;
        if is_plain && !with_goal.iter().chain(&targets).any(|target| same(&target)) {
            targets.push(targets::without_goal(workload, store, subject.size));
        }
    }
    targets
}

/// Several runs may have added to the file.
fn read(file: &Path) -> Fallible<(Vec<Origin>, Vec<Line>)> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let values = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let (mut origins, mut lines) = (Vec::new(), Vec::new());
    for value in values {
        origins.extend(Origin::from_json(&value));
        let at = |line: Line| Line { time: Time { run: origins.len(), ..line.time }, ..line };
        lines.extend(Line::from_json(&value).map(at));
    }
    Ok((origins, lines))
}

fn write_page(origins: &[Origin], rows: &[rows::Row], lines: &[Line]) -> Fallible<()> {
    if !page::is_worth_writing(lines) {
        return Err("nothing was measured, so nothing is written".into());
    }
    let notes = fs::read_to_string("docs/benchmarks-notes.md").unwrap_or_default();
    // Its title and what it says of itself are for those who read it by itself.
    let notes = notes.splitn(3, "\n\n").nth(2).unwrap_or_default();
    fs::write("docs/benchmarks.md", page::page(origins, rows, lines, notes))?;
    fs::write("docs/benchmarks.svg", chart::chart(rows))?;
    println!("written: docs/benchmarks.md, docs/benchmarks.svg");
    Ok(())
}
