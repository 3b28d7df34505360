//! Nodes that serve and refuse, blocks, holds, and nodes that announce themselves.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_model::{ExecutionStatus, WorkItem};
use abide_provider::{
    BlockInstance, BlockedInstance, Committed, DeleteInstanceResult, Handlers, HoldWork, InstanceLease,
    LeaseInstances, LeaseWork, MAX_BLOCK_DETAIL, Node, NodeAnnouncement, Operation, Refusals, Rejection,
    ServedVersions, Serving, StoreError, Turn, TurnCommit, WorkLease,
};
use async_trait::async_trait;

use crate::bug::{Answer, Bug, StoreAnswer, is_lost};
use crate::planted::bugs;
use crate::store::Store;

bugs! {
    /// What a node serves is ignored.
    ServingIgnored => "serving::test_node_leases_only_orchestrations_it_has";
    /// A node is given every version of an orchestration that it has.
    VersionsIgnored => "serving::test_node_leases_only_versions_it_has";
    /// A start without a version goes to nobody.
    UnversionedWaits => "serving::test_start_without_a_version_goes_to_who_resolves_it";
    /// A node is given activities that it does not have.
    AnyActivity => "serving::test_node_leases_only_activities_it_has";
    /// Mail of an instance that has ended waits for its code.
    EndedNeedsCode => "serving::test_mail_of_an_ended_instance_goes_to_any_node";
    /// The next execution goes to whoever had the last one.
    SuccessorByItsPast => "serving::test_successor_goes_to_nodes_that_have_its_version";
    /// A cancel waits for code that nobody has.
    CancelNeedsCode => "serving::test_cancel_goes_to_any_node_if_none_has_the_code";
    /// A cancel goes to whoever comes first, also if another node has the code.
    CancelGoesAnywhere => "serving::test_cancel_goes_to_a_node_that_has_the_code";
    /// What a node says of the pins that it can replay is forgotten.
    PinsForgotten => "serving::test_cancel_goes_to_any_node_if_none_replays_the_pin";
    /// Whoever takes no suspect is granted one.
    SuspectsForAll => "serving::test_suspect_is_left_by_a_call_that_takes_none";
    /// A call that says nothing of its node is granted nothing.
    ServingRequired => "serving::test_call_without_serving_takes_everything";
    /// A block counts as an attempt.
    BlockCounts => "blocking::test_block_ends_the_lease_and_counts_no_attempt";
    /// An instance is blocked without a lease.
    BlockWithoutLease => "blocking::test_block_needs_a_valid_lease";
    /// An instance is given back instead of blocked.
    BlockForgotten => "blocking::test_blocked_instance_is_left_to_other_builds";
    /// The mail that an instance was blocked with is lost.
    BlockedMailLost => "blocking::test_mail_of_a_blocked_instance_stays";
    /// A lease does not tell who refused its execution.
    LeaseWithoutRefusals => "blocking::test_lease_tells_the_block";
    /// A commit forgets who refused the execution.
    CommitForgetsRefusals => "blocking::test_commit_ends_the_block_and_keeps_the_refusals";
    /// A build that runs what it had refused still counts as one that refuses it.
    RefusalOutlivesRepair => "blocking::test_build_that_refused_and_runs_it_is_forgotten";
    /// The refusals of an execution are those of the next one, too.
    RefusalsForLife { refused: Mutex<HashMap<String, BTreeSet<String>>> } => "blocking::test_end_of_the_execution_forgets_the_refusals";
    /// A build that refused an execution never tries it again.
    NeverAgain => "blocking::test_refusing_build_tries_again_after_a_while";
    /// A quarantine ends with time.
    QuarantineEnds => "blocking::test_quarantined_instance_is_left_by_everyone";
    /// A build that another one refused behind is forgotten.
    LastRefusalOnly { last: Mutex<HashMap<String, String>> } => "blocking::test_next_block_closes_the_instance_again";
    /// A retry forgets the block, and keeps who refused.
    RetryKeepsRefusals => "blocking::test_retry_forgets_refusals_and_attempts";
    /// A retry says that something was blocked whether or not it was.
    RetryAlwaysDid => "blocking::test_retry_of_what_is_not_blocked";
    /// A cancel waits until the block is over.
    CancelWaitsForBlock => "blocking::test_cancel_reaches_a_blocked_instance";
    /// A cancel waits behind what starts an execution if that leaves no room for it.
    CancelBehindStart => "blocking::test_cancel_comes_right_behind_what_starts_an_execution";
    /// A lease does not tell that a build that refused it may try again.
    RetryDueUntold => "blocking::test_refusing_build_tries_again_after_a_while";
    /// Blocked instances are not listed.
    BlocksUnlisted => "blocking::test_blocks_are_listed_and_counted";
    /// A long detail is refused.
    LongDetailRefused => "blocking::test_detail_of_a_block_is_cut";
    /// The block of a deleted instance stays.
    BlockOutlivesInstance { left: Mutex<Vec<BlockedInstance>> } => "blocking::test_deleted_instance_leaves_no_block";
    /// A held activity is leased.
    HeldWorkLeased => "blocking::test_held_activity_is_left_and_others_go_on";
    /// An activity is held without a lease.
    HoldWithoutLease => "blocking::test_hold_needs_a_valid_lease";
    /// A retry leaves held activities alone.
    RetryLeavesHolds => "blocking::test_retry_frees_held_activities";
    /// Nodes are listed in no order.
    NodesUnordered => "nodes::test_announced_nodes_are_listed_by_their_ids";
    /// A node that announces itself again has just started.
    NodeStartsAgain => "nodes::test_announcing_again_replaces_what_is_known";
    /// A node is not forgotten.
    NodeStays => "nodes::test_forgotten_node_is_not_listed";
}

/// The same request, of a node that serves something else.
fn serving_as(request: LeaseInstances, change: impl FnOnce(Serving) -> Serving) -> LeaseInstances {
    let serving = request.serving.clone().map(change);
    LeaseInstances { serving, ..request }
}

fn with_handlers(serving: &Serving, change: impl FnOnce(&mut Handlers)) -> Serving {
    let mut handlers = (*serving.handlers).clone();
    change(&mut handlers);
    Serving { handlers: Arc::new(handlers), takes_suspect: serving.takes_suspect }
}

/// Changes how instances are leased.
macro_rules! leases {
    ($bug:ident, $change:expr) => {
        #[async_trait]
        impl Bug for $bug {
            async fn lease_instances(
                &self,
                store: &Store,
                request: LeaseInstances,
            ) -> StoreAnswer<Vec<InstanceLease>> {
                let change: fn(Serving) -> Serving = $change;
                store.lease_instances(serving_as(request, change)).await
            }
        }
    };
}

leases!(VersionsIgnored, |serving| {
    with_handlers(&serving, |handlers| {
        for served in handlers.orchestrations.iter_mut().flat_map(BTreeMap::values_mut) {
            served.exact = ["1.0.0", "2.0.0"].map(|version| version.parse().expect("a version")).into();
        }
    })
});
leases!(UnversionedWaits, |serving| {
    with_handlers(&serving, |handlers| {
        for served in handlers.orchestrations.iter_mut().flat_map(BTreeMap::values_mut) {
            *served = ServedVersions { resolves_unversioned: false, ..served.clone() };
        }
    })
});
#[async_trait]
impl Bug for PinsForgotten {
    async fn announce_node(&self, store: &Store, node: NodeAnnouncement) -> StoreAnswer<()> {
        store.announce_node(NodeAnnouncement { pins: Vec::new(), ..node }).await
    }
}

#[async_trait]
impl Bug for CancelGoesAnywhere {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let nodes = store.nodes().await?;
        for node in &nodes {
            store.forget_node(&node.announcement.id).await?;
        }
        let leases = store.lease_instances(request).await;
        for node in nodes {
            store.announce_node(node.announcement).await?;
        }
        leases
    }
}

leases!(SuspectsForAll, |serving| Serving { takes_suspect: true, ..serving });

/// Withholds leases that are meant.
macro_rules! withholds {
    ($bug:ident, $is_meant:expr) => {
        #[async_trait]
        impl Bug for $bug {
            async fn lease_instances(
                &self,
                store: &Store,
                request: LeaseInstances,
            ) -> StoreAnswer<Vec<InstanceLease>> {
                let is_meant: fn(&Serving, &InstanceLease) -> bool = $is_meant;
                let Some(serving) = request.serving.clone() else {
                    return store.lease_instances(request).await;
                };
                store.lease_instances_but(request, |lease| is_meant(&serving, lease)).await
            }
        }
    };
}

fn has_cancel(lease: &InstanceLease) -> bool {
    lease.messages.iter().any(|message| matches!(message.item, WorkItem::CancelInstance { .. }))
}

fn has_code(serving: &Serving, lease: &InstanceLease) -> bool {
    serving.handlers.have_orchestration(&lease.orchestration_name, &lease.orchestration_version)
}

withholds!(EndedNeedsCode, |serving, lease| {
    lease.status == Some(ExecutionStatus::Completed) && !has_code(serving, lease)
});
withholds!(SuccessorByItsPast, |serving, lease| {
    lease.status == Some(ExecutionStatus::ContinuedAsNew) && !has_code(serving, lease)
});
withholds!(CancelNeedsCode, |serving, lease| has_cancel(lease) && !has_code(serving, lease));
withholds!(CancelWaitsForBlock, |_, lease| {
    has_cancel(lease) && lease.refused.as_ref().is_some_and(|refused| refused.block.is_some())
});

#[async_trait]
impl Bug for ServingIgnored {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        store.lease_instances(LeaseInstances { serving: None, ..request }).await
    }

    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        store.lease_work(LeaseWork { serving: None, ..request }).await
    }
}

#[async_trait]
impl Bug for ServingRequired {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        // Only what is none of this suite's own, so that other tests go on.
        store
            .lease_work_but(request.clone(), |lease| {
                let unusual =
                    matches!(&lease.item, WorkItem::ActivityExecute { name, .. } if name == "Whatever");
                request.serving.is_none() && unusual
            })
            .await
    }
}

#[async_trait]
impl Bug for AnyActivity {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let any = |serving| with_handlers(&serving, |handlers| handlers.activities = None);
        let serving = request.serving.clone().map(any);
        store.lease_work(LeaseWork { serving, ..request }).await
    }
}

/// Changes what leases say.
macro_rules! tells {
    ($bug:ident, $change:expr) => {
        #[async_trait]
        impl Bug for $bug {
            async fn lease_instances(
                &self,
                store: &Store,
                request: LeaseInstances,
            ) -> StoreAnswer<Vec<InstanceLease>> {
                let change: fn(&mut InstanceLease) = $change;
                let mut leases = store.lease_instances(request).await?;
                leases.iter_mut().for_each(change);
                Ok(leases)
            }
        }
    };
}

tells!(BlockCounts, |lease| {
    if lease.refused.as_ref().is_some_and(|refused| refused.block.is_some()) {
        lease.attempt += 1;
    }
});
tells!(BlockedMailLost, |lease| {
    if lease.refused.is_some() && lease.messages.len() > 1 {
        lease.messages.remove(0);
    }
});
tells!(LeaseWithoutRefusals, |lease| lease.refused = None);
tells!(RetryDueUntold, |lease| {
    if let Some(refused) = &mut lease.refused {
        refused.is_retry_due = false;
    }
});
tells!(CancelBehindStart, |lease| {
    let starts = |item: &WorkItem| {
        matches!(item, WorkItem::StartOrchestration { .. } | WorkItem::ContinueAsNew { .. })
    };
    let is_cancel = |item: &WorkItem| matches!(item, WorkItem::CancelInstance { .. });
    if let [first, second, ..] = lease.messages.as_slice()
        && starts(&first.item)
        && is_cancel(&second.item)
    {
        lease.messages.remove(1);
    }
});

#[async_trait]
impl Bug for BlockWithoutLease {
    async fn block_instance(&self, store: &Store, block: BlockInstance) -> StoreAnswer<()> {
        let answer = store.block_instance(block).await;
        if is_lost(&answer) { Ok(()) } else { answer }
    }
}

#[async_trait]
impl Bug for BlockForgotten {
    async fn block_instance(&self, store: &Store, block: BlockInstance) -> StoreAnswer<()> {
        match store.abandon_orchestration_item(&block.token, None, true).await {
            Ok(()) => Ok(()),
            Err(_) => store.block_instance(block).await,
        }
    }
}

#[async_trait]
impl Bug for CommitForgetsRefusals {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let instance = commit.instance.clone();
        let is_refused =
            store.dump().instances.get(&instance).is_some_and(|found| !found.refused_by.is_empty());
        let committed = store.commit(commit).await?;
        if is_refused {
            store.retry_blocked(&instance).await?;
        }
        Ok(committed)
    }
}

#[async_trait]
impl Bug for RefusalOutlivesRepair {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let turn = Turn { still_refused: None, ..commit.turn };
        store.commit(TurnCommit { turn, ..commit }).await
    }
}

#[async_trait]
impl Bug for RefusalsForLife {
    async fn block_instance(&self, store: &Store, block: BlockInstance) -> StoreAnswer<()> {
        let instance = store.turn(&block.token).map(|turn| turn.lease.instance);
        let build = block.build.clone();
        store.block_instance(block).await?;
        if let Some(instance) = instance {
            self.refused.lock().unwrap().entry(instance).or_default().insert(build);
        }
        Ok(())
    }

    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let refused = self.refused.lock().unwrap().clone();
        let build = request.serving.as_ref().map(|serving| serving.handlers.build.clone());
        let Some(build) = build else { return store.lease_instances(request).await };
        store
            .lease_instances_but(request, |lease| {
                lease.refused.is_none() && refused.get(&lease.instance).is_some_and(|by| by.contains(&build))
            })
            .await
    }

    async fn retry_blocked(&self, store: &Store, instance: &str) -> StoreAnswer<bool> {
        self.refused.lock().unwrap().remove(instance);
        store.retry_blocked(instance).await
    }

    async fn delete_instance(
        &self,
        store: &Store,
        instance: &str,
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        self.refused.lock().unwrap().remove(instance);
        store.delete_instance(instance, force).await
    }
}

#[async_trait]
impl Bug for NeverAgain {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let build = request.serving.as_ref().map(|serving| serving.handlers.build.clone());
        let Some(build) = build else { return store.lease_instances(request).await };
        let is_refused = |lease: &InstanceLease| {
            lease.refused.as_ref().is_some_and(|refused| refused.by.contain(&build)) && !has_cancel(lease)
        };
        store.lease_instances_but(request, is_refused).await
    }
}

#[async_trait]
impl Bug for QuarantineEnds {
    async fn block_instance(&self, store: &Store, block: BlockInstance) -> StoreAnswer<()> {
        let retry_after = Some(block.retry_after.unwrap_or(Duration::from_secs(1)));
        store.block_instance(BlockInstance { retry_after, ..block }).await
    }
}

#[async_trait]
impl Bug for LastRefusalOnly {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let mut leases = store.lease_instances(request).await?;
        let last = self.last.lock().unwrap();
        for lease in &mut leases {
            if let (Some(refused), Some(build)) = (&mut lease.refused, last.get(&lease.instance)) {
                refused.by = Refusals::default().with(build);
            }
        }
        Ok(leases)
    }

    async fn block_instance(&self, store: &Store, block: BlockInstance) -> StoreAnswer<()> {
        if let Some(turn) = store.turn(&block.token) {
            self.last.lock().unwrap().insert(turn.lease.instance, block.build.clone());
        }
        store.block_instance(block).await
    }
}

#[async_trait]
impl Bug for RetryKeepsRefusals {
    async fn retry_blocked(&self, store: &Store, instance: &str) -> StoreAnswer<bool> {
        let blocks = store.read_blocks(instance).await?;
        if blocks.iter().any(|blocked| !blocked.block.holds_activity) {
            return Ok(true);
        }
        store.retry_blocked(instance).await
    }
}

#[async_trait]
impl Bug for RetryAlwaysDid {
    async fn retry_blocked(&self, store: &Store, instance: &str) -> StoreAnswer<bool> {
        store.retry_blocked(instance).await.map(|_| true)
    }
}

#[async_trait]
impl Bug for BlocksUnlisted {
    async fn list_blocked(&self, _: &Store, _: usize) -> Answer<Vec<BlockedInstance>> {
        Ok(Vec::new())
    }
}

#[async_trait]
impl Bug for LongDetailRefused {
    async fn block_instance(&self, store: &Store, block: BlockInstance) -> StoreAnswer<()> {
        if block.detail.len() > MAX_BLOCK_DETAIL {
            let why = "the detail is too long";
            return Err(StoreError::rejected(Operation::BlockInstance, Rejection::Invalid, why));
        }
        store.block_instance(block).await
    }
}

#[async_trait]
impl Bug for BlockOutlivesInstance {
    async fn delete_instance(
        &self,
        store: &Store,
        instance: &str,
        force: bool,
    ) -> Answer<DeleteInstanceResult> {
        let blocks = store.read_blocks(instance).await?;
        self.left.lock().unwrap().extend(blocks);
        store.delete_instance(instance, force).await
    }

    async fn read_blocks(&self, store: &Store, instance: &str) -> StoreAnswer<Vec<BlockedInstance>> {
        let left = self.left.lock().unwrap().clone();
        let mut blocks = store.read_blocks(instance).await?;
        blocks.extend(left.into_iter().filter(|blocked| blocked.instance == instance));
        Ok(blocks)
    }
}

#[async_trait]
impl Bug for HeldWorkLeased {
    async fn hold_work(&self, store: &Store, hold: HoldWork) -> StoreAnswer<()> {
        match store.abandon_work_item(&hold.token, None, false).await {
            Ok(()) => Ok(()),
            Err(_) => store.hold_work(hold).await,
        }
    }
}

#[async_trait]
impl Bug for HoldWithoutLease {
    async fn hold_work(&self, store: &Store, hold: HoldWork) -> StoreAnswer<()> {
        let answer = store.hold_work(hold).await;
        if is_lost(&answer) { Ok(()) } else { answer }
    }
}

#[async_trait]
impl Bug for RetryLeavesHolds {
    async fn retry_blocked(&self, store: &Store, instance: &str) -> StoreAnswer<bool> {
        let blocks = store.read_blocks(instance).await?;
        if blocks.iter().any(|blocked| blocked.block.holds_activity) {
            return Ok(true);
        }
        store.retry_blocked(instance).await
    }
}

#[async_trait]
impl Bug for NodesUnordered {
    async fn nodes(&self, store: &Store) -> StoreAnswer<Vec<Node>> {
        let mut nodes = store.nodes().await?;
        nodes.reverse();
        Ok(nodes)
    }
}

#[async_trait]
impl Bug for NodeStartsAgain {
    async fn announce_node(&self, store: &Store, node: NodeAnnouncement) -> StoreAnswer<()> {
        store.forget_node(&node.id).await?;
        store.announce_node(node).await
    }
}

#[async_trait]
impl Bug for NodeStays {
    async fn forget_node(&self, _: &Store, _: &str) -> StoreAnswer<()> {
        Ok(())
    }
}
