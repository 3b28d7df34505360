//! Appending events without a lease.

use abide_model::{ErrorDetails, Event, EventKind};

use crate::support::*;

fn stamped(version: &str, kind: EventKind) -> Event {
    Event { duroxide_version: version.to_owned(), ..event(1, kind) }
}

fn child_started() -> EventKind {
    EventKind::OrchestrationStarted {
        name: "Child".to_owned(),
        version: "3.0.0".to_owned(),
        input: String::new(),
        parent_instance: Some("p".to_owned()),
        parent_id: Some(4),
        parent_execution_id: Some(2),
        carry_forward_events: None,
        initial_custom_status: None,
    }
}

#[test]
fn a_start_event_says_who_it_is() {
    let store = Store::new();
    store.append("a", 1, vec![stamped("0.1.32", child_started())]).unwrap();
    let instance = store.dump().instances["a"].clone();
    assert_eq!((instance.name.as_str(), instance.version.as_str()), ("Child", "3.0.0"));
    assert_eq!(instance.parent, Some(("p".to_owned(), Some(2), Some(4))));
    assert_eq!((instance.pin.as_deref(), instance.status.as_deref()), (Some("0.1.32"), Some("Running")));
}

#[test]
fn a_stamp_that_is_no_version_pins_nothing() {
    let store = Store::new();
    store.append("a", 1, vec![stamped("yesterday", started())]).unwrap();
    assert_eq!(store.dump().instances["a"].pin, None);
}

#[test]
fn a_terminal_event_says_how_it_ended() {
    let ends = [
        (EventKind::OrchestrationCompleted { output: "out".to_owned() }, "Completed", "out"),
        (
            EventKind::OrchestrationFailed { details: ErrorDetails::cancelled("bored") },
            "Failed",
            "canceled: bored",
        ),
        (EventKind::OrchestrationContinuedAsNew { input: "in".to_owned() }, "ContinuedAsNew", "in"),
    ];
    for (kind, status, output) in ends {
        let store = Store::new();
        store.append("a", 1, vec![event(1, started()), event(2, kind)]).unwrap();
        let execution = store.dump().executions[&("a".to_owned(), 1)].clone();
        assert_eq!((execution.status.as_str(), execution.output.as_deref()), (status, Some(output)));
        assert_eq!(execution.completed, Some(BEGIN));
    }
}

#[test]
fn what_conflicts_or_is_invalid_is_refused() {
    let store = Store::new();
    store.append("a", 2, vec![event(1, started())]).unwrap();
    let before = store.state();
    assert!(!store.append("a", 2, vec![event(1, started())]).unwrap_err().retryable);
    assert!(!store.append("a", 1, vec![event(1, started())]).unwrap_err().retryable);
    assert!(!store.append("a", 2, vec![event(0, started())]).unwrap_err().retryable);
    assert!(!store.append("b", 0, vec![event(1, started())]).unwrap_err().retryable);
    assert_eq!(store.state(), before);
}

#[test]
fn a_lease_outlives_what_is_appended_beside_it() {
    let store = Store::with_instance("a");
    store.enqueue(signal("a", ""));
    let lease = store.lease();
    store.append("a", 1, vec![event(2, status_said(None))]).unwrap();
    store.renew(&lease.token, LEASE).unwrap();
    assert!(store.refused(TurnBuilder::of_execution(1).event(2, status_said(None)).under(&lease)).is_some());
}

#[test]
fn appending_nothing_makes_no_instance() {
    let store = Store::new();
    store.append("a", 1, Vec::new()).unwrap();
    assert_eq!(store.dump(), abide_memory::Dump::default());
}
