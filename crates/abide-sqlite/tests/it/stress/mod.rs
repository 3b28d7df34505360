//! Deleting and pruning while everybody is at work: threads that start instances, run turns, finish work, delete, prune and
//! look, all at once, on one store.
//!
//! Everybody notes the calls and their answers. The store itself tells in which order they took effect (`log`). Then
//! the reference model is made to do the same in that order: it must answer the same to every call, take the same leases,
//! and end up with the same state (`replay`). Answers of calls that changed nothing must have been true at some moment
//! between their beginning and their end (`claims`); everything deleted must have been asked for, and counted once
//! (`deletions`); and what is stored must make sense at any moment (`audit`).
//!
//! `ABIDE_STRESS_ROUNDS` sets how many rounds run, `ABIDE_STRESS_CALLS` how many calls each member makes.

mod audit;
mod call;
mod claims;
mod crowd;
mod deleters;
mod deletions;
mod family;
mod log;
mod order;
mod program;
mod replay;
mod workers;

use std::sync::Arc;

use abide_model::Clock as _;
use abide_provider::{Provider as _, StolenLeases};
use abide_sqlite::{Durability, SqliteProvider};
use futures::executor::block_on;
use futures::{FutureExt as _, StreamExt as _};

use crate::support::dump::read_dump;
use crate::support::folder::{Folder, url};
use call::{Call, Look, Outcome};
use crowd::{Entry, Plan, ROOTS, SteadyClock};
use replay::{Pruned, Replay};

/// How many rounds run if nobody says otherwise, and how many calls each member makes in one.
const ROUNDS: u64 = 6;
const CALLS: u64 = 250;

#[test]
fn deleting_under_load_on_a_file() {
    let mut met = Met::default();
    for round in 0..number_in("ABIDE_STRESS_ROUNDS").unwrap_or(ROUNDS) {
        let folder = Folder::new("stress");
        // With the disk to wait for, many share a transaction; without, everybody is soon served.
        let durability = if round % 2 == 0 { Durability::Full } else { Durability::Normal };
        met.add(run(&url(&folder.file("stress.db")), durability, round));
    }
    met.check();
}

#[test]
fn deleting_under_load_in_memory() {
    let mut met = Met::default();
    for round in 0..number_in("ABIDE_STRESS_ROUNDS").unwrap_or(ROUNDS) {
        met.add(run("sqlite::memory:", Durability::Full, 1_000 + round));
    }
    met.check();
}

fn run(url: &str, durability: Durability, seed: u64) -> Met {
    let clock = Arc::new(SteadyClock::default());
    let begin = clock.wall().as_millis();
    let builder =
        SqliteProvider::builder(url).durability(durability).clock(Arc::<SteadyClock>::clone(&clock));
    let store = block_on(builder.open()).unwrap();
    let mut listener = store.stolen_leases().expect("the store tells");
    log::begin(&store);
    let calls = number_in("ABIDE_STRESS_CALLS").unwrap_or(CALLS);
    let plan = Plan { seed, calls: usize::try_from(calls).unwrap(), audits: 25 };
    let entries = crowd::work(&store, &clock, plan);
    audit::pass(&store, &clock);
    assert_eq!(audit::integrity(&store), "ok");

    let steps = order::steps(&entries, &log::read(&store));
    let windows = order::Windows::of(&entries, &steps);
    let mut replay = Replay::new(&entries, &steps, &windows, begin);
    if let Err(difference) = replay.run() {
        panic!("seed {seed}: {difference}");
    }
    compare(&store, &clock, &mut replay, &mut listener);
    let deleted = replay.deletions.len();
    deletions::check(&entries, &windows, std::mem::take(&mut replay.deletions));
    assert_eq!(replay.pruned, pruned_as_told(&entries), "what was pruned, and what was told");
    refuse_tokens_of_the_past(&store, &replay);
    let met = Met::of(&entries, steps.len(), deleted, replay.true_claims);
    println!("{url}: {met:?}");
    met
}

/// The store and the model hold the same, say the same, and have told the same.
fn compare(
    store: &SqliteProvider,
    clock: &SteadyClock,
    replay: &mut Replay<'_>,
    listener: &mut StolenLeases,
) {
    let now = clock.wall().as_millis();
    replay.be_at(now);
    let stored = block_on(store.inspect(move |connection| read_dump(connection, now)));
    let mut stored = stored.expect("the writer is alive").unwrap();
    assert_eq!(stored.dead_letters, crowd::all_names().len(), "those that come again");
    stored.dead_letters = 0;
    let mut expected = replay.model.dump();
    // Calls that tell no time are replayed a little earlier than they were made.
    for message in expected.messages.values_mut().chain(stored.messages.values_mut()) {
        message.expires_at = message.expires_at.map(|_| 0);
    }
    let differences = abide_differential::differences(&expected, &stored, "SQLite");
    assert!(differences.is_empty(), "{differences:#?}");
    let mut told = Vec::new();
    while let Some(Some(stolen)) = listener.next().now_or_never() {
        told.push(format!("{} {:?}", stolen.token, stolen.because));
    }
    told.sort();
    assert_eq!(told, replay.stolen(), "leases taken away");
    let looks = (0..ROOTS).map(|root| format!("r{root}")).flat_map(|instance| {
        [
            Look::Tree { instance: instance.clone() },
            Look::Info { instance: instance.clone() },
            Look::History { instance: instance.clone() },
            Look::Values { instance },
        ]
    });
    for look in looks.chain([Look::List]) {
        assert_eq!(block_on(look.make(store)), block_on(look.make(&replay.model)), "{look:?}");
    }
}

fn pruned_as_told(entries: &[Entry]) -> Pruned {
    let mut told = Pruned::default();
    for entry in entries {
        if let Outcome::Pruned(pruned) = &entry.outcome {
            told.executions += pruned.executions_deleted;
            told.events += pruned.events_deleted;
        }
    }
    told
}

/// Nothing can be done with a lease that has ended, whatever it was on.
fn refuse_tokens_of_the_past(store: &SqliteProvider, replay: &Replay<'_>) {
    let dump = || block_on(store.inspect(|connection| read_dump(connection, 0))).unwrap().unwrap();
    let before = dump();
    for token in replay.tokens_of_the_past() {
        let calls = [
            Call::AbandonInstance { token: token.clone() },
            Call::AbandonWork { token: token.clone() },
            Call::Finish(abide_provider::FinishedWork { token: token.clone(), completion: None }),
        ];
        for call in calls {
            let outcome = block_on(call.make(store));
            assert!(matches!(outcome, Outcome::Refused(_)), "{call:?}: {outcome:?}");
        }
    }
    assert_eq!(dump(), before);
}

/// How much happened: a test in which nothing meets finds nothing.
#[derive(Debug, Default, Clone, Copy)]
struct Met {
    calls: usize,
    steps: usize,
    true_claims: usize,
    deletions: usize,
    turns: usize,
    turns_refused: usize,
    work_refused: usize,
    running_refused: usize,
    left_behind_refused: usize,
    deleted_in_bulk: u64,
    orphans_deleted: u64,
    executions_pruned: u64,
}

impl Met {
    fn of(entries: &[Entry], steps: usize, deletions: usize, true_claims: usize) -> Self {
        let count = |is: &dyn Fn(&Entry) -> bool| entries.iter().filter(|entry| is(entry)).count();
        let says = |entry: &Entry, text: &str| matches!(&entry.outcome, Outcome::Refused(refusal) if refusal.message.contains(text));
        let is_lost = |entry: &Entry| entry.outcome.rejection() == Some(abide_provider::Rejection::LeaseLost);
        let deleted = |is: &dyn Fn(&Call) -> bool| -> u64 {
            let outcomes = entries.iter().filter(|entry| is(&entry.call)).map(|entry| &entry.outcome);
            outcomes
                .map(
                    |outcome| {
                        if let Outcome::Deleted(deleted) = outcome { deleted.instances_deleted } else { 0 }
                    },
                )
                .sum()
        };
        let is_turn = |entry: &Entry| matches!(entry.call, Call::Commit(_));
        Self {
            calls: entries.len(),
            steps,
            true_claims,
            deletions,
            turns: count(&|entry| matches!(entry.outcome, Outcome::Committed(_))),
            turns_refused: count(&|entry| is_turn(entry) && is_lost(entry)),
            work_refused: count(&|entry| matches!(entry.call, Call::Finish(_)) && is_lost(entry)),
            running_refused: count(&|entry| says(entry, "is still running")),
            left_behind_refused: count(&|entry| says(entry, "created after tree traversal")),
            deleted_in_bulk: deleted(&|call| matches!(call, Call::DeleteBulk(_) | Call::Retention(_))),
            orphans_deleted: deleted(&|call| matches!(call, Call::Orphans(_))),
            executions_pruned: pruned_as_told(entries).executions,
        }
    }

    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.steps += other.steps;
        self.true_claims += other.true_claims;
        self.deletions += other.deletions;
        self.turns += other.turns;
        self.turns_refused += other.turns_refused;
        self.work_refused += other.work_refused;
        self.running_refused += other.running_refused;
        self.left_behind_refused += other.left_behind_refused;
        self.deleted_in_bulk += other.deleted_in_bulk;
        self.orphans_deleted += other.orphans_deleted;
        self.executions_pruned += other.executions_pruned;
    }

    fn check(&self) {
        println!("all rounds: {self:?}");
        assert!(self.turns > 0 && self.deletions > 0 && self.deleted_in_bulk > 0, "{self:?}");
        assert!(self.turns_refused > 0 && self.running_refused > 0, "{self:?}");
        assert!(self.executions_pruned > 0 && self.orphans_deleted > 0, "{self:?}");
    }
}

fn number_in(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}
