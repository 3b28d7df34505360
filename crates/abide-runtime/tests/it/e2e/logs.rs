//! §13.3, §14.4, §24: what operators are told. In virtual time only, where everything happens on the thread that listens.

use abide_model::EventKind;
use tracing::subscriber::set_default;

use super::support::{Log, Node, Past, World, seconds, virtually};
use crate::lessons::listener::Listener;

#[test]
fn a_runtime_says_who_it_is_and_what_it_can_replay() {
    virtually(async |world: World| {
        let listener = Listener::default();
        let hearing = set_default(listener.clone());
        let runtime = world.run(Node::new()).await;
        runtime.shutdown(None).await;
        drop(hearing);
        let version = abide_model::current_build_version();
        assert_eq!(listener.count(&format!("abide runtime ({version}) starting with provider")), 1);
        assert_eq!(listener.count("Orchestration dispatcher capability filter configured"), 1);
        assert_eq!(listener.count(&format!("supported_range=0.0.0..={version}")), 1);
    });
}

#[test]
fn code_that_is_missing_is_said_to_be_with_what_may_have_been_meant() {
    virtually(async |world: World| {
        let listener = Listener::default();
        let hearing = set_default(listener.clone());
        let node = Node::new()
            .orchestration("Main", |ctx, _| async move { ctx.schedule_activity("Ehco", "").await });
        let runtime = world.run(node).await;
        world.start("i", "Mian", "").await;
        world.start("j", "Main", "").await;
        world.pass(seconds(1)).await;
        runtime.shutdown(None).await;
        drop(hearing);
        assert!(listener.count("Mian is not registered here") > 0);
        assert!(listener.count("activity is not registered here") > 0);
        assert!(listener.count("did_you_mean=\"Main\"") > 0, "{:#?}", listener.lines());
        assert!(listener.count("did_you_mean=\"Echo\"") > 0);
    });
}

#[test]
fn a_version_that_is_missing_is_said_to_be_with_those_that_are_registered() {
    virtually(async |world: World| {
        let listener = Listener::default();
        let hearing = set_default(listener.clone());
        let node = Node::new().version("Order", "1.0.0", |_, _| async { Ok(String::new()) }).version(
            "Order",
            "1.2.0",
            |_, _| async { Ok(String::new()) },
        );
        let runtime = world.run(node).await;
        world.client().start_orchestration_versioned("i", "Order", "1.3.0", "").await.unwrap();
        world.pass(seconds(1)).await;
        runtime.shutdown(None).await;
        drop(hearing);
        let told = "Order 1.3.0 is not registered here; registered: 1.0.0, 1.2.0";
        assert!(listener.count(told) > 0, "{:#?}", listener.lines());
    });
}

#[test]
fn a_pin_that_is_too_new_or_no_version_is_said_to_be() {
    virtually(async |world: World| {
        let subscribed = || EventKind::ExternalSubscribed { name: "go".to_owned() };
        for (instance, stamp) in [("future", "99.0.0"), ("odd", "garbage")] {
            world.start(instance, "Main", "").await;
            world.write(Past::begins([subscribed()]).stamped(stamp).without_pin()).await;
        }
        let listener = Listener::default();
        let hearing = set_default(listener.clone());
        let node =
            Node::new().orchestration("Main", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) });
        let runtime = world.run(node).await;
        for instance in ["future", "odd"] {
            world.raise(instance, "go", "").await;
        }
        world.end("odd").await.unwrap();
        world.pass(seconds(1)).await;
        runtime.shutdown(None).await;
        drop(hearing);
        assert!(listener.count("incompatible version") > 0);
        assert!(listener.count("Invalid pinned version 'garbage'") > 0, "{:#?}", listener.lines());
    });
}

#[test]
fn an_activity_that_is_stopped_and_one_that_does_not_stop_are_said_to_be() {
    virtually(async |world: World| {
        let log = Log::new();
        let writes = log.clone();
        let node = Node::new()
            .activity("Deaf", move |_, _| {
                writes.write("began");
                futures::future::pending()
            })
            .orchestration("Main", |ctx, _| async move { ctx.schedule_activity("Deaf", "").await });
        let listener = Listener::default();
        let hearing = set_default(listener.clone());
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        log.has(1).await;
        world.client().cancel_instance("i", "why").await.unwrap();
        world.pass(seconds(60)).await;
        runtime.shutdown(None).await;
        drop(hearing);
        assert_eq!(listener.count("the activity is asked to stop"), 1);
        assert_eq!(listener.count("the activity did not stop in time and is dropped"), 1);
    });
}
