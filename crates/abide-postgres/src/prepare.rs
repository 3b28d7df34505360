//! Getting a server and a schema ready, before the first call.
//!
//! Nothing here is done by halves: what is lost on the way is begun anew.

use std::time::Duration;

use tokio_postgres::Row;

use crate::connect::{Purpose, connect, within};
use crate::error::{CallError, CallErrorKind, OpenError};
use crate::migrate::{Stopped, migrate};
use crate::node::worker::Pauses;
use crate::options::Settings;
use crate::shared::Shared;

/// How long the server may take to say what it is, and to come back if it was there.
const PATIENCE: Duration = Duration::from_secs(10);

/// The oldest server that has what we use.
const OLDEST: i32 = 140_000;

const ABOUT_SERVER: &str =
    "SELECT current_setting('server_version_num')::int, current_setting('server_version'),
                                    current_setting('server_encoding'), current_setting('fsync')";

/// Whether another node has left rows of deleted instances. Asked here, so that a node that begins sends nothing of its own for it.
const ANY_REMOVAL: &str = "SELECT true FROM abide.tombstone AS t ORDER BY t.held_until LIMIT 1";

/// Looks at the server and the schema, with an executor of its own: the caller's may be another, or none.
pub(crate) fn prepare_here(shared: &Shared) -> Result<(), OpenError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(OpenError::Thread)?;
    runtime.block_on(until_prepared(shared))
}

/// A server that was there and goes away (it restarts, or somebody ends our connection) is waited for.
async fn until_prepared(shared: &Shared) -> Result<(), OpenError> {
    let Settings { target, clock, .. } = &shared.settings;
    let deadline = clock.monotonic().saturating_add(PATIENCE);
    let (mut pauses, mut was_there) = (Pauses::new(), false);
    loop {
        let lost = match prepare(shared, &mut was_there).await {
            Ok(()) => return Ok(()),
            Err(Unprepared::For(error)) => return Err(error),
            Err(Unprepared::Lost(error)) => error,
        };
        if !was_there || clock.monotonic() >= deadline {
            return Err(OpenError::Connect { place: target.place.clone(), reason: lost.message });
        }
        pauses.pause(shared).await;
    }
}

/// Why there is no store to be had.
enum Unprepared {
    /// The connection did not come about, or was lost.
    Lost(CallError),
    /// Something that trying again would not change.
    For(OpenError),
}

async fn prepare(shared: &Shared, was_there: &mut bool) -> Result<(), Unprepared> {
    let Settings { target, clock, .. } = &shared.settings;
    let connected = connect(target, &shared.schema, Purpose::Opening, &**clock, None).await;
    let (mut client, _driver) = connected.map_err(Unprepared::Lost)?;
    *was_there = true;
    let asked = within(&**clock, PATIENCE, async { Ok(client.query_one(ABOUT_SERVER, &[]).await?) });
    check_server(&asked.await.map_err(Unprepared::Lost)?, shared).map_err(Unprepared::For)?;
    migrate(&mut client, &shared.schema, &**clock).await.map_err(|stopped| match stopped {
        Stopped::Unfit(why) => Unprepared::For(why),
        Stopped::Failed(error) if error.kind == CallErrorKind::Unknown => Unprepared::Lost(error),
        Stopped::Failed(error) => {
            let schema = shared.schema.name().to_owned();
            Unprepared::For(OpenError::Migration { schema, reason: error.message })
        }
    })?;
    let left = shared.schema.qualify(ANY_REMOVAL);
    let asked = within(&**clock, PATIENCE, async { Ok(client.query_opt(&left, &[]).await?) });
    if asked.await.map_err(Unprepared::Lost)?.is_some() {
        shared.removals.begin();
    }
    Ok(())
}

/// Whether a server that says this about itself will do.
fn check_server(row: &Row, shared: &Shared) -> Result<(), OpenError> {
    if row.get::<_, i32>(0) < OLDEST {
        let place = shared.settings.target.place.clone();
        return Err(OpenError::OldServer { place, found: row.get(1) });
    }
    let encoding: String = row.get(2);
    if encoding != "UTF8" {
        return Err(OpenError::Encoding { found: encoding });
    }
    if row.get::<_, &str>(3) == "off" {
        tracing::warn!(target: "abide::postgres", place = %shared.settings.target.place,
            "this server runs with fsync=off: what it acknowledges may be lost in a crash");
    }
    Ok(())
}
