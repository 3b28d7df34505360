//! Instances that are removed because of their age.

use std::time::Duration;

use abide_provider::Operation;
use abide_runtime::{InvalidOptions, RetentionConfig, Runtime, StartError};

use super::MINUTE;
use crate::lessons::scene::{Code, Way, every_way, ways};

const HOUR: Duration = Duration::from_secs(3_600);

fn keeping(time: Duration) -> RetentionConfig {
    RetentionConfig { batch: 3, ..RetentionConfig::keeping_for(time) }
}

#[test]
fn finished_instances_are_removed_when_they_are_old_enough() {
    every_way(|scene| async move {
        let code = Code::new().options(|options| options.retention = Some(keeping(HOUR)));
        scene.node(code).await;
        for number in 0..10 {
            scene.run(&format!("old-{number}"), "Hello", "you").await.unwrap();
        }
        scene.start("waits", "Wait", "").await;
        scene.pass(HOUR / 2).await;
        scene.run("young", "Hello", "you").await.unwrap();
        assert_eq!(scene.client().list_all_instances().await.unwrap().len(), 12);
        scene.pass(HOUR / 2 + 2 * MINUTE).await;
        let mut left = scene.client().list_all_instances().await.unwrap();
        left.sort();
        assert_eq!(left, ["waits", "young"]);
        scene.client().raise_event("waits", "go", "on").await.unwrap();
        assert_eq!(scene.end_of("waits").await.unwrap(), "on");
        scene.pass(HOUR + 2 * MINUTE).await;
        assert_eq!(scene.client().list_all_instances().await.unwrap(), [""; 0]);
    });
}

#[test]
fn without_retention_nothing_is_removed() {
    every_way(|scene| async move {
        scene.node(Code::new()).await;
        scene.run("i", "Hello", "you").await.unwrap();
        scene.pass(10 * HOUR).await;
        assert_eq!(scene.client().list_all_instances().await.unwrap(), ["i"]);
        assert_eq!(scene.faults.count(Operation::EnforceRetention), 0);
    });
}

#[test]
fn a_tree_goes_as_a_whole_and_an_eternal_instance_never() {
    every_way(|scene| async move {
        let code = Code::new()
            .orchestration("Parent", |ctx, input| async move {
                ctx.schedule_sub_orchestration_with_id("Hello", "child", input).await
            })
            .orchestration("Eternal", |ctx, input| async move {
                ctx.schedule_timer(HOUR).await;
                ctx.continue_as_new(input).await
            })
            .options(|options| options.retention = Some(keeping(MINUTE)));
        scene.node(code).await;
        scene.start("eternal", "Eternal", "").await;
        scene.run("parent", "Parent", "you").await.unwrap();
        assert_eq!(scene.client().list_all_instances().await.unwrap().len(), 3);
        scene.pass(10 * HOUR).await;
        assert_eq!(scene.client().list_all_instances().await.unwrap(), ["eternal"]);
    });
}

#[test]
fn retention_that_makes_no_sense_is_refused() {
    ways(&[Way::Resident], |scene| async move {
        let refused = |retention: RetentionConfig| {
            let options = abide_runtime::RuntimeOptions {
                retention: Some(retention),
                ..abide_runtime::RuntimeOptions::default()
            };
            Runtime::builder().with_provider(scene.store()).with_options(options).build()
        };
        let never = refused(RetentionConfig { batch: 0, ..keeping(HOUR) }).await.unwrap_err();
        assert_eq!(never, StartError::InvalidOptions(InvalidOptions::EmptyRetentionBatch));
        let always = refused(RetentionConfig { every: Duration::ZERO, ..keeping(HOUR) }).await.unwrap_err();
        assert!(always.to_string().starts_with("retention.every is zero"), "{always}");
    });
}
