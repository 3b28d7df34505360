//! Two builds at once, each of which cannot run what the other began.

use std::time::Duration;

use abide::seams::Clock as _;
use abide_chaos::deploy::Code;
use abide_host::SystemClock;

use super::*;
use crate::support::deployment::{Build, Deploy, on_every_store};
use crate::support::wait::{pass, told};

/// Between two orders.
const PACE: Duration = Duration::from_millis(20);

/// Between the start of an order and the signal that it goes on.
const BEHIND: usize = 10;

/// Every order has reserved, charged and shipped once, and the changed code audited once what it started.
fn assert_each_effect_once(site: &Site, client: &Client, orders: &[String]) {
    let effects = effects_of(site);
    assert!(effects.values().all(|times| *times == 1), "{effects:#?}");
    let mut audited = 0;
    for order in orders {
        for step in STEPS {
            assert!(effects.contains_key(&format!("{order} {step}")), "{order}: {step}");
        }
        let extra = usize::from(effects.contains_key(&format!("{order} audit")));
        let history = block_on(client.read_execution_history(order, 1)).unwrap();
        let recorded = history.iter().filter(|it| matches!(it.kind, EventKind::ActivityCompleted { .. }));
        assert_eq!(recorded.count(), STEPS.len() + extra, "{order}: {history:#?}");
        audited += extra;
    }
    assert_eq!(effects.len(), orders.len() * STEPS.len() + audited);
}

#[test]
fn no_order_is_refused_twice_by_one_build_while_both_run() {
    let length = Duration::from_secs(told("ABIDE_DEPLOY_SECONDS", 4));
    on_every_store("rolling", |site| {
        let client = site.client();
        let old = Build::start(site, Deploy::of("old", Code::Right));
        let new = Build::start(site, Deploy::of("new", Code::Changed));
        let clock = SystemClock::new();
        let mut orders = Vec::new();
        while clock.monotonic() < length {
            let order = format!("order-{}", orders.len());
            start(&client, &order, "Order", "");
            orders.push(order);
            if let Some(ready) = orders.len().checked_sub(BEHIND) {
                block_on(client.enqueue_event(&orders[ready], "go", "")).unwrap();
            }
            pass(PACE);
        }
        for order in &orders[orders.len().saturating_sub(BEHIND - 1)..] {
            block_on(client.enqueue_event(order, "go", "")).unwrap();
        }
        for order in &orders {
            assert_eq!(end_of(&client, order), Ok("ship".to_owned()), "{order}");
        }
        for build in [&old, &new] {
            let refusals = build.refusals();
            assert!(refusals.values().all(|refusals| *refusals == 1), "{refusals:?}");
        }
        println!("{} orders, {} and {} refused", orders.len(), old.refusals().len(), new.refusals().len());
        assert!(old.refusals().len() + new.refusals().len() > 0, "no build met an order of the other");
        assert_eq!(count_blocked(&client), 0);
        assert_each_effect_once(site, &client, &orders);
        old.end();
        new.end();
    });
}
