//! The key-value store of an instance: what is settled, and what the current execution changed.

use abide_provider::rows::KvRows;
use rusqlite::params;

use super::Tx;
use crate::encode::column;
use crate::statements::Sql;

impl Tx<'_, '_> {
    pub(crate) fn change_kv(&self, mailbox: i64, rows: &KvRows) -> rusqlite::Result<()> {
        if rows.clear_all {
            self.sql.execute(Sql::KvClearDelta, [mailbox])?;
            self.sql.execute(Sql::KvClearStore, [mailbox])?;
        }
        for (key, entry) in &rows.changes {
            let (value, updated_at) = match entry {
                Some(entry) => (Some(&entry.value), column(entry.last_updated_at_ms)),
                None => (None, 0),
            };
            self.sql.execute(Sql::KvChange, params![mailbox, key, value, updated_at])?;
        }
        if rows.fold && self.sql.row(Sql::KvAnyDelta, [mailbox], |_| Ok(()))?.is_some() {
            self.sql.execute(Sql::KvFoldTombstones, [mailbox])?;
            self.sql.execute(Sql::KvFoldValues, [mailbox])?;
            self.sql.execute(Sql::KvEmptyDelta, [mailbox])?;
        }
        Ok(())
    }
}
