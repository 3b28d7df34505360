//! Two services with different handlers on one store do not notice each other.

use std::time::Duration;

use abide::seams::Clock as _;
use abide_chaos::deploy::Code;
use abide_host::SystemClock;
use futures::future::join_all;

use super::*;
use crate::support::deployment::{Build, Deploy, on_every_store};
use crate::support::wait::{now_ms, pass, told};

/// Orchestrations of each service per second.
const PER_SECOND: u32 = 50;

/// In a run of this length the latencies are compared. A shorter one says nothing on a busy machine.
const LONG_RUN: u64 = 20;

/// Starts orchestrations of both services at a steady pace. Returns how long each took, from the moment
/// before the call that starts it to its last event.
fn latencies(client: &Client, seconds: u64) -> Vec<Duration> {
    let clock = SystemClock::new();
    let rounds = u32::try_from(seconds).unwrap() * PER_SECOND;
    let mut instances = Vec::new();
    for round in 0..rounds {
        let pair = [("Payment", format!("payment-{round}")), ("Shipment", format!("shipment-{round}"))];
        let asked = now_ms();
        let starts = pair.iter().map(|(name, instance)| client.start_orchestration(instance, *name, ""));
        block_on(join_all(starts)).into_iter().for_each(Result::unwrap);
        instances.extend(pair.map(|(_, instance)| (instance, asked)));
        let next = Duration::from_secs(1) * (round + 1) / PER_SECOND;
        pass(next.saturating_sub(clock.monotonic()));
    }
    let latency = |(instance, asked): &(String, u64)| {
        let end = end_of(client, instance);
        assert_eq!(end, Ok("1, 1".to_owned()), "{instance}: a miss counted as an attempt");
        let history = block_on(client.read_execution_history(instance, 1)).unwrap();
        Duration::from_millis(history.last().unwrap().timestamp_ms - asked)
    };
    let mut latencies: Vec<Duration> = instances.iter().map(latency).collect();
    latencies.sort();
    latencies
}

fn p99(latencies: &[Duration]) -> Duration {
    latencies[latencies.len() * 99 / 100]
}

/// No build leased what it has no handler for.
fn assert_missed_nothing(build: &Build) {
    let log = build.log();
    let misses: Vec<&str> = log.lines().filter(|line| line.contains("not registered here")).collect();
    assert_eq!(misses, Vec::<&str>::new());
}

#[test]
fn two_services_share_a_store_without_noticing_each_other() {
    let seconds = told("ABIDE_DEPLOY_SECONDS", 4).min(LONG_RUN);
    let measured = std::cell::RefCell::new(Vec::new());
    for (label, codes) in
        [("apart", [Code::Payments, Code::Shipments]), ("together", [Code::PaymentsAndShipments; 2])]
    {
        on_every_store(label, |site| {
            let client = site.client();
            let builds = codes.map(|code| Build::start(site, Deploy::of("new", code)));
            let latencies = latencies(&client, seconds);
            let p99 = p99(&latencies);
            println!("{label}: p50 {:?}, p99 {p99:?}", latencies[latencies.len() / 2]);
            measured.borrow_mut().push(p99);
            builds.iter().for_each(assert_missed_nothing);
            builds.into_iter().for_each(Build::end);
        });
    }
    if seconds == LONG_RUN {
        let measured = measured.into_inner();
        let (apart, together) = measured.split_at(measured.len() / 2);
        for (apart, together) in apart.iter().zip(together) {
            // A millisecond is the resolution of the times in a history.
            assert!(*apart <= *together * 3 / 2 + Duration::from_millis(1), "{apart:?}, {together:?}");
        }
    }
}
