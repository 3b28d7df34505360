//! Outcomes are counted before a client that waits can see them.

use std::time::Duration;

use abide_runtime::{ProblemPolicy, Runtime};
use abide_sim::{Fault, FaultPlan};
use metrics::with_local_recorder;
use tracing::subscriber::set_default;

use crate::lessons::listener::Listener;
use crate::lessons::scene::{Code, Scene, Way, ways};
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

/// Code with the policies of `Runtime::builder`.
fn blocking() -> Code {
    code().options(|options| {
        options.on_panic = Some(ProblemPolicy::Block);
        options.on_corrupt = Some(ProblemPolicy::Block);
        options.on_missing = Some(ProblemPolicy::Block);
    })
}

/// Ends an instance by something that needs no code, and delays what the store answers to the commit of the end.
async fn ends_counted(scene: &Scene, node: &Runtime, instance: &str, end: impl Future<Output = ()>) {
    let before = node.metrics_snapshot().unwrap().orch_failures;
    let late = Fault::DelayAnswer(Duration::from_secs(3));
    scene.faults.set_plan(FaultPlan::none().at(scene.way.commit(), 1, late));
    end.await;
    assert!(scene.end_of(instance).await.is_err());
    assert!(scene.faults.fired(), "another call committed the end");
    let counted = node.metrics_snapshot().unwrap().orch_failures;
    assert_eq!(counted, before + 1, "'{instance}' has ended for clients, and is not counted");
    scene.pass(Duration::from_secs(10)).await;
    assert_eq!(node.metrics_snapshot().unwrap().orch_failures, before + 1);
}

#[test]
fn an_end_without_code_is_counted_before_a_client_sees_it() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
        let code = blocking()
            .orchestration("Panics", |_, _| async move { panic!("a bad build") })
            .orchestration("Waits", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) });
        let node = scene.node(code).await;
        let cancel = async |instance: &'static str| {
            scene.client().cancel_instance(instance, "enough").await.unwrap();
        };
        scene.start("unserved", "Unknown", "").await;
        scene.pass(Duration::from_secs(1)).await;
        ends_counted(&scene, &node, "unserved", cancel("unserved")).await;

        scene.start("blocked", "Panics", "").await;
        scene.until(|dump| dump.instances["blocked"].block.is_some()).await;
        ends_counted(&scene, &node, "blocked", cancel("blocked")).await;

        scene.start("corrupt", "Waits", "").await;
        scene.until_idle("corrupt").await;
        node.shutdown(None).await;
        let node = scene.node(blocking()).await;
        scene.world.memory.make_history_unreadable("corrupt", 1);
        ends_counted(&scene, &node, "corrupt", cancel("corrupt")).await;
    });
}

#[test]
fn a_forced_failure_is_counted_before_a_client_sees_it() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
        let impatient = code().options(|options| {
            options.max_attempts = 1;
            options.unregistered_backoff.base_delay = Duration::from_secs(1);
        });
        let node = scene.node(impatient).await;
        ends_counted(&scene, &node, "unknown", scene.start("unknown", "Unknown", "")).await;
    });
}

/// An end whose commit was applied, and whose answer was lost.
#[derive(Debug, Clone, Copy)]
enum LostEnd {
    /// A turn of its own.
    Turn,
    /// The turn that takes in the result of an activity.
    AfterActivity,
    /// The end of an instance whose code is missing.
    WithoutCode,
}

impl LostEnd {
    const ALL: [Self; 3] = [Self::Turn, Self::AfterActivity, Self::WithoutCode];

    /// The orchestration that ends like this, and which of the commits ends it.
    fn orchestration(self) -> (&'static str, u64) {
        match self {
            Self::Turn => ("Gives up", 1),
            Self::AfterActivity => ("Asks and fails", 2),
            Self::WithoutCode => ("Unknown", 1),
        }
    }
}

#[test]
fn a_failure_whose_answer_was_lost_is_counted_once_and_logged() {
    for end in LostEnd::ALL {
        let (listener, shown) = (Listener::of_warnings(), Shown::default());
        let hearing = set_default(listener.clone());
        with_local_recorder(&shown, || {
            ways(&Way::ALL, |scene| async move {
                let code = code()
                    .options(|options| {
                        options.max_attempts = 1;
                        options.unregistered_backoff.base_delay = Duration::from_secs(1);
                    })
                    .orchestration("Gives up", |_, _| async move { Err("no way".to_owned()) })
                    .orchestration("Asks and fails", |ctx, input| async move {
                        ctx.schedule_activity("Fail", input).await
                    });
                let node = scene.node(code).await;
                let (orchestration, commit) = end.orchestration();
                scene.faults.set_plan(FaultPlan::none().at(scene.way.commit(), commit, Fault::Unknown));
                assert!(scene.run("i", orchestration, "x").await.is_err());
                scene.pass(Duration::from_secs(60)).await;
                assert!(scene.faults.fired(), "{end:?}: no answer was lost");
                let counted = node.metrics_snapshot().unwrap();
                assert_eq!(counted.orch_failures, 1, "{end:?}");
                let metrics = node.observability_handle().unwrap();
                assert_eq!(metrics.metrics_provider().get_active_orchestrations(), 0, "{end:?}");
            });
        });
        drop(hearing);
        let lines = listener.lines();
        assert_eq!(listener.count("the instance failed"), Way::ALL.len(), "{end:?}: {lines:#?}");
        let withdrawn = "abide_outcomes_withdrawn_total{kind=orchestration}";
        assert!(!shown.text().contains(withdrawn), "{end:?} is withdrawn: {}", shown.text());
    }
}
