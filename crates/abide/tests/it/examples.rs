//! Every example runs to its end, quietly, and says what it should.

use std::path::PathBuf;
use std::process::Command;

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

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples")
}

#[test]
fn every_example_is_run() {
    let files = std::fs::read_dir(folder()).unwrap();
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap().replace(".rs", "")).collect();
    names.sort();
    assert_eq!(names, EXAMPLES.map(|(name, _)| name));
}

#[test]
fn every_example_is_short_and_ends_well() {
    for (name, line) in EXAMPLES {
        let source = std::fs::read_to_string(folder().join(format!("{name}.rs"))).unwrap();
        assert!(source.lines().count() <= 80, "{name} is too long to be read at a glance");

        let output = Command::new(program(name)).output().unwrap_or_else(|error| panic!("{name}: {error}"));
        let (stdout, stderr) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());

        assert!(output.status.success(), "{name} ended with {}\n{stdout}{stderr}", output.status);
        assert_eq!(stderr, "", "{name}");
        assert!(stdout.lines().any(|said| said == line), "{name} says: {stdout}");
    }
}

/// Examples are built with the tests, into the folder beside theirs. Only if one test was asked for they may be missing.
fn program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().and_then(|deps| deps.parent()).unwrap().join("examples");
    let program = built.join(name).with_extension(std::env::consts::EXE_EXTENSION);
    assert!(program.exists(), "{} is not built; run `cargo test`, which does", program.display());
    program
}
