//! Two lanes, as a runtime has them: one leases instances and commits their turns, one leases work and finishes it.
//!
//! Each lane is served by a few loops, so that the store can work on one batch while another is being prepared.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use abide_model::WorkItem;
use abide_provider::{
    DispatcherCapabilityFilter, FinishedWork, InstanceLease, LeaseInstances, LeaseWork, Provider, StoreError,
    TagFilter, TurnCommit, WorkLease,
};
use abide_sqlite::SqliteProvider;
use futures::future::{join, join_all};

use super::LEASE;
use super::turns::{Chain, completion, start};
use crate::store::Fallible;
use crate::store::clock::{Stopwatch, Times};

/// How many instances run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    Many { in_flight: usize },
    OneByOne,
}

/// How a turn gets its right to commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// A lease for every turn: two transactions a step.
    Plain,
    /// The finished activity's own lease: one transaction a step.
    Fused,
}

impl Flow {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Many { .. } => "w1",
            Self::OneByOne => "w4",
        }
    }

    pub(crate) const fn in_flight(self) -> usize {
        match self {
            Self::Many { in_flight } => in_flight,
            Self::OneByOne => 1,
        }
    }

    const fn chain(self) -> Chain {
        match self {
            Self::Many { .. } => Chain { activities: 5 },
            Self::OneByOne => Chain { activities: u64::MAX / 2 },
        }
    }

    fn loops(self) -> usize {
        self.in_flight().min(4)
    }
}

impl Style {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Fused => "fused",
        }
    }
}

/// What was done, and how long it took.
#[derive(Debug)]
pub(crate) struct Measured {
    pub(crate) steps: u64,
    pub(crate) time: Duration,
    pub(crate) transactions: u64,
    /// From one finished batch of a loop to its next; one by one, that is a step.
    pub(crate) rounds: Times,
}

struct Run<'a> {
    provider: &'a SqliteProvider,
    chain: Chain,
    style: Style,
    batch: usize,
    span: Duration,
    watch: Stopwatch,
    steps: Cell<u64>,
    started: Cell<u64>,
    running: Cell<usize>,
    incarnations: RefCell<BTreeMap<String, u64>>,
    rounds: RefCell<Vec<Duration>>,
}

/// How long a loop waits for something to do before it looks at the clock.
const PATIENCE: Duration = Duration::from_millis(200);

pub(crate) async fn run(
    provider: &SqliteProvider,
    flow: Flow,
    style: Style,
    span: Duration,
) -> Fallible<Measured> {
    let run = Run {
        provider,
        chain: flow.chain(),
        style,
        batch: flow.in_flight().div_ceil(flow.loops()),
        span,
        watch: Stopwatch::start(),
        steps: Cell::new(0),
        started: Cell::new(0),
        running: Cell::new(0),
        incarnations: RefCell::default(),
        rounds: RefCell::default(),
    };
    let starts = (0..flow.in_flight()).map(|_| run.start_one());
    join_all(starts).await.into_iter().collect::<Result<(), _>>()?;
    let run = Run { watch: Stopwatch::start(), ..run };
    let transactions = provider.transactions();
    let turns = join_all((0..flow.loops()).map(|_| run.turns()));
    let work = join_all((0..flow.loops()).map(|_| run.work()));
    let (turns, work) = join(turns, work).await;
    turns.into_iter().chain(work).collect::<Fallible<()>>()?;
    let time = run.watch.elapsed().min(span);
    let transactions = provider.transactions() - transactions;
    Ok(Measured { steps: run.steps.get(), time, transactions, rounds: run.rounds.into_inner().into() })
}

impl Run<'_> {
    async fn start_one(&self) -> Fallible<()> {
        self.started.set(self.started.get() + 1);
        self.running.set(self.running.get() + 1);
        let instance = format!("order-{:08}", self.started.get());
        Ok(self.provider.enqueue_for_orchestrator(start(&instance), None).await?)
    }

    fn is_over(&self) -> bool {
        self.watch.elapsed() >= self.span
    }

    /// The next lease call is always under way while the last batch is being dealt with, as in a runtime that has
    /// free slots.
    async fn turns(&self) -> Fallible<()> {
        let mut leases = self.lease_instances().await?;
        while !self.is_over() {
            let (next, committed) = join(self.lease_instances(), self.take_turns(leases)).await;
            committed?;
            leases = next?;
        }
        Ok(())
    }

    async fn lease_instances(&self) -> Result<Vec<InstanceLease>, StoreError> {
        let request = LeaseInstances {
            limit: self.batch,
            lease_for: LEASE,
            wait: PATIENCE,
            capabilities: Some(DispatcherCapabilityFilter::default_for_current_build()),
            serving: None,
        };
        self.provider.lease_instances(request).await
    }

    async fn take_turns(&self, leases: Vec<InstanceLease>) -> Fallible<()> {
        if self.style == Style::Fused {
            let mut incarnations = self.incarnations.borrow_mut();
            incarnations
                .extend(leases.iter().map(|lease| (lease.instance.clone(), lease.position.incarnation)));
        }
        self.commit(leases.into_iter().map(|lease| self.chain.turn(lease)).collect()).await
    }

    /// Commits turns; instances that ended are replaced by new ones.
    async fn commit(&self, commits: Vec<TurnCommit>) -> Fallible<()> {
        if commits.is_empty() {
            return Ok(());
        }
        let ended = commits.iter().filter(|commit| commit.turn.metadata.status.is_some()).count();
        let committed = self.provider.commit_turns(commits);
        let starts = join_all((0..ended).map(|_| self.start_one()));
        let (committed, started) = join(committed, starts).await;
        committed.into_iter().collect::<Result<Vec<_>, StoreError>>()?;
        started.into_iter().collect()
    }

    async fn work(&self) -> Fallible<()> {
        let mut leases = self.lease_work().await?;
        while !self.is_over() {
            let round = Stopwatch::start();
            let done = u64::try_from(leases.len()).unwrap_or(0);
            let (next, finished) = join(self.lease_work(), self.finish(leases)).await;
            finished?;
            leases = next?;
            if !self.is_over() {
                self.steps.set(self.steps.get() + done);
                self.rounds.borrow_mut().push(round.elapsed());
            }
        }
        Ok(())
    }

    async fn lease_work(&self) -> Result<Vec<WorkLease>, StoreError> {
        let request = LeaseWork {
            limit: self.batch,
            lease_for: LEASE,
            wait: PATIENCE,
            session: None,
            tags: TagFilter::DefaultOnly,
            serving: None,
        };
        self.provider.lease_work(request).await
    }

    async fn finish(&self, leases: Vec<WorkLease>) -> Fallible<()> {
        match self.style {
            Style::Plain => {
                let finished = leases.into_iter().map(|work| {
                    let completion = completion(&work);
                    FinishedWork { token: work.token, completion }
                });
                let answers = self.provider.finish_work(finished.collect()).await;
                Ok(answers.into_iter().collect::<Result<(), StoreError>>()?)
            }
            Style::Fused => {
                let commits = leases.into_iter().filter_map(|work| {
                    let incarnation = self.incarnations.borrow().get(instance_of(&work)?).copied()?;
                    self.chain.fused_turn(work, incarnation)
                });
                self.commit(commits.collect()).await
            }
        }
    }
}

fn instance_of(work: &WorkLease) -> Option<&str> {
    if let WorkItem::ActivityExecute { instance, .. } = &work.item { Some(instance) } else { None }
}
