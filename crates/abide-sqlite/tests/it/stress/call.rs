//! The calls that the crowd makes, and what came of them. The same calls are made to the model when they are replayed.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use abide_model::{PruneOptions, PruneResult, WorkItem};
use abide_provider::{
    Authority, DeleteInstanceResult, ErrorKind, FinishedWork, Force, InstanceFilter, InstanceLease,
    LeaseInstances, LeaseWork, OrphanFilter, Provider, ProviderAdmin, ProviderError, Rejection, Retention,
    StoreError, TagFilter, TurnCommit, WorkLease,
};

/// So long that none runs out: what is lost was taken away.
pub(crate) const LEASE: Duration = Duration::from_secs(3_600);

/// How long a lease call waits for something to come.
const WAIT: Duration = Duration::from_millis(2);

#[derive(Debug, Clone)]
pub(crate) enum Call {
    Enqueue(WorkItem),
    LeaseInstances { limit: usize },
    Commit(Box<TurnCommit>),
    AbandonInstance { token: String },
    LeaseWork { limit: usize },
    Finish(FinishedWork),
    AbandonWork { token: String },
    Delete { instance: String, force: Force },
    DeleteSet { ids: Vec<String>, force: Force },
    DeleteBulk(InstanceFilter),
    Orphans(OrphanFilter),
    Retention(Retention),
    Prune { instance: String, options: PruneOptions },
    PruneBulk { filter: InstanceFilter, options: PruneOptions },
    Look(Look),
}

/// What changes nothing.
#[derive(Debug, Clone)]
pub(crate) enum Look {
    List,
    Info { instance: String },
    Tree { instance: String },
    History { instance: String },
    Values { instance: String },
}

#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    Done,
    Instances(Vec<InstanceLease>),
    Work(Vec<WorkLease>),
    /// With what was pruned.
    Committed(Option<PruneResult>),
    Deleted(DeleteInstanceResult),
    Pruned(PruneResult),
    /// What a look has shown.
    Seen(String),
    /// Nothing was done.
    Refused(Refusal),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// Why; administration says it in words alone.
    pub(crate) rejection: Option<Rejection>,
    pub(crate) message: String,
}

impl Call {
    /// The token that it is made with.
    pub(crate) fn token(&self) -> Option<&str> {
        if let Self::AbandonInstance { token } | Self::AbandonWork { token } = self {
            return Some(token);
        }
        if let Self::Finish(FinishedWork { token, .. }) = self {
            return Some(token);
        }
        if let Self::Commit(commit) = self {
            let (Authority::Lease { token } | Authority::FinishedWork { token, .. }) = &commit.authority;
            return Some(token);
        }
        None
    }

    /// The same with the token of another store.
    pub(crate) fn with_token(&self, tokens: &HashMap<String, String>) -> Self {
        let mut call = self.clone();
        let theirs = self.token().and_then(|token| tokens.get(token)).cloned().unwrap_or_default();
        if let Self::AbandonInstance { token } | Self::AbandonWork { token } = &mut call {
            *token = theirs;
        } else if let Self::Finish(finished) = &mut call {
            finished.token = theirs;
        } else if let Self::Commit(commit) = &mut call {
            let (Authority::Lease { token } | Authority::FinishedWork { token, .. }) = &mut commit.authority;
            *token = theirs;
        }
        call
    }

    /// Makes it.
    pub(crate) async fn make(&self, store: &dyn Provider) -> Outcome {
        match self.clone() {
            Self::Enqueue(item) => done(store.enqueue_for_orchestrator(item, None).await),
            Self::LeaseInstances { limit } => match store.lease_instances(lease_instances(limit)).await {
                Ok(leases) => Outcome::Instances(leases),
                Err(error) => Outcome::Refused(Refusal::of(error)),
            },
            Self::Commit(commit) => match store.commit_turns(vec![*commit]).await.remove(0) {
                Ok(committed) => Outcome::Committed(committed.pruned),
                Err(error) => Outcome::Refused(Refusal::of(error)),
            },
            Self::AbandonInstance { token } => {
                done(store.abandon_orchestration_item(&token, None, false).await)
            }
            Self::LeaseWork { limit } => match store.lease_work(lease_work(limit)).await {
                Ok(leases) => Outcome::Work(leases),
                Err(error) => Outcome::Refused(Refusal::of(error)),
            },
            Self::Finish(finished) => match store.finish_work(vec![finished]).await.remove(0) {
                Ok(()) => Outcome::Done,
                Err(error) => Outcome::Refused(Refusal::of(error)),
            },
            Self::AbandonWork { token } => done(store.abandon_work_item(&token, None, false).await),
            Self::Delete { .. }
            | Self::DeleteSet { .. }
            | Self::DeleteBulk(_)
            | Self::Orphans(_)
            | Self::Retention(_) => match self.delete(admin(store)).await {
                Ok(deleted) => Outcome::Deleted(deleted),
                Err(error) => Outcome::Refused(Refusal::in_words(error)),
            },
            Self::Prune { instance, options } => {
                pruned(admin(store).prune_executions(&instance, options).await)
            }
            Self::PruneBulk { filter, options } => {
                pruned(admin(store).prune_executions_bulk(filter, options).await)
            }
            Self::Look(look) => Outcome::Seen(look.make(store).await),
        }
    }

    async fn delete(&self, admin: &dyn ProviderAdmin) -> Result<DeleteInstanceResult, ProviderError> {
        match self {
            Self::Delete { instance, force } => admin.delete_instance(instance, *force == Force::Yes).await,
            Self::DeleteSet { ids, force } => admin.delete_instances_atomic(ids, *force == Force::Yes).await,
            Self::DeleteBulk(filter) => admin.delete_instance_bulk(filter.clone()).await,
            Self::Orphans(filter) => admin.cleanup_orphaned_instances(filter.clone()).await,
            Self::Retention(retention) => admin.enforce_retention(*retention).await,
            Self::Enqueue(_)
            | Self::LeaseInstances { .. }
            | Self::Commit(_)
            | Self::AbandonInstance { .. }
            | Self::LeaseWork { .. }
            | Self::Finish(_)
            | Self::AbandonWork { .. }
            | Self::Prune { .. }
            | Self::PruneBulk { .. }
            | Self::Look(_) => Ok(DeleteInstanceResult::default()),
        }
    }
}

impl Look {
    pub(crate) async fn make(&self, store: &dyn Provider) -> String {
        let admin = admin(store);
        match self {
            Self::List => format!("{:?}", admin.list_instances().await),
            Self::Info { instance } => format!("{:?}", admin.get_instance_info(instance).await),
            Self::Tree { instance } => format!("{:?}", admin.get_instance_tree(instance).await),
            Self::History { instance } => format!("{:?}", admin.read_history(instance).await),
            Self::Values { instance } => {
                let values = store.get_kv_all_values(instance).await;
                format!("{:?}", values.map(|values| values.into_iter().collect::<BTreeMap<_, _>>()))
            }
        }
    }
}

impl Outcome {
    /// What is the same in every store: no tokens, and no wording where each has its own.
    pub(crate) fn plain(&self) -> String {
        match self {
            Self::Instances(leases) => {
                let nameless = leases.iter().map(plain_lease);
                nameless.collect::<Vec<_>>().join("\n")
            }
            Self::Work(leases) => {
                let nameless = leases.iter().cloned().map(plain_work);
                nameless.collect::<Vec<_>>().join("\n")
            }
            Self::Committed(pruned) => format!("committed, pruned {pruned:?}"),
            Self::Refused(Refusal { rejection: Some(rejection), .. }) => format!("{rejection:?}"),
            Self::Done
            | Self::Deleted(_)
            | Self::Pruned(_)
            | Self::Seen(_)
            | Self::Refused(Refusal { rejection: None, .. }) => format!("{self:?}"),
        }
    }

    pub(crate) fn rejection(&self) -> Option<Rejection> {
        if let Self::Refused(refusal) = self { refusal.rejection } else { None }
    }
}

/// A lease without its token, and without the time: that is when it was handed over, which only the caller's thread knows.
pub(crate) fn plain_lease(lease: &InstanceLease) -> String {
    format!(
        "{:?}",
        InstanceLease {
            token: String::new(),
            store_time: None,
            store_time_slack: Duration::ZERO,
            ..lease.clone()
        }
    )
}

/// The same of an activity.
pub(crate) fn plain_work(lease: WorkLease) -> String {
    format!(
        "{:?}",
        WorkLease { token: String::new(), store_time: None, store_time_slack: Duration::ZERO, ..lease }
    )
}

impl Refusal {
    /// The crowd breaks nothing and nothing runs out: whatever is not a refusal is a bug.
    fn of(error: StoreError) -> Self {
        assert!(matches!(error.kind, ErrorKind::Rejected(_)), "{error}");
        Self { rejection: error.rejection(), message: error.message }
    }

    fn in_words(error: ProviderError) -> Self {
        assert!(!error.retryable, "{error}");
        Self { rejection: None, message: error.message }
    }
}

fn done(result: Result<(), ProviderError>) -> Outcome {
    match result {
        Ok(()) => Outcome::Done,
        // The older form of the only thing that can go wrong there.
        Err(error) => {
            assert!(error.message.contains("Invalid lock token"), "{error}");
            Outcome::Refused(Refusal { rejection: Some(Rejection::LeaseLost), message: error.message })
        }
    }
}

fn pruned(result: Result<PruneResult, ProviderError>) -> Outcome {
    match result {
        Ok(pruned) => Outcome::Pruned(pruned),
        Err(error) => Outcome::Refused(Refusal::in_words(error)),
    }
}

pub(crate) fn admin(store: &dyn Provider) -> &dyn ProviderAdmin {
    store.as_management_capability().expect("the store can be administered")
}

fn lease_instances(limit: usize) -> LeaseInstances {
    LeaseInstances { limit, lease_for: LEASE, wait: WAIT, capabilities: None, serving: None }
}

fn lease_work(limit: usize) -> LeaseWork {
    LeaseWork {
        limit,
        lease_for: LEASE,
        wait: WAIT,
        session: None,
        tags: TagFilter::DefaultOnly,
        serving: None,
    }
}
