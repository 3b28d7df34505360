//! The targets, as data: what is judged, by which figure, what it must be and what it aims at.

use crate::replay;

/// What is judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Target {
    pub(crate) workload: &'static str,
    pub(crate) store: &'static str,
    pub(crate) size: u64,
    pub(crate) figure: Figure,
    pub(crate) goal: Goal,
    pub(crate) ceiling: Ceiling,
}

/// Which figure of a result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Figure {
    Plain {
        name: &'static str,
        unit: &'static str,
    },
    /// In relation to the same figure of another size.
    ToSize {
        name: &'static str,
        size: u64,
    },
    /// In relation to the same figure of another workload of ours.
    ToWorkload {
        name: &'static str,
        workload: &'static str,
        size: u64,
    },
    /// How many times better than another engine was, when the targets were set: it is not measured again.
    ToAnother {
        name: &'static str,
        engine: &'static str,
        /// In the unit of the figure.
        did: f64,
    },
    /// So many nodes in relation to one.
    Nodes {
        name: &'static str,
        nodes: u64,
        activity_ms: u64,
    },
    /// With so many processes, as it is.
    OnNodes {
        name: &'static str,
        unit: &'static str,
        nodes: u64,
    },
    /// With so many slots of both kinds, as it is.
    WithSlots {
        name: &'static str,
        unit: &'static str,
        slots: u64,
    },
    /// Of all results of this store, with any number of slots.
    Failures,
    Deadlocks,
}

impl Figure {
    /// Of which results: those with the default number of slots, but for one.
    pub(crate) const fn slots(self) -> Option<u64> {
        match self {
            Self::WithSlots { slots, .. } => Some(slots),
            Self::Plain { .. }
            | Self::ToSize { .. }
            | Self::ToWorkload { .. }
            | Self::ToAnother { .. }
            | Self::Nodes { .. }
            | Self::OnNodes { .. }
            | Self::Failures
            | Self::Deadlocks => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Goal {
    /// So many times the figure of the reference; if that is not there, so much by itself.
    TimesReference {
        must: f64,
        aim: f64,
        alone: Option<(f64, f64)>,
    },
    AtLeast {
        must: f64,
        aim: Option<f64>,
    },
    AtMost {
        must: f64,
        aim: Option<f64>,
    },
    /// It is only shown.
    None,
}

/// What the store allows, if nothing is done but the durable writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Ceiling {
    /// Orchestrations per second with so many under way.
    Chains,
    /// Milliseconds of so many commits, one after the other.
    Commits(f64),
    /// Of the same, how many per second.
    CommitRate(f64),
    /// Seconds for so many rows, in groups.
    Rows,
    /// Milliseconds for so many times as many rows, in groups.
    RowTime(f64),
    /// How many per second that are so many rows each, in groups.
    RowRate(f64),
    None,
}

const SQLITE: &str = "sqlite-full";
const POSTGRES: &str = "postgres";

/// A row of the table: what is wanted of each store, where it is wanted of it.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    workload: &'static str,
    size: u64,
    figure: Figure,
    sqlite: Option<Goal>,
    postgres: Option<Goal>,
    ceiling: Ceiling,
}

const fn both(workload: &'static str, size: u64, figure: Figure, sqlite: Goal, postgres: Goal) -> Wanted {
    Wanted { sqlite: Some(sqlite), ..on_postgres(workload, size, figure, postgres) }
}

const fn on_sqlite(workload: &'static str, size: u64, figure: Figure, goal: Goal) -> Wanted {
    Wanted { workload, size, figure, sqlite: Some(goal), postgres: None, ceiling: Ceiling::None }
}

const fn on_postgres(workload: &'static str, size: u64, figure: Figure, goal: Goal) -> Wanted {
    Wanted { workload, size, figure, sqlite: None, postgres: Some(goal), ceiling: Ceiling::None }
}

/// Without a goal on either.
const fn shown(workload: &'static str, size: u64, figure: Figure) -> Wanted {
    both(workload, size, figure, Goal::None, Goal::None)
}

impl Wanted {
    const fn under(mut self, ceiling: Ceiling) -> Self {
        self.ceiling = ceiling;
        self
    }

    const fn of(self, store: &'static str, goal: Goal) -> Target {
        let Self { workload, size, figure, ceiling, .. } = self;
        Target { workload, store, size, figure, goal, ceiling }
    }
}

/// In the order of the table, for one store after the other.
pub(crate) fn all() -> Vec<Target> {
    let sqlite = TABLE.iter().filter_map(|wanted| Some(wanted.of(SQLITE, wanted.sqlite?)));
    let postgres = TABLE.iter().filter_map(|wanted| Some(wanted.of(POSTGRES, wanted.postgres?)));
    sqlite.chain(postgres).chain(OTHERS.map(nothing_fails)).chain(ENGINE).collect()
}

/// The stores of which nothing else is wanted.
const OTHERS: [&str; 3] = ["memory", "sqlite-memory", "sqlite-normal"];

const fn nothing_fails(store: &'static str) -> Target {
    let (figure, goal) = (Figure::Failures, at_most(0.0));
    Target { workload: "all", store, size: 0, figure, goal, ceiling: Ceiling::None }
}

/// What has no store.
const ENGINE: [Target; 6] = [
    of_engine("chain_replayed_per_second", "events/s of a chain", at_least(1_000_000.0)),
    of_engine("fan-out_replayed_per_second", "events/s of a fan-out", at_least(1_000_000.0)),
    of_engine("mixed_replayed_per_second", "events/s of everything mixed", at_least(1_000_000.0)),
    of_engine("chain_decoded_per_second", "events/s decoded of a chain", at_least(400_000.0)),
    of_engine("fan-out_decoded_per_second", "events/s decoded of a fan-out", at_least(400_000.0)),
    of_engine("mixed_decoded_per_second", "events/s decoded of everything mixed", at_least(400_000.0)),
];

const fn of_engine(name: &'static str, unit: &'static str, goal: Goal) -> Target {
    let (workload, store, size) = (replay::WORKLOAD, replay::STORE, 100_000);
    Target { workload, store, size, figure: plain(name, unit), goal, ceiling: Ceiling::None }
}

const fn plain(name: &'static str, unit: &'static str) -> Figure {
    Figure::Plain { name, unit }
}

const fn most(must: f64, aim: f64) -> Goal {
    Goal::AtMost { must, aim: Some(aim) }
}

const fn least(must: f64, aim: f64) -> Goal {
    Goal::AtLeast { must, aim: Some(aim) }
}

const fn at_most(must: f64) -> Goal {
    Goal::AtMost { must, aim: None }
}

const fn at_least(must: f64) -> Goal {
    Goal::AtLeast { must, aim: None }
}

const fn times(must: f64, aim: f64, alone: Option<(f64, f64)>) -> Goal {
    Goal::TimesReference { must, aim, alone }
}

const RATE: Figure = plain("orchestrations_per_second", "orchestrations/s");
const P50: Figure = plain("p50_ms", "ms (p50)");
const P99: Figure = plain("p99_ms", "ms (p99)");
const SECONDS: Figure = plain("seconds", "s");
const STEP: Figure = plain("ms_per_activity", "ms per activity");
const LAST: Figure = plain("last_to_first", "× (last 100 to first 100)");
const EXECUTIONS: Figure = plain("executions_per_second", "executions/s");
const CHILDREN: Figure = plain("children_per_second", "children/s");
const EARLY: Figure = plain("early", "early");
const MEMORY: Figure = plain("peak_rss_mb", "MB (peak)");
const IDLE: Figure = plain("cpu_seconds_in_20", "CPU s in 20 s");
const IDLE_BOTH: Figure = plain("cpu_seconds_in_20_with_server", "CPU s in 20 s, with the server");
const STATEMENTS: Figure = plain("statements_per_second", "statements/s");
const BESIDE_LOOKS: Figure =
    plain("statements_beside_looks_per_second", "statements/s, looks at other processes aside");
const REOPENED: Figure = plain("rss_mb_reopened", "MB of another that opens the store");
const CPU: Figure = plain("cpu_ms_per_orchestration", "CPU ms per orchestration");
const CPU_BOTH: Figure = plain("cpu_ms_with_server", "CPU ms per orchestration, with the server");
const FIRST: Figure = plain("first_progress_seconds", "s to first progress");
const DONE: Figure = plain("all_done_seconds", "s to all done");
const ELSEWHERE: Figure = Figure::OnNodes { name: "p99_ms", unit: "ms (p99), in another process", nodes: 2 };
const ROWS_PER_SECOND: &str = "activities_per_second";
const FLAT: Figure = Figure::ToSize { name: "orchestrations_per_second", size: 1_000 };
const LINEAR: Figure = Figure::ToSize { name: ROWS_PER_SECOND, size: 10_000 };
const AS_W1: Figure = Figure::ToWorkload { name: ROWS_PER_SECOND, workload: "w1", size: 5_000 };

const RESTATE: &str = "Restate 1.7 with inline steps (363/s at 200)";
const TO_RESTATE: Figure =
    Figure::ToAnother { name: "orchestrations_per_second", engine: RESTATE, did: 363.0 };
const RESTATE_ALONE: &str = "Restate 1.7 with inline steps (p50 5.8 ms)";
const TO_RESTATE_ALONE: Figure = Figure::ToAnother { name: "p50_ms", engine: RESTATE_ALONE, did: 5.8 };
const UNDERWAY: &str = "underway 0.2 (201/s at 200)";
const TO_UNDERWAY: Figure =
    Figure::ToAnother { name: "orchestrations_per_second", engine: UNDERWAY, did: 201.0 };

const MANY_SQLITE: Goal = times(80.0, 200.0, Some((3_500.0, 8_000.0)));
const MANY_POSTGRES: Goal = times(80.0, 200.0, Some((2_000.0, 5_000.0)));
const FOUR_NODES: Figure = Figure::Nodes { name: ROWS_PER_SECOND, nodes: 4, activity_ms: 0 };
const FOUR_SLOW_NODES: Figure = Figure::Nodes { name: ROWS_PER_SECOND, nodes: 4, activity_ms: 20 };

const fn idle_with(slots: u64) -> Figure {
    Figure::WithSlots { name: "cpu_seconds_in_20", unit: "CPU s in 20 s", slots }
}

const fn idle_both_with(slots: u64) -> Figure {
    Figure::WithSlots { name: "cpu_seconds_in_20_with_server", unit: "CPU s in 20 s, with the server", slots }
}

/// In the order of the workloads: what is judged, the goal on SQLite, the goal on PostgreSQL.
const TABLE: &[Wanted] = &[
    both("w1", 200, RATE, times(40.0, 100.0, Some((2_000.0, 5_000.0))), times(25.0, 60.0, None))
        .under(Ceiling::Chains),
    both("w1", 1_000, RATE, MANY_SQLITE, MANY_POSTGRES).under(Ceiling::Chains),
    both("w1", 5_000, RATE, MANY_SQLITE, MANY_POSTGRES).under(Ceiling::Chains),
    both("w1", 20_000, RATE, MANY_SQLITE, MANY_POSTGRES).under(Ceiling::Chains),
    both("w1", 5_000, FLAT, at_least(0.8), at_least(0.8)),
    both("w1", 20_000, FLAT, at_least(0.8), at_least(0.8)),
    on_sqlite("w1", 1_000, TO_RESTATE, at_least(5.0)),
    on_postgres("w1", 1_000, TO_UNDERWAY, at_least(5.0)),
    on_sqlite("w1", 200, CPU, most(0.5, 0.2)),
    on_sqlite("w1", 1_000, CPU, most(0.5, 0.2)),
    on_sqlite("w1", 5_000, CPU, most(0.5, 0.2)),
    on_sqlite("w1", 20_000, CPU, most(0.5, 0.2)),
    on_postgres("w1", 200, CPU_BOTH, most(2.0, 0.7)),
    on_postgres("w1", 1_000, CPU_BOTH, most(2.0, 0.7)),
    on_postgres("w1", 5_000, CPU_BOTH, most(2.0, 0.7)),
    on_postgres("w1", 20_000, CPU_BOTH, most(2.0, 0.7)),
    both("w2", 1, P50, most(2.0, 1.0), most(4.0, 1.7)).under(Ceiling::Commits(2.0)),
    on_sqlite("w2", 1, TO_RESTATE_ALONE, at_least(3.0)),
    shown("w2", 1, P99),
    shown("w2-busy", 1, P99),
    shown("w2-busy", 1, plain("load_orchestrations_per_second", "orchestrations/s of the others")),
    shown("w2-flood", 1, P99),
    shown("w2-flood", 1, plain("messages_per_second", "messages/s of the flood")),
    both("w3", 1_000, SECONDS, most(0.2, 0.06), most(0.2, 0.08)).under(Ceiling::Rows),
    both("w3", 10_000, SECONDS, most(2.0, 0.6), most(3.0, 1.0)).under(Ceiling::Rows),
    shown("w3", 100_000, SECONDS).under(Ceiling::Rows),
    both("w3", 100_000, LINEAR, at_least(0.7), at_least(0.7)),
    both("w3", 100_000, MEMORY, at_most(512.0), at_most(512.0)),
    shown("w4", 200, STEP).under(Ceiling::Commits(1.0)),
    both("w4", 1_000, STEP, most(2.0, 1.2), most(2.0, 1.0)).under(Ceiling::Commits(1.0)),
    both("w4", 100_000, STEP, most(2.0, 1.2), most(2.0, 1.0)).under(Ceiling::Commits(1.0)),
    both("w4", 100_000, LAST, at_most(1.2), at_most(1.2)),
    shown("w4", 100_000, MEMORY),
    both("w5", 500, EXECUTIONS, least(1_500.0, 3_000.0), least(900.0, 1_500.0))
        .under(Ceiling::CommitRate(1.0)),
    both("w5", 10_000, EXECUTIONS, least(1_500.0, 3_000.0), least(900.0, 1_500.0))
        .under(Ceiling::CommitRate(1.0)),
    both("w6", 1, P99, most(20.0, 5.0), most(50.0, 10.0)),
    both("w6", 1, EARLY, at_most(0.0), at_most(0.0)),
    both("w6", 1_000, P99, most(250.0, 50.0), most(400.0, 100.0)),
    both("w6", 1_000, EARLY, at_most(0.0), at_most(0.0)),
    shown("w6", 100_000, P99),
    both("w6", 100_000, EARLY, at_most(0.0), at_most(0.0)),
    both("w7", 1, P50, most(1.5, 0.6), most(3.0, 1.5)).under(Ceiling::Commits(1.0)),
    both("w7", 500, P99, most(55.0, 18.0), most(120.0, 45.0)).under(Ceiling::RowTime(2.0)),
    both("w8", 200, CHILDREN, times(10.0, 30.0, None), times(10.0, 20.0, None)).under(Ceiling::RowRate(2.0)),
    both("w8", 5_000, CHILDREN, times(10.0, 30.0, None), times(10.0, 20.0, None))
        .under(Ceiling::RowRate(2.0)),
    on_sqlite("w9", 0, IDLE, at_most(0.02)),
    on_sqlite("w9", 0, idle_with(1), at_most(0.02)),
    on_sqlite("w9", 0, idle_with(2), at_most(0.02)),
    on_sqlite("w9", 0, idle_with(4), at_most(0.02)),
    on_sqlite("w9", 0, idle_with(16), at_most(0.02)),
    on_sqlite("w9", 0, idle_with(64), at_most(0.02)),
    on_sqlite("w9", 0, plain("transactions_per_second", "transactions/s"), at_most(0.2)),
    on_sqlite("w9", 0, BESIDE_LOOKS, at_most(0.2)),
    on_sqlite("w9", 100_000, IDLE, at_most(0.02)),
    on_postgres("w9", 0, IDLE_BOTH, at_most(0.05)),
    on_postgres("w9", 0, idle_both_with(1), at_most(0.05)),
    on_postgres("w9", 0, idle_both_with(2), at_most(0.05)),
    on_postgres("w9", 0, idle_both_with(4), at_most(0.05)),
    on_postgres("w9", 0, idle_both_with(16), at_most(0.05)),
    on_postgres("w9", 0, idle_both_with(64), at_most(0.05)),
    shown("w9", 0, STATEMENTS),
    on_postgres("w9", 100_000, IDLE_BOTH, at_most(0.05)),
    shown("w9", 100_000, plain("rss_mb", "MB of the process that put them to sleep")),
    both("w9", 100_000, REOPENED, at_most(64.0), at_most(64.0)),
    both("w10", 1, P99, most(50.0, 5.0), at_most(50.0)).under(Ceiling::Commits(2.0)),
    both("w10", 1, ELSEWHERE, at_most(500.0), most(200.0, 20.0)),
    shown("w11", 200, DONE),
    both("w11", 10_000, FIRST, at_most(1.0), at_most(5.0)),
    both("w11", 10_000, DONE, Goal::None, at_most(35.0)),
    on_sqlite("w11", 10_000, AS_W1, at_least(0.8)),
    on_postgres("w12", 1_000, FOUR_NODES, at_least(0.9)),
    on_postgres("w12", 1_000, FOUR_SLOW_NODES, at_least(3.0)),
    on_postgres("all", 0, Figure::Deadlocks, at_most(0.0)),
    both("all", 0, Figure::Failures, at_most(0.0), at_most(0.0)),
];

/// What is shown of a workload at a size for which there is no target.
pub(crate) fn without_goal(workload: &'static str, store: &'static str, size: u64) -> Target {
    let figure = match workload {
        "w1" | "w12" => RATE,
        "w3" => SECONDS,
        "w4" => STEP,
        "w5" => EXECUTIONS,
        "w8" => CHILDREN,
        "w9" => IDLE,
        "w11" => DONE,
        _ => P50,
    };
    shown(workload, size, figure).of(store, Goal::None)
}

#[cfg(test)]
mod tests {
    use super::super::plan::{Extent, Request, Who};
    use super::super::rows::is_with;
    use super::*;

    #[test]
    fn everything_that_is_judged_is_measured() {
        let (only, stores) = (vec![], vec![]);
        let (size, slots, limit) = (None, None, None);
        let request = Request { extent: Extent::Full, who: Who::Both, only, stores, size, slots, limit };
        let cases = request.cases();
        for target in all().iter().filter(|target| !["all", replay::WORKLOAD].contains(&target.workload)) {
            let same = (target.workload, target.store, target.size);
            let found = cases.iter().filter(|case| (case.workload, case.store, case.size) == same);
            let found = found.filter(|case| case.slots == target.figure.slots() || case.workload == "w12");
            let found = found.filter(|case| is_with(target.figure, case.nodes)).count() > 0;
            assert!(found, "{target:?} is not in the plan");
        }
    }
}
