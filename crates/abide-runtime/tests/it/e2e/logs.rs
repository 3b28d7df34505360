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
        let introduction = format!("abide runtime ({version}) starting with provider");
        assert_eq!(listener.count(&introduction), 1);
        let line = listener.lines().into_iter().find(|line| line.contains(&introduction)).unwrap();
        for part in ["node_id=", "build=", "orchestrations=", "activities="] {
            assert!(line.contains(part), "{line}");
        }
        let stores = [
            r#"store="memory" durability="memory""#,
            r#"store="sqlite" durability="full""#,
            r#"store="postgres" durability="synchronous_commit=on"#,
        ];
        assert!(stores.iter().any(|store| line.contains(store)), "{line}");
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

#[test]
fn an_orchestration_that_waits_for_nothing_is_warned_about_once_and_can_be_cancelled() {
    virtually(async |world: World| {
        let listener = Listener::of_warnings();
        let hearing = set_default(listener.clone());
        let node = || Node::new().orchestration("Main", |_, _| futures::future::pending());
        let runtime = world.run(node()).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "OrchestrationStarted", 1).await;
        world.raise("i", "anything", "").await;
        world.recorded("i", "ExternalEvent", 1).await;
        runtime.shutdown(None).await;
        let runtime = world.run(node()).await;
        world.raise("i", "anything", "").await;
        world.recorded("i", "ExternalEvent", 2).await;
        assert_eq!(listener.count("the orchestration waits for nothing"), 1, "{:#?}", listener.lines());
        world.client().cancel_instance("i", "enough").await.unwrap();
        assert_eq!(world.end("i").await.unwrap_err(), "canceled: enough");
        runtime.shutdown(None).await;
        drop(hearing);
    });
}

#[test]
fn an_instance_that_fails_is_one_warning_with_its_error_and_one_that_is_canceled_is_none() {
    virtually(async |world: World| {
        let node = Node::new()
            .orchestration("Fails", |_, _| async move { Err("out of eggs".to_owned()) })
            .orchestration("Waits", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) });
        let listener = Listener::of_warnings();
        let hearing = set_default(listener.clone());
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Fails", "secret").await.unwrap_err(), "out of eggs");
        world.start("j", "Waits", "").await;
        world.recorded("j", "ExternalSubscribed", 1).await;
        world.client().cancel_instance("j", "why").await.unwrap();
        world.end("j").await.unwrap_err();
        runtime.shutdown(None).await;
        drop(hearing);
        let lines = listener.lines();
        assert_eq!(lines.len(), 1, "{lines:#?}");
        for part in ["the instance failed", "instance_id=i", "orchestration_name=Fails", "out of eggs"] {
            assert!(lines[0].contains(part), "{lines:#?}");
        }
        assert!(!lines[0].contains("secret"));
    });
}

#[test]
fn code_that_differs_from_its_history_is_an_error() {
    virtually(async |world: World| {
        let before =
            Node::new().orchestration("Main", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) });
        let after = Node::new()
            .orchestration("Main", |ctx, _| async move { ctx.schedule_activity("Another", "").await });
        let runtime = world.run(before).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        runtime.shutdown(None).await;
        let listener = Listener::of_warnings();
        let hearing = set_default(listener.clone());
        let runtime = world.run(after).await;
        world.raise("i", "go", "").await;
        assert!(world.end("i").await.unwrap_err().starts_with("nondeterministic"));
        runtime.shutdown(None).await;
        drop(hearing);
        let told = "its code does not do what its history says it did";
        assert_eq!(listener.count(told), 1, "{:#?}", listener.lines());
    });
}

#[test]
fn a_message_that_no_execution_waits_for_is_told_of_once_per_name_and_minute() {
    virtually(async |world: World| {
        let node =
            Node::new().orchestration("Main", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) });
        let listener = Listener::of_warnings();
        let hearing = set_default(listener.clone());
        let runtime = world.run(node).await;
        for instance in ["i", "j"] {
            world.start(instance, "Main", "").await;
            world.recorded(instance, "ExternalSubscribed", 1).await;
        }
        for count in 1..=3 {
            for instance in ["i", "j"] {
                world.raise(instance, "typo", "").await;
                world.recorded(instance, "ExternalEvent", count).await;
            }
        }
        assert_eq!(listener.count("signal 'typo' recorded"), 1, "{:#?}", listener.lines());
        world.raise("i", "other", "").await;
        world.recorded("i", "ExternalEvent", 4).await;
        assert_eq!(listener.count("signal 'other' recorded"), 1);
        world.pass(seconds(60)).await;
        world.raise("i", "typo", "").await;
        world.recorded("i", "ExternalEvent", 5).await;
        assert_eq!(listener.count("signal 'typo' recorded"), 2);
        runtime.shutdown(None).await;
        drop(hearing);
    });
}
