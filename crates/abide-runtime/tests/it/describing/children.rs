//! Parents and their children.

use std::time::Duration;

use abide_client::InstanceState;
use expect_test::expect;

use super::{MINUTE, build, summarizing};
use crate::lessons::scene::{Code, Scene};

fn parent(code: Code) -> Code {
    code.orchestration("Shop", |ctx, _| async move { ctx.schedule_sub_orchestration("Order", "").await })
}

fn two_steps(name: &str) -> Code {
    parent(two_steps_of_orders(name))
}

/// The same order without its first step: its histories do not fit.
fn changed(name: &str) -> Code {
    parent(changed_orders(name))
}

/// An order of two steps, with a signal between them.
fn two_steps_of_orders(name: &str) -> Code {
    build(name).orchestration("Order", |ctx, input| async move {
        ctx.schedule_activity("Echo", format!("first {input}")).await?;
        ctx.schedule_wait("go").await;
        Ok(String::new())
    })
}

fn changed_orders(name: &str) -> Code {
    build(name).orchestration("Order", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) })
}

#[test]
fn a_child() {
    summarizing(async |scene: Scene| {
        scene.node(two_steps("b")).await;
        scene.start("shop", "Shop", "").await;
        scene.until_idle("shop::sub::2").await;
        scene
            .explains(
                "shop",
                5 * MINUTE,
                &expect![[r#"
            shop is waiting for child shop::sub::2 (orchestration Order, for 5 min).
            It runs Shop 1.0.0, execution 1, created 5 min ago.
            Its last turn was 5 min ago; it has 1 child."#]],
            )
            .await;
        scene
            .explains(
                "shop::sub::2",
                Duration::ZERO,
                &expect![[r#"
            shop::sub::2 is waiting for event 'go' (for 5 min).
            It runs Order 1.0.0, execution 1, created 5 min ago.
            Its last turn was 5 min ago; its parent is shop."#]],
            )
            .await;
    });
}

#[test]
fn a_blocked_instance_and_the_parent_that_waits_for_it() {
    summarizing(async |scene: Scene| {
        let good = scene.node(two_steps("good")).await;
        scene.start("shop", "Shop", "").await;
        scene.until_idle("shop::sub::2").await;
        good.shutdown(None).await;
        scene.node(changed("bad")).await;
        scene.client().raise_event("shop::sub::2", "go", "").await.unwrap();
        scene.until(|dump| dump.instances.values().any(|it| it.block.is_some())).await;
        scene.pass(5 * MINUTE).await;
        let blocked = scene.describe("shop::sub::2").await;
        expect![[r#"
            shop::sub::2 is blocked (nondeterminism at event 2) for 5 min.
            Build bad could not run it: nondeterministic: schedule mismatch: action=WaitExternal { scheduling_event_id: 0, name: "go" } vs event=ActivityScheduled { name: "Echo", input: "<6 bytes>", session_id: None, tag: None }.
            It keeps everything it has. Deploy a build that can run it, or call client.retry("shop::sub::2") to have every build try again.
            It runs Order 1.0.0, execution 1, created 5 min ago.
            Its last turn was 5 min ago; 1 message is queued for its next turn; its parent is shop."#]].assert_eq(&blocked.to_string());
        assert_eq!(blocked.state, InstanceState::Blocked);
        assert_eq!(blocked.blocks.first().and_then(|block| block.event_id), Some(2));
        let parent = scene.describe("shop").await;
        expect![[r#"
            shop is waiting for child shop::sub::2 (orchestration Order, for 5 min).
            The child is blocked (nondeterminism at event 2) for 5 min: nondeterministic: schedule mismatch: action=WaitExternal { scheduling_event_id: 0, name: "go" } vs event=ActivityScheduled { name: "Echo", input: "<6 bytes>", session_id: None, tag: None }.
            Repair it, then call client.retry("shop::sub::2").
            It runs Shop 1.0.0, execution 1, created 5 min ago.
            Its last turn was 5 min ago; it has 1 child."#]].assert_eq(&parent.to_string());
    });
}

#[test]
fn the_tenth_of_twenty_children_that_is_blocked() {
    let fan_out = |code: Code| {
        code.orchestration("Shop", |ctx, _| async move {
            let children = (0..20).map(|_| ctx.schedule_sub_orchestration("Order", ""));
            futures::future::join_all(children).await;
            Ok(String::new())
        })
    };
    summarizing(async |scene: Scene| {
        let good = scene.node(fan_out(two_steps_of_orders("good"))).await;
        scene.start("shop", "Shop", "").await;
        for child in 2..22 {
            scene.until_idle(&format!("shop::sub::{child}")).await;
        }
        good.shutdown(None).await;
        scene.node(fan_out(changed_orders("bad"))).await;
        scene.client().raise_event("shop::sub::11", "go", "").await.unwrap();
        scene.until(|dump| dump.instances.values().any(|it| it.block.is_some())).await;
        scene.pass(5 * MINUTE).await;
        let parent = scene.describe("shop").await;
        let text = parent.to_string();
        let mut lines = text.lines();
        let first = "shop is waiting for child shop::sub::11 (orchestration Order, for 5 min).";
        assert_eq!(lines.next(), Some(first));
        let blocked = lines.next().unwrap_or_default();
        assert!(blocked.starts_with("The child is blocked (nondeterminism at event 2) for 5 min"), "{text}");
        assert_eq!(lines.next(), Some("Repair it, then call client.retry(\"shop::sub::11\")."));
    });
}

#[test]
fn a_child_whose_version_no_live_node_has() {
    summarizing(async |scene: Scene| {
        let order = |build, version| {
            parent(build).version("Order", version, |ctx, _| async move { Ok(ctx.schedule_wait("go").await) })
        };
        let old = scene.node(order(build("old"), "1.3.0")).await;
        scene.start("shop", "Shop", "").await;
        scene.until_idle("shop::sub::2").await;
        old.shutdown(None).await;
        scene.node(order(build("new"), "1.2.0")).await;
        scene
            .explains(
                "shop",
                5 * MINUTE,
                &expect![[r#"
            shop is waiting for child shop::sub::2 (orchestration Order, for 5 min).
            No live node serves orchestration 'Order' 1.3.0 (registered: 1.2.0).
            It runs Shop 1.0.0, execution 1, created 5 min ago.
            Its last turn was 5 min ago; it has 1 child."#]],
            )
            .await;
    });
}
