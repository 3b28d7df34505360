//! Mail that waits for a start: each message for so long, and then it is gone.
//!
//! While a name is no instance and has nothing in its queue that starts it, its mailbox has a flag, and all its
//! messages say when they expire. Nothing can lease them meanwhile. Every call that finds the mailbox by its
//! name removes what has expired first, so the flag is all that other calls pay for this. A start takes the flag
//! away and leaves the times, which then mean nothing: it costs the same however much mail there is.

use abide_provider::MAIL_WAITS_FOR_START;
use rusqlite::params;

use super::Tx;
use super::mailbox::{Brief, Existence, Flags, Held};
use crate::encode::{EncodedMessage, column};
use crate::statements::Sql;

impl Tx<'_, '_> {
    /// Removes what has expired from a mailbox; and the mailbox, if it holds nothing else.
    pub(crate) fn forget_expired(&self, mailbox: Brief) -> rusqlite::Result<Option<Brief>> {
        let last = self.sql.row(Sql::LastExpiry, [mailbox.no], |row| row.get::<_, i64>(0))?;
        let is_over = last.is_none_or(|last| last <= self.now);
        if !is_over || self.sql.row(Sql::HasWork, [mailbox.no], |_| Ok(()))?.is_some() {
            self.delete_expired(mailbox.no)?;
            return Ok(Some(mailbox));
        }
        self.sql.execute(Sql::DeleteMailbox, [mailbox.no])?;
        if last.is_some() {
            // However many messages there are: they are removed in parts, like those of a deleted instance.
            self.sql.execute(Sql::BuryMailbox, [mailbox.no, 0])?;
            self.removal_changed();
        }
        Ok(None)
    }

    /// Removes what has expired from a mailbox.
    pub(crate) fn delete_expired(&self, mailbox: i64) -> rusqlite::Result<()> {
        self.sql.execute(Sql::DeleteExpired, [mailbox, self.now])?;
        Ok(())
    }

    /// When a message expires that is put into a mailbox without an instance: never if something starts it.
    pub(crate) fn expiry_of(
        &self,
        mailbox: &mut Brief,
        message: &EncodedMessage,
        visible_at: i64,
    ) -> rusqlite::Result<Option<i64>> {
        if message.class.starts() {
            self.stop_waiting(mailbox.no, &mut mailbox.flags)?;
            return Ok(None);
        }
        // What can be leased, or is leased, has a start.
        let has_start = mailbox.ready
            || mailbox.leased
            || message.class.needs_instance()
            || (!mailbox.flags.waits_for_start && self.has_start(mailbox.no)?);
        if has_start {
            return Ok(None);
        }
        self.set_waiting(mailbox.no, &mut mailbox.flags)?;
        Ok(Some(visible_at.max(self.now).saturating_add(wait())))
    }

    /// To be called when a turn was written: its mailbox may have become an instance, or have lost what was to
    /// start it.
    pub(crate) fn settle_waiting(&self, mailbox: &mut Held) -> rusqlite::Result<()> {
        match mailbox.existence() {
            Existence::Instance => self.stop_waiting(mailbox.no, &mut mailbox.flags),
            Existence::MailboxOnly if self.has_start(mailbox.no)? => {
                mailbox.flags.waits_for_start = false; // whoever sent the start has seen to it
                Ok(())
            }
            Existence::MailboxOnly => self.start_waiting(mailbox),
        }
    }

    /// Nothing is left in a mailbox that would start it: what is left waits from now on, and what blocked the
    /// start is over.
    pub(crate) fn start_waiting(&self, mailbox: &mut Held) -> rusqlite::Result<()> {
        if mailbox.flags.has_block {
            self.sql.execute(Sql::DeleteBlock, [mailbox.no])?;
            mailbox.flags.has_block = false;
        }
        if self.sql.execute(Sql::LetMailWait, params![mailbox.no, self.now, wait()])? > 0 {
            self.set_waiting(mailbox.no, &mut mailbox.flags)?;
        }
        Ok(())
    }

    fn set_waiting(&self, mailbox: i64, flags: &mut Flags) -> rusqlite::Result<()> {
        self.removal_changed();
        if !flags.waits_for_start {
            flags.waits_for_start = true;
            self.sql.execute(Sql::SetFlags, [mailbox, flags.column()])?;
        }
        Ok(())
    }

    /// Its mail waits no more: it stays until somebody reads it.
    fn stop_waiting(&self, mailbox: i64, flags: &mut Flags) -> rusqlite::Result<()> {
        if flags.waits_for_start {
            flags.waits_for_start = false;
            self.sql.execute(Sql::SetFlags, [mailbox, flags.column()])?;
        }
        Ok(())
    }

    /// Looks at up to `most` messages whose time is over: removes those that have expired, with the mailboxes that
    /// hold nothing else, and keeps the others. Says how many they were.
    pub(crate) fn remove_expired(&self, most: i64) -> rusqlite::Result<i64> {
        let over = self.sql.rows(Sql::ExpiredMessages, [self.now, most], |row| {
            let at: [i64; 3] = [row.get(0)?, row.get(1)?, row.get(2)?];
            Ok((at, row.get::<_, i64>(3)? != 0))
        })?;
        for (at @ [mailbox, ..], is_waiting) in &over {
            if !is_waiting {
                self.sql.execute(Sql::KeepMessage, *at)?;
                continue;
            }
            self.sql.execute(Sql::DeleteMessageAt, *at)?;
            let holds_something = self.sql.row(Sql::FirstMessage, [*mailbox], |_| Ok(()))?.is_some()
                || self.sql.row(Sql::HasWork, [*mailbox], |_| Ok(()))?.is_some();
            if !holds_something {
                self.sql.execute(Sql::DeleteMailbox, [*mailbox])?;
            }
        }
        Ok(i64::try_from(over.len()).unwrap_or(i64::MAX))
    }
}

/// How long a message waits, in milliseconds.
fn wait() -> i64 {
    column(u64::try_from(MAIL_WAITS_FOR_START.as_millis()).unwrap_or(u64::MAX))
}
