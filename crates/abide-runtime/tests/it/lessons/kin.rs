//! §7, 0.1.30: parents, children and their ids.

use std::collections::BTreeSet;
use std::time::Duration;

use abide_client::ClientError;
use abide_model::WorkItem;

use super::scene::{Code, every_way};

#[test]
fn lesson_07_0_1_30a_a_child_keeps_its_parent_across_continue_as_new() {
    every_way(|scene| async move {
        let code = Code::new()
            .orchestration("Child", |ctx, round| async move {
                match round.as_str() {
                    "1" => ctx.continue_as_new("2").await,
                    _ => ctx.schedule_activity("Echo", "grown up").await,
                }
            })
            .orchestration(
                "Parent",
                |ctx, _| async move { ctx.schedule_sub_orchestration("Child", "1").await },
            );
        scene.node(code).await;
        assert_eq!(scene.run("parent", "Parent", "").await.unwrap(), "grown up");
    });
}

#[test]
fn lesson_07_0_1_30b_a_child_at_the_same_place_in_every_execution_is_another_one() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Parent", |ctx, round| async move {
            let said = ctx.schedule_sub_orchestration("Hello", round.clone()).await?;
            match round.parse::<u32>().unwrap() {
                5 => Ok(said),
                round => ctx.continue_as_new((round + 1).to_string()).await,
            }
        });
        scene.node(code).await;
        assert_eq!(scene.run("parent", "Parent", "1").await.unwrap(), "hello 5");
        let children = scene.client().get_instance_tree("parent").await.unwrap().all_ids.len() - 1;
        assert_eq!(children, 5);
    });
}

#[test]
fn lesson_07_0_1_30c_an_id_that_is_taken_is_an_error_and_no_wait() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Parent", |ctx, _| async move {
            let child = ctx.schedule_sub_orchestration_with_id("Hello", "taken", "you").await;
            Ok(format!("{child:?}"))
        });
        scene.node(code).await;
        scene.run("taken", "Hello", "them").await.unwrap();
        let before = scene.time();
        let end = scene.run("parent", "Parent", "").await.unwrap();
        assert!(end.starts_with("Err("), "{end}");
        assert!(scene.time() - before < Duration::from_secs(1));
        assert_eq!(scene.end_of("taken").await.unwrap(), "hello them");
    });
}

#[test]
fn lesson_07_0_1_30d_a_childs_result_goes_to_the_execution_that_asked() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Parent", |ctx, round| async move {
            if round == "1" {
                let _child = ctx.schedule_sub_orchestration("Wait", "");
                ctx.schedule_wait("on").await;
                return ctx.continue_as_new("2").await;
            }
            ctx.schedule_sub_orchestration("Wait", "").await
        });
        scene.node(code).await;
        scene.start("parent", "Parent", "1").await;
        scene.until_idle("parent").await;
        scene.client().raise_event("parent", "on", "").await.unwrap();
        scene.until(|dump| dump.instances.contains_key("parent::sub::2_2")).await;
        scene.until_idle("parent").await;
        // The first child's result was on its way.
        scene
            .deliver(WorkItem::SubOrchCompleted {
                parent_instance: "parent".to_owned(),
                parent_execution_id: 1,
                parent_id: 2,
                result: "of the first".to_owned(),
            })
            .await;
        scene.until_idle("parent").await;
        scene.until_idle("parent::sub::2_2").await;
        scene.client().raise_event("parent::sub::2_2", "go", "of the second").await.unwrap();
        assert_eq!(scene.end_of("parent").await.unwrap(), "of the second");
    });
}

#[test]
fn lesson_07_0_1_30e_ids_are_drawn_and_not_counted() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Draws", |ctx, _| async move {
            let mut ids = Vec::new();
            for _ in 0..20 {
                ids.push(ctx.new_guid().await?);
            }
            Ok(ids.join(" "))
        });
        scene.node(code).await;
        let mut all = BTreeSet::new();
        for number in 0..5 {
            let end = scene.run(&format!("draws{number}"), "Draws", "").await.unwrap();
            let ids: Vec<_> = end.split(' ').map(str::to_owned).collect();
            assert!(ids.iter().all(|id| id.len() == 36 && &id[14..15] == "4"), "{ids:?}");
            assert!(!ids.is_sorted(), "they follow the clock: {ids:?}");
            all.extend(ids);
        }
        assert_eq!(all.len(), 100);
    });
}

#[test]
fn lesson_07_0_1_30f_ids_of_generated_children_are_reserved_and_no_other_is_changed() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("Parent", |ctx, child| async move {
            let _done = ctx.schedule_sub_orchestration_with_id("Hello", child, "you").await?;
            Ok(ctx.instance_id())
        });
        scene.node(code).await;
        for reserved in ["sub::1", "sub::", "root::sub::2"] {
            let refused = scene.client().start_orchestration(reserved, "Hello", "").await;
            assert!(matches!(refused, Err(ClientError::InvalidInput { .. })), "{refused:?}");
        }
        for (number, chosen) in ["subway", "my-sub::", "a::b", "sub:1"].into_iter().enumerate() {
            scene.run(&format!("parent{number}"), "Parent", chosen).await.unwrap();
            assert_eq!(scene.end_of(chosen).await.unwrap(), "hello you");
        }
    });
}
