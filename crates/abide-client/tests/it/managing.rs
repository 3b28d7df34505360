//! Listing, looking into and pruning, through a store that has an administrative side.

use abide_client::ClientError;
use abide_model::{EventKind, ExecutionStatus};
use abide_provider::{InstanceFilter, InstanceOrder, InstanceQuery, OrphanFilter, PageCursor, PruneOptions};
use futures_util::{StreamExt as _, TryStreamExt as _};

use crate::support::{AdminFault, World, is_timeout, seconds, text};

/// `done` has ended, `failed` is missing, `live` is in its second execution and has a child that ended.
async fn shop() -> World {
    let world = World::new();
    world.past().started("done").await;
    world.past().completed("done", "7").await;
    world.past().started("live").await;
    world.past().started_child("live::sub::2", "live").await;
    world.past().completed("live::sub::2", "8").await;
    world.past().continued("live", "next").await;
    world
}

#[tokio::test(start_paused = true)]
async fn instances_are_listed() {
    let world = shop().await;
    let client = &world.client;
    assert!(client.has_management_capability());
    let mut all = client.list_all_instances().await.unwrap();
    all.sort();
    assert_eq!(all, ["done", "live", "live::sub::2"]);
    assert_eq!(client.list_instances_by_status("Running").await.unwrap(), ["live"]);
    assert_eq!(client.list_instances_by_status("Failed").await.unwrap(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn instances_are_listed_in_pages() {
    let world = shop().await;
    let query = InstanceQuery::new().status(ExecutionStatus::Completed).order(InstanceOrder::ById).limit(1);

    let first = world.client.list_instances(query.clone()).await.unwrap();
    assert_eq!(first.instances[0].instance_id, "done");
    let second = world.client.list_instances(query.after(first.next.unwrap())).await.unwrap();
    assert_eq!(second.instances[0].instance_id, "live::sub::2");
}

#[tokio::test(start_paused = true)]
async fn instances_can_be_had_one_after_the_other() {
    let world = shop().await;
    for limit in [1, 2, 3, 100] {
        let query = InstanceQuery::new().order(InstanceOrder::ById).limit(limit);
        let instances = world.client.instances(query).map_ok(|instance| instance.instance_id);
        let ids: Vec<_> = instances.try_collect().await.unwrap();
        assert_eq!(ids, ["done", "live", "live::sub::2"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_query_that_makes_no_sense_is_invalid() {
    let world = shop().await;
    let none = InstanceQuery::new().limit(0);
    let turned = InstanceQuery::new().order(InstanceOrder::OldestFirst).after(PageCursor::id("a"));
    for query in [none, turned] {
        let page = world.client.list_instances(query.clone()).await;
        assert!(matches!(page, Err(ClientError::InvalidInput { .. })), "{page:?}");
        let mut instances = world.client.instances(query);
        assert!(matches!(instances.next().await, Some(Err(ClientError::InvalidInput { .. }))));
        assert!(instances.next().await.is_none(), "it ends after an error");
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_is_looked_into() {
    let world = shop().await;
    let client = &world.client;

    let info = client.get_instance_info("live").await.unwrap();
    assert_eq!((info.orchestration_name.as_str(), info.current_execution_id), ("Order", 2));
    let execution = client.get_execution_info("live", 1).await.unwrap();
    assert_eq!((execution.status.as_str(), execution.event_count), ("ContinuedAsNew", 2));
    assert_eq!(client.list_executions("live").await.unwrap(), [1, 2]);
    assert_eq!(client.list_executions("nobody").await.unwrap(), [0; 0]);
    let history = client.read_execution_history("live", 1).await.unwrap();
    assert!(matches!(history[1].kind, EventKind::OrchestrationContinuedAsNew { .. }));
    let tree = client.get_instance_tree("live").await.unwrap();
    assert_eq!((tree.root_id.as_str(), tree.size()), ("live", 2));

    assert_eq!(text(client.get_instance_info("nobody").await), "Instance nobody not found");
    assert_eq!(text(client.get_execution_info("nobody", 1).await), "Instance nobody not found");
    assert!(client.read_execution_history("nobody", 1).await.unwrap().is_empty());
    let missing = client.get_execution_info("live", 9).await;
    assert_eq!(text(missing), "get_execution_info: Execution 9 not found for instance live");
}

#[tokio::test(start_paused = true)]
async fn everything_is_counted() {
    let world = shop().await;
    world.client.raise_event("live", "go", "").await.unwrap();

    let metrics = world.client.get_system_metrics().await.unwrap();
    assert_eq!((metrics.total_instances, metrics.running_instances, metrics.completed_instances), (3, 1, 2));
    let depths = world.client.get_queue_depths().await.unwrap();
    assert_eq!((depths.orchestrator_queue, depths.worker_queue, depths.timer_queue), (1, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn executions_are_pruned() {
    let world = shop().await;
    let options = || PruneOptions { keep_last: Some(1), completed_before: None };

    let pruned = world.client.prune_executions("live", options()).await.unwrap();
    assert_eq!((pruned.instances_processed, pruned.executions_deleted), (1, 1));
    assert_eq!(world.client.list_executions("live").await.unwrap(), [2]);

    world.past().continued("live", "again").await;
    let pruned = world.client.prune_executions_bulk(InstanceFilter::default(), options()).await.unwrap();
    assert_eq!(pruned.executions_deleted, 1);
    assert_eq!(text(world.client.prune_executions("nobody", options()).await), "Instance nobody not found");
}

#[tokio::test(start_paused = true)]
async fn many_are_deleted_at_once_and_what_runs_stays() {
    let world = shop().await;

    let deleted = world.client.delete_instance_bulk(InstanceFilter::default()).await.unwrap();

    assert_eq!(deleted.instances_deleted, 1);
    let mut left = world.client.list_all_instances().await.unwrap();
    left.sort();
    assert_eq!(left, ["live", "live::sub::2"]);
}

#[tokio::test(start_paused = true)]
async fn orphans_are_removed() {
    let world = shop().await;

    let deleted = world.client.cleanup_orphaned_instances(OrphanFilter::default()).await.unwrap();

    assert_eq!(deleted.instances_deleted, 1, "the child of an execution that has ended");
    assert_eq!(world.client.get_instance_tree("live").await.unwrap().size(), 1);
}

#[tokio::test(start_paused = true)]
async fn orphans_that_run_are_not_meant() {
    let world = shop().await;
    let filter = OrphanFilter { child_status: vec!["Running".to_owned()], ..OrphanFilter::default() };

    let cleanup = world.client.cleanup_orphaned_instances(filter).await;

    assert!(matches!(cleanup, Err(ClientError::InvalidInput { .. })));
    assert!(text(cleanup).starts_with("Invalid input: 'Running' is no end of a child"));
}

/// Every administrative call, and whether it ended like this.
async fn all_end_like(world: &World, expected: impl Fn(&ClientError) -> bool) -> usize {
    let client = &world.client;
    let options = PruneOptions::default;
    let errors = [
        client.list_all_instances().await.unwrap_err(),
        client.list_instances_by_status("Running").await.unwrap_err(),
        client.list_instances(InstanceQuery::new()).await.unwrap_err(),
        client.instances(InstanceQuery::new()).try_next().await.unwrap_err(),
        client.get_instance_info("a").await.unwrap_err(),
        client.get_execution_info("a", 1).await.unwrap_err(),
        client.list_executions("a").await.unwrap_err(),
        client.read_execution_history("a", 1).await.unwrap_err(),
        client.get_system_metrics().await.unwrap_err(),
        client.get_queue_depths().await.unwrap_err(),
        client.get_instance_tree("a").await.unwrap_err(),
        client.delete_instance("a", false).await.unwrap_err(),
        client.delete_instance_bulk(InstanceFilter::default()).await.unwrap_err(),
        client.prune_executions("a", options()).await.unwrap_err(),
        client.prune_executions_bulk(InstanceFilter::default(), options()).await.unwrap_err(),
        client.cleanup_orphaned_instances(OrphanFilter::default()).await.unwrap_err(),
    ];
    for error in &errors {
        assert!(expected(error), "{error:?}");
    }
    errors.len()
}

#[tokio::test(start_paused = true)]
async fn a_store_without_administration_cannot_be_managed() {
    let world = World::without_admin();
    assert!(!world.client.has_management_capability());
    all_end_like(&world, |error| matches!(error, ClientError::ManagementNotAvailable)).await;
}

#[tokio::test(start_paused = true)]
async fn an_administration_that_hangs_gives_timeouts() {
    let world = World::with_admin(AdminFault::Hangs);
    let calls = all_end_like(&world, |error| matches!(error, ClientError::Timeout)).await;
    let brief = 3; // what is known about an instance, an execution, and which there are
    let bulk = u64::try_from(calls).unwrap() - brief;
    assert_eq!(world.now(), seconds(brief * 5 + bulk * 60));
}

#[tokio::test(start_paused = true)]
async fn the_patience_with_administration_can_be_chosen() {
    let world = World::with_admin(AdminFault::Hangs).asked_by(|client| client.bulk_timeout(seconds(7)));
    assert!(is_timeout(&world.client.delete_instance("a", true).await));
    assert_eq!(world.now(), seconds(7));
}
