//! Whether other nodes are there to be told anything.
//!
//! Every node holds a lock of its schema for as long as it listens. It is shared, so it keeps nobody out, but the server lists who holds it.
//! A node takes it first, looks who else has it, and greets them if there are any. So of two nodes the later one sees the earlier one, and
//! that one hears of it; both may have seen each other, but never neither. Who has seen nobody tells nobody, until it hears something.

use tokio_postgres::Client;

use super::connection::SHORT;
use super::notice::hash;
use crate::connect::within;
use crate::error::CallError;
use crate::schema::Schema;
use crate::shared::Shared;
use crate::statements::Sql;

/// Of the two numbers of the lock, the one that all schemas have in common. Locks with two numbers are apart from those with one, which
/// migrations take.
const CLASS: i32 = 0x6162_6964;

/// Takes the lock for as long as the session lasts; says which session that is.
const JOIN: &str = "SELECT pg_backend_pid() FROM pg_advisory_lock_shared($1::integer, $2::integer)";

/// Who else there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Company {
    Nobody,
    /// Or it is not known.
    Somebody,
}

/// From now on the others see that this session listens. Says which one it is.
pub(crate) async fn join(client: &Client, schema: &Schema) -> Result<i32, CallError> {
    Ok(client.query_one(JOIN, &[&CLASS, &number_of(schema)]).await?.try_get(0)?)
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
