//! What panicked where: a validation that notices a mistake is told from a bug that falls over its own feet.
//!
//! Hundreds of validations are meant to fail here: what they say is collected, not printed.

use std::cell::RefCell;
use std::panic::{self, PanicHookInfo};
use std::sync::Once;
use std::thread::{self, Scope, ScopedJoinHandle};

const THREAD: &str = "planted bug";

/// Where the assertions of validations are.
const SUITE: &str = "abide-conformance";

thread_local! {
    /// What panicked on this thread outside of the suite.
    static ELSEWHERE: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Starts a thread whose panics are not printed.
pub(crate) fn start<'s, T: Send + 's>(
    scope: &'s Scope<'s, '_>,
    work: impl FnOnce() -> T + Send + 's,
) -> ScopedJoinHandle<'s, T> {
    collect();
    let thread = thread::Builder::new().name(THREAD.to_owned());
    thread.spawn_scoped(scope, work).expect("a thread can be started")
}

/// What panicked on this thread since the last look, but not in the suite.
pub(crate) fn elsewhere() -> Vec<String> {
    ELSEWHERE.take()
}

fn collect() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if thread::current().name() == Some(THREAD) {
                note(panic);
            } else {
                usual(panic);
            }
        }));
    });
}

fn note(panic: &PanicHookInfo<'_>) {
    if !panic.location().is_some_and(|place| place.file().contains(SUITE)) {
        ELSEWHERE.with_borrow_mut(|elsewhere| elsewhere.push(panic.to_string()));
    }
}
