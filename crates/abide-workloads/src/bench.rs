//! A runtime with a client, and what callers do with them.

use std::sync::Arc;
use std::time::Duration;

use durable::runtime::Runtime;
use durable::{Client, ClientError, OrchestrationStatus, RuntimeOptions, SemverRange};

use crate::arguments::Arguments;
use crate::clock;
use crate::code::{activities, orchestrations};
use crate::counting::{self, Counters};
use crate::notes::Notes;
use crate::program::Fallible;
use crate::report::Outcome;
use crate::store::Opened;

/// Nothing that is measured takes so long, unless it hangs. Whoever runs the benchmark is less patient.
const TOO_LONG: Duration = Duration::from_secs(1_200);
/// Between two looks at something that is not measured.
pub(crate) const PAUSE: Duration = Duration::from_millis(10);

/// A caller of orchestrations. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) client: Client,
}

/// A store with a runtime on it, and a caller.
pub(crate) struct Bench {
    pub(crate) caller: Caller,
    pub(crate) notes: Arc<Notes>,
    opened: Opened,
    runtime: Option<Arc<Runtime>>,
    /// What the store had done before anything was asked of it.
    before: Counters,
}

/// What a runtime takes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Everything,
    /// No activities.
    Turns,
    /// And of turns only the first of an execution: what has begun is of a build that it does not know.
    Activities,
}

impl Part {
    fn options(self, slots: Option<usize>) -> Fallible<RuntimeOptions> {
        let mut options = RuntimeOptions::default();
        if let Some(slots) = slots {
            (options.orchestration_concurrency, options.worker_concurrency) = (slots, slots);
        }
        match self {
            Self::Everything => {}
            Self::Turns => options.worker_concurrency = 0,
            Self::Activities => {
                let earlier = SemverRange { min: "0.0.0".parse()?, max: "0.1.0".parse()? };
                options.supported_replay_versions = Some(earlier);
            }
        }
        Ok(options)
    }
}

impl Bench {
    /// With a runtime, and room for so many notes.
    pub(crate) async fn start(arguments: &Arguments, notes: u64) -> Fallible<Self> {
        Self::start_part(arguments, Notes::new(notes), Part::Everything).await
    }

    pub(crate) async fn start_part(arguments: &Arguments, notes: Notes, part: Part) -> Fallible<Self> {
        let mut bench = Self::open(arguments, notes).await?;
        let (activities, orchestrations) =
            (activities(&bench.notes, arguments.activity), orchestrations(&bench.notes));
        let store = bench.opened.provider();
        let runtime = match (arguments.slots, part) {
            // What most people call.
            (None, Part::Everything) => Runtime::start_with_store(store, activities, orchestrations).await,
            (slots, part) => {
                let options = part.options(slots)?;
                Runtime::start_with_options(store, activities, orchestrations, options).await
            }
        };
        bench.runtime = Some(runtime);
        bench.before = bench.counters().await;
        Ok(bench)
    }

    pub(crate) async fn without_runtime(arguments: &Arguments) -> Fallible<Self> {
        Self::open(arguments, Notes::new(0)).await
    }

    async fn open(arguments: &Arguments, notes: Notes) -> Fallible<Self> {
        let opened = Opened::open(&arguments.store, &arguments.at).await?;
        let caller = Caller { client: Client::new(opened.provider()) };
        let notes = Arc::new(notes);
        let mut bench = Self { caller, notes, opened, runtime: None, before: Counters::new() };
        bench.before = bench.counters().await;
        Ok(bench)
    }

    /// Stops everything. What was counted is part of the outcome.
    pub(crate) async fn stop(self, outcome: &mut Outcome) {
        outcome.counters.extend(self.counted().await);
        if let Some(runtime) = self.runtime {
            runtime.shutdown(None).await;
        }
    }

    /// What was done since the start.
    pub(crate) async fn counted(&self) -> Counters {
        counting::since(&self.before, self.counters().await)
    }

    async fn counters(&self) -> Counters {
        let mut counters = self.opened.counters().await;
        counters.extend(counting::allocations().map(|count| ("allocations".to_owned(), count)));
        counters
    }
}

impl Caller {
    /// Starts one and waits for its end. The error is for people.
    pub(crate) async fn run(&self, instance: &str, orchestration: &str, input: &str) -> Result<(), String> {
        self.start(instance, orchestration, input).await?;
        self.wait(instance).await
    }

    pub(crate) async fn start(&self, instance: &str, orchestration: &str, input: &str) -> Result<(), String> {
        let mut tries = 0;
        loop {
            let started = self.client.start_orchestration(instance, orchestration, input).await;
            match may_repeat(started, &mut tries)? {
                Some(()) => return Ok(()),
                None => clock::sleep(PAUSE * 10).await,
            }
        }
    }

    /// The error says how it ended instead.
    pub(crate) async fn wait(&self, instance: &str) -> Result<(), String> {
        let mut tries = 0;
        loop {
            let ended = self.client.wait_for_orchestration(instance, TOO_LONG).await;
            match may_repeat(ended, &mut tries)? {
                Some(OrchestrationStatus::Completed { .. }) => return Ok(()),
                Some(other) => return Err(format!("{instance} did not complete: {other:?}")),
                None => clock::sleep(PAUSE * 10).await,
            }
        }
    }

    /// The error says how it ended instead.
    pub(crate) async fn is_cancelled(&self, instance: &str) -> Result<(), String> {
        match self.client.wait_for_orchestration(instance, TOO_LONG).await {
            Ok(OrchestrationStatus::Failed { .. }) => Ok(()),
            other => Err(format!("{instance} was cancelled, and is: {other:?}")),
        }
    }

    /// Many at once, each by a caller of its own.
    pub(crate) async fn run_all(&self, count: u64, orchestration: &'static str, input: &str) -> Outcome {
        let mut outcome = Outcome::default();
        let all: Vec<_> = (0..count)
            .map(|number| {
                let (caller, input) = (self.clone(), input.replace('#', &number.to_string()));
                clock::spawn(async move {
                    caller.run(&format!("{orchestration}-{number}"), orchestration, &input).await
                })
            })
            .collect();
        for one in all {
            outcome.note(one.await.map_err(|error| error.to_string()).flatten());
        }
        outcome
    }
}

impl Outcome {
    pub(crate) fn note(&mut self, ended: Result<(), String>) {
        if let Err(complaint) = ended {
            self.fail(complaint);
        }
    }
}

/// As an application does: what may be repeated is repeated, a few times. `None` asks for that.
fn may_repeat<T>(answer: Result<T, ClientError>, tries: &mut u32) -> Result<Option<T>, String> {
    const TRIES: u32 = 100;
    *tries += 1;
    match answer {
        Err(error) if error.is_retryable() && *tries < TRIES => Ok(None),
        answer => answer.map(Some).map_err(|error| error.to_string()),
    }
}
