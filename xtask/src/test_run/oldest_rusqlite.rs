//! The SQLite store with the oldest rusqlite that its requirement allows, which brings an older SQLite. The lock file has
//! the newest, with which the step `tests` runs everything.
//!
//! A program links one SQLite only, so an application with sqlx 0.8, say, decides which rusqlite we get.

use std::fs;
use std::time::Duration;

use anyhow::{Context, ensure};

use super::step::{Conclusion, quietly};
use crate::planted::Workbench;
use crate::workspace::Workspace;

/// The lowest version of the range in the workspace's `Cargo.toml`.
const OLDEST: &str = "0.32.1";

/// Benchmarks need the newest, and nobody links them.
const LEFT_OUT: &str = "crates/abide-bench";

/// What depends on the version of SQLite: the contract, statements, migrations, the import, opening files and losing
/// them. Not what several processes do on one file, which the older SQLite refuses, and not the plans, which differ.
const TESTS: [&str; 11] = [
    "conformance::",
    "contract::",
    "differential::",
    "import::",
    "lessons::",
    "migrations::",
    "opening::",
    "poison::",
    "processes::alone::",
    "removal::",
    "upgrade::",
];

pub(crate) fn test(workspace: &Workspace) -> anyhow::Result<Conclusion> {
    let copy = workspace.target_dir().join("oldest-rusqlite");
    // In a copy, because a workspace has one lock file, which is to stay as it is.
    Workbench::new(workspace.root(), &copy, &workspace.target_dir(), Duration::ZERO).mirror()?;
    let manifest = copy.join("Cargo.toml");
    let text =
        fs::read_to_string(&manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
    let without = text.replacen("[workspace]\n", &format!("[workspace]\nexclude = [\"{LEFT_OUT}\"]\n"), 1);
    ensure!(text != without, "{} has no line `[workspace]`", manifest.display());
    fs::write(&manifest, without).with_context(|| format!("cannot write {}", manifest.display()))?;

    let cargo = |arguments: &[&str]| {
        let mut command = workspace.cargo(arguments);
        // What both versions have in common is built once.
        command.current_dir(&copy).env("CARGO_TARGET_DIR", workspace.target_dir());
        command
    };
    quietly(&mut cargo(&["update", "--quiet", "--package", "rusqlite", "--precise", OLDEST]))?;
    let mut arguments = vec!["test", "--quiet", "--package", "abide-sqlite", "--test", "it", "--"];
    arguments.extend(TESTS);
    quietly(&mut cargo(&arguments))
}
