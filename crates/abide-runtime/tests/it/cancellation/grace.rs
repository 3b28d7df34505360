//! The time that a cancelled activity has to stop, and what becomes of what it returns in it.

use abide_provider::Operation;
use abide_sim::{Fault, FaultPlan, VirtualClock};
use tracing::subscriber::set_default;

use super::{begun, cancel, held_open, ms, seconds};
use crate::lessons::listener::Listener;
use crate::lessons::scene::{Code, Scene, Way, every_way, ways};

const TOO_LATE: &str = "the activity did not stop in time and is dropped";

/// How soon an activity hears that it is cancelled: at once, or by its next renewal where the store tells nothing.
fn heard_within(way: Way) -> std::time::Duration {
    match way {
        Way::Fused | Way::Resident | Way::Cold => ms(1),
        Way::Plain => seconds(10),
    }
}

/// An activity `Slow` that is told to stop and takes so long to do it; with what it returns, it says how it ended.
fn slow(to_stop: std::time::Duration, how: &'static str) -> Code {
    let code = Code::new().activity("Slow", move |ctx, _| async move {
        ctx.cancelled().await;
        VirtualClock::new().sleep(to_stop).await;
        match how {
            "result" => Ok("too late".to_owned()),
            "error" => Err("too late".to_owned()),
            _ => panic!("too late"),
        }
    });
    held_open(code, "Slow")
}

#[test]
fn who_stops_in_time_is_not_complained_of() {
    every_way(|scene| async move {
        let listener = Listener::default();
        let hearing = set_default(listener.clone());
        scene.node(slow(seconds(5), "result")).await;
        scene.start("i", "Open", "").await;
        begun(&scene, "i").await;
        cancel(&scene, "i").await;
        scene.pass(seconds(60)).await;
        drop(hearing);
        assert_eq!(listener.count("the activity is asked to stop"), 1);
        assert_eq!(listener.count(TOO_LATE), 0);
    });
}

#[test]
fn of_who_stops_at_once_the_log_tells_that_it_was_asked() {
    every_way(|scene| async move {
        let listener = Listener::default();
        let hearing = set_default(listener.clone());
        scene.node(slow(ms(0), "result")).await;
        scene.start("i", "Open", "").await;
        begun(&scene, "i").await;
        cancel(&scene, "i").await;
        scene.pass(seconds(60)).await;
        drop(hearing);
        assert_eq!(listener.count("the activity is asked to stop"), 1);
        assert_eq!(listener.count(TOO_LATE), 0);
    });
}

/// One slot, an activity in it that does not listen, and another that waits for the slot.
async fn blocked(scene: &Scene) {
    let code = Code::new()
        .activity("Deaf", |_, _| std::future::pending())
        .options(|options| options.worker_concurrency = 1);
    scene.node(held_open(code, "Deaf")).await;
    scene.start("i", "Open", "").await;
    begun(scene, "i").await;
    scene.start("next", "Hello", "you").await;
}

#[test]
fn a_slot_whose_activity_ignores_its_token_is_free_after_the_grace_and_the_log_names_it() {
    every_way(|scene| async move {
        let listener = Listener::default();
        let hearing = set_default(listener.clone());
        blocked(&scene).await;
        let before = scene.time();
        cancel(&scene, "i").await;
        assert_eq!(scene.end_of("next").await.unwrap(), "hello you");
        let took = scene.time() - before;
        drop(hearing);
        let grace = seconds(10);
        assert!(took >= grace && took <= grace + seconds(1) + heard_within(scene.way), "{took:?}");
        let lines = listener.lines();
        let complaint = lines.iter().find(|line| line.contains(TOO_LATE)).expect("somebody complains");
        assert!(
            complaint.contains("instance_id=i ") && complaint.contains("activity_name=Deaf "),
            "{complaint}"
        );
        assert!(complaint.starts_with("abide::runtime:"), "{complaint}");
    });
}

#[test]
fn it_is_a_warning() {
    ways(&[Way::Fused, Way::Resident], |scene| async move {
        let listener = Listener::of_warnings();
        let hearing = set_default(listener.clone());
        blocked(&scene).await;
        cancel(&scene, "i").await;
        scene.end_of("next").await.unwrap();
        drop(hearing);
        assert_eq!(listener.count(TOO_LATE), 1);
        assert_eq!(listener.count("the activity is asked to stop"), 0, "which is no warning");
    });
}

#[test]
fn whatever_a_cancelled_activity_comes_to_is_nobodys() {
    for how in ["result", "error", "panic"] {
        every_way(|scene| async move {
            scene.node(slow(seconds(1), how)).await;
            scene.start("i", "Open", "").await;
            begun(&scene, "i").await;
            cancel(&scene, "i").await;
            assert_eq!(scene.end_of("i").await.unwrap_err(), "canceled: enough");
            let ended = scene.events("i", 1).await;
            let commits = scene.faults.count(scene.way.commit());
            scene.pass(seconds(60)).await;
            assert_eq!(scene.events("i", 1).await, ended, "{how}");
            let dump = scene.world.memory.dump();
            assert!(dump.work.is_empty() && dump.messages.is_empty(), "{how}: {dump:?}");
            assert_eq!(scene.faults.count(scene.way.finish()), 0, "{how}: nobody tries to have it written");
            assert_eq!(scene.faults.count(scene.way.commit()), commits, "{how}: nor in a turn");
        });
    }
}

/// A lost lease is no cancellation: the activity is asked to stop and dropped after its grace, and its work stays for another
/// try, which counts.
#[test]
fn who_has_lost_its_lease_is_dropped_after_the_grace_and_the_work_runs_again() {
    every_way(|scene| async move {
        let listener = Listener::default();
        let hearing = set_default(listener.clone());
        let plan = FaultPlan::none().at(Operation::RenewWorkItemLock, 1, Fault::LoseLease);
        scene.faults.set_plan(plan);
        let code = Code::bare()
            .activity("Deaf", |ctx, _| async move {
                if ctx.attempt() == 1 { std::future::pending().await } else { Ok("again".to_owned()) }
            })
            .orchestration("Main", |ctx, _| async move { ctx.schedule_activity("Deaf", "").await });
        scene.node(code).await;
        assert_eq!(scene.run("i", "Main", "").await.unwrap(), "again");
        scene.pass(seconds(60)).await;
        drop(hearing);
        assert_eq!(listener.count("reason=LeaseLost"), 1);
        assert_eq!(listener.count(TOO_LATE), 1);
    });
}
