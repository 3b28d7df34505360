//! The tables in which `mod.rs` says which tests are about which number, held against the tests that there are.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A line of a table.
struct Row {
    number: String,
    /// A module below the table's own, or a crate and a module below its `tests/it`; and a test in it.
    tests: Vec<String>,
}

/// Every number is there once, in order; every test it names exists; and no numbered test of the folder is missing.
pub(crate) fn check(page: &str, folder: &str, numbers: impl Iterator<Item = String>) {
    let rows: Vec<Row> = page.lines().filter_map(row).collect();
    let listed: Vec<_> = rows.iter().map(|row| row.number.clone()).collect();
    assert_eq!(listed, numbers.collect::<Vec<_>>());
    for row in &rows {
        assert!(!row.tests.is_empty(), "{} has no test", row.number);
        for test in &row.tests {
            assert!(exists(folder, test), "{} names a test that there is not: {test}", row.number);
        }
    }
    let named: BTreeSet<_> = rows.into_iter().flat_map(|row| row.tests).collect();
    let missing: Vec<_> = numbered_tests(folder).filter(|test| !named.contains(test)).collect();
    assert!(missing.is_empty(), "not in the table: {missing:#?}");
}

fn row(line: &str) -> Option<Row> {
    let (number, tests) = line.strip_prefix("//! | ")?.split_once(" | ")?;
    let tests: Vec<_> = tests.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    (!tests.is_empty()).then(|| Row { number: number.to_owned(), tests })
}

/// The folder of a crate's tests.
fn tests_of(krate: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(krate).join("tests/it")
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
    functions(text).any(|(attribute, function)| function == name && is_test(attribute))
}

fn is_test(attribute: &str) -> bool {
    attribute.ends_with("test]") || attribute.starts_with("#[tokio::test(")
}

/// Every function, with the line before it.
fn functions(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().zip(text.lines().skip(1)).filter_map(|(before, line)| {
        let declared = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")?;
        Some((before, declared.split(['(', '<']).next()?))
    })
}

/// The tests in the files of a folder whose name has a number, as tables name them.
fn numbered_tests(folder: &str) -> impl Iterator<Item = String> {
    let files = fs::read_dir(tests_of("abide-runtime").join(folder)).unwrap();
    files.map(|file| file.unwrap().path()).filter(|path| path.is_file()).flat_map(|path| {
        let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        let tests: Vec<_> = functions(&text)
            .filter(|(attribute, name)| is_test(attribute) && is_numbered(name))
            .map(|(_, name)| format!("{module}::{name}"))
            .collect();
        tests
    })
}

fn is_numbered(name: &str) -> bool {
    let after =
        |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(char::is_numeric));
    after("lesson_") || after("w") || after("s")
}
