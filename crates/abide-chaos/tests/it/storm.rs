//! `kill -9` of a worker every 200 ms, under load.
//!
//! A few seconds in a normal run; `ABIDE_STORM_SECONDS=60` is the full storm (`cargo xtask torture kill`). `ABIDE_SEED` repeats
//! who is killed when, as far as that can be repeated.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use abide::seams::Clock;
use abide_chaos::check::{Evidence, Figures, storage};
use abide_chaos::journal::Note;
use abide_chaos::program::Program;
use abide_host::SystemClock;
use futures::executor::block_on;

use crate::support::load::{place_orders, wait_for_all};
use crate::support::site::Site;
use crate::support::wait::{Dice, pass, told};
use crate::support::worker::Worker;

const KILL_EVERY: Duration = Duration::from_millis(200);
const ORDER_EVERY: Duration = Duration::from_millis(50);
const WORKERS: usize = 3;

#[test]
fn nothing_is_lost_when_workers_are_killed_all_the_time() {
    let length = Duration::from_secs(told("ABIDE_STORM_SECONDS", 7));
    let mut dice = Dice::of_environment();
    println!("a storm of {length:?}, ABIDE_SEED={}", dice.seed());
    let site = Site::new("storm");
    let client = site.client();

    let stop = AtomicBool::new(false);
    let mut storm = Storm::begin(&site);
    let orders = std::thread::scope(|scope| {
        let orders = scope.spawn(|| place_orders(&client, ORDER_EVERY, &stop));
        storm.rage(&mut dice, length);
        stop.store(true, Ordering::Relaxed);
        orders.join().unwrap()
    });
    let clock = SystemClock::new();
    wait_for_all(&client, &orders);
    let settled = clock.monotonic();
    storm.workers.iter_mut().for_each(Worker::end);

    let evidence = block_on(Evidence::gather(&client, orders.clone(), &site.journals())).unwrap();
    drop(client);
    let figures = Figures::of(&evidence);
    println!("{} orders, {} kills, settled after {settled:?}\n{figures}", orders.len(), storm.kills);
    println!("from the start of a worker to its first commit: {}", gaps(&evidence, &storm.started));
    let broken = evidence.violations();
    assert!(broken.is_empty(), "{} violations, such as\n{}", broken.len(), first_few(&broken));
    assert_eq!(storage::violations(&site.db()).unwrap(), []);
    assert_eq!(site.owner_files(), 0);

    // It was a storm, and it hit.
    let seconds = usize::try_from(length.as_secs()).unwrap();
    assert!(storm.kills >= seconds * 2, "only {} kills", storm.kills);
    assert!(orders.len() >= seconds * 5, "only {} orders", orders.len());
    for program in Program::FREE {
        assert!(orders.iter().filter(|order| order.program == program).count() >= 2, "{program:?}");
    }
    assert!(figures.run_again > 0, "no activity was run again");
    assert!(figures.turns_again > 0, "no turn was run again");
    assert!(figures.died_in_activity > 0, "nobody was killed in an activity");
}

/// Workers, of which one or the other is killed.
struct Storm<'a> {
    site: &'a Site,
    workers: Vec<Worker>,
    /// Who was started when.
    started: Vec<(String, u64)>,
    kills: usize,
}

impl<'a> Storm<'a> {
    fn begin(site: &'a Site) -> Self {
        let mut storm = Self { site, workers: Vec::new(), started: Vec::new(), kills: 0 };
        for _ in 0..WORKERS {
            let worker = storm.start();
            storm.workers.push(worker);
        }
        storm
    }

    fn start(&mut self) -> Worker {
        let label = format!("worker-{}", self.started.len());
        let worker = Worker::start(self.site, &label);
        self.started.push((label, worker.started_ms));
        worker
    }

    /// Kills and restarts, for so long.
    fn rage(&mut self, dice: &mut Dice, length: Duration) {
        let clock = SystemClock::new();
        let mut next = KILL_EVERY;
        while next < length {
            pass(next.saturating_sub(clock.monotonic()));
            self.workers.swap_remove(dice.below(WORKERS)).kill();
            let worker = self.start();
            self.workers.push(worker);
            self.kills += 1;
            // On a machine that cannot keep up there are fewer kills, not several at once.
            next = (next + KILL_EVERY).max(clock.monotonic());
        }
    }
}

/// How long it took from the start of each worker to its first commit, if it lived to see it.
fn gaps(evidence: &Evidence, started: &[(String, u64)]) -> String {
    let gap = |(label, started): &(String, u64)| {
        let mut lines = evidence.journals.get(label)?.iter();
        Some(lines.find(|line| line.note == Note::FirstCommit)?.at_ms.saturating_sub(*started))
    };
    let mut gaps: Vec<u64> = started.iter().filter_map(gap).collect();
    gaps.sort_unstable();
    let median = gaps.get(gaps.len() / 2);
    format!("{} of {}, median {median:?} ms, longest {:?} ms", gaps.len(), started.len(), gaps.last())
}

fn first_few(broken: &[abide_chaos::check::Violation]) -> String {
    broken.iter().take(10).map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
