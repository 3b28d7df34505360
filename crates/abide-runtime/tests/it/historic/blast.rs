//! W8, W9, W11, W12, W14: many nodes, odd work, many messages, damaged ones, and code without measure.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_host::SystemEntropy;
use abide_model::limits::{MAX_CUSTOM_STATUS_BYTES, MAX_KV_KEYS, MAX_KV_VALUE_BYTES, MAX_TAG_NAME_BYTES};
use abide_provider::Provider;
use abide_runtime::Runtime;
use abide_sim::Gate;

use super::odd_store::OddStore;
use crate::lessons::scene::{Code, Way, every_way, ways};

/// Serves one session, and stays in it until the gate opens.
fn one_session(gate: &Gate, owners: &Arc<Mutex<Vec<String>>>) -> Code {
    let (gate, owners) = (gate.clone(), Arc::clone(owners));
    Code::bare()
        .activity("Own", move |ctx, input| {
            let (gate, owners) = (gate.clone(), Arc::clone(&owners));
            async move {
                owners.lock().unwrap().push(ctx.worker_id().to_owned());
                gate.pass().await;
                Ok(input)
            }
        })
        .orchestration("Asks", |ctx, session| async move {
            ctx.schedule_activity_on_session("Own", "", session).await
        })
        .options(|options| {
            options.worker_concurrency = 1;
            options.max_sessions_per_runtime = 1;
        })
}

#[test]
fn w08_three_hundred_nodes_have_three_hundred_names() {
    const NODES: usize = 300;
    ways(&[Way::Fused, Way::Resident], |scene| async move {
        let (gate, owners) = (Gate::closed(), Arc::default());
        let mut nodes = Vec::new();
        for _ in 0..NODES {
            let code = one_session(&gate, &owners);
            let node = Runtime::builder()
                .with_reference_policies()
                .with_provider(scene.store())
                .with_activities(code.activities.build())
                .with_orchestrations(code.orchestrations.build())
                .with_options(code.options)
                .with_clock(scene.world.clock.clone())
                .with_entropy(Arc::new(SystemEntropy))
                .with_spawn(scene.world.tasks.clone());
            nodes.push(node.build().await.unwrap());
        }
        for number in 0..NODES {
            scene.start(&format!("asks-{number}"), "Asks", &format!("session-{number}")).await;
        }
        // Each holds one: a node that was taken for another would hold two, or a session would have two owners.
        gate.waiting_for(NODES).await;
        let distinct: BTreeSet<String> = owners.lock().unwrap().iter().cloned().collect();
        assert_eq!(distinct.len(), NODES);
        let sessions = scene.world.memory.dump().sessions;
        let owning: BTreeSet<_> = sessions.values().map(|session| session.owner.clone()).collect();
        assert_eq!((sessions.len(), owning.len()), (NODES, NODES));
        gate.open();
        for number in 0..NODES {
            scene.end_of(&format!("asks-{number}")).await.unwrap();
        }
        for node in nodes {
            node.shutdown(None).await;
        }
    });
}

#[test]
fn w09_work_that_is_none_stops_no_worker() {
    ways(&[Way::Cold], |scene| async move {
        let store: Arc<dyn Provider> = scene.faults.clone();
        let odd = Arc::new(OddStore::new(store, 5));
        scene
            .node_on(
                odd.clone(),
                scene.world.clock.clone(),
                Code::new().options(|options| {
                    options.worker_concurrency = 2;
                }),
            )
            .await;
        assert_eq!(scene.run("hello", "Hello", "you").await.unwrap(), "hello you");
        assert_eq!(odd.left(), 0, "all of it was handed out");
        assert_eq!(odd.given_back(), 5);
    });
}

#[test]
fn w11_continue_as_new_carries_over_every_unread_message() {
    const MESSAGES: usize = 1_500;
    every_way(|scene| async move {
        let code = Code::new().orchestration("Reads", |ctx, read| async move {
            if read.is_empty() {
                ctx.schedule_wait("go").await;
                return ctx.continue_as_new("0").await;
            }
            let mut next: usize = read.parse().unwrap();
            for _ in 0..500 {
                let message = ctx.dequeue_event("q").await;
                if message != next.to_string() {
                    return Err(format!("{message} instead of {next}"));
                }
                next += 1;
            }
            if next == MESSAGES { Ok(next.to_string()) } else { ctx.continue_as_new(next.to_string()).await }
        });
        scene.node(code).await;
        scene.start("reads", "Reads", "").await;
        scene.until_idle("reads").await;
        for number in 0..MESSAGES {
            scene.client().enqueue_event("reads", "q", number.to_string()).await.unwrap();
        }
        scene.client().raise_event("reads", "go", "").await.unwrap();
        assert_eq!(scene.end_of("reads").await.unwrap(), MESSAGES.to_string());
    });
}

#[test]
fn w12_a_message_that_cannot_be_read_stops_nobody_and_is_put_aside() {
    every_way(|scene| async move {
        scene.start("damaged", "Hello", "you").await;
        for number in scene.world.memory.dump().messages.into_keys() {
            scene.world.memory.make_message_unreadable(number);
        }
        let node = scene.node(Code::new()).await;
        for number in 0..20 {
            let before = scene.time();
            assert_eq!(scene.run(&format!("hello-{number}"), "Hello", "you").await.unwrap(), "hello you");
            assert!(scene.time() - before < Duration::from_secs(1));
        }
        scene.until(|dump| dump.dead_letters == 1).await;
        assert!(scene.world.memory.dump().messages.is_empty());
        let leased = node.metrics_snapshot().unwrap().orch_dispatcher_items_fetched;
        let expected = if scene.way == Way::Fused { 20 } else { 40 };
        assert_eq!(
            leased, expected,
            "one for each turn of those that can be read, unless its result is its lease"
        );
        assert_eq!(scene.faults.count(scene.way.commit()), 40);
    });
}

/// An orchestration that goes as far as it may, or one step further.
fn without_measure(beyond: usize) -> Code {
    Code::new()
        .orchestration("Status", move |ctx, _| async move {
            ctx.set_custom_status("x".repeat(MAX_CUSTOM_STATUS_BYTES + beyond));
            Ok("done".to_owned())
        })
        .orchestration("Value", move |ctx, _| async move {
            ctx.set_kv_value("key", "x".repeat(MAX_KV_VALUE_BYTES + beyond));
            Ok("done".to_owned())
        })
        .orchestration("Keys", move |ctx, _| async move {
            for number in 0..MAX_KV_KEYS + beyond {
                ctx.set_kv_value(number.to_string(), "");
            }
            Ok("done".to_owned())
        })
        .orchestration("Tag", move |ctx, _| async move {
            let _tagged = ctx.schedule_activity("Echo", "").with_tag("x".repeat(MAX_TAG_NAME_BYTES + beyond));
            ctx.schedule_timer(Duration::from_secs(1)).await;
            Ok("done".to_owned())
        })
}

#[test]
fn w14_whoever_goes_beyond_a_limit_fails_alone_and_reads_which() {
    every_way(|scene| async move {
        let limits = [
            ("Status", MAX_CUSTOM_STATUS_BYTES),
            ("Value", MAX_KV_VALUE_BYTES),
            ("Keys", MAX_KV_KEYS),
            ("Tag", MAX_TAG_NAME_BYTES),
        ];
        scene.node(without_measure(0)).await;
        for (name, _) in limits {
            assert_eq!(scene.run(&format!("{name}-at"), name, "").await.unwrap(), "done");
        }
        scene.close().await;
        scene.node(without_measure(1)).await;
        for (name, limit) in limits {
            let end = scene.run(&format!("{name}-beyond"), name, "").await.unwrap_err();
            assert!(end.contains(&limit.to_string()), "{name}: {end}");
        }
        // What spins for ever in its poll is stopped, and what is merely large is not.
        assert_eq!(scene.run("large", "Hello", &"x".repeat(1 << 20)).await.unwrap().len(), (1 << 20) + 6);
    });
}

#[test]
fn w14_code_that_wakes_itself_for_ever_fails_alone() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Spins", |_, _| async move {
            std::future::poll_fn::<(), _>(|context| {
                context.waker().wake_by_ref();
                std::task::Poll::Pending
            })
            .await;
            Ok("unreachable".to_owned())
        });
        scene.node(code).await;
        assert!(scene.run("spins", "Spins", "").await.is_err());
        assert_eq!(scene.run("hello", "Hello", "you").await.unwrap(), "hello you");
    });
}
