//! Driving an execution step by step, for tests whose script is not only turns.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use abide_engine::model::{Event, PruneOptions, PruneResult, Timestamp, WorkItem};
use abide_engine::{Execution, Foreign, HostCall, Mail, MailId, Outcome, Step, TurnOutput};

use super::{Code, Given, Turn, print};

/// An execution that has not begun.
pub(crate) fn fresh(code: &Code) -> Execution {
    Given::default().fresh(code)
}

/// An execution whose listener puts what it is told on a shelf.
pub(crate) fn observed(code: &Code) -> (Execution, Shelf<Foreign>) {
    let told = Shelf::new();
    let listener = Arc::new({
        let told = told.clone();
        move |what| told.put(what)
    });
    (Execution::new_with_listener(super::identity(1), [].into(), Arc::clone(code), listener), told)
}

/// An execution made from its history.
pub(crate) fn cold(code: &Code, history: Vec<Event>) -> Execution {
    Given::default().cold(code, history)
}

/// What the inbox holds.
pub(crate) fn mail(items: Vec<WorkItem>) -> Vec<Mail> {
    (0..).zip(items).map(|(id, item)| Mail { id: MailId(id), item }).collect()
}

/// One turn to its end: `host` answers what only a host can do.
#[track_caller]
pub(crate) fn through(
    execution: &mut Execution,
    items: Vec<WorkItem>,
    now: Timestamp,
    mut host: impl FnMut(&PruneOptions) -> Result<PruneResult, String>,
) -> TurnOutput {
    let mut step = execution.turn(mail(items), now).expect("the turn can begin");
    loop {
        step = match step {
            Step::Done(output) => return *output,
            Step::HostCall(HostCall::Prune { options }) => {
                execution.resume(host(&options)).expect("the turn waits for its host")
            }
        }
    }
}

/// One turn, at second 1.
#[track_caller]
pub(crate) fn feed(execution: &mut Execution, items: Vec<WorkItem>) -> TurnOutput {
    feed_at(execution, 1_000, items)
}

/// One turn, at a time of its own.
#[track_caller]
pub(crate) fn feed_at(execution: &mut Execution, now_ms: u64, items: Vec<WorkItem>) -> TurnOutput {
    through(execution, items, Timestamp::from_millis(now_ms), |options| {
        panic!("there is no host: {options:?}")
    })
}

/// The same, or the panic that came out of the engine: there must never be one.
#[track_caller]
pub(crate) fn feed_safely(execution: &mut Execution, items: Vec<WorkItem>) -> TurnOutput {
    let turn = catch_unwind(AssertUnwindSafe(|| feed(execution, items)));
    turn.unwrap_or_else(|payload| {
        // The payload is the test's own trap: to drop it would spring it.
        Box::leak(payload);
        panic!("a panic of the user's came out of the engine")
    })
}

/// The history that a script leaves.
pub(crate) fn recorded(code: &Code, turns: &[Turn]) -> Vec<Event> {
    super::history_of(&super::run(code, turns))
}

/// How it ended, in words.
pub(crate) fn end(output: &TurnOutput) -> String {
    print::outcome(&output.outcome)
}

/// What one turn decided, as text.
pub(crate) fn text(output: &TurnOutput) -> String {
    print::turns(std::slice::from_ref(output))
}

/// What the code returned.
#[track_caller]
pub(crate) fn returned(output: &TurnOutput) -> String {
    match &output.outcome {
        Outcome::Completed { output } => output.clone(),
        other @ (Outcome::Running | Outcome::Failed { .. } | Outcome::ContinuedAsNew { .. }) => {
            panic!("it completed, but: {}", print::outcome(other))
        }
    }
}

/// Something that code and test share: orchestrations should not, tests must.
#[derive(Debug, Default)]
pub(crate) struct Shelf<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for Shelf<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Shelf<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    pub(crate) fn put(&self, thing: T) {
        self.things().push(thing);
    }

    /// The thing that was put there last.
    #[track_caller]
    pub(crate) fn take(&self) -> T {
        let thing = self.things().pop();
        thing.unwrap_or_else(|| panic!("something is on the shelf"))
    }

    pub(crate) fn take_all(&self) -> Vec<T> {
        std::mem::take(&mut *self.things())
    }

    fn things(&self) -> MutexGuard<'_, Vec<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs something on a thread of its own, and waits for it.
pub(crate) fn elsewhere<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(f).join())
        .unwrap_or_else(|payload| std::panic::resume_unwind(payload))
}

/// Runs a script resident, cold and in one batch: all decide the same, and the history replays in silence.
#[track_caller]
pub(crate) fn agree(code: &Code, turns: &[Turn]) -> Vec<TurnOutput> {
    let given = Given::default();
    let resident = super::run_resident(&given, code, turns);
    let cold_turns = super::run_cold(&given, code, turns);
    let decisions = |outputs: &[TurnOutput]| outputs.iter().map(super::decisions).collect::<Vec<_>>();
    assert_eq!(decisions(&resident), decisions(&cold_turns), "resident equals cold");

    let history = super::history_of(&resident);
    let batch = super::run(code, &[turns.concat()]);
    let kinds = |events: &[Event]| events.iter().map(print::line).collect::<Vec<_>>();
    assert_eq!(kinds(&history), kinds(&super::history_of(&batch)), "a batch is its messages, one by one");

    let mut execution = cold(code, history);
    assert_eq!(execution.mismatch(), None, "the code fits the history it made");
    let silent = feed(&mut execution, vec![]);
    assert_eq!((silent.events, silent.lines), (vec![], vec![]), "replay is silent");
    resident
}

/// Wakes itself `times` times.
pub(crate) async fn yield_now(times: u32) {
    let mut left = times;
    poll_fn(|cx| match left.checked_sub(1) {
        None => Poll::Ready(()),
        Some(fewer) => {
            left = fewer;
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}
