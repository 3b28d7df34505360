//! Leasing instances: what is asked of the server, and what is made of its answer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use abide_model::{ExecutionStatus, WorkItem};
use abide_provider::rows::Starter;
use abide_provider::unreadable::lost_start;
use abide_provider::{
    InstanceLease, LeaseInstances, Message, MessageId, Operation, ParentLink, Position, Serving, StoreError,
};

use crate::PostgresProvider;
use crate::encode::{column, json, millis, number};
use crate::lease::{InHand, Looked, Return};
use crate::news::News;
use crate::node::call::Values;
use crate::routes::{InstanceFilter, Judgement, suspects};
use crate::rows::{LeasedInstance, LeasedMessage};
use crate::search::{Search, Took};
use crate::shared::Shared;
use crate::statements::Sql;
use crate::terms::Terms;
use crate::text::unspell;

/// A search for instances.
pub(crate) struct InstanceSearch {
    pub(crate) request: LeaseInstances,
    pub(crate) operation: Operation,
    filter: Arc<InstanceFilter>,
    /// What the next look does about instances to be canceled that this node cannot run.
    orphans: Orphans,
    taken: InHand<InstanceLease>,
}

/// Routes of instances to be canceled: those that no live node can run, and those that are left to one.
#[derive(Debug, Default)]
struct Orphans {
    taken: Vec<i64>,
    left: Vec<i64>,
}

impl InstanceSearch {
    pub(crate) fn new(operation: Operation, request: LeaseInstances, shared: &Arc<Shared>) -> Self {
        let (capabilities, serving) = (request.capabilities.clone(), request.serving.clone());
        let filter = Arc::new(InstanceFilter { capabilities, serving });
        Self { request, operation, filter, orphans: Orphans::default(), taken: InHand::nothing(shared) }
    }
}

impl Search for InstanceSearch {
    type Lease = InstanceLease;

    fn terms(&self) -> Terms {
        Terms::Instances { lease_ms: millis(self.request.lease_for), filter: Arc::clone(&self.filter) }
    }

    fn limit(&self) -> usize {
        self.request.limit
    }

    fn wanted(&self) -> usize {
        self.request.limit.saturating_sub(self.taken.leases().len())
    }

    fn sql(&self) -> Sql {
        Sql::LeaseInstances
    }

    fn values(&mut self, shared: &Shared, most: usize) -> Values {
        let taken: Vec<i64> =
            self.taken.leases().iter().map(|lease| column(lease.position.incarnation)).collect();
        let admission = shared.routes.admitted(&self.filter);
        let routes = admission.taken.as_ref().map(|taken| [&taken[..], &self.orphans.taken].concat());
        let left = [&admission.left[..], &self.orphans.left].concat();
        let had_suspect = self.taken.leases().iter().any(|lease| lease.suspicion().is_suspect());
        let suspects = suspects(self.filter.serving.as_ref()).map(|most| if had_suspect { 0 } else { most });
        vec![
            Box::new(i32::try_from(most).unwrap_or(i32::MAX)),
            Box::new(millis(self.request.lease_for)),
            Box::new(nonces(shared, most)),
            Box::new(routes),
            Box::new(admission.known),
            Box::new(admission.marks),
            Box::new(suspects),
            Box::new(left),
            Box::new(taken),
        ]
    }

    async fn take(
        &mut self,
        store: &PostgresProvider,
        mut looked: Looked,
    ) -> Result<Took<InstanceLease>, StoreError> {
        if !looked.found.unjudged.is_empty() {
            store.shared.routes.learn_instances(std::mem::take(&mut looked.found.unjudged));
            return Ok(Took::LookAgain);
        }
        if !looked.found.canceled.is_empty() {
            self.judge_orphans(store, &looked.found.canceled).await?;
            return Ok(Took::LookAgain);
        }
        self.orphans = Orphans::default();
        let mut batches = by_mailbox(std::mem::take(&mut looked.found.messages));
        let is_readable = |leased: &LeasedInstance| {
            batches.get(&leased.mailbox).is_none_or(|batch| batch.unreadable.is_empty())
        };
        let leased = std::mem::take(&mut looked.found.instances);
        let (before, order) =
            (self.taken.leases().len(), leased.iter().map(|leased| leased.mailbox).collect::<Vec<_>>());
        let (readable, damaged): (Vec<_>, Vec<_>) = leased.into_iter().partition(is_readable);
        looked.found.instances = damaged;
        for leased in readable {
            let batch = batches.remove(&leased.mailbox).unwrap_or_default();
            self.taken.push(describe(leased, batch.messages));
        }
        let mut lost_some = false;
        while let Some(leased) = looked.found.instances.pop() {
            let batch = batches.remove(&leased.mailbox).unwrap_or_default();
            match store.readable(self.operation, leased, batch, self.filter.serving.as_ref()).await? {
                Some((leased, messages)) => self.taken.push(describe(leased, messages)),
                None => lost_some = true,
            }
        }
        self.taken.arrange(before, &order, |lease| column(lease.position.incarnation));
        if lost_some && self.taken.leases().len() < self.request.limit {
            return Ok(Took::LookAgain);
        }
        Ok(Took::Leases(self.taken.hand_over(looked.server_time())))
    }
}

impl InstanceSearch {
    /// An instance that is to be canceled is left to a live node that can run it.
    async fn judge_orphans(&mut self, store: &PostgresProvider, canceled: &[i64]) -> Result<(), StoreError> {
        let nodes = store.live_nodes(self.operation).await?;
        let handlers: Vec<_> = nodes.iter().map(|node| node.announcement.handlers()).collect();
        for column in canceled {
            let route = store.shared.routes.instance(*column);
            let is_orphan = route.is_some_and(|route| {
                self.filter.judge(&route) != Judgement::Left
                    && !handlers.iter().any(|handlers| handlers.can_run(&route))
            });
            let routes = if is_orphan { &mut self.orphans.taken } else { &mut self.orphans.left };
            routes.push(*column);
        }
        Ok(())
    }
}

impl Looked {
    /// The one lease in it, if all its messages can be read. Else it goes back, and is sorted out by whoever looks for it. To be called in
    /// the poll that hands it to the caller.
    pub(crate) fn into_lease(mut self) -> Option<InstanceLease> {
        let time = self.server_time();
        let mut batch = Batch::default();
        for message in std::mem::take(&mut self.found.messages) {
            batch.add(&message);
        }
        if !batch.unreadable.is_empty() {
            return None;
        }
        let mut lease = describe(self.found.instances.pop()?, batch.messages);
        lease.say(time);
        Some(lease)
    }
}

/// The messages of one lease.
#[derive(Default)]
struct Batch {
    messages: Vec<Message>,
    unreadable: Vec<i64>,
    /// The first of all, if it is unreadable: without one that starts it, an instance that is none yet has no batch at all.
    unreadable_first: Option<i64>,
}

impl Batch {
    fn add(&mut self, message: &LeasedMessage) {
        if let Ok(item) = serde_json::from_str::<WorkItem>(&message.item) {
            let attempt = u32::try_from(message.attempts).unwrap_or(u32::MAX);
            self.messages.push(Message { id: MessageId(number(message.number)), attempt, item });
            return;
        }
        if self.messages.is_empty() && self.unreadable.is_empty() {
            self.unreadable_first = Some(message.number);
        }
        self.unreadable.push(message.number);
    }
}

fn by_mailbox(messages: Vec<LeasedMessage>) -> BTreeMap<i64, Batch> {
    let mut batches: BTreeMap<i64, Batch> = BTreeMap::new();
    for message in messages {
        batches.entry(message.mailbox).or_default().add(&message);
    }
    batches
}

impl PostgresProvider {
    /// A lease whose messages can all be read: those that cannot are hidden for a while, until only others are left. `None` if none is.
    async fn readable(
        &self,
        operation: Operation,
        mut leased: LeasedInstance,
        mut batch: Batch,
        serving: Option<&Serving>,
    ) -> Result<Option<(LeasedInstance, Vec<Message>)>, StoreError> {
        while !batch.unreadable.is_empty() {
            let aside = batch.unreadable_first.map_or(batch.unreadable, |first| vec![first]);
            let lost = self.lost_starts(operation, &leased, &aside).await?;
            let values: Values = vec![
                Box::new(leased.mailbox),
                Box::new(leased.nonce),
                Box::new(aside),
                Box::new(lost.numbers),
                Box::new(lost.parents),
                Box::new(lost.told),
                Box::new(serving.is_none()),
            ];
            let row = self.one_row(operation, Sql::SetMessagesAside, values).await?;
            for number in row.get::<_, Option<Vec<i64>>>("dead").unwrap_or_default() {
                tracing::warn!(target: "abide::postgres", instance = %unspell(leased.instance.clone()), number,
                    "a message cannot be read and was moved to the dead letters");
            }
            self.shared.tell(News::of_instances(row.get("wakes"), row.get("due_at")));
            let left = row.get::<_, Option<Vec<LeasedInstance>>>("leases").unwrap_or_default().pop();
            let Some(left) = left else { return Ok(None) };
            let messages = row.get::<_, Option<Vec<LeasedMessage>>>("messages").unwrap_or_default();
            batch = by_mailbox(messages).remove(&left.mailbox).unwrap_or_default();
            leased = left;
        }
        Ok(Some((leased, batch.messages)))
    }

    /// Who waits for executions that messages would have started which are about to be put aside, and what
    /// they are told.
    async fn lost_starts(
        &self,
        operation: Operation,
        leased: &LeasedInstance,
        aside: &[i64],
    ) -> Result<LostStarts, StoreError> {
        let values: Values = vec![Box::new(leased.mailbox), Box::new(aside.to_vec())];
        let mut lost = LostStarts::default();
        for row in self.rows(operation, Sql::ParentsOfStarts, values).await? {
            let parent: String = row.get("parent");
            let link = ParentLink {
                instance: unspell(parent.clone()),
                execution_id: row.get::<_, Option<i64>>("execution").map(number),
                event_id: row.get::<_, Option<i64>>("event").map(number),
            };
            let attempts = u32::try_from(row.get::<_, i32>("attempts")).unwrap_or(u32::MAX);
            let child = unspell(leased.instance.clone());
            if let Some(told) = lost_start(&child, &link, number(row.get("current")), attempts) {
                lost.numbers.push(row.get("no"));
                lost.parents.push(parent);
                lost.told.push(json(operation, &told)?);
            }
        }
        Ok(lost)
    }
}

/// Messages that would have started executions, who waits for those, and what they are told.
#[derive(Default)]
struct LostStarts {
    numbers: Vec<i64>,
    parents: Vec<String>,
    told: Vec<String>,
}

fn describe(leased: LeasedInstance, messages: Vec<Message>) -> InstanceLease {
    let token = leased.token().to_string();
    let is_instance = leased.execution > 0;
    let status = status_of(&leased);
    let starter =
        if is_instance { None } else { messages.iter().find_map(|message| Starter::of(&message.item)) };
    let (orchestration_name, orchestration_version, parent) = if let Some(starter) = starter {
        (starter.orchestration_name, starter.orchestration_version, starter.parent)
    } else {
        let parent = leased.parent.map(|instance| ParentLink {
            instance: unspell(instance),
            execution_id: leased.parent_execution.map(number),
            event_id: leased.parent_event.map(number),
        });
        (unspell(leased.name), unspell(leased.version), parent)
    };
    InstanceLease {
        instance: unspell(leased.instance),
        token,
        attempt: messages.iter().map(|message| message.attempt).max().unwrap_or(1),
        store_time: None,
        store_time_slack: Duration::ZERO,
        position: Position {
            incarnation: number(leased.mailbox),
            execution_id: number(leased.execution),
            last_event_id: number(leased.last_event),
        },
        status,
        orchestration_name,
        orchestration_version,
        parent,
        messages,
        refused: leased.block.map(|block| Box::new(block.told())),
        preloaded: None,
    }
}

/// An instance whose status is damaged counts as one that runs. Its history cannot be read, so that it is blocked and keeps
/// its mail.
fn status_of(leased: &LeasedInstance) -> Option<ExecutionStatus> {
    leased.status.parse().ok().or_else(|| (leased.execution > 0).then_some(ExecutionStatus::Running))
}

/// A nonce for each lease: random, because leases are committed without waiting for the disk, and a number that a crash took back must not
/// be given out again.
pub(crate) fn nonces(shared: &Shared, count: usize) -> Vec<i64> {
    std::iter::repeat_with(|| column(shared.settings.entropy.next_u64() >> 1)).take(count).collect()
}
