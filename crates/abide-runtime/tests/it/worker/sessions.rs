//! Sessions: what they cost, and keeping them.

use abide_provider::Operation;
use abide_sim::{FaultPlan, Gate};

use super::{HOUR, is_running, seconds};
use crate::lessons::scene::{Code, Way, ways};

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
    ways(&[Way::Resident, Way::Cold], |scene| async move {
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
    ways(&[Way::Resident, Way::Cold], |scene| async move {
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
    ways(&[Way::Resident, Way::Cold], |scene| async move {
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
