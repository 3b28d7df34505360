//! Builds what is measured, optimised, and runs the benchmark program.
//!
//! The reference is only built to be compared with. It is a package outside of this workspace, in a folder of its own for what it
//! builds, so that nothing of it can get into what is ours.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context;

use crate::test_run::step::loudly;
use crate::workspace::Workspace;

const OURS: &str = "abide-workloads";
const REFERENCE: &str = "reference-workloads";

pub(crate) fn run(workspace: &Workspace, options: &[String]) -> anyhow::Result<ExitCode> {
    let programs = Programs::of(&workspace.target_dir());
    // Both at once and always both: with other features for each, everything would be built twice.
    loudly(&mut workspace.cargo(&["build", "--release", "--package", "abide-bench", "--package", OURS]))?;
    if !measures_workloads(options) {
        return code_of(Command::new(&programs.driver).args(options));
    }
    if needs_reference(options) {
        // Whoever mistyped an option does not want to wait for the reference.
        let answer = Command::new(&programs.driver).args(options).arg("--check").status()?;
        if !answer.success() {
            return Ok(exit_code(answer.code()));
        }
        build_reference(workspace, &programs)?;
    }
    let places: [&OsStr; 4] =
        ["--ours".as_ref(), programs.ours.as_ref(), "--reference".as_ref(), programs.reference.as_ref()];
    let mut command = Command::new(&programs.driver);
    command.current_dir(workspace.root()).args(places);
    match split_commit(options)? {
        (options, Some(commit)) => {
            command.args(options).arg("--earlier").arg(build_commit(workspace, &commit)?);
        }
        (options, None) => {
            command.args(options);
        }
    }
    code_of(&mut command)
}

/// Takes `--against COMMIT` out of the options.
fn split_commit(options: &[String]) -> anyhow::Result<(Vec<String>, Option<String>)> {
    let mut options = options.to_vec();
    let Some(at) = options.iter().position(|option| option == "--against") else {
        return Ok((options, None));
    };
    let commit = options.get(at + 1).context("`--against` needs a commit")?.clone();
    options.drain(at..=at + 1);
    Ok((options, Some(commit)))
}

/// Builds the program of a commit beside ours, and returns where it is.
fn build_commit(workspace: &Workspace, commit: &str) -> anyhow::Result<PathBuf> {
    let folder = workspace.target_dir().join("against");
    let source = folder.join("source");
    let git =
        |arguments: &[&OsStr]| loudly(Command::new("git").current_dir(workspace.root()).args(arguments));
    println!("building {commit}; the first time takes minutes ...");
    // Left behind by a run that was ended.
    if source.exists() {
        git(&["worktree".as_ref(), "remove".as_ref(), "--force".as_ref(), source.as_ref()])?;
    }
    git(&["worktree".as_ref(), "add".as_ref(), "--detach".as_ref(), source.as_ref(), commit.as_ref()])?;
    let mut command = workspace.cargo(&["build", "--release", "--locked", "--package", OURS, "--target-dir"]);
    let built = loudly(command.arg(folder.join("target")).current_dir(&source));
    git(&["worktree".as_ref(), "remove".as_ref(), "--force".as_ref(), source.as_ref()])?;
    built?;
    Ok(folder.join("target/release").join(OURS))
}

struct Programs {
    driver: PathBuf,
    ours: PathBuf,
    reference: PathBuf,
    /// Where the reference is built.
    reference_folder: PathBuf,
}

impl Programs {
    fn of(target: &Path) -> Self {
        let reference_folder = target.join("reference");
        Self {
            driver: target.join("release/abide-bench"),
            ours: target.join("release").join(OURS),
            reference: reference_folder.join("release").join(REFERENCE),
            reference_folder,
        }
    }
}

fn build_reference(workspace: &Workspace, programs: &Programs) -> anyhow::Result<()> {
    println!("building the reference; the first time takes minutes ...");
    let manifest = "bench/reference/Cargo.toml";
    let mut build = workspace.cargo(&["build", "--release", "--locked", "--manifest-path", manifest]);
    build.arg("--target-dir").arg(&programs.reference_folder);
    loudly(&mut build).map(drop)
}

/// Anything else is one of the smaller benchmarks, which begin with their name.
fn measures_workloads(options: &[String]) -> bool {
    options.first().is_none_or(|word| word.starts_with('-') || word == "workloads")
}

fn needs_reference(options: &[String]) -> bool {
    let has = |word: &str| options.iter().any(|option| option == word);
    has("--compare") && !has("--from") && !has("--help") && !has("-h")
}

fn code_of(command: &mut Command) -> anyhow::Result<ExitCode> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    Ok(exit_code(status.code()))
}

/// As the program ended: a mistyped option is a 2.
fn exit_code(code: Option<i32>) -> ExitCode {
    code.and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_reference_is_built_only_to_be_compared_with() {
        assert!(needs_reference(&options("--compare --repeat 3")));
        for line in ["", "--full", "--compare --help", "--compare --from results.json"] {
            assert!(!needs_reference(&options(line)), "{line}");
        }
    }

    #[test]
    fn the_commit_to_compare_with_is_taken_out_of_the_options() {
        let (rest, commit) = split_commit(&options("--only w1 --against HEAD~1 --repeat 3")).unwrap();
        assert_eq!((rest, commit.as_deref()), (options("--only w1 --repeat 3"), Some("HEAD~1")));
        assert_eq!(split_commit(&options("--full")).unwrap(), (options("--full"), None));
        assert!(split_commit(&options("--against")).is_err());
    }

    #[test]
    fn smaller_benchmarks_are_told_by_their_name() {
        assert!(measures_workloads(&options("")));
        assert!(measures_workloads(&options("--full")));
        assert!(measures_workloads(&options("workloads --only w1")));
        assert!(!measures_workloads(&options("ceiling")));
        assert!(!measures_workloads(&options("replay --events 10")));
    }
}
