//! Stopped at several points, politely and not.
#![cfg(unix)]

use std::os::unix::process::ExitStatusExt as _;

use crate::support::{Running, Temp, text};

/// The day that was interrupted then goes on, and every order ends exactly right.
fn interrupt_after(line: &str, test: &str) {
    let temp = Temp::new(test);
    let folder = temp.path().join("shop");
    let arguments = ["--orders", "3", "--dir", folder.to_str().unwrap()];
    let mut demo = Running::start(&temp, &arguments);
    demo.wait_for(line);
    demo.signal_group("INT");
    let (status, said, complaints) = demo.finish();
    assert_eq!(status.code(), Some(130), "{said}");
    assert_eq!(complaints, "");
    assert!(said.contains("Interrupted. The worker was stopped in good order."), "{said}");
    assert_eq!(temp.processes(), [0_u32; 0]);

    let next = temp.run(&arguments);
    let said = text(&next.stdout);
    assert!(next.status.success(), "{said}\n{}", text(&next.stderr));
    assert!(said.contains("Every order ended exactly right"), "{said}");
}

#[test]
fn files_that_nobody_asked_for_are_removed() {
    let temp = Temp::new("int-files");
    let mut demo = Running::start(&temp, &["--orders", "3"]);
    demo.wait_for("charging the card");
    demo.signal_group("INT");
    let (status, said, _) = demo.finish();
    assert_eq!(status.code(), Some(130), "{said}");
    temp.assert_clean();
}

#[test]
fn at_the_beginning() {
    interrupt_after("A shop on abide", "int-begin");
}

#[test]
fn as_soon_as_there_is_a_worker() {
    interrupt_after("A worker was started", "int-worker");
}

#[test]
fn in_the_middle_of_a_payment() {
    interrupt_after("charging the card", "int-payment");
}

#[test]
fn while_there_is_no_worker() {
    interrupt_after("The worker was killed", "int-killed");
}

#[test]
fn as_soon_as_there_is_another_worker() {
    interrupt_after("Another worker was started", "int-another");
}

#[test]
fn while_an_order_is_delivered() {
    interrupt_after("out for delivery", "int-delivery");
}

#[test]
fn a_termination_is_as_good_as_an_interruption() {
    let temp = Temp::new("term");
    let mut demo = Running::start(&temp, &["--orders", "3"]);
    demo.wait_for("charging the card");
    demo.signal("TERM");
    let (status, _, complaints) = demo.finish();
    assert_eq!((status.code(), complaints.as_str()), (Some(143), ""));
    temp.assert_clean();
}

#[test]
fn a_worker_does_not_outlive_its_shop() {
    let temp = Temp::new("kill");
    let mut demo = Running::start(&temp, &["--orders", "3"]);
    demo.wait_for("charging the card");
    demo.signal("KILL");
    let (status, _, complaints) = demo.finish();
    assert_eq!((status.signal(), complaints.as_str()), (Some(9), ""));
    // Nobody is left who would tell when it has ended.
    while !temp.processes().is_empty() {
        std::thread::yield_now();
    }
}
