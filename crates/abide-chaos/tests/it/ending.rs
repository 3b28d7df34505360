//! A worker that is asked to end leaves nothing behind, and the next one goes on at once.

use std::time::Duration;

use abide::OrchestrationStatus;
use abide_chaos::check::{Evidence, Figures};
use abide_chaos::journal::Note;
use abide_chaos::program::{Order, Program};
use futures::executor::block_on;

use crate::support::load::{place, wait_for_all};
use crate::support::site::Site;
use crate::support::wait::PATIENCE;
use crate::support::worker::Worker;

const AT_ONCE: Duration = Duration::from_millis(100);

#[test]
fn sigterm_leaves_no_lease_and_the_next_worker_goes_on_at_once() {
    at_once(|| hand_over("TERM"));
}

#[test]
fn sigint_leaves_no_lease_and_the_next_worker_goes_on_at_once() {
    at_once(|| hand_over("INT"));
}

/// Of a few tries some may be slow on a busy machine; what waits for a lease to run out is slow every time.
fn at_once(what_it_takes: impl Fn() -> Duration) {
    let mut times = Vec::new();
    for _ in 0..5 {
        times.push(what_it_takes());
        if times.last() < Some(&AT_ONCE) {
            println!("it took {times:?}");
            return;
        }
    }
    panic!("it took {times:?}");
}

/// Ends a worker that is in the middle of everything, and says how soon the next one goes on after it is ready.
fn hand_over(signal: &str) -> Duration {
    let site = Site::new(signal);
    let client = site.client();
    let mut first = Worker::start(&site, "first");
    first.wait_until_ready();
    let lingering = Order { instance: "lingering".to_owned(), program: Program::Lingering, number: 0 };
    place(&client, &lingering);
    let mut orders: Vec<Order> = (0..40).map(Order::nth).filter(|order| order.mail().is_empty()).collect();
    for order in &orders {
        place(&client, order);
    }
    orders.push(lingering.clone());
    let lingers =
        |note: &Note| matches!(note, Note::Began { activity, .. } if activity.instance == lingering.instance);
    first.wait_for("the activity that lingers", lingers);
    first.wait_for("the first results", |note| matches!(note, Note::Ended { result: Ok(_), .. }));

    first.signal(signal);
    let status = first.wait();
    assert!(status.success(), "{status}");
    assert_eq!(site.leases(), 0);
    assert_eq!(site.owner_files(), 1, "the client's");

    let mut second = Worker::start(&site, "second");
    let ready = second.wait_for("the next one to be ready", |note| *note == Note::Ready);
    let went_on = second.wait_for("the next one to go on", lingers);
    site.open_gate();
    let ended = block_on(client.wait_for_orchestration(&lingering.instance, PATIENCE)).unwrap();
    assert!(matches!(ended, OrchestrationStatus::Completed { output, .. } if output == "second"));
    wait_for_all(&client, &orders);
    second.end();

    let evidence = block_on(Evidence::gather(&client, orders, &site.journals())).unwrap();
    drop(client);
    assert_eq!(evidence.violations(), []);
    assert_eq!(site.complaints(), Vec::<String>::new());
    assert_eq!(Figures::of(&evidence).most_attempts, 1, "what was handed back was not tried");
    Duration::from_millis(went_on.at_ms.saturating_sub(ready.at_ms))
}
