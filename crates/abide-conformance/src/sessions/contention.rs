//! Workers that ask at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use abide_model::WorkItem;
use abide_provider::{Provider, TagFilter};

use super::workers::{Worker, claim_empty, finish, post_in};
use crate::ProviderFactory;
use crate::support::{Job, Subject, beside, worker};

const WORKERS: usize = 6;

/// Long enough for everybody to have asked.
fn lock(store: &Subject<'_>) -> Duration {
    store.lock() * 4
}

fn owner(number: usize) -> String {
    format!("owner {number}")
}

/// Takes one activity as this owner, if there is one for it.
async fn take_one(store: Arc<dyn Provider>, owner: String, lock: Duration) -> Option<Job> {
    let session = worker(&owner, lock);
    let fetched =
        store.fetch_work_item(lock, Duration::ZERO, Some(&session), &TagFilter::default_only()).await;
    let fetched = fetched.unwrap_or_else(|error| panic!("{owner} could not fetch: {error}"));
    fetched.map(|(item, token, attempt)| Job { item, token, attempt })
}

/// More than any test has to take: where what is fetched is not leased, there is no end of it.
const TOO_MANY: usize = 200;

/// Takes activities as this owner until there are none for it.
async fn take_all(store: Arc<dyn Provider>, owner: String, lock: Duration) -> Vec<Job> {
    let mut jobs = Vec::new();
    while jobs.len() < TOO_MANY
        && let Some(job) = take_one(Arc::clone(&store), owner.clone(), lock).await
    {
        jobs.push(job);
    }
    jobs
}

/// Every worker asks once, all at the same time: what each got.
async fn all_ask_once(store: &Subject<'_>) -> Vec<Option<Job>> {
    let asking: Vec<_> =
        (0..WORKERS).map(|number| beside(take_one(store.shared(), owner(number), lock(store)))).collect();
    let mut answers = Vec::new();
    for answer in asking {
        answers.push(answer.await.expect("a fetch does not panic"));
    }
    answers
}

/// Exactly one worker got something; says which one, and what.
fn only_winner(answers: Vec<Option<Job>>) -> (usize, Job) {
    let got: Vec<_> =
        answers.into_iter().enumerate().filter_map(|(number, job)| job.map(|job| (number, job))).collect();
    let owners: Vec<_> = got.iter().map(|(number, job)| (owner(*number), job.id())).collect();
    assert_eq!(owners.len(), 1, "one session has one owner, but these got activities of it: {owners:?}");
    got.into_iter().next().expect("there is one")
}

/// Of many workers that ask for a free session at the same time, one gets it; the others get nothing of it.
pub async fn test_concurrent_session_claim_only_one_wins(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    for round in 0..10 {
        let session = format!("session {round}");
        let first = 1 + round * 100;
        post_in(&store, &session, first..first + 8).await;

        let (number, job) = only_winner(all_ask_once(&store).await);
        assert_eq!(job.attempt, 1, "those who lost leave no attempt behind");
        let name = owner(number);
        let winner = Worker::new(&store, &name);
        finish(&store, &job).await;
        for id in (first..first + 8).filter(|id| *id != job.id()) {
            let job = winner.take(id).await;
            assert_eq!(job.attempt, 1, "those who lost leave no attempt behind");
            finish(&store, &job).await;
        }
    }
}

/// Of many workers that ask for an expired session at the same time, one takes it over.
pub async fn test_concurrent_takeover_of_expired_session_only_one_wins(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    let former = Worker::new(&store, "former");
    for (session, first) in [("s", 10), ("t", 20), ("u", 30)] {
        claim_empty(&store, former, session, first).await;
        store.expire_leases().await;
        post_in(&store, session, first + 1..first + 9).await;

        let (number, job) = only_winner(all_ask_once(&store).await);
        former.finds_nothing("the session was taken over").await;
        let name = owner(number);
        let renewed = Worker::new(&store, &name).renew_sessions(store.lock()).await;
        assert!(renewed >= 1, "the session belongs to who got an activity of it");
        finish(&store, &job).await;
        let rest = take_all(store.shared(), owner(number), lock(&store)).await;
        assert_eq!(rest.len(), 7, "its owner gets the rest");
        for job in &rest {
            finish(&store, job).await;
        }
    }
}

/// Many workers, many sessions, all at once: every activity is taken once, and each session by one owner alone.
pub async fn test_concurrent_claims_of_many_sessions_keep_each_with_one_owner(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    for id in 1..=60 {
        post_in(&store, &format!("session {}", id % 12), [id]).await;
    }
    let taking: Vec<_> =
        (0..WORKERS).map(|number| beside(take_all(store.shared(), owner(number), lock(&store)))).collect();

    let mut taken = BTreeSet::new();
    let mut owners: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (number, jobs) in taking.into_iter().enumerate() {
        for job in jobs.await.expect("a fetch does not panic") {
            assert!(taken.insert(job.id()), "activity {} was taken twice", job.id());
            let WorkItem::ActivityExecute { session_id: Some(session), .. } = job.item else {
                panic!("this is no activity of a session: {:?}", job.item);
            };
            owners.entry(session).or_default().insert(number);
        }
    }
    assert!(owners.values().all(|of| of.len() == 1), "a session has more than one owner: {owners:?}");

    // Whoever lost a race may have gone away empty-handed; the owners come again for the rest.
    for number in 0..WORKERS {
        for job in take_all(store.shared(), owner(number), lock(&store)).await {
            assert!(taken.insert(job.id()), "activity {} was taken twice", job.id());
        }
    }
    assert_eq!(taken.len(), 60, "every activity is taken");
}

/// Callers that share an owner share out its session: every activity goes to one of them.
pub async fn test_concurrent_fetches_of_one_owner_share_out_its_session(factory: &dyn ProviderFactory) {
    let store = Subject::new(factory).await;
    post_in(&store, "s", 1..=40).await;
    let taking: Vec<_> =
        (0..WORKERS).map(|_| beside(take_all(store.shared(), owner(0), lock(&store)))).collect();

    let mut taken = BTreeSet::new();
    for jobs in taking {
        for job in jobs.await.expect("a fetch does not panic") {
            assert!(taken.insert(job.id()), "activity {} was taken twice", job.id());
            assert_eq!(job.attempt, 1, "it was taken once");
        }
    }
    for job in take_all(store.shared(), owner(0), lock(&store)).await {
        assert!(taken.insert(job.id()), "activity {} was taken twice", job.id());
    }
    assert_eq!(taken, (1..=40).collect(), "every activity is taken");
}
