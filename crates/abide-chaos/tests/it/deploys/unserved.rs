//! Many instances that no node serves, beside some that are served.

use std::time::Duration;

use abide::seams::Clock as _;
use abide_chaos::deploy::Code;
use abide_host::SystemClock;
use futures::StreamExt;

use super::*;
use crate::support::deployment::{Build, Deploy, on_own_stores};
use crate::support::wait::pass;

/// How many instances have no code anywhere.
const UNSERVED: usize = 40_000;

/// How long a served instance takes at most beside them, as a rule: others use this machine, too.
const SOON: Duration = Duration::from_millis(200);

/// How long an idle node is watched, and how much of that it may compute, and so its server: 1 %.
const WATCHED: Duration = Duration::from_secs(5);
const BUSY: Duration = Duration::from_millis(50);

/// How often five served instances are started, one after the other.
const ROUNDS: usize = 12;

/// How often the idle node is watched. Most of the times, it and its server are idle.
const WATCHES: usize = 5;

/// The policies of the reference, with delays that are soon over: the node is as busy for ever as it is after the first.
const REFERENCE: [&str; 4] = ["--constructor", "reference", "--unregistered-ms", "3000"];

/// Sends something to each of them.
async fn to_each<F: Future<Output = Result<(), abide::ClientError>>>(
    count: usize,
    send: impl Fn(String) -> F,
) {
    let sends = futures::stream::iter(0..count).map(|number| send(format!("unserved-{number}")));
    sends.buffer_unordered(64).for_each(async |sent| sent.unwrap()).await;
}

/// Starts five instances, one after the other, and says how long each took to complete.
fn complete_five(client: &Client, round: usize) -> Vec<Duration> {
    let clock = SystemClock::new();
    let one = |number: usize| {
        let (instance, began) = (format!("served-{round}-{number}"), clock.monotonic());
        start(client, &instance, "Turn", "fine");
        // Not by a wait, which looks only now and then at what another process does.
        until("its end", || (!is_running(client, &instance)).then_some(()));
        let took = clock.monotonic().saturating_sub(began);
        assert_eq!(end_of(client, &instance), Ok("after".to_owned()));
        took
    };
    (0..5).map(one).collect()
}

/// What a node and its server have computed, and how often the node leased something that it has no code for.
fn used(site: &Site, build: &Build) -> (Duration, Duration, usize) {
    let misses = build.log().matches("its code is not registered here").count();
    (build.cpu_time(), site.server_cpu_time().unwrap_or_default(), misses)
}

/// Beside what is unserved, five new instances complete at once, and an idle node computes next to nothing, although it
/// leases `at_least` instances meanwhile that it cannot run.
fn assert_undisturbed(site: &Site, client: &Client, build: &Build, at_least: usize) {
    start(client, "first", "Work", "fine");
    assert_eq!(end_of(client, "first"), Ok("fine".to_owned()));
    let mut times: Vec<Duration> = (0..ROUNDS).flat_map(|round| complete_five(client, round)).collect();
    println!("served instances took {times:?}");
    times.sort();
    let median = times[times.len() / 2];
    assert!(median < SOON, "{median:?} of {times:?}");
    let mut watches = Vec::new();
    for _ in 0..WATCHES {
        let before = used(site, build);
        pass(WATCHED);
        let after = used(site, build);
        watches.push((
            after.0.saturating_sub(before.0),
            after.1.saturating_sub(before.1),
            after.2 - before.2,
        ));
    }
    println!("of {WATCHED:?}, the idle node and its server computed, with so many misses: {watches:?}");
    let is_idle = |(node, server, misses): &&(Duration, Duration, usize)| {
        *node < BUSY && *server < BUSY && *misses >= at_least
    };
    assert!(watches.iter().filter(is_idle).count() > WATCHES / 2, "of {WATCHED:?}: {watches:?}");
}

#[test]
fn served_instances_complete_at_once_beside_40_000_unserved_ones() {
    on_own_stores("unserved", |site| {
        let client = site.client();
        block_on(to_each(UNSERVED, |instance| client.start_orchestration(instance, "Order", "")));
        let build = Build::start(site, Deploy::of("new", Code::Without));
        assert_undisturbed(site, &client, &build, 0);
        build.end();
    });
}

#[test]
fn served_instances_complete_at_once_beside_40_000_of_a_missing_version_with_the_policies_of_the_reference() {
    on_own_stores("missing", |site| {
        let client = site.client();
        block_on(to_each(UNSERVED, |instance| client.start_orchestration(instance, "Parked", "")));
        let old = Build::start(site, Deploy::of("old", Code::Right));
        until("all of them to run", || {
            let depths = block_on(client.get_queue_depths()).unwrap();
            (depths.orchestrator_queue == 0).then_some(())
        });
        old.end();
        block_on(to_each(UNSERVED, |instance| client.enqueue_event(instance, "go", "")));
        let build = Build::start(site, Deploy::of("new", Code::Without).with(&REFERENCE));
        assert_undisturbed(site, &client, &build, 100);
        build.end();
    });
}
