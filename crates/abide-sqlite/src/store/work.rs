//! Work that is enqueued, finished, renewed, given back or taken away.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use abide_model::ScheduledActivityIdentifier;
use abide_provider::{Operation, Rejection, RevokeWork, RevokedWork, StolenBecause, StolenLease, StoreError};
use rusqlite::{Row, params};

use super::Tx;
use super::lease::{Abandon, Attempt};
use crate::encode::{EncodedMessage, EncodedWork, column};
use crate::error::Failure;
use crate::statements::Sql;
use crate::text::Text;
use crate::token::{Affinity, WorkKey, WorkToken};

/// Work that is free again, or visible at last.
pub(crate) struct PromotedWork {
    key: WorkKey,
    route: i64,
    session: Option<Text>,
    attempts: i64,
    /// Whether the attempts include a lease on it. That of a suspect is none until its code runs.
    pub(crate) lease_counts: bool,
}

impl PromotedWork {
    /// Work that was not tried yet.
    pub(crate) fn new(key: WorkKey, route: i64, session: Option<Text>) -> Self {
        Self { key, route, session, attempts: 0, lease_counts: true }
    }

    /// How many there are once its lease is given back.
    fn attempts_after(&self, given_back: Attempt) -> i64 {
        let counts = i64::from(self.lease_counts);
        match given_back {
            Attempt::Counts => self.attempts.saturating_add(1 - counts),
            Attempt::GivenBack => self.attempts.saturating_sub(counts).max(0),
        }
    }

    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let (key, route) = (WorkKey::read(row)?, row.get(4)?);
        Ok(Self { key, route, session: row.get(5)?, attempts: row.get(6)?, lease_counts: true })
    }
}

impl WorkKey {
    /// Reads the first four columns.
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { mailbox: row.get(0)?, execution: row.get(1)?, activity: row.get(2)?, no: row.get(3)? })
    }

    pub(crate) fn columns(self) -> [i64; 4] {
        [self.mailbox, self.execution, self.activity, self.no]
    }
}

/// A finished activity.
#[derive(Debug)]
pub(crate) struct Finish {
    pub(crate) token: String,
    /// What it tells its instance.
    pub(crate) completion: Option<EncodedMessage>,
}

impl Tx<'_, '_> {
    /// Enqueues an activity for whoever asked for it.
    pub(crate) fn enqueue_work(&self, work: &EncodedWork) -> rusqlite::Result<()> {
        let mailbox = self.brief_or_new(&work.instance)?;
        self.insert_work(mailbox.no, work)
    }

    pub(crate) fn insert_work(&self, mailbox: i64, work: &EncodedWork) -> rusqlite::Result<()> {
        let EncodedWork { instance: _, execution, activity, session, tag, first_try, try_no, route, json } =
            work;
        let (no, route) = (self.next_number(), self.intern_work(route.clone())?);
        let row = params![mailbox, execution, activity, no, tag, session, json, route, first_try, try_no];
        self.sql.execute(Sql::InsertWork, row)?;
        self.add_to_lane(session.as_ref(), route, no)
    }

    /// Removes a finished activity and tells its instance.
    pub(crate) fn finish_work(&self, finish: &Finish, operation: Operation) -> Result<(), Failure> {
        let lost = || Failure::Refused(StoreError::lease_lost(operation));
        let token = WorkToken::parse(&finish.token).ok_or_else(lost)?;
        let Some(completion) = &finish.completion else {
            return self.consume_work(token)?.ok_or_else(lost);
        };
        let (mailbox, id) = self.brief_by_no(token.key.mailbox)?.ok_or_else(lost)?;
        if id != completion.to {
            self.held_work(token)?.ok_or_else(lost)?;
            let message = format!(
                "a completion for instance '{}' cannot end an activity of instance '{id}'",
                completion.to
            );
            return Err(StoreError::rejected(operation, Rejection::Invalid, message).into());
        }
        self.consume_work(token)?.ok_or_else(lost)?;
        self.deliver(mailbox, completion, 0).map(drop)?;
        Ok(())
    }

    /// Removes a leased activity, if the lease still holds.
    pub(crate) fn consume_work(&self, token: WorkToken) -> rusqlite::Result<Option<()>> {
        let session = self.session_of(token)?;
        let [mailbox, execution, activity, no] = token.key.columns();
        let at = [mailbox, execution, activity, no, token.nonce, self.now];
        if self.sql.execute(Sql::FinishWork, at)? == 0 {
            return Ok(None);
        }
        self.note_ended(token.key);
        self.use_session(session.as_ref())?;
        Ok(Some(()))
    }

    pub(crate) fn renew_work(&self, token: &str, extend_for: Duration) -> Result<(), Failure> {
        let lost = || Failure::Refused(StoreError::lease_lost(Operation::RenewWorkItemLock));
        let token = WorkToken::parse(token).ok_or_else(lost)?;
        let [mailbox, execution, activity, no] = token.key.columns();
        let at = [mailbox, execution, activity, no, token.nonce, self.now, self.after(extend_for)];
        if self.sql.execute(Sql::RenewWork, at)? == 0 {
            return Err(lost());
        }
        let session = self.session_of(token)?;
        self.use_session(session.as_ref())?;
        Ok(())
    }

    /// The session of leased work. Most has none, and its token says so.
    fn session_of(&self, token: WorkToken) -> rusqlite::Result<Option<Text>> {
        match token.affinity {
            Affinity::Free => Ok(None),
            Affinity::Session => Ok(self.held_work(token)?.and_then(|held| held.session)),
        }
    }

    pub(crate) fn abandon_work(&self, token: &str, abandon: &Abandon) -> Result<(), Failure> {
        let lost = || Failure::Refused(StoreError::lease_lost(Operation::AbandonWorkItem));
        let token = WorkToken::parse(token).ok_or_else(lost)?;
        let held = self.held_work(token)?.ok_or_else(lost)?;
        let attempts = held.attempts_after(abandon.attempt);
        let route = self.set_free(&held, abandon.hidden_until(self), attempts)?;
        self.update_lane(held.session.as_ref(), route)?;
        Ok(())
    }

    /// The row behind a token, if the lease still holds.
    pub(crate) fn held_work(&self, token: WorkToken) -> rusqlite::Result<Option<PromotedWork>> {
        let held = self.sql.row(Sql::LeasedWork, token.key.columns(), |row| {
            let work = PromotedWork {
                key: token.key,
                session: row.get(0)?,
                route: row.get(1)?,
                attempts: row.get(2)?,
                lease_counts: row.get(5)?,
            };
            Ok((work, row.get::<_, Option<i64>>(3)?, row.get::<_, Option<i64>>(4)?))
        })?;
        Ok(held.and_then(|(work, lease, until)| {
            let holds = lease == Some(token.nonce) && until.is_some_and(|until| until > self.now);
            holds.then_some(work)
        }))
    }

    /// Makes work leasable: its lease is over, or its time has come.
    pub(crate) fn free_work(&self, freed: &[PromotedWork]) -> rusqlite::Result<()> {
        let mut lanes = BTreeSet::new();
        for work in freed {
            let route = self.set_free(work, 0, work.attempts)?;
            lanes.insert((work.session.as_ref(), route));
        }
        self.update_lanes(&lanes)
    }

    /// Makes work that nobody has leased as good as new, but for when it is visible.
    pub(crate) fn free_untried(&self, work: &PromotedWork, visible_at: i64) -> rusqlite::Result<()> {
        self.free_as(work, visible_at, 0)
    }

    /// Makes work that nobody has leased visible at a time, after so many attempts.
    pub(crate) fn free_as(
        &self,
        work: &PromotedWork,
        visible_at: i64,
        attempts: i64,
    ) -> rusqlite::Result<()> {
        let route = self.set_free(work, visible_at, attempts)?;
        self.update_lane(work.session.as_ref(), work.route)?;
        if route == work.route { Ok(()) } else { self.update_lane(work.session.as_ref(), route) }
    }

    /// Says on which route it is now.
    fn set_free(&self, work: &PromotedWork, visible_at: i64, attempts: i64) -> rusqlite::Result<i64> {
        let [mailbox, execution, activity, no] = work.key.columns();
        let route = self.work_route_after(work.route, attempts)?;
        self.sql.execute(Sql::FreeWork, [mailbox, execution, activity, no, visible_at, attempts, route])?;
        self.note_ended(work.key);
        Ok(route)
    }

    /// Takes activities back: one statement per execution, however many.
    pub(crate) fn revoke(
        &self,
        revoked: &[(ScheduledActivityIdentifier, StolenBecause)],
    ) -> rusqlite::Result<()> {
        let mut executions: BTreeMap<(&str, u64), BTreeMap<i64, &StolenBecause>> = BTreeMap::new();
        for (activity, because) in revoked {
            let of_execution = executions.entry((&activity.instance, activity.execution_id)).or_default();
            of_execution.insert(column(activity.activity_id), because);
        }
        for ((instance, execution), activities) in executions {
            let Some(mailbox) = self.mailbox_by_id(instance)? else { continue };
            let ids = super::mailbox::format_batch(activities.keys().copied());
            let at = (mailbox.no, column(execution));
            let removed = self.sql.rows(Sql::RevokeWork, params![at.0, at.1, format!("[{ids}]")], |row| {
                RemovedWork::read(row, at)
            })?;
            self.tell_removed(&removed, |activity| {
                activities.get(&activity).map_or(StolenBecause::Dropped, |because| (*because).clone())
            })?;
        }
        Ok(())
    }

    /// Takes back some work of one execution of a leased instance.
    pub(crate) fn revoke_execution(&self, revoke: &RevokeWork) -> Result<RevokedWork, Failure> {
        let mailbox = self.leased_mailbox(&revoke.token, Operation::RevokeWork)?;
        let (at, most) = ((mailbox.no, column(revoke.execution_id)), revoke.at_most());
        let removed = self
            .sql
            .rows(Sql::RevokeExecution, params![at.0, at.1, most], |row| RemovedWork::read(row, at))?;
        self.tell_removed(&removed, |_| revoke.because.clone())?;
        let count = u32::try_from(removed.len()).unwrap_or(u32::MAX);
        Ok(RevokedWork { count, more: count >= most })
    }

    /// Tells the holders of removed work, and mends the lanes it was in.
    pub(crate) fn tell_removed(
        &self,
        removed: &[RemovedWork],
        because: impl Fn(i64) -> StolenBecause,
    ) -> rusqlite::Result<()> {
        let mut lanes = BTreeSet::new();
        for work in removed {
            if let Some(nonce) = work.lease {
                let affinity = Affinity::of(work.session.as_ref());
                let token = WorkToken { key: work.key, nonce, affinity }.to_string();
                self.tell_stolen(StolenLease { token, because: because(work.key.activity) });
                self.note_ended(work.key);
            }
            lanes.insert((work.session.as_ref(), work.route));
        }
        self.update_lanes(&lanes)
    }
}

/// Work that was deleted, and the lease that went with it.
pub(crate) struct RemovedWork {
    key: WorkKey,
    route: i64,
    session: Option<Text>,
    lease: Option<i64>,
}

impl RemovedWork {
    pub(crate) fn new(key: WorkKey, route: i64, session: Option<Text>, lease: Option<i64>) -> Self {
        Self { key, route, session, lease }
    }

    pub(crate) fn key(&self) -> WorkKey {
        self.key
    }

    /// Reads what `revoke_work`, `revoke_execution`, `work_of_executions`, `delete_all_work` and
    /// `remove_work` return.
    pub(crate) fn read(row: &Row<'_>, (mailbox, execution): (i64, i64)) -> rusqlite::Result<Self> {
        Ok(Self {
            key: WorkKey { mailbox, execution, activity: row.get(0)?, no: row.get(1)? },
            route: row.get(2)?,
            session: row.get(3)?,
            lease: row.get(4)?,
        })
    }
}
