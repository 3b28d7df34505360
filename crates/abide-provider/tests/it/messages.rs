//! What a store must know about one message or one activity, without reading it.

use abide_model::{ErrorDetails, Timestamp, WorkItem};
use abide_provider::ParentLink;
use abide_provider::rows::{InvalidItem, MessageClass, MessageRow, NotACompletion, Starter, WorkRow};

use crate::items::{activity, cancel, continue_as_new, queued, result, signal, start};

fn timer(fire_at_ms: u64) -> WorkItem {
    WorkItem::TimerFired { instance: "i".to_owned(), execution_id: 2, id: 5, fire_at_ms }
}

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

#[test]
fn a_message_is_for_someone_of_a_class_and_visible_at_once_but_for_timers() {
    let parent = || "p".to_owned();
    let details = ErrorDetails::Infrastructure {
        operation: "op".to_owned(),
        message: "no".to_owned(),
        retryable: false,
    };
    let failed = WorkItem::ActivityFailed {
        instance: "i".to_owned(),
        execution_id: 1,
        id: 2,
        details: details.clone(),
    };
    let child_completed = WorkItem::SubOrchCompleted {
        parent_instance: parent(),
        parent_execution_id: 1,
        parent_id: 2,
        result: "r".to_owned(),
    };
    let child_failed =
        WorkItem::SubOrchFailed { parent_instance: parent(), parent_execution_id: 1, parent_id: 2, details };
    let timer_class = MessageClass::Timer { execution_id: 2, event_id: 5 };
    let table = [
        (start(None), "i", MessageClass::Start, None),
        (continue_as_new(&["a"]), "i", MessageClass::ContinueAsNew, None),
        (queued("a"), "i", MessageClass::Queue, None),
        (timer(70), "i", timer_class, Some(at(70))),
        (timer(0), "i", timer_class, Some(at(0))),
        (timer(u64::MAX), "i", timer_class, Some(Timestamp::MAX)),
        (result(2), "i", MessageClass::Answer, None),
        (failed, "i", MessageClass::Answer, None),
        (child_completed, "p", MessageClass::Answer, None),
        (child_failed, "p", MessageClass::Answer, None),
        (signal("x"), "i", MessageClass::Other, None),
        (cancel(), "i", MessageClass::Cancel, None),
    ];
    for (item, to, class, visible_at) in table {
        let expected = MessageRow { to: to.to_owned(), visible_at, class, item: item.clone() };
        assert_eq!(MessageRow::of(item), Ok(expected));
    }
}

#[test]
fn only_a_start_and_a_continue_as_new_start() {
    let table = [
        (MessageClass::Start, true),
        (MessageClass::ContinueAsNew, true),
        (MessageClass::Queue, false),
        (MessageClass::Timer { execution_id: 1, event_id: 2 }, false),
        (MessageClass::Cancel, false),
        (MessageClass::Answer, false),
        (MessageClass::Other, false),
    ];
    for (class, expected) in table {
        assert_eq!(class.starts(), expected, "{class:?}");
    }
}

#[test]
fn what_starts_says_name_version_and_parent() {
    let starter = |parent| Starter {
        orchestration_name: "O".to_owned(),
        orchestration_version: "unknown".to_owned(),
        parent,
    };
    let parent = ParentLink { instance: "p".to_owned(), execution_id: Some(2), event_id: Some(5) };
    let table = [
        (start(None), Some(starter(None))),
        (start(Some("p")), Some(starter(Some(parent)))),
        (continue_as_new(&[]), Some(starter(None))),
        (signal("x"), None),
        (activity(2), None),
    ];
    for (item, expected) in table {
        assert_eq!(Starter::of(&item), expected, "{item:?}");
    }
}

#[test]
fn only_the_end_of_an_activity_completes_one() {
    assert_eq!(MessageRow::of_completion(result(2)), Ok(MessageRow::of(result(2)).unwrap()));
    for (item, kind) in [(signal("x"), "ExternalRaised"), (activity(2), "ActivityExecute")] {
        assert_eq!(MessageRow::of_completion(item), Err(NotACompletion { kind }));
    }
    assert_eq!(
        NotACompletion { kind: "TimerFired" }.to_string(),
        "TimerFired does not complete an activity: only ActivityCompleted and ActivityFailed do"
    );
}

#[test]
fn a_delay_never_shows_a_message_earlier() {
    let table = [
        (signal("x"), 50, 50),
        (signal("x"), 0, 0),
        (timer(70), 50, 70),
        (timer(70), 70, 70),
        (timer(70), 90, 90),
    ];
    for (item, hidden_until, expected) in table {
        let row = MessageRow::of(item).unwrap().hidden_until(at(hidden_until));
        assert_eq!(row.visible_at, Some(at(expected)));
    }
}

#[test]
fn an_activity_is_no_message_and_a_message_is_no_activity() {
    assert_eq!(MessageRow::of(activity(2)), Err(InvalidItem::NotAMessage { kind: "ActivityExecute" }));
    let table = [
        (start(None), "StartOrchestration"),
        (result(2), "ActivityCompleted"),
        (timer(7), "TimerFired"),
        (queued("a"), "ExternalRaisedPersistent"),
    ];
    for (item, kind) in table {
        assert_eq!(WorkRow::of(item), Err(InvalidItem::NotWork { kind }));
    }
}
