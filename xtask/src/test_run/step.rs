//! One step of the run: its name, its duration, and what it printed if it failed.

use std::process::Command;

use anyhow::{Context, bail};

use crate::stopwatch::Stopwatch;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Conclusion {
    Passed,
    LeftOut(String),
}

pub(crate) fn step(name: &str, work: impl FnOnce() -> anyhow::Result<Conclusion>) -> anyhow::Result<()> {
    println!("{name} ...");
    let watch = Stopwatch::start();
    let conclusion = work();
    let seconds = watch.elapsed().as_secs_f64();
    match conclusion {
        Ok(Conclusion::Passed) => println!("{name}: passed in {seconds:.1} s"),
        Ok(Conclusion::LeftOut(why)) => println!("{name}: left out: {why}"),
        Err(failure) => return Err(failure.context(format!("step `{name}` failed after {seconds:.1} s"))),
    }
    Ok(())
}

/// Shows the output only if the command fails.
pub(crate) fn quietly(command: &mut Command) -> anyhow::Result<Conclusion> {
    let answer = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if answer.status.success() {
        return Ok(Conclusion::Passed);
    }
    let (stdout, stderr) = (String::from_utf8_lossy(&answer.stdout), String::from_utf8_lossy(&answer.stderr));
    bail!("{command:?} ended with {}\n{stdout}{stderr}", answer.status);
}

/// Shows the output while it is written.
pub(crate) fn loudly(command: &mut Command) -> anyhow::Result<Conclusion> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    if status.success() {
        return Ok(Conclusion::Passed);
    }
    bail!("{command:?} ended with {status}");
}

#[cfg(test)]
mod tests {
    use crate::workspace::cargo;

    use super::*;

    #[test]
    fn a_failed_step_is_named_and_brings_its_output() {
        let mut command = cargo();
        command.arg("no-such-command-for-sure");
        let failure = step("demo", || quietly(&mut command)).unwrap_err();
        let text = format!("{failure:#}");
        assert!(text.starts_with("step `demo` failed after"), "{text}");
        assert!(text.contains("no such command"), "{text}");
    }

    #[test]
    fn a_step_that_passes_or_is_left_out_lets_the_run_go_on() {
        let mut command = cargo();
        command.arg("--version");
        assert!(step("demo", || quietly(&mut command)).is_ok());
        assert!(step("demo", || Ok(Conclusion::LeftOut("not needed".to_owned()))).is_ok());
    }
}
