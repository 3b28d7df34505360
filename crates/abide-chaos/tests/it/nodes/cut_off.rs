//! Nodes that lose their connections: ended by the server, or on the way.

use std::sync::Arc;
use std::time::Duration;

use abide_chaos::check::Figures;
use abide_host::SystemClock;
use futures::executor::block_on;

use crate::support::database::{Database, Victim};
use crate::support::fleet::Fleet;
use crate::support::progress::goes_on_soon_after;
use crate::support::proxy::Proxy;
use crate::support::site::Site;
use crate::support::wait::{Dice, now_ms, pass, until};
use crate::support::weather::weather;

const LEASE: Duration = Duration::from_secs(1);

#[test]
fn nothing_is_lost_when_the_server_ends_connections() {
    let Some(database) = Database::shared() else { return };
    let fleet = Fleet::at(Site::on("terminated", database), 3).with_lease(LEASE);
    let mut moments = Vec::new();
    let hit = weather(
        fleet,
        3,
        |_| true,
        |fleet, _, season| {
            let mut ended = 0;
            season.every(Duration::from_millis(100), 10, || {
                moments.push(now_ms());
                let victim = if moments.len() % 4 == 0 { Victim::Listener } else { Victim::Anybody };
                ended += fleet.site().database().end_some_connection(victim);
                ended
            })
        },
    );
    println!("{} connections were ended", hit.hits);
    goes_on_soon_after(&moments, &hit.evidence);
}

#[test]
fn nothing_is_lost_when_answers_are() {
    let Some((proxy, fleet)) = nodes_behind_a_proxy("answers") else { return };
    let mut moments = Vec::new();
    // Most results come with a turn: those that are told by themselves are few, and it goes on until one of them was hit.
    let hit = weather(
        fleet,
        4,
        |figures| ["commit_turn", "finish_work"].iter().all(|operation| in_doubt(figures, operation) > 0),
        |_, _, season| {
            proxy.lose_one_answer_in(50);
            let lost = season.every(Duration::from_millis(100), 10, || {
                moments.push(now_ms());
                proxy.answers_lost()
            });
            proxy.calm();
            lost
        },
    );
    println!("{} answers were lost", hit.hits);
    // Among them were answers to what was committed, of turns and of activities.
    for operation in ["commit_turn", "finish_work"] {
        assert!(in_doubt(&hit.figures, operation) > 0, "{operation}: {}", hit.figures);
    }
    goes_on_soon_after(&moments, &hit.evidence);
}

/// How often nobody knew whether it had been done.
fn in_doubt(figures: &Figures, operation: &str) -> usize {
    figures.refused.get(&(operation.to_owned(), "unknown".to_owned())).copied().unwrap_or_default()
}

#[test]
fn nothing_is_lost_when_connections_stall_or_break_in_half() {
    let Some((proxy, fleet)) = nodes_behind_a_proxy("stalls") else { return };
    let mut moments = Vec::new();
    let hit = weather(
        fleet,
        4,
        |_| true,
        |_, dice, season| {
            let mut hits = 0;
            season.every(Duration::from_millis(300), 3, || {
                hits += go_wrong(&proxy, dice);
                moments.push(now_ms());
                hits
            })
        },
    );
    println!("{} connections went wrong", hit.hits);
    goes_on_soon_after(&moments, &hit.evidence);
}

/// A connection that carries nothing any more, and is not closed, is noticed after many seconds, and the one that is made in its stead is
/// like it. Whatever does not depend on it goes on.
#[test]
fn others_go_on_while_a_connection_is_silent() {
    let Some((proxy, fleet)) = nodes_behind_a_proxy("silent") else { return };
    let mut moments = Vec::new();
    let hit = weather(
        fleet,
        2,
        |_| true,
        |_, dice, season| {
            let mut hits = 0;
            season.every(Duration::from_secs(5), 1, || {
                proxy.silence_next(1);
                hits += proxy.silence_one(dice);
                moments.push(now_ms());
                hits
            })
        },
    );
    println!("{} connections were silent", hit.hits);
    goes_on_soon_after(&moments, &hit.evidence);
}

/// Nobody answers while a connection is made, and nobody says so either: it is given up, and another is made.
#[test]
fn connections_that_never_come_about_are_given_up() {
    let Some(database) = Database::shared() else { return };
    let proxy = Proxy::before(database.url());
    let url = format!("{}&connect_timeout=1", proxy.url(database.url()));
    let site = Site::through("silence", database, &url);
    let client = site.client();
    proxy.silence_next(usize::MAX);
    proxy.cut_all();
    let opened = block_on(site.store().open(Arc::new(SystemClock::new()))).map(drop);
    println!("opening it without an answer: {opened:?}");
    assert!(opened.is_err(), "opening it says that nobody answers");
    std::thread::scope(|scope| {
        let order = scope.spawn(|| block_on(client.start_orchestration("nobody", "runs", "this")));
        until("somebody to try to connect, and to try again", || (proxy.silenced() >= 6).then_some(()));
        proxy.silence_next(0);
        order.join().unwrap().unwrap();
    });
}

/// Three nodes that reach their server by a wire that can go wrong. `None` if there is no server.
fn nodes_behind_a_proxy(name: &str) -> Option<(Proxy, Fleet)> {
    let database = Database::shared()?;
    let proxy = Proxy::before(database.url());
    let url = proxy.url(database.url());
    let fleet = Fleet::at(Site::through(name, database, &url), 3).with_lease(LEASE);
    Some((proxy, fleet))
}

/// Says how many connections it hit; a stall counts as one.
fn go_wrong(proxy: &Proxy, dice: &mut Dice) -> usize {
    if dice.below(4) > 0 {
        return proxy.half_close_one(dice);
    }
    // Up to a little longer than leases last.
    proxy.stall();
    pass(Duration::from_millis(u64::try_from(100 + dice.below(1_200)).unwrap()));
    proxy.calm();
    1
}
