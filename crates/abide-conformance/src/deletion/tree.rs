//! Parents, children, and deleting a root with everything below it.

use crate::ProviderFactory;
use crate::atomicity::Observed;
use crate::deletion::{
    assert_gone, assert_says, complete, completed_child, completed_root, existing, failed_root, numbers,
    owned, running_child,
};
use crate::support::Subject;

/// A root goes with its children and their children, as a whole: if anything below it runs, nothing is deleted. A child is
/// not deleted by itself.
pub async fn test_cascade_delete_hierarchy<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    family(&store).await;
    completed_root(&store, "other").await;
    completed_child(&store, "child of other", "other").await;
    let before = Observed::of(&store, "root").await;

    for (id, force) in [("child", false), ("child", true), ("grandchild", true)] {
        let refused = store.admin().delete_instance(id, force).await;
        assert_says(&refused, &["sub-orchestration", "root", "parent"], "the deletion of a child by itself");
    }
    let refused = store.admin().delete_instance("root", false).await;
    assert_says(&refused, &["running"], "the deletion of a root above something that runs");
    assert_eq!(existing(&store).await.len(), 6, "the refused deletion deleted a part of the tree");
    assert_eq!(Observed::of(&store, "root").await, before);

    complete(&store, "grandchild").await;
    let deleted = store.admin().delete_instance("root", false).await.expect("the whole tree has ended");
    assert_eq!(numbers(&deleted), [4, 4, 8, 0], "four instances with one execution of two events each");
    for id in ["root", "child", "second child", "grandchild"] {
        assert_gone(&store, id).await;
    }
    assert_eq!(existing(&store).await, ["child of other", "other"], "another tree was touched");
}

/// The direct children of an instance, whatever became of them; nobody's grandchildren; none for a leaf or a stranger.
pub async fn test_list_children<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    family(&store).await;
    assert_eq!(children(&store, "root").await, ["child", "second child"]);
    assert_eq!(children(&store, "child").await, ["grandchild"]);
    for id in ["grandchild", "second child", "unknown"] {
        assert!(children(&store, id).await.is_empty(), "'{id}' has no children");
    }
}

/// The parent of a child; none for a root; "not found" for what is no instance.
pub async fn test_delete_get_parent_id<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    family(&store).await;
    for (id, expected) in [("root", None), ("child", Some("root")), ("grandchild", Some("child"))] {
        let parent = store.admin().get_parent_id(id).await;
        let parent = parent.unwrap_or_else(|error| panic!("'{id}' exists: {error}"));
        assert_eq!(parent.as_deref(), expected, "the parent of '{id}'");
    }
    assert_says(&store.admin().get_parent_id("unknown").await, &["not found"], "the parent of nobody");
}

/// A tree begins with the instance asked for, and has everything below it once, parents before children.
pub async fn test_delete_get_instance_tree<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    family(&store).await;
    failed_root(&store, "other").await;

    let tree = store.admin().get_instance_tree("root").await.expect("a tree can be read");
    assert_eq!(tree.root_id, "root");
    assert_eq!(tree.all_ids.first().map(String::as_str), Some("root"), "the root comes first");
    assert_eq!((tree.size(), tree.is_root_only()), (4, false));
    let mut ids = tree.all_ids.clone();
    ids.sort();
    assert_eq!(ids, ["child", "grandchild", "root", "second child"]);
    let place = |id: &str| tree.all_ids.iter().position(|found| found == id);
    assert!(place("child") < place("grandchild"), "a parent comes before its child: {:?}", tree.all_ids);

    let below = store.admin().get_instance_tree("child").await.expect("a tree can be read");
    assert_eq!((below.root_id.as_str(), below.all_ids), ("child", owned(&["child", "grandchild"])));
    for id in ["other", "unknown"] {
        let alone = store.admin().get_instance_tree(id).await.expect("a tree can be read");
        assert_eq!((alone.root_id.as_str(), &alone.all_ids), (id, &owned(&[id])));
        assert!(alone.is_root_only());
    }
}

/// A root that completed with two children; one of them failed to end its own child, which runs.
async fn family(store: &Subject<'_>) {
    completed_root(store, "root").await;
    completed_child(store, "child", "root").await;
    completed_child(store, "second child", "root").await;
    running_child(store, "grandchild", "child").await;
}

async fn children(store: &Subject<'_>, id: &str) -> Vec<String> {
    let mut children = store.admin().list_children(id).await.expect("children can be listed");
    children.sort();
    children
}
