//! Deletions whose caller goes away.

use crate::ProviderFactory;
use crate::atomicity::{POLLS, drop_after};
use crate::deletion::{assert_gone, completed_child, completed_root, existing};
use crate::support::Subject;

/// A deletion that is dropped deletes a whole tree, or nothing of it.
pub async fn test_dropped_deletion_is_all_or_nothing<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    let roots: Vec<String> = POLLS.map(|polls| format!("after-{polls}-polls")).collect();
    for root in &roots {
        completed_root(&store, root).await;
        completed_child(&store, &child_of(root), root).await;
    }
    for (polls, root) in POLLS.zip(&roots) {
        let answered = drop_after(polls, store.admin().delete_instance(root, false)).await;
        if let Some(Err(error)) = answered {
            panic!("what is finished can be deleted: {error}");
        }
    }

    // What a dropped call still does is done when a later one is.
    store.create("later").await;
    let left = existing(&store).await;
    for root in &roots {
        let child = child_of(root);
        if left.contains(root) {
            assert!(left.contains(&child), "a dropped deletion took the child of '{root}' alone");
            assert_eq!(store.event_ids(root, 1).await, [1, 2], "a dropped deletion took a part of '{root}'");
            assert_eq!(store.event_ids(&child, 1).await, [1, 2], "a dropped deletion took a part of '{child}'");
        } else {
            assert_gone(&store, root).await;
            assert_gone(&store, &child).await;
        }
    }
}

fn child_of(root: &str) -> String {
    format!("child-of-{root}")
}
