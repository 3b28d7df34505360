//! Workers that are killed, or stopped beyond their leases, again and again, under load.
//!
//! A few seconds in a normal run; `ABIDE_STORM_SECONDS=60` is the full length (`cargo xtask torture kill`). `ABIDE_SEED` repeats
//! who is hit, as far as that can be repeated.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use abide::seams::Clock;
use abide_chaos::check::{Evidence, Figures, storage};
use abide_chaos::program::{Order, Program};
use abide_host::SystemClock;
use futures::executor::block_on;

use crate::support::fleet::Fleet;
use crate::support::load::{place_orders, wait_for_all};
use crate::support::site::Site;
use crate::support::wait::{Dice, told};

const KILL_EVERY: Duration = Duration::from_millis(200);
const STOP_EVERY: Duration = Duration::from_millis(500);
const ORDER_EVERY: Duration = Duration::from_millis(10);

/// What a storm left behind.
struct Aftermath {
    orders: Vec<Order>,
    figures: Figures,
    /// How often a worker was hit.
    hits: usize,
    seconds: usize,
}

impl Aftermath {
    /// It was a storm, and it hit.
    fn was_a_storm(&self, at_least_every: Duration) {
        let Self { orders, figures, hits, seconds } = self;
        let length = Duration::from_secs(u64::try_from(*seconds).unwrap());
        assert!(at_least_every * u32::try_from(*hits).unwrap() >= length, "{hits} hits in {seconds} seconds");
        assert!(orders.len() >= seconds * 10, "{} orders in {seconds} seconds", orders.len());
        for program in Program::FREE {
            assert!(orders.iter().filter(|order| order.program == program).count() >= 2, "{program:?}");
        }
        assert!(figures.run_again > 0, "no activity was run again");
        assert!(figures.turns_again > 0, "no turn was run again");
    }
}

#[test]
fn nothing_is_lost_when_workers_are_killed_all_the_time() {
    let killed = weather(Fleet::of(3), 7, |fleet, dice, length| fleet.kill_every(KILL_EVERY, dice, length));
    killed.was_a_storm(KILL_EVERY * 2);
    assert!(killed.figures.died_in_activity > 0, "nobody was killed in an activity");
}

#[test]
fn nothing_is_lost_when_the_only_worker_is_killed_all_the_time() {
    let killed = weather(Fleet::of(1), 4, |fleet, dice, length| fleet.kill_every(KILL_EVERY, dice, length));
    killed.was_a_storm(KILL_EVERY * 2);
    assert!(killed.figures.died_in_activity > 0, "nobody was killed in an activity");
}

#[test]
fn nothing_is_lost_when_workers_are_stopped_beyond_their_leases() {
    let lease = Duration::from_secs(1);
    let stopped = weather(Fleet::of(3).with_lease(lease), 6, |fleet, dice, length| {
        fleet.stop_every(STOP_EVERY, lease * 3 / 2, dice, length)
    });
    stopped.was_a_storm(STOP_EVERY * 4);
}

/// Places orders while the storm rages, for as many seconds as the environment says, and checks everything in the end.
fn weather(
    fleet: Fleet,
    seconds: u64,
    rage: impl FnOnce(&mut Fleet, &mut Dice, Duration) -> usize,
) -> Aftermath {
    let seconds = told("ABIDE_STORM_SECONDS", seconds);
    let mut dice = Dice::of_environment();
    println!("a storm of {seconds} s, ABIDE_SEED={}", dice.seed());
    let mut fleet = fleet.launch();
    let client = fleet.site().client();

    let stop = AtomicBool::new(false);
    let (orders, hits) = std::thread::scope(|scope| {
        let orders = scope.spawn(|| place_orders(&client, ORDER_EVERY, &stop));
        let hits = rage(&mut fleet, &mut dice, Duration::from_secs(seconds));
        stop.store(true, Ordering::Relaxed);
        (orders.join().unwrap(), hits)
    });
    let clock = SystemClock::new();
    wait_for_all(&client, &orders);
    let settled = clock.monotonic();
    fleet.end();

    let evidence = block_on(Evidence::gather(&client, orders.clone(), &fleet.site().journals())).unwrap();
    drop(client);
    let figures = Figures::of(&evidence);
    println!("{} orders, {hits} hits, settled after {settled:?}\n{figures}", orders.len());
    println!("from the start of a worker to its first commit: {}", fleet.gaps(&evidence));
    is_in_order(&evidence, fleet.site());
    Aftermath { orders, figures, hits, seconds: usize::try_from(seconds).unwrap() }
}

fn is_in_order(evidence: &Evidence, site: &Site) {
    let broken = evidence.violations();
    let some: Vec<String> = broken.iter().take(10).map(ToString::to_string).collect();
    assert!(broken.is_empty(), "{} violations, such as\n{}", broken.len(), some.join("\n"));
    assert_eq!(storage::violations(&site.db()).unwrap(), []);
    assert_eq!(site.owner_files(), 0);
}
