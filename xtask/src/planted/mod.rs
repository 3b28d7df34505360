//! `cargo xtask planted`: proof that the tests can fail.
//!
//! Each known bug of [`bugs`] is planted in a copy of the workspace ([`workbench`]), and the tests that claim to catch
//! it are run there. A bug that no test notices fails the command, and so does one that no longer applies to the code:
//! a table nobody keeps up to date proves nothing.
//!
//! Deliberately absent: bugs invented by a machine. Each of these is a mistake somebody could make, with a story.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use anyhow::{Context, bail, ensure};

use crate::workspace::Workspace;
use bugs::{PLANTED_BUGS, PlantedBug};
use report::Catch;
use timed::Ending;
pub(crate) use workbench::Workbench;

mod bugs;
mod report;
mod timed;
mod workbench;

const BUGS_FILE: &str = "xtask/src/planted/bugs.rs";
const REPORT_FILE: &str = "docs/planted-bugs.md";
const LIMIT: Duration = Duration::from_secs(120);

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// No names: all.
    Check {
        names: Vec<String>,
    },
    CheckAllAndWrite,
}

/// How many of the tests that claim to catch a bug are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thoroughness {
    /// Up to the one that notices it: the bug is caught.
    FirstCatch,
    /// Every one, for the record of what they are worth.
    EveryTest,
}

impl Request {
    pub(crate) fn all() -> Self {
        Self::Check { names: Vec::new() }
    }
}

pub(crate) fn run(workspace: &Workspace, request: &Request) -> anyhow::Result<()> {
    let bugs = match request {
        Request::Check { names } => choose(PLANTED_BUGS, names)?,
        Request::CheckAllAndWrite => PLANTED_BUGS.iter().collect(),
    };
    let catches = if bugs.is_empty() {
        println!("there are no planted bugs yet: describe one in {BUGS_FILE}");
        Vec::new()
    } else {
        let folder = workspace.target_dir().join("planted");
        let bench = Workbench::new(workspace.root(), &folder.join("work"), &folder.join("target"), LIMIT);
        let thoroughness = match request {
            Request::Check { .. } => Thoroughness::FirstCatch,
            Request::CheckAllAndWrite => Thoroughness::EveryTest,
        };
        plant_all(&bench, &bugs, thoroughness)?
    };
    if *request == Request::CheckAllAndWrite {
        let file = workspace.root().join(REPORT_FILE);
        fs::create_dir_all(workspace.root().join("docs"))?;
        fs::write(&file, report::page(&catches))
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

fn choose<'table>(table: &'table [PlantedBug], names: &[String]) -> anyhow::Result<Vec<&'table PlantedBug>> {
    if names.is_empty() {
        return Ok(table.iter().collect());
    }
    let find = |name: &String| {
        table.iter().find(|bug| bug.name == *name).with_context(|| {
            let known: Vec<&str> = table.iter().map(|bug| bug.name).collect();
            format!("there is no planted bug `{name}`; the table in {BUGS_FILE} has [{}]", known.join(", "))
        })
    };
    names.iter().map(find).collect()
}

/// Prints the table and gives it back, or fails and names every bug that is not caught.
fn plant_all<'table>(
    bench: &Workbench,
    bugs: &[&'table PlantedBug],
    thoroughness: Thoroughness,
) -> anyhow::Result<Vec<Catch<'table>>> {
    bench.mirror()?;
    all_catchers_pass(bench, bugs).context("without any bug")?;

    let mut catches = Vec::new();
    let mut failures = Vec::new();
    for bug in bugs {
        println!("planting `{}`", bug.name);
        match plant(bench, bug, thoroughness) {
            Ok(catch) => catches.push(catch),
            Err(failure) => failures.push(format!("`{}`: {failure:#}", bug.name)),
        }
    }
    print!("\n{}", report::table(&catches));
    ensure!(failures.is_empty(), "not every planted bug is caught:\n{}", failures.join("\n"));
    Ok(catches)
}

/// A test that fails anyway would seem to catch everything.
fn all_catchers_pass(bench: &Workbench, bugs: &[&PlantedBug]) -> anyhow::Result<()> {
    let test_binary = bench.build()?;
    let catchers: BTreeSet<&str> = bugs.iter().flat_map(|bug| bug.caught_by.iter().copied()).collect();
    let catchers: Vec<&str> = catchers.into_iter().collect();
    if bench.run_tests(&test_binary, &catchers)? == Ending::Passed {
        return Ok(());
    }
    // One by one, to name the one that does not.
    for test in catchers {
        match bench.run_tests(&test_binary, &[test])? {
            Ending::Passed => {}
            Ending::NoSuchTest => bail!("there is no test `{test}`; correct `caught_by` in {BUGS_FILE}"),
            ending @ (Ending::Failed | Ending::Crashed | Ending::Hung) => {
                bail!("the test `{test}` {ending}, so it proves nothing; repair it first")
            }
        }
    }
    Ok(())
}

fn plant<'table>(
    bench: &Workbench,
    bug: &'table PlantedBug,
    thoroughness: Thoroughness,
) -> anyhow::Result<Catch<'table>> {
    ensure!(!bug.caught_by.is_empty(), "it names no test; fill `caught_by` in {BUGS_FILE}");
    bench.plant(bug)?;
    let catch = tests_that_notice(bench, bug, thoroughness);
    bench.mirror().context("cannot restore the copy")?;
    catch
}

fn tests_that_notice<'table>(
    bench: &Workbench,
    bug: &'table PlantedBug,
    thoroughness: Thoroughness,
) -> anyhow::Result<Catch<'table>> {
    let test_binary = bench.build().with_context(|| {
        format!("it does not compile, so no test can catch it; correct `replace` in {BUGS_FILE}")
    })?;
    let mut noticed = Vec::new();
    for test in bug.caught_by {
        match bench.run_tests(&test_binary, &[test])? {
            Ending::Passed | Ending::NoSuchTest => {}
            ending @ (Ending::Failed | Ending::Crashed | Ending::Hung) => noticed.push((*test, ending)),
        }
        if thoroughness == Thoroughness::FirstCatch && !noticed.is_empty() {
            break;
        }
    }
    ensure!(!noticed.is_empty(), "not caught by {}: {}", bug.caught_by.join(", "), bug.story);
    Ok(Catch { bug, noticed })
}

#[cfg(test)]
mod tests;
