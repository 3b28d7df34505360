//! Importing what another engine recorded.
//!
//! Instances come first, each in a transaction, and the queues last, in one. Until then an instance that is
//! to continue is closed: messages that clients send to it wait, and nothing can lease it. Two tables
//! remember how far the import is. They exist only in a store that something was imported into.

use std::collections::BTreeSet;

use abide_model::ExecutionStatus;
use abide_provider::{Operation, Rejection, StoreError};
use rusqlite::{OptionalExtension, params};

use super::Tx;
use super::mailbox::Held;
use super::work::PromotedWork;
use crate::duroxide::{
    ExecutionTimes, ImportedInstance, ImportedMessage, ImportedQueues, ImportedWork, SourceSession,
};
use crate::encode::visible_column;
use crate::error::Failure;
use crate::statements::{Sql, Statements};
use crate::text::Text;
use crate::token::WorkKey;

/// `source` is the identity of what is imported, and `path` where it was then. `finished_at` is set with the
/// queues. `mailbox` tells an imported instance from another one that was started under its id.
const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS duroxide_import (
        source TEXT PRIMARY KEY, path TEXT NOT NULL, started_at INTEGER NOT NULL, finished_at INTEGER
    ) STRICT;
    CREATE TABLE IF NOT EXISTS duroxide_imported (
        id TEXT PRIMARY KEY, mailbox INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;";

/// More attempts than any limit that an instance can have. A damaged count must not keep the writer busy.
const MOST_ATTEMPTS: u32 = 1_000;

/// What a store holds of an import.
#[derive(Debug)]
pub(crate) enum Standing {
    /// It can begin, or continue, if nothing collides.
    Possible {
        progress: Progress,
        /// Ids that the store has, and not from this import.
        collisions: Vec<String>,
    },
    /// Another import is not complete.
    Unfinished { path: String },
}

/// How far an import is.
#[derive(Debug)]
pub(crate) enum Progress {
    New,
    Interrupted { done: Vec<String> },
    Finished,
}

/// Says what the store holds of the import of `source`, and which of these ids collide.
pub(crate) fn standing(sql: &Statements<'_>, source: &str, ids: &[String]) -> rusqlite::Result<Standing> {
    let progress = match progress(sql, source)? {
        Ok(progress) => progress,
        Err(path) => return Ok(Standing::Unfinished { path }),
    };
    let done: BTreeSet<&String> = match &progress {
        Progress::Finished => return Ok(Standing::Possible { progress, collisions: Vec::new() }),
        Progress::New => BTreeSet::new(),
        Progress::Interrupted { done } => done.iter().collect(),
    };
    let mut collisions = Vec::new();
    for id in ids.iter().filter(|id| !done.contains(id)) {
        if exists(sql, id)? {
            collisions.push(id.clone());
        }
    }
    Ok(Standing::Possible { progress, collisions })
}

/// How far the import is; or the path of another one that is not complete.
fn progress(sql: &Statements<'_>, source: &str) -> rusqlite::Result<Result<Progress, String>> {
    let connection = sql.connection();
    let known = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'duroxide_import'";
    if connection.query_row(known, [], |_| Ok(())).optional()?.is_none() {
        return Ok(Ok(Progress::New));
    }
    let finished: Option<bool> = connection
        .query_row("SELECT finished_at IS NOT NULL FROM duroxide_import WHERE source = ?1", [source], |row| {
            row.get(0)
        })
        .optional()?;
    let other: Option<String> = connection
        .query_row(
            "SELECT path FROM duroxide_import WHERE finished_at IS NULL AND source <> ?1",
            [source],
            |row| row.get(0),
        )
        .optional()?;
    Ok(match (finished, other) {
        (Some(true), _) => Ok(Progress::Finished),
        (_, Some(path)) => Err(path),
        (None, None) => Ok(Progress::New),
        (Some(false), None) => {
            let mut statement = connection.prepare("SELECT id FROM duroxide_imported")?;
            let done = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
            Ok(Progress::Interrupted { done })
        }
    })
}

/// Whether the store has an instance of this name, or a message that starts one.
fn exists(sql: &Statements<'_>, id: &str) -> rusqlite::Result<bool> {
    let found = sql.row(Sql::BriefById, [id], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?;
    Ok(match found {
        None => false,
        Some((_, execution)) if execution > 0 => true,
        Some((no, _)) => sql.row(Sql::HasStart, [no], |_| Ok(()))?.is_some(),
    })
}

impl Tx<'_, '_> {
    /// Remembers that an import is under way, if it is possible.
    pub(crate) fn begin_import(
        &self,
        source: &str,
        path: &str,
        ids: &[String],
    ) -> rusqlite::Result<Standing> {
        let standing = standing(self.sql, source, ids)?;
        if let Standing::Possible { progress: Progress::New, collisions } = &standing
            && collisions.is_empty()
        {
            let connection = self.sql.connection();
            connection.execute_batch(TABLES)?;
            connection.execute(
                "INSERT INTO duroxide_import (source, path, started_at) VALUES (?1, ?2, ?3)",
                params![source, path, self.now],
            )?;
        }
        Ok(standing)
    }

    /// Writes an instance, without messages and activities.
    pub(crate) fn import_instance(&self, instance: &ImportedInstance) -> Result<(), Failure> {
        self.refuse_discarded()?;
        let connection = self.sql.connection();
        if exists(self.sql, &instance.id)? {
            return Err(collides(&instance.id));
        }
        for turn in &instance.turns {
            self.append(&instance.id, turn).map_err(undone)?;
        }
        let mailbox = self.brief_or_new(&instance.id)?.no;
        for ExecutionTimes { no, started_at, completed_at } in &instance.executions {
            connection
                .prepare_cached(
                    "UPDATE execution SET started_at = ?3, completed_at = ?4 WHERE mailbox = ?1 AND no = ?2",
                )?
                .execute(params![mailbox, no, started_at, completed_at])?;
        }
        connection
            .prepare_cached(
                "UPDATE mailbox SET created_at = ?2, updated_at = ?3, completed_at = ?4 WHERE no = ?1",
            )?
            .execute(params![mailbox, instance.created_at, instance.updated_at, instance.completed_at])?;
        self.change_kv(mailbox, &instance.settled)?;
        self.change_kv(mailbox, &instance.delta)?;
        if let Some((value, version)) = &instance.custom_status {
            self.sql.execute(Sql::SetCustomStatus, params![mailbox, value])?;
            connection
                .prepare_cached("UPDATE custom_status SET version = ?2 WHERE mailbox = ?1")?
                .execute(params![mailbox, version])?;
        }
        connection
            .prepare_cached("INSERT INTO duroxide_imported (id, mailbox) VALUES (?1, ?2)")?
            .execute(params![instance.id, mailbox])?;
        self.close(mailbox)?;
        Ok(())
    }

    /// Closes an instance that is to continue, until its queues are there.
    fn close(&self, mailbox: i64) -> rusqlite::Result<()> {
        let continues = |held: &Held| {
            matches!(held.status, Some(ExecutionStatus::Running | ExecutionStatus::ContinuedAsNew))
        };
        if let Some(mut held) = self.held(mailbox)?.filter(continues) {
            held.flags.is_closed = true;
            self.release(&held)?;
        }
        Ok(())
    }

    /// Opens what was closed and is still there.
    fn open_imported(&self) -> rusqlite::Result<()> {
        let mut imported = self.sql.connection().prepare("SELECT mailbox FROM duroxide_imported")?;
        let mailboxes: Vec<i64> =
            imported.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        for mailbox in mailboxes {
            if let Some(mut held) = self.held(mailbox)?.filter(|held| held.flags.is_closed) {
                held.flags.is_closed = false;
                self.release(&held)?;
            }
        }
        Ok(())
    }

    /// Refuses to continue an import that was discarded meanwhile.
    fn refuse_discarded(&self) -> Result<(), Failure> {
        let under_way = "SELECT 1 FROM duroxide_import WHERE finished_at IS NULL";
        if self.sql.connection().prepare_cached(under_way)?.exists([])? {
            return Ok(());
        }
        let message = "the import was discarded meanwhile; import again to begin anew";
        Err(StoreError::rejected(Operation::Import, Rejection::Conflict, message).into())
    }

    /// Deletes up to `most` instances that an import left which is not complete. Returns how many, or `None`
    /// once nothing is left of it.
    pub(crate) fn discard_import(&self, most: i64) -> Result<Option<u64>, Failure> {
        if progress(self.sql, "")?.is_ok() {
            return Ok(None);
        }
        let connection = self.sql.connection();
        let mut imported =
            connection.prepare_cached("SELECT id, mailbox FROM duroxide_imported ORDER BY id LIMIT ?1")?;
        let part: Vec<(String, i64)> = imported
            .query_map([most], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        if part.is_empty() {
            connection.execute("DELETE FROM duroxide_import WHERE finished_at IS NULL", [])?;
            return Ok(None);
        }
        let mut deleted = 0;
        for (id, no) in part {
            if let Some(mailbox) = self.mailbox_by_no(no)? {
                self.erase_one(mailbox)?;
                deleted += 1;
            }
            connection.prepare_cached("DELETE FROM duroxide_imported WHERE id = ?1")?.execute([id])?;
        }
        Ok(Some(deleted))
    }

    /// Writes messages, activities and sessions. The import is complete, and what is imported can be leased.
    pub(crate) fn finish_import(&self, source: &str, queues: &ImportedQueues) -> Result<(), Failure> {
        self.refuse_discarded()?;
        self.refuse_started_meanwhile(queues)?;
        self.open_imported()?;
        for session in &queues.sessions {
            self.import_session(session)?;
        }
        for message in &queues.messages {
            self.import_message(message)?;
        }
        for work in &queues.work {
            self.import_work(work)?;
        }
        let connection = self.sql.connection();
        connection.execute(
            "UPDATE duroxide_import SET finished_at = ?2 WHERE source = ?1",
            params![source, self.now],
        )?;
        connection.execute("DELETE FROM duroxide_imported", [])?;
        Ok(())
    }

    /// What the source is about to start may have been started here since the import began.
    fn refuse_started_meanwhile(&self, queues: &ImportedQueues) -> Result<(), Failure> {
        let mut known = self.sql.connection().prepare("SELECT 1 FROM duroxide_imported WHERE id = ?1")?;
        for ImportedMessage { message, .. } in &queues.messages {
            let is_start = message.class.starts() && !known.exists([&message.to])?;
            if is_start && exists(self.sql, &message.to)? {
                return Err(collides(&message.to));
            }
        }
        Ok(())
    }

    /// A session that the store has already stays as it is.
    fn import_session(&self, session: &SourceSession) -> rusqlite::Result<()> {
        let SourceSession { name, owner, locked_until, last_active_at } = session;
        let name = Text::from(name.as_str());
        if self.sql.row(Sql::LoadSession, [&name], |_| Ok(()))?.is_none() {
            self.sql.execute(Sql::ClaimSession, params![name, owner, locked_until, last_active_at])?;
        }
        Ok(())
    }

    /// Attempts are counted while a message is visible, so one that has some is hidden afterwards.
    fn import_message(
        &self,
        ImportedMessage { message, attempts }: &ImportedMessage,
    ) -> rusqlite::Result<()> {
        if self.is_gone(&message.to)? {
            return Ok(());
        }
        if *attempts == 0 {
            return self.enqueue(message);
        }
        let visible_at = visible_column(message.visible_at);
        let mailbox = match self.brief_by_id(&message.to)? {
            None if message.class.needs_instance() => return Ok(()), // nothing will ever read it
            None => self.brief_or_new(&message.to)?,
            Some(mailbox) => mailbox,
        };
        let before = self.counter.get().number;
        let _outcome = self.deliver(mailbox, message, 0)?;
        let number = self.counter.get().number;
        if number == before {
            return Ok(()); // a queue message that nothing will ever read: it was dropped
        }
        for _ in 0..(*attempts).min(MOST_ATTEMPTS) {
            self.sql.execute(Sql::CountAttempt, [mailbox.no, number])?;
        }
        if visible_at > self.now {
            self.sql.execute(Sql::HideMessage, [mailbox.no, number, visible_at])?;
        }
        if let Some(held) = self.held(mailbox.no)?.filter(|_| !mailbox.leased) {
            self.release(&held)?;
        }
        Ok(())
    }

    /// Whether an instance was imported and deleted since. Another one may have its id by now.
    fn is_gone(&self, id: &str) -> rusqlite::Result<bool> {
        let imported: Option<i64> = self
            .sql
            .connection()
            .prepare_cached("SELECT mailbox FROM duroxide_imported WHERE id = ?1")?
            .query_row([id], |row| row.get(0))
            .optional()?;
        let Some(imported) = imported else { return Ok(false) };
        Ok(self.brief_by_id(id)?.is_none_or(|mailbox| mailbox.no != imported))
    }

    /// No process has the source open, so nothing of it is leased.
    fn import_work(
        &self,
        ImportedWork { work, visible_at, attempts }: &ImportedWork,
    ) -> rusqlite::Result<()> {
        if self.is_gone(&work.instance)? {
            return Ok(());
        }
        let mailbox = self.brief_or_new(&work.instance)?.no;
        if self.held(mailbox)?.is_some_and(|held| has_ended(&held, work.execution)) {
            return Ok(());
        }
        self.insert_work(mailbox, work)?;
        let hidden_until = if *visible_at > self.now { *visible_at } else { 0 };
        if hidden_until > 0 || *attempts > 0 {
            let no = self.counter.get().number;
            let key = WorkKey { mailbox, execution: work.execution, activity: work.activity, no };
            let work = PromotedWork::new(key, self.intern_work(work.route.clone())?, work.session.clone());
            self.free_as(&work, hidden_until, i64::from(*attempts))?;
        }
        Ok(())
    }
}

/// Whether an execution is over, so that nothing waits for its activities.
fn has_ended(held: &Held, execution: i64) -> bool {
    held.execution > execution
        || (held.execution == execution && held.status != Some(ExecutionStatus::Running))
}

fn collides(id: &str) -> Failure {
    let message = format!("instance '{id}' was started in this store while it was imported");
    StoreError::rejected(Operation::Import, Rejection::Conflict, message).into()
}

/// A refusal after the first write must undo the transaction.
fn undone(failure: Failure) -> Failure {
    match failure {
        Failure::Refused(error) => {
            Failure::Database(rusqlite::Error::ToSqlConversionFailure(Box::new(error)))
        }
        Failure::Database(error) => Failure::Database(error),
    }
}
