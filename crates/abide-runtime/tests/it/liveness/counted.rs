//! Outcomes are counted before a client that waits can see them.

use std::time::Duration;

use abide_sim::{Fault, FaultPlan};
use metrics::with_local_recorder;

use crate::lessons::scene::{Code, Way, ways};
use crate::recorder::Shown;

fn code() -> Code {
    Code::new().orchestration("Asks", |ctx, input| async move { ctx.schedule_activity("Echo", input).await })
}

#[test]
fn an_outcome_that_a_client_sees_is_counted_although_the_runtime_has_not_heard_of_it() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
        let node = scene.node(code()).await;
        let late = Fault::DelayAnswer(Duration::from_secs(3));
        let faults = FaultPlan::none().at(scene.way.commit(), 2, late).at(scene.way.finish(), 1, late);
        scene.faults.set_plan(faults);
        assert_eq!(scene.run("i", "Asks", "x").await.unwrap(), "x");
        let counted = node.metrics_snapshot().unwrap();
        assert_eq!((counted.orch_starts, counted.orch_completions, counted.activity_success), (1, 1, 1));
        scene.pass(Duration::from_secs(10)).await;
        assert_eq!(node.metrics_snapshot().unwrap().orch_completions, 1);
    });
}

#[test]
fn an_outcome_that_the_store_does_not_take_is_withdrawn() {
    let shown = Shown::default();
    with_local_recorder(&shown, || {
        ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
            let node = scene.node(code()).await;
            scene.faults.set_plan(FaultPlan::none().at(scene.way.commit(), 2, Fault::LoseLease));
            assert_eq!(scene.run("i", "Asks", "x").await.unwrap(), "x");
            scene.pass(Duration::from_secs(10)).await;
            assert!(scene.faults.fired());
            let counted = node.metrics_snapshot().unwrap();
            assert_eq!((counted.orch_starts, counted.orch_completions, counted.activity_success), (1, 1, 1));
            assert_eq!(
                node.observability_handle().unwrap().metrics_provider().get_active_orchestrations(),
                0
            );
        });
    });
    let text = shown.text();
    assert!(text.contains("abide_outcomes_withdrawn_total{kind=orchestration} 3"), "{text}");
}
