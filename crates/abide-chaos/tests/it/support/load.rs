//! Orders, placed at a steady pace.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use abide::seams::Clock;
use abide::{Client, OrchestrationStatus};
use abide_chaos::program::{Mail, Order};
use abide_host::SystemClock;
use futures::executor::block_on;

use super::wait::{PATIENCE, pass, until};

/// Mail is sent so many orders later, one message of an instance after the other.
const DELAY: u64 = 3;

/// What there is between those who place orders and those who watch them.
#[derive(Debug, Default)]
pub(crate) struct Counter {
    /// So many orders were acknowledged.
    pub(crate) placed: AtomicUsize,
    /// No more are wanted.
    pub(crate) is_closed: AtomicBool,
}

/// Places one order after the other until the counter is closed; everything it returns was acknowledged.
pub(crate) fn place_orders(client: &Client, pace: Duration, counter: &Counter) -> Vec<Order> {
    let clock = SystemClock::new();
    let mut orders = Vec::new();
    let mut post: VecDeque<(u64, String, Mail)> = VecDeque::new();
    let mut number = 0;
    while !counter.is_closed.load(Ordering::Relaxed) {
        let order = Order::nth(number);
        place(client, &order);
        let mail = order.mail().into_iter().zip(1..);
        post.extend(mail.map(|(mail, nth)| (number + nth * DELAY, order.instance.clone(), mail)));
        orders.push(order);
        number += 1;
        counter.placed.store(orders.len(), Ordering::Relaxed);
        post.retain(|(due, instance, mail)| {
            let is_due = *due <= number;
            if is_due {
                send(client, instance, mail);
            }
            !is_due
        });
        let next = pace * u32::try_from(number).unwrap();
        pass(next.saturating_sub(clock.monotonic()));
    }
    for (_, instance, mail) in post {
        send(client, &instance, &mail);
    }
    orders
}

pub(crate) fn place(client: &Client, order: &Order) {
    let (instance, program) = (order.instance.clone(), order.program.name());
    block_on(client.start_orchestration(instance, program, order.input())).unwrap();
}

fn send(client: &Client, instance: &str, mail: &Mail) {
    let sent = match mail {
        Mail::Signal { name, data } => block_on(client.raise_event(instance, *name, data.clone())),
        Mail::Message { queue, data } => block_on(client.enqueue_event(instance, *queue, data.clone())),
        Mail::Cancel { reason } => block_on(client.cancel_instance(instance, reason.clone())),
    };
    sent.unwrap();
}

/// Waits until every order has ended, and everything they brought about.
pub(crate) fn wait_for_all(client: &Client, orders: &[Order]) {
    for order in orders {
        let ended = wait_for(client, &order.instance);
        // One that failed may not have come to placing its own orders; why it failed is what the test is to say then.
        if matches!(ended, OrchestrationStatus::Completed { .. }) {
            for heir in order.heirs() {
                wait_for(client, &heir.instance);
            }
        }
    }
    until("the last children to end, and the queues to be empty", || {
        let running = block_on(client.list_instances_by_status("Running")).unwrap();
        let depths = block_on(client.get_queue_depths()).unwrap();
        let waiting = depths.orchestrator_queue + depths.worker_queue + depths.timer_queue;
        (running.is_empty() && waiting == 0).then_some(())
    });
}

fn wait_for(client: &Client, instance: &str) -> OrchestrationStatus {
    block_on(client.wait_for_orchestration(instance, PATIENCE)).unwrap_or_else(|error| {
        let status = block_on(client.get_orchestration_status(instance));
        let history = block_on(client.read_execution_history(instance, 1));
        panic!("{instance} has not ended ({error}): {status:?} {history:#?}");
    })
}
