//! Many instances that no node serves, beside one that is served.

use std::time::Duration;

use abide::seams::Clock as _;
use abide_chaos::deploy::Code;
use abide_host::SystemClock;
use futures::StreamExt;

use super::*;
use crate::support::deployment::{Build, Deploy, on_every_store};
use crate::support::wait::pass;

/// How many instances have no code anywhere.
const UNSERVED: usize = 40_000;

/// How long a served instance takes at most beside them.
const SOON: Duration = Duration::from_millis(200);

/// How long the idle node is watched, and how much of that it may compute.
const WATCHED: Duration = Duration::from_secs(5);
const BUSY: Duration = Duration::from_millis(50);

#[test]
fn a_served_instance_completes_at_once_beside_40_000_unserved_ones() {
    on_every_store("unserved", |site| {
        let client = site.client();
        let starts = futures::stream::iter(0..UNSERVED)
            .map(|number| client.start_orchestration(format!("unserved-{number}"), "Order", ""))
            .buffer_unordered(64);
        block_on(starts.for_each(async |started| started.unwrap()));
        let build = Build::start(site, Deploy::of("new", Code::Without));
        start(&client, "first", "Work", "fine");
        assert_eq!(end_of(&client, "first"), Ok("fine".to_owned()));

        let clock = SystemClock::new();
        let mut took: Vec<Duration> = (0..5)
            .map(|number| {
                let (instance, began) = (format!("served-{number}"), clock.monotonic());
                start(&client, &instance, "Turn", "fine");
                // Not by the client, which looks only now and then at what another process does.
                let last = format!("{instance} after");
                until("its last activity", || effects_of(site).contains_key(&last).then_some(()));
                clock.monotonic().saturating_sub(began)
            })
            .collect();
        took.sort();
        let before = build.cpu_time();
        pass(WATCHED);
        let busy = build.cpu_time().saturating_sub(before);
        println!("a served instance took {took:?}; the idle node computed for {busy:?} of {WATCHED:?}");
        assert!(took[2] < SOON, "{took:?}");
        assert!(busy < BUSY, "{busy:?} of {WATCHED:?}");
        build.end();
    });
}
