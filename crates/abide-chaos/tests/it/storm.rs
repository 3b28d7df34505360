//! Workers that are killed, or stopped beyond their leases, again and again, under load.
//!
//! A few seconds in a normal run; `ABIDE_STORM_SECONDS=60` is the full length (`cargo xtask torture kill`). `ABIDE_SEED` repeats
//! who is hit, as far as that can be repeated.

use std::sync::atomic::Ordering;
use std::time::Duration;

use abide::seams::Clock;
use abide_chaos::check::{Evidence, Figures, storage};
use abide_chaos::journal;
use abide_chaos::program::Program;
use abide_host::SystemClock;
use futures::executor::block_on;

use crate::support::fleet::{Fleet, Season};
use crate::support::load::{Counter, place_orders, wait_for_all};
use crate::support::site::Site;
use crate::support::wait::{Dice, told};

const KILL_EVERY: Duration = Duration::from_millis(200);
const STOP_EVERY: Duration = Duration::from_millis(500);
const ORDER_EVERY: Duration = Duration::from_millis(10);

/// Fewer orders than this are no load: every program is among them, and more than once.
const LEAST_ORDERS: usize = 5 * Program::FREE.len();

/// What a storm left behind.
struct Aftermath {
    figures: Figures,
    /// How often a worker was hit.
    hits: usize,
}

#[test]
fn nothing_is_lost_when_workers_are_killed_all_the_time() {
    let killed = weather(Fleet::of(3), 7, hit_everything, |fleet, dice, season| {
        fleet.kill_every(KILL_EVERY, dice, season)
    });
    assert!(killed.hits >= 15, "{} kills", killed.hits);
    assert!(hit_everything(&killed.figures), "{}", killed.figures);
}

#[test]
fn nothing_is_lost_when_the_only_worker_is_killed_all_the_time() {
    // It has to come to something before it is killed: what ten lives are not enough for counts as poison.
    let pause = KILL_EVERY * 2;
    let killed =
        weather(Fleet::of(1), 5, hit_everything, |fleet, dice, season| fleet.kill_every(pause, dice, season));
    assert!(killed.hits >= 6, "{} kills", killed.hits);
    assert!(hit_everything(&killed.figures), "{}", killed.figures);
}

#[test]
fn nothing_is_lost_when_workers_are_stopped_beyond_their_leases() {
    let lease = Duration::from_secs(1);
    let stopped = weather(Fleet::of(3).with_lease(lease), 6, hit_something, |fleet, dice, season| {
        fleet.stop_every(STOP_EVERY, lease * 3 / 2, dice, season)
    });
    assert!(stopped.hits >= 3, "{} stops", stopped.hits);
    assert!(hit_something(&stopped.figures), "{}", stopped.figures);
}

/// Turns had to be run again, and activities.
fn hit_everything(figures: &Figures) -> bool {
    figures.run_again > 0 && figures.turns_again > 0
}

/// Turns had to be run again, or activities. A stop is seldom, and hits what it hits.
fn hit_something(figures: &Figures) -> bool {
    figures.run_again > 0 || figures.turns_again > 0
}

/// Places orders while the storm rages, for as many seconds as the environment says and until it has hit what it must, and
/// checks everything in the end.
fn weather(
    fleet: Fleet,
    seconds: u64,
    has_hit: fn(&Figures) -> bool,
    rage: impl FnOnce(&mut Fleet, &mut Dice, &Season<'_>) -> usize,
) -> Aftermath {
    let seconds = told("ABIDE_STORM_SECONDS", seconds);
    let mut dice = Dice::of_environment();
    println!("a storm of {seconds} s, ABIDE_SEED={}", dice.seed());
    let mut fleet = fleet.launch();
    let client = fleet.site().client();

    let counter = Counter::default();
    let journals = fleet.site().journals();
    let is_enough = || {
        let noted = Evidence { journals: journal::read_all(&journals).unwrap(), ..Evidence::default() };
        counter.placed.load(Ordering::Relaxed) >= LEAST_ORDERS && has_hit(&Figures::of(&noted))
    };
    let (orders, hits) = std::thread::scope(|scope| {
        let orders = scope.spawn(|| place_orders(&client, ORDER_EVERY, &counter));
        let season = Season { length: Duration::from_secs(seconds), is_enough: &is_enough };
        let hits = rage(&mut fleet, &mut dice, &season);
        counter.is_closed.store(true, Ordering::Relaxed);
        (orders.join().unwrap(), hits)
    });
    let clock = SystemClock::new();
    wait_for_all(&client, &orders);
    let settled = clock.monotonic();
    fleet.end();

    let evidence = block_on(Evidence::gather(&client, orders, &journals)).unwrap();
    drop(client);
    let figures = Figures::of(&evidence);
    println!("{} orders, {hits} hits, settled after {settled:?}\n{figures}", evidence.orders.len());
    println!("from the start of a worker to its first commit: {}", fleet.gaps(&evidence));
    is_in_order(&evidence, fleet.site());
    assert!(evidence.orders.len() >= LEAST_ORDERS, "{} orders", evidence.orders.len());
    Aftermath { figures, hits }
}

fn is_in_order(evidence: &Evidence, site: &Site) {
    let broken = evidence.violations();
    let some: Vec<String> = broken.iter().take(10).map(ToString::to_string).collect();
    assert!(broken.is_empty(), "{} violations, such as\n{}", broken.len(), some.join("\n"));
    assert_eq!(storage::violations(&site.db()).unwrap(), []);
    assert_eq!(site.owner_files(), 0);
}
