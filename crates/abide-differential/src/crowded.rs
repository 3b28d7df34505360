//! What takes more than chance has time for: more instances than a transaction deals with, or a page of candidates holds.

use std::time::Duration;

use abide_model::{Event, EventKind, PruneOptions, Timestamp, WorkItem};
use abide_provider::{
    Consumed, InstanceFilter, InstanceLease, InstanceOrder, InstanceQuery, OrphanFilter, ParentLink,
    Retention, Turn,
};

use crate::admin::{DeleteOp, LookOp};
use crate::op::{Commit, InstanceOp, MailOp, Op, Right, Token};
use crate::pair::{Pair, SEED_OF_SCENES};
use crate::subject::Subject;

/// More than are looked for at once.
const ROOTS: usize = 1_080;

/// So many roots have a child; the others have none.
const PARENTS: usize = 1_030;

/// Both stores, full of families.
struct Crowd<'a>(Pair<'a>);

/// What becomes of an execution.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Runs,
    Completes,
    /// And goes on.
    Continues,
}

impl<'a> Crowd<'a> {
    /// Roots that have completed, and children that run: all at the same moment.
    fn new(subject: &'a mut dyn Subject) -> Self {
        let mut crowd = Self(Pair::open(subject, SEED_OF_SCENES));
        crowd.step(&Op::Mail(MailOp::Enqueue { item: start("first", None), delay: None }));
        let starts: Vec<WorkItem> = (0..ROOTS).map(|number| start(&root(number), None)).collect();
        crowd.take_turns(|_| (Fate::Runs, starts.clone()));
        crowd.take_turns(|lease| {
            let number: usize = lease.instance[1..].parse().unwrap();
            let child = start(&format!("c{number}"), Some(&lease.instance));
            (Fate::Completes, if number < PARENTS { vec![child] } else { Vec::new() })
        });
        crowd.take_turns(|_| (Fate::Runs, Vec::new()));
        crowd
    }

    /// Does a step to both, which must not differ, and returns the answer.
    fn step(&mut self, op: &Op) -> String {
        let done = self.0.step(op);
        assert!(done.differences.is_empty(), "{:#?}", done.differences);
        done.memory.text
    }

    /// Leases everybody who has mail, and commits a turn of each.
    fn take_turns(&mut self, decide: impl Fn(&InstanceLease) -> (Fate, Vec<WorkItem>)) {
        let before = self.0.world.issued.len();
        let lease_for = Duration::from_secs(30);
        self.step(&Op::Instance(InstanceOp::Lease {
            limit: 5_000,
            lease_for,
            capabilities: None,
            serving: None,
        }));
        let commits = (before..self.0.world.issued.len()).map(|order| {
            let lease = self.0.world.issued[order].memory.lease.as_ref().expect("it was leased");
            let (fate, mail) = decide(lease);
            Commit {
                instance: lease.instance.clone(),
                right: Right::Lease(Token::Issued(order)),
                consumed: Consumed::All,
                turn: turn(lease, fate, mail),
            }
        });
        let commits: Vec<Commit> = commits.collect();
        assert!(!commits.is_empty(), "nobody has mail");
        self.step(&Op::Instance(InstanceOp::Commit(commits)));
    }

    /// Sends something to every child.
    fn wake_children(&mut self) {
        for number in 0..PARENTS {
            let item = WorkItem::ExternalRaised {
                instance: format!("c{number}"),
                name: "go".to_owned(),
                data: String::new(),
            };
            // One by one, but only the last is compared: all of them would take minutes.
            self.0.call_without_looking(&Op::Mail(MailOp::Enqueue { item, delay: None }));
        }
        self.step(&Op::Advance(Duration::ZERO));
    }

    fn instances(&self) -> usize {
        self.0.world.dump.instances.len()
    }
}

fn root(number: usize) -> String {
    format!("r{number:04}")
}

fn start(instance: &str, parent: Option<&str>) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: "Order".to_owned(),
        input: String::new(),
        version: None,
        parent_instance: parent.map(ToOwned::to_owned),
        parent_id: parent.map(|_| 1),
        parent_execution_id: parent.map(|_| 1),
        execution_id: 1,
    }
}

/// One event, and perhaps the end.
fn turn(lease: &InstanceLease, fate: Fate, mut mail: Vec<WorkItem>) -> Turn {
    let continues =
        lease.messages.iter().any(|message| matches!(message.item, WorkItem::ContinueAsNew { .. }));
    let position = lease.position;
    let (execution_id, last) = match (position.execution_id, continues) {
        (0, _) => (1, 0),
        (current, true) => (current + 1, 0),
        (current, false) => (current, position.last_event_id),
    };
    let kind = if last == 0 { started(lease.parent.as_ref()) } else { EventKind::KeyValuesCleared };
    let event = Event::recorded(last + 1, &lease.instance, execution_id, Timestamp::EPOCH, kind);
    let status = match fate {
        Fate::Runs => None,
        Fate::Completes => Some("Completed"),
        Fate::Continues => Some("ContinuedAsNew"),
    };
    if fate == Fate::Continues {
        mail.push(continue_as_new(&lease.instance));
    }
    let mut turn = Turn { execution_id, events: vec![event], orchestrator_items: mail, ..Turn::default() };
    turn.metadata.status = status.map(ToOwned::to_owned);
    turn
}

fn started(parent: Option<&ParentLink>) -> EventKind {
    EventKind::OrchestrationStarted {
        name: "Order".to_owned(),
        version: "1.0.0".to_owned(),
        input: String::new(),
        parent_instance: parent.map(|parent| parent.instance.clone()),
        parent_id: parent.and_then(|parent| parent.event_id),
        parent_execution_id: parent.and_then(|parent| parent.execution_id),
        carry_forward_events: None,
        initial_custom_status: None,
    }
}

fn continue_as_new(instance: &str) -> WorkItem {
    WorkItem::ContinueAsNew {
        instance: instance.to_owned(),
        orchestration: "Order".to_owned(),
        input: String::new(),
        version: None,
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: Vec::new(),
        initial_custom_status: None,
    }
}

fn all() -> InstanceFilter {
    InstanceFilter::default()
}

/// Reads all instances, in pages that end between instances of one moment.
fn read_pages(crowd: &mut Crowd<'_>) {
    for order in [InstanceOrder::NewestFirst, InstanceOrder::OldestFirst, InstanceOrder::ById] {
        let query = Box::new(InstanceQuery::new().order(order).limit(149));
        crowd.step(&Op::Look(LookOp::Pages { query, most: 100 }));
    }
}

/// A bulk deletion looks behind those that must stay.
pub fn a_bulk_deletion_looks_behind_those_that_must_stay(subject: &mut dyn Subject) {
    let mut crowd = Crowd::new(subject);
    read_pages(&mut crowd);
    let before = crowd.instances();
    crowd.step(&Op::Delete(DeleteOp::Bulk(InstanceFilter { limit: Some(5), ..all() })));
    assert_eq!(before - crowd.instances(), 5, "the first thousand have children that run");
    let retention = Retention { keep_for: Duration::ZERO, limit: 9, host_time: Timestamp::EPOCH };
    crowd.step(&Op::Delete(DeleteOp::Retention(retention)));
    assert_eq!(before - crowd.instances(), 5, "nothing ended before this moment");
    crowd.step(&Op::Advance(Duration::from_millis(1)));
    crowd.step(&Op::Delete(DeleteOp::Retention(retention)));
    assert_eq!(before - crowd.instances(), 14);
    let ids = (0..ROOTS).rev().map(root).collect();
    let named = InstanceFilter { instance_ids: Some(ids), limit: Some(20), ..all() };
    crowd.step(&Op::Delete(DeleteOp::Bulk(named)));
    assert_eq!(before - crowd.instances(), 34);
    crowd.step(&Op::Delete(DeleteOp::Bulk(all())));
    assert_eq!(before - crowd.instances(), ROOTS - PARENTS);
}

/// Large trees are deleted in several parts.
pub fn large_trees_are_deleted_in_several_parts(subject: &mut dyn Subject) {
    const TREES: usize = 40;
    let mut crowd = Crowd(Pair::open(subject, SEED_OF_SCENES));
    crowd.step(&Op::Mail(MailOp::Enqueue { item: start("first", None), delay: None }));
    let starts: Vec<WorkItem> = (0..TREES).map(|number| start(&root(number), None)).collect();
    crowd.take_turns(|_| (Fate::Runs, starts.clone()));
    let children = |parent: &str| {
        (0..12).map(|number| start(&format!("{parent}.{number}"), Some(parent))).collect::<Vec<_>>()
    };
    crowd.take_turns(|lease| (Fate::Completes, children(&lease.instance)));
    crowd.take_turns(|_| (Fate::Completes, Vec::new()));
    crowd.step(&Op::Delete(DeleteOp::Bulk(InstanceFilter { limit: Some(30), ..all() })));
    assert_eq!(crowd.instances(), 1 + 10 * 13);
    let ids = (0..TREES).map(root).collect();
    crowd.step(&Op::Delete(DeleteOp::Bulk(InstanceFilter { instance_ids: Some(ids), ..all() })));
    assert_eq!(crowd.instances(), 1);
}

/// Orphans and executions are removed up to a thousand.
pub fn orphans_and_executions_are_removed_up_to_a_thousand(subject: &mut dyn Subject) {
    let mut crowd = Crowd::new(subject);
    crowd.wake_children();
    crowd.take_turns(|_| (Fate::Continues, Vec::new()));
    let before = crowd.instances();
    crowd.step(&Op::Delete(DeleteOp::Bulk(all())));
    assert_eq!(
        before - crowd.instances(),
        ROOTS - PARENTS,
        "children between two executions keep their roots"
    );
    crowd.take_turns(|_| (Fate::Completes, Vec::new()));
    let prune = Op::Delete(DeleteOp::PruneBulk { filter: all(), options: PruneOptions::default() });
    assert!(crowd.step(&prune).contains("executions_deleted: 1000,"));
    assert!(crowd.step(&prune).contains("executions_deleted: 30,"));
    let before = crowd.instances();
    let orphans = Op::Delete(DeleteOp::Orphans(OrphanFilter::default()));
    crowd.step(&orphans);
    assert_eq!(before - crowd.instances(), 1_000);
    crowd.step(&orphans);
    assert_eq!(before - crowd.instances(), PARENTS);
}
