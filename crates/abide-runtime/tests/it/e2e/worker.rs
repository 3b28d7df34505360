//! §15.1–15.2: running activities.

use abide_model::{BackoffStrategy, RetryPolicy};
use abide_provider::TagFilter;
use abide_sim::Gate;

use super::support::{Log, Node, World, names, on_every_store, on_own_stores, on_required_only, virtually};

fn asks(node: Node, activity: &'static str) -> Node {
    node.orchestration("Main", move |ctx, input| async move {
        let seen = ctx.schedule_activity(activity, input).await;
        Ok(format!("{seen:?}"))
    })
}

#[test]
fn what_an_activity_returns_reaches_the_code() {
    on_every_store(async |world: World| {
        let runtime = world.run(asks(Node::new(), "Echo")).await;
        assert_eq!(world.start_and_end("i", "Main", "x").await.unwrap(), r#"Ok("x")"#);
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_error_is_the_codes_business_and_is_not_tried_again() {
    on_every_store(async |world: World| {
        let log = Log::new();
        let writes = log.clone();
        let node = Node::new().activity("Fails", move |_, _| {
            writes.write("ran");
            async move { Err("no luck".to_owned()) }
        });
        let runtime = world.run(asks(node, "Fails")).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), r#"Err("no luck")"#);
        world.is_drained().await;
        assert_eq!(log.len(), 1);
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_panic_is_an_error_that_the_code_sees() {
    on_every_store(async |world: World| {
        let log = Log::new();
        let writes = log.clone();
        let node = Node::new().activity("Panics", move |_, _| {
            writes.write("ran");
            async move { panic!("out of eggs") }
        });
        let runtime = world.run(asks(node, "Panics")).await;
        let seen = world.start_and_end("i", "Main", "").await.unwrap();
        assert!(
            seen.starts_with("Err(") && seen.contains("panicked") && seen.contains("out of eggs"),
            "{seen}"
        );
        assert_eq!(log.len(), 1);
        // The runtime goes on.
        assert_eq!(names(&world.history("i").await)[2], "ActivityFailed");
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_activity_knows_who_asked_for_it() {
    on_every_store(async |world: World| {
        let node = Node::new()
            .activity("Facts", |ctx, _| async move {
                Ok(format!(
                    "{} {} {} {} {} {} {:?} {:?} {} {}",
                    ctx.instance_id(),
                    ctx.execution_id(),
                    ctx.orchestration_name(),
                    ctx.orchestration_version(),
                    ctx.activity_name(),
                    ctx.worker_id(),
                    ctx.session_id(),
                    ctx.tag(),
                    ctx.attempt(),
                    ctx.idempotency_key(),
                ))
            })
            .version("Facts of life", "1.2.3", |ctx, _| async move {
                let plain = ctx.schedule_activity("Facts", "").await?;
                let special =
                    ctx.schedule_activity_on_session("Facts", "", "my session").with_tag("gpu").await?;
                Ok(format!("{plain}\n{special}"))
            })
            .with(|options| {
                options.worker_node_id = Some("node-7".to_owned());
                options.worker_concurrency = 1;
                options.worker_tag_filter = TagFilter::Any;
            });
        let runtime = world.run(node).await;
        let seen = world.start_and_end("i", "Facts of life", "").await.unwrap();
        let lines: Vec<_> = seen.lines().collect();
        assert_eq!(lines[0], "i 1 Facts of life 1.2.3 Facts work-0-node-7 None None 1 i/1/2");
        assert_eq!(
            lines[1],
            r#"i 1 Facts of life 1.2.3 Facts work-0-node-7 Some("my session") Some("gpu") 1 i/1/4"#
        );
        runtime.shutdown(None).await;
    });
}

/// What each run of an activity was told: event, try, delivery, key.
fn noting(node: Node, log: &Log, fails_before: u32) -> Node {
    let writes = log.clone();
    node.activity("Flaky", move |ctx, _| {
        writes.write(format!(
            "{} try {} delivery {} key {}",
            ctx.activity_id(),
            ctx.retry(),
            ctx.attempt(),
            ctx.idempotency_key()
        ));
        // By the event: a store with only the required methods does not tell the tries apart.
        async move {
            if ctx.activity_id() < u64::from(fails_before) {
                Err("no".to_owned())
            } else {
                Ok("yes".to_owned())
            }
        }
    })
}

#[test]
fn every_retry_of_a_step_has_the_same_key() {
    on_own_stores(async |world: World| {
        let log = Log::new();
        let node = noting(Node::new(), &log, 6)
            .orchestration("Main", |ctx, _| async move {
                let policy = RetryPolicy::new(5).with_backoff(BackoffStrategy::None);
                ctx.schedule_activity_with_retry("Flaky", "", policy.clone()).await?;
                let typed = ctx.schedule_activity_with_retry_typed::<_, String>("Flaky", &1, policy.clone());
                assert_eq!(typed.await.as_deref(), Ok("yes"));
                ctx.schedule_activity_with_retry_on_session("Flaky", "", policy, "s").await
            })
            .with(|options| options.worker_node_id = Some("node".to_owned()));
        let runtime = world.run(node).await;
        world.start_and_end("i", "Main", "").await.unwrap();
        assert_eq!(
            log.lines(),
            [
                "2 try 1 delivery 1 key i/1/2",
                "4 try 2 delivery 1 key i/1/2",
                "6 try 3 delivery 1 key i/1/2",
                "8 try 1 delivery 1 key i/1/8",
                "10 try 1 delivery 1 key i/1/10",
            ]
        );
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_store_with_only_the_required_methods_has_a_key_per_try() {
    on_required_only(async |world: World| {
        let log = Log::new();
        let node = noting(Node::new(), &log, 4).orchestration("Main", |ctx, _| async move {
            let policy = RetryPolicy::new(5).with_backoff(BackoffStrategy::None);
            ctx.schedule_activity_with_retry("Flaky", "", policy).await
        });
        let runtime = world.run(node).await;
        world.start_and_end("i", "Main", "").await.unwrap();
        assert_eq!(log.lines(), ["2 try 1 delivery 1 key i/1/2", "4 try 1 delivery 1 key i/1/4"]);
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_worker_without_a_name_has_one() {
    on_every_store(async |world: World| {
        let node = Node::new().activity("Worker", |ctx, _| async move { Ok(ctx.worker_id().to_owned()) });
        let runtime = world.run(asks(node, "Worker")).await;
        let worker = world.start_and_end("i", "Main", "").await.unwrap();
        assert!(worker.contains("work-0-"), "{worker}");
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_activity_can_use_a_client() {
    on_every_store(async |world: World| {
        let node =
            asks(Node::new(), "Starts another").orchestration("Other", |_, input| async move { Ok(input) });
        let node = node.activity("Starts another", |ctx, _| async move {
            let client = ctx.get_client();
            client.start_orchestration("other", "Other", "x").await.map_err(|error| error.to_string())?;
            Ok("started".to_owned())
        });
        let runtime = world.run(node).await;
        world.start_and_end("i", "Main", "").await.unwrap();
        assert_eq!(world.end("other").await.unwrap(), "x");
        runtime.shutdown(None).await;
    });
}

#[test]
fn no_more_run_at_once_than_there_are_slots() {
    on_every_store(async |world: World| {
        let (log, gate) = (Log::new(), Gate::closed());
        let node = Node::new()
            .held("Held", &log, &gate)
            .orchestration("Main", |ctx, _| async move {
                let all = (0..6).map(|n| ctx.schedule_activity("Held", n.to_string())).collect();
                Ok(ctx.join(all).await.len().to_string())
            })
            .with(|options| options.worker_concurrency = 2);
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        for round in 1..=3 {
            gate.waiting_for(2).await;
            assert_eq!((log.len(), gate.held()), (2 * round, 2));
            gate.let_one();
            gate.let_one();
            log.has((2 * round + 2).min(6)).await;
        }
        assert_eq!(world.end("i").await.unwrap(), "6");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_slow_turn_or_activity_holds_nobody_else_up() {
    on_every_store(async |world: World| {
        let (log, gate) = (Log::new(), Gate::closed());
        let node = asks(Node::new().held("Held", &log, &gate), "Held")
            .orchestration("Quick", |ctx, _| async move { ctx.schedule_activity("Echo", "quick").await });
        let runtime = world.run(node).await;
        world.start("slow", "Main", "").await;
        log.has(1).await;
        assert_eq!(world.start_and_end("quick", "Quick", "").await.unwrap(), "quick");
        gate.open();
        world.end("slow").await.unwrap();
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_node_without_worker_slots_leaves_activities_to_others() {
    on_every_store(async |world: World| {
        let node = || asks(Node::new(), "Echo");
        let orchestrates = world.run(node().with(|options| options.worker_concurrency = 0)).await;
        world.start("i", "Main", "x").await;
        world.recorded("i", "ActivityScheduled", 1).await;
        assert_eq!(world.left().await.work, 1);
        let works = world.run(node()).await;
        assert_eq!(world.end("i").await.unwrap(), r#"Ok("x")"#);
        orchestrates.shutdown(None).await;
        works.shutdown(None).await;
    });
}

#[test]
fn work_is_taken_in_the_order_it_came() {
    on_every_store(async |world: World| {
        let log = Log::new();
        let writes = log.clone();
        let node = Node::new()
            .activity("Log", move |_, input| {
                writes.write(input);
                async move { Ok(String::new()) }
            })
            .orchestration("Main", |ctx, _| async move {
                let all = (0..8).map(|n| ctx.schedule_activity("Log", n.to_string())).collect();
                Ok(ctx.join(all).await.len().to_string())
            })
            .with(|options| options.worker_concurrency = 1);
        let runtime = world.run(node).await;
        world.start_and_end("i", "Main", "").await.unwrap();
        assert_eq!(log.lines(), (0..8).map(|n| n.to_string()).collect::<Vec<_>>());
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_activity_whose_node_died_runs_again_elsewhere() {
    virtually(async |world: World| {
        let (log, gate) = (Log::new(), Gate::closed());
        let node = || asks(Node::new().held("Held", &log, &gate), "Held");
        let doomed = world.run_mortal(node()).await;
        world.start("i", "Main", "x").await;
        log.has(1).await;
        doomed.kill();
        doomed.all_ended().await;
        gate.open();
        let survivor = world.run(node()).await;
        let (took, end) = world.time(world.end("i")).await;
        assert_eq!(end.unwrap(), r#"Ok("x")"#);
        assert_eq!(log.len(), 2, "at least once");
        // The lease of the dead runs out after thirty seconds.
        assert!(took <= super::support::seconds(31) + 2 * world.looks_every(), "{took:?}");
        survivor.shutdown(None).await;
    });
}
