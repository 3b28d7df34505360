//! A store that does not say who asked for an activity is asked. Before it answers, nothing begins.

use std::sync::{Arc, Mutex};

use abide_provider::Operation;
use abide_sim::{Fault, FaultPlan};

use super::{race, seconds};
use crate::lessons::scene::{Code, Scene, Way, is_leased, ways};

/// Who asked, in the order in which activities began.
type Askers = Arc<Mutex<Vec<String>>>;

/// An activity `Asker` that says who asked for it, and an orchestration that races with it.
fn asked(askers: &Askers) -> Code {
    let askers = askers.clone();
    let code = Code::bare().activity("Asker", move |ctx, _| {
        askers.lock().unwrap().push(ctx.orchestration_name().to_owned());
        async move { Ok("asked".to_owned()) }
    });
    race(code, "Asker")
}

/// Nobody can read who asked for an activity; one is leased, and cannot begin.
async fn cannot_begin(scene: &Scene) {
    let plan =
        FaultPlan::none().when(|call| (call.operation == Operation::Read).then_some(Fault::NotApplied));
    scene.faults.set_plan(plan);
    scene.start("i", "Race", "").await;
    scene.until(|dump| dump.work.values().any(|work| work.leased_until.is_some())).await;
    scene.pass(seconds(1)).await;
    assert!(scene.faults.count(Operation::Read) > 1);
}

#[test]
fn what_could_not_begin_before_a_shutdown_does_not_begin_in_it() {
    for grace in [Some(0), None] {
        ways(&[Way::Plain], |scene| async move {
            let askers = Askers::default();
            let node = scene.node(asked(&askers)).await;
            cannot_begin(&scene).await;
            node.shutdown(grace).await;
            assert_eq!(*askers.lock().unwrap(), [""; 0]);
            let dump = scene.world.memory.dump();
            assert!(!is_leased(&dump), "it was handed back");
            assert!(dump.work.values().all(|work| work.attempts == 0), "untried");

            scene.faults.set_plan(FaultPlan::none());
            scene.node(asked(&askers)).await;
            assert_eq!(scene.end_of("i").await.unwrap(), r#"Ok("asked")"#);
            assert_eq!(*askers.lock().unwrap(), ["Race"]);
        });
    }
}

#[test]
fn what_is_cancelled_before_it_could_begin_does_not_begin() {
    ways(&[Way::Plain], |scene| async move {
        let askers = Askers::default();
        scene.node(asked(&askers)).await;
        cannot_begin(&scene).await;
        scene.client().raise_event("i", "go", "").await.unwrap();
        assert_eq!(scene.end_of("i").await.unwrap(), "dropped");
        // A renewal finds out.
        scene.pass(seconds(30)).await;
        scene.faults.set_plan(FaultPlan::none());
        scene.pass(seconds(30)).await;
        assert_eq!(*askers.lock().unwrap(), [""; 0]);
        assert_eq!(scene.faults.count(Operation::Read), 0, "nobody asks any more");
    });
}
