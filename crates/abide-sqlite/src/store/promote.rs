//! The passing of time: what is hidden becomes visible, what ran out becomes free.
//!
//! Runs at the start of every group. Each step is a seek if nothing is due, and takes a bounded
//! number of rows otherwise, oldest first; what is left is due at the next transaction, which follows at once.

use rusqlite::params;

use super::Tx;
use super::mailbox::Held;
use super::work::PromotedWork;
use crate::statements::Sql;
use crate::text::Text;

/// How many rows of each kind one transaction promotes.
const AT_ONCE: i64 = 1_000;

impl Tx<'_, '_> {
    /// Says whether there may be more.
    pub(crate) fn promote(&self) -> rusqlite::Result<More> {
        let counts = [
            self.void_expired_leases()?,
            self.show_due_messages()?,
            self.free_expired_work()?,
            self.show_hidden_work()?,
            self.free_expired_sessions()?,
        ];
        let full = usize::try_from(AT_ONCE).unwrap_or(usize::MAX);
        Ok(if counts.iter().any(|count| *count >= full) { More::Maybe } else { More::No })
    }

    fn void_expired_leases(&self) -> rusqlite::Result<usize> {
        let expired = self.sql.rows(Sql::ExpiredMailboxes, [self.now, AT_ONCE], |row| row.get(0))?;
        self.void_leases(&expired)
    }

    /// Ends leases without a commit: the attempt counts, unless it is that of a suspect whose code did not run.
    pub(crate) fn void_leases(&self, mailboxes: &[i64]) -> rusqlite::Result<usize> {
        for no in mailboxes {
            let Some(held) = self.held(*no)? else { continue };
            for message in held.lease.iter().filter(|lease| lease.counts).flat_map(|lease| &lease.batch) {
                self.sql.execute(Sql::CountAttempt, [*no, *message])?;
            }
            self.show_messages(&held)?;
            self.release(&held)?;
        }
        Ok(mailboxes.len())
    }

    fn show_due_messages(&self) -> rusqlite::Result<usize> {
        let due: Vec<i64> = self.sql.rows(Sql::DueMailboxes, [self.now, AT_ONCE], |row| row.get(0))?;
        for no in &due {
            if let Some(held) = self.held(*no)? {
                self.show_messages(&held)?;
                self.release(&held)?;
            }
        }
        Ok(due.len())
    }

    fn show_messages(&self, mailbox: &Held) -> rusqlite::Result<()> {
        let is_due = || {
            let first = self.sql.row(Sql::FirstHiddenMessage, [mailbox.no], |row| row.get::<_, i64>(0))?;
            Ok::<_, rusqlite::Error>(first.is_some_and(|time| time <= self.now))
        };
        if mailbox.flags.has_block && is_due()? {
            self.start_retry_clock(mailbox.no)?;
        }
        self.sql.execute(Sql::ShowMessages, [mailbox.no, self.now])?;
        Ok(())
    }

    fn free_expired_work(&self) -> rusqlite::Result<usize> {
        let expired = self.sql.rows(Sql::ExpiredWork, [self.now, AT_ONCE], PromotedWork::read)?;
        self.free_work(&expired)?;
        Ok(expired.len())
    }

    fn show_hidden_work(&self) -> rusqlite::Result<usize> {
        let hidden = self.sql.rows(Sql::HiddenWork, [self.now, AT_ONCE], PromotedWork::read)?;
        self.free_work(&hidden)?;
        Ok(hidden.len())
    }

    fn free_expired_sessions(&self) -> rusqlite::Result<usize> {
        let expired: Vec<Text> =
            self.sql.rows(Sql::ExpiredSessions, [self.now, AT_ONCE], |row| row.get(0))?;
        for name in &expired {
            self.sql.execute(Sql::FreeSession, [name])?;
            self.sql.execute(Sql::HoldLanes, params![name, ""])?;
        }
        Ok(expired.len())
    }
}

/// Whether something due was left for the next transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum More {
    Maybe,
    No,
}
