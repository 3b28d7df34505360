//! Reading.

use abide_model::{EventKind, SystemStats};
use abide_provider::{Position, Provider as _, Rejection};

use crate::support::*;

#[test]
fn what_is_unknown_is_empty() {
    let store = Store::new();
    store.enqueue(start("a"));
    for name in ["a", "nobody"] {
        assert!(at_once(store.provider.read(name)).unwrap().is_empty());
        assert!(at_once(store.provider.read_with_execution(name, 1)).unwrap().is_empty());
        assert_eq!(at_once(store.provider.get_custom_status(name, 0)).unwrap(), None);
        assert_eq!(at_once(store.provider.get_kv_value(name, "k")).unwrap(), None);
        assert!(at_once(store.provider.get_kv_all_values(name)).unwrap().is_empty());
        assert_eq!(at_once(store.provider.get_instance_stats(name)).unwrap(), None);
    }
}

#[test]
fn reading_gives_the_current_execution_or_the_one_asked_for() {
    let store = Store::new();
    store.append("a", 1, vec![event(1, started())]).unwrap();
    store.append("a", 2, vec![event(1, started()), event(2, status_said(None))]).unwrap();
    assert_eq!(at_once(store.provider.read("a")).unwrap().len(), 2);
    assert_eq!(at_once(store.provider.read_with_execution("a", 1)).unwrap().len(), 1);
    assert_eq!(at_once(store.provider.read_with_execution("a", 3)).unwrap().len(), 0);
}

#[test]
fn a_lease_reads_the_tail_of_its_execution() {
    let store = Store::new();
    store.append("a", 1, (1..=4).map(|id| event(id, status_said(None))).collect()).unwrap();
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    let ids = |after| {
        let events = at_once(store.provider.read_history_after(&lease, after)).unwrap();
        events.into_iter().map(|event| event.event_id).collect::<Vec<_>>()
    };
    assert_eq!(ids(0), [1, 2, 3, 4]);
    assert_eq!(ids(2), [3, 4]);
    assert_eq!(ids(4), [0; 0]);
}

#[test]
fn a_lease_on_another_incarnation_reads_nothing() {
    let store = Store::with_instance("a");
    store.enqueue(signal("a", ""));
    let mut lease = store.lease();
    lease.position = Position { incarnation: 7, ..lease.position };
    let refused = at_once(store.provider.read_history_after(&lease, 0)).unwrap_err();
    assert_eq!(refused.rejection(), Some(Rejection::LeaseLost));
    assert!(at_once(store.provider.read_kv_snapshot(&lease)).is_err());
}

#[test]
fn stats_are_of_the_current_execution_and_the_merged_values() {
    let store = Store::new();
    let carried = vec![("q".to_owned(), "1".to_owned()), ("q".to_owned(), "2".to_owned())];
    let mut start = started();
    if let EventKind::OrchestrationStarted { carry_forward_events, .. } = &mut start {
        *carry_forward_events = Some(carried);
    }
    let history = vec![event(1, start), event(2, value_set("k", "four")), event(3, value_set("l", "ä"))];
    let bytes: usize = history.iter().map(|event| serde_json::to_string(event).unwrap().len()).sum();
    store.append("a", 1, history).unwrap();
    let stats = at_once(store.provider.get_instance_stats("a")).unwrap();
    assert_eq!(
        stats,
        Some(SystemStats {
            history_event_count: 3,
            history_size_bytes: u64::try_from(bytes).unwrap(),
            queue_pending_count: 2,
            kv_user_key_count: 2,
            kv_total_value_bytes: 6,
        })
    );
}

#[test]
fn it_says_what_it_is() {
    let store = Store::new();
    assert_eq!((store.provider.name(), store.provider.version()), ("memory", "0.2.0"));
    assert_eq!(store.provider.abilities(), abide_provider::Abilities::ALL);
    assert!(store.provider.as_management_capability().is_some());
}
