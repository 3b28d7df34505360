//! The tests of the stores and of the runtime at full length: what a normal run only samples.

use anyhow::Context;

use crate::stopwatch::Stopwatch;
use crate::test_run::step::loudly;
use crate::workspace::Workspace;

/// One campaign: tests that read their length from the environment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Campaign {
    /// What to type.
    pub(crate) name: &'static str,
    what: &'static str,
    package: &'static str,
    /// Which tests of the package to run.
    tests: &'static [&'static str],
    variable: &'static str,
    full_length: &'static str,
}

/// All of them take about half an hour on two cores.
pub(crate) const CAMPAIGNS: &[Campaign] = &[
    Campaign {
        name: "differential",
        what: "20,000 random sequences of calls, memory against SQLite",
        package: "abide-sqlite",
        tests: &["differential"],
        variable: "ABIDE_DIFFERENTIAL_SEQUENCES",
        full_length: "20000",
    },
    Campaign {
        name: "crash",
        what: "200 processes killed under write load",
        package: "abide-sqlite",
        tests: &["crash"],
        variable: "ABIDE_KILLS",
        full_length: "200",
    },
    Campaign {
        name: "faults",
        what: "every write and fsync of a workload failed in turn",
        package: "abide-sqlite",
        tests: &["faults"],
        variable: "ABIDE_FAULTS",
        full_length: "400",
    },
    Campaign {
        name: "flat",
        what: "the cost of a fetch, and of a page, with a million rows behind it",
        package: "abide-sqlite",
        tests: &["flat"],
        variable: "ABIDE_FLAT_ROWS",
        full_length: "1000000",
    },
    Campaign {
        name: "stress",
        what: "deletions and prunes beside turns, judged by the model",
        package: "abide-sqlite",
        tests: &["stress"],
        variable: "ABIDE_STRESS_ROUNDS",
        full_length: "50",
    },
    Campaign {
        name: "runtime",
        what: "every call of the store goes wrong for the runtime, and 126,000 pairs of calls do",
        package: "abide-runtime",
        tests: &["faults::", "--include-ignored"],
        variable: "ABIDE_FAULT_PAIRS",
        full_length: "3000",
    },
];

/// The campaign of this name.
pub(crate) fn named(name: &str) -> Option<&'static Campaign> {
    CAMPAIGNS.iter().find(|campaign| campaign.name == name)
}

pub(crate) fn run(workspace: &Workspace, campaigns: &[&Campaign]) -> anyhow::Result<()> {
    for Campaign { name, what, package, tests, variable, full_length } in campaigns {
        println!("{name}: {what}");
        let watch = Stopwatch::start();
        let mut command = workspace.cargo(&["test", "--release", "--package", package, "--test", "it", "--"]);
        loudly(command.args(*tests).env(variable, full_length))
            .with_context(|| format!("the campaign `{name}` failed"))?;
        println!("{name}: passed in {:.0} s", watch.elapsed().as_secs_f64());
    }
    Ok(())
}
