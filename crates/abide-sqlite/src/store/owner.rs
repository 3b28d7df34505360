//! Processes that share the file, and what they leave behind when they die.

use super::Tx;
use super::work::PromotedWork;
use crate::statements::Sql;

impl Tx<'_, '_> {
    pub(crate) fn register_owner(&self, lock_file: &str) -> rusqlite::Result<i64> {
        let no = self.sql.row(Sql::RegisterOwner, [lock_file], |row| row.get(0))?;
        no.ok_or(rusqlite::Error::QueryReturnedNoRows)
    }

    /// Voids every lease of a process that is gone. Its attempts count: it may have died of them, and one that closes in
    /// good order has given back what it held.
    pub(crate) fn bury_owner(&self, no: i64) -> rusqlite::Result<()> {
        let mailboxes: Vec<i64> = self.sql.rows(Sql::MailboxesOfOwner, [no], |row| row.get(0))?;
        self.void_leases(&mailboxes)?;
        let work = self.sql.rows(Sql::WorkOfOwner, [no], PromotedWork::read)?;
        self.free_work(&work)?;
        self.sql.execute(Sql::NodesOfOwner, [no])?;
        self.sql.execute(Sql::ForgetOwner, [no])?;
        Ok(())
    }
}
