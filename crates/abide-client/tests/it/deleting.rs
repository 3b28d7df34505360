//! Deleting one instance: what stands in the way is said by kind, and found without reading texts.

use abide_client::ClientError;

use crate::support::{AdminFault, World};

#[tokio::test(start_paused = true)]
async fn what_has_ended_is_deleted_with_everything_below_it() {
    let world = World::new();
    world.past().started("a").await;
    world.past().started_child("a::sub::2", "a").await;
    world.past().completed("a::sub::2", "").await;
    world.past().completed("a", "").await;

    let deleted = world.client.delete_instance("a", false).await.unwrap();

    assert_eq!((deleted.instances_deleted, deleted.events_deleted), (2, 4));
    assert!(world.client.list_all_instances().await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_runs_is_deleted_by_force_only() {
    let world = World::new();
    world.past().started("a").await;

    let refused = world.client.delete_instance("a", false).await;
    assert!(matches!(refused, Err(ClientError::InstanceStillRunning { instance_id }) if instance_id == "a"));

    let deleted = world.client.delete_instance("a", true).await.unwrap();
    assert_eq!(deleted.instances_deleted, 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_between_two_executions_runs() {
    let world = World::new();
    world.past().started("a").await;
    world.past().continued("a", "next").await;

    let refused = world.client.delete_instance("a", false).await;

    assert!(matches!(refused, Err(ClientError::InstanceStillRunning { .. })));
}

#[tokio::test(start_paused = true)]
async fn who_runs_below_it_is_named() {
    let world = World::new();
    world.past().started("a").await;
    world.past().started_child("a::sub::2", "a").await;
    world.past().completed("a", "").await;

    let refused = world.client.delete_instance("a", false).await;

    let Err(ClientError::InstanceStillRunning { instance_id }) = refused else { panic!("{refused:?}") };
    assert_eq!(instance_id, "a::sub::2");
}

#[tokio::test(start_paused = true)]
async fn a_child_goes_with_its_root() {
    let world = World::new();
    world.past().started("a").await;
    world.past().started_child("a::sub::2", "a").await;
    world.past().completed("a::sub::2", "").await;

    for force in [false, true] {
        let refused = world.client.delete_instance("a::sub::2", force).await;
        let Err(ClientError::CannotDeleteSubOrchestration { instance_id }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(instance_id, "a::sub::2");
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_not_there_is_not_found() {
    let world = World::new();
    world.client.raise_event("a", "go", "a mailbox is no instance").await.unwrap();
    for id in ["a", "still running", "sub-orchestration", ""] {
        let refused = world.client.delete_instance(id, false).await;
        let Err(ClientError::InstanceNotFound { instance_id }) = refused else { panic!("{refused:?}") };
        assert_eq!(instance_id, id);
    }
}

#[tokio::test(start_paused = true)]
async fn a_start_that_has_not_run_is_deleted_by_force_only() {
    let world = World::new();
    world.client.start_orchestration("a", "Order", "").await.unwrap();

    let refused = world.client.delete_instance("a", false).await;
    assert!(matches!(refused, Err(ClientError::InstanceStillRunning { instance_id }) if instance_id == "a"));

    let deleted = world.client.delete_instance("a", true).await.unwrap();
    assert_eq!((deleted.instances_deleted, deleted.queue_messages_deleted), (0, 1));
    let again = world.client.delete_instance("a", true).await;
    assert!(matches!(again, Err(ClientError::InstanceNotFound { .. })), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn the_queued_start_of_a_child_goes_with_its_root() {
    let world = World::new();
    world.past().started("a").await;
    world.past().queued_child("a::sub::2", "a").await;

    for force in [false, true] {
        let refused = world.client.delete_instance("a::sub::2", force).await;
        assert!(
            matches!(refused, Err(ClientError::CannotDeleteSubOrchestration { .. })),
            "the parent waits for it: {refused:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_nothing_explains_is_passed_on_whatever_it_says() {
    for fault in [AdminFault::RefusesDeletion, AdminFault::RefusesDeletionAndLooking] {
        let world = World::with_admin(fault);
        world.past().started("a").await;
        world.past().completed("a", "").await;

        world.past().started("live").await;

        for (id, force) in [("a", false), ("a", true), ("live", true)] {
            let refused = world.client.delete_instance(id, force).await;
            assert!(matches!(refused, Err(ClientError::Provider(error)) if !error.is_retryable()));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_in_trouble_is_no_refusal() {
    let world = World::with_admin(AdminFault::BusyDeletion);

    let failed = world.client.delete_instance("nobody", false).await;

    assert!(matches!(failed, Err(ClientError::Provider(error)) if error.is_retryable()));
}
