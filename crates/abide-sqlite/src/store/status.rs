//! How an instance stands, without its history.

use abide_model::{ErrorDetails, Event, EventKind, ExecutionStatus, OrchestrationStatus};
use rusqlite::Row;

use super::read::StoredHistory;
use crate::encode::number;
use crate::statements::{Sql, Statements};
use crate::text::Text;

/// How an instance stands, as stored; decoded by whoever asked.
#[derive(Debug)]
pub(crate) struct StoredStatus {
    status: Text,
    output: Option<Text>,
    custom_status: Option<Text>,
    custom_status_version: u64,
    /// Of one that failed: what its execution ended with.
    last_turn: Option<StoredHistory>,
}

/// Why it cannot be told how an instance stands.
#[derive(Debug)]
pub(crate) enum Unreadable {
    Row(String),
    History(String),
}

impl StoredStatus {
    /// Reads the columns that `read_status` returns behind the first two.
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            status: row.get(2)?,
            output: row.get(3)?,
            custom_status: row.get(4)?,
            custom_status_version: row.get::<_, Option<i64>>(5)?.map_or(0, number),
            last_turn: None,
        })
    }

    /// Of an instance whose first turn has not been committed yet.
    fn waiting_to_start() -> Self {
        Self {
            status: Text::from(ExecutionStatus::Running.as_str()),
            output: None,
            custom_status: None,
            custom_status_version: 0,
            last_turn: None,
        }
    }

    pub(crate) fn decode(self) -> Result<OrchestrationStatus, Unreadable> {
        let text = |text: Option<Text>| text.map(Text::decode).transpose().map_err(Unreadable::Row);
        let status = self.status.decode().map_err(Unreadable::Row)?;
        let status: ExecutionStatus = status.parse().map_err(|_| Unreadable::Row(NO_STATUS.to_owned()))?;
        let (custom_status, custom_status_version) = (text(self.custom_status)?, self.custom_status_version);
        Ok(match status {
            ExecutionStatus::Running | ExecutionStatus::ContinuedAsNew => {
                OrchestrationStatus::Running { custom_status, custom_status_version }
            }
            ExecutionStatus::Completed => {
                let output = text(self.output)?.unwrap_or_default();
                OrchestrationStatus::Completed { output, custom_status, custom_status_version }
            }
            ExecutionStatus::Failed => {
                let details = failure(self.last_turn).map_err(Unreadable::History)?;
                OrchestrationStatus::Failed { details, custom_status, custom_status_version }
            }
        })
    }
}

const NO_STATUS: &str = "its status is none";

/// What the last event of an execution that failed says about it.
fn failure(last_turn: Option<StoredHistory>) -> Result<ErrorDetails, String> {
    let events = last_turn.map_or(Ok(Vec::new()), |turn| turn.decode(0))?;
    match events.into_iter().next_back() {
        Some(Event { kind: EventKind::OrchestrationFailed { details }, .. }) => Ok(details),
        Some(_) | None => Err("its current execution failed, and does not end with why".to_owned()),
    }
}

impl Statements<'_> {
    /// How an instance stands; `None` if it is none, and nothing waits to start it.
    pub(crate) fn status(&self, instance: &str) -> rusqlite::Result<Option<StoredStatus>> {
        let found = self.row(Sql::ReadStatus, [instance], |row| {
            Ok((StoredStatus::read(row)?, [row.get::<_, i64>(0)?, row.get(1)?]))
        })?;
        let Some((mut stored, execution)) = found else {
            let waits = self.row(Sql::WaitsToStart, [instance], |_| Ok(()))?;
            return Ok(waits.map(|()| StoredStatus::waiting_to_start()));
        };
        if stored.status == Text::from(ExecutionStatus::Failed.as_str()) {
            stored.last_turn = StoredHistory::read_last(self, execution)?;
        }
        Ok(Some(stored))
    }
}
