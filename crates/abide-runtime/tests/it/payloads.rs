//! Payloads: what is too large is refused before it is stored, and what is large has the time that it takes.

use std::time::Duration;

use abide_model::limits::DEFAULT_MAX_PAYLOAD_BYTES;
use abide_provider::Operation;
use abide_sim::{Fault, FaultPlan};

use crate::e2e::support::{Node, World, names, on_every_store};
use crate::lessons::scene::{Code, Scene, Way, every_way, ways};

const LIMIT: usize = 1_000;
const MEBIBYTE: usize = 1024 * 1024;

fn bytes(text: &str) -> String {
    "x".repeat(text.parse().unwrap())
}

fn node() -> Node {
    Node::new()
        .activity("Make", |_, size| async move { Ok(bytes(&size)) })
        .activity("Fail", |_, size| async move { Err(bytes(&size)) })
        .activity("Length", |_, input| async move { Ok(input.len().to_string()) })
        .orchestration("Length", |_, input| async move { Ok(input.len().to_string()) })
        .orchestration("Result", |ctx, size| async move {
            Ok(ctx.schedule_activity("Make", size).await?.len().to_string())
        })
        .orchestration("Error", |ctx, size| async move {
            Ok(ctx.schedule_activity("Fail", size).await.unwrap_err())
        })
        .orchestration("Input", |ctx, size| async move {
            let refused = ctx.schedule_activity("Length", bytes(&size)).await;
            // The code goes on after a refusal.
            ctx.schedule_activity("Length", "").await?;
            refused
        })
        .orchestration("Child", |ctx, size| async move {
            ctx.schedule_sub_orchestration("Length", bytes(&size)).await
        })
        .orchestration("Output", |_, size| async move { Ok(bytes(&size)) })
        .orchestration("Next", |ctx, size| async move {
            if ctx.execution_id() == 1 {
                ctx.continue_as_new(bytes(&size)).await
            } else {
                Ok(size.len().to_string())
            }
        })
        .with(|options| options.max_payload_bytes = LIMIT)
}

#[test]
fn what_is_at_the_limit_is_stored_and_what_is_larger_names_its_size_and_the_limit() {
    on_every_store(async |world: World| {
        let runtime = world.run(node()).await;
        for (orchestration, what) in [
            ("Result", "result of activity 'Make'"),
            ("Input", "input of activity 'Length'"),
            ("Child", "input of sub-orchestration 'Length'"),
            ("Next", "input of the next execution"),
        ] {
            world.start(&format!("{orchestration}-1"), orchestration, "1000").await;
            world.start(&format!("{orchestration}-2"), orchestration, "1001").await;
            assert_eq!(world.end(&format!("{orchestration}-1")).await.unwrap(), "1000", "{orchestration}");
            let error = world.end(&format!("{orchestration}-2")).await.unwrap_err();
            let told = format!("{what} has 1001 bytes; the limit is 1000 (max_payload_bytes)");
            assert!(error.starts_with(&told), "{error}");
        }
        world.start("out", "Output", "1001").await;
        let error = world.end("out").await.unwrap_err();
        assert!(
            error.starts_with("output of the orchestration has 1001 bytes; the limit is 1000"),
            "{error}"
        );
        world.start("error", "Error", "1001").await;
        let error = world.end("error").await.unwrap();
        assert!(error.starts_with("error of activity 'Fail' has 1001 bytes; the limit is 1000"), "{error}");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_refused_child_is_never_started() {
    on_every_store(async |world: World| {
        let runtime = world.run(node()).await;
        world.start("i", "Child", "1001").await;
        world.end("i").await.unwrap_err();
        let history = world.history("i").await;
        let expected = [
            "OrchestrationStarted",
            "SubOrchestrationScheduled",
            "SubOrchestrationFailed",
            "OrchestrationFailed",
        ];
        assert_eq!(names(&history), expected);
        let executions = world.client().list_executions("i::sub::2").await.unwrap();
        assert!(executions.is_empty(), "{executions:?}");
        runtime.shutdown(None).await;
    });
}

#[test]
fn without_a_choice_a_result_may_have_64_mebibytes() {
    ways(&[Way::Fused], |scene| async move {
        scene
            .node(
                Code::new()
                    .activity("Make", |_, size: String| async move { Ok(bytes(&size)) })
                    .orchestration("Main", |ctx, size| async move {
                        Ok(ctx.schedule_activity("Make", size).await?.len().to_string())
                    }),
            )
            .await;
        let (most, more) =
            (DEFAULT_MAX_PAYLOAD_BYTES.to_string(), (DEFAULT_MAX_PAYLOAD_BYTES + 1).to_string());
        assert_eq!(scene.run("i", "Main", &most).await.unwrap(), most);
        let error = scene.run("j", "Main", &more).await.unwrap_err();
        assert!(
            error.starts_with("result of activity 'Make' has 67108865 bytes; the limit is 67108864"),
            "{error}"
        );
    });
}

/// An orchestration of which every commit carries its payload.
fn echoing() -> Code {
    Code::new()
        .activity("Same", |_, input| async move { Ok(input) })
        .orchestration("Same", |ctx, input| async move { ctx.schedule_activity("Same", input).await })
}

#[test]
fn a_store_call_has_a_second_more_for_each_mebibyte() {
    every_way(|scene| async move {
        let (commit, finish) = (scene.way.commit(), scene.way.finish());
        // Beyond the two tries of five seconds that a small call has.
        let slow = Fault::Delay(Duration::from_secs(18));
        scene.faults.set_plan(
            FaultPlan::none()
                .when(move |call| (call.operation == commit || call.operation == finish).then_some(slow)),
        );
        scene.node(echoing()).await;
        let input = "x".repeat(16 * MEBIBYTE);
        assert_eq!(scene.run("i", "Same", &input).await.unwrap().len(), input.len());
        // Nothing was tried twice: two turns, or one and a fused one, and the result.
        let tries = scene.faults.count(commit) + scene.faults.count(finish);
        assert!(tries <= 3, "{tries} tries");
    });
}

#[test]
fn a_history_that_takes_long_to_read_is_read() {
    ways(&[Way::Cold], |scene| async move {
        let slow = Fault::Delay(Duration::from_secs(40));
        scene.faults.set_plan(
            FaultPlan::none()
                .when(move |call| (call.operation == Operation::ReadHistoryAfter).then_some(slow)),
        );
        scene.node(echoing()).await;
        assert_eq!(scene.run("i", "Same", "x").await.unwrap(), "x");
        assert!(scene.faults.count(Operation::ReadHistoryAfter) <= 6);
    });
}

/// Runs with reads of this kind that take 40 seconds; returns how many there were.
async fn read_slowly(scene: &Scene, operation: Operation, code: Code) -> u64 {
    let slow = Fault::Delay(Duration::from_secs(40));
    scene.faults.set_plan(FaultPlan::none().when(move |call| (call.operation == operation).then_some(slow)));
    scene.node(code).await;
    assert_eq!(scene.run("keeper", "Keeps", "").await.unwrap(), "v");
    assert_eq!(scene.run("i", "Reads", "").await.unwrap(), "v");
    scene.faults.count(operation)
}

fn keeping() -> Code {
    Code::new()
        .activity("Same", |_, input| async move { Ok(input) })
        .orchestration("Keeps", |ctx, _| async move {
            ctx.set_kv_value("k", "v");
            ctx.schedule_activity("Same", "").await?;
            Ok(ctx.get_kv_value("k").unwrap_or_default())
        })
        .orchestration("Reads", |ctx, _| async move {
            Ok(ctx.get_kv_value_from_instance("keeper", "k").await?.unwrap_or_default())
        })
}

#[test]
fn values_that_take_long_to_read_are_read() {
    ways(&[Way::Cold], |scene| async move {
        let reads = read_slowly(&scene, Operation::ReadKvSnapshot, keeping()).await;
        assert!((1..=12).contains(&reads), "{reads} reads");
    });
}

#[test]
fn a_value_of_another_instance_that_takes_long_to_read_is_read() {
    ways(&[Way::Cold], |scene| async move {
        let reads = read_slowly(&scene, Operation::GetKvValue, keeping()).await;
        // With 5, 10, 20 and 40 seconds.
        assert!((4..=5).contains(&reads), "{reads} reads");
    });
}
