//! Everything linked into `abide-engine` was looked at, and nothing of it does I/O.
//!
//! Where the `wasm32-unknown-unknown` target is not installed, this and the rule on ambient calls are the proof that
//! the engine is a pure function. Cargo is asked for the resolved set, on all platforms, without what only runs in
//! the compiler (procedural macros and what they are built from).

use std::collections::BTreeSet;

use anyhow::{Context, ensure};

use crate::tidy::dependency_table::{LINKED_INTO_ENGINE, NEVER_IN_ENGINE, THIS_FILE};
use crate::tidy::violation::Violation;
use crate::workspace::Workspace;

const ENGINE_MANIFEST: &str = "crates/abide-engine/Cargo.toml";

pub(crate) fn check_engine(workspace: &Workspace) -> anyhow::Result<Vec<Violation>> {
    let arguments = [
        "tree",
        "--package",
        "abide-engine",
        "--edges",
        "normal,no-proc-macro",
        "--target",
        "all",
        "--prefix",
        "none",
    ];
    let answer = workspace.cargo(&arguments).output().context("cannot run `cargo tree`")?;
    ensure!(answer.status.success(), "`cargo tree` failed:\n{}", String::from_utf8_lossy(&answer.stderr));
    Ok(check(&package_names(&String::from_utf8_lossy(&answer.stdout))))
}

/// Each line of `cargo tree --prefix none` is a name, a version and remarks.
fn package_names(tree: &str) -> BTreeSet<&str> {
    tree.lines().filter_map(|line| line.split_whitespace().next()).collect()
}

fn check(linked: &BTreeSet<&str>) -> Vec<Violation> {
    let violation = |message| Violation {
        path: ENGINE_MANIFEST.to_owned(),
        line: 1,
        rule: "linked-into-engine",
        message,
    };
    let banned = NEVER_IN_ENGINE.iter().filter(|(name, _)| linked.contains(name)).map(|(name, kind)| {
        violation(format!(
            "`{name}` is {kind}; find with `cargo tree -i {name}` who brings it, and do without"
        ))
    });
    let is_banned = |name: &str| NEVER_IN_ENGINE.iter().any(|(banned, _)| *banned == name);
    let is_listed = |name: &str| LINKED_INTO_ENGINE.iter().any(|(listed, _)| *listed == name);
    let unknown = linked.iter().filter(|name| !is_listed(name) && !is_banned(name)).map(|name| {
        violation(format!(
            "`{name}` is new in the engine; make sure that it does no I/O and knows neither time nor chance, \
             then list it in {THIS_FILE}"
        ))
    });
    let gone = LINKED_INTO_ENGINE.iter().filter(|(name, _)| !linked.contains(name)).map(|(name, _)| {
        violation(format!("`{name}` is no longer linked into the engine; remove its row from {THIS_FILE}"))
    });
    banned.chain(unknown).chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed() -> BTreeSet<&'static str> {
        LINKED_INTO_ENGINE.iter().map(|(name, _)| *name).collect()
    }

    #[test]
    fn the_listed_set_is_good() {
        assert_eq!(check(&listed()), []);
    }

    #[test]
    fn a_runtime_a_stranger_and_a_stale_row_are_found() {
        let mut linked = listed();
        linked.extend(["tokio", "stranger"]);
        linked.remove("itoa");
        let messages: Vec<_> = check(&linked).into_iter().map(|it| it.message).collect();
        assert_eq!(messages.len(), 3, "{messages:?}");
        assert!(messages[0].starts_with("`tokio` is an async runtime"), "{messages:?}");
        assert!(messages[1].starts_with("`stranger` is new"), "{messages:?}");
        assert!(messages[2].starts_with("`itoa` is no longer linked"), "{messages:?}");
    }

    #[test]
    fn names_are_read_from_what_cargo_prints() {
        let tree = "abide-engine v0.2.0 (/somewhere)\nserde v1.0.229\nserde v1.0.229 (*)\n\n";
        assert_eq!(package_names(tree), BTreeSet::from(["abide-engine", "serde"]));
    }
}
