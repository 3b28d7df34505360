//! Fetches in front of what is in the way: what each costs, and how long it takes.

use std::time::Duration;

use abide_model::{BUILD_VERSION, Event, EventKind, Timestamp, WorkItem};
use abide_provider::{
    Authority, Consumed, DispatcherCapabilityFilter, ExecutionMetadata, InstanceLease, LeaseInstances,
    LeaseWork, Provider, SessionFetchConfig, TagFilter, Turn, TurnCommit, WorkLease,
};
use abide_sqlite::SqliteProvider;

use crate::store::Fallible;
use crate::store::clock::{Stopwatch, Times};

/// Which queue was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Queue {
    Instances,
    Work,
}

impl Queue {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Instances => "instances",
            Self::Work => "work",
        }
    }
}

/// What fetches from one queue cost.
#[derive(Debug)]
pub(crate) struct Fetches {
    pub(crate) queue: Queue,
    /// Instructions of the dearest one.
    pub(crate) instructions: u64,
    pub(crate) times: Times,
}

const LEASE: Duration = Duration::from_secs(30);

const NAME: &str = "front";

/// Fetches one instance and one activity again and again.
pub(crate) async fn measure(provider: &SqliteProvider, repeat: usize) -> Fallible<[Fetches; 2]> {
    let mut front = Front { provider, last_event: 0 };
    front.start().await?;
    let (mut instances, mut work) = (Meter::default(), Meter::default());
    for _ in 0..repeat {
        front.send().await?;
        let lease = instances.time(provider, front.lease()).await??;
        front.take_turn(lease).await?;
        let leased = work.time(provider, front.lease_work()).await??;
        provider.ack_work_item(&leased.token, None).await?;
    }
    Ok([instances.of(Queue::Instances), work.of(Queue::Work)])
}

#[derive(Default)]
struct Meter {
    instructions: u64,
    times: Vec<Duration>,
}

impl Meter {
    async fn time<T>(&mut self, provider: &SqliteProvider, call: impl Future<Output = T>) -> Fallible<T> {
        let before = instructions(provider).await;
        let watch = Stopwatch::start();
        let result = call.await;
        self.times.push(watch.elapsed());
        self.instructions = self.instructions.max(instructions(provider).await - before);
        Ok(result)
    }

    fn of(self, queue: Queue) -> Fetches {
        Fetches { queue, instructions: self.instructions, times: self.times.into() }
    }
}

async fn instructions(provider: &SqliteProvider) -> u64 {
    provider.costs().await.into_iter().map(|(_, _, instructions)| instructions).sum()
}

/// The only instance that anybody wants, with one activity per turn.
struct Front<'a> {
    provider: &'a SqliteProvider,
    last_event: u64,
}

impl Front<'_> {
    async fn start(&mut self) -> Fallible<()> {
        let start = WorkItem::StartOrchestration {
            instance: NAME.to_owned(),
            orchestration: NAME.to_owned(),
            input: String::new(),
            version: None,
            parent_instance: None,
            parent_id: None,
            parent_execution_id: None,
            execution_id: 1,
        };
        self.provider.enqueue_for_orchestrator(start, None).await?;
        let lease = self.lease().await?;
        self.take_turn(lease).await?;
        let work = self.lease_work().await?;
        Ok(self.provider.ack_work_item(&work.token, None).await?)
    }

    async fn send(&self) -> Fallible<()> {
        let (instance, name) = (NAME.to_owned(), "go".to_owned());
        let signal = WorkItem::ExternalRaised { instance, name, data: String::new() };
        Ok(self.provider.enqueue_for_orchestrator(signal, None).await?)
    }

    async fn lease(&self) -> Fallible<InstanceLease> {
        let request = LeaseInstances {
            limit: 1,
            lease_for: LEASE,
            wait: Duration::ZERO,
            capabilities: Some(DispatcherCapabilityFilter::default_for_current_build()),
            serving: None,
        };
        let lease = self.provider.lease_instances(request).await?.pop().ok_or("nothing to lease")?;
        if lease.instance == NAME { Ok(lease) } else { Err(format!("leased {}", lease.instance).into()) }
    }

    async fn lease_work(&self) -> Fallible<WorkLease> {
        let request = LeaseWork {
            limit: 1,
            lease_for: LEASE,
            wait: Duration::ZERO,
            session: Some(SessionFetchConfig { owner_id: "me".to_owned(), lock_timeout: LEASE }),
            tags: TagFilter::DefaultOnly,
            serving: None,
        };
        Ok(self.provider.lease_work(request).await?.pop().ok_or("no work to lease")?)
    }

    async fn take_turn(&mut self, lease: InstanceLease) -> Fallible<()> {
        self.last_event += 1;
        let id = self.last_event;
        let kind = EventKind::CustomStatusUpdated { status: None };
        let event = Event::recorded(id, NAME, 1, Timestamp::from_millis(1_700_000_000_000), kind);
        let activity = WorkItem::ActivityExecute {
            instance: NAME.to_owned(),
            execution_id: 1,
            id,
            name: "step".to_owned(),
            input: String::new(),
            session_id: None,
            tag: None,
        };
        let turn = Turn {
            execution_id: 1,
            events: vec![event],
            worker_items: vec![activity],
            metadata: ExecutionMetadata {
                orchestration_name: Some(NAME.to_owned()),
                pinned_duroxide_version: BUILD_VERSION.parse().ok(),
                ..ExecutionMetadata::default()
            },
            ..Turn::default()
        };
        let commit = TurnCommit {
            instance: NAME.to_owned(),
            authority: Authority::Lease { token: lease.token },
            consumed: Consumed::All,
            left: Vec::new(),
            turn,
        };
        let answers = self.provider.commit_turns(vec![commit]).await;
        answers.into_iter().collect::<Result<Vec<_>, _>>()?;
        Ok(())
    }
}
