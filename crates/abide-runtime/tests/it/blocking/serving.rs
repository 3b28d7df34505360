//! Nodes that serve different handlers on one store.

use abide_provider::Provider as _;
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide_runtime::{InvalidOptions, Runtime, RuntimeOptions, StartError};

use super::*;
use crate::lessons::scene::ways;

/// A service with one orchestration and one activity of its own.
fn service(name: &'static str) -> Code {
    let activity = format!("{name}Step");
    let step = activity.clone();
    build(name).activity(&activity, |_, input| async move { Ok(input) }).orchestration(
        name,
        move |ctx, input| {
            let step = step.clone();
            async move { ctx.schedule_activity(step, input).await }
        },
    )
}

#[test]
fn services_with_different_handlers_share_a_store_without_noticing_each_other() {
    ways(&REMEMBERING, async |scene| {
        scene.node(service("Orders")).await;
        scene.node(service("Mail")).await;
        for number in 0..20 {
            let name = if number % 2 == 0 { "Orders" } else { "Mail" };
            scene.start(&format!("i{number}"), name, "x").await;
        }
        for number in 0..20 {
            assert_eq!(scene.end_of(&format!("i{number}")).await.unwrap(), "x");
        }
    });
}

#[test]
fn a_missing_handler_never_counts_and_never_fails() {
    ways(&Way::ALL, async |scene| {
        let orchestrator = build("a")
            .orchestration("Order", |ctx, input| async move { ctx.schedule_activity("Chrage", input).await });
        scene.node(orchestrator).await;
        scene.start("order", "Order", "x").await;
        scene.start("stranger", "Unknown", "x").await;
        scene.pass(MINUTE * 600).await;
        let dump = scene.world.memory.dump();
        assert!(dump.work.values().all(|work| work.attempts == 0), "{:?}", dump.work);
        assert!(dump.messages.values().all(|message| message.attempts == 0), "{:?}", dump.messages);
        let repaired = build("b")
            .activity("Chrage", |_, input| async move { Ok(input) })
            .orchestration("Unknown", |_, input| async move { Ok(input) });
        scene.node(repaired).await;
        assert_eq!(scene.end_of("order").await.unwrap(), "x");
        assert_eq!(scene.end_of("stranger").await.unwrap(), "x");
    });
}

#[test]
fn a_node_may_run_turns_only_and_another_activities_only() {
    ways(&Way::ALL, async |scene| {
        let code = || service("Orders");
        scene.node(code().options(|options| options.worker_concurrency = 0)).await;
        scene.node(code().options(|options| options.orchestration_concurrency = 0)).await;
        assert_eq!(scene.run("order", "Orders", "x").await.unwrap(), "x");
    });
}

#[test]
fn a_node_that_runs_nothing_is_refused() {
    ways(&[Way::Fused], async |scene| {
        let options = RuntimeOptions {
            worker_concurrency: 0,
            orchestration_concurrency: 0,
            ..RuntimeOptions::default()
        };
        let refused = Runtime::builder()
            .with_provider(scene.store())
            .with_activities(ActivityRegistry::builder().build())
            .with_orchestrations(OrchestrationRegistry::builder().build())
            .with_options(options)
            .build()
            .await;
        assert_eq!(refused.unwrap_err(), StartError::InvalidOptions(InvalidOptions::NoSlots));
    });
}

#[test]
fn a_node_that_renews_a_lease_is_seen_again_and_an_idle_one_is_not() {
    ways(&REMEMBERING, async |scene| {
        let seen = async || scene.world.memory.nodes().await.unwrap()[0].last_seen;
        let slow = |_, input: String| async move {
            std::future::pending::<()>().await;
            Ok(input)
        };
        let code = build("slow")
            .activity("Slow", slow)
            .orchestration("Slow", |ctx, input| async move { ctx.schedule_activity("Slow", input).await });
        scene.node(code).await;
        scene.pass(MINUTE).await;
        let first = seen().await;
        scene.pass(60 * MINUTE).await;
        assert_eq!(seen().await, first, "an idle node writes nothing");
        scene.start("slow", "Slow", "x").await;
        scene.pass(5 * MINUTE).await;
        assert!(seen().await > first, "it renews the lease of its activity");
    });
}

#[test]
fn nodes_announce_themselves_and_are_forgotten_when_they_stop() {
    ways(&REMEMBERING, async |scene| {
        let node = scene.node(service("Orders")).await;
        scene.pass(Duration::from_secs(1)).await;
        let known = scene.world.memory.nodes().await.unwrap();
        let announcement = &known[0].announcement;
        assert_eq!((known.len(), announcement.build.as_str()), (1, "Orders"));
        assert_eq!(announcement.orchestrations[0].name, "Orders");
        assert!(announcement.activities.contains(&"OrdersStep".to_owned()));
        node.shutdown(None).await;
        assert_eq!(scene.world.memory.nodes().await.unwrap(), []);
    });
}
