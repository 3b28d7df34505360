//! Sessions: work that must run where its predecessors ran.

use std::time::Duration;

use abide_model::Timestamp;
use abide_provider::SessionFetchConfig;

use crate::state::{Session, State};

impl Session {
    pub(crate) fn is_locked(&self, now: Timestamp) -> bool {
        self.locked_until > now
    }
}

impl State {
    /// Whether work of this session may be taken by who asks like this.
    pub(crate) fn may_take_session(
        &self,
        session: Option<&str>,
        config: Option<&SessionFetchConfig>,
        now: Timestamp,
    ) -> bool {
        match (session, config) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(name), Some(config)) => match self.sessions.get(name) {
                Some(session) => !session.is_locked(now) || session.owner == config.owner_id,
                None => true,
            },
        }
    }

    pub(crate) fn claim_session(&mut self, name: String, config: &SessionFetchConfig, now: Timestamp) {
        let session = Session {
            owner: config.owner_id.clone(),
            locked_until: now.saturating_add(config.lock_timeout),
            last_activity: now,
        };
        self.sessions.insert(name, session);
        // The new lock may end before the old one would have.
        self.something_may_be_leasable();
    }

    /// Notes that the session of this work, if it is still somebody's, was active.
    pub(crate) fn use_session_of(&mut self, number: u64, now: Timestamp) {
        let name = self.work.get(&number).and_then(|work| work.session.as_ref());
        if let Some(session) = name.and_then(|name| self.sessions.get_mut(name))
            && session.is_locked(now)
        {
            session.last_activity = now;
        }
    }

    pub(crate) fn renew_sessions(
        &mut self,
        owners: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
        now: Timestamp,
    ) -> usize {
        let idle_since = now.saturating_sub(idle_timeout);
        let mut renewed = 0;
        for session in self.sessions.values_mut() {
            let is_theirs = owners.contains(&session.owner.as_str());
            if is_theirs && session.is_locked(now) && session.last_activity > idle_since {
                session.locked_until = session.locked_until.max(now.saturating_add(extend_for));
                renewed += 1;
            }
        }
        renewed
    }

    pub(crate) fn forget_orphaned_sessions(&mut self, now: Timestamp) -> usize {
        let before = self.sessions.len();
        let work = &self.work;
        self.sessions.retain(|name, session| {
            session.is_locked(now) || work.values().any(|work| work.session.as_ref() == Some(name))
        });
        before - self.sessions.len()
    }
}
