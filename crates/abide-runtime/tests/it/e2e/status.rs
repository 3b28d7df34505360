//! §17: the custom status.

use abide_model::OrchestrationStatus;

use super::support::{LONG, Node, World, millis, on_every_store};

/// What a status query says of the custom status, and its version.
fn custom(status: OrchestrationStatus) -> (Option<String>, u64) {
    match status {
        OrchestrationStatus::NotFound => panic!("not found"),
        OrchestrationStatus::Running { custom_status, custom_status_version }
        | OrchestrationStatus::Completed { custom_status, custom_status_version, .. }
        | OrchestrationStatus::Failed { custom_status, custom_status_version, .. } => {
            (custom_status, custom_status_version)
        }
    }
}

fn said(text: &str, version: u64) -> (Option<String>, u64) {
    (Some(text.to_owned()), version)
}

#[test]
fn each_turn_that_says_something_is_one_version_and_the_last_word_counts() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            ctx.schedule_wait("go").await;
            ctx.set_custom_status("one");
            ctx.set_custom_status("two");
            ctx.schedule_wait("go").await;
            ctx.set_custom_status("three");
            ctx.schedule_wait("go").await;
            ctx.schedule_wait("go").await;
            Ok(ctx.get_custom_status().unwrap())
        });
        let runtime = world.run(node).await;
        let client = world.client();
        world.start("i", "Main", "").await;
        let mut seen = Vec::new();
        for turn in 1..=4 {
            world.recorded("i", "ExternalSubscribed", turn).await;
            seen.push(custom(client.get_orchestration_status("i").await.unwrap()));
            world.raise("i", "go", "").await;
        }
        // Never said, twice in one turn, once, and a turn that says nothing.
        assert_eq!(seen, [(None, 0), said("two", 1), said("three", 2), said("three", 2)]);
        assert_eq!(world.end("i").await.unwrap(), "three");
        assert_eq!(custom(client.get_orchestration_status("i").await.unwrap()), said("three", 2));
        // Every call is an event.
        let calls = world.history("i").await;
        let calls = calls.iter().filter(|event| event.kind.name() == "CustomStatusUpdated");
        assert_eq!(calls.count(), 3);
        runtime.shutdown(None).await;
    });
}

#[test]
fn taking_it_back_is_a_version_too() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            ctx.set_custom_status("here");
            ctx.schedule_wait("go").await;
            ctx.reset_custom_status();
            Ok(format!("{:?}", ctx.get_custom_status()))
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        world.raise("i", "go", "").await;
        assert_eq!(world.end("i").await.unwrap(), "None");
        assert_eq!(custom(world.client().get_orchestration_status("i").await.unwrap()), (None, 2));
        runtime.shutdown(None).await;
    });
}

#[test]
fn it_survives_continue_as_new_and_is_seen_on_a_failure() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, input| async move {
            if input.is_empty() {
                ctx.set_custom_status("first");
                return ctx.continue_as_new("again").await;
            }
            let inherited = ctx.get_custom_status();
            ctx.set_custom_status("second");
            Err(format!("{inherited:?}"))
        });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap_err(), r#"Some("first")"#);
        assert_eq!(custom(world.client().get_orchestration_status("i").await.unwrap()), said("second", 2));
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_status_query_of_the_store_answers_only_what_is_news() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            ctx.set_custom_status("said");
            Ok(ctx.schedule_wait("go").await)
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        let store = &world.store;
        assert_eq!(store.get_custom_status("i", 0).await.unwrap(), Some((Some("said".to_owned()), 1)));
        assert_eq!(store.get_custom_status("i", 1).await.unwrap(), None);
        assert_eq!(store.get_custom_status("nobody", 0).await.unwrap(), None);
        runtime.shutdown(None).await;
    });
}

#[test]
fn whoever_waits_for_a_change_gets_each_in_turn_and_then_the_end() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            for step in 1..=3 {
                ctx.schedule_wait("go").await;
                ctx.set_custom_status(step.to_string());
            }
            ctx.schedule_wait("go").await;
            Ok("end".to_owned())
        });
        let runtime = world.run(node).await;
        let client = world.client();
        world.start("i", "Main", "").await;
        let mut version = 0;
        for step in 1..=3 {
            world.recorded("i", "ExternalSubscribed", step).await;
            world.raise("i", "go", "").await;
            let status = client.wait_for_status_change("i", version, millis(5), LONG).await.unwrap();
            let (text, seen) = custom(status);
            assert_eq!((text.as_deref(), seen), (Some(step.to_string().as_str()), version + 1));
            version = seen;
        }
        world.raise("i", "go", "").await;
        let status = client.wait_for_status_change("i", version, millis(5), LONG).await.unwrap();
        assert!(matches!(status, OrchestrationStatus::Completed { .. }), "{status:?}");
        runtime.shutdown(None).await;
    });
}
