//! §31: providers of others, and stores whose answers are not what happened.
//!
//! Everything that can go wrong with a call, call by call, is in `faults`. Here is what a wrapper may do besides.

use std::sync::Arc;

use abide_model::{EventKind, OrchestrationStatus};
use abide_provider::{Operation, Provider, Rejection};
use abide_sim::{Fault, FaultPlan, FaultStore, RequiredOnly};

use super::support::{
    Filter, Log, Node, Past, Steps, ThirdParty, World, names, on_every_store, seconds, virtually,
};

fn node(log: &Log) -> Node {
    let log = log.clone();
    Node::new()
        .activity("Log", move |_, input| {
            log.write(input.clone());
            async move { Ok(input) }
        })
        .orchestration("Main", |ctx, input| async move { ctx.schedule_activity("Log", input).await })
}

#[test]
fn a_provider_with_the_required_methods_and_no_administration_is_enough() {
    on_every_store(async |world: World| {
        let log = Log::new();
        let store: Arc<dyn Provider> = Arc::new(ThirdParty::new(world.store.clone()));
        assert!(store.as_management_capability().is_none());
        let node = node(&log).orchestration("Everything", |ctx, input| async move {
            if input == "again" {
                return Ok(ctx.dequeue_event("q").await + &ctx.get_kv_value("k").unwrap());
            }
            ctx.set_kv_value("k", "v");
            ctx.set_custom_status("working");
            ctx.schedule_sub_orchestration("Main", "child").await?;
            ctx.schedule_timer(super::support::millis(5)).await;
            ctx.schedule_wait("go").await;
            ctx.continue_as_new("again").await
        });
        let runtime = world.run_on(store, node).await;
        world.start("i", "Everything", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        world.enqueue("i", "q", "message ").await;
        world.raise("i", "go", "").await;
        assert_eq!(world.end("i").await.unwrap(), "message v");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_provider_that_ignores_the_filter_does_not_get_later_versions_run() {
    virtually(async |world: World| {
        world.start("future", "Main", "").await;
        let subscribed = EventKind::ExternalSubscribed { name: "go".to_owned() };
        world.write(Past::begins([subscribed]).stamped("99.0.0")).await;
        world.raise("future", "go", "").await;
        let store = ThirdParty { filter: Filter::Ignored, ..ThirdParty::new(world.store.clone()) };
        let waits =
            Node::new().orchestration("Main", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) });
        let runtime = world.run_on(Arc::new(store), waits.with(|options| options.max_attempts = 1_000)).await;
        world.pass(seconds(60)).await;
        assert_eq!(world.history("future").await.len(), 2);
        let status = world.client().get_orchestration_status("future").await.unwrap();
        assert!(matches!(status, OrchestrationStatus::Running { .. }), "{status:?}");
        runtime.shutdown(None).await;
    });
}

#[test]
fn the_attempts_that_a_provider_tells_are_believed() {
    on_every_store(async |world: World| {
        let log = Log::new();
        let store = ThirdParty { attempts: Some(11), ..ThirdParty::new(world.store.clone()) };
        let runtime = world.run_on(Arc::new(store), node(&log)).await;
        world.start("i", "Main", "").await;
        let details = world.failure("i").await;
        assert_eq!(details.display_message(), "poison: orchestration i exceeded 11 attempts (max 10)");
        runtime.shutdown(None).await;
    });
}

/// One call has its effect and is said to have failed, in a run of `node`.
async fn is_said_to_have_failed(world: &World, steps: Steps, calls: [Operation; 2], ordinal: u64) {
    let log = Log::new();
    let plan = calls.into_iter().fold(FaultPlan::none(), |plan, call| plan.at(call, ordinal, Fault::Unknown));
    let store = world.faulty(steps, plan);
    let runtime = world.run_on(store.clone(), node(&log)).await;
    assert_eq!(world.start_and_end("i", "Main", "x").await.unwrap(), "x");
    assert!(store.fired());
    assert_eq!(names(&world.history("i").await).len(), 4);
    assert_eq!(log.lines(), ["x"]);
    runtime.shutdown(None).await;
}

#[test]
fn a_commit_that_is_said_to_have_failed_but_did_not_counts_once() {
    // With and without the provided methods, at every commit of a run; the second brings the result with it, or follows it.
    for (steps, ordinal) in Steps::BOTH.into_iter().flat_map(|steps| [(steps, 1), (steps, 2)]) {
        virtually(async |world: World| {
            let commits = [Operation::CommitTurn, Operation::AckOrchestrationItem];
            is_said_to_have_failed(&world, steps, commits, ordinal).await;
        });
    }
}

#[test]
fn an_acknowledgement_that_is_said_to_have_failed_but_did_not_counts_once() {
    virtually(async |world: World| {
        let acknowledgements = [Operation::FinishWork, Operation::AckWorkItem];
        is_said_to_have_failed(&world, Steps::Told, acknowledgements, 1).await;
    });
}

#[test]
fn a_commit_that_is_refused_for_good_fails_the_instance_with_the_reason() {
    virtually(async |world: World| {
        let log = Log::new();
        let refusal = Fault::Rejected(Rejection::Invalid);
        let plan = FaultPlan::none().at(Operation::CommitTurn, 1, refusal).at(
            Operation::AckOrchestrationItem,
            1,
            refusal,
        );
        let store = Arc::new(FaultStore::new(world.store.clone(), world.clock.clone()).with_plan(plan));
        let runtime = world.run_on(store.clone(), node(&log)).await;
        world.start("i", "Main", "x").await;
        let details = world.failure("i").await;
        assert_eq!(details.category(), "infrastructure");
        assert!(store.fired());
        assert_eq!(log.len(), 0, "what the refused turn asked for is not done");
        runtime.shutdown(None).await;
    });
}

#[test]
fn fetches_that_fail_are_made_again() {
    virtually(async |world: World| {
        let log = Log::new();
        let fails = |operation: Operation| {
            [
                Operation::LeaseInstances,
                Operation::LeaseWork,
                Operation::FetchOrchestrationItem,
                Operation::FetchWorkItem,
            ]
            .contains(&operation)
        };
        let plan = FaultPlan::none()
            .when(move |call| (fails(call.operation) && call.ordinal <= 20).then_some(Fault::NotApplied));
        let store = Arc::new(FaultStore::new(world.store.clone(), world.clock.clone()).with_plan(plan));
        let runtime = world.run_on(store.clone(), node(&log)).await;
        assert_eq!(world.start_and_end("i", "Main", "x").await.unwrap(), "x");
        assert!(store.fired());
        runtime.shutdown(None).await;
    });
}

#[test]
fn what_can_never_be_given_back_comes_back_when_its_lease_ends() {
    virtually(async |world: World| {
        let log = Log::new();
        let plan = FaultPlan::none().when(|call| {
            [Operation::AbandonOrchestrationItem, Operation::AbandonWorkItem]
                .contains(&call.operation)
                .then_some(Fault::NotApplied)
        });
        let store = Arc::new(FaultStore::new(world.store.clone(), world.clock.clone()).with_plan(plan));
        // Nobody knows the orchestration, so it is given back, which fails.
        let ignorant = world.run_on(store.clone(), Node::new()).await;
        world.start("i", "Main", "x").await;
        world.until(async || store.fired()).await;
        ignorant.shutdown(None).await;
        let runtime = world.run(node(&log)).await;
        let (took, end) = world.time(world.end("i")).await;
        assert_eq!(end.unwrap(), "x");
        let most = seconds(6) + 2 * world.looks_every();
        assert!(took <= most, "{took:?}: the lease lasts five seconds");
        runtime.shutdown(None).await;
    });
}

#[test]
fn the_runtime_calls_nothing_but_what_it_needs() {
    virtually(async |world: World| {
        let log = Log::new();
        let faults = Arc::new(FaultStore::new(world.store.clone(), world.clock.clone()));
        let runtime = world.run_on(Arc::new(RequiredOnly::new(faults.clone())), node(&log)).await;
        world.start_and_end("i", "Main", "x").await.unwrap();
        runtime.shutdown(None).await;
        let called: std::collections::BTreeSet<_> =
            faults.calls().into_iter().map(|(operation, _)| operation.to_string()).collect();
        let expected = [
            "ack_orchestration_item",
            "ack_work_item",
            "fetch_orchestration_item",
            "fetch_work_item",
            "get_queue_depths",
            "get_system_metrics",
            "read",
        ];
        for operation in &called {
            assert!(expected.contains(&operation.as_str()), "{operation}");
        }
    });
}
