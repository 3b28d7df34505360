//! The contract of a store.
//!
//! Required methods have no body. Those from [`abilities`](Provider::abilities) on are provided: each says what its default
//! gives up. A runtime leases, commits and finishes through the provided ones; it renews, abandons and reads through the
//! required ones. A store that implements only the required ones works; one that is fast implements both.
//!
//! What holds for all of them:
//!
//! - Peek-lock: what is fetched is leased, not removed. A lease ends by ack, by abandon, or by time, judged by
//!   the store's clock when the decision is made. A stale token changes nothing.
//! - All or nothing: whatever one call writes is one transaction.
//! - Dropping a returned future at any point loses nothing and leaks no lease beyond its time.
//! - One row that cannot be read, one instance that does not exist, harms nobody else.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use abide_model::{
    Event, KvEntry, OrchestrationStatus, ScheduledActivityIdentifier, SystemStats, Timestamp, WorkItem,
};
use async_trait::async_trait;

use crate::{
    Abilities, BlockInstance, BlockedInstance, Changes, ChildOverview, Committed, DispatcherCapabilityFilter,
    Enqueue, ExecutionMetadata, FinishedWork, HoldWork, InstanceLease, InstanceOverview, Lane,
    LeaseInstances, LeaseWork, Node, NodeAnnouncement, OrchestrationItem, ProviderAdmin, ProviderError,
    RenewSessions, RevokeWork, RevokedWork, SessionFetchConfig, Start, StolenLeases, StoreError, TagFilter,
    TurnCommit, WorkLease, provider_defaults,
};

/// A store of histories and queues.
#[async_trait]
pub trait Provider: Any + Send + Sync {
    /// What to call this store in logs and metrics.
    #[expect(clippy::unnecessary_literal_bound, reason = "a store may compute it")]
    fn name(&self) -> &str {
        "unknown"
    }

    /// The version of this store.
    #[expect(clippy::unnecessary_literal_bound, reason = "a store may compute it")]
    fn version(&self) -> &str {
        "0.0.0"
    }

    /// What a commit that the store acknowledged survives, in its own words (such as `full`), for logs.
    /// `None` if it does not say.
    fn durability(&self) -> Option<&str> {
        None
    }

    /// Leases one instance that has visible mail, is not leased, and passes the filter.
    ///
    /// The batch is what is visible now, in the order of enqueueing; mail that comes later waits for the next
    /// lease. Returns the item, the token of the lease, and how often the messages were leased. A history that
    /// cannot be read is `history_error`, with the lease held. `Err` holds no lease.
    ///
    /// A store may wait up to `poll_timeout`; with `Duration::ZERO` it answers at once. An instance that does not
    /// exist has no turn until something starts it: queue messages for it are dropped, other mail waits.
    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError>;

    /// Commits a turn and gives the lease back, all or nothing.
    ///
    /// Removes exactly the leased messages; creates the instance from the metadata if it is new; appends the
    /// events without reading what is there (an id of zero or one that is taken is an error); applies status,
    /// custom status and key-value events; enqueues work, then removes cancelled work; enqueues messages. A
    /// token that is unknown or expired is a permanent error.
    #[expect(clippy::too_many_arguments, reason = "the signature is frozen; `commit_turns` takes a struct")]
    async fn ack_orchestration_item(
        &self,
        lock_token: &str,
        execution_id: u64,
        history_delta: Vec<Event>,
        worker_items: Vec<WorkItem>,
        orchestrator_items: Vec<WorkItem>,
        metadata: ExecutionMetadata,
        cancelled_activities: Vec<ScheduledActivityIdentifier>,
    ) -> Result<(), ProviderError>;

    /// Gives a lease back without a commit. Its messages, and only they, are hidden for `delay`; with
    /// `ignore_attempt` the lease does not count as one.
    #[expect(clippy::fn_params_excessive_bools, reason = "the signature is frozen")]
    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError>;

    /// The history of the latest execution; empty for an unknown instance, an error if it cannot be read.
    async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError>;

    /// The history of one execution.
    async fn read_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError>;

    /// Appends events without a lease, for tests that need a past.
    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        new_events: Vec<Event>,
    ) -> Result<(), ProviderError>;

    /// Enqueues an activity. Anything else is refused.
    async fn enqueue_for_worker(&self, item: WorkItem) -> Result<(), ProviderError>;

    /// Leases one activity, oldest first among those that are visible, not leased, and wanted.
    ///
    /// With a `session` configuration, activities of sessions are wanted too, if their session is free or owned
    /// by the caller; taking one claims the session.
    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError>;

    /// Removes a leased activity and tells its instance, in one transaction. A completion is `ActivityCompleted` or
    /// `ActivityFailed`, for the instance that asked; anything else is refused.
    async fn ack_work_item(&self, token: &str, completion: Option<WorkItem>) -> Result<(), ProviderError>;

    /// Makes the lease on an activity last `extend_for` from now, or until its end if that is later. A permanent error means it
    /// is lost.
    async fn renew_work_item_lock(&self, token: &str, extend_for: Duration) -> Result<(), ProviderError>;

    /// Extends the sessions of these owners that are still theirs and were used within `idle_timeout`; says how
    /// many.
    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError>;

    /// Forgets sessions that nobody owns any more and that have no work queued; says how many.
    async fn cleanup_orphaned_sessions(&self, idle_timeout: Duration) -> Result<usize, ProviderError>;

    /// Gives a leased activity back, hidden for `delay`; with `ignore_attempt` the lease does not count as one.
    #[expect(clippy::fn_params_excessive_bools, reason = "the signature is frozen")]
    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError>;

    /// Makes the lease on an instance last `extend_for` from now, or until its end if that is later. A permanent error means it
    /// is lost.
    async fn renew_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError>;

    /// Enqueues a message for an instance, which need not exist. Never creates one. An activity is refused.
    async fn enqueue_for_orchestrator(
        &self,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Result<(), ProviderError>;

    /// The administrative side of this store, if it has one.
    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        None
    }

    /// The custom status and its version, if that is above `last_seen_version`.
    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError>;

    /// One value, as the current execution left it.
    async fn get_kv_value(&self, instance: &str, key: &str) -> Result<Option<String>, ProviderError>;

    /// All values, as the current execution left them.
    async fn get_kv_all_values(&self, instance: &str) -> Result<HashMap<String, String>, ProviderError>;

    /// The size of an instance; `None` if there is no such instance.
    async fn get_instance_stats(&self, instance: &str) -> Result<Option<SystemStats>, ProviderError>;

    /// Which of the methods below are better than their defaults.
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    /// Leases up to `request.limit` instances. None is no error.
    ///
    /// The default fetches one, with its history.
    async fn lease_instances(&self, request: LeaseInstances) -> Result<Vec<InstanceLease>, StoreError> {
        provider_defaults::lease_instances(self, request).await
    }

    /// The events behind `after` in the leased execution. Unreadable ones are [`Rejection::Corrupt`](crate::Rejection::Corrupt).
    ///
    /// The default reads the whole history.
    async fn read_history_after(&self, lease: &InstanceLease, after: u64) -> Result<Vec<Event>, StoreError> {
        provider_defaults::read_history_after(self, lease, after).await
    }

    /// What earlier executions of the leased instance left in the key-value store.
    ///
    /// The default knows it only from a lease of its own.
    async fn read_kv_snapshot(&self, lease: &InstanceLease) -> Result<BTreeMap<String, KvEntry>, StoreError> {
        provider_defaults::read_kv_snapshot(lease)
    }

    /// Commits turns, each for itself: one answer per turn, in order of the turns. They are committed in any order, so
    /// there is at most one of each instance.
    ///
    /// The default acks one after the other. What a turn did not consume it sends again: behind the successor's
    /// start, or in its carry list. Timers that are to be hidden for longer than they say say so. It prunes after the ack, by the administrative side: if the successor's first turn is
    /// committed in between, that one counts too, and one execution fewer is kept. A prune that fails is no error of the
    /// turn; see [`Committed::pruned`].
    async fn commit_turns(&self, turns: Vec<TurnCommit>) -> Vec<Result<Committed, StoreError>> {
        provider_defaults::commit_turns(self, turns).await
    }

    /// Leases up to `request.limit` activities. None is no error.
    ///
    /// The default fetches one, and does not know who asked for it.
    async fn lease_work(&self, request: LeaseWork) -> Result<Vec<WorkLease>, StoreError> {
        provider_defaults::lease_work(self, request).await
    }

    /// Removes finished activities and tells their instances, each for itself: one answer per activity, in order.
    ///
    /// The default acks one after the other.
    async fn finish_work(&self, finished: Vec<FinishedWork>) -> Vec<Result<(), StoreError>> {
        provider_defaults::finish_work(self, finished).await
    }

    /// Extends the sessions of an owner, like [`renew_session_lock`](Self::renew_session_lock), except those
    /// that only hold up work of other nodes: no activity of such a session is leased, some wait, and the owner
    /// can run none of these. Activities that are held do not count. Returns how many were extended.
    ///
    /// The default extends these, too.
    async fn renew_sessions(&self, request: RenewSessions) -> Result<usize, StoreError> {
        provider_defaults::renew_sessions(self, request).await
    }

    /// Sends a message once, however often the call is repeated with the same key.
    ///
    /// The default cannot know a repetition from a new message, and sends again.
    async fn enqueue_once(&self, request: Enqueue) -> Result<(), StoreError> {
        provider_defaults::enqueue_once(self, request).await
    }

    /// Sends what starts an instance, unless there is one of that name, or one is about to be: then nothing is sent. A
    /// repetition with the same key is answered like the first call.
    ///
    /// The default looks first and sends then, and does not see a start that waits in the queue.
    async fn start_once(&self, request: Enqueue) -> Result<Start, StoreError> {
        provider_defaults::start_once(self, request).await
    }

    /// Sends a message once, like [`enqueue_once`](Self::enqueue_once), if there is such an instance or its
    /// start is queued. Otherwise nothing is stored, not even the key, and the call is rejected as
    /// [`Rejection::NotFound`](crate::Rejection::NotFound). What starts an execution is rejected as invalid.
    ///
    /// The default looks first and sends then, and does not see a start that waits in the queue.
    async fn enqueue_existing(&self, request: Enqueue) -> Result<(), StoreError> {
        provider_defaults::enqueue_existing(self, request).await
    }

    /// Where an instance stands. One that continued as new is running, and so is one whose start waits in the
    /// queue: whoever sent it is never told that there is none.
    ///
    /// The default reads its history, and does not see a start that waits in the queue.
    async fn read_status(&self, instance: &str) -> Result<OrchestrationStatus, ProviderError> {
        provider_defaults::read_status(self, instance).await
    }

    /// Says something whenever the instance may have changed for those who look at it, from this call on: its status, its
    /// custom status, its values, or whether it exists. May say so without need; says it once for many changes that nobody
    /// has taken note of. Does not end while the store is there.
    ///
    /// The default has nothing to say: look again from time to time.
    fn changes(&self, instance: &str) -> Option<Changes> {
        let _ = instance;
        None
    }

    /// When something becomes leasable by the passing of time alone: a timer, a delayed message, the end of a
    /// lease or of a session's lock. `None` if nothing will.
    ///
    /// The default knows nothing.
    async fn next_due(&self, lane: Lane) -> Result<Option<Timestamp>, StoreError> {
        let _ = lane;
        Ok(None)
    }

    /// Leases on activities that are taken away from now on, by cancellation, deletion or pruning: each is told once. What is
    /// finished, given back or runs out is not. What another process takes away comes later, or not at all, and without its
    /// reason ([`StolenBecause::Unknown`](crate::StolenBecause::Unknown)): a renewal finds out in any case.
    ///
    /// The default has none: the next renewal finds out.
    fn stolen_leases(&self) -> Option<StolenLeases> {
        None
    }

    /// Ends a lease by blocking its instance: nothing is recorded, all mail stays, what the lease handed out has no
    /// attempts any more, and the build is remembered as one that refused the execution.
    ///
    /// The default remembers nothing. It gives the lease back, hidden for a while.
    async fn block_instance(&self, block: BlockInstance) -> Result<(), StoreError> {
        provider_defaults::block_instance(self, block).await
    }

    /// Ends a lease by holding its activity until [`retry_blocked`](Self::retry_blocked) or its cancellation.
    ///
    /// The default remembers nothing. It gives the lease back, hidden for a while.
    async fn hold_work(&self, hold: HoldWork) -> Result<(), StoreError> {
        provider_defaults::hold_work(self, hold).await
    }

    /// Counts the lease of a suspect as an attempt from now on: its code is about to run. Until then a lease that
    /// a call with a [`Serving`](crate::Serving) was granted on a suspect does not count if it runs out or its
    /// owner dies. Any other lease counts from its grant on, and is left as it is. A call may be repeated.
    ///
    /// The default has nothing to do: each lease counts.
    async fn begin_suspect(&self, lane: Lane, token: &str) -> Result<(), StoreError> {
        let _ = (lane, token);
        Ok(())
    }

    /// Forgets what blocks an instance: refusals, attempts of its mail, and held activities. Returns whether anything
    /// was blocked.
    ///
    /// The default knows of no blocks.
    async fn retry_blocked(&self, instance: &str) -> Result<bool, StoreError> {
        let _ = instance;
        Ok(false)
    }

    /// Takes back queued activities of one execution, in the order of their events, and tells the holders of
    /// leases on them. The lease on the instance must be valid and stays so. One call takes back at most
    /// [`REVOKE_BATCH`](crate::REVOKE_BATCH) activities: the caller repeats it while there are
    /// [more](crate::RevokedWork::more).
    ///
    /// The default cannot find them, and takes nothing back.
    async fn revoke_work(&self, revoke: RevokeWork) -> Result<RevokedWork, StoreError> {
        drop(revoke);
        Ok(RevokedWork::default())
    }

    /// What blocks an instance: the instance itself first, then its held activities in the order of their events.
    ///
    /// The default knows of no blocks.
    async fn read_blocks(&self, instance: &str) -> Result<Vec<BlockedInstance>, StoreError> {
        let _ = instance;
        Ok(Vec::new())
    }

    /// One instance at one moment, or one that a queued start is about to make; `None` if there is neither.
    /// The store reads a bounded number of rows for it, and no history.
    ///
    /// The default asks the administrative side, or else [`read_status`](Self::read_status). It knows neither
    /// what the instance waits for, nor its queues, nor a start that waits in the queue.
    async fn read_overview(&self, instance: &str) -> Result<Option<InstanceOverview>, StoreError> {
        provider_defaults::read_overview(self, instance).await
    }

    /// What runs these instances and what blocks them, in the order of the ids. An id that is neither an
    /// instance nor that of a queued start is left out. The store reads no history.
    ///
    /// The default asks for the overview and the blocks of each.
    async fn read_children(&self, instances: &[String]) -> Result<Vec<ChildOverview>, StoreError> {
        provider_defaults::read_children(self, instances).await
    }

    /// Makes a node known until it is [forgotten](Self::forget_node), or until the store notices that its process is
    /// gone. Announcing it again replaces what is known.
    ///
    /// The default remembers nothing.
    async fn announce_node(&self, node: NodeAnnouncement) -> Result<(), StoreError> {
        drop(node);
        Ok(())
    }

    /// Forgets a node that stops.
    ///
    /// The default has nothing to forget.
    async fn forget_node(&self, id: &str) -> Result<(), StoreError> {
        let _ = id;
        Ok(())
    }

    /// The live nodes, in the order of their ids.
    ///
    /// The default knows none.
    async fn nodes(&self) -> Result<Vec<Node>, StoreError> {
        Ok(Vec::new())
    }
}
