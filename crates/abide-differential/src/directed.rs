//! What chance does not get to: batches at their limits, and rows that nobody can ever read.

use std::time::Duration;

use abide_model::WorkItem;
use abide_provider::{
    BATCH_BYTES, BATCH_MESSAGES, Consumed, LEASE_BYTES, MessageId, Position, SessionFetchConfig, TagFilter,
    Turn,
};

use crate::op::{Commit, InstanceOp, MailOp, Op, Right, Token, WorkOp};
use crate::pair::{Pair, SEED_OF_SCENES};
use crate::subject::{Damage, Subject};

const LEASE: Duration = Duration::from_secs(30);

/// Longer than what a store across a network adds for as much as a call brings.
const LONG_LEASE: Duration = Duration::from_secs(60);

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

    /// An activity of `a`.
    fn enqueue_work(&mut self, id: u64, session_id: Option<&str>) {
        let item = WorkItem::ActivityExecute {
            instance: "a".to_owned(),
            execution_id: 1,
            id,
            name: "charge".to_owned(),
            input: String::new(),
            session_id: session_id.map(ToOwned::to_owned),
            tag: None,
        };
        self.step(&Op::Mail(MailOp::EnqueueWork { item }));
    }

    /// What somebody with sessions leases; says how much it was.
    fn lease_work_as(&mut self, owner: &str) -> usize {
        let owner_id = owner.to_owned();
        let session = Some(SessionFetchConfig { owner_id, lock_timeout: Duration::from_secs(1) });
        self.step(&Op::Work(WorkOp::Lease {
            limit: 1,
            lease_for: 4 * LEASE,
            session,
            tags: TagFilter::Any,
            serving: None,
        }))
    }

    /// Leases one instance and says how many messages came with it.
    fn lease(&mut self) -> usize {
        let leased = self.step(&Op::Instance(InstanceOp::Lease {
            limit: 1,
            lease_for: LEASE,
            capabilities: None,
            serving: None,
        }));
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

/// A cancel for which a batch has no room comes right behind what starts an execution, or first.
pub fn a_cancel_comes_ahead_of_mail_that_fills_a_batch(subject: &mut dyn Subject) {
    let mut play = Play::new(subject);
    let cancel = || WorkItem::CancelInstance { instance: "a".to_owned(), reason: "enough".to_owned() };
    let mut large = start("a");
    if let WorkItem::StartOrchestration { input, .. } = &mut large {
        *input = "x".repeat(BATCH_BYTES);
    }
    for item in [signal("a", String::new()), cancel(), large, cancel()] {
        play.enqueue(item);
    }
    assert_eq!(play.lease(), 2, "the start and the first cancel");
    play.step(&Op::Advance(LEASE));
    assert_eq!(play.lease(), 2, "the same after a crash");
    let metadata = abide_provider::ExecutionMetadata {
        orchestration_name: Some("Order".to_owned()),
        ..abide_provider::ExecutionMetadata::default()
    };
    play.commit(Consumed::All, Turn { execution_id: 1, metadata, ..Turn::default() });
    assert_eq!(play.lease(), 2, "the signal and the second cancel");
    play.commit(Consumed::All, Turn { execution_id: 1, ..Turn::default() });
    play.enqueue(signal("a", "x".repeat(BATCH_BYTES)));
    play.enqueue(signal("a", String::new()));
    play.enqueue(cancel());
    assert_eq!(play.lease(), 2, "the cancel and the large signal");
    play.commit(Consumed::These(Vec::new()), Turn { execution_id: 1, ..Turn::default() });
    assert_eq!(play.lease(), 2, "the same again, because none was consumed");
    play.commit(Consumed::All, Turn { execution_id: 1, ..Turn::default() });
    assert_eq!(play.lease(), 1, "the rest");
}

/// A call for instances has so many bytes and one lease at least.
pub fn a_call_for_instances_has_so_many_bytes_and_one_lease_at_least(subject: &mut dyn Subject) {
    let mut play = Play::new(subject);
    for (instance, size) in [("a", LEASE_BYTES / 2), ("b", LEASE_BYTES / 2), ("c", 1)] {
        play.enqueue(start(instance));
        play.enqueue(signal(instance, "x".repeat(size)));
    }
    let many = InstanceOp::Lease { limit: 5, lease_for: LONG_LEASE, capabilities: None, serving: None };
    let many = Op::Instance(many);
    assert_eq!(play.step(&many), 2, "two halves, with what is around them, are too much for a third");
    assert_eq!(play.step(&many), 1, "the rest stays queued");
}

/// A call for work has so many bytes and one lease at least.
pub fn a_call_for_work_has_so_many_bytes_and_one_lease_at_least(subject: &mut dyn Subject) {
    let mut play = Play::new(subject);
    let half = LEASE_BYTES / 2;
    for (id, size, session, tag) in
        [(1, half, None, None), (2, half, Some("s"), None), (3, 1, None, None), (4, 1, None, Some("gpu"))]
    {
        let item = WorkItem::ActivityExecute {
            instance: "a".to_owned(),
            execution_id: 1,
            id,
            name: "charge".to_owned(),
            input: "x".repeat(size),
            session_id: session.map(str::to_owned),
            tag: tag.map(str::to_owned),
        };
        play.step(&Op::Mail(MailOp::EnqueueWork { item }));
    }
    let config = SessionFetchConfig { owner_id: "me".to_owned(), lock_timeout: LEASE };
    let (lease_for, session, tags) = (LONG_LEASE, Some(config), TagFilter::Any);
    let many = Op::Work(WorkOp::Lease { limit: 5, lease_for, session, tags, serving: None });
    assert_eq!(play.step(&many), 2, "two halves, with what is around them, are too much for a third");
    assert_eq!(play.step(&many), 2, "the rest stays queued");
}

/// What nobody can read is buried in the end.
pub fn what_nobody_can_read_is_buried_in_the_end(subject: &mut dyn Subject) {
    let mut play = Play::new(subject);
    play.enqueue(start("a"));
    play.enqueue(signal("a", String::new()));
    play.enqueue_work(1, None);
    play.step(&Op::Damage(Damage::Message { number: 2 }));
    play.step(&Op::Damage(Damage::Work { number: 3 }));
    let mut dead = Vec::new();
    for _ in 0..12 {
        let instances = InstanceOp::Lease { limit: 2, lease_for: LEASE, capabilities: None, serving: None };
        let work =
            WorkOp::Lease { limit: 2, lease_for: LEASE, session: None, tags: TagFilter::Any, serving: None };
        play.step(&Op::Instance(instances));
        play.step(&Op::Work(work));
        play.step(&Op::Advance(Duration::from_secs(60)));
        dead.push(play.0.world.dump.dead_letters);
    }
    assert_eq!(dead, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2]);
}

/// A session whose lock ran out while its owner still works is claimed by nobody for what cannot be read.
pub fn a_session_is_not_claimed_for_what_nobody_can_read(subject: &mut dyn Subject) {
    let mut play = Play::new(subject);
    play.enqueue(start("a"));
    play.enqueue_work(1, Some("s"));
    play.enqueue_work(2, Some("s"));
    assert_eq!(play.lease_work_as("owner"), 1);
    play.step(&Op::Damage(Damage::Work { number: 3 }));
    play.step(&Op::Advance(Duration::from_secs(2)));
    assert_eq!(play.lease_work_as("other"), 0);
}

/// A fused step is busy with the mail that an earlier turn of the same call sends.
pub fn the_turns_of_a_call_are_judged_one_after_the_other(subject: &mut dyn Subject) {
    let mut play = Play::new(subject);
    let metadata = abide_provider::ExecutionMetadata {
        orchestration_name: Some("Order".to_owned()),
        ..abide_provider::ExecutionMetadata::default()
    };
    let first = Turn { execution_id: 1, metadata, ..Turn::default() };
    play.enqueue(start("a"));
    play.lease();
    play.commit(Consumed::All, first.clone());
    play.enqueue_work(1, None);
    let tags = TagFilter::Any;
    play.step(&Op::Work(WorkOp::Lease { limit: 1, lease_for: LEASE, session: None, tags, serving: None }));
    play.enqueue(start("b"));
    play.lease();
    let [.., work, lease] = play.0.world.issued.as_slice() else { unreachable!("two were leased") };
    let (work_order, lease_order) = (play.0.world.issued.len() - 2, play.0.world.issued.len() - 1);
    assert_eq!((work.memory.instance.as_str(), lease.memory.instance.as_str()), ("a", "b"));
    let expected = Position { incarnation: 1, execution_id: 1, last_event_id: 0 };
    let sends = Turn { orchestrator_items: vec![signal("a", String::new())], ..first };
    let plain = Commit {
        instance: "b".to_owned(),
        right: Right::Lease(Token::Issued(lease_order)),
        consumed: Consumed::All,
        turn: sends,
    };
    let fused = Commit {
        instance: "a".to_owned(),
        right: Right::FinishedWork { token: Token::Issued(work_order), expected },
        consumed: Consumed::All,
        turn: Turn { execution_id: 1, ..Turn::default() },
    };
    play.step(&Op::Instance(InstanceOp::Commit(vec![plain, fused])));
    assert_eq!(play.0.world.dump.work.len(), 1, "the fused step was refused");
}
