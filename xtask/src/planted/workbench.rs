//! A copy of the workspace in which bugs are planted, with its own target directory.
//!
//! The copy is kept between runs and only files that differ are written, so cargo builds no more than a bug changes.
//! Cargo notices changes by modification time: a write sets it to now, which is after every build that came before.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use serde_json::Value;

use super::bugs::PlantedBug;
use super::timed::{self, Ending};
use crate::workspace::cargo;

/// What cargo needs to build and run the tests of the engine and of the SQLite store. Add here what a crate reads from
/// elsewhere.
const COPIED: [&str; 8] =
    ["Cargo.toml", "Cargo.lock", "clippy.toml", "rustfmt.toml", "crates", "examples", "tests", "xtask"];

const PACKAGE: &str = "abide-engine";
const TEST_TARGET: &str = "it";

/// A bug is built once and its tests run for seconds, so the engine is not optimised: that takes four times as long as it gains.
/// What it depends on is built once for all bugs.
const QUICK_TO_BUILD: [&str; 2] = ["--config", "profile.test.package.abide-engine.opt-level=0"];

#[derive(Debug)]
pub(crate) struct Workbench {
    source: PathBuf,
    copy: PathBuf,
    target: PathBuf,
    limit: Duration,
}

impl Workbench {
    pub(crate) fn new(source: &Path, copy: &Path, target: &Path, limit: Duration) -> Self {
        Self { source: source.to_owned(), copy: copy.to_owned(), target: target.to_owned(), limit }
    }

    /// Makes the copy equal to the workspace, which also removes what a failed test left behind.
    pub(crate) fn mirror(&self) -> anyhow::Result<()> {
        fs::create_dir_all(&self.copy).with_context(|| format!("cannot create {}", self.copy.display()))?;
        for name in COPIED {
            let (from, to) = (self.source.join(name), self.copy.join(name));
            if from.is_dir() {
                mirror_folder(&from, &to)?;
            } else if from.exists() {
                mirror_file(&from, &to)?;
            }
        }
        Ok(())
    }

    pub(crate) fn plant(&self, bug: &PlantedBug) -> anyhow::Result<()> {
        ensure!(bug.file.starts_with("crates/"), "its file `{}` is not under crates/", bug.file);
        let file = self.copy.join(bug.file);
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", bug.file))?;
        let text = bug.apply(&text).map_err(|objection| anyhow!(objection))?;
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
    }

    /// Gives back the test binary.
    pub(crate) fn build(&self) -> anyhow::Result<PathBuf> {
        let arguments = ["test", "--quiet", "--package", PACKAGE, "--test", TEST_TARGET, "--no-run"];
        let mut command = cargo();
        command.args(QUICK_TO_BUILD).args(arguments).arg("--message-format=json-render-diagnostics");
        command.arg("--target-dir").arg(&self.target).current_dir(&self.copy);
        // Nobody debugs a planted bug, and without the symbols every build is a good deal faster.
        command.env("CARGO_PROFILE_TEST_DEBUG", "none").env("CARGO_PROFILE_DEV_DEBUG", "none");
        let answer = command.output().with_context(|| format!("cannot run {command:?}"))?;
        if !answer.status.success() {
            bail!("the tests do not build:\n{}", String::from_utf8_lossy(&answer.stderr));
        }
        let messages = String::from_utf8_lossy(&answer.stdout);
        test_binary(&messages).with_context(|| format!("cargo built no test `{TEST_TARGET}` of {PACKAGE}"))
    }

    /// The ending of all of them: passed only if each did.
    pub(crate) fn run_tests(&self, binary: &Path, tests: &[&str]) -> anyhow::Result<Ending> {
        let package_folder = self.copy.join("crates").join(PACKAGE);
        let mut command = Command::new(binary);
        command.args(tests).arg("--exact");
        // As cargo runs it: in the folder of the package, which snapshot tests look up in this variable.
        command.current_dir(&package_folder).env("CARGO_MANIFEST_DIR", &package_folder);
        // A failing property need not be made smaller: nobody reads it.
        command.env("PROPTEST_MAX_SHRINK_ITERS", "0");
        // It would make snapshot tests accept the bug.
        command.env_remove("UPDATE_EXPECT");
        let limit = self.limit.saturating_mul(u32::try_from(tests.len()).unwrap_or(u32::MAX));
        timed::run_tests(command, tests.len(), limit)
            .with_context(|| format!("cannot run the tests `{}`", tests.join("`, `")))
    }
}

/// Cargo names what it built in one JSON object a line.
fn test_binary(messages: &str) -> Option<PathBuf> {
    messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).find_map(|message| {
        let is_test = message["target"]["name"] == TEST_TARGET && message["profile"]["test"] == true;
        let executable = message["executable"].as_str()?;
        is_test.then(|| PathBuf::from(executable))
    })
}

fn mirror_folder(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot create {}", to.display()))?;
    let mut kept = BTreeSet::new();
    for entry in list(from)? {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            mirror_folder(&entry.path(), &target)?;
        } else {
            mirror_file(&entry.path(), &target)?;
        }
        kept.insert(entry.file_name());
    }
    for leftover in list(to)?.into_iter().filter(|entry| !kept.contains(&entry.file_name())) {
        let path = leftover.path();
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(())
}

fn mirror_file(from: &Path, to: &Path) -> anyhow::Result<()> {
    let text = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    if fs::read(to).is_ok_and(|copied| copied == text) {
        return Ok(());
    }
    // Not `fs::copy`: on some systems it copies the old modification time along.
    fs::write(to, text).with_context(|| format!("cannot write {}", to.display()))
}

fn list(folder: &Path) -> anyhow::Result<Vec<fs::DirEntry>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    entries.collect::<Result<_, _>>().with_context(|| format!("cannot list {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_test_binary_is_found_among_the_messages_of_cargo() {
        let messages = r#"
            {"reason":"compiler-artifact","target":{"name":"abide_engine"},"profile":{"test":false},"executable":null}
            {"reason":"compiler-artifact","target":{"name":"it"},"profile":{"test":true},"executable":"/t/it-1"}
            {"reason":"build-finished","success":true}
        "#;
        assert_eq!(test_binary(messages), Some(PathBuf::from("/t/it-1")));
        assert_eq!(test_binary("not json\n{}"), None);
    }
}
