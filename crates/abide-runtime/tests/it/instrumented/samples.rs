//! Arguments and answers, each different from the next, so that none can be taken for another.

use std::collections::HashMap;
use std::time::Duration;

use abide_model::{Event, EventKind, StepTry, Timestamp, WorkItem};
use abide_provider::{
    Authority, Block, BlockInstance, BlockKind, BlockedInstance, ChildOverview, Consumed, Enqueue,
    FinishedWork, HoldWork, InstanceLease, LeaseInstances, LeaseWork, Node, NodeAnnouncement,
    OrchestrationItem, Position, RenewSessions, RequestKey, RevokeWork, ServedTags, SessionFetchConfig,
    StolenBecause, TagFilter, Turn, TurnCommit, WorkLease,
};

pub(super) const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub(super) fn event() -> Event {
    Event {
        event_id: 2,
        source_event_id: None,
        instance_id: "i".into(),
        execution_id: 1,
        timestamp_ms: 1_000,
        duroxide_version: "0.2.0".into(),
        kind: EventKind::TimerCreated { fire_at_ms: 5 },
    }
}

pub(super) fn work() -> WorkItem {
    WorkItem::ActivityCompleted { instance: "i".into(), execution_id: 1, id: 2, result: "done".into() }
}

pub(super) fn mail() -> WorkItem {
    WorkItem::CancelInstance { instance: "i".into(), reason: "enough".into() }
}

pub(super) fn item() -> OrchestrationItem {
    OrchestrationItem {
        instance: "i".into(),
        orchestration_name: "o".into(),
        execution_id: 1,
        version: "1.0.0".into(),
        history: vec![event()],
        messages: vec![mail()],
        history_error: None,
        kv_snapshot: HashMap::new(),
    }
}

pub(super) fn lease() -> InstanceLease {
    InstanceLease {
        instance: "i".into(),
        token: "token".into(),
        attempt: 1,
        store_time: None,
        store_time_slack: Duration::ZERO,
        position: Position { incarnation: 1, execution_id: 2, last_event_id: 3 },
        status: None,
        orchestration_name: "o".into(),
        orchestration_version: "1.0.0".into(),
        parent: None,
        messages: vec![],
        preloaded: None,
        refused: None,
    }
}

pub(super) fn work_lease() -> WorkLease {
    WorkLease {
        store_time: None,
        store_time_slack: Duration::ZERO,
        item: work(),
        orchestration_name: "o".into(),
        orchestration_version: "1.0.0".into(),
        token: "token".into(),
        attempt: 1,
        step: StepTry::first(2),
    }
}

pub(super) fn commit(instance: &str) -> TurnCommit {
    TurnCommit {
        instance: instance.into(),
        authority: Authority::Lease { token: "token".into() },
        consumed: Consumed::All,
        left: vec![],
        turn: Turn::default(),
    }
}

pub(super) fn finished(token: &str) -> FinishedWork {
    FinishedWork { token: token.into(), completion: Some(work()) }
}

pub(super) fn enqueue(key: u8) -> Enqueue {
    Enqueue { item: mail(), delay: Some(seconds(4)), key: RequestKey([key; 16]) }
}

pub(super) fn session() -> SessionFetchConfig {
    SessionFetchConfig { owner_id: "me".into(), lock_timeout: seconds(6) }
}

pub(super) fn lease_instances(wait: Duration) -> LeaseInstances {
    LeaseInstances { limit: 8, lease_for: seconds(5), wait, capabilities: None, serving: None }
}

pub(super) fn lease_work(wait: Duration) -> LeaseWork {
    LeaseWork {
        limit: 9,
        lease_for: seconds(5),
        wait,
        session: Some(session()),
        tags: TagFilter::Any,
        serving: None,
    }
}

pub(super) fn renew_sessions() -> RenewSessions {
    RenewSessions {
        owner: "w".to_owned(),
        extend_for: seconds(5),
        idle_timeout: seconds(6),
        tags: TagFilter::Any,
        serving: None,
    }
}

pub(super) fn block() -> BlockInstance {
    BlockInstance {
        token: "token".to_owned(),
        kind: BlockKind::Panic,
        detail: "why".to_owned(),
        build: "b".to_owned(),
        event_id: Some(3),
        retry_after: Some(seconds(60)),
    }
}

pub(super) fn revoke() -> RevokeWork {
    let because = StolenBecause::Dropped;
    RevokeWork { token: "token".to_owned(), execution_id: 3, limit: 2, because }
}

pub(super) fn hold() -> HoldWork {
    HoldWork { token: "token".to_owned(), detail: "why".to_owned(), build: "b".to_owned() }
}

pub(super) fn blocked() -> BlockedInstance {
    let block = Block {
        kind: BlockKind::Panic,
        since: Timestamp::from_millis(1),
        detail: "why".to_owned(),
        build: "b".to_owned(),
        event_id: None,
        holds_activity: false,
    };
    BlockedInstance { instance: "i".to_owned(), orchestration_name: "Main".to_owned(), block }
}

pub(super) fn child() -> ChildOverview {
    ChildOverview {
        instance: "i".to_owned(),
        orchestration_name: "Main".to_owned(),
        orchestration_version: "1.0.0".to_owned(),
        pin: None,
        status: None,
        is_leased: false,
        block: Some(blocked().block),
    }
}

pub(super) fn announcement() -> NodeAnnouncement {
    NodeAnnouncement {
        id: "n".to_owned(),
        build: "b".to_owned(),
        orchestrations: Vec::new(),
        activities: vec!["Echo".to_owned()],
        orchestration_slots: 1,
        worker_slots: 2,
        pins: Vec::new(),
        tags: ServedTags::Any,
    }
}

pub(super) fn node() -> Node {
    let (started, last_seen) = (Timestamp::from_millis(1), Timestamp::from_millis(2));
    Node { announcement: announcement(), started, last_seen }
}
