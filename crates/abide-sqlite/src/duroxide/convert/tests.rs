//! Conversions, without a database.

use super::*;

fn event(no: i64, kind: &str) -> (i64, String) {
    let text = format!(
        r#"{{"event_id":{no},"source_event_id":null,"instance_id":"i","execution_id":1,"timestamp_ms":{},"duroxide_version":"0.1.32",{kind}}}"#,
        1_000 + no
    );
    (no, text)
}

const START: &str = r#""type":"OrchestrationStarted","name":"O","version":"1.0.0","input":"","parent_instance":null,"parent_id":null"#;
const TIMER: &str = r#""type":"TimerCreated","fire_at_ms":5"#;
const COMPLETED: &str = r#""type":"OrchestrationCompleted","output":"done""#;
const CANCELED: &str = r#""type":"ActivityCancelRequested","reason":"orchestration_terminal""#;

fn source(status: &str, kinds: &[&str]) -> SourceInstance {
    let events = (1_i64..).zip(kinds).map(|(no, kind)| event(no, kind)).collect();
    let execution =
        SourceExecution { no: 1, status: status.to_owned(), events, ..SourceExecution::default() };
    SourceInstance {
        id: "i".to_owned(),
        name: "O".to_owned(),
        version: "1.0.0".to_owned(),
        current_execution: 1,
        executions: vec![execution],
        ..SourceInstance::default()
    }
}

#[test]
fn a_long_history_is_written_in_parts() {
    let kinds: Vec<&str> = [START].into_iter().chain([TIMER; 248]).chain([COMPLETED]).collect();
    let imported = instance(source("Completed", &kinds)).unwrap();
    let parts =
        imported.turns.iter().map(|turn| turn.events.as_ref().map(|events| (events.first, events.last)));
    assert_eq!(parts.collect::<Vec<_>>(), [Some((1, 100)), Some((101, 200)), Some((201, 250))]);
    let described = imported.turns.iter().map(|turn| turn.rows.instance.name.is_some());
    assert_eq!(described.collect::<Vec<_>>(), [true, false, false]);
    let ended = imported.turns.iter().map(|turn| turn.rows.instance.status);
    assert_eq!(ended.collect::<Vec<_>>(), [None, None, Some(ExecutionStatus::Completed)]);
    assert_eq!((imported.created_at, imported.completed_at), (1_001, Some(1_250)));
}

#[test]
fn the_terminal_event_becomes_the_last_and_numbers_stay_in_order() {
    let imported = instance(source("Completed", &[START, COMPLETED, CANCELED, CANCELED])).unwrap();
    let json = &imported.turns[0].events.as_ref().unwrap().json;
    let events: Vec<Event> = serde_json::from_str(json).unwrap();
    assert_eq!(events.iter().map(Event::event_id).collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert!(events[3].is_terminal() && !events[1].is_terminal());
}

#[test]
fn an_execution_without_a_pin_has_that_of_its_start() {
    let imported = instance(source("Running", &[START])).unwrap();
    assert_eq!(imported.turns[0].rows.instance.pin, Some(Version::new(0, 1, 32)));
}

#[test]
fn a_timer_of_an_execution_that_is_over_is_obsolete() {
    let timer = |current: Option<(i64, &str)>| SourceMessage {
        instance: Some("i".to_owned()),
        item: r#"{"TimerFired":{"instance":"i","execution_id":2,"id":3,"fire_at_ms":5}}"#.to_owned(),
        current: current.map(|(execution, status)| (execution, status.to_owned())),
        ..SourceMessage::default()
    };
    for current in [None, Some((3, "Running")), Some((2, "Completed")), Some((2, "ContinuedAsNew"))] {
        assert!(matches!(message(timer(current)), Ok(Converted::ObsoleteTimer)), "{current:?}");
    }
    assert!(matches!(message(timer(Some((2, "Running")))), Ok(Converted::Message(_))));
}
