//! Sessions: what they cost, and keeping them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_model::Clock as _;
use abide_provider::Operation;
use abide_sim::{Fault, FaultPlan, Gate};
use tracing::subscriber::with_default;

use super::{HOUR, is_running, seconds};
use crate::lessons::listener::Listener;
use crate::lessons::scene::{Code, Scene, Way, every_way, ways};

/// `Session` does one step in session `s` and waits; `Many` asks for that many `Held` at once.
fn code(gate: &Gate) -> Code {
    let gate = gate.clone();
    Code::bare()
        .activity("Held", move |_, input| {
            let gate = gate.clone();
            async move {
                gate.pass().await;
                Ok(input)
            }
        })
        .orchestration("Session", |ctx, _| async move {
            ctx.schedule_activity_on_session("Echo", "", "s").await?;
            Ok(ctx.schedule_wait("go").await)
        })
        .orchestration("Many", |ctx, many| async move {
            let many = many.parse().map_err(|_| "a number")?;
            let all = (0..many).map(|number: u64| ctx.schedule_activity("Held", number.to_string()));
            Ok(ctx.join(all.collect()).await.len().to_string())
        })
}

fn open() -> Gate {
    let gate = Gate::closed();
    gate.open();
    gate
}

#[test]
fn a_node_that_serves_no_sessions_looks_for_work_as_often_as_any_other() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
        scene.node(code(&open()).options(|options| options.max_sessions_per_runtime = 0)).await;
        scene.start("i", "Session", "").await;
        scene.pass(HOUR).await;
        // One call waits half a minute.
        let calls = scene.faults.count(Operation::LeaseWork);
        assert!((100..130).contains(&calls), "{calls}");
        assert!(is_running(&scene, "i").await);
        assert_eq!(scene.run("plain", "Many", "3").await.unwrap(), "3");

        scene.node(code(&open())).await;
        scene.until_idle("i").await;
        assert_eq!(scene.world.memory.dump().sessions.len(), 1, "left to others");
    });
}

#[test]
fn sessions_of_long_ago_do_not_make_calls_for_work_smaller() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
        scene.node(code(&open())).await;
        scene.start("i", "Session", "").await;
        scene.until_idle("i").await;
        let calls_for_work = async || {
            scene.faults.set_plan(FaultPlan::none());
            scene.run(&format!("many {:?}", scene.time()), "Many", "100").await.unwrap();
            scene.faults.count(Operation::LeaseWork)
        };
        let calls = calls_for_work().await;
        assert!(calls >= 10, "{calls}: as many as sessions may be claimed, at once");
        // The call that waits was made before.
        scene.pass(seconds(300 + 31)).await;
        let calls = calls_for_work().await;
        assert!(calls <= 3, "{calls}");
    });
}

#[test]
fn a_call_for_less_than_there_are_slots_does_not_show_that_nothing_waits() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
        let gate = Gate::closed();
        let code = code(&gate).options(|options| {
            options.worker_concurrency = 15;
            options.session_idle_timeout = 10 * HOUR;
        });
        let node = scene.node(code).await;
        scene.start("i", "Session", "").await;
        scene.until_idle("i").await;
        scene.start("many", "Many", "50").await;
        gate.waiting_for(15).await;
        scene.pass(HOUR).await;
        for _ in 0..12 {
            gate.let_one();
        }
        scene.until(|dump| dump.work.len() == 38).await;
        gate.waiting_for(15).await;
        let health = node.health();
        assert!(health.oldest_ready_activity >= HOUR, "{health:?}");
        gate.open();
        assert_eq!(scene.end_of("many").await.unwrap(), "50");
    });
}

/// When sessions were renewed.
type Times = Arc<Mutex<Vec<Duration>>>;

/// Renewals of sessions go wrong like this in this time.
fn sessions_fail(from: Duration, until: Duration, fault: Fault) -> (FaultPlan, Times) {
    let times = Times::default();
    let noted = times.clone();
    let plan = FaultPlan::none().when(move |call| {
        if call.operation != Operation::RenewSessionLock {
            return None;
        }
        noted.lock().unwrap().push(call.at);
        (from <= call.at && call.at < until).then_some(fault)
    });
    (plan, times)
}

/// A node with a session that it took after ten seconds, for a minute.
async fn owner(scene: &Scene) -> Arc<abide_runtime::Runtime> {
    let node = scene.node(code(&open()).options(|options| options.session_lock_timeout = seconds(60))).await;
    scene.pass(seconds(10)).await;
    scene.start("i", "Session", "").await;
    scene.until_idle("i").await;
    node
}

fn is_ours(scene: &Scene) -> bool {
    let session = scene.world.memory.dump().sessions.remove("s").unwrap();
    session.locked_until > scene.world.clock.wall().as_millis()
}

#[test]
fn a_session_outlives_renewals_that_fail_as_long_as_it_lasts() {
    for fault in [Fault::NotApplied, Fault::Panic] {
        let listener = Listener::default();
        with_default(listener.clone(), || {
            every_way(|scene| async move {
                let (plan, times) = sessions_fail(seconds(15), seconds(65), fault);
                scene.faults.set_plan(plan);
                let node = owner(&scene).await;
                let before = node.health().storage_errors;
                scene.pass(seconds(60)).await;
                assert!(is_ours(&scene));
                let errors = node.health().storage_errors - before;
                assert!((30..100).contains(&errors), "{errors}: soon, and not all the time");
                let tries = times.lock().unwrap().len();
                assert!((30..100).contains(&tries), "{tries}");
                assert_eq!(node.health().storage_down_for, None);
            });
        });
        assert!(listener.count("failure=renew_session_lock") >= 30, "{fault:?}");
        let warned = listener.count("the sessions of this node could not be renewed");
        assert_eq!(warned, Way::ALL.len(), "{fault:?}: once a minute");
    }
}

#[test]
fn a_renewal_of_sessions_without_an_answer_is_told_and_made_again() {
    let listener = Listener::default();
    with_default(listener.clone(), || {
        every_way(|scene| async move {
            let (plan, times) = sessions_fail(seconds(15), seconds(31), Fault::HangBefore);
            scene.faults.set_plan(plan);
            let node = owner(&scene).await;
            let before = node.health().storage_errors;
            scene.pass(seconds(90)).await;
            assert!(is_ours(&scene));
            assert_eq!(node.health().storage_errors, before + 1);
            let times = times.lock().unwrap().clone();
            // A third of a minute to the first renewal, and as long for its answer.
            assert!(times[1] - times[0] < seconds(21), "{times:?}");
        });
    });
    assert_eq!(listener.count("failure=renew_session_lock"), Way::ALL.len());
}

#[test]
fn a_runtime_that_could_not_renew_sessions_has_met_trouble() {
    ways(&[Way::Fused, Way::Resident], |scene| async move {
        let (plan, _) = sessions_fail(seconds(5), seconds(15), Fault::NotApplied);
        scene.faults.set_plan(plan);
        let code = Code::bare()
            .orchestration("Asks", |ctx, _| async move { ctx.schedule_activity("Nobody", "").await })
            .options(|options| {
                options.max_attempts = 1;
                options.worker_node_id = Some("successor".to_owned());
            });
        scene.node(code).await;
        scene.pass(seconds(20)).await;
        assert!(scene.faults.fired());
        let end = scene.run("i", "Asks", "").await.unwrap_err();
        assert_eq!(end, "poison: activity Nobody#2 exceeded 3 attempts (max 1)");
    });
}

/// Whether this node renewed sessions in an hour in which it had none.
fn renews_without_a_session(name: Option<&'static str>) -> bool {
    let renewed = Arc::new(Mutex::new(false));
    let noted = renewed.clone();
    ways(&[Way::Fused], move |scene| {
        let noted = noted.clone();
        async move {
            let code = code(&open()).options(|options| options.worker_node_id = name.map(ToOwned::to_owned));
            scene.node(code).await;
            scene.pass(HOUR).await;
            *noted.lock().unwrap() = scene.faults.count(Operation::RenewSessionLock) > 0;
        }
    });
    *renewed.lock().unwrap()
}

#[test]
fn only_a_node_with_a_name_may_have_sessions_before_it_claims_one() {
    assert!(renews_without_a_session(Some("successor")), "those of its predecessor");
    assert!(!renews_without_a_session(None));
}
