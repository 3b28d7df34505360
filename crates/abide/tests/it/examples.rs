//! Every example runs to its end, quietly, and says what it should, on whatever store.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The examples, and a line that each prints.
const EXAMPLES: [(&str, &str); 8] = [
    ("account", "left: 100"),
    ("approval", "a yacht: rejected, timed out after 100ms"),
    ("cancellation", "nobody waits for the cellar any more: Some(Dropped)"),
    ("fan_out", "shop 0 asks 1006 cents, of 100 shops"),
    ("hello", "hello Ada!"),
    ("saga", "failed: Ada stays at home: no cars left"),
    (
        "thirty_days",
        r#"the trial of Ada is over; mails: ["Ada: 20 days left", "Ada: 10 days left", "Ada: 0 days left"]"#,
    ),
    ("upgrade", "old (1.0.0): a book shipped"),
];

/// What chooses their store, and is none of them.
const SHARED: &str = "db";

/// The examples that take `--db`, and a line that each prints on any store.
fn with_a_choice() -> impl Iterator<Item = (&'static str, &'static str)> {
    EXAMPLES.into_iter().filter_map(|(name, line)| match name {
        // In virtual time, with a store of its own.
        "thirty_days" => None,
        // Why the loser stops is either that it was dropped or that the program ends: a store with a disk may need as long as that.
        "cancellation" => Some((name, "found on the desk")),
        _ => Some((name, line)),
    })
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples")
}

#[test]
fn every_example_is_run() {
    let files = std::fs::read_dir(folder()).unwrap();
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap().replace(".rs", "")).collect();
    names.retain(|name| name != SHARED);
    names.sort();
    assert_eq!(names, EXAMPLES.map(|(name, _)| name));
}

#[test]
fn every_example_is_short_and_ends_well() {
    for (name, line) in EXAMPLES {
        let source = std::fs::read_to_string(folder().join(format!("{name}.rs"))).unwrap();
        assert!(source.lines().count() <= 80, "{name} is too long to be read at a glance");
        assert_says(name, line, &run(name, &[]));
    }
}

#[test]
fn every_example_runs_on_a_file_that_is_named() {
    let file = std::env::temp_dir().join(format!("abide-examples-{}.db", std::process::id()));
    let path = file.to_str().unwrap();
    for (name, line) in with_a_choice() {
        assert_says(name, line, &run(name, &["--db", path]));
    }
    assert_left_only(&file);
    std::fs::remove_file(&file).unwrap();
}

#[cfg(feature = "postgres")]
#[test]
fn every_example_runs_on_postgresql() {
    let Some(database) = crate::database::Database::new() else { return };
    for (name, line) in with_a_choice() {
        assert_says(name, line, &run(name, &["--db", database.url()]));
    }
}

#[test]
fn what_cannot_be_opened_is_told_in_one_line_without_a_password() {
    for (arguments, expected) in [
        (&["--db", "mysql://ada:secret@db/shop"][..], "this is no address of a store"),
        (&["--db"], "usage:"),
        (&["somewhere"], "usage:"),
    ] {
        let output = run("hello", arguments);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success());
        assert_eq!(told.lines().count(), 1, "{told}");
        assert!(told.contains(expected) && !told.contains("secret"), "{told}");
    }
}

fn run(name: &str, arguments: &[&str]) -> Output {
    Command::new(program(name)).args(arguments).output().unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn assert_says(name: &str, line: &str, output: &Output) {
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|it| String::from_utf8(it.clone()).unwrap());
    assert!(output.status.success(), "{name} ended with {}\n{stdout}{stderr}", output.status);
    assert_eq!(stderr, "", "{name}");
    assert!(stdout.lines().any(|said| said == line), "{name} says: {stdout}");
}

/// A file that was closed in good order has nothing beside it.
fn assert_left_only(file: &Path) {
    let name = file.file_name().unwrap().to_str().unwrap();
    let entries = std::fs::read_dir(file.parent().unwrap()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let left: Vec<String> = names.filter(|other| other.starts_with(name)).collect();
    assert_eq!(left, [name]);
}

/// Examples are built with the tests, into the folder beside theirs. Only if one test was asked for they may be missing.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().and_then(|deps| deps.parent()).unwrap().join("examples");
    let program = built.join(name).with_extension(std::env::consts::EXE_EXTENSION);
    assert!(program.exists(), "{} is not built; run `cargo test`, which does", program.display());
    program
}
