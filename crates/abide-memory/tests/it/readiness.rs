//! Which instance can be leased, and which comes first.

use abide_model::SemverRange;
use abide_provider::{DispatcherCapabilityFilter, LeaseInstances};

use crate::support::*;

fn names(leases: &[abide_provider::InstanceLease]) -> Vec<&str> {
    leases.iter().map(|lease| lease.instance.as_str()).collect()
}

fn supporting(ranges: &[(&str, &str)]) -> LeaseInstances {
    let range = |(min, max): &(&str, &str)| SemverRange::new(min.parse().unwrap(), max.parse().unwrap());
    let supported_duroxide_versions = ranges.iter().map(range).collect();
    let capabilities = Some(DispatcherCapabilityFilter { supported_duroxide_versions });
    LeaseInstances { capabilities, ..lease_instances(10) }
}

#[test]
fn mail_for_what_does_not_exist_waits_for_a_start() {
    let store = Store::new();
    store.enqueue(signal("a", "early"));
    store.enqueue(timer("a", 2, BEGIN));
    store.enqueue(signal("a", "again"));
    assert!(store.try_lease().is_none());
    store.enqueue_delayed(start("a"), seconds(1));
    assert!(store.try_lease().is_none());
    store.advance(seconds(1));
    // The timer is none that it can have asked for.
    assert_eq!(store.lease().messages.len(), 3);
}

#[test]
fn a_continue_as_new_starts_what_does_not_exist_too() {
    let store = Store::new();
    store.enqueue(continue_as_new("a"));
    assert_eq!(store.lease().instance, "a");
}

#[test]
fn an_instance_needs_any_visible_message() {
    let store = Store::with_instance("a");
    assert!(store.try_lease().is_none());
    store.enqueue(timer("a", 2, BEGIN + 1_000));
    store.advance(millis(999));
    assert!(store.try_lease().is_none());
    store.advance(millis(1));
    assert_eq!(store.lease().instance, "a");
}

#[test]
fn a_leased_instance_is_not_ready_until_its_lease_runs_out() {
    let store = Store::new();
    store.enqueue(start("a"));
    store.lease();
    store.enqueue(signal("a", "later"));
    store.advance(millis(29_999));
    assert!(store.try_lease().is_none());
    store.advance(millis(1));
    assert_eq!(store.lease().messages.len(), 2);
}

#[test]
fn the_lowest_numbered_visible_message_comes_first() {
    let store = Store::new();
    store.enqueue_delayed(start("c"), seconds(9));
    store.enqueue(signal("b", "not a start, but the lowest of b"));
    store.enqueue(start("a"));
    store.enqueue(start("b"));
    assert_eq!(names(&store.lease_with(lease_instances(5))), ["b", "a"]);
}

#[test]
fn a_call_takes_as_many_as_it_asked_for() {
    let store = Store::new();
    for name in ["a", "b", "c"] {
        store.enqueue(start(name));
    }
    assert_eq!(names(&store.lease_with(lease_instances(0))), [""; 0]);
    assert_eq!(names(&store.lease_with(lease_instances(2))), ["a", "b"]);
    assert_eq!(names(&store.lease_with(lease_instances(2))), ["c"]);
}

#[test]
fn what_was_once_visible_stays_so_when_the_clock_goes_back() {
    let store = Store::with_instance("a");
    store.enqueue(timer("a", 2, BEGIN + 1_000));
    store.advance(seconds(1));
    let lease = store.lease();
    store.clock.set_back(seconds(5));
    store.abandon(&lease.token, None).unwrap();
    assert_eq!(store.lease().messages.len(), 1);
}

#[test]
fn without_a_supported_range_nothing_is_taken() {
    let store = Store::new();
    store.enqueue(start("a"));
    assert_eq!(names(&store.lease_with(supporting(&[]))), [""; 0]);
}

#[test]
fn what_has_no_pin_passes_and_what_has_one_needs_a_range() {
    let store = Store::new();
    store.create("old", TurnBuilder::starting(1).pinned("0.1.32"));
    store.create("new", TurnBuilder::starting(1).pinned("0.3.0"));
    store.create("unpinned", TurnBuilder::starting(1));
    for name in ["old", "new", "unpinned"] {
        store.enqueue(signal(name, ""));
    }
    store.enqueue(start("unborn"));
    let before = store.state();
    assert_eq!(names(&store.lease_with(supporting(&[]))), [""; 0]);
    assert_eq!(store.state(), before);
    let ranges = [("9.0.0", "9.0.0"), ("0.3.0", "0.4.0")];
    assert_eq!(names(&store.lease_with(supporting(&ranges))), ["new", "unpinned", "unborn"]);
    assert_eq!(store.lease().instance, "old");
}

#[test]
fn what_does_not_pass_is_not_counted() {
    let store = Store::new();
    store.create("a", TurnBuilder::starting(1).pinned("0.1.32"));
    store.enqueue(signal("a", ""));
    for _ in 0..3 {
        assert!(store.lease_with(supporting(&[("0.2.0", "0.2.0")])).is_empty());
    }
    assert_eq!(store.lease().attempt, 1);
}
