//! Processes that share the file, and what they leave behind when they die.

use super::Tx;
use super::lease::Attempt;
use super::work::PromotedWork;
use crate::statements::Sql;

impl Tx<'_, '_> {
    pub(crate) fn register_owner(&self, lock_file: &str) -> rusqlite::Result<i64> {
        let no = self.sql.row(Sql::RegisterOwner, [lock_file], |row| row.get(0))?;
        no.ok_or(rusqlite::Error::QueryReturnedNoRows)
    }

    /// Voids every lease of a process that is gone. If it died, its attempts count: it may have died of them.
    pub(crate) fn bury_owner(&self, no: i64, attempt: Attempt) -> rusqlite::Result<()> {
        let mailboxes: Vec<i64> = self.sql.rows(Sql::MailboxesOfOwner, [no], |row| row.get(0))?;
        self.void_leases(&mailboxes, attempt)?;
        let work = self.sql.rows(Sql::WorkOfOwner, [no], PromotedWork::read)?;
        self.free_work(&work, attempt)?;
        self.sql.execute(Sql::ForgetOwner, [no])?;
        Ok(())
    }
}
