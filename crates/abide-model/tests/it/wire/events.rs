//! The stored form of every event.

use abide_model::{BUILD_VERSION, ErrorDetails, Event, EventKind, Timestamp};
use expect_test::expect;
use proptest::prelude::*;

use super::samples::{event, every_error, every_event_kind};
use super::{check_json, variants_of};
use crate::cases::cases;

#[test]
fn the_stored_form_of_an_event_is_one_flat_object() {
    let kind = EventKind::ActivityCompleted { result: "r".into() };
    let answer = Event { source_event_id: Some(2), ..event(kind) };
    check_json(
        &[answer],
        &expect![[r#"
        {"event_id":3,"source_event_id":2,"instance_id":"i","execution_id":1,"timestamp_ms":7,"duroxide_version":"0.1.32","type":"ActivityCompleted","result":"r"}
    "#]],
    );
}

#[test]
fn the_stored_form_of_every_kind_is_frozen() {
    check_json(
        &every_event_kind(),
        &expect![[r#"
        {"type":"OrchestrationStarted","name":"N","version":"1.0.0","input":"in","parent_instance":null,"parent_id":null}
        {"type":"OrchestrationStarted","name":"N","version":"1.0.0","input":"in","parent_instance":"p","parent_id":2,"parent_execution_id":4,"carry_forward_events":[["q","a"]],"initial_custom_status":"s"}
        {"type":"OrchestrationCompleted","output":"out"}
        {"type":"OrchestrationFailed","details":{"Application":{"kind":{"Cancelled":{"reason":"r"}},"message":"","retryable":false}}}
        {"type":"OrchestrationContinuedAsNew","input":"next"}
        {"type":"OrchestrationCancelRequested","reason":"r"}
        {"type":"ActivityScheduled","name":"A","input":"x"}
        {"type":"ActivityScheduled","name":"A","input":"x","session_id":"s","tag":"gpu"}
        {"type":"ActivityCompleted","result":"r"}
        {"type":"ActivityFailed","details":{"Application":{"kind":{"Cancelled":{"reason":"r"}},"message":"","retryable":false}}}
        {"type":"ActivityCancelRequested","reason":"dropped_future"}
        {"type":"TimerCreated","fire_at_ms":1700000000000}
        {"type":"TimerFired","fire_at_ms":1700000000000}
        {"type":"ExternalSubscribed","name":"go"}
        {"type":"ExternalEvent","name":"go","data":"d"}
        {"type":"ExternalSubscribedCancelled","reason":"dropped_future"}
        {"type":"ExternalSubscribedPersistent","name":"q"}
        {"type":"ExternalEventPersistent","name":"q","data":"d"}
        {"type":"ExternalSubscribedPersistentCancelled","reason":"dropped_future"}
        {"type":"OrchestrationChained","name":"N","instance":"j","input":"in"}
        {"type":"SubOrchestrationScheduled","name":"N","instance":"sub::3","input":"in"}
        {"type":"SubOrchestrationCompleted","result":"r"}
        {"type":"SubOrchestrationFailed","details":{"Application":{"kind":{"Cancelled":{"reason":"r"}},"message":"","retryable":false}}}
        {"type":"SubOrchestrationCancelRequested","reason":"dropped_future"}
        {"type":"CustomStatusUpdated","status":null}
        {"type":"CustomStatusUpdated","status":"half"}
        {"type":"KeyValueSet","key":"k","value":"v","last_updated_at_ms":9}
        {"type":"KeyValueCleared","key":"k"}
        {"type":"KeyValuesCleared"}
        {"type":"HistoryPruneRequested"}
        {"type":"HistoryPruneRequested","keep_last":1,"completed_before":9}
        {"type":"HistoryPruned","executions_deleted":2,"events_deleted":40}
        {"type":"HistoryPruned","executions_deleted":0,"events_deleted":0,"error":"busy"}
    "#]],
    );
}

#[test]
fn the_stored_form_of_every_error_is_frozen() {
    check_json(
        &every_error(),
        &expect![[r#"
        {"Infrastructure":{"operation":"ack","message":"disk full","retryable":true}}
        {"Configuration":{"kind":"Nondeterminism","resource":"R","message":null}}
        {"Configuration":{"kind":"Nondeterminism","resource":"R","message":"m"}}
        {"Application":{"kind":"ActivityFailed","message":"went wrong","retryable":true}}
        {"Application":{"kind":"OrchestrationFailed","message":"went wrong","retryable":true}}
        {"Application":{"kind":"Panicked","message":"went wrong","retryable":true}}
        {"Application":{"kind":{"Cancelled":{"reason":"r"}},"message":"","retryable":false}}
        {"Poison":{"attempt_count":11,"max_attempts":10,"message_type":{"Orchestration":{"instance":"i","execution_id":1}},"message":"m"}}
        {"Poison":{"attempt_count":11,"max_attempts":10,"message_type":{"Activity":{"instance":"i","execution_id":1,"activity_name":"A","activity_id":2}},"message":"m"}}
        {"Poison":{"attempt_count":11,"max_attempts":10,"message_type":{"FailedDeserialization":{"instance":"i","execution_id":1,"error":"e"}},"message":"m"}}
    "#]],
    );
}

#[test]
fn an_event_is_its_header_followed_by_its_kind() {
    let header = r#"{"event_id":3,"source_event_id":null,"instance_id":"i","execution_id":1,"timestamp_ms":7,"duroxide_version":"0.1.32","#;
    for kind in every_event_kind() {
        let alone = serde_json::to_string(&kind).unwrap();
        let whole = serde_json::to_string(&event(kind)).unwrap();
        assert_eq!(whole, format!("{header}{}", alone.strip_prefix('{').unwrap()));
    }
}

#[test]
fn every_kind_comes_back_as_it_went_in() {
    for kind in every_event_kind() {
        let before = event(kind);
        let text = serde_json::to_string(&before).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), before, "{text}");
        assert_eq!(serde_json::from_str::<EventKind>(&text).unwrap(), before.kind, "{text}");
    }
}

#[test]
fn the_samples_leave_no_kind_out() {
    let sampled = every_event_kind()
        .iter()
        .map(|kind| serde_json::to_value(kind).unwrap()["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(variants_of::<EventKind>(r#"{"type":"?"}"#), sampled);
}

#[test]
fn a_kind_is_named_after_its_variant() {
    for kind in every_event_kind() {
        let debug = format!("{kind:?}");
        assert_eq!(debug.split(' ').next(), Some(kind.name()));
    }
}

#[test]
fn only_an_end_is_terminal() {
    let terminal: Vec<_> =
        every_event_kind().into_iter().map(event).filter(Event::is_terminal).map(|e| e.kind.name()).collect();
    assert_eq!(terminal, ["OrchestrationCompleted", "OrchestrationFailed", "OrchestrationContinuedAsNew"]);
}

#[test]
fn a_recorded_event_carries_this_build_and_the_time_it_was_given() {
    let fired =
        Event::recorded(5, "i", 2, Timestamp::from_millis(40), EventKind::TimerFired { fire_at_ms: 39 });
    assert_eq!(fired.duroxide_version, BUILD_VERSION);
    assert_eq!((fired.event_id(), fired.source_event_id(), fired.timestamp_ms), (5, None, 40));
    assert_eq!(fired.with_source(4).source_event_id(), Some(4));
}

#[test]
fn the_constructors_without_a_clock_stamp_the_present() {
    let unnumbered = Event::new("i", 1, Some(2), EventKind::KeyValuesCleared);
    assert_eq!((unnumbered.event_id, unnumbered.source_event_id), (0, Some(2)));
    // Any time after this line was written will do.
    assert!(unnumbered.timestamp_ms > 1_700_000_000_000);

    let numbered = Event::with_event_id(9, "i", 1, None, EventKind::KeyValuesCleared);
    assert_eq!((numbered.event_id, numbered.source_event_id), (9, None));
    assert_eq!(numbered.duroxide_version, BUILD_VERSION);
}

fn any_kind() -> impl Strategy<Value = EventKind> {
    let text = any::<String>;
    let maybe = any::<Option<String>>;
    prop_oneof![
        (text(), text(), maybe(), maybe()).prop_map(|(name, input, session_id, tag)| {
            EventKind::ActivityScheduled { name, input, session_id, tag }
        }),
        (text(), maybe(), any::<Option<u64>>(), any::<Option<Vec<(String, String)>>>(), maybe()).prop_map(
            |(text, parent_instance, number, carry_forward_events, initial_custom_status)| {
                EventKind::OrchestrationStarted {
                    name: text.clone(),
                    version: text.clone(),
                    input: text,
                    parent_instance,
                    parent_id: number,
                    parent_execution_id: number,
                    carry_forward_events,
                    initial_custom_status,
                }
            }
        ),
        (text(), text(), any::<u64>()).prop_map(|(key, value, last_updated_at_ms)| {
            EventKind::KeyValueSet { key, value, last_updated_at_ms }
        }),
        (text(), text(), any::<bool>()).prop_map(|(operation, message, retryable)| {
            let details = ErrorDetails::Infrastructure { operation, message, retryable };
            EventKind::SubOrchestrationFailed { details }
        }),
        maybe().prop_map(|status| EventKind::CustomStatusUpdated { status }),
    ]
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_event_comes_back_as_it_went_in(
        kind in any_kind(),
        numbers in any::<[u64; 3]>(),
        source_event_id in any::<Option<u64>>(),
        texts in any::<[String; 2]>(),
    ) {
        let [event_id, execution_id, timestamp_ms] = numbers;
        let [instance_id, duroxide_version] = texts;
        let before =
            Event { event_id, source_event_id, instance_id, execution_id, timestamp_ms, duroxide_version, kind };
        let text = serde_json::to_string(&before).unwrap();
        prop_assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), before);
    }
}
