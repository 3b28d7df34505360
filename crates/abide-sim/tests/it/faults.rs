//! What each fault does to a call, and what it tells the caller.

use std::sync::Arc;
use std::time::Duration;

use abide_model::{Clock as _, Spawn as _};
use abide_provider::{ErrorKind, Operation, Provider as _, Rejection};
use abide_sim::{Fault, FaultPlan, FaultStore, World};

use crate::support::*;

/// Two calls that send one message each, one provided and one required, of which the first goes wrong.
struct Case {
    world: World,
    store: Arc<FaultStore>,
}

impl Case {
    fn provided(fault: Fault) -> Self {
        Self::of(Operation::EnqueueOnce, fault)
    }

    fn required(fault: Fault) -> Self {
        Self::of(Operation::EnqueueForOrchestrator, fault)
    }

    fn of(operation: Operation, fault: Fault) -> Self {
        let world = World::new(1);
        let store = world.faulty(FaultPlan::none().at(operation, 1, fault));
        Self { world, store }
    }

    /// What the call answers, if it does within an hour, and how many messages it sent.
    async fn enqueue_once(&self) -> (Option<Result<(), ErrorKind>>, usize) {
        let call = self.store.enqueue_once(request(start("a")));
        let answer = within_an_hour(&self.world, call).await;
        (answer.map(|answer| answer.map_err(|error| error.kind)), self.sent())
    }

    /// The same of a required method: an error says whether it may pass.
    async fn enqueue(&self) -> (Option<Result<(), bool>>, usize) {
        let call = self.store.enqueue_for_orchestrator(start("a"), None);
        let answer = within_an_hour(&self.world, call).await;
        (answer.map(|answer| answer.map_err(|error| error.retryable)), self.sent())
    }

    fn sent(&self) -> usize {
        self.world.memory.dump().messages.len()
    }
}

#[tokio::test(start_paused = true)]
async fn each_fault_says_what_it_says_and_does_what_it_does() {
    let cases = [
        (Fault::NotApplied, Some(Err(ErrorKind::NotApplied)), 0),
        (Fault::Unknown, Some(Err(ErrorKind::Unknown)), 1),
        (Fault::UnknownBefore, Some(Err(ErrorKind::Unknown)), 0),
        (Fault::Rejected(Rejection::Conflict), Some(Err(ErrorKind::Rejected(Rejection::Conflict))), 0),
        (Fault::HangBefore, None, 0),
        (Fault::HangAfter, None, 1),
        (Fault::Delay(seconds(60)), Some(Ok(())), 1),
        (Fault::DelayAnswer(seconds(60)), Some(Ok(())), 1),
        (Fault::Delay(2 * HOUR), None, 0),
        (Fault::DelayAnswer(2 * HOUR), None, 1),
    ];
    for (fault, answer, sent) in cases {
        let case = Case::provided(fault);
        assert_eq!(case.enqueue_once().await, (answer, sent), "{fault:?}");
        assert!(case.store.fired(), "{fault:?}");
        assert_eq!(case.store.injected()[0].1, fault);
    }
}

#[tokio::test(start_paused = true)]
async fn a_required_method_says_only_whether_it_may_pass() {
    let cases = [
        (Fault::NotApplied, Some(Err(true)), 0),
        (Fault::Unknown, Some(Err(true)), 1),
        (Fault::UnknownBefore, Some(Err(true)), 0),
        (Fault::Rejected(Rejection::LeaseLost), Some(Err(false)), 0),
        (Fault::HangBefore, None, 0),
        (Fault::HangAfter, None, 1),
        (Fault::Delay(seconds(60)), Some(Ok(())), 1),
        (Fault::DelayAnswer(seconds(60)), Some(Ok(())), 1),
    ];
    for (fault, answer, sent) in cases {
        let case = Case::required(fault);
        assert_eq!(case.enqueue().await, (answer, sent), "{fault:?}");
        assert!(case.store.fired(), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_reaches_who_called_and_nothing_was_written() {
    let case = Case::provided(Fault::Panic);
    let store = case.store.clone();
    case.world
        .tasks
        .spawn("caller", Box::pin(async move { store.enqueue_once(request(start("a"))).await.unwrap() }));
    case.world.tasks.all_ended().await;
    assert_eq!(case.world.tasks.panicked(), ["caller: enqueue_once: an injected panic"]);
    assert!(case.store.fired());
    assert_eq!(case.sent(), 0);

    // The store goes on.
    assert_eq!(case.enqueue_once().await, (Some(Ok(())), 1));
}

#[tokio::test(start_paused = true)]
async fn a_fault_happens_once() {
    let case = Case::provided(Fault::NotApplied);
    assert_eq!(case.enqueue_once().await, (Some(Err(ErrorKind::NotApplied)), 0));
    assert_eq!(case.enqueue_once().await, (Some(Ok(())), 1));
    assert_eq!(case.store.injected().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_delay_takes_as_long_as_it_says() {
    for fault in [Fault::Delay(seconds(60)), Fault::DelayAnswer(seconds(60))] {
        let case = Case::provided(fault);
        assert_eq!(case.enqueue_once().await, (Some(Ok(())), 1));
        assert_eq!(case.world.clock.monotonic(), seconds(60), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_store_answers_to_an_unknown_call_is_lost_also_if_it_refuses() {
    let world = World::new(1);
    let store = world.faulty(FaultPlan::none().at(Operation::EnqueueOnce, 1, Fault::Unknown));
    let error = store.enqueue_once(request(activity("a"))).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unknown);
    let error = store.enqueue_once(request(activity("a"))).await.unwrap_err();
    assert_eq!(error.rejection(), Some(Rejection::Invalid));
}

#[tokio::test(start_paused = true)]
async fn an_error_names_its_call() {
    let case = Case::provided(Fault::NotApplied);
    let error = case.store.enqueue_once(request(start("a"))).await.unwrap_err();
    assert_eq!(error.operation, Operation::EnqueueOnce);
    let case = Case::required(Fault::NotApplied);
    let error = case.store.enqueue_for_orchestrator(start("a"), None).await.unwrap_err();
    assert_eq!(error.operation, "enqueue_for_orchestrator");
}

#[tokio::test(start_paused = true)]
async fn two_worlds_of_one_seed_are_the_same() {
    let mut tokens = Vec::new();
    for _ in 0..2 {
        let world = World::new(7);
        let store = world.faulty(FaultPlan::none());
        let leases = leased(&*store, &["a", "b"]).await;
        tokens.push(leases.into_iter().map(|lease| lease.token).collect::<Vec<_>>());
    }
    assert_eq!(tokens[0], tokens[1]);
    assert_eq!(Duration::ZERO, World::new(7).clock.monotonic());
}
