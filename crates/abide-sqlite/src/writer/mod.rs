//! The one thread that writes.
//!
//! It takes everything that waits in its inbox, runs it as one [`group`], and answers. Alone, a caller waits for
//! nobody; in a crowd, all share one fsync. Lease calls that find nothing are parked here and served at the end of
//! the group that brings them something, in the same transaction.
//!
//! One commit, from call to disk: `provider.rs` `commit_turns` → `encode.rs` (JSON, on the caller's thread) → `job.rs`
//! `job` → [`Writer::send`] → `Thread::take` → `group.rs` `attempt`: BEGIN, promote, `store/commit.rs`, `Tx::finish` →
//! `group.rs` `settle`: COMMIT, which is the fsync → `Job::answer` → the caller's future.
//!
//! While something is parked, the thread wakes when the next thing becomes due, and looks now and then whether
//! another process has written ([`neighbours`]); so it does while somebody listens for changes, or for leases that are taken
//! away. Otherwise it sleeps until it is called.

mod ground;
pub(crate) mod group;
mod held;
pub(crate) mod lease_call;
mod neighbours;
mod removal;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use abide_provider::{Lane, Operation};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use ground::{Disk, WriterGround};
use group::Outcome;
use lease_call::LeaseCall;
use neighbours::Neighbours;
use removal::{Committed, Idle, Removals};

use crate::checkpoint::Checkpoints;
use crate::connect::several_connections_are_safe;
use crate::error::OpenError;
use crate::job::{Job, JobError, Kind, Phase, job};
use crate::shared::Shared;
use crate::statements::Statements;
use crate::store::Removal;
use crate::store::route::Routes;

/// How long to wait before a broken database is opened again.
const REOPEN_AFTER: Duration = Duration::from_millis(100);

/// A group takes no further request once it has this many jobs, so that a flood does not make anybody wait for ever. The
/// jobs of one call stay together.
const GROUP_LIMIT: usize = 2_048;

/// Something for the writer.
pub(crate) enum Request {
    Jobs(Vec<Box<dyn Job>>),
    /// Boxed: the inbox makes room for many requests at once.
    Lease(Box<LeaseCall>),
    /// Something on the writer's own connection, between two transactions.
    Read(Box<dyn FnOnce(&Statements<'_>) + Send>),
    /// Somebody listens now, for changes or for leases that are taken away: other processes are to be watched.
    Listen,
    Close,
}

/// The way to the writer. Dropping it closes the database.
pub(crate) struct Writer {
    inbox: Sender<Request>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Opens the database and starts the thread.
    pub(crate) fn start(shared: Arc<Shared>) -> Result<Self, OpenError> {
        let (inbox, requests) = unbounded();
        let (opened, open) = crossbeam_channel::bounded(1);
        let thread = std::thread::Builder::new()
            .name("abide-writer".to_owned())
            .spawn(move || match Disk::open(&shared) {
                Ok(disk) => {
                    let _waiting = opened.send(Ok(()));
                    Thread { shared, requests, parked: Vec::new(), backlog: Vec::new() }.run(disk);
                }
                Err(error) => {
                    let _waiting = opened.send(Err(error));
                }
            })
            .map_err(OpenError::Thread)?;
        let writer = Self { inbox, thread: Some(thread) };
        match open.recv() {
            Ok(result) => result.map(|()| writer),
            Err(_) => Err(OpenError::Thread(std::io::Error::other("the writer stopped while opening"))),
        }
    }

    /// For those who send something by themselves.
    pub(crate) fn inbox(&self) -> Sender<Request> {
        self.inbox.clone()
    }

    /// Sends a request. If the writer is gone, whoever waits for the answer is told by its absence.
    pub(crate) fn send(&self, request: Request) {
        let _gone = self.inbox.send(request);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _gone = self.inbox.send(Request::Close);
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

/// What the thread works with.
struct Thread {
    shared: Arc<Shared>,
    requests: Receiver<Request>,
    parked: Vec<LeaseCall>,
    backlog: Vec<Box<dyn Job>>,
}

/// Why the thread left its loop.
enum Left {
    Closed,
    Broken,
}

impl Thread {
    fn run(mut self, disk: Disk) {
        let mut disk = Some(disk);
        loop {
            let Some(open) = disk.take() else {
                match Disk::reopen(&self.shared) {
                    Ok(open) => disk = Some(open),
                    Err(message) => {
                        if self.refuse(&message).is_break() {
                            return;
                        }
                    }
                }
                continue;
            };
            // A panic here would be a bug of ours; it costs the callers of one group their answer, not the store.
            match catch_unwind(AssertUnwindSafe(|| self.serve(&open))) {
                Ok(Left::Closed) => return,
                Ok(Left::Broken) => {
                    open.save_lost_log(&self.shared);
                    tracing::warn!(target: "abide::sqlite", path = %self.shared.location.path().display(),
                        "the database connection failed and is opened again");
                }
                Err(_) => {
                    tracing::error!(target: "abide::sqlite", "the writer panicked and starts again");
                    // One of them may be the cause; and what the lost transaction had granted was never granted.
                    for call in self.parked.drain(..) {
                        call.fail(JobError::NotBegun("the store met an error of its own"));
                    }
                }
            }
            if self.shared.in_memory() {
                // There is no file to open again: the connection is the database.
                disk = Some(open.rolled_back());
            }
        }
    }

    /// Answers everybody that the database cannot be used, for a while.
    fn refuse(&mut self, message: &str) -> std::ops::ControlFlow<()> {
        for job in self.backlog.drain(..) {
            job.fail(JobError::NotBegun(message));
        }
        for call in self.parked.drain(..) {
            call.fail(JobError::NotBegun(message));
        }
        match self.requests.recv_timeout(REOPEN_AFTER) {
            Ok(Request::Jobs(jobs)) => jobs.into_iter().for_each(|job| job.fail(JobError::NotBegun(message))),
            Ok(Request::Lease(call)) => call.fail(JobError::NotBegun(message)),
            Ok(Request::Read(_) | Request::Listen) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Request::Close) | Err(RecvTimeoutError::Disconnected) => {
                return std::ops::ControlFlow::Break(());
            }
        }
        std::ops::ControlFlow::Continue(())
    }

    /// Runs groups until the database is closed or broken.
    fn serve(&mut self, disk: &Disk) -> Left {
        let statements = Statements::new(disk.connection());
        let shared = Arc::clone(&self.shared);
        let routes = Routes::default();
        let ground = WriterGround::new(&shared, disk, &statements, &routes);
        let checkpoints = match self.checkpoints() {
            Ok(checkpoints) => checkpoints,
            Err(error) => {
                tracing::warn!(target: "abide::sqlite", %error, "no second connection: the writer copies the log");
                Checkpoints::inline()
            }
        };
        let mut neighbours = Neighbours::new();
        neighbours.listen(&ground);
        let mut removals = Removals::new(&ground);
        // What was committed before an error may not have been told of.
        shared.changes.tell_all();
        loop {
            self.backlog.extend(neighbours.look(&ground));
            neighbours.watch(&ground);
            let taken = self.take(&ground, &mut neighbours, &removals);
            if taken.closed {
                self.finish(&ground);
                return Left::Closed;
            }
            let idle = if taken.reason_to_run { Idle::No } else { Idle::Yes };
            let part = removals.part(&ground, idle);
            let taken = Taken { reason_to_run: taken.reason_to_run || part.is_some(), ..taken };
            self.backlog.extend(part);
            if !taken.reason_to_run || (self.backlog.is_empty() && !self.anything_to_lease(&ground)) {
                self.give_up_waiting();
                continue;
            }
            let outcome = self.group(&ground, &mut neighbours);
            if outcome.broken {
                return Left::Broken;
            }
            removals.rest(&ground, if outcome.committed { Committed::Yes } else { Committed::No });
            if outcome.removal == Removal::Changed {
                removals.look(&ground);
            }
            if outcome.committed {
                checkpoints.after_commit(&statements, &shared.counts);
            }
        }
    }

    fn checkpoints(&self) -> Result<Checkpoints, OpenError> {
        if self.shared.in_memory() || !several_connections_are_safe() {
            return Ok(Checkpoints::inline());
        }
        Checkpoints::beside(&self.shared)
    }

    fn group(&mut self, ground: &WriterGround<'_, '_>, neighbours: &mut Neighbours) -> Outcome {
        let mut outcome = group::run(ground, std::mem::take(&mut self.backlog), &mut self.parked);
        self.shared.stolen.tell(std::mem::take(&mut outcome.stolen));
        neighbours.note_group(outcome.leases.take());
        if outcome.again {
            self.backlog.push(nothing());
        }
        self.give_up_waiting();
        outcome
    }

    /// Whether a transaction for the parked calls alone would find anything. Errors are for it to report.
    fn anything_to_lease(&self, ground: &WriterGround<'_, '_>) -> bool {
        self.wanted().into_iter().any(|lane| ground.anything_to_lease(lane).unwrap_or(true))
    }

    /// What the parked calls wait for.
    fn wanted(&self) -> Vec<Lane> {
        let wants = |lane: &Lane| self.parked.iter().any(|call| call.lane() == *lane);
        [Lane::Instances, Lane::Work].into_iter().filter(wants).collect()
    }

    /// Collects what is there; waits if there is nothing to do.
    fn take(
        &mut self,
        ground: &WriterGround<'_, '_>,
        neighbours: &mut Neighbours,
        removals: &Removals,
    ) -> Taken {
        let mut taken = Taken { closed: false, reason_to_run: !self.backlog.is_empty() };
        while self.backlog.len() < GROUP_LIMIT {
            match self.requests.try_recv() {
                Ok(request) => self.accept(request, ground, neighbours, &mut taken),
                Err(_) => break,
            }
        }
        if taken.closed || taken.reason_to_run {
            return taken;
        }
        match self.wait(ground, neighbours, removals.patience(ground)) {
            Ok(request) => self.accept(request, ground, neighbours, &mut taken),
            Err(RecvTimeoutError::Timeout) => {
                taken.reason_to_run = neighbours.have_written(ground) || neighbours.is_due(ground.now());
            }
            Err(RecvTimeoutError::Disconnected) => taken.closed = true,
        }
        taken
    }

    fn accept(
        &mut self,
        request: Request,
        ground: &WriterGround<'_, '_>,
        neighbours: &mut Neighbours,
        taken: &mut Taken,
    ) {
        match request {
            Request::Jobs(jobs) => {
                self.backlog.extend(jobs);
                taken.reason_to_run = true;
            }
            Request::Lease(call) => {
                self.parked.push(*call);
                taken.reason_to_run = true;
            }
            Request::Read(read) => read(ground.statements()),
            Request::Listen => neighbours.listen(ground),
            Request::Close => taken.closed = true,
        }
    }

    /// Waits for a request, at most until something else must be looked at.
    fn wait(
        &self,
        ground: &WriterGround<'_, '_>,
        neighbours: &mut Neighbours,
        until_removal: Option<Duration>,
    ) -> Result<Request, RecvTimeoutError> {
        let deadline = self.parked.iter().map(|call| call.deadline).min();
        let for_parked = deadline.map(|deadline| {
            let until_deadline = deadline.saturating_sub(self.shared.clock.monotonic());
            until_deadline.min(neighbours.patience(ground, &self.wanted()))
        });
        match for_parked.into_iter().chain(neighbours.attention(ground)).chain(until_removal).min() {
            None => self.requests.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(patience) => self.requests.recv_timeout(patience),
        }
    }

    /// Answers calls whose time is up.
    fn give_up_waiting(&mut self) {
        let now = self.shared.clock.monotonic();
        for call in self.parked.extract_if(.., |call| call.deadline <= now || call.is_abandoned()) {
            call.answer();
        }
    }

    /// Whoever still waits is answered; what was asked for before the end is done.
    fn finish(&mut self, ground: &WriterGround<'_, '_>) {
        for call in self.parked.drain(..) {
            call.answer();
        }
        if !self.backlog.is_empty() {
            let last = group::run(ground, std::mem::take(&mut self.backlog), &mut Vec::new());
            if last.broken {
                return; // that connection writes no more; our leases are void when our lock file is free
            }
        }
        ground.sign_off();
    }
}

struct Taken {
    closed: bool,
    reason_to_run: bool,
}

/// A reason to run another group.
fn nothing() -> Box<dyn Job> {
    job(Kind::lease(Operation::Housekeeping, Phase::Housekeeping), |_| Ok(())).job
}
