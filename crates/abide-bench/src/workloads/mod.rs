//! Whole orchestrations: what a user waits for, on every store, beside the reference and beside what the store allows.
//!
//! Each measurement is a process (`abide-workloads`, or the same around the reference) on a store of its own. Read `plan.rs` for
//! what is measured, `targets.rs` for what it must come to, `rows.rs` for the judgement; `show.rs`, `page.rs` and `chart.rs` show it.

mod arguments;
mod chart;
pub(crate) mod line;
mod origin;
mod page;
pub(crate) mod place;
mod plan;
mod rows;
mod run;
mod show;
mod targets;

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use arguments::Arguments;
use line::{Ended, Line, Side};
use page::Origin;
use place::{Databases, Folder};
use plan::{Case, Repeat, STORES, WORKLOADS, Who};
use run::{Place, Program};
use serde_json::Value;
use targets::{TARGETS, Target};

use crate::ceiling;
use crate::store::Fallible;
use crate::store::clock::millis;

pub(crate) fn main(words: impl Iterator<Item = String>) -> ExitCode {
    let arguments = match Arguments::parse(words) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            println!("{}", arguments::USAGE);
            return ExitCode::SUCCESS;
        }
        Err(complaint) => {
            eprintln!("abide-bench: {complaint}\n\n{}", arguments::USAGE);
            return ExitCode::from(2);
        }
    };
    if arguments.only_check {
        return ExitCode::SUCCESS;
    }
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    match tokio.map_err(Into::into).and_then(|tokio| tokio.block_on(run_all(&arguments))) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("abide-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run_all(arguments: &Arguments) -> Fallible<ExitCode> {
    let (origin, lines) = match &arguments.from {
        Some(file) => read(file)?,
        None => measure_all(arguments).await?,
    };
    let rows = rows::rows(TARGETS, &lines);
    let is_measured = |row: &rows::Row| row.ours.is_some() || row.trouble.is_some();
    let mut shown: Vec<_> = rows.iter().filter(|row| is_measured(row)).cloned().collect();
    shown.extend(rows::rows(&without_target(&lines), &lines));
    println!("\n{}", show::table(&shown));
    if arguments.writes {
        write_page(&origin, &rows, &lines)?;
    }
    let is_bad =
        |line: &&Line| line.subject.side == Side::Ours && (line.failures > 0 || line.ended != Ended::Good);
    let bad: Vec<&Line> = lines.iter().filter(is_bad).collect();
    for line in &bad {
        eprintln!("abide-bench: failed: {}", line.to_json());
    }
    Ok(if bad.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What was measured with default options at sizes that have no target.
fn without_target(lines: &[Line]) -> Vec<Target> {
    let mut targets: Vec<Target> = Vec::new();
    for subject in lines.iter().map(|line| &line.subject) {
        let workload = WORKLOADS.into_iter().find(|known| *known == subject.workload);
        let store = STORES.into_iter().find(|known| *known == subject.store);
        let Some((workload, store)) = workload.zip(store) else { continue };
        let same = |target: &&Target| {
            (target.workload, target.store, target.size) == (workload, store, subject.size)
        };
        let is_plain = subject.slots.is_none() && subject.nodes == 1 && subject.side == Side::Ours;
        if is_plain && !TARGETS.iter().chain(&targets).any(|target| same(&target)) {
            targets.push(targets::without_goal(workload, store, subject.size));
        }
    }
    targets
}

/// Several runs may have added to the file; it is of the commit and the machine of the last.
fn read(file: &Path) -> Fallible<(Origin, Vec<Line>)> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let values = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let (mut origin, mut lines) = (Origin::default(), Vec::new());
    for value in values {
        if let Some(known) = Origin::from_json(&value) {
            origin = known;
        }
        lines.extend(Line::from_json(&value));
    }
    Ok((origin, lines))
}

fn write_page(origin: &Origin, rows: &[rows::Row], lines: &[Line]) -> Fallible<()> {
    if !page::is_worth_writing(lines) {
        return Err("nothing was measured, so nothing is written".into());
    }
    let notes = fs::read_to_string("docs/benchmarks-notes.md").unwrap_or_default();
    // Its title is for those who read it by itself.
    let notes = notes.split_once("\n\n").map_or("", |(_, notes)| notes);
    fs::write("docs/benchmarks.md", page::page(origin, rows, lines, notes))?;
    fs::write("docs/benchmarks.svg", chart::chart(rows))?;
    println!("written: docs/benchmarks.md, docs/benchmarks.svg");
    Ok(())
}

/// What all measurements share.
struct Bench {
    folder: Folder,
    databases: Option<Databases>,
    json: Option<File>,
    lines: Vec<Line>,
}

async fn measure_all(arguments: &Arguments) -> Fallible<(Origin, Vec<Line>)> {
    let cases = arguments.request.cases();
    let ours = arguments.ours.clone().map_or_else(|| beside_us("abide-workloads"), Ok)?;
    let reference = match (arguments.request.who, &arguments.reference) {
        (Who::Ours, _) => None,
        (Who::Both, Some(path)) => Some(path.clone()),
        (Who::Both, None) => Some(beside_us("../reference/release/reference-workloads")?),
    };
    let needs_postgres = cases.iter().any(|case| case.store == "postgres");
    let databases = if needs_postgres { Databases::start().await? } else { None };
    if needs_postgres && databases.is_none() {
        return Err("PostgreSQL is not installed; name other stores with --store".into());
    }
    let json = arguments.json.as_ref().map(|path| File::options().create(true).append(true).open(path));
    let mut bench = Bench { folder: Folder::new()?, databases, json: json.transpose()?, lines: vec![] };
    let version = bench.databases.as_ref().map(Databases::version);
    let origin = origin::origin(&arguments.typed, version.as_deref());
    bench.write(&origin.to_json())?;
    bench.ceilings(&cases).await?;
    for case in &cases {
        let repeat = if case.repeat == Repeat::Once { 1 } else { arguments.repeat };
        for repetition in 1..=repeat {
            bench.measure(Program { side: Side::Ours, path: &ours }, case, repetition).await?;
            if let Some(reference) = reference.as_deref().filter(|_| case.who == Who::Both) {
                bench.measure(Program { side: Side::Reference, path: reference }, case, repetition).await?;
            }
        }
    }
    bench.ceilings(&cases).await?;
    Ok((origin, bench.lines))
}

fn beside_us(name: &str) -> Fallible<PathBuf> {
    let us = std::env::current_exe()?;
    let path = us.parent().unwrap_or(Path::new(".")).join(name);
    if path.exists() {
        Ok(path)
    } else {
        Err(format!("{} is not built; `cargo xtask bench` builds it", path.display()).into())
    }
}

impl Bench {
    async fn ceilings(&mut self, cases: &[Case]) -> Fallible<()> {
        for store in ["sqlite-full", "postgres"] {
            if cases.iter().any(|case| case.store == store) {
                self.ceiling(store).await?;
            }
        }
        Ok(())
    }

    /// What this store allows, in the same minutes.
    async fn ceiling(&mut self, store: &str) -> Fallible<()> {
        eprintln!("the ceiling of {store} ...");
        let lines = match (store, &mut self.databases) {
            ("postgres", Some(databases)) => {
                let url = databases.make().await?;
                let lines = ceiling::postgres(&url).await?;
                databases.finish().await?;
                lines
            }
            _ => ceiling::sqlite(self.folder.path()).await?,
        };
        self.folder.clear()?;
        lines.into_iter().try_for_each(|line| self.keep(line))
    }

    async fn measure(&mut self, program: Program<'_>, case: &Case, repetition: u64) -> Fallible<()> {
        eprint!("{}, {} ({repetition}) ... ", case.title(), program.side.name());
        let fsync = millis(ceiling::fsyncs(self.folder.path(), 20)?.median());
        let mut line = match &mut self.databases {
            Some(databases) if case.store == "postgres" => {
                let url = databases.make().await?;
                let server = databases.first_process();
                let mut line = run::run(program, case, Place { at: &url, server: server.as_deref() })?;
                line.figures.insert("deadlocks".to_owned(), databases.finish().await?);
                line
            }
            _ => run::run(program, case, Place { at: &self.folder.file("store.db"), server: None })?,
        };
        self.folder.clear()?;
        line.repetition = repetition;
        line.figures.insert("fsync_p50_ms".to_owned(), fsync);
        eprintln!("{}", in_short(&line));
        self.keep(line)
    }

    fn keep(&mut self, line: Line) -> Fallible<()> {
        self.write(&line.to_json())?;
        self.lines.push(line);
        Ok(())
    }

    fn write(&mut self, value: &Value) -> Fallible<()> {
        if let Some(file) = &mut self.json {
            writeln!(file, "{value}")?;
        }
        Ok(())
    }
}

/// For people who watch.
fn in_short(line: &Line) -> String {
    const OF_INTEREST: [&str; 13] = [
        "orchestrations_per_second",
        "children_per_second",
        "executions_per_second",
        "seconds",
        "p50_ms",
        "p99_ms",
        "ms_per_activity",
        "first_100_ms",
        "last_100_ms",
        "cpu_seconds_in_20",
        "first_progress_seconds",
        "all_done_seconds",
        "cpu_ms_per_orchestration",
    ];
    let figure = |name: &&str| Some(format!("{name} {}", show::number(line.figure(name)?)));
    let mut parts: Vec<String> = OF_INTEREST.iter().filter_map(figure).collect();
    match &line.ended {
        Ended::Good if line.failures > 0 => parts.push(format!("{} DID NOT COMPLETE", line.failures)),
        Ended::Good => {}
        Ended::TooLong(seconds) => parts.push(format!("DID NOT FINISH in {seconds} s")),
        Ended::Broken(complaint) => parts.push(format!("BROKEN: {complaint}")),
    }
    parts.join(", ")
}
