//! What chance does not get to: batches at their limits, and rows that nobody can ever read.

use std::time::Duration;

use abide_model::WorkItem;
use abide_provider::{BATCH_BYTES, BATCH_MESSAGES, Consumed, MessageId, TagFilter, Turn};

use crate::op::{Commit, InstanceOp, MailOp, Op, Right, Token, WorkOp};
use crate::pair::{Pair, SEED_OF_SCENES};
use crate::subject::{Damage, Subject};

const LEASE: Duration = Duration::from_secs(30);

/// Both stores, and how many leases they have handed out.
struct Play<'a>(Pair<'a>);

impl<'a> Play<'a> {
    fn new(subject: &'a mut dyn Subject) -> Self {
        Self(Pair::open(subject, SEED_OF_SCENES))
    }

    /// Does a step to both, which must not differ; says how many leases were handed out.
    fn step(&mut self, op: &Op) -> usize {
        let done = self.0.step(op);
        assert!(done.differences.is_empty(), "{:#?}", done.differences);
        done.memory.leases.len()
    }

    fn enqueue(&mut self, item: WorkItem) {
        self.step(&Op::Mail(MailOp::Enqueue { item, delay: None }));
    }

    /// Leases one instance and says how many messages came with it.
    fn lease(&mut self) -> usize {
        let leased =
            self.step(&Op::Instance(InstanceOp::Lease { limit: 1, lease_for: LEASE, capabilities: None }));
        assert_eq!(leased, 1, "there is something to lease");
        let lease = self.0.world.issued.last().and_then(|issued| issued.memory.lease.as_ref());
        lease.map_or(0, |lease| lease.messages.len())
    }

    /// Commits under the last lease.
    fn commit(&mut self, consumed: Consumed, turn: Turn) {
        let order = self.0.world.issued.len() - 1;
        let instance = self.0.world.issued[order].memory.instance.clone();
        let right = Right::Lease(Token::Issued(order));
        self.step(&Op::Instance(InstanceOp::Commit(vec![Commit { instance, right, consumed, turn }])));
    }
}

fn start(instance: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: "Order".to_owned(),
        input: String::new(),
        version: None,
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    }
}

fn signal(instance: &str, data: String) -> WorkItem {
    WorkItem::ExternalRaised { instance: instance.to_owned(), name: "go".to_owned(), data }
}

/// A batch has so many messages and no more.
pub fn a_batch_has_so_many_messages_and_no_more(subject: &mut dyn Subject) {
    let mut play = Play::new(subject);
    play.enqueue(start("a"));
    play.lease();
    let signals = |count: usize| (0..count).map(|number| signal("b", number.to_string()));
    let mail = signals(BATCH_MESSAGES / 2).chain([start("b")]).chain(signals(BATCH_MESSAGES / 2 + 7));
    let turn = Turn { execution_id: 1, orchestrator_items: mail.collect(), ..Turn::default() };
    play.commit(Consumed::All, turn);
    assert_eq!(play.lease(), BATCH_MESSAGES, "the start, and what comes before and behind it");
    let half = (0..600).map(MessageId).collect();
    play.commit(Consumed::These(half), Turn { execution_id: 1, ..Turn::default() });
    play.enqueue(start("b"));
    play.lease();
    play.commit(Consumed::All, Turn { execution_id: 1, ..Turn::default() });
}

/// A batch has so many bytes and one message at least.
pub fn a_batch_has_so_many_bytes_and_one_message_at_least(subject: &mut dyn Subject) {
    let mut play = Play::new(subject);
    play.enqueue(start("a"));
    let third = "x".repeat(BATCH_BYTES / 3);
    for _ in 0..4 {
        play.enqueue(signal("a", third.clone()));
    }
    play.enqueue(signal("a", "y".repeat(BATCH_BYTES)));
    play.enqueue(signal("a", String::new()));
    assert_eq!(
        play.lease(),
        4,
        "the start and three thirds, with what is around them, are too much for a fourth"
    );
    let metadata = abide_provider::ExecutionMetadata {
        orchestration_name: Some("Order".to_owned()),
        ..abide_provider::ExecutionMetadata::default()
    };
    play.commit(Consumed::All, Turn { execution_id: 1, metadata, ..Turn::default() });
    assert_eq!(play.lease(), 2, "what is too large is handed out if it is reached");
    play.commit(Consumed::All, Turn { execution_id: 1, ..Turn::default() });
    assert_eq!(play.lease(), 1);
}

/// What nobody can read is buried in the end.
pub fn what_nobody_can_read_is_buried_in_the_end(subject: &mut dyn Subject) {
    let mut play = Play::new(subject);
    play.enqueue(start("a"));
    play.enqueue(signal("a", String::new()));
    let item = WorkItem::ActivityExecute {
        instance: "a".to_owned(),
        execution_id: 1,
        id: 1,
        name: "charge".to_owned(),
        input: String::new(),
        session_id: None,
        tag: None,
    };
    play.step(&Op::Mail(MailOp::EnqueueWork { item }));
    play.step(&Op::Damage(Damage::Message { number: 2 }));
    play.step(&Op::Damage(Damage::Work { number: 3 }));
    let mut dead = Vec::new();
    for _ in 0..12 {
        let instances = InstanceOp::Lease { limit: 2, lease_for: LEASE, capabilities: None };
        let work = WorkOp::Lease { limit: 2, lease_for: LEASE, session: None, tags: TagFilter::Any };
        play.step(&Op::Instance(instances));
        play.step(&Op::Work(work));
        play.step(&Op::Advance(Duration::from_secs(60)));
        dead.push(play.0.world.dump.dead_letters);
    }
    assert_eq!(dead, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2]);
}
