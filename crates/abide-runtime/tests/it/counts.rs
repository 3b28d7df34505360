//! What a runtime costs its store, counted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide_client::Client;
use abide_engine::OrchestrationContext;
use abide_provider::Operation;
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide_runtime::{ActivityContext, Runtime, RuntimeOptions};
use abide_sim::{Fault, FaultPlan};

use crate::e2e::support::postgres::{Guest, Time};
use crate::lessons::scene::{Code, Scene, Way, ways};

const HOUR: Duration = Duration::from_secs(60 * 60);
const STEPS: u64 = 100;

/// One activity after another.
fn chain() -> Code {
    Code::new().orchestration("Chain", |ctx, _| async move {
        for step in 0..STEPS {
            ctx.schedule_activity("Echo", step.to_string()).await?;
        }
        Ok("done".to_owned())
    })
}

fn calls(scene: &Scene) -> usize {
    scene.faults.calls().len()
}

#[test]
fn an_idle_hour_costs_two_looks_at_each_lane_a_minute_and_the_gauges_every_ten() {
    ways(&[Way::Fused, Way::Resident], |scene| async move {
        scene.node(chain()).await;
        scene.pass(HOUR).await;
        for (operation, most) in [
            (Operation::LeaseInstances, 121),
            (Operation::LeaseWork, 121),
            (Operation::GetSystemMetrics, 7),
            (Operation::GetQueueDepths, 7),
            (Operation::CleanupOrphanedSessions, 4),
            (Operation::RenewSessionLock, 1),
        ] {
            assert!(scene.faults.count(operation) <= most, "{operation}: {}", scene.faults.count(operation));
        }
        assert!(calls(&scene) <= 2 * 121 + 2 * 7 + 5, "{:?}", scene.faults.calls());
    });
}

#[test]
fn a_step_is_one_commit_and_one_result() {
    ways(&[Way::Resident], |scene| async move {
        scene.node(chain()).await;
        assert_eq!(scene.run("i", "Chain", "").await.unwrap(), "done");
        assert_eq!(scene.faults.count(Operation::CommitTurn), STEPS + 1);
        assert_eq!(scene.faults.count(Operation::FinishWork), STEPS);
        // What stays in memory is not read again.
        assert_eq!(scene.faults.count(Operation::ReadHistoryAfter), 0);
        // Beside the two that write, a look at each lane.
        assert!(calls(&scene) <= 410, "{:?}", scene.faults.calls());
    });
}

#[test]
fn a_fused_step_is_one_commit() {
    ways(&[Way::Fused], |scene| async move {
        scene.node(chain()).await;
        assert_eq!(scene.run("i", "Chain", "").await.unwrap(), "done");
        assert_eq!(scene.faults.count(Operation::CommitTurn), STEPS + 1);
        assert_eq!(scene.faults.count(Operation::FinishWork), 0);
        assert_eq!(scene.faults.count(Operation::ReadHistoryAfter), 0);
        // Only the first turn has a lease: that one, and the look that waits for more.
        assert_eq!(scene.faults.count(Operation::LeaseInstances), 2);
        // Beside the commit, a look for activities.
        assert!(calls(&scene) <= 210, "{:?}", scene.faults.calls());
    });
}

#[test]
fn whoever_continues_as_new_goes_on_in_his_slot() {
    ways(&[Way::Fused, Way::Resident], |scene| async move {
        let code = Code::bare().orchestration("Loop", |ctx, left| async move {
            match left.parse::<u64>().unwrap_or_default() {
                0 => Ok("done".to_owned()),
                left => ctx.continue_as_new((left - 1).to_string()).await,
            }
        });
        scene.node(code).await;
        assert_eq!(scene.run("i", "Loop", &STEPS.to_string()).await.unwrap(), "done");
        assert_eq!(scene.faults.count(Operation::CommitTurn), STEPS + 1);
        // The start is leased, and each look that finds nothing waits: a commit rings.
        assert!(scene.faults.count(Operation::LeaseInstances) <= 3, "{:?}", scene.faults.calls());
    });
}

#[test]
fn an_instance_that_is_heavier_than_all_room_together_is_not_replayed_at_every_turn() {
    ways(&[Way::Fused, Way::Resident], |scene| async move {
        scene.node(chain().options(|options| options.instance_cache_bytes = 1_000)).await;
        assert_eq!(scene.run("i", "Chain", "").await.unwrap(), "done");
        assert_eq!(scene.faults.count(Operation::ReadHistoryAfter), 0);
    });
}

#[test]
fn results_that_the_store_does_not_take_hold_their_slots_when_there_are_four_for_each() {
    ways(&[Way::Fused, Way::Resident, Way::Plain], |scene| async move {
        let runs = Arc::new(AtomicU64::new(0));
        let code = Code::bare()
            .activity("Count", {
                let runs = runs.clone();
                move |_, input| {
                    runs.fetch_add(1, Ordering::Relaxed);
                    async move { Ok(input) }
                }
            })
            .orchestration("Many", |ctx, _| async move {
                let all = (0..20).map(|number| ctx.schedule_activity("Count", number.to_string()));
                Ok(ctx.join(all.collect()).await.len().to_string())
            })
            .options(|options| options.worker_concurrency = 1);
        let outage = scene.way.finish();
        scene.faults.set_plan(
            FaultPlan::none().when(move |call| (call.operation == outage).then_some(Fault::NotApplied)),
        );
        scene.node(code).await;
        scene.start("i", "Many", "").await;
        scene.pass(HOUR).await;
        assert_eq!(runs.load(Ordering::Relaxed), 5, "four wait, and the fifth has the slot");
        scene.faults.set_plan(FaultPlan::none());
        assert_eq!(scene.end_of("i").await.unwrap(), "20");
        assert_eq!(runs.load(Ordering::Relaxed), 20, "leases were kept: nothing ran twice");
    });
}

/// So many orchestrations, each of so many activities one after the other.
#[derive(Clone, Copy)]
struct Chains {
    number: u64,
    steps: u64,
}

/// How often a runtime on PostgreSQL sends each statement until all the chains, which wait for it, are done.
fn sent_to_postgres(guest: &Guest, chains: Chains, options: RuntimeOptions) -> BTreeMap<&'static str, u64> {
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    tokio.block_on(async {
        let store = Arc::new(guest.room().open().await);
        let activities = ActivityRegistry::builder()
            .register("Echo", |_: ActivityContext, said: String| async move { Ok(said) })
            .build();
        let orchestrations = OrchestrationRegistry::builder()
            .register("Chain", move |ctx: OrchestrationContext, _: String| async move {
                for step in 0..chains.steps {
                    ctx.schedule_activity("Echo", step.to_string()).await?;
                }
                Ok("done".to_owned())
            })
            .build();
        let client = Client::new(store.clone());
        let ids: Vec<String> = (0..chains.number).map(|chain| format!("chain-{chain}")).collect();
        for id in &ids {
            client.start_orchestration(id, "Chain", "").await.unwrap();
        }
        let runtime = Runtime::start_with_options(store.clone(), activities, orchestrations, options).await;
        for id in &ids {
            client.wait_for_orchestration(id, Duration::from_secs(60)).await.unwrap();
        }
        runtime.shutdown(None).await;
        store.statements_sent().into_iter().collect()
    })
}

#[test]
fn a_step_on_postgresql_is_one_statement() {
    let Some(guest) = Guest::enter(Time::Servers) else { return };
    let sent = sent_to_postgres(&guest, Chains { number: 1, steps: STEPS }, RuntimeOptions::default());
    let times = |name| sent.get(name).copied().unwrap_or_default();
    let commits = (times("commit_one"), times("commit_turns"));
    assert_eq!((commits, times("finish_work"), times("tell")), ((STEPS + 1, 0), 0, 0), "{sent:?}");
    let reads: Vec<_> =
        sent.keys().filter(|name| name.starts_with("read_") && **name != "read_statuses").collect();
    assert!(reads.is_empty(), "no history is read: {sent:?}");
    // What a commit makes, it leases to whoever waits. Who has just begun to work on something else may look for it.
    assert!(times("lease_work") + times("lease_instances") < STEPS / 2, "{sent:?}");
}

#[test]
fn those_who_wait_for_a_slot_on_postgresql_are_not_looked_for_one_by_one() {
    let chains = Chains { number: 400, steps: 5 };
    let Some(guest) = Guest::enter(Time::Servers) else { return };
    let options =
        RuntimeOptions { orchestration_concurrency: 64, worker_concurrency: 64, ..RuntimeOptions::default() };
    let sent = sent_to_postgres(&guest, chains, options);
    let looks = ["lease_work", "lease_instances"].iter().filter_map(|name| sent.get(name)).sum::<u64>();
    assert!(looks < chains.number * chains.steps / 4, "{sent:?}");
}
