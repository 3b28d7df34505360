//! W19, S19, S20, S24: shutting down at any moment, and names that nobody has twice.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use abide_client::Client;
use abide_engine::OrchestrationContext;
use abide_host::SystemEntropy;
use abide_model::{OrchestrationStatus, Spawn as _};
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide_runtime::{ActivityContext, Runtime};
use abide_sim::{FaultPlan, Gate, VirtualClock, simulate};
use abide_sqlite::SqliteProvider;
use futures::FutureExt as _;
use tokio::sync::Notify;

use crate::lessons::scene::{Code, LONG, Scene, Way, every_way, is_leased, ways};

fn program() -> Code {
    Code::new().orchestration("It", |ctx, _| async move {
        ctx.set_kv_value("key", "value");
        let activities =
            (0..3).map(|number| ctx.schedule_activity("Sleep", (number * 50).to_string())).collect();
        ctx.join(activities).await;
        ctx.schedule_timer(Duration::from_millis(100)).await;
        ctx.schedule_activity_on_session("Sleep", "50", "desk").await?;
        ctx.schedule_sub_orchestration("Hello", "child").await
    })
}

/// Shuts a node down when the store is called for the `number`th time; another one has to go on.
async fn stopped_at(scene: &Scene, number: u64, grace: u64) {
    let reached = Arc::new(Notify::new());
    let signal = Arc::clone(&reached);
    scene.faults.set_plan(FaultPlan::none().when(move |call| {
        if call.number == number {
            signal.notify_one();
        }
        None
    }));
    let node = scene.node(program()).await;
    scene.start("it", "It", "").await;
    reached.notified().await;
    let before = scene.time();
    node.shutdown(Some(grace)).await;
    assert!(scene.time() - before <= Duration::from_millis(grace + 250), "{:?}", scene.time() - before);
    assert_eq!(scene.world.tasks.names(), [""; 0]);
    let dump = scene.world.memory.dump();
    assert!(!is_leased(&dump), "at call {number}: {dump:#?}");
    let tried = dump.work.values().map(|work| work.attempts).max();
    assert!(tried.unwrap_or_default() == 0, "an attempt was used up at call {number}");
    scene.faults.set_plan(FaultPlan::none());
    scene.node(program()).await;
    assert_eq!(scene.end_of("it").await.unwrap(), "hello child");
}

#[test]
fn w19_no_lease_is_left_behind_whenever_a_node_is_shut_down() {
    for way in Way::ALL {
        let calls = simulate(LONG, async {
            let scene = Scene::new(way);
            scene.node(program()).await;
            assert_eq!(scene.run("it", "It", "").await.unwrap(), "hello child");
            let calls = scene.faults.calls().len();
            scene.close().await;
            u64::try_from(calls).unwrap()
        });
        assert!(calls > 20, "{calls}");
        for number in 1..=calls {
            for grace in [0, 60] {
                simulate(LONG, async {
                    let scene = Scene::new(way);
                    stopped_at(&scene, number, grace).await;
                    scene.close().await;
                });
            }
        }
    }
}

#[tokio::test]
async fn s19_a_runtime_that_was_shut_down_holds_nothing_of_its_store() {
    let store = Arc::new(SqliteProvider::new_in_memory().await.unwrap());
    for round in 0..5 {
        let activities = ActivityRegistry::builder()
            .register("Echo", |_: ActivityContext, input: String| async move { Ok(input) })
            .build();
        let orchestrations = OrchestrationRegistry::builder()
            .register("Echo", |ctx: OrchestrationContext, input: String| async move {
                ctx.schedule_activity("Echo", input).await
            })
            .build();
        let node = Runtime::start_with_store(store.clone(), activities, orchestrations).await;
        let client = Client::new(store.clone());
        let name = format!("echo-{round}");
        client.start_orchestration(&name, "Echo", "you").await.unwrap();
        let status = client.wait_for_orchestration(&name, Duration::from_secs(30)).await.unwrap();
        assert!(matches!(status, OrchestrationStatus::Completed { .. }), "{status:?}");
        node.shutdown(None).await;
        drop(client);
        assert_eq!(Arc::strong_count(&store), 1);
    }
}

#[test]
fn s20_leases_are_renewed_while_a_node_drains() {
    every_way(|scene| async move {
        let runs = Arc::new(AtomicU32::new(0));
        let gate = Gate::closed();
        let code = || {
            let (runs, gate) = (Arc::clone(&runs), gate.clone());
            Code::new()
                .activity("Long", move |_, _| {
                    runs.fetch_add(1, Ordering::Relaxed);
                    let gate = gate.clone();
                    async move {
                        gate.pass().await;
                        VirtualClock::new().sleep(Duration::from_secs(100)).await;
                        Ok("done".to_owned())
                    }
                })
                .orchestration("Asks", |ctx, _| async move { ctx.schedule_activity("Long", "").await })
        };
        let draining = scene.node(code()).await;
        scene.start("asks", "Asks", "").await;
        gate.waiting().await;
        // There to take what is not renewed any more.
        scene.node(code()).await;
        scene.world.tasks.spawn("stopping", async move { draining.shutdown(Some(300_000)).await }.boxed());
        gate.open();
        assert_eq!(scene.end_of("asks").await.unwrap(), "done");
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn s24_ids_are_unique_across_nodes_and_follow_no_clock() {
    ways(&[Way::Fused, Way::Resident], |scene| async move {
        let mut nodes = Vec::new();
        for _ in 0..16 {
            let code = Code::bare().orchestration("Draws", |ctx, _| async move {
                let drawing = (0..64).map(|_| ctx.new_guid()).collect();
                let ids: Result<Vec<_>, _> = ctx.join(drawing).await.into_iter().collect();
                Ok(ids?.join(" "))
            });
            let node = Runtime::builder()
                .with_reference_policies()
                .with_provider(scene.store())
                .with_activities(code.activities.build())
                .with_orchestrations(code.orchestrations.build())
                .with_clock(scene.world.clock.clone())
                .with_entropy(Arc::new(SystemEntropy))
                .with_spawn(scene.world.tasks.clone());
            nodes.push(node.build().await.unwrap());
        }
        let mut all = Vec::new();
        for number in 0..16 {
            let ids = scene.run(&format!("draws-{number}"), "Draws", "").await.unwrap();
            all.extend(ids.split(' ').map(str::to_owned));
        }
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 1_024);
        let rising = all.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((400..=623).contains(&rising), "{rising} of 1023 follow each other");
        for node in nodes {
            node.shutdown(None).await;
        }
    });
}
