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

/// What is known about the other processes.
pub(crate) struct Neighbours {
    version: Option<i64>,
    /// The version that those who listen for changes were told of.
    told: Option<i64>,
    next_watch: Duration,
    company: bool,
    due: Option<i64>,
    next_look: Duration,
    first_look: bool,
    /// What they may take away from us.
    held: HeldWork,
}

impl Neighbours {
    pub(crate) fn new() -> Self {
        Self {
            version: None,
            told: None,
            next_watch: Duration::ZERO,
            company: true,
            due: None,
            next_look: Duration::ZERO,
            first_look: true,
            held: HeldWork::default(),
        }
    }

    /// Notes which leases this process began and ended itself: others may take away what is left.
    pub(crate) fn note_leases(&mut self, changes: Option<Vec<LeaseChange>>) {
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
        self.due = next_due(ground, wanted);
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
        let version = data_version(ground);
        if version != self.told {
            self.told = version;
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
        let version = data_version(ground);
        let moved = version != self.version;
        self.version = version;
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
        let others = ground.statements().rows(Sql::ListOwners, [shared.owner()], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
        });
        let others = others.unwrap_or_default();
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
}

/// A number that another connection's commit changes, and our own does not.
fn data_version(ground: &WriterGround<'_, '_>) -> Option<i64> {
    ground.statements().row(Sql::DataVersion, [], |row| row.get::<_, i64>(0)).ok().flatten()
}

fn next_due(ground: &WriterGround<'_, '_>, wanted: &[Lane]) -> Option<i64> {
    let due_of = |lane: &Lane| match lane {
        Lane::Instances => Sql::NextMailboxDue,
        Lane::Work => Sql::NextWorkDue,
    };
    wanted.iter().filter_map(|lane| ground.statements().next_due(due_of(lane)).ok().flatten()).min()
}
