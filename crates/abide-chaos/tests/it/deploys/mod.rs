//! Bad deployments: builds whose code cannot run what another build began, that panic, and that crash.
//!
//! Nothing is lost and nothing fails; what cannot run waits, says why, and goes on when the right build comes back.
//!
//! `ABIDE_DEPLOY_SECONDS` is the length of the rolling deployment and of the load on two services: a few seconds in a
//! normal run, a minute in `cargo xtask torture deploys`.

mod bad_build;
mod canceled;
mod crashes;
mod damaged;
mod rolling;
mod services;
mod unserved;

use abide::{Client, EventKind, OrchestrationStatus};
use abide_chaos::deploy::CHILDREN;
use futures::executor::block_on;

use crate::support::deployment::effects_of;
use crate::support::site::Site;
use crate::support::wait::{PATIENCE, until};

/// How many baskets there are; each has [`CHILDREN`] orders.
const BASKETS: usize = 10;

/// What one order does, in the right build.
const STEPS: [&str; 3] = ["reserve", "charge", "ship"];

fn baskets() -> impl Iterator<Item = String> {
    (0..BASKETS).map(|number| format!("basket-{number}"))
}

fn orders() -> Vec<String> {
    baskets().flat_map(|basket| (0..CHILDREN).map(move |number| format!("{basket}-{number}"))).collect()
}

fn start(client: &Client, instance: &str, orchestration: &str, input: &str) {
    block_on(client.start_orchestration(instance, orchestration, input)).unwrap();
}

fn status(client: &Client, instance: &str) -> OrchestrationStatus {
    block_on(client.get_orchestration_status(instance)).unwrap()
}

fn is_running(client: &Client, instance: &str) -> bool {
    matches!(status(client, instance), OrchestrationStatus::Running { .. })
}

fn end_of(client: &Client, instance: &str) -> Result<String, String> {
    match block_on(client.wait_for_orchestration(instance, PATIENCE)) {
        Ok(OrchestrationStatus::Completed { output, .. }) => Ok(output),
        Ok(OrchestrationStatus::Failed { details, .. }) => Err(details.display_message()),
        other => panic!("{instance} has not ended: {other:?}; {:?}", block_on(client.blocks(instance))),
    }
}

fn count_blocked(client: &Client) -> usize {
    block_on(client.list_blocked(10_000)).unwrap().len()
}

/// Waits until an effect has happened to every order.
fn wait_for_effect(site: &Site, step: &str) {
    until("an effect of every order", || {
        let effects = effects_of(site);
        orders().iter().all(|order| effects.contains_key(&format!("{order} {step}"))).then_some(())
    });
}

fn go_on(client: &Client) {
    for order in orders() {
        block_on(client.enqueue_event(&order, "go", "")).unwrap();
    }
}

/// Every basket has shipped all of its orders, and every effect happened once.
fn assert_all_shipped(site: &Site, client: &Client) {
    for basket in baskets() {
        assert_eq!(end_of(client, &basket), Ok(format!("{CHILDREN} shipped")), "{basket}");
    }
    let all = orders();
    let expected = all.iter().flat_map(|order| STEPS.map(|step| (format!("{order} {step}"), 1)));
    assert_eq!(effects_of(site), expected.collect());
    for order in &all {
        let history = block_on(client.read_execution_history(order, 1)).unwrap();
        let recorded =
            history.iter().filter(|event| matches!(event.kind, EventKind::ActivityCompleted { .. })).count();
        assert_eq!(recorded, STEPS.len(), "{order}: {history:#?}");
    }
    assert_eq!(count_blocked(client), 0);
}
