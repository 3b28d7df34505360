//! Nodes that start at once on an empty database: one makes the tables, all work.
//!
//! A few times in a normal run; `ABIDE_STARTS=20` is the full length (`cargo xtask torture starts`).

use abide_chaos::check::Evidence;
use abide_chaos::journal::Note;
use abide_chaos::program::{Order, Program};
use futures::executor::block_on;

use crate::support::database::Database;
use crate::support::load::{place, wait_for_all};
use crate::support::site::Site;
use crate::support::wait::{told, until};
use crate::support::worker::Worker;

const NODES: usize = 16;

#[test]
fn of_many_nodes_that_start_at_once_one_makes_the_tables_and_all_work() {
    for round in 0..told("ABIDE_STARTS", 2) {
        let Some(database) = Database::shared() else { return };
        start_together(&Site::on(&format!("start-{round}"), database));
    }
}

fn start_together(site: &Site) {
    let mut workers: Vec<Worker> =
        (0..NODES).map(|number| Worker::start(site, &format!("worker-{number}"))).collect();
    workers.iter().for_each(Worker::wait_until_ready);
    assert_eq!(site.database().makers_of_the_schema(), 1, "those who made something in it");

    let client = site.client();
    let mut orders = Vec::new();
    until("every node to have done something", || {
        let order = Order { program: Program::FanOut, ..Order::nth(u64::try_from(orders.len()).unwrap()) };
        place(&client, &order);
        orders.push(order);
        let did_something = |worker: &Worker| worker.lines().iter().any(|line| line.note == Note::Committed);
        workers.iter().all(did_something).then_some(())
    });
    wait_for_all(&client, &orders);
    workers.iter_mut().for_each(Worker::end);
    let evidence = block_on(Evidence::gather(&client, orders, &site.journals())).unwrap();
    drop(client);
    assert_eq!(evidence.violations(), []);
    assert_eq!(site.complaints(), Vec::<String>::new());
    println!("{NODES} nodes, {} orders", evidence.orders.len());
}
