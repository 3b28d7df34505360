//! Bringing a schema up to date.
//!
//! Migrations are numbered, applied in one transaction each way, and never edited once released. Many nodes may start at once: one applies
//! them, under a lock that belongs to the schema, and the others wait for it and find nothing to do. Functions belong to
//! migrations: those of released ones are frozen in one file each, those of the newest are the files in functions/.
//!
//! A migration names the oldest schema version whose release may still work on the schema, which its row in the table
//! `migration` records: so a release can be rolled back after its successor has migrated the schema
//! (docs/adr/0018-let-a-release-work-on-its-successors-schema.md).

use std::time::Duration;

use abide_model::Clock;
use tokio_postgres::{Client, GenericClient, Transaction};

use crate::connect::within;
use crate::error::{CallError, OpenError};
use crate::node::company;
use crate::schema::Schema;

/// How long all of it may take. Another node may be at it, with much to do.
const PATIENCE: Duration = Duration::from_secs(600);

/// One step, as the files that make it up.
struct Migration {
    number: i64,
    /// The schema version of the oldest release that may work on the schema afterwards.
    oldest: i64,
    files: &'static [&'static str],
}

/// A migration's tables, then the functions in functions/, in an order in which each finds what it uses, then what becomes of the rows that
/// were there.
macro_rules! with_functions {
    ($tables:literal, $($name:literal,)* => $rows:literal) => {
        &[
            include_str!(concat!("../migrations/", $tables)),
            $(include_str!(concat!("../functions/", $name, ".sql")),)*
            include_str!(concat!("../migrations/", $rows)),
        ]
    };
}

const FIRST: Migration = Migration {
    number: 1,
    oldest: 1,
    files: &[
        include_str!("../migrations/0001_create_tables.sql"),
        include_str!("../migrations/0001_functions.sql"),
    ],
};

/// The functions in functions/ belong to the newest migration.
const SECOND: Migration = Migration {
    number: 2,
    oldest: 2,
    files: with_functions![
        "0002_safe_in_production.sql",
        "now",
        "later",
        "lasting",
        "standing",
        "batch",
        "new_route",
        "route_no",
        "new_work_route",
        "work_route_of",
        "routed",
        "takes_route",
        "ready_routes",
        "is_passed_by",
        "hand_out",
        "settle",
        "come_due",
        "lease_instances",
        "hold_sessions",
        "settle_lanes",
        "use_sessions",
        "next_work_route",
        "ready_work_routes",
        "route_after",
        "work_come_due",
        "sessions_come_due",
        "next_work_due",
        "has_ready_work",
        "grant_work",
        "near_work",
        "taken_up_to",
        "older_work",
        "lease_work",
        "register",
        "unregister",
        "forget_expired",
        "await_start",
        "lock_mailboxes",
        "has_mail",
        "verdict",
        "judge",
        "write_executions",
        "write_kv",
        "routes_of_work",
        "write_work",
        "is_expected",
        "post",
        "remove_timers",
        "take_back",
        "prunable",
        "drop_executions",
        "heal",
        "commit_turns",
        "commit_one",
        "finish_work",
        "enqueue_messages",
        "start_one",
        "enqueue_work",
        "renew_instances",
        "renew_work",
        "renew_sessions",
        "forget_sessions",
        "abandon_instances",
        "abandon_work",
        "set_messages_aside",
        "set_work_aside",
        "block_instance",
        "hold_work",
        "begin_instance",
        "begin_work",
        "retry_blocked",
        "revoke_work",
        "listening",
        "announce_node",
        "is_finished",
        "tree",
        "unborn",
        "size_of",
        "drop_unborn",
        "erase",
        "delete_instances",
        "delete_unborn",
        "remove_expired",
        "remove_part",
        "prune_executions",
        "tell",
        "rehearse",
        => "0002_rows.sql"
    ],
};

const MIGRATIONS: &[Migration] = &[FIRST, SECOND];

/// Which migrations were applied.
const REGISTER: &str =
    "CREATE TABLE abide.migration (number bigint PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())";

/// The newest migration that this build knows.
pub(crate) fn newest() -> i64 {
    MIGRATIONS.last().map_or(0, |migration| migration.number)
}

/// Creates the schema if it is missing, and applies what it lacks.
pub(crate) async fn migrate(client: &mut Client, schema: &Schema, clock: &dyn Clock) -> Result<(), Stopped> {
    let migrated = within(clock, PATIENCE, async { Ok(apply_missing(client, schema).await) }).await;
    migrated.map_err(Stopped::Failed)?
}

/// Why a migration went no further.
pub(crate) enum Stopped {
    /// A statement failed, or its answer was lost.
    Failed(CallError),
    /// The schema is none that this build may touch.
    Unfit(OpenError),
}

impl From<tokio_postgres::Error> for Stopped {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Failed(error.into())
    }
}

async fn apply_missing(client: &mut Client, schema: &Schema) -> Result<(), Stopped> {
    // Most nodes find everything done: they need no lock, and no right to create anything.
    if applied(client, schema).await?.is_some_and(|number| number >= newest()) {
        return Ok(());
    }
    let transaction = client.transaction().await?;
    // Whoever has it may have much to do.
    transaction.batch_execute("SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0").await?;
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
    transaction.execute(lock, &[&schema.channel()]).await?;
    let begun = begin(&transaction, schema).await?;
    let missing: Vec<&Migration> = MIGRATIONS.iter().filter(|migration| migration.number > begun).collect();
    let Some(last) = missing.last() else { return Ok(transaction.commit().await?) };
    refuse_older_nodes(&transaction, begun, last.oldest, schema).await?;
    for migration in &missing {
        for file in migration.files {
            transaction.batch_execute(&schema.qualify(file)).await?;
        }
        let note = schema.qualify("INSERT INTO abide.migration (number) VALUES ($1)");
        transaction.execute(&note, &[&migration.number]).await?;
    }
    let mark = schema.qualify("UPDATE abide.migration SET oldest = $2 WHERE number = $1");
    transaction.execute(&mark, &[&last.number, &last.oldest]).await?;
    Ok(transaction.commit().await?)
}

/// A node that works on the schema knows the version that it has. If the migration excludes that version, the node must
/// stop first. None can join until the transaction ends.
async fn refuse_older_nodes(
    transaction: &Transaction<'_>,
    begun: i64,
    oldest: i64,
    schema: &Schema,
) -> Result<(), Stopped> {
    if begun == 0 || oldest <= begun || company::keep_out(transaction, schema).await? {
        return Ok(());
    }
    let nodes = company::present(transaction, schema).await?;
    let schema = schema.name().to_owned();
    Err(Stopped::Unfit(OpenError::OlderNodes { schema, found: begun, known: newest(), nodes }))
}

/// Makes sure that the schema is there and ours; says which migration it has got to.
async fn begin(transaction: &Transaction<'_>, schema: &Schema) -> Result<i64, Stopped> {
    if let Some(number) = applied(transaction, schema).await? {
        return Ok(number);
    }
    let contents = "SELECT c.relname::text FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
                    WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f') ORDER BY c.relname LIMIT 1";
    if let Some(row) = transaction.query_opt(contents, &[&schema.name()]).await? {
        return Err(Stopped::Unfit(OpenError::Foreign {
            schema: schema.name().to_owned(),
            found: row.get(0),
        }));
    }
    let exists = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)";
    if !transaction.query_one(exists, &[&schema.name()]).await?.get::<_, bool>(0) {
        let create = format!("CREATE SCHEMA {}", schema.quoted());
        transaction.batch_execute(&create).await?;
    }
    transaction.batch_execute(&schema.qualify(REGISTER)).await?;
    Ok(0)
}

/// Which migration a schema has got to; `None` if it is not one of ours.
async fn applied(client: &impl GenericClient, schema: &Schema) -> Result<Option<i64>, Stopped> {
    // Not `to_regclass`: it asks the session's cache, which does not hear of what others made while we waited for them.
    // Other tools have a table of this name, too.
    let is_ours = "SELECT count(*) = 2 FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
                   JOIN pg_attribute AS a ON a.attrelid = c.oid
                   WHERE n.nspname = $1 AND c.relkind = 'r' AND a.atttypid = 'bigint'::regtype
                     AND (c.relname, a.attname) IN (('migration', 'number'), ('mailbox', 'batch_to'))";
    if !client.query_one(is_ours, &[&schema.name()]).await?.get::<_, bool>(0) {
        return Ok(None);
    }
    let newest_applied = schema.qualify("SELECT coalesce(max(number), 0) FROM abide.migration");
    let found: i64 = client.query_one(&newest_applied, &[]).await?.get(0);
    if found <= newest() {
        return Ok(Some(found));
    }
    let mark = schema.qualify("SELECT oldest FROM abide.migration WHERE number = $1");
    let oldest: Option<i64> = client.query_one(&mark, &[&found]).await?.get(0);
    if oldest.is_some_and(|oldest| oldest <= newest()) {
        return Ok(Some(found));
    }
    let schema = schema.name().to_owned();
    Err(Stopped::Unfit(OpenError::NewerSchema { schema, found, oldest, known: newest() }))
}
