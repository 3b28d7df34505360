//! A call that wants leases: served now, or parked until there is something.

use std::collections::BTreeMap;
use std::time::Duration;

use abide_model::KvEntry;
use abide_provider::{
    InstanceLease, Lane, LeaseInstances, LeaseWork, Operation, SemverRange, StoreError, WorkLease,
};
use futures_channel::oneshot;

use crate::job::{JobError, tell};
use crate::store::Tx;
use crate::store::read::StoredHistory;

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
pub(crate) struct Call<Request, Lease> {
    operation: Operation,
    request: Request,
    given: Vec<Lease>,
    reply: oneshot::Sender<Result<Vec<Lease>, StoreError>>,
}

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
    pub(crate) history: StoredHistory,
    pub(crate) kv: BTreeMap<String, KvEntry>,
}

impl<Request, Lease> Call<Request, Lease> {
    pub(crate) fn new(
        operation: Operation,
        request: Request,
    ) -> (Self, oneshot::Receiver<Result<Vec<Lease>, StoreError>>) {
        let (reply, answer) = oneshot::channel();
        (Self { operation, request, given: Vec::new(), reply }, answer)
    }

    /// Sends what was given; returns it if nobody is there to take it.
    fn answer(self) -> Vec<Lease> {
        match self.reply.send(Ok(self.given)) {
            Ok(()) => Vec::new(),
            Err(unsent) => unsent.unwrap_or_default(),
        }
    }

    fn fail(self, error: JobError<'_>) {
        tell(self.reply, Err(error.of(self.operation)));
    }
}

/// Leases that were granted to somebody who has gone away.
#[derive(Debug)]
pub(crate) enum Undelivered {
    Instance(String),
    Work(String),
}

/// Calls that ask for the same find the same: if one finds nothing, so do the others of its kind.
#[derive(Debug, PartialEq)]
pub(crate) enum Need {
    Instances(Option<Vec<SemverRange>>),
    Work(abide_provider::TagFilter, Option<String>),
}

impl LeaseCall {
    pub(crate) fn need(&self) -> Need {
        match &self.wanted {
            Wanted::Instances(call, _) => Need::Instances(
                call.request.capabilities.as_ref().map(|filter| filter.supported_duroxide_versions.clone()),
            ),
            Wanted::Work(call) => Need::Work(
                call.request.tags.clone(),
                call.request.session.as_ref().map(|session| session.owner_id.clone()),
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

    pub(crate) fn answer(self) -> Vec<Undelivered> {
        match self.wanted {
            Wanted::Instances(call, _) => {
                call.answer().into_iter().map(|given| Undelivered::Instance(given.lease.token)).collect()
            }
            Wanted::Work(call) => {
                call.answer().into_iter().map(|lease| Undelivered::Work(lease.token)).collect()
            }
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
        let mailbox = crate::encode::column(lease.position.incarnation);
        let execution = crate::encode::column(lease.position.execution_id);
        Ok(Self {
            history: StoredHistory::read(tx.sql, mailbox, execution, 0)?,
            kv: tx.sql.kv_snapshot(mailbox)?,
        })
    }
}
