//! Which try of its step an activity is: kept with the work, and told by every lease.

use std::time::Duration;

use abide_model::{EventKind, Retry, StepTry};
use abide_provider::{Ability, Authority, Consumed, LeaseWork, Position, TagFilter, TurnCommit, WorkLease};
use futures_util::future::join;

use crate::ProviderFactory;
use crate::batches::calls::{commit, jobs, lease, lease_all_jobs, lease_job, turn_of, under};
use crate::suite::area;
use crate::support::{Ack, Subject, activity, activity_with, start, worker};

area! {
    step_tries;
    test_lease_tells_which_try_it_is: Need::Ability(Ability::StepTries);
    test_every_delivery_tells_the_same_try: Need::Ability(Ability::StepTries);
    test_work_without_a_retry_is_a_first_try: Need::Ability(Ability::StepTries);
    test_fused_step_keeps_which_try_it_is: Need::Ability(Ability::StepTries), Need::Ability(Ability::FusedSteps);
    test_call_that_waits_is_told_which_try_it_is: Need::Ability(Ability::StepTries), Need::Ability(Ability::Parking);
}

/// A lease tells the event of the first try and the number of this one: of one activity, of several in one
/// turn, with a tag, and of a session.
pub async fn test_lease_tells_which_try_it_is<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let many = Ack::first("many")
        .scheduling(activity("many", 2))
        .scheduling(activity_with("many", 3, None, Some("gpu")))
        .scheduling(activity_with("many", 4, Some("s"), None))
        .scheduling(activity_with("many", 5, Some("s"), Some("gpu")));
    begin(&store, many, &[retry(3, 1, 7), retry(5, 2, 3)]).await;
    let everything =
        LeaseWork { tags: TagFilter::any(), session: Some(worker("me", store.lock())), ..jobs(&store, 10) };
    let leases = lease_all_jobs(&store, everything).await;
    let expected =
        [(2, StepTry::first(2)), (3, step(1, 7)), (4, StepTry::first(4)), (5, step(2, 3))];
    assert_eq!(steps(&leases), expected, "four activities of one turn, two of them retries");

    begin(&store, Ack::first("one").scheduling(activity("one", 6)), &[retry(6, 2, 4)]).await;
    let one = lease_job(&store).await;
    assert_eq!(steps(&[one]), [(6, step(2, 4))], "the only activity of its turn");
}

/// An activity that is delivered again is the same try: after its lease ran out, and after it was given back.
pub async fn test_every_delivery_tells_the_same_try<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    begin(&store, Ack::first("a").scheduling(activity("a", 4)), &[retry(4, 2, 2)]).await;
    assert_eq!(steps(&[lease_job(&store).await]), [(4, step(2, 2))]);
    store.expire_leases().await;
    let again = lease_job(&store).await;
    assert_eq!((again.attempt, steps(std::slice::from_ref(&again))), (2, vec![(4, step(2, 2))]), "it ran out");
    store.abandon_work_item(&again.token, None, false).await.expect("the lease is held");
    let again = lease_job(&store).await;
    assert_eq!((again.attempt, steps(&[again])), (3, vec![(4, step(2, 2))]), "it was given back");
}

/// Work that no turn calls a retry is the first try of a step of its own, also if it is enqueued without a
/// turn.
pub async fn test_work_without_a_retry_is_a_first_try<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    begin(&store, Ack::first("a").scheduling(activity("a", 2)).scheduling(activity("a", 3)), &[]).await;
    store.post_work(activity("a", 9)).await;
    let leases = lease_all_jobs(&store, jobs(&store, 10)).await;
    let expected = [2, 3, 9].map(|id| (id, StepTry::first(id)));
    assert_eq!(steps(&leases), expected);
}

/// A fused step keeps it like a plain turn: most retries are scheduled by one.
pub async fn test_fused_step_keeps_which_try_it_is<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let incarnation = begin(&store, Ack::first("a").scheduling(activity("a", 2)), &[]).await;
    let first = lease_job(&store).await;
    commit(&store, after(&first, incarnation, 2, &[retry(4, 2, 2)])).await;
    let second = lease_job(&store).await;
    assert_eq!(steps(std::slice::from_ref(&second)), [(4, step(2, 2))]);
    commit(&store, after(&second, incarnation, 4, &[retry(6, 2, 3)])).await;
    assert_eq!(steps(&[lease_job(&store).await]), [(6, step(2, 3))]);
}

/// A call that waits while the turn is committed is told, too: a store may lease what a commit makes at once.
pub async fn test_call_that_waits_is_told_which_try_it_is<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.post(start("a")).await;
    let leased = lease(&store, "a").await;
    let mut turn = under(&leased, Ack::first("a").scheduling(activity("a", 4)));
    turn.turn.retries = vec![retry(4, 2, 2)];
    let waits = LeaseWork { wait: Duration::from_secs(30), ..jobs(&store, 1) };
    let (work, _) = join(store.lease_work(waits), commit(&store, turn)).await;
    assert_eq!(steps(&work.expect("the call waits for work")), [(4, step(2, 2))]);
}

/// Commits the first turn of a new instance, with these retries. Says its incarnation.
async fn begin(store: &Subject<'_>, first: Ack, retries: &[Retry]) -> u64 {
    store.post(start(&first.instance)).await;
    let leased = lease(store, &first.instance).await;
    let mut turn = under(&leased, first);
    turn.turn.retries = retries.to_vec();
    commit(store, turn).await;
    leased.position.incarnation
}

/// A fused step that takes in the failure of an activity behind event `last`, and schedules the next one.
fn after(job: &WorkLease, incarnation: u64, last: u64, retries: &[Retry]) -> TurnCommit {
    let failed = EventKind::ActivityCompleted { result: "done".to_owned() };
    let turn = Ack::of("a", 1).event(last + 1, failed).scheduling(activity("a", last + 2));
    let expected = Position { incarnation, execution_id: 1, last_event_id: last };
    let mut commit = TurnCommit {
        instance: "a".to_owned(),
        authority: Authority::FinishedWork { token: job.token.clone(), expected },
        consumed: Consumed::All,
        left: Vec::new(),
        turn: turn_of(turn),
    };
    commit.turn.retries = retries.to_vec();
    commit
}

fn step(first_event_id: u64, number: u32) -> StepTry {
    StepTry { first_event_id, number }
}

fn retry(event_id: u64, first_event_id: u64, number: u32) -> Retry {
    Retry { event_id, step: step(first_event_id, number) }
}

/// Activity and try of each lease, in the order of the activities.
fn steps(leases: &[WorkLease]) -> Vec<(u64, StepTry)> {
    let mut steps: Vec<_> = crate::batches::calls::activities(leases)
        .into_iter()
        .zip(leases.iter().map(|lease| lease.step))
        .collect();
    steps.sort();
    steps
}
