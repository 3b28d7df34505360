//! Running many cases, and telling all that fail at once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use abide_provider::Operation;
use abide_sim::Fault;

use super::digest::Digest;
use super::trial::Report;

/// The faults that pass by themselves, with delays below and beyond every deadline.
pub(super) fn passing() -> impl Iterator<Item = Fault> {
    let delays = [1, 7].map(Duration::from_secs).map(Fault::Delay);
    let late = [1, 7, 40].map(Duration::from_secs).map(Fault::DelayAnswer);
    Fault::PASSING.into_iter().chain(delays).chain(late)
}

/// Whether a fault can happen to a call: only a call that names a lease can find that it lost it.
pub(super) fn can_happen(fault: Fault, operation: Operation) -> bool {
    let names_a_lease = matches!(
        operation,
        Operation::CommitTurn
            | Operation::FinishWork
            | Operation::ReadHistoryAfter
            | Operation::ReadKvSnapshot
            | Operation::AckOrchestrationItem
            | Operation::AckWorkItem
            | Operation::AbandonOrchestrationItem
            | Operation::AbandonWorkItem
            | Operation::RenewOrchestrationItemLock
            | Operation::RenewWorkItemLock
    );
    fault != Fault::LoseLease || names_a_lease
}

/// Cases that were run, and those that failed.
#[derive(Debug, Default)]
pub(super) struct Campaign {
    cases: usize,
    failures: Vec<String>,
}

impl Campaign {
    /// Runs a case, whose outcome must be this one, and in which something must have gone wrong.
    pub(super) fn case(
        &mut self,
        name: impl FnOnce() -> String,
        expected: &Digest,
        run: impl FnOnce() -> Report,
    ) {
        self.check(name, || {
            let report = run();
            assert!(!report.injected.is_empty(), "nothing went wrong");
            assert!(report.digest == *expected, "came to\n{}instead of\n{expected}", report.digest);
        });
    }

    /// Runs a case that panics if it fails.
    pub(super) fn check(&mut self, name: impl FnOnce() -> String, case: impl FnOnce()) {
        self.cases += 1;
        if let Err(panic) = catch_unwind(AssertUnwindSafe(case)) {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&'static str>().copied()).unwrap_or("a panic");
            self.failures.push(format!("{}: {said}", name()));
        }
    }

    /// Fails if a case did.
    pub(super) fn end(self) {
        let Self { cases, failures } = self;
        assert!(cases > 0, "there was nothing to run");
        let shown = failures.iter().take(20).map(String::as_str).collect::<Vec<_>>().join("\n");
        assert!(failures.is_empty(), "{} of {cases} cases failed:\n{shown}", failures.len());
        println!("{cases} cases");
    }
}
