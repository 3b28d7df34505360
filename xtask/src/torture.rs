//! The tests of the stores, of the runtime, and of processes that are killed, at full length: what a normal run only samples.

use anyhow::Context;

use crate::postgres::{self, Postgres};
use crate::stopwatch::Stopwatch;
use crate::test_run::step::loudly;
use crate::workspace::Workspace;

/// One campaign: tests that read their length from the environment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Campaign {
    /// What to type.
    pub(crate) name: &'static str,
    what: &'static str,
    /// Which tests to run, as arguments of `cargo test`.
    tests: &'static [&'static str],
    variable: &'static str,
    full_length: &'static str,
}

/// The length of a storm, which can be chosen.
const STORM_SECONDS: &str = "ABIDE_STORM_SECONDS";

const KILL: Campaign = Campaign {
    name: "kill",
    what: "workers killed every 200 ms, or stopped beyond their leases, for a minute each, under load",
    // One storm after the other, and with its figures on the screen.
    tests: &["--package", "abide-chaos", "--test", "it", "--", "storm", "--test-threads=1", "--nocapture"],
    variable: STORM_SECONDS,
    full_length: "60",
};

const NODES: Campaign = Campaign {
    name: "nodes",
    what: "nodes on PostgreSQL killed, stopped and cut off, and the server restarted, for a minute each, under load",
    tests: &["--package", "abide-chaos", "--test", "it", "--", "nodes::", "--test-threads=1", "--nocapture"],
    variable: STORM_SECONDS,
    full_length: "60",
};

/// All of them take about an hour and a half on two cores.
pub(crate) const CAMPAIGNS: &[Campaign] = &[
    Campaign {
        name: "differential",
        what: "20,000 random sequences of calls, memory against SQLite",
        tests: &["--release", "--package", "abide-sqlite", "--test", "it", "--", "differential"],
        variable: "ABIDE_DIFFERENTIAL_SEQUENCES",
        full_length: "20000",
    },
    Campaign {
        name: "differential-postgres",
        what: "2,000 random sequences of calls, memory against PostgreSQL",
        tests: &["--release", "--package", "abide-postgres", "--test", "it", "--", "differential"],
        variable: "ABIDE_DIFFERENTIAL_SEQUENCES",
        full_length: "2000",
    },
    Campaign {
        name: "crash",
        what: "200 processes killed under write load",
        tests: &["--release", "--package", "abide-sqlite", "--test", "it", "--", "crash"],
        variable: "ABIDE_KILLS",
        full_length: "200",
    },
    Campaign {
        name: "prune",
        what: "200 processes killed while they cancel and prune",
        tests: &["--release", "--package", "abide-runtime", "--test", "it", "--", "pruning::killed"],
        variable: "ABIDE_KILLS",
        full_length: "200",
    },
    Campaign {
        name: "faults",
        what: "every write and fsync of a workload failed in turn",
        tests: &["--release", "--package", "abide-sqlite", "--test", "it", "--", "faults"],
        variable: "ABIDE_FAULTS",
        full_length: "400",
    },
    Campaign {
        name: "flat",
        what: "the cost of a fetch, and of a page, with a million rows behind it",
        tests: &["--release", "--package", "abide-sqlite", "--test", "it", "--", "flat"],
        variable: "ABIDE_FLAT_ROWS",
        full_length: "1000000",
    },
    Campaign {
        name: "flat-postgres",
        what: "the same on PostgreSQL, and what an idle node sends and a description reads",
        tests: &[
            "--release",
            "--package",
            "abide-postgres",
            "--test",
            "it",
            "--",
            "flat::",
            "idle::",
            "described::",
            "--test-threads=1",
            "--nocapture",
        ],
        variable: "ABIDE_FLAT_ROWS",
        full_length: "1000000",
    },
    Campaign {
        name: "stall",
        what: "commits on PostgreSQL that wait for a standby nobody has, for five minutes",
        tests: &["--package", "abide-postgres", "--test", "it", "--", "stalled_commits"],
        variable: "ABIDE_STALL_SECONDS",
        full_length: "300",
    },
    Campaign {
        name: "stress",
        what: "deletions and prunes beside turns, judged by the model",
        tests: &["--release", "--package", "abide-sqlite", "--test", "it", "--", "stress"],
        variable: "ABIDE_STRESS_ROUNDS",
        full_length: "50",
    },
    Campaign {
        name: "runtime",
        what: "every call of the store goes wrong for the runtime, and 126,000 pairs of calls do",
        tests: &[
            "--release",
            "--package",
            "abide-runtime",
            "--test",
            "it",
            "--",
            "faults::",
            "--include-ignored",
        ],
        variable: "ABIDE_FAULT_PAIRS",
        full_length: "3000",
    },
    KILL,
    NODES,
    Campaign {
        name: "deploys",
        what: "two builds at once that cannot run each other's orders, and two services on one store, for a minute each",
        tests: &[
            "--package",
            "abide-chaos",
            "--test",
            "it",
            "--",
            "deploys::",
            "--test-threads=1",
            "--nocapture",
        ],
        variable: "ABIDE_DEPLOY_SECONDS",
        full_length: "60",
    },
    Campaign {
        name: "delete",
        what: "an instance with 300,000 executions deleted beside others, and by a process that is killed",
        tests: &[
            "--package",
            "abide-chaos",
            "--test",
            "it",
            "--",
            "deletion::",
            "--test-threads=1",
            "--nocapture",
        ],
        variable: "ABIDE_DELETED_EXECUTIONS",
        full_length: "300000",
    },
    Campaign {
        name: "delete-large",
        what: "200 turns of 8 MiB deleted and pruned beside others",
        tests: &[
            "--package",
            "abide-sqlite",
            "--test",
            "it",
            "--",
            "large_payloads::",
            "--test-threads=1",
            "--nocapture",
        ],
        variable: "ABIDE_LARGE_TURNS",
        full_length: "200",
    },
    Campaign {
        name: "starts",
        what: "16 nodes start at once on an empty database, 20 times",
        tests: &["--package", "abide-chaos", "--test", "it", "--", "nodes::starts", "--nocapture"],
        variable: "ABIDE_STARTS",
        full_length: "20",
    },
];

/// The campaign of this name.
pub(crate) fn named(name: &str) -> Option<&'static Campaign> {
    CAMPAIGNS.iter().find(|campaign| campaign.name == name)
}

/// What to run, and how long the storms last if that was said.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Torture {
    pub(crate) campaigns: Vec<&'static Campaign>,
    pub(crate) seconds: Option<u32>,
}

impl Torture {
    fn length(&self, campaign: &Campaign) -> String {
        let chosen = self.seconds.filter(|_| campaign.variable == STORM_SECONDS);
        chosen.map_or_else(|| campaign.full_length.to_owned(), |seconds| seconds.to_string())
    }
}

pub(crate) fn run(workspace: &Workspace, torture: &Torture) -> anyhow::Result<()> {
    postgres::beside(workspace, |server| campaigns(workspace, server, torture))
}

fn campaigns(workspace: &Workspace, server: &Postgres, torture: &Torture) -> anyhow::Result<()> {
    for campaign in &torture.campaigns {
        let Campaign { name, what, tests, variable, .. } = campaign;
        println!("{name}: {what}");
        let watch = Stopwatch::start();
        let mut command = workspace.cargo(&["test"]);
        command.args(*tests).env(variable, torture.length(campaign));
        loudly(server.lend(&mut command)).with_context(|| format!("the campaign `{name}` failed"))?;
        println!("{name}: passed in {:.0} s", watch.elapsed().as_secs_f64());
    }
    Ok(())
}
