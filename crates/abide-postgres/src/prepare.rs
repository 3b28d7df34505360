//! Getting a server and a schema ready, before the first call.
//!
//! Nothing here is done by halves: what is lost on the way is begun anew.

use std::time::Duration;

use tokio_postgres::{Client, Row};

use crate::connect::{Driver, Purpose, SETTINGS, Target, connect_bare, within};
use crate::error::{CallError, CallErrorKind, OpenError};
use crate::migrate::{Stopped, migrate};
use crate::node::sessions::count_stalled;
use crate::node::worker::Pauses;
use crate::options::Settings;
use crate::pooler;
use crate::shared::Shared;

/// How long the server may take to say what it is, and to come back if it was there.
const PATIENCE: Duration = Duration::from_secs(10);

/// The oldest server that has what we use.
const OLDEST: i32 = 140_000;

const ABOUT_SERVER: &str =
    "SELECT current_setting('server_version_num')::int, current_setting('server_version'),
                                    current_setting('server_encoding'), current_setting('fsync'),
                                    current_setting('synchronous_commit')";

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
    let Settings { target, listen_target, clock, .. } = &shared.settings;
    let (mut client, _driver) = open_session(target, shared).await?;
    *was_there = true;
    if listen_target.place != target.place {
        match open_session(listen_target, shared).await {
            Err(unfit @ Unprepared::For(_)) => return Err(unfit),
            // Nothing depends on notices: the listener connects when it can.
            Ok(_) | Err(Unprepared::Lost(_)) => {}
        }
    }
    let asked = within(&**clock, PATIENCE, async { Ok(client.query_one(ABOUT_SERVER, &[]).await?) });
    check_server(&asked.await.map_err(Unprepared::Lost)?, shared).map_err(Unprepared::For)?;
    look_for_stall(&client, shared).await.map_err(Unprepared::Lost)?;
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

/// A connection with its settings, once it is known that it has a session of its own.
async fn open_session(target: &Target, shared: &Shared) -> Result<(Client, Driver), Unprepared> {
    let clock = &shared.settings.clock;
    let connected = connect_bare(target, &shared.schema, Purpose::Opening, clock).await;
    let (client, driver) = connected.map_err(Unprepared::Lost)?;
    let is_pooled =
        within(&**clock, PATIENCE, pooler::is_between(&client, target, &shared.schema, clock)).await;
    if is_pooled.map_err(Unprepared::Lost)? {
        return Err(Unprepared::For(OpenError::TransactionPooler { place: target.place.clone() }));
    }
    let set = within(&**clock, PATIENCE, async { Ok(client.batch_execute(SETTINGS).await?) }).await;
    set.map_err(Unprepared::Lost)?;
    Ok((client, driver))
}

/// Sessions of a process that was killed stay while they wait for a commit. A node that is started again and
/// again must not use up the server with its own.
async fn look_for_stall(client: &Client, shared: &Shared) -> Result<(), CallError> {
    let clock = &*shared.settings.clock;
    let waiting = match within(clock, PATIENCE, count_stalled(client, &shared.schema)).await {
        Err(error) if error.kind == CallErrorKind::NotApplied => 0, // Somebody has revoked the right to look.
        answer => answer?,
    };
    if waiting > 0 {
        tracing::warn!(target: "abide::postgres", place = %shared.settings.target.place, sessions = waiting,
            "sessions of this schema wait for the server to commit: this node opens one session until they are gone");
        shared.sessions.restrict(clock.monotonic());
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
    let (fsync, synchronous): (&str, &str) = (row.get(3), row.get(4));
    let without_sync = if fsync == "off" { ", fsync=off" } else { "" };
    // The server was asked before if the first try to open the store was cut short: then this is known.
    let _known = shared.durability.set(format!("synchronous_commit={synchronous}{without_sync}"));
    Ok(())
}
