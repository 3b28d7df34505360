//! Appending a past: a commit that nobody leased, described by its events alone.

use abide_model::{Event, Timestamp};
use abide_provider::Turn;
use abide_provider::rows::CommitRows;

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
        let turn = Turn::of_past(execution_id, events);
        let rows = CommitRows::of(turn).map_err(|error| Refusal::invalid(&error))?;
        self.check_order(instance, &rows)?;
        self.write(instance, rows, now);
        Ok(())
    }
}
