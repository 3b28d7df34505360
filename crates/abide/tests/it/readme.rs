//! The README's program, pasted into an empty project, builds without a word and runs at the first try.

use std::path::{Path, PathBuf};
use std::process::Command;

const README: &str = include_str!("../../../../README.md");

/// What it may take from the start of the orchestration to its result.
const LIMIT_MICROS: u128 = 50_000;

/// What the program is built of, beside what comes from elsewhere.
const OURS: [&str; 9] = [
    "abide",
    "abide-client",
    "abide-engine",
    "abide-host",
    "abide-memory",
    "abide-model",
    "abide-provider",
    "abide-runtime",
    "abide-sqlite",
];

/// The profile of the tests, so that what comes from elsewhere is built once; and quickly the rest.
fn profile() -> impl Iterator<Item = String> {
    let ours = OURS.iter().map(|name| format!("profile.dev.package.{name}.opt-level=0"));
    let settings = ["profile.dev.debug='line-tables-only'", "profile.dev.package.'*'.opt-level=1"];
    let settings = settings.into_iter().map(str::to_owned).chain(ours);
    settings.flat_map(|setting| ["--config".to_owned(), setting])
}

/// The first block of code in this language.
fn block(language: &str) -> &'static str {
    let fence = format!("```{language}");
    let (_, rest) = README.split_once(&fence).unwrap_or_else(|| panic!("the README has no {language}"));
    let (_, code) = rest.split_once('\n').unwrap();
    code.split("```").next().unwrap()
}

/// The program, but it says how long it took.
fn timed() -> String {
    let client = "    let client = Client::new(store);\n";
    let end = "    runtime.shutdown(None).await;\n";
    let program = block("rust");
    assert!(program.contains(client) && program.contains(end), "the README's program has changed: {program}");
    program
        .replace(client, &format!("{client}    let began = std::time::Instant::now();\n"))
        .replace(end, &format!("    println!(\"{{}}\", began.elapsed().as_micros());\n{end}"))
}

fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Makes the project that the README describes, and builds it. Gives the folder of its programs.
fn build() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let project = scratch("readme-project");
    let dependencies = block("toml").replace("../abide", workspace.to_str().unwrap());
    // Itself a workspace, only because this folder is inside of another.
    let manifest = format!(
        "[package]\nname = \"orders\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n{dependencies}\n[workspace]\n"
    );
    std::fs::create_dir_all(project.join("src/bin")).unwrap();
    std::fs::write(project.join("Cargo.toml"), manifest).unwrap();
    std::fs::write(project.join("src/main.rs"), block("rust")).unwrap();
    std::fs::write(project.join("src/bin/timed.rs"), timed()).unwrap();
    // The versions that were built for this test are on the disk; others may not be.
    std::fs::copy(workspace.join("Cargo.lock"), project.join("Cargo.lock")).unwrap();

    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--offline", "--bins", "--target-dir"])
        .arg(target)
        .args(profile())
        .current_dir(&project)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("warning"), "{said}");
    target.join("debug")
}

/// What a program prints, in a folder.
fn run(program: &Path, folder: &Path) -> String {
    let output = Command::new(program).current_dir(folder).output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{}\n{stdout}{stderr}", output.status);
    assert_eq!(stderr, "");
    stdout
}

fn files(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap();
    files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn the_program_runs_in_an_empty_folder_and_again() {
    let programs = build();

    let folder = scratch("readme-folder");
    let result = "shipped with receipt for 2 boxes";
    assert_eq!(run(&programs.join("orders"), &folder), format!("Created: {result}\n"));
    assert_eq!(files(&folder), ["orders.db"]);
    assert_eq!(run(&programs.join("orders"), &folder), format!("AlreadyExisted: {result}\n"));
    assert_eq!(files(&folder), ["orders.db"]);
    for said in [format!("Created: {result}"), format!("AlreadyExisted: {result}")] {
        let (word, _) = said.split_once(':').unwrap();
        assert!(
            README.contains(&said) || README.contains(&format!("`{word}`")),
            "the README does not tell of {word}"
        );
    }

    // Once is enough: the other times tell of what else the machine does.
    let mut took = (0..50).map(|_| {
        let printed = run(&programs.join("timed"), &scratch("readme-folder"));
        printed.lines().last().unwrap().parse::<u128>().unwrap()
    });
    let in_time = took.any(|micros| micros < LIMIT_MICROS);
    assert!(in_time, "the orchestration took longer than {LIMIT_MICROS} µs, fifty times");
}
