//! Reading what older and newer builds wrote.

use abide_model::{ErrorDetails, Event, EventKind, WorkItem};

const HEADER: &str =
    r#""event_id":3,"instance_id":"i","execution_id":1,"timestamp_ms":7,"duroxide_version":"0.1.32""#;

fn read(kind: &str) -> Result<Event, String> {
    serde_json::from_str(&format!("{{{HEADER},{kind}}}")).map_err(|error| error.to_string())
}

fn kind_of(kind: &str) -> EventKind {
    read(kind).expect("decodes").kind
}

#[test]
fn absent_optional_fields_of_an_event_are_none() {
    assert_eq!(read(r#""type":"KeyValuesCleared""#).unwrap().source_event_id, None);
    assert_eq!(
        kind_of(r#""type":"OrchestrationStarted","name":"N","version":"1.0.0","input":"""#),
        EventKind::OrchestrationStarted {
            name: "N".into(),
            version: "1.0.0".into(),
            input: String::new(),
            parent_instance: None,
            parent_id: None,
            parent_execution_id: None,
            carry_forward_events: None,
            initial_custom_status: None,
        }
    );
    assert_eq!(
        kind_of(r#""type":"ActivityScheduled","name":"A","input":"x""#),
        EventKind::ActivityScheduled { name: "A".into(), input: "x".into(), session_id: None, tag: None }
    );
    assert_eq!(kind_of(r#""type":"CustomStatusUpdated""#), EventKind::CustomStatusUpdated { status: None });
    assert_eq!(
        kind_of(r#""type":"KeyValueSet","key":"k","value":"v""#),
        EventKind::KeyValueSet { key: "k".into(), value: "v".into(), last_updated_at_ms: 0 }
    );
    assert_eq!(
        kind_of(r#""type":"HistoryPruned","executions_deleted":1,"events_deleted":2"#),
        EventKind::HistoryPruned { executions_deleted: 1, events_deleted: 2, error: None }
    );
}

#[test]
fn null_is_none_as_well() {
    assert_eq!(
        kind_of(r#""type":"ActivityScheduled","name":"A","input":"x","session_id":null,"tag":null"#),
        EventKind::ActivityScheduled { name: "A".into(), input: "x".into(), session_id: None, tag: None }
    );
}

#[test]
fn absent_optional_fields_of_a_work_item_are_none_or_empty() {
    let old = r#"{"ContinueAsNew":{"instance":"i","orchestration":"N","input":"n"}}"#;
    assert_eq!(
        serde_json::from_str::<WorkItem>(old).unwrap(),
        WorkItem::ContinueAsNew {
            instance: "i".into(),
            orchestration: "N".into(),
            input: "n".into(),
            version: None,
            parent_instance: None,
            parent_id: None,
            parent_execution_id: None,
            carry_forward_events: vec![],
            initial_custom_status: None,
        }
    );
    let old = r#"{"StartOrchestration":{"instance":"i","orchestration":"N","input":"n","execution_id":1}}"#;
    assert!(matches!(
        serde_json::from_str::<WorkItem>(old).unwrap(),
        WorkItem::StartOrchestration { version: None, parent_instance: None, parent_execution_id: None, .. }
    ));
}

#[test]
fn only_the_fields_that_were_there_from_the_start_are_stored_as_null() {
    let null_fields = |json: &serde_json::Value| -> Vec<String> {
        let fields = json.as_object().unwrap().iter();
        fields.filter(|(_, value)| value.is_null()).map(|(key, _)| key.clone()).collect()
    };
    for kind in super::samples::every_event_kind() {
        let json = serde_json::to_value(super::samples::event(kind)).unwrap();
        for field in null_fields(&json) {
            assert!(
                ["source_event_id", "parent_instance", "parent_id", "status"].contains(&field.as_str()),
                "{json}"
            );
        }
    }
    for item in super::samples::every_work_item() {
        let json = serde_json::to_value(&item).unwrap();
        for field in json.as_object().unwrap().values().flat_map(null_fields) {
            assert!(["version", "parent_instance", "parent_id"].contains(&field.as_str()), "{json}");
        }
    }
}

#[test]
fn fields_of_a_newer_build_are_ignored() {
    // `name` is a field of other kinds; its type here must not matter.
    assert_eq!(
        kind_of(r#""type":"ActivityCompleted","result":"r","name":{"a":[1]},"priority":7"#),
        EventKind::ActivityCompleted { result: "r".into() }
    );
    assert_eq!(kind_of(r#""type":"KeyValuesCleared","scope":"all""#), EventKind::KeyValuesCleared);
    assert_eq!(
        serde_json::from_str::<WorkItem>(r#"{"CancelInstance":{"instance":"i","reason":"r","by":"me"}}"#)
            .unwrap(),
        WorkItem::CancelInstance { instance: "i".into(), reason: "r".into() }
    );
}

#[test]
fn a_build_that_predates_an_optional_field_reads_what_this_one_writes() {
    #[derive(serde::Deserialize)]
    #[serde(tag = "type")]
    enum Old {
        OrchestrationStarted { name: String, parent_instance: Option<String> },
        ActivityScheduled { name: String },
    }
    let names: Vec<String> = super::samples::every_event_kind()
        .iter()
        .filter_map(|kind| serde_json::from_str(&serde_json::to_string(kind).unwrap()).ok())
        .map(|old| match old {
            Old::OrchestrationStarted { name, parent_instance } => {
                format!("{name} of {}", parent_instance.unwrap_or_default())
            }
            Old::ActivityScheduled { name } => name,
        })
        .collect();
    assert_eq!(names, ["N of ", "N of p", "A", "A"]);
}

#[test]
fn the_order_of_fields_does_not_matter_when_read() {
    let shuffled = r#"{"result":"r","type":"ActivityCompleted","duroxide_version":"0.1.32","timestamp_ms":7,
        "execution_id":1,"instance_id":"i","source_event_id":2,"event_id":3}"#;
    let read: Event = serde_json::from_str(shuffled).unwrap();
    assert_eq!((read.event_id, read.source_event_id), (3, Some(2)));
    assert_eq!(read.kind, EventKind::ActivityCompleted { result: "r".into() });
}

#[test]
fn an_unknown_type_is_an_error_that_names_it() {
    let error = read(r#""type":"ExternalSubscribed2","name":"n","topic":"t""#).unwrap_err();
    assert!(error.starts_with("unknown variant `ExternalSubscribed2`, expected one of `Orch"), "{error}");
}

#[test]
fn a_missing_type_is_an_error() {
    let error = read(r#""name":"n""#).unwrap_err();
    assert!(error.contains("missing field `type`"), "{error}");
}

#[test]
fn a_missing_version_is_an_error() {
    let text = r#"{"event_id":1,"source_event_id":null,"instance_id":"i","execution_id":1,"timestamp_ms":0,
        "type":"KeyValuesCleared"}"#;
    let error = serde_json::from_str::<Event>(text).unwrap_err().to_string();
    assert!(error.contains("missing field `duroxide_version`"), "{error}");
}

#[test]
fn a_missing_field_of_a_kind_is_an_error_that_names_it() {
    let error = read(r#""type":"ExternalEvent","name":"n""#).unwrap_err();
    assert!(error.contains("missing field `data`"), "{error}");
}

#[test]
fn an_unknown_work_item_is_an_error() {
    let error = serde_json::from_str::<WorkItem>(r#"{"ExternalRaised2":{}}"#).unwrap_err().to_string();
    assert!(error.contains("unknown variant `ExternalRaised2`"), "{error}");
}

#[test]
fn errors_come_back_as_they_went_in() {
    for before in super::samples::every_error() {
        let text = serde_json::to_string(&before).unwrap();
        assert_eq!(serde_json::from_str::<ErrorDetails>(&text).unwrap(), before);
    }
}
