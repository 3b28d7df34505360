//! Generated programs, many more than a normal run has time for, with seeds nobody has seen.

use anyhow::Context;

use crate::stopwatch::Stopwatch;
use crate::test_run::step::quietly;
use crate::workspace::Workspace;

/// How long to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Soak {
    /// How many seeds to try.
    pub(crate) seeds: u64,
    /// The first of them.
    pub(crate) first_seed: u64,
    /// How many cases each property draws from a seed.
    pub(crate) cases: u32,
}

impl Default for Soak {
    /// A few minutes on two cores.
    fn default() -> Self {
        Self { seeds: 5, first_seed: 1_000, cases: 20_000 }
    }
}

pub(crate) fn run(workspace: &Workspace, soak: Soak) -> anyhow::Result<()> {
    let Soak { seeds, first_seed, cases } = soak;
    for seed in first_seed..first_seed.saturating_add(seeds) {
        let watch = Stopwatch::start();
        let mut command =
            workspace.cargo(&["test", "--quiet", "--package", "abide-engine", "--test", "it", "--"]);
        command.args(["properties", "models"]);
        command.env("PROPTEST_RNG_SEED", seed.to_string()).env("PROPTEST_CASES", cases.to_string());
        quietly(&mut command).with_context(|| {
            format!(
                "seed {seed} found something; see it again with `cargo xtask soak --seed {seed} --seeds 1`"
            )
        })?;
        println!("seed {seed}: {cases} cases of each property in {:.0} s", watch.elapsed().as_secs_f64());
    }
    Ok(())
}
