//! `cargo xtask test`: everything a change must pass, in the order that fails soonest.
//!
//! The list of steps is [`run`]. A step either passes, is left out with a sentence that says why, or ends the run with
//! its name and its output.
//!
//! Deliberately absent: anything that needs the network beyond crates.io and the packages of PostgreSQL, so the licence and advisory checks of
//! `deny.toml` are not a step.

use crate::planted;
use crate::postgres;
use crate::stopwatch::Stopwatch;
use crate::tidy;
use crate::workspace::Workspace;
use component::{CLIPPY, Component, RUSTFMT};
use step::{Conclusion, loudly, quietly, step};

mod component;
mod oldest_rusqlite;
pub(crate) mod step;
mod wasm;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    Everything,
    /// Without the planted bugs, which compile the engine once for each.
    Fast,
}

pub(crate) fn run(workspace: &Workspace, scope: Scope) -> anyhow::Result<()> {
    let watch = Stopwatch::start();
    step("fmt", || with_component(workspace, RUSTFMT, &["fmt", "--all", "--check"]))?;
    step("tidy", || tidy::run(workspace).map(|()| Conclusion::Passed))?;
    step("clippy", || {
        let arguments =
            ["clippy", "--workspace", "--all-targets", "--all-features", "--", "--deny", "warnings"];
        with_component(workspace, CLIPPY, &arguments)
    })?;
    step("postgres", || postgres::ensure().map(|()| Conclusion::Passed))?;
    step("tests", || {
        postgres::beside(workspace, |server| {
            // The runner's own last lines say how many tests ran; they are what people look for.
            // One run shows every failure, because the crates behind the first one are tested too.
            let mut tests = workspace.cargo(&["test", "--workspace", "--all-features", "--no-fail-fast"]);
            loudly(server.lend(&mut tests))
        })
    })?;
    step("oldest rusqlite", || oldest_rusqlite::test(workspace))?;
    step("features", || fewer_features(workspace))?;
    step("doc", || {
        let mut command = workspace.cargo(&["doc", "--workspace", "--no-deps"]);
        quietly(command.env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    step("wasm", || wasm::check(workspace))?;
    step("planted", || match scope {
        Scope::Everything => planted::run(workspace, &planted::Request::all()).map(|()| Conclusion::Passed),
        Scope::Fast => Ok(Conclusion::LeftOut("--fast was given".to_owned())),
    })?;
    println!("tests passed in {} s", watch.elapsed().as_secs());
    Ok(())
}

/// The facade without what is on by default: what only compiles together would not be noticed anywhere else.
fn fewer_features(workspace: &Workspace) -> anyhow::Result<Conclusion> {
    for features in ["", "sqlite", "postgres", "provider-test", "testing"] {
        quietly(&mut workspace.cargo(&[
            "check",
            "--package",
            "abide",
            "--no-default-features",
            "--features",
            features,
        ]))?;
    }
    Ok(Conclusion::Passed)
}

fn with_component(
    workspace: &Workspace,
    component: Component,
    arguments: &[&str],
) -> anyhow::Result<Conclusion> {
    match component.ensure(workspace)? {
        component::Presence::Present => quietly(&mut workspace.cargo(arguments)),
        component::Presence::Absent(why) => Ok(Conclusion::LeftOut(why)),
    }
}
