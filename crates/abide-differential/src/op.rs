//! One step of a sequence: a call of the contract, or something that happens to the stores.
//!
//! Tokens are opaque and differ between the stores, so a step names them by the order in which they were handed out.

use std::time::Duration;

use abide_model::{Event, ExecutionStatus, WorkItem};
use abide_provider::{
    BlockKind, Consumed, DispatcherCapabilityFilter, Lane, NodeAnnouncement, Position, Serving,
    SessionFetchConfig, TagFilter, Turn,
};

use crate::admin::{DeleteOp, LookOp};
use crate::subject::Damage;

/// What happens to both stores.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    Advance(Duration),
    Mail(MailOp),
    Instance(InstanceOp),
    Work(WorkOp),
    Session(SessionOp),
    Block(BlockOp),
    Read(ReadOp),
    Look(LookOp),
    Delete(DeleteOp),
    /// Its numbers are the model's.
    Damage(Damage),
    /// Somebody else listens for leases taken away.
    Listen,
    /// The process that holds all leases ends, and another opens what it left.
    Restart,
}

/// A lease token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    /// The one that was handed out as the so-manieth.
    Issued(usize),
    Garbage(String),
}

#[derive(Debug, Clone)]
pub(crate) enum MailOp {
    Enqueue { item: WorkItem, delay: Option<Duration> },
    EnqueueOnce { item: WorkItem, delay: Option<Duration>, key: u8 },
    StartOnce { item: WorkItem, delay: Option<Duration>, key: u8 },
    EnqueueExisting { item: WorkItem, delay: Option<Duration>, key: u8 },
    EnqueueWork { item: WorkItem },
}

#[derive(Debug, Clone)]
pub(crate) enum InstanceOp {
    Fetch {
        lease_for: Duration,
        capabilities: Option<DispatcherCapabilityFilter>,
    },
    Lease {
        limit: usize,
        lease_for: Duration,
        capabilities: Option<DispatcherCapabilityFilter>,
        serving: Option<Serving>,
    },
    Ack {
        token: Token,
        turn: Box<Turn>,
    },
    Commit(Vec<Commit>),
    Append {
        instance: String,
        execution_id: u64,
        events: Vec<Event>,
    },
    Renew {
        token: Token,
        extend_for: Duration,
    },
    Abandon {
        token: Token,
        delay: Option<Duration>,
        ignore_attempt: bool,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct Commit {
    pub(crate) instance: String,
    pub(crate) right: Right,
    pub(crate) consumed: Consumed,
    pub(crate) turn: Turn,
}

#[derive(Debug, Clone)]
pub(crate) enum Right {
    Lease(Token),
    FinishedWork { token: Token, expected: Position },
}

#[derive(Debug, Clone)]
pub(crate) enum WorkOp {
    Fetch {
        lease_for: Duration,
        session: Option<SessionFetchConfig>,
        tags: TagFilter,
    },
    Lease {
        limit: usize,
        lease_for: Duration,
        session: Option<SessionFetchConfig>,
        tags: TagFilter,
        serving: Option<Serving>,
    },
    Ack {
        token: Token,
        completion: Option<WorkItem>,
    },
    Finish(Vec<(Token, Option<WorkItem>)>),
    Renew {
        token: Token,
        extend_for: Duration,
    },
    Abandon {
        token: Token,
        delay: Option<Duration>,
        ignore_attempt: bool,
    },
}

/// What blocks instances, and what looks at that.
#[derive(Debug, Clone)]
pub(crate) enum BlockOp {
    Block {
        token: Token,
        kind: BlockKind,
        detail: String,
        build: String,
        event_id: Option<u64>,
        retry_after: Option<Duration>,
    },
    Hold {
        token: Token,
        detail: String,
        build: String,
    },
    Begin {
        lane: Lane,
        token: Token,
    },
    /// The lease stays, so this is none of the steps that end one.
    Revoke {
        token: Token,
        execution_id: u64,
        limit: u32,
        status: Option<ExecutionStatus>,
    },
    Retry {
        instance: String,
    },
    Read {
        instance: String,
    },
    List {
        limit: usize,
    },
    Count,
    Announce {
        node: NodeAnnouncement,
    },
    Forget {
        node: String,
    },
    Nodes,
}

#[derive(Debug, Clone)]
pub(crate) enum SessionOp {
    Renew {
        owners: Vec<String>,
        extend_for: Duration,
        idle_timeout: Duration,
    },
    RenewServed {
        owner: String,
        extend_for: Duration,
        idle_timeout: Duration,
        tags: TagFilter,
        serving: Option<Serving>,
    },
    Cleanup {
        idle_timeout: Duration,
    },
}

#[derive(Debug, Clone)]
pub(crate) enum ReadOp {
    History {
        instance: String,
    },
    Execution {
        instance: String,
        execution_id: u64,
    },
    /// Under a lease, by the order of tokens.
    HistoryAfter {
        lease: usize,
        after: u64,
        fate: Fate,
    },
    Snapshot {
        lease: usize,
        fate: Fate,
    },
    Status {
        instance: String,
    },
    Overview {
        instance: String,
    },
    Children {
        instances: Vec<String>,
    },
    CustomStatus {
        instance: String,
        last_seen: u64,
    },
    KvValue {
        instance: String,
        key: String,
    },
    KvAll {
        instance: String,
    },
    Stats {
        instance: String,
    },
    NextDue(Lane),
}

/// What became of an instance since it was leased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    Lives,
    /// As if it had been deleted: nothing has its incarnation any more.
    Deleted,
}

impl Op {
    /// The tokens that this step uses, in the order of its answers.
    pub(crate) fn tokens(&self) -> Vec<&Token> {
        match self {
            Self::Instance(op) => op.tokens(),
            Self::Work(op) => op.tokens(),
            Self::Block(BlockOp::Block { token, .. } | BlockOp::Hold { token, .. }) => vec![token],
            Self::Advance(_)
            | Self::Mail(_)
            | Self::Session(_)
            | Self::Block(_)
            | Self::Read(_)
            | Self::Look(_)
            | Self::Delete(_)
            | Self::Damage(_)
            | Self::Listen
            | Self::Restart => Vec::new(),
        }
    }

    /// By how much it extends the lease it names, if that is what it does.
    pub(crate) fn extends_by(&self) -> Option<Duration> {
        if let Self::Instance(InstanceOp::Renew { extend_for, .. })
        | Self::Work(WorkOp::Renew { extend_for, .. }) = self
        {
            Some(*extend_for)
        } else {
            None
        }
    }

    /// How long the leases last that it asks for.
    pub(crate) fn leases_for(&self) -> Option<Duration> {
        if let Self::Instance(InstanceOp::Fetch { lease_for, .. } | InstanceOp::Lease { lease_for, .. })
        | Self::Work(WorkOp::Fetch { lease_for, .. } | WorkOp::Lease { lease_for, .. }) = self
        {
            Some(*lease_for)
        } else {
            None
        }
    }
}

impl InstanceOp {
    fn tokens(&self) -> Vec<&Token> {
        match self {
            Self::Ack { token, .. } | Self::Renew { token, .. } | Self::Abandon { token, .. } => vec![token],
            Self::Commit(commits) => commits.iter().map(Commit::token).collect(),
            Self::Fetch { .. } | Self::Lease { .. } | Self::Append { .. } => Vec::new(),
        }
    }
}

impl Commit {
    pub(crate) fn token(&self) -> &Token {
        match &self.right {
            Right::Lease(token) | Right::FinishedWork { token, .. } => token,
        }
    }
}

impl WorkOp {
    fn tokens(&self) -> Vec<&Token> {
        match self {
            Self::Ack { token, .. } | Self::Renew { token, .. } | Self::Abandon { token, .. } => vec![token],
            Self::Finish(finished) => finished.iter().map(|(token, _)| token).collect(),
            Self::Fetch { .. } | Self::Lease { .. } => Vec::new(),
        }
    }
}
