//! A storm, from its beginning to the day after: load, hits, and what must hold in the end.

use std::sync::atomic::Ordering;
use std::time::Duration;

use abide::seams::Clock;
use abide_chaos::check::{Evidence, Figures};
use abide_chaos::journal;
use abide_chaos::program::Program;
use abide_host::SystemClock;
use futures::executor::block_on;

use super::fleet::{Fleet, Season};
use super::load::{Counter, place_orders, wait_for_all};
use super::site::Site;
use super::wait::{Dice, told};

const ORDER_EVERY: Duration = Duration::from_millis(10);

/// Fewer orders than this are no load: every program is among them, and more than once.
const LEAST_ORDERS: usize = 5 * Program::FREE.len();

/// What a storm left behind.
pub(crate) struct Aftermath {
    pub(crate) evidence: Evidence,
    pub(crate) figures: Figures,
    /// How often something was hit.
    pub(crate) hits: usize,
}

/// Turns had to be run again, and activities.
pub(crate) fn hit_everything(figures: &Figures) -> bool {
    figures.run_again > 0 && figures.turns_again > 0
}

/// Turns had to be run again, or activities. A stop is seldom, and hits what it hits.
pub(crate) fn hit_something(figures: &Figures) -> bool {
    figures.run_again > 0 || figures.turns_again > 0
}

/// Places orders while the storm rages, for as many seconds as the environment says and until it has hit what it must, and
/// checks everything in the end.
pub(crate) fn weather(
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
        // Also if something goes wrong: whoever places orders goes on until then.
        let closing = Closing(&counter);
        let season = Season { length: Duration::from_secs(seconds), is_enough: &is_enough };
        let hits = rage(&mut fleet, &mut dice, &season);
        drop(closing);
        (orders.join().unwrap(), hits)
    });
    let clock = SystemClock::new();
    wait_for_all(&client, &orders);
    let settled = clock.monotonic();
    assert_eq!(fleet.site().forgotten_transactions(), 0, "a node left a transaction open");
    fleet.end();

    let evidence = block_on(Evidence::gather(&client, orders, &journals)).unwrap();
    drop(client);
    let figures = Figures::of(&evidence);
    println!("{} orders, {hits} hits, settled after {settled:?}\n{figures}", evidence.orders.len());
    println!("from the start of a worker to its first commit: {}", fleet.gaps(&evidence));
    is_in_order(&evidence, fleet.site());
    assert!(evidence.orders.len() >= LEAST_ORDERS, "{} orders", evidence.orders.len());
    Aftermath { evidence, figures, hits }
}

/// Ends the orders when it goes out of scope.
struct Closing<'a>(&'a Counter);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.is_closed.store(true, Ordering::Relaxed);
    }
}

fn is_in_order(evidence: &Evidence, site: &Site) {
    let broken = evidence.violations();
    let some: Vec<String> = broken.iter().take(10).map(ToString::to_string).collect();
    assert!(broken.is_empty(), "{} violations, such as\n{}", broken.len(), some.join("\n"));
    assert_eq!(site.complaints(), Vec::<String>::new());
}
