//! §13.2–13.4: the version of abide that an execution is pinned to, and who may run it.

use abide_model::{EventKind, OrchestrationStatus, SemverRange, current_build_version};
use semver::Version;

use super::support::{Node, Past, World, millis, on_every_store, virtually};

fn waiting() -> Node {
    Node::new().orchestration("Main", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) })
}

fn subscribed() -> EventKind {
    EventKind::ExternalSubscribed { name: "go".to_owned() }
}

/// An instance that a build of this version began, and that waits for `go`.
async fn begun_by(world: &World, instance: &str, stamp: &str) {
    world.start(instance, "Main", "").await;
    world.write(Past::begins([subscribed()]).stamped(stamp)).await;
}

/// What the store has every execution of an instance pinned to.
async fn pins(world: &World, instance: &str) -> Vec<String> {
    if let Some(memory) = world.memory() {
        let dump = memory.dump();
        let ours = dump.executions.iter().filter(|((name, _), _)| name == instance);
        return ours.map(|(_, execution)| execution.pin.clone().unwrap_or_default()).collect();
    }
    let query = format!(
        "SELECT e.pin FROM execution AS e JOIN mailbox AS m ON m.no = e.mailbox WHERE m.id = '{instance}' ORDER BY e.no"
    );
    world.texts(&query).await
}

#[test]
fn every_event_and_every_execution_carries_the_version_that_wrote_it() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Child", |_, _| async move { Ok(String::new()) }).orchestration(
            "Main",
            |ctx, input| async move {
                ctx.schedule_sub_orchestration("Child", "").await?;
                if input.is_empty() { ctx.continue_as_new("again").await } else { Ok(input) }
            },
        );
        let runtime = world.run(node).await;
        world.start_and_end("i", "Main", "").await.unwrap();
        let build = current_build_version().to_string();
        for event in world.history("i").await {
            assert_eq!(event.duroxide_version, build);
        }
        assert_eq!(pins(&world, "i").await, [build.clone(), build.clone()]);
        assert_eq!(pins(&world, "i::sub::2").await, [build]);
        runtime.shutdown(None).await;
    });
}

#[test]
fn this_version_takes_over_from_the_reference_and_is_far_from_the_future() {
    let own = current_build_version();
    assert!(own >= Version::new(0, 1, 31) && own < Version::new(99, 0, 0), "{own}");
}

#[test]
fn an_execution_of_an_older_build_goes_on_with_its_own_pin() {
    on_every_store(async |world: World| {
        begun_by(&world, "i", "0.1.32").await;
        let runtime = world.run(waiting()).await;
        world.raise("i", "go", "x").await;
        assert_eq!(world.end("i").await.unwrap(), "x");
        assert_eq!(pins(&world, "i").await, ["0.1.32"]);
        let stamps: Vec<_> =
            world.history("i").await.into_iter().map(|event| event.duroxide_version).collect();
        let own = current_build_version().to_string();
        assert_eq!(stamps, ["0.1.32", "0.1.32", &own, &own]);
        runtime.shutdown(None).await;
    });
}

#[test]
fn stamps_that_are_no_version_run_by_the_rules_of_old() {
    on_every_store(async |world: World| {
        for (instance, stamp) in [("old", "0.1.30"), ("empty", ""), ("garbage", "garbage")] {
            begun_by(&world, instance, stamp).await;
        }
        let runtime = world.run(waiting()).await;
        for instance in ["old", "empty", "garbage"] {
            world.raise(instance, "go", instance).await;
            assert_eq!(world.end(instance).await.unwrap(), instance);
        }
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_execution_of_a_later_build_is_left_alone_and_holds_nobody_up() {
    on_every_store(async |world: World| {
        begun_by(&world, "future", "99.0.0").await;
        world.raise("future", "go", "").await;
        let before = world.history("future").await;
        let runtime = world.run(waiting()).await;
        for instance in ["a", "b"] {
            world.start(instance, "Main", "").await;
            world.recorded(instance, "ExternalSubscribed", 1).await;
            world.raise(instance, "go", instance).await;
            assert_eq!(world.end(instance).await.unwrap(), instance);
        }
        if world.is_virtual() {
            world.pass_long().await;
        }
        assert_eq!(world.history("future").await, before);
        assert_eq!(world.left().await.messages, 1);
        let status = world.client().get_orchestration_status("future").await.unwrap();
        assert!(matches!(status, OrchestrationStatus::Running { .. }), "{status:?}");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_store_that_does_not_know_the_pin_hands_it_out_and_the_runtime_looks_again() {
    virtually(async |world: World| {
        world.start("future", "Main", "").await;
        world.write(Past::begins([subscribed()]).stamped("99.0.0").without_pin()).await;
        world.raise("future", "go", "").await;
        let before = world.history("future").await;
        let runtime = world.run(waiting()).await;
        // Looked at every second and given back each time, which counts as no attempt: it is never poison.
        world.pass_long().await;
        assert_eq!(world.history("future").await, before);
        assert_eq!(world.start_and_cancel("other").await, "canceled: enough");
        runtime.shutdown(None).await;
        if let Some(memory) = world.memory() {
            let dump = memory.dump();
            let attempts: Vec<_> = dump.messages.values().map(|message| message.attempts).collect();
            assert_eq!(attempts, [0]);
        } else {
            assert_eq!(world.number("SELECT sum(attempts) FROM message").await, 0);
        }
    });
}

#[test]
fn an_execution_whose_pin_nobody_told_matches_every_range() {
    on_every_store(async |world: World| {
        world.start("i", "Main", "").await;
        world.write(Past::begins([subscribed()]).stamped("not a version").without_pin()).await;
        let narrow = SemverRange::new(Version::new(0, 2, 0), Version::new(0, 2, 0));
        let runtime =
            world.run(waiting().with(|options| options.supported_replay_versions = Some(narrow))).await;
        world.raise("i", "go", "x").await;
        assert_eq!(world.end("i").await.unwrap(), "x");
        runtime.shutdown(None).await;
    });
}

#[test]
fn two_runtimes_with_disjoint_ranges_each_run_their_own() {
    on_every_store(async |world: World| {
        begun_by(&world, "old", "0.1.31").await;
        begun_by(&world, "new", &current_build_version().to_string()).await;
        let node = |name: &'static str| {
            Node::new().orchestration("Main", move |ctx, _| async move {
                Ok(format!("{} by {name}", ctx.schedule_wait("go").await))
            })
        };
        let old = SemverRange::new(Version::new(0, 0, 0), Version::new(0, 1, 99));
        let new = SemverRange::new(Version::new(0, 2, 0), current_build_version());
        let first =
            world.run(node("old").with(|options| options.supported_replay_versions = Some(old))).await;
        let second =
            world.run(node("new").with(|options| options.supported_replay_versions = Some(new))).await;
        for instance in ["old", "new"] {
            world.raise(instance, "go", instance).await;
            assert_eq!(world.end(instance).await.unwrap(), format!("{instance} by {instance}"));
        }
        first.shutdown(None).await;
        second.shutdown(None).await;
    });
}

#[test]
fn a_range_beyond_the_build_is_not_believed() {
    on_every_store(async |world: World| {
        begun_by(&world, "future", "99.0.0").await;
        world.raise("future", "go", "").await;
        let all = SemverRange::new(Version::new(0, 0, 0), Version::new(100, 0, 0));
        let runtime =
            world.run(waiting().with(|options| options.supported_replay_versions = Some(all))).await;
        assert_eq!(world.start_and_cancel("other").await, "canceled: enough");
        world.pass(millis(20)).await;
        assert_eq!(world.history("future").await.len(), 2);
        runtime.shutdown(None).await;
    });
}

impl World {
    /// Shows that the runtime works: an instance comes and goes.
    async fn start_and_cancel(&self, instance: &str) -> String {
        self.start(instance, "Main", "").await;
        self.recorded(instance, "ExternalSubscribed", 1).await;
        self.client().cancel_instance(instance, "enough").await.unwrap();
        self.end(instance).await.unwrap_err()
    }
}
