//! Finding out whether a pooler gives every transaction another session.
//!
//! Settings, prepared statements, locks and `LISTEN` belong to a session. Behind a pooler in transaction or
//! statement mode they reach whichever session is free: ours get lost, and other applications get them. So
//! this is found out before anything is set.

use std::sync::Arc;
use std::time::Duration;

use abide_model::Clock;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::connect::{Purpose, Target, connect_bare, within};
use crate::error::CallError;
use crate::schema::Schema;

/// How long the second connection may take. A pooler in session mode may have no second session to give.
const PATIENCE: Duration = Duration::from_secs(2);

/// Which session this is, of which run of the server.
const WHICH: &str = "SELECT pg_backend_pid() || ' since ' || pg_postmaster_start_time()";

/// Whether two connections share sessions, or one connection changes its session.
///
/// Two connections take turns, so that it shows with one session behind the pooler, with several of which the
/// last one used comes first, and with several that are used in turn.
pub(crate) async fn is_between(
    first: &Client,
    target: &Target,
    schema: &Schema,
    clock: &Arc<dyn Clock>,
) -> Result<bool, CallError> {
    let own = which(first).await?;
    let connected = within(&**clock, PATIENCE, connect_bare(target, schema, Purpose::Opening, clock));
    let (second, _driver) = match connected.await {
        Ok(connected) => connected,
        Err(error) => {
            tracing::debug!(target: "abide::postgres", error = %error.message,
                "no second connection: cannot tell whether there is a pooler in transaction mode");
            return Ok(which(first).await? != own);
        }
    };
    let other = which(&second).await?;
    let mut is_shared = own == other;
    for (client, expected) in [(first, &own), (first, &own), (&second, &other), (&second, &other)] {
        is_shared = is_shared || which(client).await? != *expected;
    }
    Ok(is_shared)
}

async fn which(client: &Client) -> Result<String, CallError> {
    // Not a prepared statement, which would stay behind in somebody's session.
    let messages = client.simple_query(WHICH).await?;
    let row = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(ToOwned::to_owned),
        SimpleQueryMessage::CommandComplete(_) | SimpleQueryMessage::RowDescription(_) | _ => None,
    });
    row.ok_or_else(|| CallError::unknown("the server did not say which session this is"))
}
