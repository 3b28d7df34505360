//! One group: many callers' jobs in one transaction and one fsync.
//!
//! The jobs run in the order of their phases; then parked and new lease calls are served from what the jobs made
//! visible. Nothing is answered before the commit. If anything in the group fails, the transaction is rolled back
//! and everybody is run again alone, so that one bad job costs the others a retry and nothing else; unless the whole
//! database is out of reach: then everybody is told so.

use abide_provider::StolenLease;

use super::ground::WriterGround;
use super::lease_call::{LeaseCall, Need};
use crate::error::{is_broken, may_be_one_job};
use crate::job::{Durable, Job, JobError, Ran};
use crate::statements::{Sql, Statements};
use crate::store::promote::More;
use crate::store::{News, Removal, Tx};
use crate::token::LeaseChange;

/// What became of a group.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Leases that were taken away.
    pub(crate) stolen: Vec<StolenLease>,
    /// Leases on activities that began and ended, in this order; `None` if that was not noted.
    pub(crate) leases: Option<Vec<LeaseChange>>,
    /// Whether there is more to do at once.
    pub(crate) again: bool,
    /// Whether the connection must be replaced.
    pub(crate) broken: bool,
    /// Whether anything was committed.
    pub(crate) committed: bool,
    /// Whether what is to be removed, or when, has changed.
    pub(crate) removal: Removal,
}

impl Outcome {
    const fn nothing_yet() -> Self {
        Self {
            stolen: Vec::new(),
            leases: Some(Vec::new()),
            again: false,
            broken: false,
            committed: false,
            removal: Removal::AsBefore,
        }
    }

    fn add_leases(&mut self, changes: Option<Vec<LeaseChange>>) {
        let before = self.leases.take();
        self.leases = before.zip(changes).map(|(mut before, changes)| {
            before.extend(changes);
            before
        });
    }
}

/// Runs jobs and serves calls; calls that found nothing stay in `parked`.
pub(crate) fn run(
    ground: &WriterGround<'_, '_>,
    mut jobs: Vec<Box<dyn Job>>,
    parked: &mut Vec<LeaseCall>,
) -> Outcome {
    jobs.sort_by_key(|job| job.phase());
    parked.retain(|call| !call.is_abandoned());
    let mut outcome = Outcome::nothing_yet();
    match attempt(ground, &mut jobs, parked) {
        Ok(done) => settle(ground, done, jobs, parked, &mut outcome),
        Err(stopped) if jobs.len() + parked.len() > 1 && stopped.may_be_one_job() => {
            one_by_one(ground, jobs, parked, &mut outcome);
        }
        Err(stopped) => give_up(&stopped, jobs, parked, &mut outcome),
    }
    outcome
}

/// Why a transaction was rolled back.
enum Stopped {
    /// SQLite failed.
    Database(rusqlite::Error),
    /// The files are not the ones that were opened any more. Nothing was written.
    Gone(String),
    /// A job refused after it had written, which none should. Its answer stands; its writes do not.
    LateRefusal,
}

impl From<rusqlite::Error> for Stopped {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl Stopped {
    /// Whether running the members of the group one by one could help.
    fn may_be_one_job(&self) -> bool {
        match self {
            Self::Database(error) => may_be_one_job(error),
            Self::Gone(_) => false,
            Self::LateRefusal => true,
        }
    }
}

/// What a transaction did, not yet committed.
struct Attempted {
    news: News,
    more: More,
    changed: bool,
}

fn attempt(
    ground: &WriterGround<'_, '_>,
    jobs: &mut [Box<dyn Job>],
    parked: &mut [LeaseCall],
) -> Result<Attempted, Stopped> {
    ground.still_there().map_err(Stopped::Gone)?;
    let durable = jobs.iter().any(|job| job.durable() == Durable::Must);
    ground.require(if durable { Durable::Must } else { Durable::LeaseOnly })?;
    let sql = ground.statements();
    let before = sql.connection().total_changes();
    let tx = match ground.begin() {
        Ok(tx) => tx,
        Err(error) => {
            roll_back(sql);
            return Err(error.into());
        }
    };
    let attempted = run_jobs(&tx, jobs, parked).and_then(|more| {
        let news = tx.finish()?;
        let changed = sql.connection().total_changes() != before;
        Ok(Attempted { news, more, changed })
    });
    if attempted.is_err() {
        roll_back(sql);
    }
    attempted
}

fn run_jobs(tx: &Tx<'_, '_>, jobs: &mut [Box<dyn Job>], parked: &mut [LeaseCall]) -> Result<More, Stopped> {
    let more = tx.promote()?;
    for job in jobs {
        let before = tx.sql.connection().total_changes();
        if job.run(tx)? == Ran::Refused && tx.sql.connection().total_changes() != before {
            return Err(Stopped::LateRefusal);
        }
    }
    let mut exhausted: Vec<Need> = Vec::new();
    for call in parked {
        let need = call.need();
        if exhausted.contains(&need) {
            call.forget();
            continue;
        }
        call.serve(tx)?;
        if !call.is_served() {
            exhausted.push(need);
        }
    }
    Ok(if tx.more_to_lease.get() == More::Maybe { More::Maybe } else { more })
}

/// Commits, and answers everybody.
fn settle(
    ground: &WriterGround<'_, '_>,
    done: Attempted,
    jobs: Vec<Box<dyn Job>>,
    parked: &mut Vec<LeaseCall>,
    outcome: &mut Outcome,
) {
    let sql = ground.statements();
    if done.changed {
        let committed =
            ground.commit().map_err(|error| error.to_string()).and_then(|()| ground.still_there());
        if let Err(message) = committed {
            roll_back(sql);
            fail_all(&message, jobs, parked);
            outcome.broken = true;
            return;
        }
    } else {
        roll_back(sql);
    }
    outcome.committed |= done.changed;
    outcome.again |= done.more == More::Maybe;
    if done.news.removal == Removal::Changed {
        outcome.removal = Removal::Changed;
    }
    outcome.stolen.extend(done.news.stolen);
    outcome.add_leases(done.news.leases);
    for job in jobs {
        job.answer();
    }
    for call in parked.extract_if(.., |call| call.is_served()) {
        call.answer();
    }
    if done.changed {
        done.news.changed.tell(&ground.shared().changes);
    }
}

/// Nobody can say whether a failed commit holds: whoever has a part in it is told so.
fn fail_all(message: &str, jobs: Vec<Box<dyn Job>>, parked: &mut Vec<LeaseCall>) {
    for job in jobs {
        job.fail(JobError::CommitFailed(message));
    }
    for call in parked.extract_if(.., |call| call.is_served()) {
        call.fail(JobError::CommitFailed(message));
    }
}

/// The transaction is rolled back, and trying again will not help now.
fn give_up(stopped: &Stopped, jobs: Vec<Box<dyn Job>>, parked: &mut Vec<LeaseCall>, outcome: &mut Outcome) {
    let error = match stopped {
        Stopped::Database(error) => error,
        Stopped::LateRefusal => return jobs.into_iter().for_each(Job::answer),
        Stopped::Gone(message) => {
            for job in jobs {
                job.fail(JobError::NotBegun(message));
            }
            for call in parked.drain(..) {
                call.fail(JobError::NotBegun(message));
            }
            outcome.broken = true;
            return;
        }
    };
    tracing::warn!(target: "abide::sqlite", %error, jobs = jobs.len(), "a transaction failed and was rolled back");
    for job in jobs {
        job.fail(JobError::RolledBack(error));
    }
    for call in parked.drain(..) {
        call.fail(JobError::RolledBack(error));
    }
    outcome.broken |= is_broken(error);
}

/// What a failed fsync leaves behind is unknown to the connection that saw it, so that connection writes no more.
const BROKEN: &str = "the database connection failed and is being opened again";

fn one_by_one(
    ground: &WriterGround<'_, '_>,
    jobs: Vec<Box<dyn Job>>,
    parked: &mut Vec<LeaseCall>,
    outcome: &mut Outcome,
) {
    for job in jobs {
        if outcome.broken {
            job.fail(JobError::NotBegun(BROKEN));
            continue;
        }
        let mut alone = vec![job];
        let mut nobody = Vec::new();
        match attempt(ground, &mut alone, &mut nobody) {
            Ok(done) => settle(ground, done, alone, &mut nobody, outcome),
            Err(stopped) => give_up(&stopped, alone, &mut nobody, outcome),
        }
    }
    for call in std::mem::take(parked) {
        if outcome.broken {
            call.fail(JobError::NotBegun(BROKEN));
            continue;
        }
        let mut alone = vec![call];
        match attempt(ground, &mut [], &mut alone) {
            Ok(done) => settle(ground, done, Vec::new(), &mut alone, outcome),
            Err(stopped) => give_up(&stopped, Vec::new(), &mut alone, outcome),
        }
        parked.append(&mut alone);
    }
}

/// SQLite may have rolled back by itself already; then there is nothing to do.
fn roll_back(sql: &Statements<'_>) {
    if !sql.connection().is_autocommit()
        && let Err(error) = sql.execute(Sql::Rollback, [])
    {
        tracing::error!(target: "abide::sqlite", %error, "a transaction could not be rolled back");
    }
}
