//! Processes that share the file, and what they leave behind when they die.

use rusqlite::params;

use super::Tx;
use super::work::PromotedWork;
use crate::statements::Sql;

/// Which other processes one tolerates on its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Company {
    Any,
    None,
}

impl Tx<'_, '_> {
    /// The lock files of the other processes, dead or alive, and which company each tolerates.
    pub(crate) fn owners(&self) -> rusqlite::Result<Vec<(String, Company)>> {
        let nobody = 0;
        self.sql.rows(Sql::ListOwners, [nobody], |row| {
            let company = if row.get(2)? { Company::None } else { Company::Any };
            Ok((row.get(1)?, company))
        })
    }

    pub(crate) fn register_owner(&self, lock_file: &str, company: Company) -> rusqlite::Result<i64> {
        let is_alone = company == Company::None;
        let no = self.sql.row(Sql::RegisterOwner, params![lock_file, is_alone], |row| row.get(0))?;
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
        // It may have left deleted mailboxes whose rows nobody removes.
        self.removal_changed();
        Ok(())
    }
}
