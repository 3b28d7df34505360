//! §14: attempts, backoff and poison.

use std::sync::Arc;
use std::time::Duration;

use abide_model::{ErrorDetails, EventKind, OrchestrationStatus, PoisonMessageType, WorkItem};
use abide_provider::TagFilter;

use super::support::{
    LONG, Log, Node, Past, Place, World, in_real_time, millis, names, on_every_store, on_own_stores, seconds,
    virtually,
};

/// Until work whose code is nowhere counts as poison: 1 + 2 + 4 + 8 + 16 + 32 + 4 × 60 seconds.
const UNTIL_POISON: Duration = Duration::from_secs(303);

/// A store that cannot wake is asked now and then, at each of ten attempts.
fn assert_took(world: &World, took: Duration, expected: Duration) {
    let late = if world.place == Place::Memory { millis(10) } else { 11 * world.looks_every() };
    let most = expected + late;
    assert!(expected <= took && took <= most, "{took:?}");
}

#[test]
fn an_orchestration_that_nobody_knows_is_poison_after_ten_attempts() {
    virtually(async |world: World| {
        let runtime = world.run(Node::new()).await;
        world.start("i", "Nobody", "in").await;
        let (took, details) = world.time(world.failure("i")).await;
        assert_took(&world, took, UNTIL_POISON);
        let ErrorDetails::Poison { attempt_count, max_attempts, message_type, message } = &details else {
            panic!("{details:?}")
        };
        assert_eq!((*attempt_count, *max_attempts), (11, 10));
        let expected = PoisonMessageType::Orchestration { instance: "i".to_owned(), execution_id: 1 };
        assert_eq!(*message_type, expected);
        assert!(message.contains("Nobody"), "the messages as JSON: {message}");
        assert_eq!(details.display_message(), "poison: orchestration i exceeded 11 attempts (max 10)");
        // The instance is there to be seen and deleted.
        assert_eq!(names(&world.history("i").await), ["OrchestrationStarted", "OrchestrationFailed"]);
        let started = world.history("i").await.remove(0);
        let EventKind::OrchestrationStarted { name, input, version, .. } = started.kind else {
            panic!("{started:?}")
        };
        assert_eq!((name.as_str(), input.as_str(), version.as_str()), ("Nobody", "in", "unknown"));
        let client = world.client();
        assert_eq!(client.get_instance_info("i").await.unwrap().status, "Failed");
        client.delete_instance("i", false).await.unwrap();
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_activity_that_nobody_knows_is_poison_and_code_cannot_catch_it() {
    virtually(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            let caught = ctx.schedule_activity("Nobody", "in").await;
            Ok(format!("caught {caught:?}"))
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        let (took, details) = world.time(world.failure("i")).await;
        assert_took(&world, took, UNTIL_POISON);
        let ErrorDetails::Poison { attempt_count, message_type, message, .. } = &details else {
            panic!("{details:?}")
        };
        assert_eq!(*attempt_count, 11);
        let expected = PoisonMessageType::Activity {
            instance: "i".to_owned(),
            execution_id: 1,
            activity_name: "Nobody".to_owned(),
            activity_id: 2,
        };
        assert_eq!(*message_type, expected);
        assert!(message.contains("ActivityExecute"), "the item as JSON: {message}");
        assert_eq!(details.display_message(), "poison: activity Nobody#2 exceeded 11 attempts (max 10)");
        assert_eq!(
            names(&world.history("i").await),
            ["OrchestrationStarted", "ActivityScheduled", "ActivityFailed", "OrchestrationFailed"]
        );
        runtime.shutdown(None).await;
    });
}

#[test]
fn code_that_is_registered_in_time_runs() {
    virtually(async |world: World| {
        let runtime = world.run(Node::new()).await;
        world.start("i", "Main", "").await;
        world.pass(seconds(100)).await;
        runtime.shutdown(None).await;
        let main = || {
            Node::new()
                .orchestration("Main", |ctx, _| async move { ctx.schedule_activity("Later", "x").await })
        };
        let runtime = world.run(main()).await;
        world.recorded("i", "ActivityScheduled", 1).await;
        world.pass(seconds(100)).await;
        runtime.shutdown(None).await;
        let runtime = world.run(main().activity("Later", |_, input| async move { Ok(input) })).await;
        assert_eq!(world.end("i").await.unwrap(), "x");
        runtime.shutdown(None).await;
    });
}

#[test]
fn backoff_and_attempts_are_options() {
    on_every_store(async |world: World| {
        let node = Node::new().with(|options| {
            options.max_attempts = 3;
            options.unregistered_backoff.base_delay = millis(2);
            options.unregistered_backoff.max_delay = millis(4);
        });
        let runtime = world.run(node).await;
        world.start("i", "Nobody", "").await;
        let details = world.failure("i").await;
        assert_eq!(details.display_message(), "poison: orchestration i exceeded 4 attempts (max 3)");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_running_instance_waits_for_its_code_however_long() {
    virtually(async |world: World| {
        let main =
            || Node::new().orchestration("Main", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) });
        let runtime = world.run(main()).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        runtime.shutdown(None).await;
        let runtime = world.run(Node::new()).await;
        world.raise("i", "go", "x").await;
        world.pass_long().await;
        let status = world.client().get_orchestration_status("i").await.unwrap();
        assert!(matches!(status, OrchestrationStatus::Running { .. }), "{status:?}");
        runtime.shutdown(None).await;
        let runtime = world.run(main()).await;
        let (took, end) = world.time(world.end("i")).await;
        assert_eq!(end.unwrap(), "x");
        let most = seconds(61) + 2 * world.looks_every();
        assert!(took <= most, "{took:?}: the longest pause");
        runtime.shutdown(None).await;
    });
}

/// Leases the mail of an instance and gives it back, as a node does that dies over it.
async fn tried_in_vain(world: &World, times: u32) {
    for attempt in 1..=times {
        let fetched = world.store.fetch_orchestration_item(seconds(30), seconds(0), None).await.unwrap();
        let (_, token, attempts) = fetched.unwrap();
        assert_eq!(attempts, attempt);
        world.store.abandon_orchestration_item(&token, None, false).await.unwrap();
    }
}

#[test]
fn a_running_instance_whose_mail_was_tried_too_often_fails_and_lets_go_of_everything() {
    on_own_stores(async |world: World| {
        let log = Log::new();
        let main = || {
            Node::new()
                .patient("Patient", &log)
                .orchestration("Child", |ctx, _| async move { Ok(ctx.schedule_wait("never").await) })
                .orchestration("Main", |ctx, _| async move {
                    let activity = ctx.schedule_activity("Patient", "");
                    let child = ctx.schedule_sub_orchestration("Child", "");
                    ctx.join3(activity, child, ctx.schedule_wait("go")).await.0
                })
        };
        let runtime = world.run(main()).await;
        world.start("i", "Main", "").await;
        log.has(1).await;
        world.recorded("i::sub::3", "ExternalSubscribed", 1).await;
        runtime.shutdown(Some(0)).await;
        world.raise("i", "go", "").await;
        tried_in_vain(&world, 10).await;
        let runtime = world.run(main()).await;
        let details = world.failure("i").await;
        assert_eq!(details.display_message(), "poison: orchestration i exceeded 11 attempts (max 10)");
        assert_eq!(world.end("i::sub::3").await.unwrap_err(), "canceled: parent failed");
        let history = names(&world.history("i").await);
        assert!(history.contains(&"ActivityCancelRequested"), "{history:?}");
        assert_eq!(history.last(), Some(&"OrchestrationFailed"));
        world.is_drained().await;
        runtime.shutdown(None).await;
    });
}

#[test]
fn the_tenth_attempt_still_runs() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |_, input| async move { Ok(input) });
        world.start("i", "Main", "x").await;
        tried_in_vain(&world, 9).await;
        let runtime = world.run(node).await;
        assert_eq!(world.end("i").await.unwrap(), "x");
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_attempt_that_is_given_back_does_not_count() {
    on_every_store(async |world: World| {
        world.start("i", "Main", "x").await;
        for _ in 0..30 {
            let fetched = world.store.fetch_orchestration_item(seconds(30), seconds(0), None).await.unwrap();
            let (_, token, attempts) = fetched.unwrap();
            assert_eq!(attempts, 1);
            world.store.abandon_orchestration_item(&token, None, true).await.unwrap();
        }
        let runtime = world.run(Node::new().orchestration("Main", |_, input| async move { Ok(input) })).await;
        assert_eq!(world.end("i").await.unwrap(), "x");
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_activity_that_was_tried_too_often_is_poison() {
    on_every_store(async |world: World| {
        let log = Log::new();
        let main = || {
            let log = log.clone();
            Node::new()
                .activity("Activity", move |_, _| {
                    log.write("ran");
                    async move { Ok(String::new()) }
                })
                .orchestration("Main", |ctx, _| async move { ctx.schedule_activity("Activity", "").await })
        };
        let runtime = world.run(main().with(|options| options.worker_concurrency = 0)).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ActivityScheduled", 1).await;
        runtime.shutdown(None).await;
        for _ in 0..10 {
            let filter = TagFilter::default();
            let fetched = world.store.fetch_work_item(seconds(30), seconds(0), None, &filter).await.unwrap();
            world.store.abandon_work_item(&fetched.unwrap().1, None, false).await.unwrap();
        }
        let runtime = world.run(main()).await;
        let details = world.failure("i").await;
        assert_eq!(details.display_message(), "poison: activity Activity#2 exceeded 11 attempts (max 10)");
        assert_eq!(log.len(), 0);
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_successor_whose_start_never_comes_is_poison_itself() {
    virtually(async |world: World| {
        world.start("i", "Main", "").await;
        let ended = EventKind::OrchestrationContinuedAsNew { input: "next".to_owned() };
        world.write(Past::begins([ended]).ended("ContinuedAsNew")).await;
        world.raise("i", "go", "").await;
        let runtime = world.run(Node::new().orchestration("Main", |_, input| async move { Ok(input) })).await;
        let (took, details) = world.time(world.failure("i")).await;
        assert_took(&world, took, UNTIL_POISON);
        let ErrorDetails::Poison { message_type, .. } = details else { panic!("{details:?}") };
        assert_eq!(
            message_type,
            PoisonMessageType::Orchestration { instance: "i".to_owned(), execution_id: 2 }
        );
        assert_eq!(names(&world.history_of("i", 2).await), ["OrchestrationStarted", "OrchestrationFailed"]);
        assert_eq!(
            names(&world.history_of("i", 1).await),
            ["OrchestrationStarted", "OrchestrationContinuedAsNew"],
            "the execution that ended is as it was"
        );
        runtime.shutdown(None).await;
    });
}

// A start from elsewhere does not begin a successor, so it must not stand for the one that was lost either.
#[test]
fn a_successor_that_fails_before_its_first_turn_has_its_start_and_tells_its_parent() {
    on_every_store(async |world: World| {
        world.start("i", "Main", "").await;
        let scheduled = EventKind::SubOrchestrationScheduled {
            name: "Main".to_owned(),
            instance: "child".to_owned(),
            input: String::new(),
        };
        world.write(Past::begins([scheduled])).await;
        world.start("child", "Main", "").await;
        let ended = EventKind::OrchestrationContinuedAsNew { input: "next".to_owned() };
        world.write(Past::begins([ended]).child_of("i", 2).ended("ContinuedAsNew")).await;
        world.start("child", "Main", "from elsewhere").await;
        let node = Node::new()
            .orchestration("Main", |ctx, _| async move {
                ctx.schedule_sub_orchestration_with_id("Main", "child", "").await
            })
            .with(|options| options.max_attempts = 1);
        let runtime = world.run(node).await;
        let details = world.failure("i").await;
        assert_eq!(details.category(), "poison");
        let successor = world.history_of("child", 2).await;
        assert_eq!(names(&successor), ["OrchestrationStarted", "OrchestrationFailed"]);
        let EventKind::OrchestrationStarted { input, parent_instance, parent_id, .. } = &successor[0].kind
        else {
            panic!("{successor:?}")
        };
        assert_eq!(input, "", "what it was to begin with is lost");
        assert_eq!((parent_instance.as_deref(), *parent_id), (Some("i"), Some(2)));
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_successor_without_code_is_poison_with_what_its_start_says() {
    virtually(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            ctx.continue_as_new_versioned("7.0.0", "the next input").await
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        let details = world.failure("i").await;
        assert_eq!(details.category(), "poison");
        let started = world.history_of("i", 2).await.remove(0);
        let EventKind::OrchestrationStarted { name, input, version, .. } = started.kind else {
            panic!("{started:?}")
        };
        assert_eq!((name.as_str(), input.as_str(), version.as_str()), ("Main", "the next input", "7.0.0"));
        runtime.shutdown(None).await;
    });
}

/// Makes the history of an instance unreadable.
async fn damage(world: &World, instance: &str) {
    if let Some(memory) = world.memory() {
        memory.make_history_unreadable(instance, 1);
        return;
    }
    let statement = format!(
        "UPDATE turn SET events = 'garbage' WHERE mailbox = (SELECT no FROM mailbox WHERE id = '{instance}')"
    );
    assert!(world.change(&statement).await > 0);
}

#[test]
fn a_history_that_cannot_be_read_is_looked_at_ten_times_and_then_ends_at_99999() {
    virtually(async |world: World| {
        let main =
            || Node::new().orchestration("Main", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) });
        let runtime = world.run(main()).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        runtime.shutdown(None).await;
        damage(&world, "i").await;
        world.raise("i", "go", "").await;
        let runtime = world.run(main()).await;
        let client = world.client();
        let (took, ()) = world
            .time(world.until(async || client.get_instance_info("i").await.unwrap().status == "Failed"))
            .await;
        // A second after the first look, two after the second, and so on up to ten.
        let most = seconds(57) + 11 * world.looks_every();
        assert!((seconds(55)..most).contains(&took), "{took:?}");
        let info = client.get_instance_info("i").await.unwrap();
        let output = info.output.unwrap();
        assert!(
            output.starts_with(
                "poison: orchestration i history deserialization failed after 11 attempts (max 10): "
            ),
            "{output}"
        );
        let last = if let Some(memory) = world.memory() {
            let executions = memory.dump().executions;
            usize::try_from(*executions[&("i".to_owned(), 1)].event_ids.last().unwrap()).unwrap()
        } else {
            world.number("SELECT max(last_event) FROM turn").await
        };
        assert_eq!(last, 99_999);
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_parent_hears_of_a_child_whose_history_cannot_be_read() {
    on_every_store(async |world: World| {
        let main = || {
            Node::new()
                .orchestration("Child", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) })
                .orchestration(
                    "Main",
                    |ctx, _| async move { ctx.schedule_sub_orchestration("Child", "").await },
                )
                .with(|options| options.max_attempts = 1)
        };
        let runtime = world.run(main()).await;
        world.start("i", "Main", "").await;
        world.recorded("i::sub::2", "ExternalSubscribed", 1).await;
        runtime.shutdown(None).await;
        damage(&world, "i::sub::2").await;
        world.raise("i::sub::2", "go", "").await;
        let runtime = world.run(main()).await;
        let details = world.failure("i").await;
        let ErrorDetails::Poison {
            message_type: PoisonMessageType::FailedDeserialization { instance, .. },
            ..
        } = details
        else {
            panic!("{details:?}")
        };
        assert_eq!(instance, "i::sub::2");
        runtime.shutdown(None).await;
    });
}

#[test]
fn what_an_instance_with_an_unreadable_history_left_open_is_cancelled() {
    on_every_store(async |world: World| {
        let log = Log::new();
        let main = || {
            Node::new()
                .patient("Patient", &log)
                .orchestration("Child", |ctx, _| async move { Ok(ctx.schedule_wait("never").await) })
                .orchestration("Main", |ctx, _| async move {
                    let activity = ctx.schedule_activity("Patient", "");
                    let child = ctx.schedule_sub_orchestration("Child", "");
                    ctx.join3(activity, child, ctx.schedule_wait("go")).await.0
                })
                .with(|options| options.max_attempts = 1)
        };
        let runtime = world.run(main()).await;
        world.start("i", "Main", "").await;
        log.has(1).await;
        world.recorded("i::sub::3", "ExternalSubscribed", 1).await;
        runtime.shutdown(Some(0)).await;
        damage(&world, "i").await;
        world.raise("i", "go", "").await;
        let runtime = world.run(main()).await;
        assert_eq!(world.end("i::sub::3").await.unwrap_err(), "canceled: parent failed");
        if world.has_required_only() {
            // Such a store does not say how far the history went: the activity runs for nobody.
            runtime.shutdown(None).await;
            return;
        }
        world.is_drained().await;
        runtime.shutdown(None).await;
    });
}

#[test]
fn one_history_that_cannot_be_read_harms_nobody_else() {
    on_every_store(async |world: World| {
        let main =
            || Node::new().orchestration("Main", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) });
        let runtime = world.run(main()).await;
        for instance in ["bad", "good"] {
            world.start(instance, "Main", "").await;
            world.recorded(instance, "ExternalSubscribed", 1).await;
        }
        runtime.shutdown(None).await;
        damage(&world, "bad").await;
        world.raise("bad", "go", "").await;
        world.raise("good", "go", "x").await;
        let runtime = world.run(main()).await;
        assert_eq!(world.end("good").await.unwrap(), "x");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_stamp_that_is_missing_makes_a_history_unreadable() {
    // Only a store that keeps JSON can lose a field of it.
    in_real_time(async |world: World| {
        let main = || {
            Node::new()
                .orchestration("Main", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) })
                .with(|options| options.max_attempts = 1)
        };
        let runtime = world.run(main()).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        runtime.shutdown(None).await;
        let statement = match world.room() {
            Some(_) => "UPDATE turn SET events = (events::jsonb #- '{0,duroxide_version}')::text",
            None => "UPDATE turn SET events = json_remove(events, '$[0].duroxide_version')",
        };
        assert_eq!(world.change(statement).await, 1);
        world.raise("i", "go", "").await;
        let runtime = world.run(main()).await;
        let client = world.client();
        world.until(async || client.get_instance_info("i").await.unwrap().status == "Failed").await;
        let output = client.get_instance_info("i").await.unwrap().output.unwrap();
        assert!(output.contains("history deserialization failed"), "{output}");
        runtime.shutdown(None).await;
    });
}

#[test]
fn mail_for_an_instance_that_nothing_starts_harms_nobody() {
    on_every_store(async |world: World| {
        let item =
            WorkItem::TimerFired { instance: "ghost".to_owned(), execution_id: 1, id: 2, fire_at_ms: 1 };
        world.mail(item).await;
        world.raise("ghost too", "s", "").await;
        let runtime = world.run(Node::new().orchestration("Main", |_, input| async move { Ok(input) })).await;
        assert_eq!(world.start_and_end("i", "Main", "x").await.unwrap(), "x");
        let client = Arc::new(world.client());
        assert_eq!(client.get_orchestration_status("ghost").await.unwrap(), OrchestrationStatus::NotFound);
        // It is kept until the instance is started.
        let status = client.wait_for_orchestration("ghost too", Duration::ZERO).await;
        assert!(status.is_err());
        world.start("ghost too", "Main", "late").await;
        let status = client.wait_for_orchestration("ghost too", LONG).await.unwrap();
        assert!(matches!(status, OrchestrationStatus::Completed { .. }), "{status:?}");
        runtime.shutdown(None).await;
    });
}
