//! A finished activity and the turn that takes its result, in one commit.

use abide_model::{EventKind, ExecutionStatus, WorkItem};
use abide_provider::{Ability, Authority, Consumed, Position, Rejection, TurnCommit, WorkLease};

use crate::ProviderFactory;
use crate::batches::calls::{
    Written, assert_rejected, assert_rejected_as, assert_written_everywhere, assert_written_nowhere, commit,
    lease, lease_all, lease_job, names, signals, try_commit, try_finish, turn_of, under, writing_everywhere,
};
use crate::suite::area;
use crate::support::{
    Ack, Subject, activity, assert_refused, beside, completed, event, identifier, signal, start, started,
    timer,
};

area! {
    fused_steps;
    test_fused_step_commits_the_turn_and_takes_the_work: Need::Ability(Ability::FusedSteps);
    test_fused_steps_follow_each_other: Need::Ability(Ability::FusedSteps);
    test_fused_step_can_end_the_instance: Need::Ability(Ability::FusedSteps);
    test_fused_step_passes_over_mail_that_is_not_visible: Need::Ability(Ability::FusedSteps);
    test_fused_steps_and_plain_turns_share_a_batch: Need::Ability(Ability::FusedSteps);
    test_fused_step_is_busy_while_the_instance_is_leased: Need::Ability(Ability::FusedSteps);
    test_fused_step_is_busy_if_there_is_mail: Need::Ability(Ability::FusedSteps);
    test_fused_step_is_busy_if_the_instance_stands_elsewhere: Need::Ability(Ability::FusedSteps);
    test_fused_step_without_a_valid_lease_is_refused: Need::Ability(Ability::FusedSteps);
    test_fused_step_of_revoked_work_is_refused: Need::Ability(Ability::FusedSteps);
    test_fused_step_of_another_instance_is_refused: Need::Ability(Ability::FusedSteps);
    test_fused_step_with_a_wrong_turn_is_refused: Need::Ability(Ability::FusedSteps);
    test_one_activity_makes_one_fused_step: Need::Ability(Ability::FusedSteps);
}

/// A fused step writes its turn and removes the activity, and nobody is told of the result once more.
pub async fn test_fused_step_commits_the_turn_and_takes_the_work<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let waiting = waiting(&store, "a").await;
    commit(&store, fused(&waiting, writing_everywhere("a", 3))).await;

    assert_lost(&store, &waiting.job).await;
    assert_written_everywhere(&store, "a", 3).await;
    store.post(signal("a", "next")).await;
    let next = lease(&store, "a").await;
    assert_eq!(signals(&next.messages), ["next"]);
    assert_eq!(next.messages.len(), 1, "the result was taken in by the turn: {:?}", next.messages);
    assert_eq!((next.position.execution_id, next.position.last_event_id), (1, 5));
    store.expire_leases().await;
    assert_eq!(store.fetch_work().await.id(), 5, "the finished activity does not come back");
    store.assert_no_work("the finished activity does not come back").await;
}

/// The next activity of an instance can be fused too: the instance then stands where the last turn left it.
pub async fn test_fused_steps_follow_each_other<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let mut step = waiting(&store, "a").await;
    for event in [3, 5, 7] {
        commit(&store, fused(&step, next_turn("a", event))).await;
        let position = Position { last_event_id: event + 1, ..step.position };
        step = Waiting { position, job: lease_job(&store).await };
        assert_eq!(step.job.item, activity("a", event + 1));
    }
    assert_eq!(store.event_ids("a", 1).await, [1, 2, 3, 4, 5, 6, 7, 8]);
    try_finish(&store, &step.job.token, Some(completed("a", 8))).await.expect("the plain way is open too");
    assert_eq!(store.fetch("a").await.item.messages, [completed("a", 8)]);
}

/// A fused step can end the execution, with all that goes with it: status, values, revoked activities, and timers
/// where those are removed.
pub async fn test_fused_step_can_end_the_instance<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let first = Ack::first("a").scheduling(activity("a", 2)).scheduling(activity("a", 3));
    let waiting = waiting_after(&store, first).await;
    let other = lease_job(&store).await;
    let value = EventKind::KeyValueSet { key: "k".to_owned(), value: "v".to_owned(), last_updated_at_ms: 1 };
    let end = Ack::of("a", 1).event(4, value).cancelling(identifier("a", 3)).completing(5);
    commit(&store, fused(&waiting, end)).await;

    assert_lost(&store, &other).await;
    store.post(signal("a", "late")).await;
    let next = lease(&store, "a").await;
    assert_eq!(next.status, Some(ExecutionStatus::Completed));
    assert_eq!(next.messages.len(), 1, "{:?}", next.messages);
    let snapshot = store.read_kv_snapshot(&next).await.expect("the snapshot is readable");
    assert_eq!(snapshot.get("k").map(|entry| entry.value.as_str()), Some("v"), "an end makes values lasting");
    store.expire_leases().await;
    store.assert_no_work("no activity is left").await;
}

/// Mail that cannot be seen yet is not in the way, and a fused step, which leased no mail, consumes none.
pub async fn test_fused_step_passes_over_mail_that_is_not_visible<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let fire_at = store.now_ms() + u64::try_from(store.lock().as_millis()).expect("a short time");
    let first = Ack::first("a").scheduling(activity("a", 2)).mail(timer("a", 9, fire_at));
    let waiting = waiting_after(&store, first).await;
    commit(&store, fused(&waiting, next_turn("a", 3))).await;
    assert_eq!(store.event_ids("a", 1).await, [1, 2, 3, 4]);
    store.pass(store.lock() * 5 / 4).await;
    assert_eq!(
        store.fetch("a").await.item.messages,
        [timer("a", 9, fire_at)],
        "the timer fires all the same"
    );
}

/// Fused steps and plain turns are committed by one call, each for itself, and answered in order.
pub async fn test_fused_steps_and_plain_turns_share_a_batch<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let first = waiting(&store, "a").await;
    let second = waiting(&store, "b").await;
    store.create("c").await;
    store.post(signal("c", "next")).await;
    let plain = lease(&store, "c").await;
    store.post(signal("b", "in the way")).await;

    let turns = vec![
        fused(&second, next_turn("b", 3)),
        under(&plain, Ack::of("c", 1).signalled(2)),
        fused(&first, next_turn("a", 3)),
    ];
    let answers = store.commit_turns(turns).await;
    assert_eq!(answers.len(), 3, "one answer for each turn");
    assert_rejected_as(&answers[0], Rejection::Busy, "the first turn, whose instance has mail");
    assert!(answers[1].is_ok(), "the second turn is in order: {:?}", answers[1]);
    assert!(answers[2].is_ok(), "the last turn is in order: {:?}", answers[2]);
    assert_eq!(store.event_ids("a", 1).await, [1, 2, 3, 4]);
    assert_eq!(store.event_ids("b", 1).await, [1, 2]);
    assert_eq!(store.event_ids("c", 1).await, [1, 2]);
}

/// While somebody else runs a turn of the instance, a fused step is busy and writes nothing; the plain way is open.
pub async fn test_fused_step_is_busy_while_the_instance_is_leased<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let waiting = waiting(&store, "a").await;
    store.post(signal("a", "next")).await;
    let leased = lease(&store, "a").await;
    assert_busy(&store, &waiting).await;

    try_finish(&store, &waiting.job.token, Some(completed("a", 2))).await.expect("the plain way is open");
    commit(&store, under(&leased, Ack::of("a", 1).signalled(3))).await;
    assert_eq!(store.fetch("a").await.item.messages, [completed("a", 2)]);
    assert_eq!(store.event_ids("a", 1).await, [1, 2, 3]);
}

/// An instance that has mail to read takes it first: a fused step is busy, writes nothing and consumes nothing.
pub async fn test_fused_step_is_busy_if_there_is_mail<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let waiting = waiting(&store, "a").await;
    store.post(signal("a", "newer")).await;
    let before = Written::of(&store, "a").await;
    let busy = try_commit(&store, fused(&waiting, writing_everywhere("a", 3))).await;
    assert_rejected_as(&busy, Rejection::Busy, "a fused step of an instance with mail");
    assert_eq!(Written::of(&store, "a").await, before, "a busy step writes nothing");
    let leases = lease_all(&store).await;
    assert_eq!(names(&leases), ["a"], "a busy step sends nothing");
    assert_eq!(signals(&leases[0].messages), ["newer"], "a busy step consumes nothing");
    assert_eq!(leases[0].attempt, 1);
    assert_held(&store, &waiting.job).await;

    commit(&store, under(&leases[0], Ack::of("a", 1).signalled(3))).await;
    let moved = Position { last_event_id: 3, ..waiting.position };
    commit(&store, fused(&Waiting { position: moved, ..waiting }, next_turn("a", 4))).await;
    assert_eq!(store.event_ids("a", 1).await, [1, 2, 3, 4, 5], "once the mail is read, the step is free");
}

/// An instance that does not stand where the step left it has been run by others: a fused step is busy and writes
/// nothing. That holds for its last event, its execution, and which instance of its name it is.
pub async fn test_fused_step_is_busy_if_the_instance_stands_elsewhere<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let waiting = waiting(&store, "a").await;
    store.step(Ack::of("a", 1).signalled(3)).await;
    assert_busy_at(&store, &waiting, waiting.position).await;
    let now = Position { last_event_id: 3, ..waiting.position };
    assert_busy_at(&store, &waiting, Position { last_event_id: 4, ..now }).await;
    assert_busy_at(&store, &waiting, Position { execution_id: 2, ..now }).await;
    assert_busy_at(&store, &waiting, Position { execution_id: 2, last_event_id: 0, ..now }).await;
    assert_busy_at(&store, &waiting, Position { incarnation: now.incarnation.wrapping_add(1), ..now }).await;

    commit(&store, fused(&Waiting { position: now, ..waiting }, writing_everywhere("a", 4))).await;
    assert_written_everywhere(&store, "a", 4).await;
}

/// A fused step needs a valid lease on its activity: one that ran out, was given back, or never was, writes
/// nothing.
pub async fn test_fused_step_without_a_valid_lease_is_refused<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let ran_out = waiting(&store, "a").await;
    store.expire_leases().await;
    let before = Written::of(&store, "a").await;
    assert_lease_lost(&store, &ran_out, "a lease that ran out").await;
    let given_back = Waiting { job: lease_job(&store).await, ..ran_out.clone() };
    store.abandon_work_item(&given_back.job.token, None, false).await.expect("the lease is held");
    let held = Waiting { job: lease_job(&store).await, ..ran_out.clone() };
    assert_eq!(held.job.attempt, 3);
    let job = WorkLease { token: "no-such-token".to_owned(), ..held.job.clone() };
    let unknown = Waiting { job, ..held.clone() };

    for (stale, what) in [(&ran_out, "a lease that ran out"), (&given_back, "a lease that was given back")] {
        assert_lease_lost(&store, stale, what).await;
        assert_written_nowhere(&store, "a", &before).await;
    }
    assert_lease_lost(&store, &unknown, "a token that is unknown").await;
    assert_written_nowhere(&store, "a", &before).await;
    commit(&store, fused(&held, writing_everywhere("a", 3))).await;
    assert_written_everywhere(&store, "a", 3).await;
}

/// An activity that was taken back, or was finished the plain way, makes no fused step any more.
pub async fn test_fused_step_of_revoked_work_is_refused<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let revoked = waiting(&store, "a").await;
    store.step(Ack::of("a", 1).cancelling(identifier("a", 2))).await;
    let before = Written::of(&store, "a").await;
    assert_lease_lost(&store, &revoked, "an activity that was taken back").await;
    assert_written_nowhere(&store, "a", &before).await;

    let finished = waiting(&store, "b").await;
    try_finish(&store, &finished.job.token, None).await.expect("the lease is held");
    let before = Written::of(&store, "b").await;
    assert_lease_lost(&store, &finished, "an activity that is finished").await;
    assert_written_nowhere(&store, "b", &before).await;
}

/// An activity of one instance pays for no turn of another.
pub async fn test_fused_step_of_another_instance_is_refused<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let theirs = waiting(&store, "theirs").await;
    let mine = waiting(&store, "mine").await;
    let before = (Written::of(&store, "mine").await, Written::of(&store, "theirs").await);
    let stolen = Waiting { job: theirs.job.clone(), ..mine.clone() };
    let foreign = try_commit(&store, fused(&stolen, writing_everywhere("mine", 3))).await;
    assert_rejected_as(&foreign, Rejection::Invalid, "a fused step with another instance's activity");
    assert_written_nowhere(&store, "mine", &before.0).await;
    assert_written_nowhere(&store, "theirs", &before.1).await;
    assert_held(&store, &theirs.job).await;
    assert_held(&store, &mine.job).await;
    commit(&store, fused(&mine, writing_everywhere("mine", 3))).await;
    assert_written_everywhere(&store, "mine", 3).await;
}

/// A turn that no store may write, or that does not go on where the history ends, is refused and costs nothing.
pub async fn test_fused_step_with_a_wrong_turn_is_refused<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let waiting = waiting(&store, "a").await;
    let before = Written::of(&store, "a").await;
    let mut unnumbered = writing_everywhere("a", 3);
    unnumbered.events.push(event("a", 1, 0, started()));
    let mut no_execution = writing_everywhere("a", 3);
    no_execution.execution_id = 0;
    for (wrong, what) in [(unnumbered, "an event without a number"), (no_execution, "no execution")] {
        let answer = try_commit(&store, fused(&waiting, wrong)).await;
        assert_rejected_as(&answer, Rejection::Invalid, what);
        assert_written_nowhere(&store, "a", &before).await;
    }
    let recorded = try_commit(&store, fused(&waiting, writing_everywhere("a", 2))).await;
    assert_rejected_as(&recorded, Rejection::Conflict, "an event that is recorded already");
    assert_written_nowhere(&store, "a", &before).await;

    assert_held(&store, &waiting.job).await;
    commit(&store, fused(&waiting, writing_everywhere("a", 3))).await;
    assert_written_everywhere(&store, "a", 3).await;
}

/// Of several fused steps with one activity, at the same time or not, one is committed.
pub async fn test_one_activity_makes_one_fused_step<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let waiting = waiting(&store, "a").await;
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let (provider, step) = (store.shared(), fused(&waiting, next_turn("a", 3)));
            beside(async move { provider.commit_turns(vec![step]).await.remove(0) })
        })
        .collect();
    let mut committed = 0;
    for caller in callers {
        match caller.await.expect("a caller does not panic") {
            Ok(_) => committed += 1,
            refused => assert_rejected(&refused, "a second step with the same activity"),
        }
    }
    assert_eq!(committed, 1, "one activity, one step");
    assert_eq!(store.event_ids("a", 1).await, [1, 2, 3, 4]);
    assert_eq!(store.fetch_work().await.id(), 4);
    store.assert_no_work("the turn was written once").await;
}

/// An instance that waits for an activity, which is leased.
#[derive(Debug, Clone)]
struct Waiting {
    position: Position,
    job: WorkLease,
}

async fn waiting(store: &Subject<'_>, instance: &str) -> Waiting {
    waiting_after(store, Ack::first(instance).scheduling(activity(instance, 2))).await
}

/// The same, after this first turn, whose first activity is leased.
async fn waiting_after(store: &Subject<'_>, first: Ack) -> Waiting {
    let instance = first.instance.clone();
    let last_event_id = first.events.last().map_or(0, |event| event.event_id);
    store.post(start(&instance)).await;
    let leased = lease(store, &instance).await;
    commit(store, under(&leased, first)).await;
    let job = lease_job(store).await;
    assert_eq!(job.item, activity(&instance, 2));
    let position = Position { incarnation: leased.position.incarnation, execution_id: 1, last_event_id };
    Waiting { position, job }
}

/// A turn that the activity pays for.
fn fused(waiting: &Waiting, turn: Ack) -> TurnCommit {
    TurnCommit {
        instance: turn.instance.clone(),
        authority: Authority::FinishedWork { token: waiting.job.token.clone(), expected: waiting.position },
        consumed: Consumed::All,
        left: Vec::new(),
        turn: turn_of(turn),
    }
}

/// Takes the result in with this event, and asks for the next activity with the one behind it.
fn next_turn(instance: &str, event: u64) -> Ack {
    let result = EventKind::ActivityCompleted { result: "done".to_owned() };
    Ack::of(instance, 1).event(event, result).scheduling(activity(instance, event + 1))
}

/// A fused step is refused as busy and writes nothing. The instance must be leased, or have no mail.
async fn assert_busy(store: &Subject<'_>, waiting: &Waiting) {
    assert_busy_at(store, waiting, waiting.position).await;
}

async fn assert_busy_at(store: &Subject<'_>, waiting: &Waiting, expected: Position) {
    let before = Written::of(store, "a").await;
    let step = fused(&Waiting { position: expected, ..waiting.clone() }, writing_everywhere("a", 10));
    assert_rejected_as(
        &try_commit(store, step).await,
        Rejection::Busy,
        &format!("a fused step at {expected:?}"),
    );
    assert_written_nowhere(store, "a", &before).await;
    assert_held(store, &waiting.job).await;
}

async fn assert_lease_lost(store: &Subject<'_>, waiting: &Waiting, what: &str) {
    let WorkItem::ActivityExecute { instance, .. } = &waiting.job.item else {
        panic!("this is no activity: {:?}", waiting.job.item);
    };
    let step = fused(waiting, writing_everywhere(instance, 3));
    assert_rejected_as(&try_commit(store, step).await, Rejection::LeaseLost, what);
}

/// The lease on this activity is still there.
async fn assert_held(store: &Subject<'_>, job: &WorkLease) {
    let renewed = store.renew_work_item_lock(&job.token, store.lock()).await;
    renewed.expect("a refused step leaves the lease on its activity");
}

/// The lease on this activity is gone.
async fn assert_lost(store: &Subject<'_>, job: &WorkLease) {
    let renewed = store.renew_work_item_lock(&job.token, store.lock()).await;
    assert_refused(&renewed, "renewing the lease on an activity that is gone");
    let finished = try_finish(store, &job.token, Some(completed("a", 2))).await;
    assert_rejected_as(&finished, Rejection::LeaseLost, "finishing an activity that is gone");
    let abandoned = store.abandon_work_item(&job.token, None, false).await;
    assert_refused(&abandoned, "abandoning an activity that is gone");
}
