//! Rows that cannot be read: tried again later, by this node or one that understands them, and then put aside.

use abide_model::{ExecutionStatus, ScheduledActivityIdentifier, WorkItem};
use abide_provider::rows::MessageRow;
use abide_provider::unreadable::{Next, after, lost_start, poison};
use abide_provider::{Operation, ParentLink};
use rusqlite::params;

use super::Tx;
use super::mailbox::{ANY_START as START, CONTINUE, Existence, MailboxRow, Parent};
use super::work_queue::WorkRow;
use crate::encode::{EncodedMessage, number};
use crate::statements::Sql;
use crate::text::lossy_or_null;

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
        if let Next::Hide(pause) = after(count(attempts)) {
            self.sql.execute(Sql::HideMessage, [mailbox, no, self.after(pause)])?;
        } else {
            tracing::warn!(target: "abide::sqlite", instance, number = no, attempts,
                "a message cannot be read and was moved to the dead letters");
            let parent = self.parent_of_lost_start(mailbox, no)?;
            self.sql.execute(Sql::BuryMessage, params![mailbox, no, instance, self.now])?;
            self.sql.execute(Sql::DeleteMessage, [mailbox, no])?;
            if let Some(mut held) =
                self.held(mailbox)?.filter(|held| held.existence() == Existence::MailboxOnly)
                && !self.has_start(mailbox)?
            {
                self.start_waiting(&mut held)?;
            }
            if let Some((link, current)) = parent
                && let Some(told) = lost_start(instance, &link, current, count(attempts))
            {
                self.send(told, Operation::LeaseInstances)?;
            }
        }
        Ok(())
    }

    /// Who waits for the execution that a message would have started, and the current execution of that
    /// instance.
    fn parent_of_lost_start(&self, mailbox: i64, no: i64) -> rusqlite::Result<Option<(ParentLink, u64)>> {
        let told = self.sql.row(Sql::LinkOfMessage, [mailbox, no], |row| {
            let (execution, event): (Option<i64>, Option<i64>) = (row.get(2)?, row.get(3)?);
            let link = lossy_or_null(row, 1)?.map(|instance| ParentLink {
                instance,
                execution_id: execution.map(number),
                event_id: event.map(number),
            });
            Ok((row.get::<_, i64>(0)?, link))
        })?;
        let Some((class, link)) = told else { return Ok(None) };
        let child = self.mailbox_by_no(mailbox)?.filter(MailboxRow::is_instance);
        let of_instance = child.as_ref().and_then(|child| child.parent.as_ref()).map(Parent::link);
        let link = match class {
            // A second start of a child that has started changes nothing for its parent.
            START => link.filter(|link| of_instance.as_ref() != Some(link)),
            CONTINUE => of_instance
                .filter(|_| child.is_some_and(|child| child.status == Some(ExecutionStatus::ContinuedAsNew))),
            _ => None,
        };
        let Some(link) = link else { return Ok(None) };
        let parent = self.mailbox_by_id(&link.instance)?.filter(MailboxRow::is_instance);
        Ok(parent.map(|parent| (link, number(parent.execution))))
    }

    /// The same for work; whoever waits for it is told in the end.
    pub(crate) fn set_work_aside(&self, work: &WorkRow) -> rusqlite::Result<()> {
        let key = work.key;
        let attempts = work.attempts + 1;
        let at = [key.mailbox, key.execution, key.activity, key.no];
        if let Next::Hide(pause) = after(count(attempts)) {
            // Whoever comes next need not have its code to find out the same.
            let route = self.unreadable_work_route(work.route)?;
            self.sql
                .execute(Sql::FreeWork, [at[0], at[1], at[2], at[3], self.after(pause), attempts, route])?;
        } else {
            let instance = work.instance.as_deref().unwrap_or_default();
            tracing::warn!(target: "abide::sqlite", instance, activity = key.activity, attempts,
                "a work item cannot be read and was moved to the dead letters");
            self.sql.execute(Sql::BuryWork, params![at[0], at[1], at[2], at[3], instance, self.now])?;
            self.sql.execute(Sql::DeleteWork, at)?;
            self.enqueue_poison(work, attempts)?;
        }
        self.update_lane(work.session.as_ref(), work.route)
    }

    fn enqueue_poison(&self, work: &WorkRow, attempts: i64) -> rusqlite::Result<()> {
        let Some(instance) = work.instance.clone() else { return Ok(()) }; // nobody is there to be told
        let activity = ScheduledActivityIdentifier {
            instance,
            execution_id: number(work.key.execution),
            activity_id: number(work.key.activity),
        };
        self.send(poison(&activity, count(attempts)), Operation::LeaseWork)
    }

    /// Sends a message of our own.
    fn send(&self, item: WorkItem, operation: Operation) -> rusqlite::Result<()> {
        let row = MessageRow::of(item).map_err(|error| user_error(&error))?;
        let message = EncodedMessage::of(row, operation).map_err(|error| user_error(&error))?;
        self.enqueue(&message)
    }
}

fn count(attempts: i64) -> u32 {
    u32::try_from(attempts).unwrap_or(u32::MAX)
}

/// Something of our own that cannot be written: reported like a failed conversion.
fn user_error(error: &dyn std::error::Error) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(error.to_string().into())
}
