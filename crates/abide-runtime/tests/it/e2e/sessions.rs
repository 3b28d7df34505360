//! §15.5: activities of one session run on one node.

use abide_model::EventKind;
use abide_sim::Gate;

use super::support::{Log, Node, World, on_every_store, on_own_stores, seconds, virtually};

/// A node of this name whose activity `Where` says it.
fn node(name: &'static str) -> Node {
    Node::new()
        .activity("Where", move |ctx, _| async move {
            assert!(ctx.worker_id().ends_with(name), "{}", ctx.worker_id());
            Ok(name.to_owned())
        })
        .orchestration("Main", |ctx, session| async move {
            let mut nodes = Vec::new();
            for _ in 0..5 {
                nodes.push(ctx.schedule_activity_on_session("Where", "", session.clone()).await?);
            }
            nodes.dedup();
            Ok(nodes.join(" "))
        })
        .with(|options| options.worker_node_id = Some(name.to_owned()))
}

#[test]
fn a_session_stays_on_the_node_that_took_it() {
    on_every_store(async |world: World| {
        let (a, b) = (world.run(node("a")).await, world.run(node("b")).await);
        for n in 0..4 {
            let seen = world.start_and_end(&n.to_string(), "Main", &format!("session {n}")).await.unwrap();
            assert!(["a", "b"].contains(&seen.as_str()), "on one node: {seen}");
        }
        a.shutdown(None).await;
        b.shutdown(None).await;
    });
}

#[test]
fn many_activities_of_a_session_run_at_once_on_its_node() {
    on_every_store(async |world: World| {
        let (log, gate) = (Log::new(), Gate::closed());
        let parallel = |name: &'static str| {
            node(name).held("Held", &log, &gate).orchestration("Parallel", |ctx, _| async move {
                let all = (0..3).map(|_| ctx.schedule_activity_on_session("Held", "", "s")).collect();
                Ok(ctx.join(all).await.len().to_string())
            })
        };
        let (a, b) = (world.run(parallel("a")).await, world.run(parallel("b")).await);
        world.start("i", "Parallel", "").await;
        gate.waiting_for(3).await;
        gate.open();
        assert_eq!(world.end("i").await.unwrap(), "3");
        a.shutdown(None).await;
        b.shutdown(None).await;
    });
}

/// A node without a name, with `slots` slots: `Fan` asks for six held activities of one session, `Beside` for
/// one of another session and for one of none.
fn nameless(slots: usize, log: &Log, gate: &Gate) -> Node {
    Node::new()
        .held("Held", log, gate)
        .orchestration("Fan", |ctx, _| async move {
            let all = (0..6).map(|n| ctx.schedule_activity_on_session("Held", n.to_string(), "s")).collect();
            Ok(ctx.join(all).await.len().to_string())
        })
        .orchestration("Beside", |ctx, _| async move {
            ctx.schedule_activity_on_session("Echo", "", "another").await?;
            ctx.schedule_activity("Echo", "beside").await
        })
        .with(|options| {
            options.worker_concurrency = slots;
            // Another node waits for no longer than this until a session of one that stopped is free.
            options.session_lock_timeout = seconds(1);
        })
}

#[test]
fn without_a_node_id_the_activities_of_a_session_run_one_after_the_other() {
    for slots in [2, 16] {
        on_every_store(async |world: World| {
            let (log, gate) = (Log::new(), Gate::closed());
            let runtime = world.run(nameless(slots, &log, &gate)).await;
            world.start("i", "Fan", "").await;
            gate.waiting_for(1).await;
            // Those that wait take no slot from others, and keep no other session from being served.
            assert_eq!(world.start_and_end("j", "Beside", "").await.unwrap(), "beside");
            assert_eq!(log.lines().len(), 1, "one at a time: {:?}", log.lines());
            gate.open();
            assert_eq!(world.end("i").await.unwrap(), "6");
            assert_eq!(log.lines().len(), 6);
            runtime.shutdown(None).await;
        });
    }
}

#[test]
fn activities_that_wait_for_their_session_are_given_back_when_the_node_stops() {
    on_every_store(async |world: World| {
        let (log, gate) = (Log::new(), Gate::closed());
        let stopped = world.run(nameless(16, &log, &gate)).await;
        world.start("i", "Fan", "").await;
        gate.waiting_for(1).await;
        assert_eq!(world.start_and_end("j", "Beside", "").await.unwrap(), "beside");
        stopped.shutdown(Some(100)).await;
        gate.open();
        let runtime = world.run(nameless(16, &log, &gate)).await;
        assert_eq!(world.end("i").await.unwrap(), "6");
        assert_eq!(log.lines().len(), 7, "one was interrupted, and no other had begun");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_node_serves_no_more_sessions_at_once_than_it_may() {
    on_every_store(async |world: World| {
        let (log, gate) = (Log::new(), Gate::closed());
        let node = Node::new()
            .held("Held", &log, &gate)
            .orchestration("Session", |ctx, session| async move {
                ctx.schedule_activity_on_session("Held", session.clone(), session).await
            })
            .orchestration("Plain", |ctx, _| async move { ctx.schedule_activity("Echo", "plain").await })
            .with(|options| options.max_sessions_per_runtime = 1);
        let runtime = world.run(node).await;
        world.start("first", "Session", "1").await;
        log.has(1).await;
        world.start("second", "Session", "2").await;
        world.recorded("second", "ActivityScheduled", 1).await;
        // What has no session goes on.
        assert_eq!(world.start_and_end("plain", "Plain", "").await.unwrap(), "plain");
        assert_eq!(log.lines(), ["began 1"]);
        gate.open();
        let (took, end) = world.time(world.end("second")).await;
        end.unwrap();
        assert!(took <= seconds(5), "{took:?}: soon, not when a long call for work is over");
        world.end("first").await.unwrap();
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_second_node_takes_the_session_that_is_one_too_many() {
    on_every_store(async |world: World| {
        let (log, gate) = (Log::new(), Gate::closed());
        let small = |name: &'static str| {
            node(name)
                .held("Held", &log, &gate)
                .orchestration("Session", |ctx, session| async move {
                    ctx.schedule_activity_on_session("Held", "", session).await
                })
                .with(|options| options.max_sessions_per_runtime = 1)
        };
        let (a, b) = (world.run(small("a")).await, world.run(small("b")).await);
        world.start("first", "Session", "1").await;
        gate.waiting_for(1).await;
        world.start("second", "Session", "2").await;
        gate.waiting_for(2).await;
        // A third is too many for both, and waits for the first that is free.
        world.start("third", "Session", "3").await;
        world.recorded("third", "ActivityScheduled", 1).await;
        assert_eq!(gate.held(), 2);
        gate.open();
        world.end("first").await.unwrap();
        world.end("second").await.unwrap();
        world.end("third").await.unwrap();
        a.shutdown(None).await;
        b.shutdown(None).await;
    });
}

#[test]
fn a_session_of_a_node_that_died_is_taken_over() {
    virtually(async |world: World| {
        let steps = || {
            Node::new().orchestration("Steps", |ctx, _| async move {
                let before = ctx.schedule_activity_on_session("Where", "", "s").await?;
                ctx.schedule_wait("go").await;
                Ok(format!("{before} {}", ctx.schedule_activity_on_session("Where", "", "s").await?))
            })
        };
        let named = |name: &'static str| {
            steps()
                .activity("Where", move |_, _| async move { Ok(name.to_owned()) })
                .with(|options| options.worker_node_id = Some(name.to_owned()))
        };
        let doomed = world.run_mortal(named("a")).await;
        world.start("i", "Steps", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        doomed.kill();
        doomed.all_ended().await;
        let b = world.run(named("b")).await;
        world.raise("i", "go", "").await;
        let (took, end) = world.time(world.end("i")).await;
        assert_eq!(end.unwrap(), "a b");
        let most = seconds(41) + 3 * world.looks_every();
        assert!(took <= most, "{took:?}: until the lock of the dead ran out");
        b.shutdown(None).await;
    });
}

/// A step on session `s`, whenever `go` is raised.
fn stepwise(name: &'static str) -> Node {
    node(name).orchestration("Steps", |ctx, _| async move {
        let mut seen = ctx.schedule_activity_on_session("Where", "", "s").await?;
        while ctx.schedule_wait("go").await == "on" {
            seen += &ctx.schedule_activity_on_session("Where", "", "s").await?;
        }
        Ok(seen)
    })
}

#[test]
fn a_session_that_is_idle_for_too_long_is_anybodys() {
    virtually(async |world: World| {
        let idle = |node: Node| node.with(|options| options.session_idle_timeout = seconds(100));
        let a = world.run(idle(stepwise("a"))).await;
        world.start("i", "Steps", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        // Kept for as long as it is not idle, although its lock lasts half a minute only.
        world.pass(seconds(80)).await;
        let b = world.run(idle(stepwise("b"))).await;
        world.raise("i", "go", "on").await;
        world.recorded("i", "ExternalSubscribed", 2).await;
        assert_eq!(session_steps(&world).await, ["a", "a"]);
        // Idle, it is given up: another node may take it.
        world.pass(seconds(150)).await;
        a.shutdown(None).await;
        world.raise("i", "go", "on").await;
        let (took, ()) = world.time(world.recorded("i", "ExternalSubscribed", 3)).await;
        let most = seconds(2) + 3 * world.looks_every();
        assert!(took <= most, "{took:?}: nobody had to be waited for");
        assert_eq!(session_steps(&world).await, ["a", "a", "b"]);
        b.shutdown(None).await;
    });
}

async fn session_steps(world: &World) -> Vec<String> {
    let history = world.history("i").await;
    let results = history.into_iter().filter_map(|event| {
        if let EventKind::ActivityCompleted { result } = event.kind { Some(result) } else { None }
    });
    results.collect()
}

#[test]
fn a_session_outlives_continue_as_new_and_a_restart_under_the_same_name() {
    on_every_store(async |world: World| {
        let rounds = |name: &'static str| {
            node(name).orchestration("Rounds", |ctx, seen| async move {
                let seen = seen + &ctx.schedule_activity_on_session("Where", "", "s").await?;
                if ctx.schedule_wait("go").await == "again" {
                    ctx.continue_as_new(seen).await
                } else {
                    Ok(seen)
                }
            })
        };
        let a = world.run(rounds("a")).await;
        world.start("i", "Rounds", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        let b = world.run(rounds("b")).await;
        world.raise("i", "go", "again").await;
        world.until(async || world.client().list_executions("i").await.unwrap().len() == 2).await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        a.shutdown(None).await;
        // The same name again, while the other one waits for the session.
        let a = world.run(rounds("a")).await;
        world.raise("i", "go", "again").await;
        world.until(async || world.client().list_executions("i").await.unwrap().len() == 3).await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        world.raise("i", "go", "enough").await;
        assert_eq!(world.end("i").await.unwrap(), "aaa");
        a.shutdown(None).await;
        b.shutdown(None).await;
    });
}

#[test]
fn sessions_that_nobody_owns_are_forgotten() {
    virtually(async |world: World| {
        let runtime = world.run(node("a")).await;
        world.start_and_end("i", "Main", "s").await.unwrap();
        let sessions = async || match world.memory() {
            Some(memory) => memory.dump().sessions.len(),
            None => world.number("SELECT count(*) FROM session").await,
        };
        assert_eq!(sessions().await, 1);
        world.pass(seconds(1_000)).await;
        assert_eq!(sessions().await, 0);
        runtime.shutdown(None).await;
    });
}

#[test]
fn work_without_a_session_is_not_bound_to_anybody() {
    on_own_stores(async |world: World| {
        let (log, gate) = (Log::new(), Gate::closed());
        let single = |name: &'static str| {
            node(name)
                .held("Held", &log, &gate)
                .orchestration("Plain", |ctx, _| async move {
                    let all = (0..2).map(|_| ctx.schedule_activity("Held", "")).collect();
                    Ok(ctx.join(all).await.len().to_string())
                })
                .with(|options| options.worker_concurrency = 1)
        };
        let (a, b) = (world.run(single("a")).await, world.run(single("b")).await);
        world.start("i", "Plain", "").await;
        // Each node has one slot: both are needed.
        gate.waiting_for(2).await;
        gate.open();
        world.end("i").await.unwrap();
        a.shutdown(None).await;
        b.shutdown(None).await;
    });
}
