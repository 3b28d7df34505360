//! Measures what is planned: each in turn with the reference, between two looks at what the store allows.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::arguments::Arguments;
use super::line::{Ended, Line, Side};
use super::page::Origin;
use super::place::{Databases, Folder};
use super::plan::{Case, Repeat, Who};
use super::rows::FSYNC;
use super::run::{self, Place, Program};
use super::{origin, show};
use crate::store::Fallible;
use crate::store::clock::millis;
use crate::{ceiling, replay};

/// What all measurements share.
struct Bench {
    folder: Folder,
    databases: Option<Databases>,
    json: Option<File>,
    lines: Vec<Line>,
}

pub(crate) async fn all(arguments: &Arguments) -> Fallible<(Vec<Origin>, Vec<Line>)> {
    let cases = arguments.request.cases();
    let ours = Programs::of(Side::Ours, arguments.ours.as_deref(), "abide-workloads")?;
    let reference = match arguments.request.who {
        Who::Ours => None,
        Who::Both => {
            let usual = "../reference/release/reference-workloads";
            Some(Programs::of(Side::Reference, arguments.reference.as_deref(), usual)?)
        }
    };
    let (mut bench, origin) = Bench::start(arguments, &cases).await?;
    bench.ceilings(&cases).await?;
    if arguments.request.has_engine() {
        replay::lines().into_iter().try_for_each(|line| bench.keep(line))?;
    }
    // All of them once, then all of them again: what slows the machine down for a minute hits one repetition of a few, not all of one.
    for repetition in 1..=arguments.repeat {
        let is_due = |case: &&Case| repetition == 1 || case.repeat == Repeat::Often;
        for case in cases.iter().filter(is_due) {
            let with_reference = reference.as_ref().filter(|_| case.who == Who::Both);
            let sides = || std::iter::once(&ours).chain(with_reference);
            for programs in sides() {
                bench.measure(programs, case, repetition).await?;
            }
            for _ in 0..bench.times_more(case) {
                bench.measure(&ours, case, repetition).await?;
            }
            for programs in sides().filter(|_| repetition == 1) {
                bench.count(programs, case).await?;
            }
        }
    }
    bench.ceilings(&cases).await?;
    Ok((vec![origin], bench.lines))
}

/// Of one side: what measures time, and what counts.
struct Programs {
    side: Side,
    timing: PathBuf,
    /// Beside it, if it was built.
    counting: Option<PathBuf>,
}

impl Programs {
    fn of(side: Side, named: Option<&Path>, usual: &str) -> Fallible<Self> {
        let timing = named.map_or_else(|| beside_us(usual), |path| Ok(path.to_owned()))?;
        let mut counting = timing.clone().into_os_string();
        counting.push("-counting");
        let counting = Some(PathBuf::from(counting)).filter(|path| path.exists());
        Ok(Self { side, timing, counting })
    }
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

/// Measures two builds of abide in turn.
pub(crate) struct Alternation {
    bench: Bench,
    ours: PathBuf,
}

impl Alternation {
    pub(crate) async fn start(arguments: &Arguments, cases: &[Case]) -> Fallible<Self> {
        let ours = Programs::of(Side::Ours, arguments.ours.as_deref(), "abide-workloads")?.timing;
        Ok(Self { bench: Bench::start(arguments, cases).await?.0, ours })
    }

    /// Returns the results of this build and of the earlier one. Which of them runs first changes with each repetition.
    pub(crate) async fn pair(
        &mut self,
        earlier: &Path,
        case: &Case,
        repetition: u64,
    ) -> Fallible<(Line, Line)> {
        let ours = self.ours.clone();
        let is_ours_first = repetition % 2 == 1;
        let order = if is_ours_first { [ours.as_path(), earlier] } else { [earlier, ours.as_path()] };
        let first = self.measure(order[0], case, repetition).await?;
        let second = self.measure(order[1], case, repetition).await?;
        Ok(if is_ours_first { (first, second) } else { (second, first) })
    }

    async fn measure(&mut self, path: &Path, case: &Case, repetition: u64) -> Fallible<Line> {
        let build = if path == self.ours { "this build" } else { "earlier build" };
        eprint!("{}, {build} ({repetition}) ... ", case.title());
        let line = self.bench.run(Program { side: Side::Ours, path }, case).await?;
        eprintln!("{}", in_short(&line));
        Ok(line)
    }
}

impl Bench {
    /// Prepares the folder and the databases of the measurements.
    async fn start(arguments: &Arguments, cases: &[Case]) -> Fallible<(Self, Origin)> {
        let needs_postgres = cases.iter().any(|case| case.store == "postgres");
        let databases = if needs_postgres { Databases::start().await? } else { None };
        if needs_postgres && databases.is_none() {
            return Err("PostgreSQL is not installed; name other stores with --store".into());
        }
        let json = arguments.json.as_ref().map(|path| File::options().create(true).append(true).open(path));
        let mut bench = Self { folder: Folder::new()?, databases, json: json.transpose()?, lines: vec![] };
        let version = bench.databases.as_ref().map(Databases::version);
        let origin = origin::origin(&arguments.typed, version.as_deref());
        bench.write(&origin.to_json())?;
        Ok((bench, origin))
    }

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

    async fn measure(&mut self, programs: &Programs, case: &Case, repetition: u64) -> Fallible<()> {
        eprint!("{}, {} ({repetition}) ... ", case.title(), programs.side.name());
        let fsync = millis(ceiling::fsyncs(self.folder.path(), 20)?.median());
        let mut line = self.run(Program { side: programs.side, path: &programs.timing }, case).await?;
        line.time.repetition = repetition;
        line.figures.insert(FSYNC.to_owned(), fsync);
        eprintln!("{}", in_short(&line));
        self.keep(line)
    }

    /// How often ours is measured again in the same repetition. What is done within a second depends on what the machine does in that second.
    fn times_more(&self, case: &Case) -> usize {
        let subject = case.subject(Side::Ours);
        let last = self.lines.iter().rev().find(|line| line.subject == subject);
        let takes = last.and_then(|line| line.figure("wall_seconds"));
        if case.repeat == Repeat::Often && takes.is_some_and(|takes| takes < 1.0) { 2 } else { 0 }
    }

    /// Once more, if that is worth it, by the program that counts: nothing but what it counted is kept.
    async fn count(&mut self, programs: &Programs, case: &Case) -> Fallible<()> {
        let subject = case.subject(programs.side);
        let finishes = |line: &Line| line.subject == subject && line.ended == Ended::Good;
        let Some(path) = programs.counting.as_deref().filter(|_| case.is_counted()) else { return Ok(()) };
        if !self.lines.iter().any(finishes) {
            return Ok(());
        }
        eprintln!("{}, {} (counting)", case.title(), programs.side.name());
        let mut line = self.run(Program { side: programs.side, path }, case).await?;
        line.figures.retain(|name, _| name == "deadlocks");
        self.keep(line)
    }

    async fn run(&mut self, program: Program<'_>, case: &Case) -> Fallible<Line> {
        let line = match &mut self.databases {
            Some(databases) if case.store == "postgres" => {
                let url = databases.make().await?;
                let server = databases.first_process();
                let mut line = run::run(program, case, Place { at: &url, server: server.as_deref() })?;
                let done = databases.finish().await?;
                line.figures.insert("deadlocks".to_owned(), done.deadlocks);
                line.counters.insert("transactions".to_owned(), Some(done.transactions));
                line.counters.insert("fsyncs".to_owned(), done.fsyncs);
                line
            }
            _ => run::run(program, case, Place { at: &self.folder.file("store.db"), server: None })?,
        };
        self.folder.clear()?;
        Ok(line)
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
