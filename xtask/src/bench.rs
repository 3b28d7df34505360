//! Runs the benchmark program, optimised.

use crate::test_run::step::loudly;
use crate::workspace::Workspace;

pub(crate) fn run(workspace: &Workspace, options: &[String]) -> anyhow::Result<()> {
    let mut command = workspace.cargo(&["run", "--quiet", "--release", "--package", "abide-bench", "--"]);
    command.args(options);
    loudly(&mut command).map(drop)
}
