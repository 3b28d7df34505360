//! Rows of a source, as they are stored there.

use rusqlite::{Connection, Params, Row};

/// A column that holds a time: milliseconds, or a text as SQLite writes it.
macro_rules! millis {
    ($column:literal) => {
        concat!(
            "CASE typeof(",
            $column,
            ") WHEN 'integer' THEN ",
            $column,
            " WHEN 'text' THEN CAST(strftime('%s', ",
            $column,
            ") AS INTEGER) * 1000 END"
        )
    };
}

/// An instance with all that belongs to it, but for its messages and activities.
#[derive(Debug, Clone, Default)]
pub(super) struct SourceInstance {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) version: String,
    pub(super) current_execution: i64,
    pub(super) created_at: Option<i64>,
    pub(super) updated_at: Option<i64>,
    pub(super) parent: Option<String>,
    pub(super) custom_status: Option<String>,
    pub(super) custom_status_version: i64,
    pub(super) executions: Vec<SourceExecution>,
    /// What finished executions left: key, value, and when it was written.
    pub(super) settled: Vec<(String, String, i64)>,
    /// What the current execution changed; no value is a cleared key.
    pub(super) delta: Vec<(String, Option<String>, i64)>,
}

/// An execution with its history.
#[derive(Debug, Clone, Default)]
pub(super) struct SourceExecution {
    pub(super) no: i64,
    pub(super) status: String,
    pub(super) output: Option<String>,
    pub(super) started_at: Option<i64>,
    pub(super) completed_at: Option<i64>,
    /// Major, minor and patch.
    pub(super) pin: [Option<i64>; 3],
    /// Their numbers, and their JSON.
    pub(super) events: Vec<(i64, String)>,
}

/// A message for an instance.
#[derive(Debug, Clone, Default)]
pub(super) struct SourceMessage {
    /// For whom, if the row says so.
    pub(super) instance: Option<String>,
    pub(super) item: String,
    pub(super) visible_at: Option<i64>,
    pub(super) attempts: i64,
    /// The current execution of that instance, and its status.
    pub(super) current: Option<(i64, String)>,
}

/// An activity.
#[derive(Debug, Clone, Default)]
pub(super) struct SourceWork {
    pub(super) item: String,
    pub(super) visible_at: Option<i64>,
    pub(super) attempts: i64,
}

/// Who owned a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceSession {
    pub(crate) name: String,
    pub(crate) owner: String,
    pub(crate) locked_until: i64,
    pub(crate) last_active_at: i64,
}

/// Whether a row holds something that does not belong there, as opposed to a file that cannot be read.
pub(super) fn is_unreadable_row(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..)
    )
}

/// The ids of all instances, in the order of their creation.
pub(super) fn instance_ids(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let sql = concat!("SELECT instance_id FROM instances ORDER BY ", millis!("created_at"), ", rowid");
    rows(connection, sql, [], |row| row.get(0))
}

/// Reads an instance; `None` if there is no such.
pub(super) fn instance(connection: &Connection, id: &str) -> rusqlite::Result<Option<SourceInstance>> {
    let sql = concat!(
        "SELECT orchestration_name, orchestration_version, current_execution_id, ",
        millis!("created_at"),
        ", ",
        millis!("updated_at"),
        ", parent_instance_id, custom_status, custom_status_version FROM instances WHERE instance_id = ?1"
    );
    let found = rows(connection, sql, [id], |row| {
        Ok(SourceInstance {
            id: id.to_owned(),
            name: row.get(0)?,
            version: row.get(1)?,
            current_execution: row.get(2)?,
            created_at: row.get(3)?,
            updated_at: row.get(4)?,
            parent: row.get(5)?,
            custom_status: row.get(6)?,
            custom_status_version: row.get(7)?,
            ..SourceInstance::default()
        })
    })?;
    let Some(mut instance) = found.into_iter().next() else { return Ok(None) };
    instance.executions = executions(connection, id)?;
    instance.settled = rows(
        connection,
        "SELECT key, value, last_updated_at_ms FROM kv_store WHERE instance_id = ?1 ORDER BY key",
        [id],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    instance.delta = rows(
        connection,
        "SELECT key, value, last_updated_at_ms FROM kv_delta WHERE instance_id = ?1 ORDER BY key",
        [id],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )?;
    Ok(Some(instance))
}

fn executions(connection: &Connection, id: &str) -> rusqlite::Result<Vec<SourceExecution>> {
    let sql = concat!(
        "SELECT execution_id, status, output, ",
        millis!("started_at"),
        ", ",
        millis!("completed_at"),
        ", duroxide_version_major, duroxide_version_minor, duroxide_version_patch FROM executions \
         WHERE instance_id = ?1 ORDER BY execution_id"
    );
    let mut executions = rows(connection, sql, [id], |row| {
        Ok(SourceExecution {
            no: row.get(0)?,
            status: row.get(1)?,
            output: row.get(2)?,
            started_at: row.get(3)?,
            completed_at: row.get(4)?,
            pin: [row.get(5)?, row.get(6)?, row.get(7)?],
            events: Vec::new(),
        })
    })?;
    for execution in &mut executions {
        execution.events = rows(
            connection,
            "SELECT event_id, event_data FROM history WHERE instance_id = ?1 AND execution_id = ?2 ORDER BY event_id",
            (id, execution.no),
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
    }
    Ok(executions)
}

/// Reads every message, in the order in which they were sent. Early releases had a table of their own for
/// timers.
pub(super) fn messages(
    connection: &Connection,
    mut visit: impl FnMut(rusqlite::Result<SourceMessage>),
) -> rusqlite::Result<()> {
    let sql = concat!(
        "SELECT q.instance_id, q.work_item, ",
        millis!("q.visible_at"),
        ", q.attempt_count, i.current_execution_id, e.status FROM orchestrator_queue AS q \
         LEFT JOIN instances AS i ON i.instance_id = q.instance_id \
         LEFT JOIN executions AS e ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id \
         ORDER BY q.id"
    );
    each(connection, sql, |row| {
        visit(SourceMessage::read(row));
    })?;
    let sql = "SELECT i.instance_id, t.work_item, NULL, 0, i.current_execution_id, e.status FROM timer_queue AS t \
               LEFT JOIN instances AS i \
               ON i.instance_id = CASE WHEN json_valid(t.work_item) THEN t.work_item ->> '$.TimerFired.instance' END \
               LEFT JOIN executions AS e ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id \
               ORDER BY t.id";
    each(connection, sql, |row| visit(SourceMessage::read(row)))
}

impl SourceMessage {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let (execution, status): (Option<i64>, Option<String>) = (row.get(4)?, row.get(5)?);
        Ok(Self {
            instance: row.get(0)?,
            item: row.get(1)?,
            visible_at: row.get(2)?,
            attempts: row.get(3)?,
            current: execution.map(|execution| (execution, status.unwrap_or_default())),
        })
    }
}

/// Reads every activity, in the order in which they were scheduled.
pub(super) fn work(
    connection: &Connection,
    mut visit: impl FnMut(rusqlite::Result<SourceWork>),
) -> rusqlite::Result<()> {
    let sql =
        concat!("SELECT work_item, ", millis!("visible_at"), ", attempt_count FROM worker_queue ORDER BY id");
    each(connection, sql, |row| {
        let read = || Ok(SourceWork { item: row.get(0)?, visible_at: row.get(1)?, attempts: row.get(2)? });
        visit(read());
    })
}

/// Reads every session.
pub(super) fn sessions(connection: &Connection) -> rusqlite::Result<Vec<SourceSession>> {
    let sql =
        "SELECT session_id, worker_id, locked_until, last_activity_at FROM sessions ORDER BY session_id";
    rows(connection, sql, [], |row| {
        Ok(SourceSession {
            name: row.get(0)?,
            owner: row.get(1)?,
            locked_until: row.get(2)?,
            last_active_at: row.get(3)?,
        })
    })
}

fn rows<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare_cached(sql)?.query_map(params, read)?.collect()
}

fn each(connection: &Connection, sql: &str, mut visit: impl FnMut(&Row<'_>)) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        visit(row);
    }
    Ok(())
}
