//! Workers on a file that are killed, or stopped beyond their leases, again and again, under load.
//!
//! A few seconds in a normal run; `ABIDE_STORM_SECONDS=60` is the full length (`cargo xtask torture kill`). `ABIDE_SEED` repeats
//! who is hit, as far as that can be repeated.

use std::time::Duration;

use crate::support::fleet::Fleet;
use crate::support::weather::{hit_everything, hit_something, weather};

const KILL_EVERY: Duration = Duration::from_millis(200);
const STOP_EVERY: Duration = Duration::from_millis(500);

#[test]
fn nothing_is_lost_when_workers_are_killed_all_the_time() {
    let killed = weather(Fleet::of(3), 7, hit_everything, |fleet, dice, season| {
        fleet.kill_every(KILL_EVERY, 15, dice, season)
    });
    assert!(hit_everything(&killed.figures), "{}", killed.figures);
}

#[test]
fn nothing_is_lost_when_the_only_worker_is_killed_all_the_time() {
    // It has to come to something before it is killed: what ten lives are not enough for counts as poison.
    let pause = KILL_EVERY * 2;
    let killed = weather(Fleet::of(1), 5, hit_everything, |fleet, dice, season| {
        fleet.kill_every(pause, 6, dice, season)
    });
    assert!(hit_everything(&killed.figures), "{}", killed.figures);
}

#[test]
fn nothing_is_lost_when_workers_are_stopped_beyond_their_leases() {
    let lease = Duration::from_secs(1);
    let stopped = weather(Fleet::of(3).with_lease(lease), 6, hit_something, |fleet, dice, season| {
        fleet.stop_every(STOP_EVERY, 3, dice, season)
    });
    assert!(hit_something(&stopped.figures), "{}", stopped.figures);
}
