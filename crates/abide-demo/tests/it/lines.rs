//! Without a terminal: lines, and no escape codes.

use std::time::{Duration, Instant};

use crate::support::{Running, Temp, text};

#[expect(clippy::disallowed_methods, reason = "people wait for the demo in real time, and not for long")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn a_day_with_a_crash_ends_right() {
    let temp = Temp::new("crash");
    let began = now();
    let output = temp.run(&[]);
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    assert!(!said.contains('\x1b'), "{said}");
    for expected in [
        "The worker was killed (SIGKILL) with ",
        "Another worker was started",
        "It was at work again after ",
        "The history of order-",
        "the worker was killed here, and another one went on",
        "wait for 'approval'",
        "Deliver, as a child",
        "✓ order-12  flaky payment  shipped as parcel-12      3 tries",
        "✓ order-04  bad card       cancelled: card declined    1 try",
        "Every order ended exactly right: 9 shipped, 3 cancelled and undone.",
    ] {
        assert!(said.contains(expected), "no '{expected}' in:\n{said}");
    }
    temp.assert_clean();
}

#[test]
fn a_day_without_a_crash_ends_right_too() {
    let temp = Temp::new("no-crash");
    let output = temp.run(&["--no-crash", "--orders", "4", "--seed", "99", "--plain"]);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "");
    assert!(!said.contains("killed"), "{said}");
    assert!(said.contains("none ran twice"), "{said}");
    assert!(said.contains("Every order ended exactly right: 3 shipped, 1 cancelled and undone."), "{said}");
    temp.assert_clean();
}

#[test]
fn a_single_order_survives_the_crash() {
    let temp = Temp::new("single");
    let output = temp.run(&["--orders=1"]);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", text(&output.stderr));
    assert!(said.contains("killed (SIGKILL) with 1 order under way"), "{said}");
    temp.assert_clean();
}

#[test]
fn many_orders_at_once() {
    let temp = Temp::new("many");
    let output = temp.run(&["--orders", "200"]);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", text(&output.stderr));
    assert!(said.contains("order-200"), "{said}");
    temp.assert_clean();
}

#[test]
fn a_reader_who_has_seen_enough_is_no_reason_to_complain() {
    for last_line in ["A shop on abide", "charging the card", "was killed"] {
        let temp = Temp::new("reader");
        let mut demo = Running::start(&temp, &["--orders", "3"]);
        demo.wait_for(last_line);
        let (status, complaints) = demo.stop_reading();
        assert_eq!(status.code(), Some(141), "after '{last_line}'");
        assert_eq!(complaints, "");
        temp.assert_clean();
    }
}
