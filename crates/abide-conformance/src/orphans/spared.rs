//! Whom a cleanup does not touch.

use abide_provider::OrphanFilter;

use crate::ProviderFactory;
use crate::atomicity::Observed;
use crate::deletion::{
    complete, completed_child, completed_root, existing, failed_root, next_turn, numbers, running_child,
};
use crate::orphans::cleanup;
use crate::support::{Ack, Subject};

/// As long as the execution that asked for it runs, a child is somebody's, however long ago it ended.
pub async fn test_children_of_what_runs_are_no_orphans<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    store.create("root").await;
    completed_child(&store, "child", "root").await;
    running_child(&store, "running", "root").await;
    completed_child(&store, "grandchild", "running").await;
    store.expire_leases().await;
    let far = store.now_ms() + 1_000_000;
    for parent_completed_before in [None, Some(far)] {
        let filter = OrphanFilter { parent_completed_before, ..OrphanFilter::default() };
        assert_eq!(numbers(&cleanup(&store, filter).await), [0; 4]);
    }
    assert_eq!(existing(&store).await, ["child", "grandchild", "root", "running"]);
}

/// An orphan that runs is never touched, and neither is one between two executions. It goes when it has ended.
pub async fn test_running_orphans_stay<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "parent").await;
    running_child(&store, "running", "parent").await;
    running_child(&store, "continuing", "parent").await;
    store.step(Ack::of("continuing", 1).continuing(2)).await;
    let before = Observed::of(&store, "running").await;
    assert_eq!(
        numbers(&cleanup(&store, OrphanFilter::default()).await),
        [0; 4],
        "the next execution is queued"
    );
    let turn = store.fetch("continuing").await;
    assert_eq!(
        numbers(&cleanup(&store, OrphanFilter::default()).await),
        [0; 4],
        "the next execution is leased"
    );
    store.ack(&turn.token, next_turn(Ack::of("continuing", 2), "parent", Some(1))).await;
    assert_eq!(numbers(&cleanup(&store, OrphanFilter::default()).await), [0; 4], "the next execution runs");
    assert_eq!(Observed::of(&store, "running").await, before, "what runs was touched");

    complete(&store, "running").await;
    assert_eq!(cleanup(&store, OrphanFilter::default()).await.instances_deleted, 1);
    store.step(Ack::of("continuing", 2).completing(2)).await;
    let deleted = cleanup(&store, OrphanFilter::default()).await;
    assert_eq!(numbers(&deleted), [1, 2, 4, 0], "an orphan goes with all its executions");
    assert_eq!(existing(&store).await, ["parent"]);
}

/// An orphan with something below it that runs stays as a whole, however deep that is. It goes when all of it has ended.
pub async fn test_orphans_above_what_runs_stay<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "root").await;
    completed_child(&store, "child", "root").await;
    completed_child(&store, "grandchild", "child").await;
    running_child(&store, "great-grandchild", "grandchild").await;
    completed_child(&store, "sibling", "root").await;
    assert_eq!(
        cleanup(&store, OrphanFilter::default()).await.instances_deleted,
        1,
        "only the sibling is alone"
    );
    assert_eq!(existing(&store).await, ["child", "grandchild", "great-grandchild", "root"]);
    store.step(Ack::of("great-grandchild", 1).signalled(2)).await;
    complete(&store, "great-grandchild").await;
    assert_eq!(cleanup(&store, OrphanFilter::default()).await.instances_deleted, 3);
    assert_eq!(existing(&store).await, ["root"]);
}

/// A root is nobody's child: it is not removed, whatever became of it.
pub async fn test_roots_are_no_orphans<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "completed").await;
    failed_root(&store, "failed").await;
    store.create("running").await;
    assert_eq!(numbers(&cleanup(&store, OrphanFilter::default()).await), [0; 4]);
    assert_eq!(existing(&store).await, ["completed", "failed", "running"]);
}

/// A child whose history cannot be read harms no cleanup: the others go.
pub async fn test_unreadable_child_harms_no_cleanup<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    completed_root(&store, "root").await;
    completed_child(&store, "bad", "root").await;
    completed_child(&store, "good", "root").await;
    factory.corrupt_instance_history("bad").await;
    let deleted = cleanup(&store, OrphanFilter::default()).await;
    assert!(deleted.instances_deleted >= 1, "the other orphan stayed: {deleted:?}");
    let left = existing(&store).await;
    assert!(!left.contains(&"good".to_owned()), "the other orphan stayed: {left:?}");
    assert!(left.contains(&"root".to_owned()), "the root is no orphan: {left:?}");
}
