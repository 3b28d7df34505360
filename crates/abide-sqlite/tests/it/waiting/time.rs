//! The passing of time serves who waits.

use std::time::Duration;

use abide_host::SystemClock;
use abide_model::Clock as _;
use abide_provider::{LeaseInstances, LeaseWork, Provider as _};
use abide_sqlite::SqliteProvider;

use super::{LIMIT, Parked, any_instance, any_work, enqueue, enqueue_start, on_both, on_file, soon};
use crate::support::folder::Folder;
use crate::support::items::*;
use crate::support::store::{lease_instances, lease_work, lease_work_of_sessions, millis};

const SHORT: Duration = millis(60);

/// What a call answers, and the time that this took: not less than it should.
fn after<T>(least: Duration, call: impl FnOnce() -> T) -> T {
    let clock = SystemClock::new();
    let answer = call();
    // Wall times are kept in whole milliseconds.
    assert!(clock.monotonic() + millis(2) >= least, "too early: after {:?}", clock.monotonic());
    answer
}

#[test]
fn a_delayed_message_when_its_time_has_come() {
    on_both(|provider| {
        let before = provider.transactions();
        let leases = after(SHORT, || {
            soon(provider.enqueue_for_orchestrator(start("a"), Some(SHORT))).unwrap();
            soon(provider.lease_instances(any_instance())).unwrap()
        });
        assert_eq!(names(&leases), ["a"]);
        let transactions = provider.transactions() - before;
        assert!(transactions <= 4, "it was waited for, not polled: {transactions} transactions");
    });
}

/// The call waits already, for something later.
#[test]
fn a_timer_that_is_set_later_but_due_earlier() {
    on_both(|provider| {
        soon(provider.enqueue_for_orchestrator(start("late"), Some(LIMIT * 9))).unwrap();
        let waiting = Parked::new(provider, provider.lease_instances(any_instance()));
        let leases = after(SHORT, || {
            soon(provider.enqueue_for_orchestrator(start("early"), Some(SHORT))).unwrap();
            soon(waiting.call).unwrap()
        });
        assert_eq!(names(&leases), ["early"]);
    });
}

/// The call waits already, and knows that nothing is to come.
#[test]
fn what_another_process_delays() {
    let folder = Folder::new("delayed");
    let (here, there) = (on_file(&folder), on_file(&folder));
    let waiting = Parked::new(&here, here.lease_instances(any_instance()));
    let leases = after(SHORT, || {
        soon(there.enqueue_for_orchestrator(start("a"), Some(SHORT))).unwrap();
        soon(waiting.call).unwrap()
    });
    assert_eq!(names(&leases), ["a"]);
}

#[test]
fn a_timer_of_a_turn() {
    on_both(|provider| {
        enqueue_start(provider, "a");
        let lease = soon(provider.lease_instances(any_instance())).unwrap().remove(0);
        let waiting = Parked::new(provider, provider.lease_instances(any_instance()));
        let fire_at = SystemClock::new().wall().saturating_add(SHORT);
        let turn = TurnBuilder::starting(1).mail(timer("a", 2, fire_at.as_millis()));
        soon(provider.commit_turns(vec![turn.under(&lease)])).remove(0).unwrap();
        assert_eq!(contents(&soon(waiting.call).unwrap()[0]), ["TimerFired"]);
        assert!(SystemClock::new().wall() >= fire_at, "never early");
    });
}

/// A timer whose time came while its instance was leased is served with the release.
#[test]
fn a_timer_that_fired_under_a_lease() {
    on_both(|provider| {
        enqueue_start(provider, "a");
        let lease = soon(provider.lease_instances(any_instance())).unwrap().remove(0);
        enqueue(provider, timer("a", 2, 1));
        let waiting = Parked::new(provider, provider.lease_instances(any_instance()));
        soon(provider.commit_turns(vec![TurnBuilder::starting(1).under(&lease)])).remove(0).unwrap();
        assert_eq!(contents(&soon(waiting.call).unwrap()[0]), ["TimerFired"]);
    });
}

#[test]
fn the_end_of_a_lease_on_an_instance() {
    on_both(|provider| {
        enqueue_start(provider, "a");
        let request = || LeaseInstances { lease_for: SHORT, ..any_instance() };
        let again = after(SHORT, || {
            soon(provider.lease_instances(request())).unwrap();
            soon(provider.lease_instances(request())).unwrap()
        });
        assert_eq!(again[0].attempt, 2);
    });
}

#[test]
fn the_end_of_a_lease_on_work() {
    on_both(|provider| {
        soon(provider.enqueue_for_worker(activity("a", 2))).unwrap();
        let request = || LeaseWork { lease_for: SHORT, ..any_work() };
        let again = after(SHORT, || {
            soon(provider.lease_work(request())).unwrap();
            soon(provider.lease_work(request())).unwrap()
        });
        assert_eq!(again[0].attempt, 2);
    });
}

#[test]
fn the_end_of_a_session_lock_and_of_a_delay() {
    on_both(|provider| {
        for id in [2, 3] {
            soon(provider.enqueue_for_worker(activity_with("a", id, Some("s"), None))).unwrap();
        }
        let as_owner =
            |owner: &str, lock| LeaseWork { wait: Duration::MAX, ..lease_work_of_sessions(1, owner, lock) };
        let (first, second) = after(SHORT, || {
            let first = soon(provider.lease_work(as_owner("me", SHORT))).unwrap().remove(0);
            (first, soon(provider.lease_work(as_owner("you", LIMIT))).unwrap())
        });
        assert_eq!(activities(&second), [3]);
        let again = after(SHORT, || {
            soon(provider.abandon_work_item(&first.token, Some(SHORT), false)).unwrap();
            soon(provider.lease_work(as_owner("you", LIMIT))).unwrap()
        });
        assert_eq!(activities(&again), [2]);
    });
}

/// Waits for nothing, in both queues.
fn wait_in_vain(provider: &SqliteProvider, wait: Duration) {
    assert!(
        soon(provider.lease_instances(LeaseInstances { wait, ..lease_instances(9) })).unwrap().is_empty()
    );
    assert!(soon(provider.lease_work(LeaseWork { wait, ..lease_work(9) })).unwrap().is_empty());
    assert!(soon(provider.fetch_orchestration_item(LIMIT, wait, None)).unwrap().is_none());
}

#[test]
fn a_call_waits_as_long_as_it_was_told_and_no_longer() {
    on_both(|provider| {
        after(SHORT * 3, || wait_in_vain(provider, SHORT));
        let clock = SystemClock::new();
        wait_in_vain(provider, Duration::ZERO);
        assert!(clock.monotonic() < LIMIT, "zero is not at all");
    });
}

/// Something that becomes due while somebody waits, and is not for them, neither ends nor prolongs the wait.
#[test]
fn being_woken_for_nothing_does_not_prolong_the_wait() {
    on_both(|provider| {
        soon(provider.enqueue_for_orchestrator(signal("nobody", ""), Some(SHORT / 2))).unwrap();
        after(SHORT * 3, || wait_in_vain(provider, SHORT));
    });
}

/// Whoever takes the answer late counts the time from when it is taken: timers of that turn must not be early.
#[test]
fn a_lease_says_what_time_it_is_when_it_is_taken() {
    on_both(|provider| {
        let mut waiting = Parked::new(provider, provider.lease_instances(any_instance()));
        enqueue_start(provider, "a");
        waiting.until_woken();
        let taken = SystemClock::new().wall().saturating_add(millis(2));
        while SystemClock::new().wall() < taken {
            std::thread::yield_now();
        }
        let leases = waiting.poll().expect("it was woken").unwrap();
        assert!(leases[0].store_time.is_some_and(|time| time >= taken), "{leases:?}");
    });
}
