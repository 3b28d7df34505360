//! Drawings of histories made by hand.

use expect_test::expect;

use super::*;

/// A history at the given milliseconds: when, the answered event, what.
fn history(events: &[(u64, Option<u64>, EventKind)]) -> Vec<Event> {
    let numbered = (1_u64..).zip(events);
    numbered
        .map(|(id, (at, source, kind))| Event {
            event_id: id,
            source_event_id: *source,
            instance_id: "order-01".to_owned(),
            execution_id: 1,
            timestamp_ms: 1_000 + at,
            duroxide_version: "0.2.0".to_owned(),
            kind: kind.clone(),
        })
        .collect()
}

fn started() -> EventKind {
    EventKind::OrchestrationStarted {
        name: "ProcessOrder".to_owned(),
        version: "1.0.0".to_owned(),
        input: r#"{"id":"order-01","items":["tea","cup"],"total":12}"#.to_owned(),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: None,
        initial_custom_status: None,
    }
}

fn asks(name: &str, input: &str) -> EventKind {
    EventKind::ActivityScheduled {
        name: name.to_owned(),
        input: input.to_owned(),
        session_id: None,
        tag: None,
    }
}

fn gets(result: &str) -> EventKind {
    EventKind::ActivityCompleted { result: result.to_owned() }
}

/// With a margin, so that blanks at the beginning count.
fn text(lines: &[Line]) -> String {
    lines.iter().map(|line| format!("|{}", line.plain())).collect::<Vec<_>>().join("\n")
}

#[test]
fn brackets_join_what_belongs_together_and_the_crash_is_in_its_place() {
    let approval = "approval".to_owned();
    let drawn = history(&[
        (0, None, started()),
        (0, None, EventKind::CustomStatusUpdated { status: Some("reserving".to_owned()) }),
        (0, None, asks("ReserveStock", r#"{"item":"tea","order":"order-01"}"#)),
        (0, None, asks("ReserveStock", r#"{"item":"cup","order":"order-01"}"#)),
        (410, Some(4), gets("cup")),
        (420, Some(3), gets("tea")),
        (420, None, EventKind::ExternalSubscribed { name: approval.clone() }),
        (420, None, EventKind::TimerCreated { fire_at_ms: 61_420 }),
        (1_500, None, EventKind::ExternalEvent { name: approval, data: "Approved".to_owned() }),
        (1_500, None, EventKind::OrchestrationCompleted { output: "done".to_owned() }),
    ]);
    expect![[r#"
        |   0.000 s  ●     ProcessOrder  id: order-01, items: tea, cup, total: 12
        |   0.000 s  │     status: reserving
        |   0.000 s  │ ╭   ReserveStock  item: tea, order: order-01
        |   0.000 s  │ │ ╭ ReserveStock  item: cup, order: order-01
        |   0.410 s  │ │ ╰ ReserveStock → cup  after 410 ms
        |   0.420 s  │ ╰   ReserveStock → tea  after 420 ms
        |   0.420 s  │ ╭   wait for 'approval'
        |   0.420 s  │ │   timer of 60 s  (was not needed)
        |   0.900 s  ━━ the worker was killed here, and another one went on ━━
        |   1.500 s  │ ╰   'approval' came: Approved  after 1.1 s
        |   1.500 s  ●     ended: done"#]]
    .assert_eq(&text(&draw(&drawn, Some(1_900))));
}

#[test]
fn a_crash_before_or_after_an_order_is_not_its_own() {
    let drawn = history(&[(100, None, started()), (200, None, EventKind::KeyValuesCleared)]);
    let without = text(&draw(&drawn, None));
    assert_eq!(text(&draw(&drawn, Some(1_050))), without);
    assert_eq!(text(&draw(&drawn, Some(1_300))), without);
    assert_ne!(text(&draw(&drawn, Some(1_150))), without);
    assert_eq!(draw(&[], Some(5)), []);
}
