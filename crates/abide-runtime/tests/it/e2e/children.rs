//! §11.1–11.4, §29.3: children, their ids, and how their end reaches their parent.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use abide_model::{ErrorDetails, EventKind, WorkItem};
use abide_provider::{Operation, Rejection};
use abide_sim::{Fault, FaultPlan, FaultStore};

use super::support::{Log, Node, Past, World, names, on_every_store, virtually};

#[test]
fn ids_are_made_of_the_parents_and_of_the_event_that_asks() {
    on_every_store(async |world: World| {
        let node = Node::new()
            .orchestration("Leaf", |ctx, _| async move { Ok(ctx.instance_id()) })
            .orchestration("Middle", |ctx, _| async move { ctx.schedule_sub_orchestration("Leaf", "").await })
            .orchestration("Root", |ctx, _| async move {
                let children = vec![
                    ctx.schedule_sub_orchestration("Middle", ""),
                    ctx.schedule_sub_orchestration("Leaf", ""),
                ];
                let ids: Result<Vec<_>, _> = ctx.join(children).await.into_iter().collect();
                Ok(ids?.join(" "))
            });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("r", "Root", "").await.unwrap(), "r::sub::2::sub::2 r::sub::3");
        // The record holds what is added to the parent's id.
        let trace = world.trace("r").await;
        assert_eq!(trace[1], "2 SubOrchestrationScheduled sub::2 Middle()");
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_explicit_id_is_taken_as_it_is() {
    on_every_store(async |world: World| {
        let node = Node::new()
            .orchestration("Child", |ctx, _| async move { Ok(ctx.instance_id()) })
            .orchestration("Main", |ctx, _| async move {
                let odd = ctx.schedule_sub_orchestration_with_id("Child", "a::sub::b", "").await?;
                let plain = ctx.schedule_sub_orchestration_with_id("Child", "my child", "").await?;
                Ok(format!("{odd}, {plain}"))
            });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), "a::sub::b, my child");
        assert_eq!(world.trace("i").await[1], "2 SubOrchestrationScheduled a::sub::b Child()");
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_id_that_looks_made_is_an_error_at_once_and_leaves_no_event() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            ctx.schedule_sub_orchestration_with_id("Child", "sub::7", "").await
        });
        let runtime = world.run(node).await;
        assert_eq!(
            world.start_and_end("i", "Main", "").await.unwrap_err(),
            "sub-orchestration instance id 'sub::7' starts with the reserved marker 'sub::', which the runtime uses \
             to mark auto-generated child ids; use an id that does not begin with it"
        );
        assert_eq!(names(&world.history("i").await), ["OrchestrationStarted", "OrchestrationFailed"]);
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_child_knows_its_parent_and_the_tree_knows_both() {
    on_every_store(async |world: World| {
        let node = Node::new()
            .orchestration("Child", |_, _| async move { Ok(String::new()) })
            .orchestration("Main", |ctx, _| async move { ctx.schedule_sub_orchestration("Child", "").await });
        let runtime = world.run(node).await;
        world.start_and_end("i", "Main", "").await.unwrap();
        let started = world.history("i::sub::2").await.remove(0);
        let EventKind::OrchestrationStarted { parent_instance, parent_id, parent_execution_id, .. } =
            started.kind
        else {
            panic!("{started:?}")
        };
        assert_eq!(
            (parent_instance.as_deref(), parent_id, parent_execution_id),
            (Some("i"), Some(2), Some(1))
        );
        let descriptor = runtime.get_orchestration_descriptor("i::sub::2").await.unwrap();
        assert_eq!(descriptor.name, "Child");
        assert_eq!((descriptor.parent_instance.as_deref(), descriptor.parent_id), (Some("i"), Some(2)));
        let client = world.client();
        let tree = client.get_instance_tree("i").await.unwrap();
        assert_eq!(tree.all_ids, ["i", "i::sub::2"]);
        // The root takes its children along.
        client.delete_instance("i", false).await.unwrap();
        assert!(world.history("i::sub::2").await.is_empty());
        runtime.shutdown(None).await;
    });
}

#[test]
fn what_a_child_reports_to_an_earlier_execution_reaches_nobody() {
    on_every_store(async |world: World| {
        let node = Node::new()
            .orchestration("Child", |ctx, _| async move { Ok(ctx.schedule_wait("s").await) })
            .orchestration("Main", |ctx, input| async move {
                if input.is_empty() {
                    let _open = ManuallyDrop::new(ctx.schedule_sub_orchestration_with_id("Child", "old", ""));
                    ctx.schedule_wait("go").await;
                    return ctx.continue_as_new("again").await;
                }
                ctx.schedule_sub_orchestration_with_id("Child", "new", "").await
            });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("old", "ExternalSubscribed", 1).await;
        world.raise("i", "go", "").await;
        world.recorded("new", "ExternalSubscribed", 1).await;
        // The child of the first execution was cancelled with it; its report names that execution.
        assert_eq!(world.end("old").await.unwrap_err(), "canceled: parent continued as new");
        let result = "not for you".to_owned();
        let stale = WorkItem::SubOrchCompleted {
            parent_instance: "i".to_owned(),
            parent_execution_id: 1,
            parent_id: 2,
            result,
        };
        world.mail(stale).await;
        world.raise("new", "s", "for you").await;
        assert_eq!(world.end("i").await.unwrap(), "for you");
        runtime.shutdown(None).await;
    });
}

/// The start of a child as releases before 0.1.30 sent it: without the execution that asked.
fn old_start(instance: &str, parent: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: "Child".to_owned(),
        input: String::new(),
        version: None,
        parent_instance: Some(parent.to_owned()),
        parent_id: Some(2),
        parent_execution_id: None,
        execution_id: 1,
    }
}

fn scheduled(child: &str) -> EventKind {
    EventKind::SubOrchestrationScheduled {
        name: "Child".to_owned(),
        instance: child.to_owned(),
        input: String::new(),
    }
}

/// Writes an instance of `Main` whose first execution continued as new, and whose second began with `asked`.
async fn continued(world: &World, instance: &str, asked: EventKind) {
    world.start(instance, "Main", "").await;
    let ended = EventKind::OrchestrationContinuedAsNew { input: String::new() };
    world.write(Past::begins([ended]).ended("ContinuedAsNew")).await;
    let second = Past::begins([asked]).events_of(instance, 2);
    world.store.append_with_execution(instance, 2, second).await.unwrap();
}

#[test]
fn a_child_whose_start_names_no_execution_of_its_parent_answers_the_current_one() {
    on_every_store(async |world: World| {
        let node = Node::new()
            .orchestration("Child", |_, _| async move { Ok("old child".to_owned()) })
            .orchestration("Main", |ctx, _| async move { ctx.schedule_sub_orchestration("Child", "").await });
        // As an older build would have left them: the parents wait, the starts of the children have no such
        // field.
        world.start("i", "Main", "").await;
        world.write(Past::begins([scheduled("sub::2")])).await;
        continued(&world, "j", scheduled("sub::2_2")).await;
        world.mail(old_start("i::sub::2", "i")).await;
        world.mail(old_start("j::sub::2_2", "j")).await;
        let runtime = world.run(node).await;
        assert_eq!(world.end("i").await.unwrap(), "old child");
        assert_eq!(world.end("j").await.unwrap(), "old child");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_child_that_an_earlier_execution_asked_for_does_not_answer_the_current_one() {
    on_every_store(async |world: World| {
        let node = Node::new()
            .orchestration("Child", |_, _| async move { Ok("old child".to_owned()) })
            .orchestration("Main", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) });
        continued(&world, "i", EventKind::ExternalSubscribed { name: "go".to_owned() }).await;
        world.mail(old_start("i::sub::2", "i")).await;
        let runtime = world.run(node).await;
        assert_eq!(world.end("i::sub::2").await.unwrap(), "old child");
        world.raise("i", "go", "went").await;
        assert_eq!(world.end("i").await.unwrap(), "went", "the answer was for another execution");
        runtime.shutdown(None).await;
    });
}

/// A parent that says what it saw of its child.
fn parent(node: Node) -> Node {
    node.orchestration("Main", |ctx, _| async move {
        let seen = ctx.schedule_sub_orchestration("Child", "").await;
        Ok(format!("{seen:?}"))
    })
}

#[test]
fn the_parents_code_sees_how_the_childs_code_ended() {
    on_every_store(async |world: World| {
        let errs =
            parent(Node::new().orchestration("Child", |_, _| async move { Err("bad luck".to_owned()) }));
        let runtime = world.run(errs).await;
        assert_eq!(world.start_and_end("errs", "Main", "").await.unwrap(), r#"Err("bad luck")"#);
        runtime.shutdown(None).await;
        let panics = parent(Node::new().orchestration("Child", |_, _| async move { panic!("out of eggs") }));
        let runtime = world.run(panics).await;
        assert_eq!(
            world.start_and_end("panics", "Main", "").await.unwrap(),
            r#"Err("orchestration panicked: out of eggs")"#
        );
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_child_that_breaks_a_limit_tells_its_parent() {
    on_every_store(async |world: World| {
        let node = parent(Node::new().orchestration("Child", |ctx, _| async move {
            ctx.set_kv_value("k", "x".repeat(65_537));
            Ok("not reached".to_owned())
        }));
        let runtime = world.run(node).await;
        let seen = world.start_and_end("i", "Main", "").await.unwrap();
        assert_eq!(seen, r#"Err("KV value for key 'k' (65537 bytes) exceeds limit (65536 bytes)")"#);
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_child_that_is_poison_fails_the_whole_line_of_its_parents() {
    virtually(async |world: World| {
        let node = parent(Node::new()).orchestration("Grand", |ctx, _| async move {
            let seen = ctx.schedule_sub_orchestration("Main", "").await;
            Ok(format!("not reached: {seen:?}"))
        });
        let runtime = world.run(node).await;
        world.start("g", "Grand", "").await;
        let details = world.failure("g").await;
        assert_eq!(details, world.failure("g::sub::2").await);
        assert_eq!(details, world.failure("g::sub::2::sub::2").await);
        let ErrorDetails::Poison { attempt_count, max_attempts, .. } = details else { panic!("{details:?}") };
        assert_eq!((attempt_count, max_attempts), (11, 10));
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_child_whose_code_changed_fails_its_parent_with_the_same_details() {
    on_every_store(async |world: World| {
        let old =
            Node::new().orchestration("Child", |ctx, _| async move { Ok(ctx.schedule_wait("go").await) });
        let runtime = world.run(parent(old)).await;
        world.start("i", "Main", "").await;
        world.recorded("i::sub::2", "ExternalSubscribed", 1).await;
        runtime.shutdown(None).await;
        let new =
            Node::new().orchestration("Child", |ctx, _| async move { Ok(ctx.dequeue_event("go").await) });
        let runtime = world.run(parent(new)).await;
        world.raise("i::sub::2", "go", "").await;
        let details = world.failure("i").await;
        assert_eq!(details.category(), "configuration");
        assert_eq!(details, world.failure("i::sub::2").await);
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_child_that_the_store_refuses_fails_its_parent_with_the_same_details() {
    virtually(async |world: World| {
        let log = Log::new();
        let writes = log.clone();
        let node = parent(Node::new().orchestration("Child", move |_, _| {
            writes.write("ran");
            async move { Ok(String::new()) }
        }));
        // The second commit is the child's.
        let refusal = Fault::Rejected(Rejection::Invalid);
        let plan = FaultPlan::none().at(Operation::CommitTurn, 2, refusal).at(
            Operation::AckOrchestrationItem,
            2,
            refusal,
        );
        let store = Arc::new(FaultStore::new(world.store.clone(), world.clock.clone()).with_plan(plan));
        let runtime = world.run_on(store.clone(), node).await;
        world.start("i", "Main", "").await;
        let details = world.failure("i").await;
        assert_eq!(details.category(), "infrastructure");
        assert_eq!(details, world.failure("i::sub::2").await);
        assert!(store.fired());
        assert_eq!(log.len(), 1);
        runtime.shutdown(None).await;
    });
}

#[test]
fn the_result_of_a_child_counts_once() {
    on_every_store(async |world: World| {
        let node = Node::new()
            .orchestration("Child", |_, _| async move { Ok("once".to_owned()) })
            .orchestration("Main", |ctx, _| async move {
                let seen = ctx.schedule_sub_orchestration("Child", "").await?;
                Ok(seen + &ctx.schedule_wait("go").await)
            });
        let runtime = world.run(node).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        let again = WorkItem::SubOrchCompleted {
            parent_instance: "i".to_owned(),
            parent_execution_id: 1,
            parent_id: 2,
            result: "twice".to_owned(),
        };
        world.mail(again.clone()).await;
        world.mail(again).await;
        world.raise("i", "go", "!").await;
        assert_eq!(world.end("i").await.unwrap(), "once!");
        let completed = |name: &&str| *name == "SubOrchestrationCompleted";
        assert_eq!(names(&world.history("i").await).into_iter().filter(completed).count(), 1);
        runtime.shutdown(None).await;
    });
}
