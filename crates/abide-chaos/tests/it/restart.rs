//! A worker that was killed is started again: it goes on at once, and not when the leases of the dead one run out.

use std::time::Duration;

use abide_chaos::check::Evidence;
use abide_chaos::journal::{Line, Note};
use abide_chaos::program::{Order, Program};
use futures::executor::block_on;

use crate::support::load::{place, wait_for_all};
use crate::support::site::Site;
use crate::support::worker::Worker;

/// Much longer than a restart takes, on any machine.
const LEASE: Duration = Duration::from_secs(40);

#[test]
fn a_worker_started_after_a_crash_goes_on_at_once() {
    let site = Site::new("restart");
    let client = site.client();
    let first = Worker::with_lease(&site, "first", LEASE);
    let orders = [Program::Lingering, Program::HeldTurn, Program::Chain].map(|program| Order {
        instance: program.name().to_owned(),
        program,
        number: 5,
    });
    for order in &orders {
        place(&client, order);
    }
    let lingers = |note: &Note| matches!(note, Note::Began { activity, .. } if activity.instance == Program::Lingering.name());
    let at_the_gate = |note: &Note| matches!(note, Note::Passed { point, .. } if point == "at the gate");
    first.wait_for("the activity", lingers);
    first.wait_for("the turn", at_the_gate);
    first.kill();

    let mut second = Worker::with_lease(&site, "second", LEASE);
    let again = second.wait_for("the activity, again", lingers);
    let turn = second.wait_for("the turn, again", at_the_gate);
    site.open_gate();
    let committed = second.wait_for("the first commit", |note| *note == Note::Committed);
    let since_start = |line: &Line| Duration::from_millis(line.at_ms.saturating_sub(second.started_ms));
    let gaps = [&again, &turn, &committed].map(since_start);
    println!("activity, turn and first commit: {gaps:?} after the restart");
    assert!(gaps.iter().all(|gap| *gap < LEASE / 2), "{gaps:?}");
    assert!(matches!(again.note, Note::Began { attempt: 2, .. }), "{again:?}");

    let orders = orders.to_vec();
    wait_for_all(&client, &orders);
    second.end();
    let evidence = block_on(Evidence::gather(&client, orders, &site.journals())).unwrap();
    drop(client);
    assert_eq!(evidence.violations(), []);
    assert_eq!(site.complaints(), Vec::<String>::new());
}
