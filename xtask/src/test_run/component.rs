//! rustfmt and clippy, which a minimal toolchain lacks.

use std::env;
use std::process::{Command, Stdio};

use anyhow::bail;

use crate::workspace::Workspace;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Component {
    name: &'static str,
    cargo_command: &'static str,
}

pub(crate) const RUSTFMT: Component = Component { name: "rustfmt", cargo_command: "fmt" };
pub(crate) const CLIPPY: Component = Component { name: "clippy", cargo_command: "clippy" };

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Present,
    /// The sentence that says so.
    Absent(String),
}

impl Component {
    /// Adds the component where it is missing. A machine that builds releases must have it; a person may not be able to.
    pub(crate) fn ensure(self, workspace: &Workspace) -> anyhow::Result<Presence> {
        if self.answers(workspace) {
            return Ok(Presence::Present);
        }
        let mut installer = Command::new("rustup");
        if succeeds(installer.args(["component", "add", self.name])) && self.answers(workspace) {
            return Ok(Presence::Present);
        }
        let why =
            format!("{} is not installed, and `rustup component add {}` did not help", self.name, self.name);
        if env::var_os("CI").is_some() {
            bail!("{why}; with CI set this step may not be left out");
        }
        Ok(Presence::Absent(why))
    }

    fn answers(self, workspace: &Workspace) -> bool {
        succeeds(&mut workspace.cargo(&[self.cargo_command, "--version"]))
    }
}

fn succeeds(command: &mut Command) -> bool {
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}
