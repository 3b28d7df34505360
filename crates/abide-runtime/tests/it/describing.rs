//! `Client::describe` in ten situations, in virtual time, in every way in which turns are committed.

use std::time::Duration;

use abide_client::{Client, Description, InstanceState};
use abide_model::{BackoffStrategy, RetryPolicy};
use abide_provider::{Ability, HoldWork, LeaseWork, Operation, Provider as _, TagFilter};
use abide_runtime::ProblemPolicy;
use abide_sim::FaultPlan;
use expect_test::{Expect, expect};
use tracing::subscriber::set_default;

use crate::lessons::listener::Listener;
use crate::lessons::scene::{Code, Scene, Way, ways};

/// Runs a test in each way in which the store keeps what instances wait for; in one if it writes its
/// snapshot.
fn summarizing<F: Future<Output = ()>>(test: impl Fn(Scene) -> F) {
    let all = [Way::Fused, Way::Resident, Way::Cold];
    let is_writing = std::env::var_os("UPDATE_EXPECT").is_some();
    ways(if is_writing { &all[..1] } else { &all }, test);
}

const MINUTE: Duration = Duration::from_secs(60);

/// Code with the policies of `Runtime::builder`.
fn build(name: &str) -> Code {
    Code::bare().options(|options| {
        options.build_id = Some(name.to_owned());
        for policy in [
            &mut options.on_nondeterminism,
            &mut options.on_panic,
            &mut options.on_corrupt,
            &mut options.on_crashes,
            &mut options.on_missing,
        ] {
            *policy = Some(ProblemPolicy::Block);
        }
    })
}

impl Scene {
    async fn describe(&self, instance: &str) -> Description {
        self.client().describe(instance).await.unwrap()
    }

    /// The explanation after some time, without anything else happening.
    async fn explains(&self, instance: &str, after: Duration, expected: &Expect) -> Description {
        self.until_settled(instance).await;
        self.pass(after).await;
        let description = self.describe(instance).await;
        expected.assert_eq(&description.to_string());
        description
    }

    /// Waits until no turn of the instance is under way or due.
    async fn until_settled(&self, instance: &str) {
        self.until(|dump| {
            dump.instances.get(instance).is_some_and(|it| it.leased_until.is_none())
                && dump.messages.values().all(|mail| mail.mailbox != instance || mail.visible_at.is_some())
        })
        .await;
    }
}

fn order(version: &str) -> Code {
    build(version).orchestration("Order", |ctx, _| async move {
        let policy = RetryPolicy::new(5).with_backoff(BackoffStrategy::Fixed { delay: MINUTE });
        ctx.schedule_activity("Echo", "").await?;
        ctx.schedule_activity_with_retry("Fail", "card declined", policy).await
    })
}

#[test]
fn a_retried_activity() {
    summarizing(async |scene: Scene| {
        scene.node(order("b")).await;
        scene.start("order-17", "Order", "").await;
        scene.until(|dump| dump.executions.values().any(|it| it.event_ids.len() > 12)).await;
        let text = expect![[r#"
            order-17 is waiting for activity Fail (scheduled 2 min ago, attempt 3 of 5).
            Last error: card declined. Next try in 29 s.
            It runs Order 1.0.0, execution 1, created 2 min ago.
            Its last turn was 31 s ago."#]];
        let description = scene.explains("order-17", Duration::from_secs(30), &text).await;
        assert_eq!(description.state, InstanceState::Running);
        assert_eq!(description.open, Some(1));
    });
}

#[test]
fn a_running_activity() {
    summarizing(async |scene: Scene| {
        let code = build("b").orchestration("Order", |ctx, _| async move {
            ctx.schedule_activity("Echo", "").await?;
            ctx.timeout(10 * MINUTE, ctx.schedule_activity("Sleep", "300000")).await?
        });
        scene.node(code).await;
        scene.start("order-1", "Order", "").await;
        scene
            .until(|dump| dump.work.values().any(|work| work.leased_until.is_some() && work.activity == 4))
            .await;
        scene
            .explains(
                "order-1",
                MINUTE,
                &expect![[r#"
            order-1 is waiting for activity Sleep (scheduled 60 s ago).
            A node is running it (delivery 1, its lease ends in 29 s).
            It also waits for a timer that fires in 8 min (set 60 s ago).
            It runs Order 1.0.0, execution 1, created 60 s ago.
            Its last turn was 60 s ago."#]],
            )
            .await;
    });
}

#[test]
fn a_timer() {
    summarizing(async |scene: Scene| {
        let code = build("b").orchestration("Order", |ctx, _| async move {
            ctx.schedule_timer(60 * MINUTE).await;
            Ok(String::new())
        });
        scene.node(code).await;
        scene.start("order-1", "Order", "").await;
        scene
            .explains(
                "order-1",
                5 * MINUTE,
                &expect![[r#"
            order-1 is waiting for a timer that fires in 54 min (set 5 min ago).
            It runs Order 1.0.0, execution 1, created 5 min ago.
            Its last turn was 5 min ago."#]],
            )
            .await;
    });
}

#[test]
fn an_event_with_unread_messages_beside() {
    summarizing(async |scene: Scene| {
        let code = build("b").orchestration("Order", |ctx, _| async move {
            ctx.schedule_wait("approved").await;
            Ok(ctx.dequeue_event("orders").await)
        });
        scene.node(code).await;
        scene.start("order-1", "Order", "").await;
        scene.until_idle("order-1").await;
        for queue in ["orders", "orders", "returns"] {
            scene.client().enqueue_event("order-1", queue, "").await.unwrap();
        }
        scene.pass(MINUTE).await;
        scene
            .explains(
                "order-1",
                5 * MINUTE,
                &expect![[r#"
            order-1 is waiting for event 'approved' (for 6 min).
            It runs Order 1.0.0, execution 1, created 6 min ago.
            Its last turn was 6 min ago; unread messages by queue: orders 2, returns 1."#]],
            )
            .await;
    });
}

#[test]
fn a_queue() {
    summarizing(async |scene: Scene| {
        let code =
            build("b").orchestration("Order", |ctx, _| async move { Ok(ctx.dequeue_event("orders").await) });
        scene.node(code).await;
        scene.start("order-1", "Order", "").await;
        scene
            .explains(
                "order-1",
                5 * MINUTE,
                &expect![[r#"
            order-1 is waiting for a message of queue 'orders' (for 5 min).
            It runs Order 1.0.0, execution 1, created 5 min ago.
            Its last turn was 5 min ago."#]],
            )
            .await;
    });
}

fn parent(code: Code) -> Code {
    code.orchestration("Shop", |ctx, _| async move { ctx.schedule_sub_orchestration("Order", "").await })
}

/// An order of two steps, with a signal between them.
fn two_steps(name: &str) -> Code {
    parent(build(name)).orchestration("Order", |ctx, input| async move {
        ctx.schedule_activity("Echo", format!("first {input}")).await?;
        ctx.schedule_wait("go").await;
        Ok(String::new())
    })
}

/// The same order without its first step: its histories do not fit.
fn changed(name: &str) -> Code {
    parent(build(name)).orchestration("Order", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) })
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
fn nothing_that_could_arrive() {
    summarizing(async |scene: Scene| {
        let code = build("b").orchestration("Order", |ctx, _| async move {
            ctx.schedule_activity("Echo", "").await?;
            std::future::pending().await
        });
        scene.node(code).await;
        scene.start("order-1", "Order", "").await;
        scene.until_idle("order-1").await;
        scene.explains("order-1", 5 * MINUTE, &expect![[r#"
            order-1 is waiting for nothing that could arrive (for 5 min): its code awaits something that is not durable.
            It runs Order 1.0.0, execution 1, created 5 min ago.
            Its last turn was 5 min ago."#]]).await;
    });
}

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
fn a_quarantined_activity() {
    summarizing(async |scene: Scene| {
        let code = build("b")
            .orchestration("Order", |ctx, _| async move { ctx.schedule_activity("Charge", "").await });
        scene.node(code).await;
        scene.start("order-1", "Order", "").await;
        scene.until(|dump| !dump.work.is_empty()).await;
        let memory = &scene.world.memory;
        let request = LeaseWork {
            limit: 1,
            lease_for: MINUTE,
            wait: Duration::ZERO,
            session: None,
            tags: TagFilter::Any,
            serving: None,
        };
        let leased = memory.lease_work(request).await.unwrap();
        let hold = HoldWork {
            token: leased[0].token.clone(),
            detail: "activity 'Charge' was under way in 10 crashes".to_owned(),
            build: "b".to_owned(),
        };
        memory.hold_work(hold).await.unwrap();
        let description = scene
            .explains(
                "order-1",
                5 * MINUTE,
                &expect![[r#"
            order-1 is waiting for activity Charge (scheduled 5 min ago).
            The activity is quarantined for 5 min: activity 'Charge' was under way in 10 crashes.
            Repair it, then call client.retry("order-1").
            It runs Order 1.0.0, execution 1, created 5 min ago.
            Its last turn was 5 min ago."#]],
            )
            .await;
        assert_eq!(description.state, InstanceState::Running, "its turns go on");
    });
}

#[test]
fn what_has_ended() {
    summarizing(async |scene: Scene| {
        let code = build("b")
            .orchestration("Order", |_, _| async { Ok("secret".to_owned()) })
            .orchestration(
                "Broken",
                |ctx, _| async move { ctx.schedule_activity("Fail", "card declined").await },
            )
            .orchestration("Wait", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) });
        scene.node(code).await;
        scene.run("completed", "Order", "").await.unwrap();
        scene.run("failed", "Broken", "").await.unwrap_err();
        scene.start("canceled", "Wait", "").await;
        scene.until_idle("canceled").await;
        scene.client().cancel_instance("canceled", "no longer needed").await.unwrap();
        scene.end_of("canceled").await.unwrap_err();
        scene.pass(5 * MINUTE).await;
        let mut texts = Vec::new();
        for instance in ["completed", "failed", "canceled"] {
            texts.push(scene.describe(instance).await.to_string());
        }
        expect![[r#"
            completed completed 5 min ago.
            It ran Order 1.0.0, execution 1, created 5 min ago.
            It took 0 ms from its first turn to its end.

            failed failed 5 min ago.
            Error: card declined.
            It ran Broken 1.0.0, execution 1, created 5 min ago.
            It took 0 ms from its first turn to its end.

            canceled was canceled 5 min ago.
            Reason: no longer needed.
            It ran Wait 1.0.0, execution 1, created 5 min ago.
            It took 10 ms from its first turn to its end."#]]
        .assert_eq(&texts.join("\n\n"));
    });
}

/// The calls that a description makes, and how often each.
async fn calls(scene: &Scene, instance: &str) -> Vec<(Operation, u64)> {
    let counting = scene.world.faulty(FaultPlan::none());
    let client = Client::builder(counting.clone()).clock(scene.world.clock.clone()).build();
    client.describe(instance).await.unwrap();
    counting.calls()
}

#[test]
fn a_description_costs_the_same_for_every_length_of_history() {
    ways(&[Way::Fused], async |scene: Scene| {
        let code = build("b").orchestration("Order", |ctx, input| async move {
            for _ in 0..input.parse::<u32>().unwrap() {
                ctx.set_kv_value("key", "value");
            }
            Ok(ctx.schedule_wait("go").await)
        });
        scene.node(code).await;
        scene.start("short", "Order", "8").await;
        scene.start("long", "Order", "99998").await;
        scene.until_idle("short").await;
        scene.until_idle("long").await;
        let expected = [(Operation::ReadOverview, 1), (Operation::ReadBlocks, 1), (Operation::Nodes, 1)];
        for (instance, events) in [("short", 10), ("long", 100_000)] {
            assert_eq!(scene.events(instance, 1).await.len(), events);
            assert_eq!(calls(&scene, instance).await, expected, "{instance}");
        }
    });
}

#[test]
fn a_store_with_the_required_methods_only_tells_less() {
    ways(&[Way::Plain], async |scene: Scene| {
        scene.node(Code::new()).await;
        scene.start("order-1", "Wait", "").await;
        scene.until_idle("order-1").await;
        let client = Client::builder(scene.store()).clock(scene.world.clock.clone()).build();
        assert!(!scene.store().abilities().has(Ability::Overviews));
        let description = client.describe("order-1").await.unwrap();
        assert_eq!((description.state.clone(), description.open), (InstanceState::Running, None));
        expect![[r#"
            order-1 is running (this store does not keep what it waits for).
            It runs Wait 1.0.0, execution 1, created 10 ms ago.
            Its last turn was 10 ms ago."#]]
        .assert_eq(&description.to_string());
    });
}
