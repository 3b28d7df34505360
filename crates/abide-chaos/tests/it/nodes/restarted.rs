//! A server that is restarted under its nodes: in good order, as if it had crashed, and after a while.

use std::time::Duration;

use abide_throwaway::{Mode, Server, Settings, own};

use crate::support::database::Database;
use crate::support::fleet::Fleet;
use crate::support::progress::{SOON, first_after, goes_on_soon_after};
use crate::support::site::Site;
use crate::support::wait::{Dice, now_ms, pass, told, until};
use crate::support::weather::weather;

/// In a storm of less than this the server is back at once.
const LONG_STORM: u64 = 30;

#[test]
fn nodes_go_on_when_their_server_is_back() {
    let Some(server) = own(&Settings::durable()).unwrap() else { return };
    let fleet = Fleet::at(Site::on("restarted", Database::at(&server.url())), 3);
    let mut back = Vec::new();
    let (pause, jitter) =
        if told("ABIDE_STORM_SECONDS", 0) < LONG_STORM { (1_500, 500) } else { (5_000, 5_000) };
    let restarted = weather(
        fleet,
        6,
        |_| true,
        |fleet, dice, season| {
            let database = fleet.site().database();
            season.every(Duration::from_millis(pause), 2, || {
                pass(Duration::from_millis(u64::try_from(dice.below(jitter)).unwrap()));
                let stop = Stop::nth(back.len());
                back.push(std::thread::scope(|scope| {
                    let watcher = scope.spawn(|| returned(database));
                    stop.happen(&server, dice);
                    watcher.join().unwrap()
                }));
                back.len()
            })
        },
    );
    println!("{} restarts", restarted.hits);
    goes_on_soon_after(&back, &restarted.evidence);
    for (worker, lines) in &restarted.evidence.journals {
        let gaps: Vec<_> = back.iter().map(|since| first_after(*since, lines).map(|at| at - since)).collect();
        println!("{worker}: {gaps:?}");
        // No node is left behind. One may find nothing to do for a moment, because the others were quicker.
        let worst = Duration::from_millis(gaps.into_iter().flatten().max().unwrap_or_default());
        assert!(worst < SOON * 2, "{worker} took {worst:?} to go on");
    }
    assert!(!server.log().unwrap().contains(" 40P01 "), "there was a deadlock");
}

/// How the server goes away, and comes back.
#[derive(Debug, Clone, Copy)]
enum Stop {
    Restart(Mode),
    /// It is away for a while.
    Outage(Mode),
}

impl Stop {
    fn nth(number: usize) -> Self {
        let long = if told("ABIDE_STORM_SECONDS", 0) < LONG_STORM { 2 } else { 4 };
        match number % long {
            0 => Self::Restart(Mode::Fast),
            1 => Self::Restart(Mode::Immediate),
            2 => Self::Outage(Mode::Fast),
            _ => Self::Outage(Mode::Immediate),
        }
    }

    fn happen(self, server: &Server, dice: &mut Dice) {
        match self {
            Self::Restart(mode) => server.restart(mode).unwrap(),
            Self::Outage(mode) => {
                server.stop(mode).unwrap();
                pass(
                    Duration::from_secs(4) + Duration::from_millis(u64::try_from(dice.below(6_000)).unwrap()),
                );
                server.start_again().unwrap();
            }
        }
    }
}

/// When a server that goes away lets somebody in again. Whoever restarts it hears of that much later.
fn returned(database: &Database) -> u64 {
    until("the server to be away", || (!database.answers()).then_some(()));
    until("the server to be back", || database.answers().then(now_ms))
}
