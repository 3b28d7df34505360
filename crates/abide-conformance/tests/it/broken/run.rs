//! Runs the suite on every broken provider.
//!
//! One thread for each run, and in it one task after the other, so that two runs have the same outcome.

use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use abide_conformance::{Outcome, validations};

use super::bug::Bug;
use super::factory::BrokenFactory;
use super::planted::Planted;
use super::provider::ENDLESS;

/// The areas that wait in real time. Only bugs about waiting are tried on them, and on nothing else: everywhere else
/// nobody waits.
const IN_REAL_TIME: [&str; 2] = ["long_polling", "parking"];

/// Validations that move megabytes or thousands of rows: tried only on bugs that name them.
const SLOW: [&str; 6] = [
    "batches::test_large_messages_are_leased_in_order_and_once",
    "bulk_deletion::test_delete_instance_bulk_default_limit",
    "cancellation::test_cancelling_thousands_of_activities_in_one_commit",
    "error_handling::test_awkward_text_survives",
    "kv_store::test_kv_keys_accumulate_over_turns",
    "unread_mail::test_lease_hands_out_a_bounded_size_of_messages",
];

/// How long a validation may take before it counts as one that never ends.
const PATIENCE: Duration = Duration::from_secs(20);

const THREAD: &str = "planted bug";

/// A validation that failed.
#[derive(Debug, Clone)]
pub(super) struct Failure {
    /// `area::function`.
    pub(super) path: String,
    pub(super) how: How,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum How {
    /// This is what its assertion said.
    Asserted(String),
    /// It did not come to an end.
    Hung,
}

/// A bug, and who noticed.
pub(super) struct Caught {
    pub(super) bug: &'static Planted,
    pub(super) failures: Vec<Failure>,
}

impl Caught {
    /// Those that say that something is wrong. One that hangs says nothing.
    pub(super) fn catchers(&self) -> impl Iterator<Item = &str> {
        let said = self.failures.iter().filter(|failure| matches!(failure.how, How::Asserted(_)));
        said.map(|failure| failure.path.as_str())
    }
}

/// Every validation, by path.
pub(super) fn all_paths() -> Vec<String> {
    validations().iter().map(abide_conformance::Validation::path).collect()
}

/// Tries every bug on the whole suite.
pub(super) fn try_all(bugs: &[&'static Planted]) -> Vec<Caught> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut caught = Vec::new();
        while let Some(bug) = bugs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let failures = failures_of(bug.plant, |area, path| is_tried(bug, area, path));
            caught.push(Caught { bug, failures });
        }
        caught
    };
    let mut caught = on_threads(work);
    let place = |name: &str| bugs.iter().position(|bug| bug.name == name);
    caught.sort_by_key(|caught| place(caught.bug.name));
    caught
}

/// Whether a bug is tried on a validation.
fn is_tried(bug: &Planted, area: &str, path: &str) -> bool {
    IN_REAL_TIME.contains(&bug.area()) == IN_REAL_TIME.contains(&area)
        && (bug.catcher == path || !SLOW.contains(&path))
}

/// Runs the same on several threads, whose panics are not printed, and puts together what they return.
fn on_threads<T: Send>(work: impl Fn() -> Vec<T> + Sync) -> Vec<T> {
    silence_panics();
    let count = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    thread::scope(|scope| {
        let spawn = || {
            let thread = thread::Builder::new().name(THREAD.to_owned());
            thread.spawn_scoped(scope, &work).expect("a thread can be started")
        };
        let threads: Vec<_> = (0..count).map(|_| spawn()).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("the run itself does not panic")).collect()
    })
}

/// Hundreds of validations are meant to fail here: what they say is collected, not printed.
fn silence_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if thread::current().name() != Some(THREAD) {
                usual(panic);
            }
        }));
    });
}

/// What fails on providers with this bug.
pub(super) fn failures_of(
    plant: fn() -> Box<dyn Bug>,
    is_tried: impl Fn(&str, &str) -> bool,
) -> Vec<Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("a runtime can be built");
    runtime.block_on(async {
        let factory = BrokenFactory::new(plant);
        let mut failures = Vec::new();
        for validation in validations() {
            if !is_tried(validation.area, &validation.path()) {
                continue;
            }
            let how = match in_time(validation.run(&factory)).await {
                Some(Outcome::Passed | Outcome::NotApplicable(_)) => continue,
                Some(Outcome::Failed(why)) if !why.contains(ENDLESS) => How::Asserted(why),
                Some(Outcome::Failed(_)) | None => How::Hung,
            };
            failures.push(Failure { path: validation.path(), how });
        }
        failures
    })
}

#[expect(clippy::disallowed_methods, reason = "a validation that hangs does so in real time")]
async fn in_time<T>(validation: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(PATIENCE, validation).await.ok()
}
