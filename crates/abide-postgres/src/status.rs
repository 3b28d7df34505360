//! How an instance stands, without its history.

use abide_model::{ErrorDetails, Event, EventKind, ExecutionStatus, OrchestrationStatus};
use tokio_postgres::Row;

use crate::encode::number;
use crate::read::StoredHistory;
use crate::text::unspell;

/// How an instance stands, as stored.
#[derive(Debug)]
pub(crate) struct StoredStatus {
    status: String,
    output: Option<String>,
    custom_status: Option<String>,
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

const NO_STATUS: &str = "its status is none";

impl StoredStatus {
    /// Reads the columns of `read_statuses`.
    pub(crate) fn of(row: &Row) -> Self {
        Self {
            status: row.get(2),
            output: row.get::<_, Option<String>>(3).map(unspell),
            custom_status: row.get::<_, Option<String>>(4).map(unspell),
            custom_status_version: number(row.get(5)),
            last_turn: row.get::<_, Option<String>>(6).map(|turn| StoredHistory::of_turns(vec![turn])),
        }
    }

    pub(crate) fn decode(self) -> Result<OrchestrationStatus, Unreadable> {
        let status: ExecutionStatus =
            self.status.parse().map_err(|_| Unreadable::Row(NO_STATUS.to_owned()))?;
        let (custom_status, custom_status_version) = (self.custom_status, self.custom_status_version);
        Ok(match status {
            ExecutionStatus::Running | ExecutionStatus::ContinuedAsNew => {
                OrchestrationStatus::Running { custom_status, custom_status_version }
            }
            ExecutionStatus::Completed => {
                let output = self.output.unwrap_or_default();
                OrchestrationStatus::Completed { output, custom_status, custom_status_version }
            }
            ExecutionStatus::Failed => {
                let details = failure(self.last_turn).map_err(Unreadable::History)?;
                OrchestrationStatus::Failed { details, custom_status, custom_status_version }
            }
        })
    }
}

/// What the last event of an execution that failed says about it.
fn failure(last_turn: Option<StoredHistory>) -> Result<ErrorDetails, String> {
    let events = last_turn.map_or(Ok(Vec::new()), |turn| turn.decode(0))?;
    match events.into_iter().next_back() {
        Some(Event { kind: EventKind::OrchestrationFailed { details }, .. }) => Ok(details),
        Some(_) | None => Err("its current execution failed, and does not end with why".to_owned()),
    }
}
