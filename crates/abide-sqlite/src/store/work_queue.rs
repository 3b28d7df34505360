//! Leasing work: which row is next for whom.
//!
//! Work without a session is one queue per route. Work of sessions is one *lane* per session and route, of which only
//! the head is looked at. Whatever the caller may not take is in other queues and other lanes, so it costs nothing.

use std::ops::ControlFlow;
use std::time::Duration;

use abide_model::{StepTry, WorkItem};
use abide_provider::{LEASE_BYTES, LeaseWork, SessionFetchConfig, Suspicion, WorkLease};
use rusqlite::{Row, params};

use super::Tx;
use super::promote::More;
use super::removal::BYTES_OF_A_ROW;
use super::route::WorkFilter;
use crate::encode::number;
use crate::statements::Sql;
use crate::text::{Text, lossy, lossy_or_null};
use crate::token::{Affinity, WorkKey, WorkToken};

/// A lease call removes so much work of deleted instances that it meets, and then lets the others have their turn.
/// A large item counts as several: one more for each [`BYTES_OF_A_ROW`].
const DEAD_WORK: usize = 256;

/// Work that can be leased, as read.
pub(crate) struct WorkRow {
    pub(crate) key: WorkKey,
    pub(crate) route: i64,
    pub(crate) session: Option<Text>,
    pub(crate) attempts: i64,
    step: StepTry,
    /// Who asked for it, if that is still known.
    pub(crate) instance: Option<String>,
    item: Option<WorkItem>,
    /// Of the item, in bytes.
    size: usize,
    orchestration_name: String,
    orchestration_version: String,
}

impl WorkRow {
    /// Reads the columns that `ready_work` and `session_work` return.
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let instance = lossy_or_null(row, 8)?;
        let json = row.get_ref(7)?.as_bytes().ok();
        let item = json.filter(|_| instance.is_some()).and_then(|json| serde_json::from_slice(json).ok());
        let key = WorkKey::read(row)?;
        Ok(Self {
            step: step_of(key, row.get(11)?, row.get(12)?),
            key,
            route: row.get(4)?,
            session: row.get(5)?,
            attempts: row.get(6)?,
            item,
            size: json.map_or(0, <[u8]>::len),
            instance,
            orchestration_name: lossy(row, 9)?,
            orchestration_version: lossy(row, 10)?,
        })
    }
}

/// Who asks for work of sessions, as the lanes know them.
struct Holder<'a> {
    config: &'a SessionFetchConfig,
    column: String,
}

impl Tx<'_, '_> {
    /// Leases up to `request.limit` activities, oldest first, and none further once they have `LEASE_BYTES`.
    pub(crate) fn lease_work(&self, request: &LeaseWork) -> rusqlite::Result<Vec<WorkLease>> {
        let holder =
            request.session.as_ref().map(|config| Holder { config, column: format!("={}", config.owner_id) });
        let mut granted = Granted { request, filter: WorkFilter::of(request), leases: Vec::new(), bytes: 0 };
        self.dead_work_met.set(0);
        while granted.wants_more() {
            if self.dead_work_met.get() >= DEAD_WORK {
                // Others wait, too: what is behind it is looked at in the next transaction, which follows at once.
                self.more_to_lease.set(More::Maybe);
                break;
            }
            let wanted = request.limit - granted.leases.len();
            let (plain, behind) = self.plain_candidates(&granted.filter, wanted)?;
            let taken = match &holder {
                None => self.take_all(plain, &mut granted)?,
                Some(holder) => self.take_merged((plain, behind), holder, &mut granted)?,
            };
            if taken == 0 {
                break;
            }
        }
        Ok(granted.leases)
    }

    /// Takes candidates as they come; says how many rows left the queue, readable or not.
    fn take_all(&self, candidates: Vec<WorkRow>, granted: &mut Granted<'_>) -> rusqlite::Result<usize> {
        let mut taken = 0;
        for work in candidates {
            if !granted.wants_more() || self.dead_work_met.get() >= DEAD_WORK {
                break;
            }
            if self.is_suspect_too_many(&work, granted)? {
                continue;
            }
            taken += 1;
            self.grant(work, granted)?;
        }
        Ok(taken)
    }

    /// Takes candidates and heads of lanes, whichever is older, until the candidates are used up. If there may be more
    /// work without a session behind them, lanes wait until that was looked at.
    fn take_merged(
        &self,
        (candidates, behind): (Vec<WorkRow>, Behind),
        holder: &Holder<'_>,
        granted: &mut Granted<'_>,
    ) -> rusqlite::Result<usize> {
        let mut taken = 0;
        let mut candidates = candidates.into_iter();
        let mut oldest = self.oldest_lane(&granted.filter, holder)?;
        while granted.wants_more() && self.dead_work_met.get() < DEAD_WORK {
            let is_next = |lane: &&Lane| match candidates.as_slice().first() {
                Some(plain) => lane.head < plain.key.no,
                None => behind == Behind::Nothing,
            };
            let lane = oldest.as_ref().filter(is_next);
            let work = match lane {
                Some(lane) => self.open_lane(lane, holder)?,
                None => candidates.next(),
            };
            let (is_of_lane, is_none) = (lane.is_some(), work.is_none());
            let mut is_suspect = false;
            if let Some(work) = work {
                if self.is_suspect_too_many(&work, granted)? {
                    continue;
                }
                taken += 1;
                is_suspect = self.grant(work, granted)?;
            }
            // Work that is in no lane leaves them as they are, unless they have become too many suspects.
            if (is_of_lane || is_suspect) && granted.wants_more() {
                oldest = self.oldest_lane(&granted.filter, holder)?;
            } else if is_none {
                break;
            }
        }
        Ok(taken)
    }

    /// Whether this is a suspect beside another one that the call was granted.
    fn is_suspect_too_many(&self, work: &WorkRow, granted: &Granted<'_>) -> rusqlite::Result<bool> {
        Ok(granted.has_suspect() && self.is_suspect_work(work.route)?)
    }

    /// Leases a row, if it can be read; says whether it is the suspect of the call.
    fn grant(&self, work: WorkRow, granted: &mut Granted<'_>) -> rusqlite::Result<bool> {
        let suspicion = Suspicion::after(u32::try_from(work.attempts).unwrap_or(u32::MAX));
        let size = work.size;
        let Some(lease) = self.take(work, granted.request)? else { return Ok(false) };
        granted.bytes += size;
        granted.leases.push(lease);
        let is_suspect = granted.request.serving.is_some() && suspicion.is_suspect();
        if is_suspect {
            granted.filter.take_no_suspect();
        }
        Ok(is_suspect)
    }

    /// Work without a session, oldest first: no more than is wanted, or than a call may bring; and whether there may be
    /// more.
    fn plain_candidates(
        &self,
        filter: &WorkFilter,
        wanted: usize,
    ) -> rusqlite::Result<(Vec<WorkRow>, Behind)> {
        let routes = self.ready_work_routes(filter, Sql::ReadyWorkRoutes)?;
        let shares = self.shares(&routes, wanted, Sql::ReadyWorkNumbers)?;
        let (mut found, mut behind) = (Vec::new(), Behind::Nothing);
        for (route, rows) in &shares {
            let mut bytes = 0;
            self.sql.rows_while(Sql::ReadyWork, [*route, *rows], |row| {
                if bytes >= LEASE_BYTES {
                    behind = Behind::Perhaps;
                    return Ok(ControlFlow::Break(()));
                }
                let work = WorkRow::read(row)?;
                bytes += work.size;
                found.push(work);
                Ok(ControlFlow::Continue(()))
            })?;
            // Of several routes, what the oldest leave no room for is let go before more is read.
            if shares.len() > 1 {
                found.sort_by_key(|work| work.key.no);
                let of_call = count_of_call(&found, wanted);
                if of_call < found.len() {
                    behind = Behind::Perhaps;
                    found.truncate(of_call);
                }
            }
        }
        Ok(if found.len() < wanted { (found, behind) } else { (found, Behind::Perhaps) })
    }

    fn oldest_lane(&self, filter: &WorkFilter, holder: &Holder<'_>) -> rusqlite::Result<Option<Lane>> {
        let mut oldest: Option<Lane> = None;
        for route in self.ready_work_routes(filter, Sql::LaneRoutes)? {
            for held_by in [&String::new(), &holder.column] {
                let lane = self.sql.row(Sql::OpenLane, params![route, held_by], |row| {
                    Ok(Lane { session: row.get(0)?, route, held_by: held_by.clone(), head: row.get(1)? })
                })?;
                oldest = match (oldest, lane) {
                    (Some(a), Some(b)) => Some(if b.head < a.head { b } else { a }),
                    (a, b) => a.or(b),
                };
            }
        }
        Ok(oldest)
    }

    /// Claims the session of a lane and returns its head. A lane that leads nowhere is taken out of the way.
    fn open_lane(&self, lane: &Lane, holder: &Holder<'_>) -> rusqlite::Result<Option<WorkRow>> {
        let head = self.sql.row(Sql::SessionWork, params![lane.session, lane.route], WorkRow::read)?;
        match &head {
            None => {
                self.sql.execute(Sql::RepairLane, params![lane.route, lane.held_by, lane.head])?;
            }
            Some(work) if work.item.is_some() => {
                self.claim_session(&lane.session, holder.config, &holder.column)?;
            }
            Some(_) => {}
        }
        Ok(head)
    }

    /// Leases a row, or sets it aside if it cannot be read.
    fn take(&self, work: WorkRow, request: &LeaseWork) -> rusqlite::Result<Option<WorkLease>> {
        if self.remove_dead_work(&work)? {
            self.dead_work_met.set(self.dead_work_met.get() + 1 + work.size / BYTES_OF_A_ROW);
            return Ok(None);
        }
        if work.item.is_none() {
            self.set_work_aside(&work)?;
            return Ok(None);
        }
        let nonce = self.nonce();
        let [mailbox, execution, activity, no] = work.key.columns();
        let until = self.after(request.lease_for);
        let suspicion = Suspicion::after(u32::try_from(work.attempts).unwrap_or(u32::MAX));
        let counts = i64::from(request.serving.is_none() || !suspicion.is_suspect());
        let columns = [mailbox, execution, activity, no, nonce, until, self.owner, counts];
        self.sql.execute(Sql::LeaseWork, columns)?;
        self.update_lane(work.session.as_ref(), work.route)?;
        let affinity = Affinity::of(work.session.as_ref());
        let token = WorkToken { key: work.key, nonce, affinity };
        self.note_granted(token);
        let attempt = u32::try_from(work.attempts + 1).unwrap_or(u32::MAX);
        let WorkRow { item, step, orchestration_name, orchestration_version, .. } = work;
        Ok(item.map(|item| WorkLease {
            item,
            orchestration_name,
            orchestration_version,
            token: token.to_string(),
            attempt,
            step,
            store_time: Some(self.time()),
            store_time_slack: Duration::ZERO,
        }))
    }
}

/// Which try of its step an activity is, from its columns. A row without them is the first.
fn step_of(key: WorkKey, first_try: Option<i64>, try_no: Option<i64>) -> StepTry {
    let number_of = |column| u32::try_from(column).unwrap_or(u32::MAX);
    StepTry { first_event_id: number(first_try.unwrap_or(key.activity)), number: try_no.map_or(1, number_of) }
}

/// How many of these one call may bring.
fn count_of_call(candidates: &[WorkRow], wanted: usize) -> usize {
    let mut bytes = 0;
    let fits = |work: &&WorkRow| {
        let fits = bytes < LEASE_BYTES;
        bytes += work.size;
        fits
    };
    candidates.iter().take(wanted).take_while(fits).count()
}

/// What a call was granted so far, and what it still takes.
struct Granted<'a> {
    request: &'a LeaseWork,
    filter: WorkFilter,
    leases: Vec<WorkLease>,
    bytes: usize,
}

impl Granted<'_> {
    fn wants_more(&self) -> bool {
        self.leases.len() < self.request.limit && self.bytes < LEASE_BYTES
    }

    fn has_suspect(&self) -> bool {
        self.filter != WorkFilter::of(self.request)
    }
}

/// Whether there may be more work without a session behind the candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behind {
    Perhaps,
    Nothing,
}

/// A lane that the caller may take from.
struct Lane {
    session: Text,
    route: i64,
    held_by: String,
    head: i64,
}
