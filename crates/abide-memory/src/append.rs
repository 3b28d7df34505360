//! Appending a past: a commit that nobody leased, described by its events alone.

use abide_model::{Event, EventKind, ExecutionStatus, Timestamp};
use abide_provider::rows::CommitRows;
use abide_provider::{ExecutionMetadata, Turn};
use semver::Version;

use crate::refusal::Refusal;
use crate::state::State;

impl State {
    pub(crate) fn append(
        &mut self,
        instance: &str,
        execution_id: u64,
        events: Vec<Event>,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let metadata = metadata_of(&events);
        let turn = Turn { execution_id, events, metadata, ..Turn::default() };
        let rows = CommitRows::of(turn).map_err(|error| Refusal::invalid(&error))?;
        self.check_order(instance, &rows)?;
        self.write(instance, rows, now);
        Ok(())
    }
}

/// Name, version and parent are in the rows already, which take them from the start event.
fn metadata_of(events: &[Event]) -> ExecutionMetadata {
    let started = events.iter().find(|event| matches!(event.kind, EventKind::OrchestrationStarted { .. }));
    let pinned_duroxide_version = started.and_then(|event| Version::parse(&event.duroxide_version).ok());
    let end = events.iter().rev().find_map(|event| end_of(&event.kind));
    let (status, output) = end.map(|(status, output)| (status.as_str().to_owned(), output)).unzip();
    ExecutionMetadata { status, output, pinned_duroxide_version, ..ExecutionMetadata::default() }
}

fn end_of(kind: &EventKind) -> Option<(ExecutionStatus, String)> {
    if let EventKind::OrchestrationCompleted { output } = kind {
        Some((ExecutionStatus::Completed, output.clone()))
    } else if let EventKind::OrchestrationFailed { details } = kind {
        Some((ExecutionStatus::Failed, details.display_message()))
    } else if let EventKind::OrchestrationContinuedAsNew { input } = kind {
        Some((ExecutionStatus::ContinuedAsNew, input.clone()))
    } else {
        None
    }
}
