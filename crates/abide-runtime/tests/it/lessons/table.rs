//! The tables in which a `mod.rs` says which tests are about which number, held against the tests that there are.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A line of a table.
struct Row {
    /// The first cell: a number, and perhaps some words about it.
    number: String,
    /// A module below the table's own, or a crate and a module below its `tests/it` (of the suite for stores: its `src`); and a
    /// test in it.
    tests: Vec<String>,
}

/// Every number is there once, in order; every test it names exists; and no test of the folder with such a name is missing.
pub(crate) fn check(
    page: &str,
    folder: &str,
    numbers: impl Iterator<Item = String>,
    belongs: fn(&str) -> bool,
) {
    let rows: Vec<Row> = page.lines().filter_map(row).collect();
    let numbers: Vec<String> = numbers.collect();
    assert_eq!(rows.len(), numbers.len(), "{:#?}", rows.iter().map(|row| &row.number).collect::<Vec<_>>());
    for (row, number) in rows.iter().zip(numbers) {
        let behind = row.number.strip_prefix(&number);
        assert!(
            behind.is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')),
            "{number}: {}",
            row.number
        );
    }
    for row in &rows {
        assert!(!row.tests.is_empty(), "{} has no test", row.number);
        for test in &row.tests {
            assert!(exists(folder, test), "{} names a test that there is not: {test}", row.number);
        }
    }
    let named: BTreeSet<_> = rows.into_iter().flat_map(|row| row.tests).collect();
    let missing: Vec<_> = tests_in(folder, belongs).filter(|test| !named.contains(test)).collect();
    assert!(missing.is_empty(), "not in the table: {missing:#?}");
}

fn row(line: &str) -> Option<Row> {
    let (number, tests) = line.strip_prefix("//! | ")?.split_once(" | ")?;
    let tests: Vec<_> = tests.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    (!tests.is_empty()).then(|| Row { number: number.to_owned(), tests })
}

/// The suite for stores: its tests are functions for others to call.
const SUITE: &str = "abide-conformance";

/// The folder of a crate's tests.
fn tests_of(krate: &str) -> PathBuf {
    let tests = if krate == SUITE { "src" } else { "tests/it" };
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(krate).join(tests)
}

fn exists(folder: &str, test: &str) -> bool {
    let mut modules: Vec<_> = test.split("::").collect();
    let name = modules.pop().unwrap();
    let base = if modules[0].starts_with("abide-") {
        tests_of(modules.remove(0))
    } else {
        tests_of("abide-runtime").join(folder)
    };
    let module = modules.into_iter().fold(base, |path, module| path.join(module));
    let files = [module.with_extension("rs"), module.join("mod.rs")];
    files.iter().filter_map(|file| fs::read_to_string(file).ok()).any(|text| has_test(&text, name))
}

fn has_test(text: &str, name: &str) -> bool {
    functions(text).any(|(attribute, function)| function == name && is_test(attribute, name))
}

fn is_test(attribute: &str, name: &str) -> bool {
    attribute.ends_with("test]")
        || attribute.starts_with("#[tokio::test(")
        || (attribute.starts_with("///") && name.starts_with("test_"))
}

/// Every function, with the line before it.
fn functions(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().zip(text.lines().skip(1)).filter_map(|(before, line)| {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        let declared = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?;
        Some((before, declared.split(['(', '<']).next()?))
    })
}

/// The tests in the files of a folder that have such names, as tables name them.
fn tests_in(folder: &str, belongs: fn(&str) -> bool) -> impl Iterator<Item = String> {
    let files = fs::read_dir(tests_of("abide-runtime").join(folder)).unwrap();
    files.map(|file| file.unwrap().path()).filter(|path| path.is_file()).flat_map(move |path| {
        let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        let tests: Vec<_> = functions(&text)
            .filter(|(attribute, name)| is_test(attribute, name) && belongs(name))
            .map(|(_, name)| format!("{module}::{name}"))
            .collect();
        tests
    })
}

/// Whether a test's name begins with a number.
pub(crate) fn is_numbered(name: &str) -> bool {
    let after =
        |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(char::is_numeric));
    after("lesson_") || after("w") || after("s")
}
