//! A call that wants leases: served now, or parked until there is something.

use std::time::Duration;

use abide_provider::{
    InstanceLease, Lane, LeaseInstances, LeaseWork, Operation, SemverRange, Serving, StoreError, WorkLease,
};
use crossbeam_channel::Sender;
use futures_channel::oneshot;

use super::Request;
use crate::encode::column;
use crate::job::{Job, JobError, Kind, Phase, job, tell};
use crate::store::Tx;
use crate::store::lease::{Abandon, Attempt};
use crate::store::read::{Leased, Standing, StoredHistory, StoredKv};

/// A call that wants leases.
pub(crate) struct LeaseCall {
    pub(crate) wanted: Wanted,
    /// When to give up, in monotonic time.
    pub(crate) deadline: Duration,
}

pub(crate) enum Wanted {
    Instances(Call<LeaseInstances, LeasedInstance>, Load),
    Work(Call<LeaseWork, WorkLease>),
}

/// A request, what it was given, and who waits for it.
pub(crate) struct Call<Wish, Lease: GiveBack> {
    operation: Operation,
    request: Wish,
    given: Vec<Lease>,
    reply: oneshot::Sender<Result<Handover<Lease>, StoreError>>,
    inbox: Sender<Request>,
}

/// Leases on their way to a caller. If nobody takes them they go back to the store, with the attempt given back:
/// a caller may be dropped at any moment, also when the answer is already in its channel.
pub(crate) struct Handover<Lease: GiveBack> {
    leases: Vec<Lease>,
    inbox: Sender<Request>,
}

impl<Lease: GiveBack> Handover<Lease> {
    /// To be called in the poll that hands them to the caller.
    pub(crate) fn take(mut self) -> Vec<Lease> {
        std::mem::take(&mut self.leases)
    }
}

impl<Lease: GiveBack> Drop for Handover<Lease> {
    fn drop(&mut self) {
        if !self.leases.is_empty() {
            let jobs = self.leases.drain(..).map(GiveBack::give_back).collect();
            let _closed = self.inbox.send(Request::Jobs(jobs)); // then closing has voided them
        }
    }
}

/// A lease that can be returned unused.
pub(crate) trait GiveBack {
    /// Returns it, with the attempt given back.
    fn give_back(self) -> Box<dyn Job>;
}

const UNUSED: Abandon = Abandon { delay: None, attempt: Attempt::GivenBack };

impl GiveBack for LeasedInstance {
    fn give_back(self) -> Box<dyn Job> {
        let kind = Kind::lease(Operation::AbandonOrchestrationItem, Phase::Commit);
        job(kind, move |tx| tx.abandon_instance(&self.lease.token, &UNUSED)).job
    }
}

impl GiveBack for WorkLease {
    fn give_back(self) -> Box<dyn Job> {
        let kind = Kind::lease(Operation::AbandonWorkItem, Phase::Commit);
        job(kind, move |tx| tx.abandon_work(&self.token, &UNUSED)).job
    }
}

/// Where the leases of a call arrive.
pub(crate) type Leases<Lease> = oneshot::Receiver<Result<Handover<Lease>, StoreError>>;

/// What comes with a leased instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    /// Its messages.
    Messages,
    /// Its messages, its history and its key-value snapshot.
    Everything,
}

/// A leased instance, with what was asked for.
#[derive(Debug)]
pub(crate) struct LeasedInstance {
    pub(crate) lease: InstanceLease,
    pub(crate) loaded: Option<Loaded>,
}

#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) standing: Standing,
    pub(crate) history: StoredHistory,
    pub(crate) kv: StoredKv,
}

impl<Wish, Lease: GiveBack> Call<Wish, Lease> {
    pub(crate) fn new(operation: Operation, request: Wish, inbox: Sender<Request>) -> (Self, Leases<Lease>) {
        let (reply, leases) = oneshot::channel();
        (Self { operation, request, given: Vec::new(), reply, inbox }, leases)
    }

    fn answer(self) {
        tell(self.reply, Ok(Handover { leases: self.given, inbox: self.inbox }));
    }

    /// What a failed commit may have granted after all is given back.
    fn fail(self, error: JobError<'_>) {
        let unused = Handover { leases: self.given, inbox: self.inbox };
        drop(unused);
        tell(self.reply, Err(error.of(self.operation)));
    }
}

/// Calls that ask for the same find the same: if one finds nothing, so do the others of its kind.
#[derive(Debug, PartialEq)]
pub(crate) enum Need {
    Instances(Option<Vec<SemverRange>>, Option<Serving>),
    Work(abide_provider::TagFilter, Option<String>, Option<Serving>),
}

impl LeaseCall {
    pub(crate) fn need(&self) -> Need {
        match &self.wanted {
            Wanted::Instances(call, _) => Need::Instances(
                call.request.capabilities.as_ref().map(|filter| filter.supported_duroxide_versions.clone()),
                call.request.serving.clone(),
            ),
            Wanted::Work(call) => Need::Work(
                call.request.tags.clone(),
                call.request.session.as_ref().map(|session| session.owner_id.clone()),
                call.request.serving.clone(),
            ),
        }
    }

    pub(crate) fn lane(&self) -> Lane {
        match &self.wanted {
            Wanted::Instances(..) => Lane::Instances,
            Wanted::Work(_) => Lane::Work,
        }
    }

    pub(crate) fn is_abandoned(&self) -> bool {
        match &self.wanted {
            Wanted::Instances(call, _) => call.reply.is_canceled(),
            Wanted::Work(call) => call.reply.is_canceled(),
        }
    }

    /// Leases what there is. What an earlier, failed transaction had given is forgotten.
    pub(crate) fn serve(&mut self, tx: &Tx<'_, '_>) -> rusqlite::Result<()> {
        match &mut self.wanted {
            Wanted::Instances(call, load) => {
                call.given.clear();
                for lease in tx.lease_instances(&call.request)? {
                    let loaded = match load {
                        Load::Messages => None,
                        Load::Everything => Some(Loaded::read(tx, &lease)?),
                    };
                    call.given.push(LeasedInstance { lease, loaded });
                }
            }
            Wanted::Work(call) => call.given = tx.lease_work(&call.request)?,
        }
        Ok(())
    }

    pub(crate) fn forget(&mut self) {
        match &mut self.wanted {
            Wanted::Instances(call, _) => call.given.clear(),
            Wanted::Work(call) => call.given.clear(),
        }
    }

    pub(crate) fn is_served(&self) -> bool {
        match &self.wanted {
            Wanted::Instances(call, _) => !call.given.is_empty(),
            Wanted::Work(call) => !call.given.is_empty(),
        }
    }

    pub(crate) fn answer(self) {
        match self.wanted {
            Wanted::Instances(call, _) => call.answer(),
            Wanted::Work(call) => call.answer(),
        }
    }

    pub(crate) fn fail(self, error: JobError<'_>) {
        match self.wanted {
            Wanted::Instances(call, _) => call.fail(error),
            Wanted::Work(call) => call.fail(error),
        }
    }
}

impl Loaded {
    fn read(tx: &Tx<'_, '_>, lease: &InstanceLease) -> rusqlite::Result<Self> {
        let mailbox = column(lease.position.incarnation);
        let execution = column(lease.position.execution_id);
        Ok(Self {
            standing: Leased::of(lease).standing(tx.sql)?,
            history: StoredHistory::read(tx.sql, mailbox, execution, 0)?,
            kv: tx.sql.kv_snapshot(mailbox)?,
        })
    }
}
