//! Sessions: work that must run where its predecessors ran.

use std::collections::BTreeSet;
use std::time::Duration;

use abide_model::Timestamp;
use abide_provider::{RenewSessions, SessionFetchConfig};

use crate::state::{Session, State, Work};

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
        self.renew_sessions_but(&BTreeSet::new(), owners, (extend_for, idle_timeout), now)
    }

    fn renew_sessions_but(
        &mut self,
        skipped: &BTreeSet<String>,
        owners: &[&str],
        (extend_for, idle_timeout): (Duration, Duration),
        now: Timestamp,
    ) -> usize {
        let idle_since = now.saturating_sub(idle_timeout);
        let mut renewed = 0;
        for (name, session) in &mut self.sessions {
            let is_theirs = owners.contains(&session.owner.as_str()) && !skipped.contains(name);
            if is_theirs && session.is_locked(now) && session.last_activity > idle_since {
                session.locked_until = session.locked_until.max(now.saturating_add(extend_for));
                renewed += 1;
            }
        }
        renewed
    }

    /// Like [`renew_sessions`](Self::renew_sessions), without the sessions that only hold up work of other nodes.
    pub(crate) fn renew_served_sessions(&mut self, request: &RenewSessions, now: Timestamp) -> usize {
        let RenewSessions { owner, extend_for, idle_timeout, tags, serving } = request;
        let mut serving = serving.clone();
        if let Some(serving) = &mut serving {
            // There is room for a suspect sooner or later.
            serving.takes_suspect = true;
        }
        let can_go_on = |work: &Work| {
            work.is_leased(now) || (work.is_admitted(serving.as_ref()) && tags.matches(work.tag.as_deref()))
        };
        let holds_others_up = |name: &String| {
            let waiting = || {
                let of_session = |work: &&Work| work.session.as_ref() == Some(name);
                self.work.values().filter(of_session).filter(|work| work.held.is_none())
            };
            waiting().next().is_some() && !waiting().any(can_go_on)
        };
        let skipped: BTreeSet<String> =
            self.sessions.keys().filter(|name| holds_others_up(name)).cloned().collect();
        self.renew_sessions_but(&skipped, &[owner], (*extend_for, *idle_timeout), now)
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
