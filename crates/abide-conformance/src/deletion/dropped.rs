//! Deletions whose caller goes away.

use crate::ProviderFactory;
use crate::deletion::{assert_gone, completed_child, completed_root, existing};
use crate::support::{POLLS, Subject, drop_after, Looks};

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

    // While a deletion is still under way, one look sees what was before it and the next what is after it.
    let mut looks = Looks::at(&store);
    let left = 'look: loop {
        looks.next("a dropped deletion took a part of a tree").await;
        let left = existing(&store).await;
        for root in &roots {
            let (is_left, child) = (left.contains(root), child_of(root));
            let whole: &[u64] = if is_left { &[1, 2] } else { &[] };
            let is_whole = left.contains(&child) == is_left
                && store.event_ids(root, 1).await == whole
                && store.event_ids(&child, 1).await == whole;
            if !is_whole {
                continue 'look;
            }
        }
        break left;
    };
    for root in roots.iter().filter(|root| !left.contains(*root)) {
        assert_gone(&store, root).await;
        assert_gone(&store, &child_of(root)).await;
    }
}

fn child_of(root: &str) -> String {
    format!("child-of-{root}")
}
