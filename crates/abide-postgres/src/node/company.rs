//! Whether other nodes are there to be told anything.
//!
//! Every node holds a lock of its schema for as long as it listens. It is shared, so it keeps nobody out, but the server lists who holds it.
//! A node takes it first, looks who else has it, and greets them if there are any. So of two nodes the later one sees the earlier one, and
//! that one hears of it; both may have seen each other, but never neither. Who has seen nobody tells nobody, until it hears something.

use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Transaction};

use super::notice::hash;
use super::patience::SHORT;
use crate::connect::within;
use crate::error::CallError;
use crate::schema::Schema;
use crate::shared::Shared;
use crate::statements::Sql;

/// Of the two numbers of the lock, the one that all schemas have in common. Locks with two numbers are apart from those with one, which
/// migrations take.
const CLASS: i32 = 0x6162_6964;

/// Takes the lock for as long as the session lasts, and with it the one that tells which store listens; says which session that is.
const JOIN: &str = "
    SELECT pg_backend_pid() FROM pg_advisory_lock_shared($1::integer, $2::integer) AS schema, pg_advisory_lock_shared($3::bigint) AS store";

/// Takes the lock alone, until the end of the transaction, if no node holds it.
const KEEP_OUT: &str = "SELECT pg_try_advisory_xact_lock($1::integer, $2::integer)";

/// The sessions that hold it.
const PRESENT: &str = "
    SELECT format('%s (process %s of the server, from %s)', coalesce(nullif(a.application_name, ''), 'a node'), l.pid,
                  coalesce(host(a.client_addr), 'the server itself'))
    FROM pg_locks AS l LEFT JOIN pg_stat_activity AS a USING (pid)
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 AND l.classid = $1::integer::oid AND l.objid = $2::integer::oid
      AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())
    ORDER BY l.pid";

/// Who else there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Company {
    Nobody,
    /// Or it is not known.
    Somebody,
}

/// From now on the others see that this session listens. Says which one it is.
pub(crate) async fn join(client: &Client, shared: &Shared) -> Result<i32, CallError> {
    let values: [&(dyn ToSql + Sync); 3] = [&CLASS, &number_of(&shared.schema), &shared.node];
    Ok(client.query_one(JOIN, &values).await?.try_get(0)?)
}

/// Makes sure that no node is there, and that none joins until the transaction ends. False if there is one.
pub(crate) async fn keep_out(
    transaction: &Transaction<'_>,
    schema: &Schema,
) -> Result<bool, tokio_postgres::Error> {
    transaction.query_one(KEEP_OUT, &[&CLASS, &number_of(schema)]).await?.try_get(0)
}

/// The nodes that are there, for people who have to stop them.
pub(crate) async fn present(
    transaction: &Transaction<'_>,
    schema: &Schema,
) -> Result<Vec<String>, tokio_postgres::Error> {
    let rows = transaction.query(PRESENT, &[&CLASS, &number_of(schema)]).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// Looks who else is there. Whatever goes wrong with it, there may be somebody.
pub(crate) async fn look_around(client: &Client, shared: &Shared) -> Company {
    shared.counts.statement(Sql::Alone);
    let number = number_of(&shared.schema);
    let asked = within(&*shared.settings.clock, SHORT, async {
        let row = client.query_one(shared.texts.get(Sql::Alone), &[&CLASS, &number]).await?;
        Ok(row.try_get::<_, bool>(0)?)
    });
    match asked.await {
        Ok(true) => Company::Nobody,
        Ok(false) => Company::Somebody,
        Err(error) => {
            tracing::debug!(target: "abide::postgres", error = %error.message, "cannot see whether other nodes are there");
            Company::Somebody
        }
    }
}

/// The other number of the lock. Two schemas with the same one keep each other company, which costs them a few notices.
fn number_of(schema: &Schema) -> i32 {
    // 31 bits, so that the server, to which it is no signed number, shows the same.
    i32::try_from(hash(&schema.channel()) >> 33).unwrap_or_default()
}
