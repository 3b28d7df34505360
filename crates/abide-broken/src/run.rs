//! Runs the suite on every broken provider.
//!
//! One thread for each run, and in it one task after the other, so that two runs have the same outcome.

use std::fmt;
use std::num::NonZero;
use std::panic::AssertUnwindSafe;
use std::slice;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use abide_conformance::{Outcome, Validation, validations};
use futures_util::FutureExt;
use futures_util::future::join_all;

use crate::bug::{Bug, NoMistake};
use crate::factory::BrokenFactory;
use crate::healthy::HealthyStores;
use crate::panics;
use crate::planted::{Planted, plant};
use crate::provider::ENDLESS;

/// The areas that wait in real time. Bugs about waiting are tried on them, and on nothing else: elsewhere nobody waits.
pub(crate) const IN_REAL_TIME: [&str; 3] = ["long_polling", "parking", CHANGES];

/// Where word of changes that does not come is waited for in real time. Tried on bugs that name this area, which are tried on
/// nothing else.
const CHANGES: &str = "changes";

/// Where word that does not come is waited for in real time. Tried on bugs that name this area.
const PATIENT: &str = "pushed_cancellations";

/// Validations that move megabytes or many rows. Tried on bugs that name them.
const SLOW: [&str; 9] = [
    "batches::test_large_messages_are_leased_in_order_and_once",
    "batches::test_lease_calls_bring_a_bounded_size",
    "bulk_deletion::test_delete_instance_bulk_default_limit",
    "capability_filtering::test_fetch_filter_finds_compatible_behind_many_incompatible",
    "cancellation::test_cancelling_thousands_of_activities_in_one_commit",
    "error_handling::test_awkward_text_survives",
    "kv_store::test_kv_keys_accumulate_over_turns",
    "listing::test_page_default_size",
    "unread_mail::test_lease_hands_out_a_bounded_size_of_messages",
];

/// How long a validation may take before it counts as one that never ends.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often a bug about waiting is tried before it counts as one that nobody notices.
const TRIES: usize = 3;

/// A validation that failed.
#[derive(Debug, Clone)]
pub struct Failure {
    /// `area::function`.
    pub path: String,
    /// In which way.
    pub how: How,
}

/// How a validation fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// This is what its assertion said.
    Asserted(String),
    /// It did not come to an end.
    Hung,
    /// Not by what it looked for: this panicked beneath it.
    Fell(Vec<String>),
}

/// A bug, and who noticed.
#[derive(Debug)]
pub struct Caught {
    /// The bug.
    pub bug: &'static Planted,
    /// What failed.
    pub failures: Vec<Failure>,
}

impl Caught {
    /// Those that say that something is wrong. One that hangs says nothing.
    pub fn catchers(&self) -> impl Iterator<Item = &str> {
        let said = self.failures.iter().filter(|failure| matches!(failure.how, How::Asserted(_)));
        said.map(|failure| failure.path.as_str())
    }

    /// What to say if the validation that is there for the bug did not notice.
    #[must_use]
    pub fn missed(&self) -> Option<String> {
        let Planted { name, what, catcher, .. } = self.bug;
        if self.catchers().any(|path| path == *catcher) {
            return None;
        }
        Some(format!("{name} ({what}) must be caught by {catcher}, but what failed is {:#?}", self.failures))
    }
}

/// Every validation, by path.
#[must_use]
pub fn all_paths() -> Vec<String> {
    validations().iter().map(Validation::path).collect()
}

/// Tries bugs on stores of one kind.
pub struct Trials<'m> {
    waiting: usize,
    make: &'m (dyn Fn() -> Box<dyn HealthyStores> + Sync),
}

impl fmt::Debug for Trials<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trials").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}

/// Providers with one bug, and the validations that are run on them.
struct Trial {
    plant: fn() -> Box<dyn Bug>,
    paths: Vec<String>,
}

impl Trial {
    /// Whether it costs time and nothing else.
    fn waits(&self) -> bool {
        let waits = |area: &str| area == PATIENT || IN_REAL_TIME.contains(&area);
        self.paths.iter().all(|path| path.split_once("::").is_some_and(|(area, _)| waits(area)))
    }
}

impl<'m> Trials<'m> {
    /// On what `make` makes, once for each thread. Of those trials that only wait, so many run at the same time.
    pub fn new(waiting: usize, make: &'m (dyn Fn() -> Box<dyn HealthyStores> + Sync)) -> Self {
        Self { waiting, make }
    }

    /// Tries every bug on the whole suite.
    #[must_use]
    pub fn on_the_suite(&self, bugs: &[&'static Planted]) -> Vec<Caught> {
        self.caught(bugs, |bug| {
            let all = validations();
            let tried = all.iter().filter(|validation| is_tried(bug, validation));
            tried.map(Validation::path).collect()
        })
    }

    /// Tries every bug on the validation that must notice it.
    #[must_use]
    pub fn on_their_catchers(&self, bugs: &[&'static Planted]) -> Vec<Caught> {
        self.caught(bugs, |bug| vec![bug.catcher.to_owned()])
    }

    /// What fails of these validations although there is no mistake.
    #[must_use]
    pub fn without_a_bug(&self, paths: impl IntoIterator<Item = String>) -> Vec<Failure> {
        let trials = paths.into_iter().map(|path| Trial { plant: plant::<NoMistake>, paths: vec![path] });
        self.failures(&trials.collect::<Vec<_>>()).into_iter().flatten().collect()
    }

    fn caught(&self, bugs: &[&'static Planted], paths: impl Fn(&Planted) -> Vec<String>) -> Vec<Caught> {
        let trials: Vec<Trial> =
            bugs.iter().map(|bug| Trial { plant: bug.plant, paths: paths(bug) }).collect();
        let failures = self.failures(&trials);
        let mut caught: Vec<Caught> =
            bugs.iter().zip(failures).map(|(bug, failures)| Caught { bug, failures }).collect();
        // On a machine that is busy, a store that answers too early answers in time. So alone, and more than once.
        for (caught, trial) in caught.iter_mut().zip(trials).filter(|(_, trial)| trial.waits()) {
            for _ in 1..TRIES {
                if caught.missed().is_some() {
                    caught.failures = self.failures(slice::from_ref(&trial)).remove(0);
                }
            }
        }
        caught
    }

    /// What fails, trial by trial.
    fn failures(&self, trials: &[Trial]) -> Vec<Vec<Failure>> {
        let (waiting, others): (Vec<usize>, Vec<usize>) =
            (0..trials.len()).partition(|number| trials[*number].waits());
        let (next_waiting, next_other) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let run = |numbers: &[usize], next: &AtomicUsize| {
            let stores = (self.make)();
            let mut done = Vec::new();
            while let Some(number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
                done.push((*number, failures_of(&trials[*number], stores.as_ref())));
            }
            done
        };
        let mut done: Vec<(usize, Vec<Failure>)> = thread::scope(|scope| {
            let processors = thread::available_parallelism().map_or(1, NonZero::get).min(others.len());
            let beside = (0..self.waiting.min(waiting.len()))
                .map(|_| panics::start(scope, || run(&waiting, &next_waiting)));
            let busy = (0..processors).map(|_| panics::start(scope, || run(&others, &next_other)));
            let threads: Vec<_> = beside.chain(busy).collect();
            threads.into_iter().flat_map(|thread| thread.join().expect("a run does not panic")).collect()
        });
        done.sort_by_key(|(number, _)| *number);
        done.into_iter().map(|(_, failures)| failures).collect()
    }
}

/// Whether a bug is tried on a validation.
fn is_tried(bug: &Planted, validation: &Validation) -> bool {
    let path = validation.path();
    if bug.area() == CHANGES || validation.area == CHANGES {
        return bug.area() == validation.area;
    }
    bug.catcher == path
        || bug.is_about_waiting() == IN_REAL_TIME.contains(&validation.area)
            && (validation.area != PATIENT || bug.area() == PATIENT)
            && !SLOW.contains(&path.as_str())
}

/// What fails on providers with this bug.
fn failures_of(trial: &Trial, stores: &dyn HealthyStores) -> Vec<Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("a runtime can be built");
    let factory = BrokenFactory::new(stores, trial.plant);
    let all = validations();
    let tried = all.iter().filter(|validation| trial.paths.contains(&validation.path()));
    // Those that wait can do so at the same time; all others take turns, so that two runs have the same outcome.
    let (waiting, others): (Vec<_>, Vec<_>) =
        tried.partition(|validation| IN_REAL_TIME.contains(&validation.area));
    runtime.block_on(async {
        let mut failures = Vec::new();
        for validation in others {
            failures.extend(failure_of(validation, &factory).await);
        }
        let waited = join_all(waiting.into_iter().map(|validation| failure_of(validation, &factory))).await;
        failures.extend(waited.into_iter().flatten());
        failures
    })
}

async fn failure_of(validation: &Validation, factory: &BrokenFactory<'_>) -> Option<Failure> {
    // An assertion that fails is an outcome; a factory that panics is not.
    let outcome = AssertUnwindSafe(in_time(validation.run(factory))).catch_unwind().await;
    let elsewhere = panics::elsewhere();
    let how = match outcome {
        Ok(Some(Outcome::Passed | Outcome::NotApplicable(_))) => return None,
        Ok(Some(Outcome::Failed(why))) if elsewhere.is_empty() => How::Asserted(why),
        Ok(Some(Outcome::Failed(why))) if why.contains(ENDLESS) => How::Hung,
        Ok(Some(Outcome::Failed(_))) | Err(_) => How::Fell(elsewhere),
        Ok(None) => How::Hung,
    };
    Some(Failure { path: validation.path(), how })
}

#[expect(clippy::disallowed_methods, reason = "a validation that hangs does so in real time")]
async fn in_time<T>(validation: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(PATIENCE, validation).await.ok()
}
