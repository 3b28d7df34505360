//! Instances that are removed because of their age.

use std::sync::Arc;
use std::time::Duration;

use abide_provider::{Operation, Rejection};
use abide_runtime::{InvalidOptions, RetentionConfig, Runtime, StartError};
use abide_sim::{Fault, FaultPlan};
use tracing::subscriber::set_default;

use super::MINUTE;
use crate::e2e::support::ThirdParty;
use crate::lessons::listener::Listener;
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
fn a_round_that_fails_is_told_once_and_a_later_one_catches_up() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
        let listener = Listener::of_warnings();
        let hearing = set_default(listener.clone());
        let refused = Fault::Rejected(Rejection::Invalid);
        let fails = [(1, Fault::NotApplied), (2, Fault::HangBefore), (3, refused), (6, Fault::Panic)];
        let plan = fails.into_iter().fold(FaultPlan::none(), |plan, (ordinal, fault)| {
            plan.at(Operation::EnforceRetention, ordinal, fault)
        });
        scene.faults.set_plan(plan);
        scene.node(Code::new().options(|options| options.retention = Some(keeping(MINUTE)))).await;
        for number in 0..5 {
            scene.run(&format!("old-{number}"), "Hello", "you").await.unwrap();
        }
        let told = || listener.count("old instances could not be removed; the next round will try again");
        scene.until(|dump| dump.instances.is_empty()).await;
        // Three rounds failed, and the next one had two batches.
        assert_eq!((scene.faults.count(Operation::EnforceRetention), told()), (5, 1));
        scene.pass(2 * MINUTE).await;
        assert_eq!(told(), 2);
        drop(hearing);
    });
}

#[test]
fn the_first_round_comes_soon_after_the_start() {
    ways(&[Way::Fused, Way::Resident, Way::Cold], |scene| async move {
        scene.node(Code::new()).await;
        scene.run("i", "Hello", "you").await.unwrap();
        scene.pass(HOUR).await;
        let daily = RetentionConfig { every: 24 * HOUR, ..keeping(HOUR / 2) };
        scene.node(Code::new().options(|options| options.retention = Some(daily))).await;
        scene.pass(MINUTE).await;
        assert_eq!(scene.client().list_all_instances().await.unwrap(), [""; 0]);
        // And then once a day.
        scene.pass(10 * HOUR).await;
        assert_eq!(scene.faults.count(Operation::EnforceRetention), 1);
    });
}

#[test]
fn who_asks_for_retention_where_there_is_none_is_told() {
    ways(&[Way::Fused, Way::Resident], |scene| async move {
        let listener = Listener::of_warnings();
        let hearing = set_default(listener.clone());
        let store = Arc::new(ThirdParty::new(scene.store()));
        let code = Code::new().options(|options| options.retention = Some(keeping(MINUTE)));
        scene.node_on(store, scene.world.clock.clone(), code).await;
        assert_eq!(scene.run("i", "Hello", "you").await.unwrap(), "hello you");
        scene.pass(HOUR).await;
        assert_eq!(listener.count("finished instances are not removed"), 1);
        drop(hearing);
    });
}

#[test]
fn retention_that_makes_no_sense_is_refused() {
    ways(&[Way::Fused, Way::Resident], |scene| async move {
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
