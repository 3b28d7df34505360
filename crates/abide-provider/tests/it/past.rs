//! A turn made of events alone: what they say about the execution is its metadata.

use abide_model::{ConfigErrorKind, ErrorDetails, Event, EventKind};
use abide_provider::rows::CommitRows;
use abide_provider::{ExecutionMetadata, ParentLink, Turn};
use semver::Version;

use crate::items::{completed, history, started};

fn metadata_of(kinds: impl IntoIterator<Item = EventKind>) -> ExecutionMetadata {
    Turn::of_past(1, history(kinds)).metadata
}

#[test]
fn a_start_tells_name_version_parent_and_pin() {
    let metadata = metadata_of([started("O", Some("p"))]);
    assert_eq!(metadata.orchestration_name.as_deref(), Some("O"));
    assert_eq!(metadata.orchestration_version.as_deref(), Some("1.0.0"));
    assert_eq!(metadata.parent_instance_id.as_deref(), Some("p"));
    assert_eq!(metadata.pinned_duroxide_version, Some(abide_provider::current_build_version()));
    assert_eq!((metadata.status, metadata.output), (None, None), "it goes on");
}

#[test]
fn an_end_tells_status_and_output() {
    let details = ErrorDetails::Configuration {
        kind: ConfigErrorKind::Nondeterminism,
        resource: String::new(),
        message: Some("other code".to_owned()),
    };
    let continued = EventKind::OrchestrationContinuedAsNew { input: "next".to_owned() };
    let table = [
        (completed(), "Completed", "done"),
        (EventKind::OrchestrationFailed { details }, "Failed", "nondeterministic: other code"),
        (continued, "ContinuedAsNew", "next"),
    ];
    for (end, status, output) in table {
        let metadata = metadata_of([started("O", None), end]);
        assert_eq!((metadata.status.as_deref(), metadata.output.as_deref()), (Some(status), Some(output)));
    }
}

#[test]
fn events_in_the_middle_tell_nothing() {
    let metadata = metadata_of([EventKind::KeyValuesCleared]);
    assert_eq!(format!("{metadata:?}"), format!("{:?}", ExecutionMetadata::default()));
}

#[test]
fn a_stamp_that_is_no_version_pins_nothing() {
    let stamped = |stamp: &str| {
        let stamp = stamp.to_owned();
        let events = history([started("O", None)]).into_iter();
        events.map(|event| Event { duroxide_version: stamp.clone(), ..event }).collect()
    };
    for (stamp, pin) in [("0.1.31", Some(Version::new(0, 1, 31))), ("", None), ("latest", None)] {
        let metadata = Turn::of_past(1, stamped(stamp)).metadata;
        assert_eq!(metadata.pinned_duroxide_version, pin, "{stamp:?}");
    }
}

#[test]
fn the_rows_of_a_past_know_the_whole_link_to_the_parent() {
    let rows = CommitRows::of(Turn::of_past(1, history([started("O", Some("p"))]))).unwrap();
    let parent = ParentLink { instance: "p".to_owned(), execution_id: Some(2), event_id: Some(5) };
    assert_eq!(rows.instance.parent, Some(parent));
    assert!(rows.creates_instance());
}
