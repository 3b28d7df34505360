//! S9–S13: large joins, and parents and children across executions.

use std::time::Duration;

use abide_model::WorkItem;

use super::on_dying_nodes;
use crate::lessons::scene::{Code, Way, every_way, ways};

fn joins() -> Code {
    Code::new().orchestration("Joins", |ctx, many| async move {
        let many: u64 = many.parse().unwrap();
        let all = (1..=many).map(|number| ctx.schedule_activity_typed::<_, u64>("Echo", &number)).collect();
        let sum: u64 = ctx.join(all).await.into_iter().map(Result::unwrap).sum();
        // One more turn, which replays the join.
        ctx.schedule_activity("Echo", sum.to_string()).await
    })
}

#[test]
fn s09_joins_of_every_size_complete_and_replay() {
    every_way(|scene| async move {
        scene.node(joins()).await;
        for many in [1_u64, 2, 31, 32, 1_023, 1_024] {
            let sum = scene.run(&format!("joins-{many}"), "Joins", &many.to_string()).await.unwrap();
            assert_eq!(sum, (many * (many + 1) / 2).to_string());
        }
    });
}

#[test]
fn s09_a_join_of_ten_thousand_completes() {
    ways(&[Way::Fused, Way::Resident], |scene| async move {
        scene.node(joins()).await;
        let sum = scene.run("joins", "Joins", "10000").await.unwrap();
        assert_eq!(sum, (10_000 * 10_001 / 2).to_string());
    });
}

#[test]
fn s10_a_parent_hears_of_a_child_that_continued_as_new() {
    every_way(|scene| async move {
        let code = || {
            Code::new()
                .orchestration("Child", |ctx, round| async move {
                    ctx.schedule_activity("Echo", "").await?;
                    match round.as_str() {
                        "3" => Err("enough".to_owned()),
                        "2" => ctx.continue_as_new("3").await,
                        _ => ctx.continue_as_new("2").await,
                    }
                })
                .orchestration("Parent", |ctx, _| async move {
                    Ok(format!("{:?}", ctx.schedule_sub_orchestration("Child", "1").await))
                })
        };
        scene.start("parent", "Parent", "").await;
        assert_eq!(on_dying_nodes(&scene, "parent", code).await.unwrap(), r#"Err("enough")"#);
    });
}

#[test]
fn s11_a_generated_id_that_is_taken_does_not_hang_its_parent() {
    every_way(|scene| async move {
        let code = Code::new()
            .orchestration("Chooses", |ctx, id| async move {
                ctx.schedule_sub_orchestration_with_id("Hello", id, "first").await
            })
            .orchestration("Generates", |ctx, _| async move {
                Ok(format!("{:?}", ctx.schedule_sub_orchestration("Hello", "second").await))
            });
        scene.node(code).await;
        // What another parent chose is what this one will generate.
        scene.run("chooses", "Chooses", "generates::sub::2").await.unwrap();
        let before = scene.time();
        let end = scene.run("generates", "Generates", "").await.unwrap();
        assert!(end.starts_with("Err("), "{end}");
        assert!(scene.time() - before < Duration::from_secs(1));
    });
}

#[test]
fn s12_ids_of_children_are_not_reused_after_continue_as_new() {
    every_way(|scene| async move {
        let code = || {
            Code::new().orchestration("Parent", |ctx, round| async move {
                let one = ctx.schedule_sub_orchestration("Hello", format!("one {round}"));
                let two = ctx.schedule_sub_orchestration("Hello", format!("two {round}"));
                let (one, two) = ctx.join2(one, two).await;
                let said = format!("{} and {}", one?, two?);
                if round == "1" { ctx.continue_as_new("2").await } else { Ok(said) }
            })
        };
        scene.start("parent", "Parent", "1").await;
        let end = on_dying_nodes(&scene, "parent", code).await.unwrap();
        assert_eq!(end, "hello one 2 and hello two 2");
        assert_eq!(scene.client().get_instance_tree("parent").await.unwrap().all_ids.len(), 5);
    });
}

#[test]
fn s13_a_result_that_crosses_a_continue_as_new_is_not_the_next_childs() {
    every_way(|scene| async move {
        let code = || {
            Code::new().orchestration("Parent", |ctx, round| async move {
                let child = ctx.schedule_sub_orchestration("Wait", "");
                if round == "1" {
                    ctx.schedule_wait("on").await;
                    return ctx.continue_as_new("2").await;
                }
                child.await
            })
        };
        scene.node(code()).await;
        scene.start("parent", "Parent", "1").await;
        scene.until(|dump| dump.instances.contains_key("parent::sub::2")).await;
        scene.until_idle("parent::sub::2").await;
        scene.until_idle("parent").await;
        scene.close().await;
        // In one batch: first what makes it continue, then the result for the execution that is over then.
        scene.client().raise_event("parent", "on", "").await.unwrap();
        scene
            .deliver(WorkItem::SubOrchCompleted {
                parent_instance: "parent".to_owned(),
                parent_execution_id: 1,
                parent_id: 2,
                result: "of the first".to_owned(),
            })
            .await;
        scene.node(code()).await;
        scene.until(|dump| dump.instances.contains_key("parent::sub::2_2")).await;
        scene.until_idle("parent::sub::2_2").await;
        scene.until_idle("parent").await;
        assert_eq!(scene.world.memory.dump().instances["parent"].execution, 2);
        scene.client().raise_event("parent::sub::2_2", "go", "of the second").await.unwrap();
        assert_eq!(scene.end_of("parent").await.unwrap(), "of the second");
    });
}
