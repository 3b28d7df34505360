//! §7: when a durable future becomes ready.

use super::support::{Node, World, millis, on_every_store};

/// Waits for a signal `go`, then answers what `f` makes of it.
async fn go(world: &World, instance: &str) {
    world.raise(instance, "go", "").await;
}

#[test]
fn an_activity_a_child_and_a_timer_are_ready_when_their_result_is_there() {
    on_every_store(async |world: World| {
        let node = Node::new()
            .orchestration("Child", |_, input| async move { Ok(format!("child of {input}")) })
            .orchestration("Main", |ctx, input| async move {
                let activity = ctx.schedule_activity("Echo", "activity").await?;
                let child = ctx.schedule_sub_orchestration("Child", input).await?;
                ctx.schedule_timer(millis(5)).await;
                Ok(format!("{activity}, {child}"))
            });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "me").await.unwrap(), "activity, child of me");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_signal_goes_to_the_oldest_open_wait_of_its_name() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            let (first, second) = (ctx.schedule_wait("s"), ctx.schedule_wait("s"));
            let other = ctx.schedule_wait("t");
            let (second, first, other) = ctx.join3(second, first, other).await;
            Ok(format!("{first}{second}{other}"))
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 3).await;
        world.raise("i", "s", "1").await;
        world.raise("i", "t", "3").await;
        world.raise("i", "s", "2").await;
        assert_eq!(world.end("i").await.unwrap(), "123");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_wait_that_was_dropped_leaves_the_signal_to_the_next() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            let (older, younger) = (ctx.schedule_wait("s"), ctx.schedule_wait("s"));
            ctx.schedule_wait("go").await;
            drop(older);
            Ok(younger.await)
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 3).await;
        go(&world, "i").await;
        world.recorded("i", "ExternalSubscribedCancelled", 1).await;
        world.raise("i", "s", "x").await;
        assert_eq!(world.end("i").await.unwrap(), "x");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_wait_that_is_dropped_with_its_signal_discards_it() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            let (older, younger) = (ctx.schedule_wait("s"), ctx.schedule_wait("s"));
            ctx.schedule_wait("go").await;
            drop(older);
            Ok(younger.await)
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 3).await;
        world.raise("i", "s", "of the older one").await;
        go(&world, "i").await;
        world.recorded("i", "ExternalEvent", 2).await;
        world.raise("i", "s", "of the younger one").await;
        assert_eq!(world.end("i").await.unwrap(), "of the younger one");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_signal_to_nobody_is_recorded_and_lost() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            ctx.schedule_wait("go").await;
            Ok(ctx.schedule_wait("s").await)
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        world.raise("i", "s", "early").await;
        world.recorded("i", "ExternalEvent", 1).await;
        go(&world, "i").await;
        world.recorded("i", "ExternalSubscribed", 2).await;
        world.raise("i", "s", "in time").await;
        assert_eq!(world.end("i").await.unwrap(), "in time");
        assert_eq!(
            world.trace("i").await,
            [
                "1 OrchestrationStarted",
                "2 ExternalSubscribed go",
                "3 ExternalEvent s:early",
                "4 ExternalEvent go:",
                "5 ExternalSubscribed s",
                "6 ExternalEvent s:in time",
                "7 OrchestrationCompleted in time",
            ]
        );
        runtime.shutdown(None).await;
    });
}

#[test]
fn the_same_signal_twice_is_two_signals() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            let (first, second) = ctx.join2(ctx.schedule_wait("s"), ctx.schedule_wait("s")).await;
            Ok(format!("{first}{second}"))
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 2).await;
        world.raise("i", "s", "x").await;
        world.raise("i", "s", "x").await;
        assert_eq!(world.end("i").await.unwrap(), "xx");
        runtime.shutdown(None).await;
    });
}

#[test]
fn after_a_wait_is_satisfied_a_second_raise_reaches_nobody_else() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            let first = ctx.schedule_wait("s").await;
            ctx.schedule_wait("go").await;
            let second = ctx.schedule_wait("s").await;
            Ok(first + &second)
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        world.raise("i", "s", "1").await;
        world.recorded("i", "ExternalSubscribed", 2).await;
        world.raise("i", "s", "1").await;
        world.recorded("i", "ExternalEvent", 2).await;
        go(&world, "i").await;
        world.recorded("i", "ExternalSubscribed", 3).await;
        world.raise("i", "s", "2").await;
        assert_eq!(world.end("i").await.unwrap(), "12");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_wait_made_by_one_message_of_a_batch_gets_the_next() {
    on_every_store(async |world: World| {
        let node = || {
            Node::new().orchestration("Main", |ctx, _| async move {
                ctx.schedule_wait("go").await;
                Ok(ctx.schedule_wait("s").await)
            })
        };
        let runtime = world.run(node()).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        runtime.shutdown(None).await;
        go(&world, "i").await;
        world.raise("i", "s", "x").await;
        let runtime = world.run(node()).await;
        assert_eq!(world.end("i").await.unwrap(), "x");
        runtime.shutdown(None).await;
    });
}

#[test]
fn messages_of_a_queue_are_read_in_their_order_by_the_dequeues_in_theirs() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            // Held and not polled, the first keeps its place.
            let (first, second) = (ctx.dequeue_event("q"), ctx.dequeue_event("q"));
            let second = second.await;
            let first = first.await;
            Ok(format!("{first}{second}"))
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "QueueSubscribed", 2).await;
        world.enqueue("i", "q", "1").await;
        world.enqueue("i", "q", "2").await;
        assert_eq!(world.end("i").await.unwrap(), "12");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_message_waits_for_its_dequeue() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            ctx.schedule_wait("go").await;
            let first = ctx.dequeue_event("q").await;
            Ok(first + &ctx.dequeue_event("q").await)
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        world.enqueue("i", "q", "1").await;
        world.enqueue("i", "other", "nobody reads this").await;
        world.enqueue("i", "q", "2").await;
        world.recorded("i", "QueueEventDelivered", 3).await;
        go(&world, "i").await;
        assert_eq!(world.end("i").await.unwrap(), "12");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_dropped_dequeue_loses_no_message() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            let dropped = ctx.dequeue_event("q");
            ctx.schedule_wait("go").await;
            drop(dropped);
            Ok(ctx.dequeue_event("q").await)
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "QueueSubscribed", 1).await;
        world.enqueue("i", "q", "kept").await;
        world.recorded("i", "QueueEventDelivered", 1).await;
        go(&world, "i").await;
        assert_eq!(world.end("i").await.unwrap(), "kept");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_dequeue_dropped_before_its_message_leaves_it_to_the_next() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            let (older, younger) = (ctx.dequeue_event("q"), ctx.dequeue_event("q"));
            ctx.schedule_wait("go").await;
            drop(older);
            Ok(younger.await)
        });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "QueueSubscribed", 2).await;
        go(&world, "i").await;
        world.recorded("i", "QueueSubscriptionCancelled", 1).await;
        world.enqueue("i", "q", "only one").await;
        assert_eq!(world.end("i").await.unwrap(), "only one");
        runtime.shutdown(None).await;
    });
}
