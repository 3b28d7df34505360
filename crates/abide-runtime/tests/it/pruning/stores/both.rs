//! Both stores, and how a thing is done on them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_memory::InMemoryProvider;
use abide_model::{Clock, ErrorDetails, Event, EventKind, Sleep, Timestamp, WorkItem};
use abide_provider::{
    Authority, Consumed, InstanceFilter, InstanceLease, LeaseInstances, Provider, Retention, Turn, TurnCommit,
};
use abide_sim::SeededEntropy;
use abide_sqlite::SqliteProvider;
use futures::executor::block_on;

use super::model::{Model, Seen};
use super::{BEGIN, Ending, MINUTE, NAMES, Op, Rule, orphans};

/// Longer than anything happens.
const LEASE: Duration = Duration::from_secs(3_600);

/// Time stands still until it is told to pass. Nobody waits on it.
#[derive(Debug, Clone)]
struct Time(Arc<Mutex<u64>>);

impl Clock for Time {
    fn wall(&self) -> Timestamp {
        Timestamp::from_millis(*self.0.lock().unwrap())
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(*self.0.lock().unwrap())
    }

    fn sleep_until(&self, _: Duration) -> Sleep {
        Box::pin(std::future::pending())
    }
}

pub(super) struct Both {
    time: Time,
    stores: [(&'static str, Arc<dyn Provider>); 2],
}

impl Both {
    pub(super) fn open() -> Self {
        let time = Time(Arc::new(Mutex::new(BEGIN)));
        let clock: Arc<dyn Clock> = Arc::new(time.clone());
        let memory = InMemoryProvider::with_seams(clock.clone(), Arc::new(SeededEntropy::new(1)));
        let sqlite = block_on(SqliteProvider::builder("sqlite::memory:").clock(clock).open()).unwrap();
        Self { time, stores: [("memory", Arc::new(memory)), ("SQLite", Arc::new(sqlite))] }
    }

    /// Does what the model has done.
    pub(super) fn apply(&self, op: &Op, model: &Model) {
        *self.time.0.lock().unwrap() = model.now;
        for (_, store) in &self.stores {
            block_on(Site { store: &**store, model }.apply(op));
        }
    }

    /// What each of them has.
    pub(super) fn look(&self) -> Vec<(&'static str, Seen)> {
        self.stores.iter().map(|(name, store)| (*name, block_on(look(&**store)))).collect()
    }
}

async fn look(store: &dyn Provider) -> Seen {
    let admin = store.as_management_capability().unwrap();
    let mut seen = Seen::new();
    for name in 0..NAMES {
        for id in admin.list_executions(&id_of(name)).await.unwrap() {
            let status = admin.get_execution_info(&id_of(name), id).await.unwrap().status;
            let known = ["Running", "Completed", "Failed", "ContinuedAsNew"];
            seen.insert((name, id), known.into_iter().find(|known| *known == status).unwrap());
        }
    }
    seen
}

fn id_of(name: usize) -> String {
    format!("i{name}")
}

/// One of them, and what it has come to.
struct Site<'a> {
    store: &'a dyn Provider,
    model: &'a Model,
}

impl Site<'_> {
    async fn apply(&self, op: &Op) {
        let (admin, now) = (self.store.as_management_capability().unwrap(), self.model.now);
        match *op {
            Op::Start(name) => self.start(name, None).await,
            Op::Child(parent, child) => self.start(child, Some((parent, self.model.current(parent)))).await,
            Op::Continue(name, rule) => self.go_on(name, rule).await,
            Op::Resume(name) => self.resume(name).await,
            Op::End(name, ending) => self.end(name, ending).await,
            Op::Pass(_) => {}
            Op::Prune(name, rule) => {
                admin.prune_executions(&id_of(name), rule.options(now)).await.unwrap();
            }
            Op::PruneAll(rule) => {
                admin.prune_executions_bulk(InstanceFilter::default(), rule.options(now)).await.unwrap();
            }
            Op::Retain(age) => {
                let keep_for = Duration::from_millis(age * MINUTE);
                let host_time = Timestamp::from_millis(now);
                admin.enforce_retention(Retention { keep_for, limit: 100, host_time }).await.unwrap();
            }
            Op::Orphans(age) => {
                admin.cleanup_orphaned_instances(orphans(age, now)).await.unwrap();
            }
        }
    }

    async fn send(&self, item: WorkItem) {
        self.store.enqueue_for_orchestrator(item, None).await.unwrap();
    }

    /// A lease on this instance; whatever else could be leased is given back.
    async fn lease(&self, name: usize) -> InstanceLease {
        let request = LeaseInstances {
            limit: 100,
            lease_for: LEASE,
            wait: Duration::ZERO,
            capabilities: None,
            serving: None,
        };
        let mut mine = None;
        for lease in self.store.lease_instances(request).await.unwrap() {
            if lease.instance == id_of(name) {
                mine = Some(lease);
            } else {
                self.store.abandon_orchestration_item(&lease.token, None, true).await.unwrap();
            }
        }
        mine.unwrap_or_else(|| panic!("nothing to lease for {name}"))
    }

    async fn commit(&self, name: usize, turn: Turn) {
        let lease = self.lease(name).await;
        let commit = TurnCommit {
            instance: lease.instance.clone(),
            authority: Authority::Lease { token: lease.token },
            consumed: Consumed::All,
            left: Vec::new(),
            turn,
        };
        for committed in self.store.commit_turns(vec![commit]).await {
            committed.unwrap();
        }
    }

    fn turn(&self, name: usize, execution: u64, event: u64, kind: EventKind) -> Turn {
        let now = Timestamp::from_millis(self.model.now);
        Turn::of_past(execution, vec![Event::recorded(event, id_of(name), execution, now, kind)])
    }

    async fn start(&self, name: usize, parent: Option<(usize, u64)>) {
        self.send(WorkItem::StartOrchestration {
            instance: id_of(name),
            orchestration: "It".to_owned(),
            input: String::new(),
            version: Some("1.0.0".to_owned()),
            parent_instance: parent.map(|(parent, _)| id_of(parent)),
            parent_id: parent.map(|_| 9),
            parent_execution_id: parent.map(|(_, execution)| execution),
            execution_id: 1,
        })
        .await;
        self.commit(name, self.turn(name, 1, 1, started(parent))).await;
    }

    /// The current execution of what ran is over, in the model.
    async fn go_on(&self, name: usize, rule: Option<Rule>) {
        self.send(signal(name)).await;
        let mut turn = self.turn(
            name,
            self.model.current(name),
            2,
            EventKind::OrchestrationContinuedAsNew { input: String::new() },
        );
        turn.prune = rule.map(|rule| rule.options(self.model.now));
        turn.orchestrator_items.push(continue_as_new(name));
        self.commit(name, turn).await;
    }

    async fn resume(&self, name: usize) {
        let began = started(self.model.parent(name));
        self.commit(name, self.turn(name, self.model.current(name), 1, began)).await;
    }

    async fn end(&self, name: usize, ending: Ending) {
        self.send(signal(name)).await;
        let kind = match ending {
            Ending::Completed => EventKind::OrchestrationCompleted { output: String::new() },
            Ending::Failed => EventKind::OrchestrationFailed { details: failure() },
        };
        self.commit(name, self.turn(name, self.model.current(name), 2, kind)).await;
    }
}

fn failure() -> ErrorDetails {
    ErrorDetails::Application {
        kind: abide_model::AppErrorKind::OrchestrationFailed,
        message: "no".to_owned(),
        retryable: false,
    }
}

fn signal(name: usize) -> WorkItem {
    WorkItem::ExternalRaised { instance: id_of(name), name: "go".to_owned(), data: String::new() }
}

fn continue_as_new(name: usize) -> WorkItem {
    WorkItem::ContinueAsNew {
        instance: id_of(name),
        orchestration: "It".to_owned(),
        input: String::new(),
        version: None,
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: Vec::new(),
        initial_custom_status: None,
    }
}

fn started(parent: Option<(usize, u64)>) -> EventKind {
    EventKind::OrchestrationStarted {
        name: "It".to_owned(),
        version: "1.0.0".to_owned(),
        input: String::new(),
        parent_instance: parent.map(|(parent, _)| id_of(parent)),
        parent_id: parent.map(|_| 9),
        parent_execution_id: parent.map(|(_, execution)| execution),
        carry_forward_events: None,
        initial_custom_status: None,
    }
}
