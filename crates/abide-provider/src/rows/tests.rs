//! A turn in, rows out. What a store must know about a single message is in `tests/it/messages.rs`.

use std::time::Duration;

use abide_model::{KvEntry, Timestamp, WorkItem};

use super::*;

const LARGEST: u64 = i64::MAX.unsigned_abs();
const TOO_LARGE: u64 = LARGEST + 1;

fn event(id: u64, kind: EventKind) -> Event {
    Event::recorded(id, "i", 1, Timestamp::EPOCH, kind)
}

/// Events numbered from one.
fn events(kinds: impl IntoIterator<Item = EventKind>) -> Vec<Event> {
    (1..).zip(kinds).map(|(id, kind)| event(id, kind)).collect()
}

fn turn() -> Turn {
    Turn { execution_id: 1, ..Turn::default() }
}

fn rows(turn: Turn) -> CommitRows {
    CommitRows::of(turn).expect("a sound turn")
}

fn refused(turn: Turn) -> InvalidTurn {
    CommitRows::of(turn).expect_err("a turn that no store may write")
}

fn status(text: &str) -> ExecutionMetadata {
    ExecutionMetadata { status: Some(text.to_owned()), ..ExecutionMetadata::default() }
}

fn started(name: &str, version: &str, parent: Option<(&str, u64, u64)>) -> EventKind {
    EventKind::OrchestrationStarted {
        name: name.to_owned(),
        version: version.to_owned(),
        input: String::new(),
        parent_instance: parent.map(|(instance, _, _)| instance.to_owned()),
        parent_execution_id: parent.map(|(_, execution, _)| execution),
        parent_id: parent.map(|(_, _, event)| event),
        carry_forward_events: None,
        initial_custom_status: None,
    }
}

fn activity(id: u64) -> ScheduledActivityIdentifier {
    ScheduledActivityIdentifier { instance: "i".to_owned(), execution_id: 1, activity_id: id }
}

fn execute(id: u64) -> WorkItem {
    WorkItem::ActivityExecute {
        instance: "i".to_owned(),
        execution_id: 1,
        id,
        name: "A".to_owned(),
        input: String::new(),
        session_id: Some("s".to_owned()),
        tag: Some("gpu".to_owned()),
    }
}

fn cancel() -> WorkItem {
    WorkItem::CancelInstance { instance: "j".to_owned(), reason: "enough".to_owned() }
}

// What no store may write

#[test]
fn event_ids_ascend_from_one() {
    type Case = (&'static [u64], Option<(u64, u64)>);
    let table: [Case; 8] = [
        (&[], None),
        (&[1, 2, 3], None),
        (&[7, 9], None),
        (&[0], Some((0, 0))),
        (&[1, 0], Some((1, 0))),
        (&[2, 2], Some((2, 2))),
        (&[3, 1], Some((3, 1))),
        (&[LARGEST], None),
    ];
    for (ids, expected) in table {
        let appended = ids.iter().map(|id| event(*id, EventKind::KeyValuesCleared)).collect();
        let found = CommitRows::of(Turn { events: appended, ..turn() }).err();
        let expected = expected.map(|(previous, found)| InvalidTurn::EventOrder { previous, found });
        assert_eq!(found, expected, "{ids:?}");
    }
}

#[test]
fn the_last_event_is_the_last_of_the_turn() {
    let table: [(&[u64], Option<u64>); 3] = [(&[], None), (&[4], Some(4)), (&[4, 5], Some(5))];
    for (ids, expected) in table {
        let events = ids.iter().map(|id| event(*id, EventKind::KeyValuesCleared)).collect();
        assert_eq!(rows(Turn { events, ..turn() }).last_event_id(), expected, "{ids:?}");
    }
}

#[test]
fn slack_hides_timers_and_nothing_else_for_longer_and_changes_nothing_that_they_say() {
    let timer =
        |fire_at_ms| WorkItem::TimerFired { instance: "i".to_owned(), execution_id: 1, id: 2, fire_at_ms };
    let signal =
        || WorkItem::ExternalRaised { instance: "i".to_owned(), name: "s".to_owned(), data: String::new() };
    let never = u64::MAX;
    let cases = [
        ("none", timer(100), Duration::ZERO, Some(100)),
        ("some", timer(100), Duration::from_millis(7), Some(107)),
        ("part of a millisecond", timer(100), Duration::from_micros(6_001), Some(107)),
        ("of what never fires", timer(never), Duration::from_secs(1), Some(Timestamp::MAX.as_millis())),
        ("of other mail", signal(), Duration::from_secs(1), None),
    ];
    for (case, item, timer_slack, visible_at) in cases {
        let rows = rows(Turn { orchestrator_items: vec![item.clone()], timer_slack, ..turn() });
        let expected = (visible_at.map(Timestamp::from_millis), &item);
        let found: Vec<_> = rows.messages.iter().map(|row| (row.visible_at, &row.item)).collect();
        assert_eq!(found, [expected], "{case}");
    }
}

#[test]
fn a_number_that_fits_no_column_is_refused() {
    let late = event(TOO_LARGE, EventKind::KeyValuesCleared);
    assert_eq!(refused(Turn { execution_id: TOO_LARGE, ..turn() }), InvalidTurn::TooLarge(TOO_LARGE));
    assert_eq!(refused(Turn { events: vec![late], ..turn() }), InvalidTurn::TooLarge(TOO_LARGE));
    let timer =
        |execution_id, id| WorkItem::TimerFired { instance: "i".to_owned(), execution_id, id, fire_at_ms: 1 };
    let set =
        EventKind::KeyValueSet { key: "k".to_owned(), value: String::new(), last_updated_at_ms: TOO_LARGE };
    let others = [
        Turn { cancelled_activities: vec![activity(TOO_LARGE)], ..turn() },
        Turn { removed_timers: vec![TOO_LARGE], ..turn() },
        Turn { events: events([started("O", "1", Some(("p", TOO_LARGE, 1)))]), ..turn() },
        Turn { events: events([started("O", "1", Some(("p", 1, TOO_LARGE)))]), ..turn() },
        Turn { events: events([set]), ..turn() },
    ];
    for other in others {
        assert_eq!(refused(other), InvalidTurn::TooLarge(TOO_LARGE));
    }
    let items = [
        Turn { worker_items: vec![execute(TOO_LARGE)], ..turn() },
        Turn { orchestrator_items: vec![timer(TOO_LARGE, 1)], ..turn() },
        Turn { orchestrator_items: vec![timer(1, TOO_LARGE)], ..turn() },
    ];
    for item in items {
        assert_eq!(refused(item), InvalidTurn::Item(InvalidItem::TooLarge(TOO_LARGE)));
    }
    let last = Turn { execution_id: LARGEST, ..turn() };
    assert_eq!(rows(last).execution_id, LARGEST);
}

#[test]
fn executions_are_numbered_from_one() {
    assert_eq!(refused(Turn::default()), InvalidTurn::NoExecution);
}

#[test]
fn items_of_the_wrong_queue_are_refused() {
    let message = refused(Turn { orchestrator_items: vec![cancel(), execute(2)], ..turn() });
    assert_eq!(message, InvalidTurn::Item(InvalidItem::NotAMessage { kind: "ActivityExecute" }));
    let work = refused(Turn { worker_items: vec![execute(2), cancel()], ..turn() });
    assert_eq!(work, InvalidTurn::Item(InvalidItem::NotWork { kind: "CancelInstance" }));
}

#[test]
fn every_refusal_says_what_is_wrong() {
    let table = [
        (
            InvalidTurn::EventOrder { previous: 3, found: 0 },
            "Failed to append history: event 0 follows event 3; ids ascend from 1 (a zero means that the event was \
             never numbered)",
        ),
        (InvalidTurn::TooLarge(9), "the number 9 does not fit a column of 63 bits"),
        (InvalidTurn::NoExecution, "executions are numbered from 1, and this turn belongs to execution 0"),
        (refused(Turn { metadata: status("running"), ..turn() }), "unknown execution status 'running'"),
        (
            InvalidItem::NotWork { kind: "TimerFired" }.into(),
            "TimerFired is not an activity: enqueue it for its instance",
        ),
        (
            InvalidItem::NotAMessage { kind: "ActivityExecute" }.into(),
            "ActivityExecute is not a message for an instance: enqueue it for workers",
        ),
    ];
    for (refusal, text) in table {
        assert_eq!(refusal.to_string(), text);
    }
}

// The instance and its execution

#[test]
fn a_status_is_one_of_four_and_the_end_of_an_execution_sweeps() {
    let table = [
        (None, None, false),
        (Some("Running"), Some(ExecutionStatus::Running), false),
        (Some("Completed"), Some(ExecutionStatus::Completed), true),
        (Some("Failed"), Some(ExecutionStatus::Failed), true),
        (Some("ContinuedAsNew"), Some(ExecutionStatus::ContinuedAsNew), true),
    ];
    for (text, expected, ends) in table {
        let metadata = text.map_or_else(ExecutionMetadata::default, status);
        let rows = rows(Turn { metadata, removed_timers: vec![4, 7], ..turn() });
        let timers = if ends { TimerRows::All } else { TimerRows::These(vec![4, 7]) };
        assert_eq!((rows.instance.status, rows.kv.fold, rows.timers), (expected, ends, timers), "{text:?}");
    }
    for text in ["", "running", "Running ", "Cancelled"] {
        let unknown = UnknownExecutionStatus { text: text.to_owned() };
        assert_eq!(refused(Turn { metadata: status(text), ..turn() }), InvalidTurn::Status(unknown));
    }
}

#[test]
fn output_pin_and_prune_are_as_the_turn_says() {
    let pin = Version::new(0, 2, 0);
    let prune = PruneOptions { keep_last: Some(3), completed_before: Some(9) };
    let metadata = ExecutionMetadata {
        output: Some("o".to_owned()),
        pinned_duroxide_version: Some(pin.clone()),
        ..status("Completed")
    };
    let rows = rows(Turn { metadata, prune: Some(prune.clone()), ..turn() });
    assert_eq!(rows.instance.output.as_deref(), Some("o"));
    assert_eq!(rows.instance.pin, Some(pin));
    assert_eq!(rows.prune, Some(prune));
}

#[test]
fn name_and_version_come_from_the_metadata_or_else_from_the_start() {
    let event = || started("FromEvent", "1.0.0", None);
    let table = [
        (None, None, None, (None, None)),
        (None, None, Some(event()), (Some("FromEvent"), Some("1.0.0"))),
        (Some("Told"), None, Some(event()), (Some("Told"), Some("1.0.0"))),
        (None, Some("2.0.0"), Some(event()), (Some("FromEvent"), Some("2.0.0"))),
        (Some("Told"), Some("2.0.0"), None, (Some("Told"), Some("2.0.0"))),
    ];
    for (name, version, start, expected) in table {
        let metadata = ExecutionMetadata {
            orchestration_name: name.map(ToOwned::to_owned),
            orchestration_version: version.map(ToOwned::to_owned),
            ..ExecutionMetadata::default()
        };
        let InstanceRow { name, version, .. } =
            rows(Turn { metadata, events: events(start), ..turn() }).instance;
        assert_eq!((name.as_deref(), version.as_deref()), expected);
    }
}

#[test]
fn the_link_to_the_parent_keeps_its_numbers_if_both_name_the_same() {
    let link = |instance: &str, numbers: Option<(u64, u64)>| ParentLink {
        instance: instance.to_owned(),
        execution_id: numbers.map(|(execution, _)| execution),
        event_id: numbers.map(|(_, event)| event),
    };
    let start = |parent| Some(started("O", "1", parent));
    let table = [
        (None, None, None),
        (None, start(None), None),
        (None, start(Some(("p", 2, 5))), Some(link("p", Some((2, 5))))),
        (Some("p"), start(Some(("p", 2, 5))), Some(link("p", Some((2, 5))))),
        (Some("q"), start(Some(("p", 2, 5))), Some(link("q", None))),
        (Some("q"), start(None), Some(link("q", None))),
        (Some("q"), None, Some(link("q", None))),
    ];
    for (told, start, expected) in table {
        let metadata = ExecutionMetadata {
            parent_instance_id: told.map(ToOwned::to_owned),
            ..ExecutionMetadata::default()
        };
        let rows = rows(Turn { metadata, events: events(start), ..turn() });
        assert_eq!(rows.instance.parent, expected, "{told:?}");
    }
}

#[test]
fn an_event_or_a_name_makes_an_instance() {
    let named =
        ExecutionMetadata { orchestration_name: Some("O".to_owned()), ..ExecutionMetadata::default() };
    let table = [
        (turn(), false),
        (Turn { metadata: status("Completed"), ..turn() }, false),
        (Turn { metadata: named, ..turn() }, true),
        (Turn { events: events([EventKind::KeyValuesCleared]), ..turn() }, true),
    ];
    for (turn, expected) in table {
        assert_eq!(rows(turn.clone()).creates_instance(), expected, "{turn:?}");
    }
}

#[test]
fn the_last_custom_status_wins() {
    let update =
        |status: Option<&str>| EventKind::CustomStatusUpdated { status: status.map(ToOwned::to_owned) };
    let set = |value: &str| Some(CustomStatus::Set(value.to_owned()));
    let table = [
        (vec![], None),
        (vec![EventKind::KeyValuesCleared], None),
        (vec![update(Some("a")), update(Some("b"))], set("b")),
        (vec![update(Some("a")), update(None)], Some(CustomStatus::Reset)),
        (vec![update(None), update(Some("a")), EventKind::KeyValuesCleared], set("a")),
    ];
    for (kinds, expected) in table {
        assert_eq!(rows(Turn { events: events(kinds), ..turn() }).instance.custom_status, expected);
    }
    assert_eq!(CustomStatus::Set("a".to_owned()).into_value().as_deref(), Some("a"));
    assert_eq!(CustomStatus::Reset.into_value(), None);
}

// Key-value

#[test]
fn key_value_events_fold_into_one_change_per_key() {
    let set = |key: &str, value: &str, at: u64| EventKind::KeyValueSet {
        key: key.to_owned(),
        value: value.to_owned(),
        last_updated_at_ms: at,
    };
    let clear = |key: &str| EventKind::KeyValueCleared { key: key.to_owned() };
    let all = || EventKind::KeyValuesCleared;
    let table = [
        (vec![], "keep"),
        (vec![set("a", "1", 5)], "keep a=1@5"),
        (vec![set("a", "1", 5), set("a", "2", 6)], "keep a=2@6"),
        (vec![set("b", "1", 5), set("a", "2", 6)], "keep a=2@6 b=1@5"),
        (vec![set("a", "1", 5), clear("a")], "keep a gone"),
        (vec![clear("a"), set("a", "1", 5)], "keep a=1@5"),
        (vec![clear("never")], "keep never gone"),
        (vec![set("a", "1", 5), all()], "clear"),
        (vec![set("a", "1", 5), all(), set("b", "2", 6)], "clear b=2@6"),
        (vec![all(), clear("a"), all()], "clear"),
    ];
    for (kinds, expected) in table {
        let kv = rows(Turn { events: events(kinds), ..turn() }).kv;
        assert_eq!(say(&kv), expected);
    }
}

fn say(kv: &KvRows) -> String {
    let change = |(key, entry): (&String, &Option<KvEntry>)| match entry {
        Some(KvEntry { value, last_updated_at_ms }) => format!(" {key}={value}@{last_updated_at_ms}"),
        None => format!(" {key} gone"),
    };
    let first = if kv.clear_all { "clear" } else { "keep" };
    first.to_owned() + &kv.changes.iter().map(change).collect::<String>()
}

// Work

#[test]
fn work_knows_who_asked_its_session_and_its_tag() {
    let row = WorkRow::of(execute(2)).expect("an activity");
    assert_eq!(row.activity, activity(2));
    assert_eq!((row.session.as_deref(), row.tag.as_deref()), (Some("s"), Some("gpu")));
    assert_eq!(row.item, execute(2));
}

#[test]
fn work_that_is_taken_back_by_its_own_turn_is_never_there() {
    let rows = rows(Turn {
        worker_items: vec![execute(2), execute(3), execute(4)],
        cancelled_activities: vec![activity(4), activity(9), activity(2), activity(9)],
        ..turn()
    });
    let queued: Vec<u64> = rows.work.iter().map(|row| row.activity.activity_id).collect();
    let revoked: Vec<u64> = rows.revoked.iter().map(|(activity, _)| activity.activity_id).collect();
    assert_eq!(queued, [3]);
    assert_eq!(revoked, [2, 4, 9], "ascending, once each, also what was never enqueued");
}

#[test]
fn work_is_taken_back_because_it_was_dropped_or_because_the_execution_ended() {
    let requested = |source: u64, reason: &str| {
        event(10 + source, EventKind::ActivityCancelRequested { reason: reason.to_owned() })
            .with_source(source)
    };
    let recorded = || vec![requested(2, "dropped_future"), requested(3, "orchestration_terminal_failed")];
    let ended = |status| StolenBecause::OrchestrationEnded { status };
    let table = [
        (None, [StolenBecause::Dropped, StolenBecause::Dropped, StolenBecause::Dropped]),
        (Some("Running"), [StolenBecause::Dropped, StolenBecause::Dropped, StolenBecause::Dropped]),
        (
            Some("Failed"),
            [StolenBecause::Dropped, ended(ExecutionStatus::Failed), ended(ExecutionStatus::Failed)],
        ),
        (
            Some("ContinuedAsNew"),
            [
                StolenBecause::Dropped,
                ended(ExecutionStatus::ContinuedAsNew),
                ended(ExecutionStatus::ContinuedAsNew),
            ],
        ),
    ];
    for (text, expected) in table {
        let rows = rows(Turn {
            events: recorded(),
            metadata: text.map_or_else(ExecutionMetadata::default, status),
            cancelled_activities: vec![activity(2), activity(3), activity(4)],
            ..turn()
        });
        let reasons: Vec<_> = rows.revoked.into_iter().map(|(_, because)| because).collect();
        assert_eq!(reasons, expected, "{text:?}");
    }
}

// Messages

#[test]
fn messages_keep_their_order() {
    let signal = |instance: &str| WorkItem::ExternalRaised {
        instance: instance.to_owned(),
        name: "s".to_owned(),
        data: String::new(),
    };
    let sent = vec![signal("z"), cancel(), signal("a")];
    let rows = rows(Turn { orchestrator_items: sent.clone(), ..turn() });
    assert_eq!(rows.messages.iter().map(|row| row.to.as_str()).collect::<Vec<_>>(), ["z", "j", "a"]);
    assert_eq!(rows.messages.into_iter().map(|row| row.item).collect::<Vec<_>>(), sent);
}
