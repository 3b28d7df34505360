//! The tests of the stores at full length: what a normal run only samples.

use anyhow::Context;

use crate::stopwatch::Stopwatch;
use crate::test_run::step::loudly;
use crate::workspace::Workspace;

/// One campaign: tests that read their length from the environment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Campaign {
    /// What to type, and which tests of `abide-sqlite` to run.
    pub(crate) name: &'static str,
    what: &'static str,
    variable: &'static str,
    full_length: &'static str,
}

/// All of them take about half an hour on two cores.
pub(crate) const CAMPAIGNS: &[Campaign] = &[
    Campaign {
        name: "differential",
        what: "20,000 random sequences of calls, memory against SQLite",
        variable: "ABIDE_DIFFERENTIAL_SEQUENCES",
        full_length: "20000",
    },
    Campaign {
        name: "crash",
        what: "200 processes killed under write load",
        variable: "ABIDE_KILLS",
        full_length: "200",
    },
    Campaign {
        name: "faults",
        what: "every write and fsync of a workload failed in turn",
        variable: "ABIDE_FAULTS",
        full_length: "400",
    },
    Campaign {
        name: "flat",
        what: "the cost of a fetch, and of a page, with a million rows behind it",
        variable: "ABIDE_FLAT_ROWS",
        full_length: "1000000",
    },
    Campaign {
        name: "stress",
        what: "deletions and prunes beside turns, judged by the model",
        variable: "ABIDE_STRESS_ROUNDS",
        full_length: "50",
    },
];

/// The campaign of this name.
pub(crate) fn named(name: &str) -> Option<&'static Campaign> {
    CAMPAIGNS.iter().find(|campaign| campaign.name == name)
}

pub(crate) fn run(workspace: &Workspace, campaigns: &[&Campaign]) -> anyhow::Result<()> {
    for Campaign { name, what, variable, full_length } in campaigns {
        println!("{name}: {what}");
        let watch = Stopwatch::start();
        let mut command =
            workspace.cargo(&["test", "--release", "--package", "abide-sqlite", "--test", "it", "--", name]);
        loudly(command.env(variable, full_length))
            .with_context(|| format!("the campaign `{name}` failed"))?;
        println!("{name}: passed in {:.0} s", watch.elapsed().as_secs_f64());
    }
    Ok(())
}
