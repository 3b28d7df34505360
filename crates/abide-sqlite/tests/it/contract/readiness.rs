//! Which instance can be leased, and which comes first.

use abide_model::SemverRange;
use abide_provider::{DispatcherCapabilityFilter, LeaseInstances, Provider as _};
use futures::executor::block_on;

use crate::support::items::*;
use crate::support::store::*;

fn supporting(ranges: &[(&str, &str)]) -> LeaseInstances {
    let range = |(min, max): &(&str, &str)| SemverRange::new(min.parse().unwrap(), max.parse().unwrap());
    let supported_duroxide_versions = ranges.iter().map(range).collect();
    let capabilities = Some(DispatcherCapabilityFilter { supported_duroxide_versions });
    LeaseInstances { capabilities, ..lease_instances(10) }
}

#[test]
fn mail_for_what_does_not_exist_waits_for_a_start_that_can_be_seen() {
    on_both(|store| {
        store.enqueue(signal("a", "early"));
        store.enqueue(timer("a", 2, BEGIN));
        store.enqueue(cancel("a"));
        assert!(store.try_lease().is_none());
        store.enqueue_delayed(start("a"), seconds(1));
        assert!(store.try_lease().is_none());
        store.advance(seconds(1));
        // The timer is none that it can have asked for.
        assert_eq!(contents(&store.lease()), ["StartOrchestration", "early", "CancelInstance"]);
    });
}

#[test]
fn a_leased_instance_is_nobody_elses_until_the_lease_ends() {
    on_both(|store| {
        store.enqueue(start("a"));
        let first = store.lease();
        store.enqueue(signal("a", "later"));
        store.advance(millis(29_999));
        assert!(store.try_lease().is_none());
        store.advance(millis(1));
        let second = store.lease();
        assert_eq!((attempts(&second), second.attempt), (vec![2, 1], 2));
        assert_ne!(first.token, second.token);
    });
}

#[test]
fn the_lowest_numbered_visible_message_comes_first() {
    on_both(|store| {
        store.enqueue_delayed(start("c"), seconds(9));
        store.enqueue(signal("b", "not a start, but the lowest of b"));
        store.enqueue(start("a"));
        store.enqueue(start("b"));
        assert_eq!(names(&store.lease_with(lease_instances(5))), ["b", "a"]);
        store.enqueue(start("d"));
        store.advance(seconds(9));
        assert_eq!(names(&store.lease_with(lease_instances(5))), ["c", "d"]);
    });
}

#[test]
fn pins_and_numbers_are_merged_into_one_order() {
    on_both(|store| {
        for (name, pin) in [("a", "0.2.0"), ("b", "0.1.9"), ("c", "0.2.0"), ("d", "0.1.10")] {
            store.create(name, TurnBuilder::starting(1).pinned(pin));
        }
        store.create_idle("e");
        for name in ["e", "d", "c", "b", "a"] {
            store.enqueue(signal(name, ""));
        }
        assert_eq!(names(&store.lease_with(lease_instances(2))), ["e", "d"]);
        assert_eq!(names(&store.lease_with(lease_instances(9))), ["c", "b", "a"]);
    });
}

#[test]
fn a_call_takes_as_many_as_it_asked_for() {
    on_both(|store| {
        for name in ["a", "b", "c"] {
            store.enqueue(start(name));
        }
        assert!(store.unchanged(|| store.lease_with(lease_instances(0))).is_empty());
        assert_eq!(names(&store.lease_with(lease_instances(2))), ["a", "b"]);
        assert_eq!(names(&store.lease_with(lease_instances(2))), ["c"]);
    });
}

#[test]
fn what_a_node_cannot_replay_is_neither_leased_nor_counted_nor_read() {
    on_both(|store| {
        store.create("old", TurnBuilder::starting(1).pinned("0.1.32"));
        store.create("new", TurnBuilder::starting(1).pinned("0.3.0"));
        store.create_idle("unpinned");
        for name in ["old", "new", "unpinned"] {
            store.enqueue(signal(name, ""));
        }
        store.enqueue(start("unborn"));
        // What is not read cannot be found unreadable either.
        store.damage("UPDATE message SET item = '{' WHERE mailbox = 1");
        store.damage("UPDATE turn SET events = '{' WHERE mailbox = 1");
        assert!(store.unchanged(|| store.lease_with(supporting(&[]))).is_empty());
        let ranges = [("9.0.0", "9.0.0"), ("0.3.0", "0.4.0")];
        assert_eq!(names(&store.lease_with(supporting(&ranges))), ["new", "unpinned", "unborn"]);
        let nothing = store.unchanged(|| store.lease_with(supporting(&ranges)));
        assert!(nothing.is_empty());
        assert_eq!(store.value::<i64>("SELECT attempts FROM message WHERE mailbox = 1"), 0);
    });
}

#[test]
fn the_required_method_filters_too() {
    on_both(|store| {
        store.create("a", TurnBuilder::starting(1).pinned("0.1.32"));
        store.enqueue(signal("a", ""));
        let fetch = |versions: Vec<SemverRange>| {
            let filter = DispatcherCapabilityFilter { supported_duroxide_versions: versions };
            block_on(store.provider.fetch_orchestration_item(LEASE, seconds(0), Some(&filter))).unwrap()
        };
        let range = |min: &str, max: &str| SemverRange::new(min.parse().unwrap(), max.parse().unwrap());
        assert!(fetch(vec![]).is_none());
        assert!(fetch(vec![range("0.1.33", "0.2.0")]).is_none());
        assert_eq!(fetch(vec![range("0.1.0", "0.1.32")]).unwrap().2, 1);
    });
}

#[test]
fn a_new_pin_counts_from_the_commit_that_set_it() {
    on_both(|store| {
        store.create("a", TurnBuilder::starting(1).pinned("0.1.0"));
        store.enqueue(signal("a", ""));
        let lease = store.lease();
        store.enqueue(signal("a", ""));
        store.commit(TurnBuilder::starting(2).pinned("0.2.0").under(&lease));
        assert!(store.lease_with(supporting(&[("0.1.0", "0.1.0")])).is_empty());
        assert_eq!(store.lease_with(supporting(&[("0.2.0", "0.2.0")])).len(), 1);
    });
}
