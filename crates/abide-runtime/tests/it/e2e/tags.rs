//! §15.6: activities for some workers only.

use abide_provider::TagFilter;
use abide_sim::Gate;

use super::support::{Log, Node, World, names, on_every_store, seconds, virtually};

/// Two activities, one of them for `gpu`.
fn node(filter: TagFilter) -> Node {
    Node::new()
        .activity("Tag", |ctx, _| async move { Ok(format!("{:?}", ctx.tag())) })
        .orchestration("Main", |ctx, _| async move {
            let plain = ctx.schedule_activity("Tag", "");
            let tagged = ctx.schedule_activity("Tag", "").with_tag("gpu");
            let (plain, tagged) = ctx.join2(plain, tagged).await;
            Ok(format!("{} {}", plain?, tagged?))
        })
        .with(|options| options.worker_tag_filter = filter)
}

fn gpu() -> [String; 1] {
    ["gpu".to_owned()]
}

#[test]
fn a_filter_takes_what_it_says_and_leaves_the_rest() {
    for (filter, plain, tagged) in [
        (TagFilter::DefaultOnly, true, false),
        (TagFilter::tags(gpu()), false, true),
        (TagFilter::default_and(gpu()), true, true),
        (TagFilter::Any, true, true),
        (TagFilter::None, false, false),
        (TagFilter::tags(["other".to_owned()]), false, false),
    ] {
        on_every_store(async |world: World| {
            let runtime = world.run(node(filter.clone())).await;
            world.start("i", "Main", "").await;
            let done = usize::from(plain) + usize::from(tagged);
            world.recorded("i", "ActivityScheduled", 2).await;
            world.recorded("i", "ActivityCompleted", done).await;
            if world.is_virtual() {
                world.pass(seconds(1_000)).await;
            }
            let left = world.left().await.work;
            assert_eq!(left, 2 - done, "{filter:?}");
            runtime.shutdown(None).await;
            // Whoever takes everything takes the rest.
            let runtime = world.run(node(TagFilter::Any)).await;
            assert_eq!(world.end("i").await.unwrap(), r#"None Some("gpu")"#);
            runtime.shutdown(None).await;
        });
    }
}

#[test]
fn two_nodes_share_the_work_by_tag() {
    on_every_store(async |world: World| {
        let (plain, special) =
            (world.run(node(TagFilter::DefaultOnly)).await, world.run(node(TagFilter::tags(gpu()))).await);
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), r#"None Some("gpu")"#);
        plain.shutdown(None).await;
        special.shutdown(None).await;
    });
}

#[test]
fn work_that_no_worker_wants_waits_for_one() {
    virtually(async |world: World| {
        let runtime = world.run(node(TagFilter::DefaultOnly)).await;
        world.start("i", "Main", "").await;
        world.pass_long().await;
        assert_eq!(world.left().await.work, 1);
        let special = world.run(node(TagFilter::tags(gpu()))).await;
        world.end("i").await.unwrap();
        runtime.shutdown(None).await;
        special.shutdown(None).await;
    });
}

#[test]
fn a_tag_is_part_of_what_replay_compares() {
    on_every_store(async |world: World| {
        let tagged = |tag: &'static str| {
            Node::new().orchestration("Main", move |ctx, _| async move {
                let activity = ctx.schedule_activity("Echo", "").with_tag(tag);
                ctx.join2(activity, ctx.schedule_wait("go")).await.0
            })
        };
        let runtime = world.run(tagged("a")).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        runtime.shutdown(None).await;
        let runtime = world.run(tagged("b")).await;
        world.raise("i", "go", "").await;
        let details = world.failure("i").await;
        assert_eq!(details.category(), "configuration");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_tagged_activity_that_is_dropped_is_cancelled_like_any_other() {
    on_every_store(async |world: World| {
        let (log, gate) = (Log::new(), Gate::closed());
        let node = Node::new()
            .held("Held", &log, &gate)
            .patient("Patient", &log)
            .orchestration("Main", |ctx, _| async move {
                drop(ctx.schedule_activity("Patient", "").with_tag("gpu"));
                ctx.schedule_activity("Echo", "x").await
            })
            .with(|options| options.worker_tag_filter = TagFilter::Any);
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), "x");
        assert!(names(&world.history("i").await).contains(&"ActivityCancelRequested"));
        assert_eq!(log.len(), 0);
        world.is_drained().await;
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_tag_on_what_has_none_or_comes_too_late_fails_the_orchestration_only() {
    on_every_store(async |world: World| {
        let node = Node::new()
            .orchestration("Timer", |ctx, _| async move {
                ctx.schedule_timer(seconds(1)).with_tag("x").await;
                Ok(String::new())
            })
            .orchestration("Late", |ctx, _| async move {
                let activity = ctx.schedule_activity("Echo", "");
                ctx.schedule_activity("Echo", "").await?;
                activity.with_tag("x").await
            });
        let runtime = world.run(node).await;
        let timer = world.start_and_end("i", "Timer", "").await.unwrap_err();
        assert!(timer.contains("with_tag() can only be called on activity futures"), "{timer}");
        let late = world.start_and_end("j", "Late", "").await.unwrap_err();
        assert!(late.contains("with_tag()"), "{late}");
        runtime.shutdown(None).await;
    });
}
