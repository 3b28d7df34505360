//! Runs the suite on every broken provider.
//!
//! One thread for each run, and in it one task after the other, so that two runs have the same outcome.

use std::panic;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use abide_conformance::{Outcome, Validation, validations};
use futures_util::future::join_all;

use super::bug::Bug;
use super::factory::BrokenFactory;
use super::planted::Planted;
use super::provider::ENDLESS;

/// The areas that wait in real time. Bugs about waiting are tried on them, and on nothing else: elsewhere nobody waits.
pub(super) const IN_REAL_TIME: [&str; 3] = ["long_polling", "parking", CHANGES];

/// Where word of changes that does not come is waited for in real time. Tried on bugs that name this area, which are tried on
/// nothing else.
const CHANGES: &str = "changes";

/// Where word that does not come is waited for in real time. Tried on bugs that name this area.
const PATIENT: &str = "pushed_cancellations";

/// Validations that move megabytes or many rows. Tried on bugs that name them.
const SLOW: [&str; 8] = [
    "batches::test_large_messages_are_leased_in_order_and_once",
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
    validations().iter().map(Validation::path).collect()
}

/// Tries every bug on the whole suite.
pub(super) fn try_all(bugs: &[&'static Planted]) -> Vec<Caught> {
    silence_panics();
    let (waiting, others): (Vec<&'static Planted>, Vec<&'static Planted>) =
        bugs.iter().partition(|bug| bug.is_about_waiting());
    let next = AtomicUsize::new(0);
    let one_after_the_other = || {
        let mut caught = Vec::new();
        while let Some(bug) = others.get(next.fetch_add(1, Ordering::Relaxed)) {
            caught.push(try_one(bug));
        }
        caught
    };
    let mut caught: Vec<Caught> = thread::scope(|scope| {
        // Those that wait cost nothing.
        let mut threads: Vec<_> =
            waiting.into_iter().map(|bug| start(scope, move || vec![try_one(bug)])).collect();
        let count = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        threads.extend((0..count).map(|_| start(scope, one_after_the_other)));
        threads.into_iter().flat_map(|thread| thread.join().expect("a run does not panic")).collect()
    });
    let place = |name: &str| bugs.iter().position(|bug| bug.name == name);
    caught.sort_by_key(|caught| place(caught.bug.name));
    caught
}

/// Starts a thread whose panics are not printed.
fn start<'s>(
    scope: &'s Scope<'s, '_>,
    work: impl FnOnce() -> Vec<Caught> + Send + 's,
) -> ScopedJoinHandle<'s, Vec<Caught>> {
    let thread = thread::Builder::new().name(THREAD.to_owned());
    thread.spawn_scoped(scope, work).expect("a thread can be started")
}

fn try_one(bug: &'static Planted) -> Caught {
    Caught { bug, failures: failures_of(bug.plant, |validation| is_tried(bug, validation)) }
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
    is_tried: impl Fn(&Validation) -> bool,
) -> Vec<Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("a runtime can be built");
    let factory = BrokenFactory::new(plant);
    let all = validations();
    let tried = all.iter().filter(|validation| is_tried(validation));
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

async fn failure_of(validation: &Validation, factory: &BrokenFactory) -> Option<Failure> {
    let how = match in_time(validation.run(factory)).await {
        Some(Outcome::Passed | Outcome::NotApplicable(_)) => return None,
        Some(Outcome::Failed(why)) if !why.contains(ENDLESS) => How::Asserted(why),
        Some(Outcome::Failed(_)) | None => How::Hung,
    };
    Some(Failure { path: validation.path(), how })
}

#[expect(clippy::disallowed_methods, reason = "a validation that hangs does so in real time")]
async fn in_time<T>(validation: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(PATIENCE, validation).await.ok()
}
