//! `Client::describe` in ten situations, in virtual time, in every way in which turns are committed.

mod children;
mod unserved;

use std::time::Duration;

use abide_client::{Client, Description, InstanceState};
use abide_model::{BackoffStrategy, RetryPolicy};
use abide_provider::{Ability, HoldWork, LeaseWork, Operation, Provider as _, TagFilter, WorkLease};
use abide_runtime::ProblemPolicy;
use abide_sim::FaultPlan;
use expect_test::{Expect, expect};

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
        let description = self.client().describe(instance).await.unwrap();
        let lines = description.to_string().lines().count();
        assert!((3..=6).contains(&lines), "{lines} lines: {description}");
        description
    }

    /// The explanation after some time, without anything else happening.
    async fn explains(&self, instance: &str, after: Duration, expected: &Expect) -> Description {
        self.until_settled(instance).await;
        self.pass(after).await;
        let description = self.describe(instance).await;
        expected.assert_eq(&description.to_string());
        description
    }

    /// Takes activities away from the nodes.
    async fn lease_activities(&self, limit: usize) -> Vec<WorkLease> {
        let request = LeaseWork {
            limit,
            lease_for: 60 * MINUTE,
            wait: Duration::ZERO,
            session: None,
            tags: TagFilter::Any,
            serving: None,
        };
        self.world.memory.lease_work(request).await.unwrap()
    }

    /// Holds an activity, as a node does after too many crashes.
    async fn hold(&self, lease: &WorkLease) {
        let hold = HoldWork {
            token: lease.token.clone(),
            detail: "activity 'Charge' was under way in 10 crashes".to_owned(),
            build: "b".to_owned(),
        };
        self.world.memory.hold_work(hold).await.unwrap();
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
fn a_quarantined_activity() {
    summarizing(async |scene: Scene| {
        let code = build("b")
            .orchestration("Order", |ctx, _| async move { ctx.schedule_activity("Charge", "").await });
        scene.node(code).await;
        scene.start("order-1", "Order", "").await;
        scene.until(|dump| !dump.work.is_empty()).await;
        let leased = scene.lease_activities(1).await;
        scene.hold(&leased[0]).await;
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
fn a_quarantined_activity_beyond_those_that_are_listed() {
    summarizing(async |scene: Scene| {
        let code = build("b").orchestration("Order", |ctx, _| async move {
            let all = (0..20).map(|_| ctx.schedule_activity("Charge", ""));
            futures::future::join_all(all).await;
            Ok(String::new())
        });
        scene.node(code).await;
        scene.start("order-1", "Order", "").await;
        scene.until(|dump| dump.work.len() == 20).await;
        let leased = scene.lease_activities(20).await;
        scene.hold(&leased[16]).await;
        scene.explains("order-1", 5 * MINUTE, &expect![[r#"
            order-1 is waiting for activity Charge (scheduled 5 min ago).
            Another activity (event 18) is quarantined for 5 min: activity 'Charge' was under way in 10 crashes.
            Repair it, then call client.retry("order-1").
            It also waits for activity Charge (scheduled 5 min ago), activity Charge (scheduled 5 min ago), activity Charge (scheduled 5 min ago), and 16 more.
            It runs Order 1.0.0, execution 1, created 5 min ago.
            Its last turn was 5 min ago."#]]).await;
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
        scene.client().raise_event("order-1", "go", "").await.unwrap();
        scene.end_of("order-1").await.unwrap();
        let ended = client.describe("order-1").await.unwrap().to_string();
        assert!((3..=6).contains(&ended.lines().count()), "{ended}");
    });
}
