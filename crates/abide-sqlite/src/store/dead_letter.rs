//! Rows that cannot be read: tried again later, by this node or one that understands them, and then put aside.

use std::time::Duration;

use abide_model::{ErrorDetails, PoisonMessageType, WorkItem};
use abide_provider::Operation;
use abide_provider::rows::MessageRow;
use rusqlite::params;

use super::Tx;
use super::work_queue::WorkRow;
use crate::encode::{EncodedMessage, number};
use crate::statements::Sql;

/// How often a row that cannot be read is tried.
pub(crate) const MAX_ATTEMPTS: i64 = 10;

/// How long a row stays hidden after an attempt to read it failed.
fn back_off(attempts: i64) -> Duration {
    const LONGEST: u64 = 60;
    let doublings = u32::try_from(attempts.saturating_sub(1)).unwrap_or(0).min(6);
    Duration::from_secs(2_u64.pow(doublings).min(LONGEST))
}

impl Tx<'_, '_> {
    /// Counts the attempt; hides the message, or puts it aside.
    pub(crate) fn set_message_aside(
        &self,
        mailbox: (i64, &str),
        no: i64,
        attempts: i64,
    ) -> rusqlite::Result<()> {
        let (mailbox, instance) = mailbox;
        let attempts = attempts + 1;
        self.sql.execute(Sql::CountAttempt, [mailbox, no])?;
        if attempts > MAX_ATTEMPTS {
            tracing::warn!(target: "abide::sqlite", instance, number = no, attempts,
                "a message cannot be read and was moved to the dead letters");
            self.sql.execute(Sql::BuryMessage, params![mailbox, no, instance, self.now])?;
            self.sql.execute(Sql::DeleteMessage, [mailbox, no])?;
        } else {
            self.sql.execute(Sql::HideMessage, [mailbox, no, self.after(back_off(attempts))])?;
        }
        Ok(())
    }

    /// The same for work; whoever waits for it is told in the end.
    pub(crate) fn set_work_aside(&self, work: &WorkRow) -> rusqlite::Result<()> {
        let key = work.key;
        let attempts = work.attempts + 1;
        let at = [key.mailbox, key.execution, key.activity, key.no];
        if attempts > MAX_ATTEMPTS {
            tracing::warn!(target: "abide::sqlite", instance = work.instance, activity = key.activity, attempts,
                "a work item cannot be read and was moved to the dead letters");
            self.sql.execute(Sql::BuryWork, params![at[0], at[1], at[2], at[3], work.instance, self.now])?;
            self.sql.execute(Sql::DeleteWork, at)?;
            self.enqueue_poison(work, attempts)?;
        } else {
            self.sql.execute(
                Sql::FreeWork,
                [at[0], at[1], at[2], at[3], self.after(back_off(attempts)), attempts],
            )?;
        }
        self.update_lane(work.session.as_deref(), &work.tag)
    }

    fn enqueue_poison(&self, work: &WorkRow, attempts: i64) -> rusqlite::Result<()> {
        let (execution_id, id) = (number(work.key.execution), number(work.key.activity));
        let details = ErrorDetails::Poison {
            attempt_count: u32::try_from(attempts).unwrap_or(u32::MAX),
            max_attempts: u32::try_from(MAX_ATTEMPTS).unwrap_or(u32::MAX),
            message_type: PoisonMessageType::Activity {
                instance: work.instance.clone(),
                execution_id,
                activity_name: "unknown".to_owned(),
                activity_id: id,
            },
            message: "the stored work item could not be read".to_owned(),
        };
        let item = WorkItem::ActivityFailed { instance: work.instance.clone(), execution_id, id, details };
        let row = MessageRow::of(item).map_err(|error| user_error(&error))?;
        let message = EncodedMessage::of(row, Operation::LeaseWork).map_err(|error| user_error(&error))?;
        self.enqueue(&message)
    }
}

/// Something of our own that cannot be written: reported like a failed conversion.
fn user_error(error: &dyn std::error::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(error.to_string().into())
}
