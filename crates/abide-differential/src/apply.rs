//! Making one call of one store, and writing down its answer without what may differ: tokens and wording.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use abide_model::WorkItem;
use abide_provider::{
    Authority, BlockInstance, Enqueue, FinishedWork, HoldWork, InstanceLease, InstanceOverview, InstancePage,
    Lane, LeaseInstances, LeaseWork, OrchestrationItem, Provider, ProviderError, RenewSessions, RequestKey,
    RevokeWork, StolenBecause, StoreError, TurnCommit, WorkLease,
};

use crate::numbering::Numbering;
use crate::op::{BlockOp, Commit, Fate, InstanceOp, MailOp, ReadOp, Right, SessionOp, WorkOp};
use crate::world::{Handed, Side, World};

/// What a call answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    /// All of it, in a form that is the same for two stores that answer alike.
    pub(crate) text: String,
    /// For each token of the step: done, or how it was refused.
    pub(crate) results: Vec<Result<(), String>>,
    pub(crate) leases: Vec<Handed>,
    pub(crate) trees: Vec<Vec<String>>,
    pub(crate) pages: Vec<InstancePage>,
    /// Where the store does not agree with itself.
    pub(crate) contradictions: Vec<String>,
}

/// One store, with what is known about both.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) provider: &'a dyn Provider,
    pub(crate) side: Side,
    pub(crate) world: &'a World,
}

/// Who refused, and what became of the call; not in which words.
pub(crate) trait Refusal {
    fn plain(&self) -> String;
}

impl Refusal for StoreError {
    fn plain(&self) -> String {
        format!("{}: {:?}", self.operation, self.kind)
    }
}

impl Refusal for ProviderError {
    fn plain(&self) -> String {
        format!("{}: {}", self.operation, if self.retryable { "retryable" } else { "permanent" })
    }
}

impl Answer {
    pub(crate) fn of<T: Debug>(result: Result<T, impl Refusal>) -> Self {
        let result = result.map_err(|error| error.plain());
        let text = format!("{result:?}");
        Self { text, results: vec![result.map(drop)], ..Self::default() }
    }

    fn of_each<T: std::fmt::Debug>(results: Vec<Result<T, StoreError>>) -> Self {
        let results: Vec<_> =
            results.into_iter().map(|result| result.map_err(|error| error.plain())).collect();
        let text = format!("{results:?}");
        Self {
            text,
            results: results.into_iter().map(|result| result.map(drop)).collect(),
            ..Self::default()
        }
    }

    fn with(mut self, leases: Vec<Handed>) -> Self {
        self.leases = leases;
        self
    }
}

impl Caller<'_> {
    pub(crate) async fn mail(self, op: &MailOp) -> Answer {
        match op.clone() {
            MailOp::Enqueue { item, delay } => {
                Answer::of(self.provider.enqueue_for_orchestrator(item, delay).await)
            }
            MailOp::EnqueueOnce { item, delay, key } => {
                let request = Enqueue { item, delay, key: RequestKey([key; 16]) };
                Answer::of(self.provider.enqueue_once(request).await)
            }
            MailOp::StartOnce { item, delay, key } => {
                let request = Enqueue { item, delay, key: RequestKey([key; 16]) };
                Answer::of(self.provider.start_once(request).await)
            }
            MailOp::EnqueueExisting { item, delay, key } => {
                let request = Enqueue { item, delay, key: RequestKey([key; 16]) };
                Answer::of(self.provider.enqueue_existing(request).await)
            }
            MailOp::EnqueueWork { item } => Answer::of(self.provider.enqueue_for_worker(item).await),
        }
    }

    pub(crate) async fn instance(self, op: &InstanceOp) -> Answer {
        match op.clone() {
            InstanceOp::Fetch { lease_for, capabilities } => {
                let capabilities = capabilities.as_ref();
                let fetched =
                    self.provider.fetch_orchestration_item(lease_for, Duration::ZERO, capabilities).await;
                fetched_answer(fetched)
            }
            InstanceOp::Lease { limit, lease_for, capabilities, serving } => {
                let request =
                    LeaseInstances { limit, lease_for, wait: Duration::ZERO, capabilities, serving };
                leased_answer(self.provider.lease_instances(request).await, self.numbering())
            }
            InstanceOp::Ack { token, turn } => {
                let token = self.world.token(self.side, &token);
                let acked = self.provider.ack_orchestration_item(
                    &token,
                    turn.execution_id,
                    turn.events,
                    turn.worker_items,
                    turn.orchestrator_items,
                    turn.metadata,
                    turn.cancelled_activities,
                );
                Answer::of(acked.await)
            }
            InstanceOp::Commit(commits) => {
                let turns = commits.into_iter().map(|commit| self.commit(commit)).collect();
                Answer::of_each(self.provider.commit_turns(turns).await)
            }
            InstanceOp::Append { instance, execution_id, events } => {
                Answer::of(self.provider.append_with_execution(&instance, execution_id, events).await)
            }
            InstanceOp::Renew { token, extend_for } => {
                let token = self.world.token(self.side, &token);
                Answer::of(self.provider.renew_orchestration_item_lock(&token, extend_for).await)
            }
            InstanceOp::Abandon { token, delay, ignore_attempt } => {
                let token = self.world.token(self.side, &token);
                Answer::of(self.provider.abandon_orchestration_item(&token, delay, ignore_attempt).await)
            }
        }
    }

    pub(crate) fn numbering(&self) -> &Numbering {
        self.world.numbering(self.side)
    }

    fn commit(self, commit: Commit) -> TurnCommit {
        let authority = match &commit.right {
            Right::Lease(token) => Authority::Lease { token: self.world.token(self.side, token) },
            Right::FinishedWork { token, expected } => Authority::FinishedWork {
                token: self.world.token(self.side, token),
                expected: self.numbering().position_of_subject(*expected),
            },
        };
        let Commit { instance, right: _, consumed, turn } = commit;
        let consumed = self.numbering().consumed_of_subject(consumed);
        TurnCommit { instance, authority, consumed, left: Vec::new(), turn }
    }

    pub(crate) async fn work(self, op: &WorkOp) -> Answer {
        match op.clone() {
            WorkOp::Fetch { lease_for, session, tags } => {
                let (wait, session) = (Duration::ZERO, session.as_ref());
                fetched_work_answer(self.provider.fetch_work_item(lease_for, wait, session, &tags).await)
            }
            WorkOp::Lease { limit, lease_for, session, tags, serving } => {
                let request = LeaseWork { limit, lease_for, wait: Duration::ZERO, session, tags, serving };
                leased_work_answer(self.provider.lease_work(request).await)
            }
            WorkOp::Ack { token, completion } => {
                let token = self.world.token(self.side, &token);
                Answer::of(self.provider.ack_work_item(&token, completion).await)
            }
            WorkOp::Finish(finished) => {
                let finished = finished.into_iter().map(|(token, completion)| FinishedWork {
                    token: self.world.token(self.side, &token),
                    completion,
                });
                Answer::of_each(self.provider.finish_work(finished.collect()).await)
            }
            WorkOp::Renew { token, extend_for } => {
                let token = self.world.token(self.side, &token);
                Answer::of(self.provider.renew_work_item_lock(&token, extend_for).await)
            }
            WorkOp::Abandon { token, delay, ignore_attempt } => {
                let token = self.world.token(self.side, &token);
                Answer::of(self.provider.abandon_work_item(&token, delay, ignore_attempt).await)
            }
        }
    }

    pub(crate) async fn session(self, op: &SessionOp) -> Answer {
        match op {
            SessionOp::Renew { owners, extend_for, idle_timeout } => {
                let owners: Vec<&str> = owners.iter().map(String::as_str).collect();
                Answer::of(self.provider.renew_session_lock(&owners, *extend_for, *idle_timeout).await)
            }
            SessionOp::RenewServed { owner, extend_for, idle_timeout, tags, serving } => {
                let request = RenewSessions {
                    owner: owner.clone(),
                    extend_for: *extend_for,
                    idle_timeout: *idle_timeout,
                    tags: tags.clone(),
                    serving: serving.clone(),
                };
                Answer::of(self.provider.renew_sessions(request).await)
            }
            SessionOp::Cleanup { idle_timeout } => {
                Answer::of(self.provider.cleanup_orphaned_sessions(*idle_timeout).await)
            }
        }
    }

    pub(crate) async fn block(self, op: &BlockOp) -> Answer {
        match op.clone() {
            BlockOp::Block { token, kind, detail, build, event_id, retry_after } => {
                let token = self.world.token(self.side, &token);
                let block = BlockInstance { token, kind, detail, build, event_id, retry_after };
                Answer::of(self.provider.block_instance(block).await)
            }
            BlockOp::Hold { token, detail, build } => {
                let token = self.world.token(self.side, &token);
                Answer::of(self.provider.hold_work(HoldWork { token, detail, build }).await)
            }
            BlockOp::Begin { lane, token } => {
                let token = self.world.token(self.side, &token);
                Answer::of(self.provider.begin_suspect(lane, &token).await)
            }
            BlockOp::Revoke { token, execution_id, limit, status } => {
                let token = self.world.token(self.side, &token);
                let ended = |status| StolenBecause::OrchestrationEnded { status };
                let because = status.map_or(StolenBecause::Dropped, ended);
                let revoke = RevokeWork { token, execution_id, limit, because };
                Answer::of(self.provider.revoke_work(revoke).await)
            }
            BlockOp::Retry { instance } => Answer::of(self.provider.retry_blocked(&instance).await),
            BlockOp::Read { instance } => Answer::of(self.provider.read_blocks(&instance).await),
            BlockOp::List { limit } => Answer::of(self.admin().list_blocked(limit).await),
            BlockOp::Count => Answer::of(self.admin().count_blocked().await),
            BlockOp::Announce { node } => Answer::of(self.provider.announce_node(node).await),
            BlockOp::Forget { node } => Answer::of(self.provider.forget_node(&node).await),
            BlockOp::Nodes => Answer::of(self.provider.nodes().await),
        }
    }

    pub(crate) async fn read(self, op: &ReadOp) -> Answer {
        let provider = self.provider;
        match op {
            ReadOp::History { instance } => Answer::of(provider.read(instance).await),
            ReadOp::Execution { instance, execution_id } => {
                Answer::of(provider.read_with_execution(instance, *execution_id).await)
            }
            ReadOp::HistoryAfter { lease, after, fate } => match self.lease(*lease, *fate) {
                Some(lease) => Answer::of(provider.read_history_after(&lease, *after).await),
                None => Answer::default(),
            },
            ReadOp::Snapshot { lease, fate } => match self.lease(*lease, *fate) {
                Some(lease) => Answer::of(provider.read_kv_snapshot(&lease).await),
                None => Answer::default(),
            },
            ReadOp::Status { instance } => Answer::of(provider.read_status(instance).await),
            ReadOp::Overview { instance } => {
                let overview = provider.read_overview(instance).await;
                Answer::of(overview.map(|overview| overview.map(without_names_and_clock)))
            }
            ReadOp::Children { instances } => Answer::of(provider.read_children(instances).await),
            ReadOp::CustomStatus { instance, last_seen } => {
                Answer::of(provider.get_custom_status(instance, *last_seen).await)
            }
            ReadOp::KvValue { instance, key } => Answer::of(provider.get_kv_value(instance, key).await),
            ReadOp::KvAll { instance } => {
                let values = provider.get_kv_all_values(instance).await;
                Answer::of(values.map(|values| values.into_iter().collect::<BTreeMap<_, _>>()))
            }
            ReadOp::Stats { instance } => Answer::of(provider.get_instance_stats(instance).await),
            ReadOp::NextDue(lane) => Answer::of(provider.next_due(*lane).await),
        }
    }

    fn lease(&self, order: usize, fate: Fate) -> Option<InstanceLease> {
        let mut lease = self.world.issued[order].of(self.side).lease.clone()?;
        if fate == Fate::Deleted {
            lease.position.incarnation += 1 << 40;
        }
        Some(lease)
    }
}

/// Which node holds a lease only some stores can tell, and the clock of some is not that of the sequence.
fn without_names_and_clock(mut overview: InstanceOverview) -> InstanceOverview {
    overview.store_time = None;
    let leases = overview.work.iter_mut().filter_map(|work| work.lease.as_mut()).chain(&mut overview.lease);
    for lease in leases {
        lease.node = None;
    }
    overview
}

type Fetched = Option<(OrchestrationItem, String, u32)>;

fn fetched_answer(fetched: Result<Fetched, ProviderError>) -> Answer {
    let Ok(Some((item, token, attempt))) = fetched else {
        return Answer::of(fetched.map(|_| "nothing"));
    };
    let handed =
        Handed { lane: Lane::Instances, token, instance: item.instance.clone(), item: None, lease: None };
    let kv: BTreeMap<_, _> = item.kv_snapshot.iter().collect();
    let text = format!(
        "{:?} {:?} {} {:?} attempt {attempt}, history {:?}, damaged {}, messages {:?}, snapshot {kv:?}",
        item.instance,
        item.orchestration_name,
        item.execution_id,
        item.version,
        item.history,
        item.history_error.is_some(),
        item.messages,
    );
    Answer { text, leases: vec![handed], ..Answer::default() }
}

fn leased_answer(leased: Result<Vec<InstanceLease>, StoreError>, numbering: &Numbering) -> Answer {
    let handed = |lease: &InstanceLease| Handed {
        lane: Lane::Instances,
        token: lease.token.clone(),
        instance: lease.instance.clone(),
        item: None,
        lease: Some(lease.clone()),
    };
    let handed_out = leased.iter().flatten().map(handed).collect();
    let without_tokens = leased.map(|leases| {
        // What answers take on their way is no store's own.
        let nameless = |lease| InstanceLease {
            token: String::new(),
            store_time_slack: Duration::ZERO,
            ..numbering.lease_of_model(lease)
        };
        leases.into_iter().map(nameless).collect::<Vec<_>>()
    });
    Answer::of(without_tokens).with(handed_out)
}

fn handed_work(item: &WorkItem, token: &str) -> Handed {
    let instance =
        if let WorkItem::ActivityExecute { instance, .. } = item { instance.clone() } else { String::new() };
    Handed { lane: Lane::Work, token: token.to_owned(), instance, item: Some(item.clone()), lease: None }
}

fn fetched_work_answer(fetched: Result<Option<(WorkItem, String, u32)>, ProviderError>) -> Answer {
    let leases = fetched.iter().flatten().map(|(item, token, _)| handed_work(item, token)).collect();
    Answer::of(fetched.map(|fetched| fetched.map(|(item, _, attempt)| (item, attempt)))).with(leases)
}

fn leased_work_answer(leased: Result<Vec<WorkLease>, StoreError>) -> Answer {
    let handed_out = leased.iter().flatten().map(|lease| handed_work(&lease.item, &lease.token)).collect();
    let without_tokens = leased.map(|leases| {
        let nameless = |lease| WorkLease { token: String::new(), store_time_slack: Duration::ZERO, ..lease };
        leases.into_iter().map(nameless).collect::<Vec<_>>()
    });
    Answer::of(without_tokens).with(handed_out)
}
