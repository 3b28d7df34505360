//! A package that says `test = false` of a library or program has no tests in its sources: nobody would run them.
//!
//! It is said where all tests are in `tests/`, so that no empty test is built of the rest.

use toml::{Table, Value};

use crate::tidy::manifest;
use crate::tidy::tree::{TextFile, Tree};
use crate::tidy::violation::Violation;

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    tree.files_with_extension("toml").flat_map(|file| in_package(tree, file)).collect()
}

fn in_package(tree: &Tree, manifest: &TextFile) -> Vec<Violation> {
    let Some(folder) = manifest.path.strip_suffix("Cargo.toml") else { return Vec::new() };
    // What is wrong with a manifest is said by the rule about dependencies.
    if !manifest::parse(manifest).is_ok_and(|table| is_untested(&table)) {
        return Vec::new();
    }
    let sources = format!("{folder}src/");
    let files = tree.files_with_extension("rs").filter(|file| file.path.starts_with(&sources));
    files.filter_map(|file| Some(violation(&file.path, first_test(&file.text)?))).collect()
}

fn violation(path: &str, line: usize) -> Violation {
    Violation {
        path: path.to_owned(),
        line,
        rule: "untested-targets",
        message: "a test that never runs, because the manifest says `test = false`; \
                  move it to `tests/it`, or remove that line"
            .to_owned(),
    }
}

fn is_untested(manifest: &Table) -> bool {
    let programs = manifest.get("bin").and_then(Value::as_array).into_iter().flatten();
    let mut targets = manifest.get("lib").into_iter().chain(programs);
    targets.any(|target| target.get("test").and_then(Value::as_bool) == Some(false))
}

/// The line of the first attribute that makes something a test, or keeps it for tests.
fn first_test(text: &str) -> Option<usize> {
    let is_test = |line: &str| {
        let attribute = line.trim_start().strip_prefix("#[");
        attribute.is_some_and(|it| {
            let name = it.split([']', '(']).next().unwrap_or(it);
            name == "test" || name.ends_with("::test") || it.starts_with("cfg(test)")
        })
    };
    text.lines().position(is_test).map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNTESTED: &str = "[package]\nname = \"a\"\n[lib]\ntest = false\n";

    fn places(manifest: &str, source: &str) -> Vec<(String, usize)> {
        let tree = Tree::of(&[("crates/a/Cargo.toml", manifest), ("crates/a/src/b.rs", source)]);
        check(&tree).into_iter().map(|it| (it.path, it.line)).collect()
    }

    #[test]
    fn a_test_that_never_runs_is_found() {
        for test in ["#[test]", "    #[tokio::test]", "#[tokio::test(start_paused = true)]", "#[cfg(test)]"] {
            let source = format!("//! Docs.\n{test}\nmod x;\n");
            assert_eq!(places(UNTESTED, &source), [("crates/a/src/b.rs".to_owned(), 2)], "{test}");
            let program = "[[bin]]\nname = \"a\"\n[[bin]]\nname = \"b\"\ntest = false\n";
            assert_eq!(places(program, &source).len(), 1, "{test}");
        }
    }

    #[test]
    fn tests_that_run_and_sources_without_any_are_good() {
        let source = "//! Docs of #[test].\n#[cfg(feature = \"test\")]\nfn testing() {}\n";
        assert_eq!(places(UNTESTED, source), []);
        assert_eq!(places("[lib]\ntest = true\n", "#[test]\nfn f() {}\n"), []);
        let elsewhere =
            [("crates/a/Cargo.toml", UNTESTED), ("crates/a/tests/it/main.rs", "#[test]\nfn f() {}")];
        assert_eq!(check(&Tree::of(&elsewhere)), []);
    }
}
