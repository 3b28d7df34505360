//! Other processes on the same file: what they wrote, and whether they live.

use std::time::Duration;

use abide_model::Timestamp;
use abide_provider::{Lane, Operation};

use super::ground::WriterGround;
use super::held::HeldWork;
use crate::encode::column;
use crate::job::{Job, Kind, Phase, job};
use crate::owner::{Life, look_for, sweep};
use crate::statements::Sql;
use crate::token::LeaseChange;

/// How often to look whether others have written, while there are others.
const IN_COMPANY: Duration = Duration::from_millis(100);

/// How often to look whether there are others: one that came a moment ago is heard within half a second.
const ALONE: Duration = Duration::from_millis(250);

/// A version of the file that was read within this time need not be read again.
const FRESH: Duration = Duration::from_millis(10);

/// What is known about the other processes.
///
/// While the version of the file stays the same, they have written nothing. So what was read out of it is read again only if they, or we, have
/// written since, and a look that finds nothing new is one statement. What has to be read again is `None`.
pub(crate) struct Neighbours {
    /// The version of the file when it was last read, and when that was.
    version: Option<i64>,
    read_at: Option<Duration>,
    /// The version at the last look for the parked calls.
    looked_at: Option<i64>,
    /// The version that those who listen for changes were told of.
    told: Option<i64>,
    next_watch: Duration,
    company: bool,
    others: Option<Vec<Other>>,
    /// What becomes due next, in these lanes.
    next_due: Option<(Vec<Lane>, Option<i64>)>,
    /// What is waited for.
    due: Option<i64>,
    next_look: Duration,
    first_look: bool,
    /// What they may take away from us.
    held: HeldWork,
}

/// Another process: its number, and its lock file.
type Other = (i64, String);

impl Neighbours {
    pub(crate) fn new() -> Self {
        Self {
            version: None,
            read_at: None,
            looked_at: None,
            told: None,
            next_watch: Duration::ZERO,
            company: true,
            others: None,
            next_due: None,
            due: None,
            next_look: Duration::ZERO,
            first_look: true,
            held: HeldWork::default(),
        }
    }

    /// This process has written. Notes which leases it began and ended itself: others may take away what is left.
    pub(crate) fn note_group(&mut self, changes: Option<Vec<LeaseChange>>) {
        self.forget();
        self.held.note(changes);
    }

    /// Somebody listens now. What was granted before may be taken away from now on, too.
    pub(crate) fn listen(&mut self, ground: &WriterGround<'_, '_>) {
        self.held.begin(ground);
    }

    /// How long to sleep before something must be looked at: what is due next, or what others may have done.
    ///
    /// Only what the parked calls want is due: for anything else nobody would be woken, again and again.
    pub(crate) fn patience(&mut self, ground: &WriterGround<'_, '_>, wanted: &[Lane]) -> Duration {
        self.due = self.next_due(ground, wanted);
        let now = column(ground.now().as_millis());
        let until_due = self.due.map_or(Duration::MAX, |due| {
            Duration::from_millis(u64::try_from(due.saturating_sub(now)).unwrap_or(0))
        });
        if ground.shared().in_memory() {
            return until_due;
        }
        until_due.min(self.interval())
    }

    fn interval(&self) -> Duration {
        if self.company { IN_COMPANY } else { ALONE }
    }

    /// How long to sleep before those who listen may have to be told; `None` if nobody does.
    pub(crate) fn attention(&self, ground: &WriterGround<'_, '_>) -> Option<Duration> {
        let shared = ground.shared();
        let nobody_listens = shared.changes.is_empty() && shared.stolen.is_empty();
        (!shared.in_memory() && !nobody_listens).then(|| self.interval())
    }

    /// Tells those who listen if another process has committed since they were told last. What it changed cannot be seen from
    /// here; what it took away can.
    pub(crate) fn watch(&mut self, ground: &WriterGround<'_, '_>) {
        let now = ground.shared().clock.monotonic();
        if now < self.next_watch || self.attention(ground).is_none() {
            return;
        }
        self.next_watch = now + IN_COMPANY;
        self.notice_writes(ground, now);
        if self.version != self.told {
            self.told = self.version;
            ground.shared().changes.tell_all();
            ground.shared().stolen.tell(self.held.look(ground));
        }
    }

    /// Whether the time that was waited for has come.
    pub(crate) fn is_due(&self, now: Timestamp) -> bool {
        self.due.is_some_and(|due| due <= column(now.as_millis()))
    }

    /// Whether another process has committed since the last look.
    pub(crate) fn have_written(&mut self, ground: &WriterGround<'_, '_>) -> bool {
        if ground.shared().in_memory() {
            return false;
        }
        let version = self.read_version(ground, ground.shared().clock.monotonic());
        let moved = version != self.looked_at;
        self.looked_at = version;
        moved
    }

    /// Looks after the other processes; the leases of dead ones are to be voided.
    pub(crate) fn look(&mut self, ground: &WriterGround<'_, '_>) -> Vec<Box<dyn Job>> {
        let shared = ground.shared();
        let now = shared.clock.monotonic();
        let crate::connect::Location::File(path) = &shared.location else { return Vec::new() };
        if now < self.next_look {
            return Vec::new();
        }
        self.next_look = now + IN_COMPANY;
        let others = self.others(ground, now);
        self.company = !others.is_empty();
        if self.first_look {
            self.first_look = false;
            let mut known: Vec<&str> = others.iter().map(|(_, lock_file)| lock_file.as_str()).collect();
            let ours = shared.lock_file();
            known.push(&ours);
            sweep(path, &known);
        }
        let mut burials = Vec::new();
        for (owner, lock_file) in others {
            if let Life::Dead { burial } = look_for(path, &lock_file) {
                tracing::info!(target: "abide::sqlite", owner, "another process is gone; its leases are void");
                let kind = Kind::lease(Operation::Housekeeping, Phase::Commit);
                let burial_job = job(kind, move |tx| {
                    // The dead process's lock file stays locked, and goes, with this job: after the commit.
                    let _until_then = &burial;
                    Ok(tx.bury_owner(owner)?)
                });
                burials.push(burial_job.job);
            }
        }
        burials
    }

    /// Whoever else has entered this file.
    fn others(&mut self, ground: &WriterGround<'_, '_>, now: Duration) -> Vec<Other> {
        self.notice_writes(ground, now);
        if self.others.is_none() {
            let read = ground.statements().rows(Sql::ListOwners, [ground.shared().owner()], |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
            });
            self.others = read.ok();
        }
        self.others.clone().unwrap_or_default()
    }

    fn next_due(&mut self, ground: &WriterGround<'_, '_>, wanted: &[Lane]) -> Option<i64> {
        self.notice_writes(ground, ground.shared().clock.monotonic());
        if let Some((lanes, due)) = &self.next_due
            && lanes == wanted
        {
            return *due;
        }
        let due_of = |lane: &Lane| match lane {
            Lane::Instances => Sql::NextMailboxDue,
            Lane::Work => Sql::NextWorkDue,
        };
        let read: Vec<_> = wanted.iter().map(|lane| ground.statements().next_due(due_of(lane))).collect();
        let due = read.iter().flatten().copied().flatten().min();
        let all_were_read = read.iter().all(Result::is_ok);
        self.next_due = all_were_read.then(|| (wanted.to_vec(), due));
        due
    }

    /// Reads the version again, unless that was a moment ago or there can be nobody else.
    fn notice_writes(&mut self, ground: &WriterGround<'_, '_>, now: Duration) {
        let is_recent = self.read_at.is_some_and(|read_at| now < read_at + FRESH);
        if !is_recent && !ground.shared().in_memory() {
            self.read_version(ground, now);
        }
    }

    /// A number that another connection's commit changes, and our own does not. If it has changed, or cannot be read, nothing is known any more.
    fn read_version(&mut self, ground: &WriterGround<'_, '_>, now: Duration) -> Option<i64> {
        let read = ground.statements().row(Sql::DataVersion, [], |row| row.get::<_, i64>(0));
        let version = read.ok().flatten();
        if version.is_none() || version != self.version {
            self.forget();
        }
        (self.version, self.read_at) = (version, version.map(|_| now));
        version
    }

    fn forget(&mut self) {
        (self.others, self.next_due) = (None, None);
    }
}
