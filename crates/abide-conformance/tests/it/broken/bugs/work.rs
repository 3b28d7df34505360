//! Activities: order, completion, tags.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

use abide_model::WorkItem;
use abide_provider::{
    FinishedWork, LeaseWork, Operation, Provider, Rejection, StoreError, TagFilter, WorkLease,
};
use async_trait::async_trait;

use crate::broken::bug::{Answer, Bug, StoreAnswer};
use crate::broken::planted::bugs;
use crate::broken::store::{Store, addressee};

bugs! {
    /// The youngest activity is leased first.
    YoungestWorkFirst => "queue_semantics::test_worker_queue_fifo_ordering";
    /// An activity that waits for its time holds up those behind it.
    HiddenWorkBlocksQueue => "queue_semantics::test_worker_delayed_visibility_skips_future_items";
    /// A new activity can be leased a second later.
    WorkVisibleLater { born: Mutex<Vec<(WorkItem, u64)>> } => "queue_semantics::test_worker_item_immediate_visibility";
    /// An ack of an activity does not tell its instance.
    CompletionLost => "queue_semantics::test_worker_ack_atomicity";
    /// An ack of an activity tells its instance twice.
    CompletionTwice => "queue_semantics::test_concurrent_work_acks_complete_once";
    /// The instance is told of an activity even if the ack is refused.
    CompletionOfRefusedAck => "queue_semantics::test_worker_ack_atomicity";
    /// An ack of an activity leaves it in the queue.
    AckLeavesWork => "queue_semantics::test_worker_ack_atomicity";
    /// The instance is told before the activity is removed: a dropped ack tells it, and the activity comes back.
    DroppedAckTells => "atomicity::test_dropped_work_ack_is_all_or_nothing";
    /// An activity is removed when it is leased, so one whose worker dies is lost.
    WorkRemovedOnLease { taken: Mutex<Vec<String>> } => "atomicity::test_dropped_work_fetch_loses_nothing";
    /// An unreadable activity is put aside, and its instance waits for ever.
    UnreadableWorkNotTold => "unreadable_rows::test_unreadable_work_is_put_aside_and_told_after_ten_attempts";
    /// An ack without a completion does nothing.
    SilentAckIgnored => "cancellation::test_ack_work_item_none_deletes_without_enqueue";
    /// A completion for another instance is taken.
    ForeignCompletion => "error_handling::test_completion_for_another_instance_is_refused";
    /// Anything can be enqueued for workers.
    AnythingIsWork => "error_handling::test_each_queue_refuses_what_belongs_to_the_other";
    /// An activity can be sent as a message.
    ActivityIsMail => "error_handling::test_each_queue_refuses_what_belongs_to_the_other";
    /// An activity of what does not exist cannot be finished.
    OrphanWorkStuck => "cancellation::test_activity_of_unknown_instance_can_be_finished";
    /// Activities of an instance that is leased wait until its turn is over.
    WorkWaitsForTurn => "instance_locking::test_work_of_a_leased_instance_goes_on";
    /// An unreadable activity fails every fetch.
    UnreadableWorkFailsFetch => "unreadable_rows::test_unreadable_work_blocks_no_other_work";
    /// An unreadable activity holds up those behind it.
    UnreadableWorkBlocksQueue => "unreadable_rows::test_unreadable_work_blocks_no_other_work";
    /// A worker that takes any tag gets no activities without one.
    AnyExcludesUntagged => "tag_filtering::test_any_filter_fetches_everything";
    /// A worker that takes no tags gets activities without one.
    NoneTakesUntagged => "tag_filtering::test_none_filter_returns_nothing";
    /// A worker that takes activities without a tag gets all.
    DefaultTakesTagged => "tag_filtering::test_default_only_fetches_untagged";
    /// A worker that takes some tags gets activities without one too.
    TagsTakeUntagged => "tag_filtering::test_tags_fetches_only_matching";
    /// A worker that takes some tags and activities without one gets only the tagged.
    DefaultAndLosesUntagged => "tag_filtering::test_default_and_fetches_untagged_and_matching";
    /// Only one of several tags is looked at.
    OneTagOnly => "tag_filtering::test_multi_tag_filter";
    /// An empty tag is none.
    EmptyTagIsNone => "tag_filtering::test_empty_tag_is_a_tag";
    /// Tags are compared without regard to case.
    TagsIgnoreCase => "tag_filtering::test_tag_is_compared_exactly";
    /// A fetch says that there is nothing if the oldest activity has another tag.
    TagEndsSearch => "tag_filtering::test_unwanted_tags_do_not_hold_up_what_is_wanted";
    /// An activity loses its tag when it is given back.
    AbandonLosesTag => "tag_filtering::test_tag_survives_abandon_and_refetch";
    /// An activity that is skipped for its tag counts an attempt.
    SkippedWorkCounts => "tag_filtering::test_unwanted_activities_keep_their_attempts";
    /// The tag does not come with the activity.
    TagNotHandedOut => "tag_filtering::test_tag_round_trip_preservation";
}

#[async_trait]
impl Bug for YoungestWorkFirst {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let limit = request.limit;
        let mut all = store.lease_work(LeaseWork { limit: 100, ..request }).await?;
        all.reverse();
        for lease in all.drain(limit.min(all.len())..) {
            store.give_work_back(&lease.token).await;
        }
        Ok(all)
    }
}

#[async_trait]
impl Bug for HiddenWorkBlocksQueue {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let work = store.dump().work;
        if work.values().find(|work| work.leased_until.is_none()).is_some_and(|work| work.visible_at.is_some())
        {
            return Ok(Vec::new());
        }
        store.lease_work(request).await
    }
}

#[async_trait]
impl Bug for WorkVisibleLater {
    async fn enqueue_for_worker(&self, store: &Store, item: WorkItem) -> Answer<()> {
        self.born.lock().unwrap().push((item.clone(), store.now().as_millis()));
        store.enqueue_for_worker(item).await
    }

    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let born = self.born.lock().unwrap().clone();
        let now = store.now().as_millis();
        let is_new = |lease: &WorkLease| born.iter().any(|(item, at)| *item == lease.item && at + 1_000 > now);
        store.lease_work_but(request, is_new).await
    }
}

#[async_trait]
impl Bug for CompletionLost {
    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        store.finish(FinishedWork { completion: None, ..finished }).await
    }
}

#[async_trait]
impl Bug for CompletionTwice {
    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        let again = finished.completion.clone();
        store.finish(finished).await?;
        if let Some(item) = again {
            store.enqueue_for_orchestrator(item, None).await.expect("a completion can be sent");
        }
        Ok(())
    }
}

#[async_trait]
impl Bug for CompletionOfRefusedAck {
    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        let completion = finished.completion.clone();
        let answer = store.finish(finished).await;
        if answer.is_err() {
            if let Some(item) = completion {
                // What is no message is refused once more.
                drop(store.enqueue_for_orchestrator(item, None).await);
            }
        }
        answer
    }
}

#[async_trait]
impl Bug for AckLeavesWork {
    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        let job = store.job(&finished.token);
        store.finish(finished).await?;
        if let Some(job) = job {
            store.enqueue_for_worker(job.lease.item).await.expect("an activity can be enqueued");
        }
        Ok(())
    }
}

#[async_trait]
impl Bug for DroppedAckTells {
    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        let FinishedWork { token, completion } = finished;
        if store.renew_work_item_lock(&token, Duration::ZERO).await.is_ok() {
            if let Some(item) = completion {
                // What is no message is lost.
                drop(store.enqueue_for_orchestrator(item, None).await);
            }
            tokio::task::yield_now().await;
            return store.finish(FinishedWork { token, completion: None }).await;
        }
        store.finish(FinishedWork { token, completion }).await
    }
}

impl WorkRemovedOnLease {
    /// What was taken with this token, if it is not finished and its time is not over.
    fn taken(&self, store: &Store, token: &str) -> Option<WorkItem> {
        let is_taken = self.taken.lock().unwrap().iter().any(|taken| taken == token);
        let job = store.job(token).filter(|job| is_taken && job.until > store.now());
        job.map(|job| job.lease.item)
    }

    fn forget(&self, token: &str) {
        self.taken.lock().unwrap().retain(|taken| taken != token);
    }
}

#[async_trait]
impl Bug for WorkRemovedOnLease {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let leases = store.lease_work(request).await?;
        for lease in &leases {
            store.ack_work_item(&lease.token, None).await.expect("the lease is held");
            self.taken.lock().unwrap().push(lease.token.clone());
        }
        tokio::task::yield_now().await;
        Ok(leases)
    }

    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        if self.taken(store, &finished.token).is_none() {
            return store.finish(finished).await;
        }
        self.forget(&finished.token);
        if let Some(completion) = finished.completion {
            store.enqueue_for_orchestrator(completion, None).await.expect("a completion can be sent");
        }
        Ok(())
    }

    async fn abandon_work_item(
        &self,
        store: &Store,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Answer<()> {
        match self.taken(store, token) {
            None => store.abandon_work_item(token, delay, ignore_attempt).await,
            Some(item) => {
                self.forget(token);
                store.enqueue_for_worker(item).await
            }
        }
    }

    async fn renew_work_item_lock(&self, store: &Store, token: &str, extend_for: Duration) -> Answer<()> {
        match self.taken(store, token) {
            None => store.renew_work_item_lock(token, extend_for).await,
            Some(_) => Ok(()),
        }
    }
}

#[async_trait]
impl Bug for UnreadableWorkNotTold {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let before = store.dump();
        let leases = store.lease_work(request).await?;
        let after = store.dump();
        let told = after.messages.iter().filter(|(number, _)| !before.messages.contains_key(number));
        for (number, message) in told {
            store.remove_mail(&message.mailbox, |other| other == *number).await;
        }
        Ok(leases)
    }
}

#[async_trait]
impl Bug for SilentAckIgnored {
    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        if finished.completion.is_none() {
            return Ok(());
        }
        store.finish(finished).await
    }
}

#[async_trait]
impl Bug for ForeignCompletion {
    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        let FinishedWork { token, completion } = finished.clone();
        match (completion, store.job(&token)) {
            (Some(completion @ WorkItem::ActivityCompleted { .. }), Some(job))
                if addressee(&completion) != addressee(&job.lease.item) =>
            {
                store.finish(FinishedWork { token, completion: None }).await?;
                store.enqueue_for_orchestrator(completion, None).await.expect("a completion can be sent");
                Ok(())
            }
            (_, _) => store.finish(finished).await,
        }
    }
}

#[async_trait]
impl Bug for AnythingIsWork {
    async fn enqueue_for_worker(&self, store: &Store, item: WorkItem) -> Answer<()> {
        store.enqueue_for_worker(item).await.or(Ok(()))
    }
}

#[async_trait]
impl Bug for ActivityIsMail {
    async fn enqueue_for_orchestrator(
        &self,
        store: &Store,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Answer<()> {
        store.enqueue_for_orchestrator(item, delay).await.or(Ok(()))
    }
}

#[async_trait]
impl Bug for OrphanWorkStuck {
    async fn finish(&self, store: &Store, finished: FinishedWork) -> StoreAnswer<()> {
        let job = store.job(&finished.token);
        if job.is_some_and(|job| !store.is_instance(addressee(&job.lease.item))) {
            return Err(StoreError::rejected(Operation::FinishWork, Rejection::Invalid, "no such instance"));
        }
        store.finish(finished).await
    }
}

#[async_trait]
impl Bug for WorkWaitsForTurn {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let instances = store.dump().instances;
        let is_leased = |name: &str| instances.get(name).is_some_and(|dump| dump.leased_until.is_some());
        store.lease_work_but(request, |lease| is_leased(addressee(&lease.item))).await
    }
}

/// Whether there is a visible activity that cannot be read.
fn unreadable_work(store: &Store) -> bool {
    store.dump().work.values().any(|work| work.visible_at.is_none() && work.json == "{")
}

#[async_trait]
impl Bug for UnreadableWorkFailsFetch {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        if unreadable_work(store) {
            return Err(StoreError::not_applied(Operation::LeaseWork, "an activity cannot be read"));
        }
        store.lease_work(request).await
    }
}

#[async_trait]
impl Bug for UnreadableWorkBlocksQueue {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        if unreadable_work(store) {
            return Ok(Vec::new());
        }
        store.lease_work(request).await
    }
}

fn tag_of(item: &WorkItem) -> Option<&str> {
    let WorkItem::ActivityExecute { tag, .. } = item else { return None };
    tag.as_deref()
}

#[async_trait]
impl Bug for AnyExcludesUntagged {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let is_any = request.tags == TagFilter::Any;
        store.lease_work_but(request, |lease| is_any && tag_of(&lease.item).is_none()).await
    }
}

/// Leases with another filter instead of the one asked for.
async fn lease_with(
    store: &Store,
    request: LeaseWork,
    filter: impl Fn(TagFilter) -> TagFilter,
) -> StoreAnswer<Vec<WorkLease>> {
    let tags = filter(request.tags);
    store.lease_work(LeaseWork { tags, ..request }).await
}

#[async_trait]
impl Bug for NoneTakesUntagged {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        lease_with(store, request, |tags| match tags {
            TagFilter::None => TagFilter::DefaultOnly,
            other => other,
        })
        .await
    }
}

#[async_trait]
impl Bug for DefaultTakesTagged {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        lease_with(store, request, |tags| match tags {
            TagFilter::DefaultOnly => TagFilter::Any,
            other => other,
        })
        .await
    }
}

#[async_trait]
impl Bug for TagsTakeUntagged {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        lease_with(store, request, |tags| match tags {
            TagFilter::Tags(tags) => TagFilter::DefaultAnd(tags),
            other => other,
        })
        .await
    }
}

#[async_trait]
impl Bug for DefaultAndLosesUntagged {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        lease_with(store, request, |tags| match tags {
            TagFilter::DefaultAnd(tags) => TagFilter::Tags(tags),
            other => other,
        })
        .await
    }
}

#[async_trait]
impl Bug for OneTagOnly {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let one = |tags: HashSet<String>| tags.into_iter().min().into_iter().collect();
        lease_with(store, request, |tags| match tags {
            TagFilter::Tags(tags) => TagFilter::Tags(one(tags)),
            TagFilter::DefaultAnd(tags) => TagFilter::DefaultAnd(one(tags)),
            other => other,
        })
        .await
    }
}

#[async_trait]
impl Bug for EmptyTagIsNone {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let wanted = request.tags.clone();
        let is_hidden =
            |lease: &WorkLease| !wanted.matches(tag_of(&lease.item).filter(|tag| !tag.is_empty()));
        store.lease_work_but(LeaseWork { tags: TagFilter::Any, ..request }, is_hidden).await
    }
}

#[async_trait]
impl Bug for TagsIgnoreCase {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let wanted = request.tags.clone();
        let lower = |tags: &HashSet<String>| tags.iter().map(|tag| tag.to_lowercase()).collect();
        let wanted = match &wanted {
            TagFilter::Tags(tags) => TagFilter::Tags(lower(tags)),
            TagFilter::DefaultAnd(tags) => TagFilter::DefaultAnd(lower(tags)),
            TagFilter::DefaultOnly | TagFilter::Any | TagFilter::None => wanted,
        };
        let is_hidden = |lease: &WorkLease| {
            !wanted.matches(tag_of(&lease.item).map(str::to_lowercase).as_deref())
        };
        store.lease_work_but(LeaseWork { tags: TagFilter::Any, ..request }, is_hidden).await
    }
}

#[async_trait]
impl Bug for TagEndsSearch {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let work = store.dump().work;
        let oldest = work.values().find(|work| work.leased_until.is_none() && work.visible_at.is_none());
        if oldest.is_some_and(|work| !request.tags.matches(work.tag.as_deref())) {
            return Ok(Vec::new());
        }
        store.lease_work(request).await
    }
}

#[async_trait]
impl Bug for AbandonLosesTag {
    async fn abandon_work_item(
        &self,
        store: &Store,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Answer<()> {
        if let Some(mut item) = store.job(token).map(|job| job.lease.item)
            && let WorkItem::ActivityExecute { tag: tag @ Some(_), .. } = &mut item
        {
            *tag = None;
            store.ack_work_item(token, None).await?;
            return store.enqueue_for_worker(item).await;
        }
        store.abandon_work_item(token, delay, ignore_attempt).await
    }
}

#[async_trait]
impl Bug for SkippedWorkCounts {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let (limit, tags) = (request.limit, request.tags.clone());
        let all = LeaseWork { tags: TagFilter::Any, limit: 100, ..request };
        let mut wanted = Vec::new();
        for lease in store.lease_work(all).await? {
            if !tags.matches(tag_of(&lease.item)) {
                store.abandon_work_item(&lease.token, None, false).await.expect("the lease is held");
            } else if wanted.len() < limit {
                wanted.push(lease);
            } else {
                store.give_work_back(&lease.token).await;
            }
        }
        Ok(wanted)
    }
}

#[async_trait]
impl Bug for TagNotHandedOut {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        let mut leases = store.lease_work(request).await?;
        for lease in &mut leases {
            if let WorkItem::ActivityExecute { tag, .. } = &mut lease.item {
                *tag = None;
            }
        }
        Ok(leases)
    }
}
