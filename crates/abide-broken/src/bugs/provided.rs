//! The provided methods: batches, fused steps, unread mail, timers, incarnations.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;
use std::time::Duration;

use abide_model::{Event, KvEntry};
use abide_provider::{
    Authority, Committed, Consumed, FinishedWork, InstanceLease, LeaseInstances, LeaseWork, Operation,
    Preloaded, Rejection, StoreError, TurnCommit, WorkLease,
};
use async_trait::async_trait;

use crate::bug::{Bug, StoreAnswer};
use crate::planted::bugs;
use crate::store::{Store, commit_of};

bugs! {
    /// A lease call gives one more instance than asked for.
    OneInstanceMore => "batches::test_lease_instances_gives_each_instance_once";
    /// A lease call gives one more activity than asked for.
    OneActivityMore => "batches::test_lease_work_gives_each_activity_once_and_the_oldest_first";
    /// The answers to several turns come in the wrong order.
    AnswersReversed => "batches::test_commit_turns_answers_each_in_order";
    /// The answers to several activities come in the wrong order.
    AnswersOfWorkReversed => "batches::test_finish_work_answers_each_in_order";
    /// A batch of nothing is refused.
    NothingRefused => "batches::test_commit_turns_and_finish_work_of_nothing_answer_nothing";
    /// One refused turn makes all turns of its batch refused.
    OneRefusedSpoilsAll => "batches::test_commit_turns_answers_each_in_order";
    /// After one refused activity the rest of its batch is not finished.
    RefusedActivityEndsBatch => "batches::test_finish_work_answers_each_in_order";
    /// The tail of a history has the event that it begins behind.
    TailHasOneMore => "batches::test_read_history_after_gives_the_tail";
    /// The tail of a history is the whole history.
    TailIsWhole => "batches::test_read_history_after_gives_the_tail";
    /// A lease does not know who waits for the result.
    LeaseWithoutParent => "batches::test_lease_knows_who_waits_for_the_result";
    /// The mail of a lease is in order of enqueueing, the start not first.
    StartNotFirst => "batches::test_lease_begins_with_what_starts_an_execution";
    /// A lease of a store that knows incarnations brings a history along.
    LeaseWithHistory => "incarnations::test_lease_brings_no_history_along";
    /// A lease does not say where the instance stands.
    LeaseWithoutPosition => "batches::test_lease_tells_where_an_instance_stands";
    /// A commit under the lease of another instance is taken.
    LeaseOfAnother => "unread_mail::test_lease_is_good_for_its_instance_only";
    /// A fused step is taken although the instance has mail.
    FusedDespiteMail => "fused_steps::test_fused_step_is_busy_if_there_is_mail";
    /// A fused step is taken although the instance is leased.
    FusedDespiteLease => "fused_steps::test_fused_step_is_busy_while_the_instance_is_leased";
    /// A fused step is taken although the instance stands elsewhere.
    FusedAnywhere => "fused_steps::test_fused_step_is_busy_if_the_instance_stands_elsewhere";
    /// A fused step waits for timers that are not due.
    FusedWaitsForTimers => "fused_steps::test_fused_step_passes_over_mail_that_is_not_visible";
    /// A fused step leaves its activity in the queue.
    FusedLeavesWork => "fused_steps::test_fused_step_commits_the_turn_and_takes_the_work";
    /// A fused step is taken although the lease on its activity ran out.
    FusedWithoutLease => "fused_steps::test_fused_step_without_a_valid_lease_is_refused";
    /// A fused step that is refused takes its activity along.
    RefusedFusedTakesWork => "fused_steps::test_fused_step_is_busy_if_there_is_mail";
    /// The lease that comes with a commit passes instances that have waited for longer.
    NextPassesOthers => "batches::test_next_turn_does_not_pass_who_waits_for_longer";
    /// The lease that comes with a commit brings no mail.
    NextWithoutMail => "batches::test_next_turn_is_leased_by_the_commit_or_by_whoever_asks";
    /// Messages that a turn did not read are lost.
    UnreadMailLost => "unread_mail::test_unread_messages_keep_their_place";
    /// Messages that a turn did not read go behind newer ones.
    UnreadMailGoesBehind => "unread_mail::test_unread_messages_keep_their_place";
    /// A message that a turn did not read counts an attempt.
    UnreadMailCounts { unread: Mutex<HashMap<u64, u32>> } => "unread_mail::test_unread_messages_get_their_attempt_back";
    /// Unread messages of an instance that ended are removed.
    EndTakesUnreadMail => "unread_mail::test_unread_messages_of_an_ended_instance_stay";
    /// Timers that nobody waits for fire.
    TimersStay => "timer_removal::test_named_timers_are_removed";
    /// Removing one timer removes all of its execution.
    AllTimersRemoved => "timer_removal::test_named_timers_are_removed";
    /// A timer is removed only while it is not due.
    DueTimersStay => "timer_removal::test_timers_that_are_due_are_removed_too";
    /// Timers are shown when they fire, although their turn asks for more.
    TimersWithoutSlack => "queue_semantics::test_timers_of_a_turn_stay_hidden_for_its_slack";
    /// An instance that is deleted and started anew is the same.
    SameIncarnation => "incarnations::test_next_instance_of_a_name_is_another_incarnation";
    /// The history of another instance of the same name is read under an old lease.
    OldLeaseReads => "incarnations::test_history_of_a_deleted_instance_is_not_read_from_the_next";
    /// A lease does not say what time it is.
    LeaseWithoutTime => "incarnations::test_lease_tells_the_time_of_the_store";
    /// A lease on work does not say what time it is.
    WorkWithoutTime => "incarnations::test_lease_of_work_tells_the_time_of_the_store";
    /// Work does not say for which orchestration it is.
    WorkWithoutName => "incarnations::test_lease_of_work_names_the_orchestration";
}

#[async_trait]
impl Bug for OneInstanceMore {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        // A fetch of one takes one: others would notice.
        let limit = if request.limit == 1 { 1 } else { request.limit + 1 };
        store.lease_instances(LeaseInstances { limit, ..request }).await
    }
}

#[async_trait]
impl Bug for OneActivityMore {
    async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
        // A fetch of one takes one: others would notice.
        let limit = if request.limit == 1 { 1 } else { request.limit + 1 };
        store.lease_work(LeaseWork { limit, ..request }).await
    }
}

#[async_trait]
impl Bug for AnswersReversed {
    async fn commit_turns(&self, store: &Store, turns: Vec<TurnCommit>) -> Vec<StoreAnswer<Committed>> {
        let mut answers = store.commit_turns(turns).await;
        answers.reverse();
        answers
    }
}

#[async_trait]
impl Bug for AnswersOfWorkReversed {
    async fn finish_work(&self, store: &Store, finished: Vec<FinishedWork>) -> Vec<StoreAnswer<()>> {
        let mut answers = store.finish_work(finished).await;
        answers.reverse();
        answers
    }
}

#[async_trait]
impl Bug for NothingRefused {
    async fn commit_turns(&self, store: &Store, turns: Vec<TurnCommit>) -> Vec<StoreAnswer<Committed>> {
        if turns.is_empty() {
            let why = "there is nothing to commit";
            return vec![Err(StoreError::rejected(Operation::CommitTurn, Rejection::Invalid, why))];
        }
        store.commit_turns(turns).await
    }
}

#[async_trait]
impl Bug for OneRefusedSpoilsAll {
    async fn commit_turns(&self, store: &Store, turns: Vec<TurnCommit>) -> Vec<StoreAnswer<Committed>> {
        let mut answers = store.commit_turns(turns).await;
        let refused = answers.iter().find_map(|answer| answer.clone().err());
        if let Some(refused) = refused {
            answers.fill(Err(refused));
        }
        answers
    }
}

#[async_trait]
impl Bug for RefusedActivityEndsBatch {
    async fn finish_work(&self, store: &Store, finished: Vec<FinishedWork>) -> Vec<StoreAnswer<()>> {
        let mut answers: Vec<StoreAnswer<()>> = Vec::new();
        for finished in finished {
            let refused = answers.iter().find_map(|answer| answer.clone().err());
            answers.push(match refused {
                Some(refused) => Err(refused),
                None => store.finish(finished).await,
            });
        }
        answers
    }
}

#[async_trait]
impl Bug for TailHasOneMore {
    async fn read_history_after(
        &self,
        store: &Store,
        lease: &InstanceLease,
        after: u64,
    ) -> StoreAnswer<Vec<Event>> {
        store.read_history_after(lease, after.saturating_sub(1)).await
    }
}

#[async_trait]
impl Bug for TailIsWhole {
    async fn read_history_after(
        &self,
        store: &Store,
        lease: &InstanceLease,
        _: u64,
    ) -> StoreAnswer<Vec<Event>> {
        store.read_history_after(lease, 0).await
    }
}

/// Hands out leases that are not what they should be.
macro_rules! leases_with {
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

leases_with!(LeaseWithoutParent, |lease| lease.parent = None);
leases_with!(LeaseWithHistory, |lease| {
    lease.preloaded = Some(Box::new(Preloaded { history: Ok(Vec::new()), kv: BTreeMap::new() }));
});
leases_with!(LeaseWithoutPosition, |lease| lease.position.last_event_id = 0);
leases_with!(LeaseWithoutTime, |lease| lease.store_time = None);
leases_with!(StartNotFirst, |lease| lease.messages.sort_by_key(|message| message.id));

#[async_trait]
impl Bug for LeaseOfAnother {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        if let Authority::Lease { token } = &commit.authority
            && let Some(turn) = store.turn(token)
        {
            commit.instance = turn.lease.instance;
        }
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for NextPassesOthers {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        commit_and_lease(store, commit).await
    }
}

/// Commits, and leases the next turn if somebody would take it, whoever waits.
async fn commit_and_lease(store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
    let (instance, goes_on) = (commit.instance.clone(), commit.turn.next.is_some());
    let committed = store.commit(commit).await?;
    if !goes_on || committed.next.is_some() {
        return Ok(committed);
    }
    let next = store.lease(&instance).await;
    Ok(committed.with_next(next))
}

#[async_trait]
impl Bug for NextWithoutMail {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let mut committed = commit_and_lease(store, commit).await?;
        if let Some(next) = &mut committed.next {
            next.messages.clear();
        }
        Ok(committed)
    }
}

fn is_busy<T>(answer: &StoreAnswer<T>) -> bool {
    answer.as_ref().is_err_and(|error| error.rejection() == Some(Rejection::Busy))
}

/// Commits a fused step under a lease on its instance, and finishes the activity.
async fn force_fused(store: &Store, lease: &InstanceLease, commit: TurnCommit) -> StoreAnswer<Committed> {
    let Authority::FinishedWork { token, .. } = commit.authority else {
        panic!("this is no fused step");
    };
    let committed = store.commit(commit_of(lease, Consumed::These(Vec::new()), commit.turn)).await?;
    store.finish(FinishedWork { token, completion: None }).await?;
    Ok(committed)
}

/// Where the instance stands according to a fused step.
fn is_expected(lease: &InstanceLease, commit: &TurnCommit) -> bool {
    matches!(&commit.authority, Authority::FinishedWork { expected, .. } if *expected == lease.position)
}

#[async_trait]
impl Bug for FusedDespiteMail {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let answer = store.commit(commit.clone()).await;
        if is_busy(&answer)
            && let Some(lease) = store.lease(&commit.instance).await
        {
            if is_expected(&lease, &commit) {
                return force_fused(store, &lease, commit).await;
            }
            store.give_back(&lease.token).await;
        }
        answer
    }
}

#[async_trait]
impl Bug for FusedDespiteLease {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let answer = store.commit(commit.clone()).await;
        let holder = store.last_turn_of(&commit.instance).filter(|turn| turn.until > store.now());
        match holder {
            Some(holder) if is_busy(&answer) && is_expected(&holder.lease, &commit) => {
                force_fused(store, &holder.lease, commit).await.or(answer)
            }
            Some(_) | None => answer,
        }
    }
}

#[async_trait]
impl Bug for FusedAnywhere {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        if let Authority::FinishedWork { expected, .. } = &mut commit.authority
            && let Some(dump) = store.dump().instances.remove(&commit.instance)
        {
            expected.incarnation = dump.incarnation;
            expected.execution_id = dump.execution;
            expected.last_event_id = dump.last_event_id;
        }
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for FusedWaitsForTimers {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let is_fused = matches!(commit.authority, Authority::FinishedWork { .. });
        if is_fused && !store.unleased_mail(&commit.instance).is_empty() {
            return Err(StoreError::rejected(Operation::CommitTurn, Rejection::Busy, "there is mail"));
        }
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for FusedLeavesWork {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let job = match &commit.authority {
            Authority::FinishedWork { token, .. } => store.job(token),
            Authority::Lease { .. } => None,
        };
        let committed = store.commit(commit).await?;
        if let Some(job) = job {
            store.enqueue_for_worker(job.lease.item).await.expect("an activity can be enqueued");
        }
        Ok(committed)
    }
}

#[async_trait]
impl Bug for FusedWithoutLease {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let job = match &commit.authority {
            Authority::FinishedWork { token, .. } => store.job(token),
            Authority::Lease { .. } => None,
        };
        match job {
            Some(job) if job.until <= store.now() => store.at(job.at, store.commit(commit)),
            Some(_) | None => store.commit(commit).await,
        }
    }
}

#[async_trait]
impl Bug for RefusedFusedTakesWork {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let authority = commit.authority.clone();
        let answer = store.commit(commit).await;
        if let (true, Authority::FinishedWork { token, .. }) = (is_busy(&answer), authority) {
            store.finish(FinishedWork { token, completion: None }).await?;
        }
        answer
    }
}

#[async_trait]
impl Bug for UnreadMailLost {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        store.commit(TurnCommit { consumed: Consumed::All, ..commit }).await
    }
}

/// The messages that a turn did not read.
fn unread(store: &Store, commit: &TurnCommit) -> Vec<abide_provider::Message> {
    let Consumed::These(ids) = &commit.consumed else { return Vec::new() };
    let turn = store.last_turn_of(&commit.instance);
    let messages = turn.map(|turn| turn.lease.messages).unwrap_or_default();
    messages.into_iter().filter(|message| !ids.contains(&message.id)).collect()
}

#[async_trait]
impl Bug for UnreadMailGoesBehind {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        let items = unread(store, &commit).into_iter().map(|message| message.item);
        commit.turn.orchestrator_items.extend(items);
        store.commit(TurnCommit { consumed: Consumed::All, ..commit }).await
    }
}

#[async_trait]
impl Bug for UnreadMailCounts {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let unread = unread(store, &commit);
        let committed = store.commit(commit).await?;
        for message in unread {
            *self.unread.lock().unwrap().entry(message.id.0).or_default() += 1;
        }
        Ok(committed)
    }

    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let mut leases = store.lease_instances(request).await?;
        for lease in &mut leases {
            for message in &mut lease.messages {
                message.attempt += self.unread.lock().unwrap().get(&message.id.0).unwrap_or(&0);
                lease.attempt = lease.attempt.max(message.attempt);
            }
        }
        Ok(leases)
    }
}

#[async_trait]
impl Bug for EndTakesUnreadMail {
    async fn commit(&self, store: &Store, commit: TurnCommit) -> StoreAnswer<Committed> {
        let status = commit.turn.metadata.status.as_deref();
        if matches!(status, Some("Completed" | "Failed")) {
            return store.commit(TurnCommit { consumed: Consumed::All, ..commit }).await;
        }
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for TimersStay {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        commit.turn.removed_timers.clear();
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for AllTimersRemoved {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        if !commit.turn.removed_timers.is_empty() {
            commit.turn.removed_timers.extend(1..100);
        }
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for DueTimersStay {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        let timers = store.dump().messages.into_values().filter(|message| message.class == "Timer");
        let due: Vec<String> =
            timers.filter(|timer| timer.visible_at.is_none()).map(|timer| timer.json).collect();
        let is_due = |id: &u64| due.iter().any(|json| json.contains(&format!("\"id\":{id},")));
        commit.turn.removed_timers.retain(|id| !is_due(id));
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for TimersWithoutSlack {
    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        commit.turn.timer_slack = Duration::ZERO;
        store.commit(commit).await
    }
}

#[async_trait]
impl Bug for SameIncarnation {
    async fn lease_instances(
        &self,
        store: &Store,
        request: LeaseInstances,
    ) -> StoreAnswer<Vec<InstanceLease>> {
        let mut leases = store.lease_instances(request).await?;
        for lease in &mut leases {
            lease.position.incarnation = 1;
        }
        Ok(leases)
    }

    async fn read_history_after(
        &self,
        store: &Store,
        lease: &InstanceLease,
        after: u64,
    ) -> StoreAnswer<Vec<Event>> {
        store.read_history_after(&current(store, lease), after).await
    }

    async fn read_kv_snapshot(
        &self,
        store: &Store,
        lease: &InstanceLease,
    ) -> StoreAnswer<BTreeMap<String, KvEntry>> {
        store.read_kv_snapshot(&current(store, lease)).await
    }

    async fn commit(&self, store: &Store, mut commit: TurnCommit) -> StoreAnswer<Committed> {
        if let Authority::FinishedWork { expected, .. } = &mut commit.authority
            && let Some(dump) = store.dump().instances.remove(&commit.instance)
        {
            expected.incarnation = dump.incarnation;
        }
        store.commit(commit).await
    }
}

/// The same lease, on whatever has this name now.
fn current(store: &Store, lease: &InstanceLease) -> InstanceLease {
    let mut lease = lease.clone();
    if let Some(dump) = store.dump().instances.remove(&lease.instance) {
        lease.position.incarnation = dump.incarnation;
    }
    lease
}

#[async_trait]
impl Bug for OldLeaseReads {
    async fn read_history_after(
        &self,
        store: &Store,
        lease: &InstanceLease,
        after: u64,
    ) -> StoreAnswer<Vec<Event>> {
        store.read_history_after(&current(store, lease), after).await
    }
}

macro_rules! work_with {
    ($bug:ident, $change:expr) => {
        #[async_trait]
        impl Bug for $bug {
            async fn lease_work(&self, store: &Store, request: LeaseWork) -> StoreAnswer<Vec<WorkLease>> {
                let change: fn(&mut WorkLease) = $change;
                let mut leases = store.lease_work(request).await?;
                leases.iter_mut().for_each(change);
                Ok(leases)
            }
        }
    };
}

work_with!(WorkWithoutTime, |lease| lease.store_time = None);
work_with!(WorkWithoutName, |lease| {
    lease.orchestration_name.clear();
    lease.orchestration_version.clear();
});
