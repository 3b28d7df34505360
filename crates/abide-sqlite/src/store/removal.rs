//! Removing the rows of deleted mailboxes, and mail that has waited for a start for too long, a few at a time.
//!
//! A deletion removes the rows of small mailboxes itself. Of a large one it removes the mailbox and what is leased, and leaves a
//! tombstone: nothing reads the other rows any more, because everything is found through its mailbox, and the number of a mailbox
//! is never used again. The writer then removes them in parts ([`writer::removal`](crate::writer)), also after a restart.
//!
//! Until the caller has counted the rows, the tombstone is held: nothing changes them, so the count is exact, and it is taken
//! beside the writer.

use std::time::Duration;

use abide_provider::{DeleteInstanceResult, StolenBecause};
use rusqlite::params;

use super::Tx;
use super::overview::Member;
use super::work::RemovedWork;
use super::work_queue::WorkRow;
use crate::encode::number;
use crate::statements::{Sql, Statements};
use crate::token::WorkKey;

/// What the rows that one transaction removes weigh at most together, unless a test wants less. A row counts as
/// one, and as one more for each 8 KiB of its payload. On an ordinary disk the removal takes some 20 ms.
pub(crate) const ROWS: i64 = 2_048;

/// A row counts as one more for each of these. `size_of_mailbox` and the `weigh_` statements repeat it.
pub(crate) const BYTES_OF_A_ROW: usize = 8_192;

/// How long a caller has to count the rows. It releases them when it has; only one that died makes the removal wait.
const HOLD: Duration = Duration::from_secs(60);

/// How many rows one statement of a part removes. The time is checked in between.
const STEP: i64 = 16;

/// What these rows weigh at most together: some 1 MiB. A row that weighs more is a step.
const STEP_WEIGHT: i64 = 128;

/// The first rows that together weigh no more than this: how many, and their weight. One row at least.
pub(crate) fn rows_within(weights: &[i64], most: i64) -> (usize, i64) {
    let (mut rows, mut total) = (0, 0_i64);
    for weight in weights {
        let with_this = total.saturating_add(*weight);
        if rows > 0 && with_this > most {
            break;
        }
        (rows, total) = (rows + 1, with_this);
    }
    (rows, total)
}

/// What a deletion did, and what is still to be counted.
#[derive(Debug, Default)]
pub(crate) struct Erased {
    pub(crate) result: DeleteInstanceResult,
    /// Mailboxes whose rows are held until they are counted.
    pub(crate) held: Vec<i64>,
}

impl Erased {
    pub(crate) fn add(&mut self, other: Self) {
        self.result.add(&other.result);
        self.held.extend(other.held);
    }
}

impl Tx<'_, '_> {
    /// What the rows of a mailbox weigh, beside its own. Weighs at most one row of each kind more than `most`.
    pub(crate) fn size_of(&self, mailbox: i64, most: i64) -> rusqlite::Result<i64> {
        let size = self.sql.row(Sql::SizeOfMailbox, [mailbox, most.saturating_add(1)], |row| row.get(0))?;
        Ok(size.unwrap_or(0))
    }

    /// Deletes a mailbox; its rows follow later. Whoever holds a lease on its work is told now. Says how many rows of work
    /// that removed.
    pub(crate) fn entomb(&self, member: &Member) -> rusqlite::Result<u64> {
        self.sql.execute(Sql::DeleteMailbox, [member.no])?;
        self.sql.execute(Sql::DeleteBlock, [member.no])?;
        self.sql.execute(Sql::BuryMailbox, [member.no, self.after(HOLD)])?;
        self.removal_changed();
        if self.sql.row(Sql::HasWork, [member.no], |_| Ok(()))?.is_none() {
            return Ok(0);
        }
        let leased = self.sql.rows(Sql::LeasedWorkOf, [member.no], |row| {
            let key = WorkKey {
                mailbox: member.no,
                execution: row.get(0)?,
                activity: row.get(1)?,
                no: row.get(2)?,
            };
            Ok(RemovedWork::new(key, row.get(3)?, row.get(4)?, row.get(5)?))
        })?;
        for work in &leased {
            self.sql.execute(Sql::DeleteWork, work.key().columns())?;
        }
        self.tell_removed(&leased, |_| StolenBecause::InstanceDeleted)?;
        Ok(u64::try_from(leased.len()).unwrap_or(u64::MAX))
    }

    /// The rows of these were counted, or nobody waits for the count.
    pub(crate) fn release_tombstones(&self, mailboxes: &[i64]) -> rusqlite::Result<()> {
        for mailbox in mailboxes {
            self.sql.execute(Sql::ReleaseTombstone, [mailbox])?;
        }
        self.removal_changed();
        Ok(())
    }

    /// Removes rows of one deleted mailbox, or mail that has expired if there is none, until `is_over` says that
    /// this took long enough.
    pub(crate) fn remove_part(&self, mut is_over: impl FnMut() -> bool) -> rusqlite::Result<()> {
        self.removal_changed();
        let mailbox = self.sql.row(Sql::DueTombstone, [self.now], |row| row.get::<_, i64>(0))?;
        let mut left = self.removal_rows;
        let Some(mailbox) = mailbox else {
            loop {
                let step = STEP.min(left);
                let removed = self.remove_expired(step)?;
                left -= removed;
                if removed < step || left <= 0 || is_over() {
                    return Ok(());
                }
            }
        };
        for table in TABLES {
            loop {
                let weights = self.sql.rows(table.weigh, [mailbox, STEP], |row| row.get::<_, i64>(0))?;
                let (rows, weight) = rows_within(&weights, STEP_WEIGHT.min(left));
                if rows == 0 {
                    break;
                }
                if weight > left && left < self.removal_rows {
                    return Ok(());
                }
                self.remove_step(table.remove, mailbox, i64::try_from(rows).unwrap_or(STEP))?;
                left -= weight;
                if left <= 0 || is_over() {
                    return Ok(());
                }
                if rows == weights.len() && i64::try_from(rows).is_ok_and(|rows| rows < STEP) {
                    break;
                }
            }
        }
        self.sql.execute(Sql::DeleteCustomStatus, [mailbox])?;
        self.sql.execute(Sql::DeleteTombstone, [mailbox])?;
        Ok(())
    }

    fn remove_step(&self, remove: Sql, mailbox: i64, most: i64) -> rusqlite::Result<()> {
        if remove == Sql::RemoveWork {
            let removed = self
                .sql
                .rows(remove, [mailbox, most], |row| RemovedWork::read(row, (mailbox, row.get(5)?)))?;
            self.tell_removed(&removed, |_| StolenBecause::InstanceDeleted)
        } else {
            self.sql.execute(remove, [mailbox, most]).map(drop)
        }
    }

    /// Removes work of a deleted mailbox that a lease call met. Says whether it was such work.
    pub(crate) fn remove_dead_work(&self, work: &WorkRow) -> rusqlite::Result<bool> {
        let is_dead = work.instance.is_none()
            && self.sql.row(Sql::IsTombstone, [work.key.mailbox], |_| Ok(()))?.is_some();
        if is_dead {
            self.sql.execute(Sql::DeleteWork, work.key.columns())?;
            self.update_lane(work.session.as_ref(), work.route)?;
        }
        Ok(is_dead)
    }
}

/// A table with rows of mailboxes: what its next rows weigh, and the statement that removes them.
struct Table {
    weigh: Sql,
    remove: Sql,
}

/// What a deleted mailbox has, in the order of its removal: work first, because lease calls meet it.
const TABLES: &[Table] = &[
    Table { weigh: Sql::WeighWork, remove: Sql::RemoveWork },
    Table { weigh: Sql::WeighMessages, remove: Sql::RemoveMessages },
    Table { weigh: Sql::WeighTurns, remove: Sql::RemoveTurns },
    Table { weigh: Sql::WeighExecutions, remove: Sql::RemoveExecutions },
    Table { weigh: Sql::WeighKvDelta, remove: Sql::RemoveKvDelta },
    Table { weigh: Sql::WeighKvStore, remove: Sql::RemoveKvStore },
];

impl Statements<'_> {
    /// What a held mailbox has, as a deletion counts it.
    pub(crate) fn count_deleted(&self, mailbox: i64) -> rusqlite::Result<DeleteInstanceResult> {
        let counted = self.row(Sql::CountDeleted, params![mailbox], |row| {
            let [executions, events, items] = [row.get(0)?, row.get(1)?, row.get(2)?].map(number);
            Ok(DeleteInstanceResult {
                instances_deleted: u64::from(executions > 0),
                executions_deleted: executions,
                events_deleted: events,
                queue_messages_deleted: items,
            })
        })?;
        Ok(counted.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::rows_within;

    #[test]
    fn as_many_rows_are_removed_as_the_limit_allows_and_one_at_least() {
        assert_eq!(rows_within(&[], 10), (0, 0));
        assert_eq!(rows_within(&[1, 2, 3], 10), (3, 6));
        assert_eq!(rows_within(&[4, 6, 1], 10), (2, 10));
        assert_eq!(rows_within(&[4, 7, 1], 10), (1, 4));
        assert_eq!(rows_within(&[11, 1], 10), (1, 11));
    }
}
