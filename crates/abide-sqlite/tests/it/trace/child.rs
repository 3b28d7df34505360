//! What the traced children do.

use std::path::Path;
use std::time::Duration;

use abide_model::WorkItem;
use abide_provider::{
    Enqueue, FinishedWork, InstanceLease, LeaseInstances, LeaseWork, Provider, RequestKey, Start, TagFilter,
    WorkLease,
};
use abide_sqlite::SqliteProvider;
use futures::executor::block_on;
use futures::future::{join, try_join_all};

use crate::support::folder::url;
use crate::support::load::{LONG_CHAIN, LONG_CHAIN_ACTIVITIES, completion_of, fused_turn_of, start, turn_of};
use crate::support::process::{Journal, PATIENCE, is_child, told};

pub(super) const ONE_BY_ONE: &str = "trace::child::calls_one_by_one";
pub(super) const MANY: &str = "trace::child::many_callers";
pub(super) const PLAIN: &str = "trace::child::plain_steps";
pub(super) const FUSED: &str = "trace::child::fused_steps";

pub(super) const ROUNDS: usize = 10;
pub(super) const CALLERS: usize = 16;

/// Longer than any test.
const LEASE: Duration = Duration::from_secs(600);

/// How long a lease call waits in the store: until there is something.
const WAIT: Duration = PATIENCE;

struct Child {
    store: SqliteProvider,
    journal: Journal,
}

/// What the child of this name works with; nothing in any other process.
fn only_in(child: &str) -> Option<Child> {
    if !is_child(child) {
        return None;
    }
    let folder = told("ABIDE_FOLDER");
    let store = block_on(SqliteProvider::new(&url(&Path::new(&folder).join("data.db")), None)).unwrap();
    let journal = Journal::append_to(&Path::new(&folder).join("journal"));
    journal.note("open");
    Some(Child { store, journal })
}

#[test]
#[ignore = "the child of another test"]
fn calls_one_by_one() {
    let Some(child) = only_in(ONE_BY_ONE) else { return };
    for round in 0..5 {
        block_on(child.every_call(round));
    }
    child.journal.note("end");
}

#[test]
#[ignore = "the child of another test"]
fn many_callers() {
    let Some(child) = only_in(MANY) else { return };
    for round in 0..ROUNDS {
        let starts = (0..CALLERS).map(|caller| {
            let item = start(&format!("i-{round}-{caller}"));
            child.store.enqueue_for_orchestrator(item, None)
        });
        block_on(try_join_all(starts)).unwrap();
        child.journal.note(&format!("together {round}"));
    }
    child.journal.note("end");
}

#[test]
#[ignore = "the child of another test"]
fn plain_steps() {
    let Some(child) = only_in(PLAIN) else { return };
    block_on(async {
        child.store.enqueue_for_orchestrator(start(LONG_CHAIN), None).await.unwrap();
        join(child.turns(), child.work()).await;
    });
    child.journal.note("end");
}

#[test]
#[ignore = "the child of another test"]
fn fused_steps() {
    let Some(child) = only_in(FUSED) else { return };
    block_on(async {
        child.store.enqueue_for_orchestrator(start(LONG_CHAIN), None).await.unwrap();
        let lease = child.lease_instances(Duration::ZERO).await.pop().unwrap();
        let incarnation = lease.position.incarnation;
        let (leases, ()) = join(child.lease_work(WAIT), child.commit(lease)).await;
        child.fused_work(leases, incarnation).await;
    });
    child.journal.note("end");
}

impl Child {
    /// Every call that writes, each answered before the next.
    async fn every_call(&self, round: u8) {
        let note = |line: &str| self.journal.note(line);
        let instance = format!("chain-{round}");
        if round.is_multiple_of(2) {
            self.store.enqueue_for_orchestrator(start(&instance), None).await.unwrap();
        } else {
            let key = RequestKey([round + 100; 16]);
            let request = Enqueue { item: start(&instance), delay: None, key };
            assert_eq!(self.store.start_once(request).await.unwrap(), Start::Created);
        }
        note("durable start");
        let lease = self.lease_instances(Duration::ZERO).await.pop().unwrap();
        note("lease instance");
        self.store.renew_orchestration_item_lock(&lease.token, LEASE * 2).await.unwrap();
        note("lease renewed");
        self.commit(lease).await;
        note("durable turn");
        let work = self.lease_work(Duration::ZERO).await.pop().unwrap();
        note("lease work");
        self.store.renew_work_item_lock(&work.token, LEASE * 2).await.unwrap();
        note("lease renewed");
        self.store.abandon_work_item(&work.token, None, true).await.unwrap();
        note("durable abandon");
        let work = self.lease_work(Duration::ZERO).await.pop().unwrap();
        note("lease work");
        self.finish(&work).await;
        note("durable finish");
        let lease = self.lease_instances(Duration::ZERO).await.pop().unwrap();
        note("lease instance");
        let incarnation = lease.position.incarnation;
        self.store.abandon_orchestration_item(&lease.token, None, true).await.unwrap();
        note("durable abandon");
        let lease = self.lease_instances(Duration::ZERO).await.pop().unwrap();
        note("lease instance");
        self.commit(lease).await;
        note("durable turn");
        let work = self.lease_work(Duration::ZERO).await.pop().unwrap();
        note("lease work");
        self.fuse(&work, incarnation).await;
        note("durable fused");
        let item = WorkItem::ExternalRaised { instance, name: "n".to_owned(), data: "d".to_owned() };
        let key = RequestKey([round; 16]);
        self.store.enqueue_once(Enqueue { item, delay: None, key }).await.unwrap();
        note("durable once");
        let work = self.lease_work(Duration::ZERO).await.pop().unwrap();
        note("lease work");
        let finished = FinishedWork { token: work.token, completion: None };
        self.store.finish_work(vec![finished]).await.pop().unwrap().unwrap();
        note("durable removal");
        // Nobody takes the last message in: it would be leased by the next round.
        let lease = self.lease_instances(Duration::ZERO).await.pop().unwrap();
        note("lease instance");
        self.store.abandon_orchestration_item(&lease.token, Some(LEASE), true).await.unwrap();
        note("durable delay");
    }

    /// As in a runtime that has free slots: the next lease call is under way while this lease is being dealt with.
    async fn turns(&self) {
        let mut leases = self.lease_instances(WAIT).await;
        while let Some(lease) = leases.pop() {
            let step = lease.position.last_event_id / 3;
            if step == LONG_CHAIN_ACTIVITIES {
                self.commit(lease).await;
                break;
            }
            (leases, ()) = join(self.lease_instances(WAIT), self.commit(lease)).await;
            self.note_step(step);
        }
    }

    async fn work(&self) {
        let mut leases = self.lease_work(WAIT).await;
        while let Some(work) = leases.pop() {
            if activity_of(&work).1 / 3 == LONG_CHAIN_ACTIVITIES {
                self.finish(&work).await;
                break;
            }
            (leases, ()) = join(self.lease_work(WAIT), self.finish(&work)).await;
        }
    }

    async fn fused_work(&self, mut leases: Vec<WorkLease>, incarnation: u64) {
        while let Some(work) = leases.pop() {
            let step = activity_of(&work).1 / 3;
            if step == LONG_CHAIN_ACTIVITIES {
                self.fuse(&work, incarnation).await;
                break;
            }
            (leases, ()) = join(self.lease_work(WAIT), self.fuse(&work, incarnation)).await;
            self.note_step(step);
        }
    }

    fn note_step(&self, step: u64) {
        let (transactions, syncs) = (self.store.transactions(), self.store.synced_commits());
        self.journal.note(&format!("step {step} {transactions} {syncs}"));
    }

    async fn lease_instances(&self, wait: Duration) -> Vec<InstanceLease> {
        let request = LeaseInstances { limit: 1, lease_for: LEASE, wait, capabilities: None, serving: None };
        self.store.lease_instances(request).await.unwrap()
    }

    async fn lease_work(&self, wait: Duration) -> Vec<WorkLease> {
        let tags = TagFilter::DefaultOnly;
        self.store
            .lease_work(LeaseWork { limit: 1, lease_for: LEASE, wait, session: None, tags, serving: None })
            .await
            .unwrap()
    }

    async fn commit(&self, lease: InstanceLease) {
        let turn = turn_of(&lease).unwrap();
        self.store.commit_turns(vec![turn]).await.pop().unwrap().unwrap();
    }

    async fn fuse(&self, work: &WorkLease, incarnation: u64) {
        let (instance, id) = activity_of(work);
        let turn = fused_turn_of(work, instance, id, incarnation);
        self.store.commit_turns(vec![turn]).await.pop().unwrap().unwrap();
    }

    async fn finish(&self, work: &WorkLease) {
        let (instance, id) = activity_of(work);
        let finished =
            FinishedWork { token: work.token.clone(), completion: Some(completion_of(instance, id)) };
        self.store.finish_work(vec![finished]).await.pop().unwrap().unwrap();
    }
}

fn activity_of(work: &WorkLease) -> (&str, u64) {
    if let WorkItem::ActivityExecute { instance, id, .. } = &work.item {
        (instance, *id)
    } else {
        panic!("{work:?}")
    }
}
