//! Nodes whose clocks are wrong by an hour, in either direction: what is recorded, timers and leases are right all the same.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use abide::{Event, EventKind};
use abide_chaos::check::Past;

use crate::stopped::{stop_in_a_turn, stop_in_an_activity};
use crate::support::database::Database;
use crate::support::fleet::Fleet;
use crate::support::site::Site;
use crate::support::wait::now_ms;
use crate::support::weather::{hit_something, weather};
use crate::support::worker::Steps;

const HOUR_MS: i64 = 3_600_000;
const UTC_NOW: &str = "__duroxide_syscall:utc_now_ms";
const LEASE: Duration = Duration::from_secs(1);

/// Longer than any timer of the orders, in milliseconds, and far shorter than an hour.
const LONGEST_TIMER: u64 = 1_000;

#[test]
fn nodes_with_wrong_clocks_record_the_right_time_and_lose_nothing() {
    let Some(database) = Database::shared() else { return };
    let begin = now_ms();
    let fleet = Fleet::at(Site::on("clocks", database), 3).with_lease(LEASE);
    let fleet = fleet.with_clocks_ahead_ms(&[HOUR_MS, -HOUR_MS, 0]);
    let hit = weather(fleet, 3, hit_something, |fleet, dice, season| {
        fleet.kill_every(Duration::from_millis(400), 3, dice, season)
    });
    // The server's clock, by which they are recorded, is that of this machine.
    let run = begin.saturating_sub(1_000)..=now_ms() + 1_000;
    let events: Vec<_> = hit.evidence.instances.values().flat_map(Past::events).collect();
    for event in &events {
        assert!(run.contains(&event.timestamp_ms), "{event:?} is not in {run:?}");
        if let EventKind::TimerCreated { fire_at_ms } = event.kind {
            let wait = fire_at_ms.checked_sub(event.timestamp_ms);
            assert!(wait.is_some_and(|wait| wait < LONGEST_TIMER), "{event:?}");
        }
    }
    assert_told_times_are_in(&run, &events);
    assert!(events.iter().any(|event| matches!(event.kind, EventKind::TimerFired { .. })), "no timer fired");
}

/// What orchestrations were told when they asked for the time.
fn assert_told_times_are_in(run: &RangeInclusive<u64>, events: &[&Event]) {
    let asks =
        |event: &&&Event| matches!(&event.kind, EventKind::ActivityScheduled { name, .. } if name == UTC_NOW);
    let asked: BTreeSet<(&str, u64, u64)> =
        events.iter().filter(asks).map(|event| key_of(event, event.event_id)).collect();
    let told = events.iter().filter_map(|event| match (&event.kind, event.source_event_id) {
        (EventKind::ActivityCompleted { result }, Some(source)) if asked.contains(&key_of(event, source)) => {
            Some(result)
        }
        _ => None,
    });
    let told: Vec<u64> = told.map(|result| result.parse().expect("a time in milliseconds")).collect();
    assert!(!told.is_empty(), "nobody asked for the time");
    for time in told {
        assert!(run.contains(&time), "somebody was told that it is {time}, which is not in {run:?}");
    }
}

fn key_of(event: &Event, event_id: u64) -> (&str, u64, u64) {
    (&event.instance_id, event.execution_id, event_id)
}

#[test]
fn a_lease_lasts_as_long_as_it_should_between_wrong_clocks() {
    for (clocks, steps) in [
        ([HOUR_MS, -HOUR_MS], Steps::Fused),
        ([-HOUR_MS, HOUR_MS], Steps::Fused),
        ([HOUR_MS, -HOUR_MS], Steps::Told),
        ([-HOUR_MS, HOUR_MS], Steps::Told),
    ] {
        let Some(database) = Database::shared() else { return };
        stop_in_an_activity(Site::on("clocks-activity", database), clocks, steps);
    }
    for steps in [Steps::Fused, Steps::Told] {
        let Some(database) = Database::shared() else { return };
        stop_in_a_turn(Site::on("clocks-turn", database), [-HOUR_MS, HOUR_MS], steps);
    }
}
