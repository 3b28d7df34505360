//! Where an execution stands, as text and back.

use abide_model::ExecutionStatus;
use expect_test::expect;

#[test]
fn every_status_is_stored_under_its_name() {
    let table: Vec<String> = ExecutionStatus::ALL
        .iter()
        .map(|status| {
            assert_eq!(format!("{status:?}"), status.to_string());
            format!("{status:<14} terminal: {}", status.is_terminal())
        })
        .collect();
    expect![[r#"
        Running        terminal: false
        Completed      terminal: true
        Failed         terminal: true
        ContinuedAsNew terminal: true
    "#]]
    .assert_eq(&(table.join("\n") + "\n"));
}

#[test]
fn every_status_is_read_back_from_its_text() {
    for status in ExecutionStatus::ALL {
        assert_eq!(status.as_str().parse(), Ok(status));
    }
}

#[test]
fn another_text_is_an_error_that_quotes_it() {
    for text in ["", "running", "Running ", "Cancelled"] {
        let error = text.parse::<ExecutionStatus>().unwrap_err();
        assert_eq!(error.to_string(), format!("unknown execution status '{text}'"));
    }
}
