//! What no live node serves, and starts that wait.

use std::time::Duration;

use abide_client::InstanceState;
use abide_provider::TagFilter;
use expect_test::expect;
use tracing::subscriber::set_default;

use super::{MINUTE, build, order, summarizing};
use crate::lessons::listener::Listener;
use crate::lessons::scene::{Scene, Way, ways};

#[test]
fn an_activity_that_no_live_node_serves() {
    summarizing(async |scene: Scene| {
        let code = build("b")
            .activity("Charge", |_, _| async { Ok(String::new()) })
            .orchestration("Order", |ctx, _| async move { ctx.schedule_activity("Chrage", "").await });
        scene.node(code).await;
        scene.start("order-1", "Order", "").await;
        scene
            .explains(
                "order-1",
                5 * MINUTE,
                &expect![[r#"
            order-1 is waiting for activity Chrage (scheduled 5 min ago).
            No live node serves activity 'Chrage' (did you mean 'Charge'?).
            It runs Order 1.0.0, execution 1, created 5 min ago.
            Its last turn was 5 min ago."#]],
            )
            .await;
    });
}

#[test]
fn the_log_names_what_no_live_node_serves_once_per_name_and_minute() {
    ways(&[Way::Fused, Way::Cold], async |scene: Scene| {
        let listener = Listener::default();
        let hearing = set_default(listener.clone());
        let code = || {
            build("b").orchestration("Order", |ctx, _| async move {
                let activity = ctx.schedule_activity("Chrage", "");
                let served_elsewhere = ctx.schedule_activity("Refund", "");
                let child = ctx.schedule_sub_orchestration_versioned("Order", Some("2.0.0".to_owned()), "");
                let _ended = futures::join!(activity, served_elsewhere, child);
                Ok(String::new())
            })
        };
        scene.node(code().activity("Charge", |_, _| async { Ok(String::new()) })).await;
        scene.node(build("other").activity("Refund", |_, _| async { Ok(String::new()) })).await;
        scene.pass(Duration::from_secs(1)).await;
        let missing = "no live node serves activity 'Chrage' (did you mean 'Charge'?); it waits until";
        let build = "no live node serves orchestration 'Order' 2.0.0 (registered: 1.0.0); it waits until";
        for (minute, expected) in [(0, 1), (1, 2)] {
            for number in 0..3 {
                scene.start(&format!("order-{minute}-{number}"), "Order", "").await;
            }
            scene.pass(MINUTE).await;
            assert_eq!(listener.count(missing), expected, "{:#?}", listener.lines());
            assert_eq!(listener.count(build), expected, "{:#?}", listener.lines());
        }
        drop(hearing);
        let line = listener.lines().into_iter().find(|line| line.contains(missing)).unwrap();
        assert!(line.contains("instance_id=order-0-"), "{line}");
        assert_eq!(listener.count("serves activity 'Refund'"), 0, "another node serves it");
    });
}

#[test]
fn a_start_that_waits() {
    summarizing(async |scene: Scene| {
        scene.start("order-1", "Ordr", "").await;
        scene.pass(5 * MINUTE).await;
        expect![[r#"
            order-1 has not started: its start is queued, and no node has taken it yet.
            No live node serves orchestration 'Ordr' (no live node runs orchestrations).
            It is to run Ordr."#]]
        .assert_eq(&scene.describe("order-1").await.to_string());
        scene.node(order("b")).await;
        scene.pass(5 * MINUTE).await;
        let pending = scene.describe("order-1").await;
        expect![[r#"
            order-1 has not started: its start is queued, and no node has taken it yet.
            No live node serves orchestration 'Ordr' (did you mean 'Order'?).
            It is to run Ordr."#]]
        .assert_eq(&pending.to_string());
        assert_eq!(pending.state, InstanceState::Pending { starts_at: None });
        let missing = scene.client().describe("order-2").await.unwrap_err();
        assert_eq!(missing.to_string(), "Instance order-2 not found");
    });
}

#[test]
fn a_version_that_no_live_node_has() {
    summarizing(async |scene: Scene| {
        let old =
            build("old").version("Order", "1.3.0", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) });
        let old = scene.node(old).await;
        scene.start("order-1", "Order", "").await;
        scene.until_idle("order-1").await;
        old.shutdown(None).await;
        scene.node(build("new").version("Order", "1.2.0", |_, _| async { Ok(String::new()) })).await;
        scene
            .explains(
                "order-1",
                5 * MINUTE,
                &expect![[r#"
            order-1 is waiting for event 'go' (for 5 min).
            No live node serves orchestration 'Order' 1.3.0 (registered: 1.2.0).
            It runs Order 1.3.0, execution 1, created 5 min ago.
            Its last turn was 5 min ago."#]],
            )
            .await;
    });
}

#[test]
fn a_start_that_live_nodes_serve() {
    summarizing(async |scene: Scene| {
        for node in ["a", "b"] {
            scene.node(order(node)).await;
        }
        let later = 60 * MINUTE;
        scene.pass(Duration::from_secs(1)).await;
        scene.client().start("order-1", "Order").delay(later).await.unwrap();
        expect![[r#"
            order-1 has not started: its start is delayed for another 60 min.
            2 live nodes serve it.
            It is to run Order."#]]
        .assert_eq(&scene.describe("order-1").await.to_string());
    });
}

#[test]
fn a_tag_that_no_live_node_takes() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], async |scene: Scene| {
        let listener = Listener::of_warnings();
        let hearing = set_default(listener.clone());
        let code = || {
            build("b")
                .activity("Render", |_, _| async { Ok("image".to_owned()) })
                .orchestration("Film", |ctx, _| async move {
                    ctx.schedule_activity("Render", "").with_tag("gpu").await
                })
        };
        scene.node(code()).await;
        scene.pass(Duration::from_secs(1)).await;
        scene.start("film", "Film", "").await;
        scene
            .explains(
                "film",
                5 * MINUTE,
                &expect![[r#"
            film is waiting for activity Render (scheduled 5 min ago).
            No live node serves tag 'gpu' of activity 'Render'.
            It runs Film 1.0.0, execution 1, created 5 min ago.
            Its last turn was 5 min ago."#]],
            )
            .await;
        let timeout = scene.client().wait_for_orchestration("film", MINUTE).await.unwrap_err();
        let expected = "no live node serves tag 'gpu' of activity 'Render'; it waits until";
        assert!(timeout.to_string().contains(expected) && timeout.is_retryable(), "{timeout}");
        drop(hearing);
        assert_eq!(listener.count(expected), 1, "{:#?}", listener.lines());
        scene.node(code().options(|options| options.worker_tag_filter = TagFilter::tags(["gpu"]))).await;
        assert_eq!(scene.end_of("film").await.unwrap(), "image");
    });
}

#[test]
fn the_log_tells_an_orchestration_from_an_activity_of_the_same_name_and_versions_apart() {
    ways(&[Way::Cold], async |scene: Scene| {
        let listener = Listener::of_warnings();
        let hearing = set_default(listener.clone());
        let code = build("b").orchestration("Order", |ctx, _| async move {
            let activity = ctx.schedule_activity("Ship", "");
            let old = ctx.schedule_sub_orchestration_versioned("Ship", Some("1.0.0".to_owned()), "");
            let new = ctx.schedule_sub_orchestration_versioned("Ship", Some("2.0.0".to_owned()), "");
            let _ended = futures::join!(activity, old, new);
            Ok(String::new())
        });
        scene.node(code).await;
        scene.pass(Duration::from_secs(1)).await;
        for number in 0..3 {
            scene.start(&format!("order-{number}"), "Order", "").await;
        }
        scene.pass(MINUTE / 2).await;
        drop(hearing);
        assert_eq!(listener.count("no live node serves activity 'Ship'"), 1, "{:#?}", listener.lines());
        assert_eq!(listener.count("no live node serves orchestration 'Ship'"), 2, "{:#?}", listener.lines());
    });
}
