//! §13.1, §30: which version of an orchestration runs.

use abide_engine::OrchestrationContext;
use abide_model::{EventKind, WorkItem};
use abide_runtime::Runtime;
use abide_runtime::registry::{OrchestrationRegistry, VersionPolicy};
use semver::Version;

use super::support::{Node, Past, World, on_every_store, seconds, virtually};

/// Says which version runs.
#[expect(clippy::unused_async, reason = "it stands where an orchestration does")]
async fn says(ctx: OrchestrationContext, version: &str) -> Result<String, String> {
    assert_eq!(ctx.orchestration_version(), version);
    Ok(version.to_owned())
}

/// Waits for `go`, then says which version runs.
async fn waits(ctx: OrchestrationContext, version: &str) -> Result<String, String> {
    ctx.schedule_wait("go").await;
    says(ctx, version).await
}

fn versions(list: &[&'static str]) -> Node {
    let add = |node: Node, version: &'static str| {
        node.version("Main", version, move |ctx, _| waits(ctx, version)).version(
            "Quick",
            version,
            move |ctx, _| says(ctx, version),
        )
    };
    list.iter().fold(Node::new(), |node, version| add(node, version))
}

async fn recorded_version(world: &World, instance: &str) -> String {
    let started = world.history(instance).await.remove(0);
    let EventKind::OrchestrationStarted { version, .. } = started.kind else { panic!("{started:?}") };
    version
}

#[test]
fn without_a_version_the_latest_runs_and_is_recorded() {
    on_every_store(async |world: World| {
        let runtime = world.run(versions(&["1.0.0", "1.9.0", "1.10.0"])).await;
        assert_eq!(world.start_and_end("i", "Quick", "").await.unwrap(), "1.10.0");
        assert_eq!(recorded_version(&world, "i").await, "1.10.0");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_version_that_was_asked_for_runs_exactly() {
    on_every_store(async |world: World| {
        let runtime = world.run(versions(&["1.0.0", "2.0.0"])).await;
        world.client().start_orchestration_versioned("i", "Quick", "1.0.0", "").await.unwrap();
        assert_eq!(world.end("i").await.unwrap(), "1.0.0");
        assert_eq!(recorded_version(&world, "i").await, "1.0.0");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_policy_names_the_version_and_can_be_changed_while_the_runtime_works() {
    on_every_store(async |world: World| {
        let (activities, orchestrations, options) = versions(&["1.0.0", "2.0.0"]).into_parts();
        let ours = orchestrations.clone();
        let runtime = world.run_with(activities, orchestrations, options).await;
        ours.set_version_policy("Quick", VersionPolicy::Exact(Version::new(1, 0, 0)));
        assert_eq!(world.start_and_end("exact", "Quick", "").await.unwrap(), "1.0.0");
        ours.set_version_policy("Quick", VersionPolicy::Latest);
        assert_eq!(world.start_and_end("latest", "Quick", "").await.unwrap(), "2.0.0");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_policy_whose_version_is_missing_chooses_nothing() {
    virtually(async |world: World| {
        let (activities, orchestrations, options) = versions(&["1.0.0", "2.0.0"]).into_parts();
        orchestrations.set_version_policy("Quick", VersionPolicy::Exact(Version::new(3, 0, 0)));
        let ours = orchestrations.clone();
        let runtime = world.run_with(activities, orchestrations, options).await;
        world.start("i", "Quick", "").await;
        world.pass(seconds(10)).await;
        let status = world.client().get_orchestration_status("i").await.unwrap();
        assert_eq!(status, world.status_of_a_waiting_start(), "no fall back");
        ours.set_version_policy("Quick", VersionPolicy::Latest);
        assert_eq!(world.end("i").await.unwrap(), "2.0.0");
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_execution_keeps_its_version_after_a_new_one_is_deployed() {
    on_every_store(async |world: World| {
        let runtime = world.run(versions(&["1.0.0"])).await;
        world.start("old", "Main", "").await;
        world.recorded("old", "ExternalSubscribed", 1).await;
        runtime.shutdown(None).await;
        let world = world.reopened().await;
        let runtime = world.run(versions(&["1.0.0", "2.0.0"])).await;
        world.start("new", "Main", "").await;
        world.recorded("new", "ExternalSubscribed", 1).await;
        world.raise("old", "go", "").await;
        world.raise("new", "go", "").await;
        assert_eq!(world.end("old").await.unwrap(), "1.0.0");
        assert_eq!(world.end("new").await.unwrap(), "2.0.0");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_recorded_zero_is_no_version() {
    on_every_store(async |world: World| {
        world.start("i", "Main", "").await;
        world
            .write(Past::begins_as("0.0.0", [EventKind::ExternalSubscribed { name: "go".to_owned() }]))
            .await;
        let node = Node::new().version("Main", "1.2.3", |ctx, _| async move {
            ctx.schedule_wait("go").await;
            Ok("found".to_owned())
        });
        let runtime = world.run(node).await;
        world.raise("i", "go", "").await;
        assert_eq!(world.end("i").await.unwrap(), "found");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_registered_zero_is_a_version_like_any_other() {
    on_every_store(async |world: World| {
        let zero = || {
            Node::new().version("Main", "0.0.0", |ctx, _| async move {
                ctx.schedule_wait("go").await;
                Ok("zero".to_owned())
            })
        };
        let runtime = world.run(zero()).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        runtime.shutdown(None).await;
        let node = zero().version("Main", "0.1.0", |_, _| async move { Ok("later".to_owned()) });
        let runtime = world.run(node).await;
        world.raise("i", "go", "").await;
        assert_eq!(world.end("i").await.unwrap(), "zero");
        runtime.shutdown(None).await;
    });
}

#[test]
fn continuing_as_new_upgrades_unless_a_version_is_named() {
    on_every_store(async |world: World| {
        let first = || {
            Node::new().orchestration("Main", |ctx, input| async move {
                ctx.schedule_wait("go").await;
                match input.as_str() {
                    "upgrade" => ctx.continue_as_new("").await,
                    "stay" => ctx.continue_as_new_versioned("1.0.0", "said").await,
                    _ => Ok(ctx.orchestration_version()),
                }
            })
        };
        let runtime = world.run(first()).await;
        for instance in ["upgrade", "stay"] {
            world.start(instance, "Main", instance).await;
            world.recorded(instance, "ExternalSubscribed", 1).await;
        }
        runtime.shutdown(None).await;
        let node = first().version("Main", "2.0.0", |ctx, _| async move { Ok(ctx.orchestration_version()) });
        let runtime = world.run(node).await;
        world.raise("upgrade", "go", "").await;
        assert_eq!(world.end("upgrade").await.unwrap(), "2.0.0");
        world.raise("stay", "go", "").await;
        world.until(async || world.client().list_executions("stay").await.unwrap().len() == 2).await;
        world.recorded("stay", "ExternalSubscribed", 1).await;
        world.raise("stay", "go", "").await;
        assert_eq!(world.end("stay").await.unwrap(), "1.0.0");
        runtime.shutdown(None).await;
    });
}

#[test]
fn children_and_detached_ones_follow_the_policy_unless_told() {
    on_every_store(async |world: World| {
        let node = versions(&["1.0.0", "2.0.0"]).orchestration("Parent", |ctx, _| async move {
            let latest = ctx.schedule_sub_orchestration("Quick", "").await?;
            let told =
                ctx.schedule_sub_orchestration_versioned("Quick", Some("1.0.0".to_owned()), "").await?;
            ctx.schedule_orchestration("Quick", "detached latest", "");
            ctx.schedule_orchestration_versioned("Quick", Some("1.0.0".to_owned()), "detached told", "");
            Ok(format!("{latest} {told}"))
        });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Parent", "").await.unwrap(), "2.0.0 1.0.0");
        assert_eq!(world.end("detached latest").await.unwrap(), "2.0.0");
        assert_eq!(world.end("detached told").await.unwrap(), "1.0.0");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_start_in_the_mail_of_a_running_instance_does_not_change_its_version() {
    on_every_store(async |world: World| {
        let runtime = world.run(versions(&["1.0.0", "2.0.0"])).await;
        world.client().start_orchestration_versioned("i", "Main", "1.0.0", "").await.unwrap();
        world.recorded("i", "ExternalSubscribed", 1).await;
        world
            .mail(WorkItem::StartOrchestration {
                instance: "i".to_owned(),
                orchestration: "Main".to_owned(),
                input: String::new(),
                version: Some("2.0.0".to_owned()),
                parent_instance: None,
                parent_id: None,
                parent_execution_id: None,
                execution_id: 1,
            })
            .await;
        world.raise("i", "go", "").await;
        assert_eq!(world.end("i").await.unwrap(), "1.0.0");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_typed_handler_refuses_an_input_before_its_code_runs() {
    on_every_store(async |world: World| {
        let orchestrations = OrchestrationRegistry::builder()
            .register_typed("Main", |_: OrchestrationContext, input: u32| async move { Ok(input + 1) })
            .build_result()
            .unwrap();
        let (activities, _, options) = Node::new().into_parts();
        let runtime: std::sync::Arc<Runtime> = world.run_with(activities, orchestrations, options).await;
        assert_eq!(world.start_and_end("good", "Main", "41").await.unwrap(), "42");
        let refused = world.start_and_end("bad", "Main", "forty-one").await.unwrap_err();
        assert!(refused.contains("expected"), "the text of the decoder: {refused}");
        assert_eq!(world.history("bad").await.len(), 2);
        runtime.shutdown(None).await;
    });
}
