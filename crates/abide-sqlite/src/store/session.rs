//! Sessions: who owns them, and which of their work can be leased.

use std::collections::BTreeSet;
use std::time::Duration;

use abide_provider::{RenewSessions, SessionFetchConfig};
use rusqlite::params;

use super::Tx;
use crate::encode::column;
use crate::statements::Sql;
use crate::text::{Text, lossy};

impl Tx<'_, '_> {
    /// Makes the caller the owner of a session.
    pub(crate) fn claim_session(
        &self,
        name: &Text,
        config: &SessionFetchConfig,
        holder: &str,
    ) -> rusqlite::Result<()> {
        let until = self.after(config.lock_timeout);
        self.sql.execute(Sql::ClaimSession, params![name, config.owner_id, until, self.now])?;
        self.sql.execute(Sql::HoldLanes, params![name, holder])?;
        Ok(())
    }

    /// Notes that a session was used, if there is one and somebody owns it.
    pub(crate) fn use_session(&self, name: Option<&Text>) -> rusqlite::Result<()> {
        if let Some(name) = name {
            self.sql.execute(Sql::TouchSession, params![name, self.now])?;
        }
        Ok(())
    }

    /// New work of a session is the head of its lane if there is no other.
    pub(crate) fn add_to_lane(&self, session: Option<&Text>, route: i64, no: i64) -> rusqlite::Result<()> {
        if let Some(session) = session {
            self.sql.execute(Sql::NewLane, params![session, route, no, self.now])?;
        }
        Ok(())
    }

    /// Brings lanes up to date, each once.
    pub(crate) fn update_lanes(&self, lanes: &BTreeSet<(Option<&Text>, i64)>) -> rusqlite::Result<()> {
        lanes.iter().try_for_each(|(session, route)| self.update_lane(*session, *route))
    }

    /// Brings a lane up to date after its work has changed. Work without a session has none.
    pub(crate) fn update_lane(&self, session: Option<&Text>, route: i64) -> rusqlite::Result<()> {
        let Some(session) = session else { return Ok(()) };
        let head: Option<i64> = self.sql.row(Sql::LaneHead, params![session, route], |row| row.get(0))?;
        match head {
            None => self.sql.execute(Sql::DeleteLane, params![session, route])?,
            Some(head) => {
                let holder = self.session_holder(session)?;
                self.sql.execute(Sql::SaveLane, params![session, route, holder, head])?
            }
        };
        Ok(())
    }

    fn session_holder(&self, session: &Text) -> rusqlite::Result<String> {
        let owner =
            self.sql.row(Sql::LoadSession, [session], |row| Ok((lossy(row, 0)?, row.get::<_, i64>(1)?)))?;
        Ok(match owner {
            Some((owner, locked_until)) if locked_until > self.now => format!("={owner}"),
            Some(_) | None => String::new(),
        })
    }

    /// Extends the sessions of these owners that are still theirs and in use.
    pub(crate) fn renew_sessions(
        &self,
        owners: &[String],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> rusqlite::Result<usize> {
        let idle_since = column(self.time().saturating_sub(idle_timeout).as_millis());
        let until = self.after(extend_for);
        let mut renewed = 0;
        for (position, owner) in owners.iter().enumerate() {
            if !owners[..position].contains(owner) {
                renewed += self.sql.execute(
                    Sql::RenewSessions,
                    params![owner, until, self.now, idle_since, Option::<String>::None],
                )?;
            }
        }
        Ok(renewed)
    }

    /// Extends the sessions of an owner that are still its own and in use, except those that only hold up work of
    /// other nodes.
    pub(crate) fn renew_served_sessions(&self, request: &RenewSessions) -> rusqlite::Result<usize> {
        let idle_since = column(self.time().saturating_sub(request.idle_timeout).as_millis());
        let until = self.after(request.extend_for);
        let routes = serde_json::Value::from(self.served_work_routes(request)?).to_string();
        self.sql.execute(Sql::RenewSessions, params![request.owner, until, self.now, idle_since, routes])
    }

    /// Forgets sessions that nobody owns and that have no work.
    pub(crate) fn forget_sessions(&self) -> rusqlite::Result<usize> {
        self.sql.execute(Sql::ForgetSessions, [self.now])
    }
}
