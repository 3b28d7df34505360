//! Blocked instances on a page: what blocks them, and pages of these alone.

use abide_provider::{BlockInstance, BlockKind, BlockSummary, InstanceQuery};

use crate::ProviderFactory;
use crate::batches::calls::{commit, lease_job, under};
use crate::deletion::{completed_root, moment};
use crate::listing::{ORDERS, all_pages, ids, page};
use crate::support::{Ack, Subject, activity, block, block_of, full_node, hold, lease_one_as, signal, start};

/// Blocks an instance that runs: build `b1` refuses its signal for this reason. Whatever else is to run must have
/// been created: calls that do not say their build may lease it.
async fn refuse(store: &Subject<'_>, id: &str, kind: BlockKind) {
    store.post(signal(id, "one")).await;
    let lease = lease_one_as(store, &full_node("b1"), id).await;
    block(store, BlockInstance { kind, ..block_of(store, &lease, "b1") }).await;
}

/// Holds activities of an instance that runs.
async fn hold_activities(store: &Subject<'_>, id: &str, activities: &[u64]) {
    for event_id in activities {
        store.post_work(activity(id, *event_id)).await;
        let job = lease_job(store).await;
        hold(store, &job, "b1").await;
        moment(store).await;
    }
}

async fn block_on_page(store: &Subject<'_>, id: &str) -> Option<BlockSummary> {
    let page = page(store, InstanceQuery::new()).await;
    let found = page.instances.iter().find(|summary| summary.instance_id == id);
    found.unwrap_or_else(|| panic!("'{id}' is not listed: {:?}", ids(&page))).block
}

/// The first block that `read_blocks` tells of.
async fn first_block(store: &Subject<'_>, id: &str) -> Option<BlockSummary> {
    let blocks = store.read_blocks(id).await.expect("blocks can be read");
    BlockSummary::first(blocks.first().map(|blocked| &blocked.block))
}

/// A page shows what blocks an instance, from the block to the repair: its own block, else that of its first held activity.
pub async fn test_page_says_what_blocks<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for id in ["free", "panicked", "holding"] {
        store.create(id).await;
        assert_eq!(block_on_page(&store, id).await, None);
    }
    refuse(&store, "panicked", BlockKind::Panic).await;
    hold_activities(&store, "holding", &[5, 3]).await;
    assert_eq!(block_on_page(&store, "free").await, None);
    for (id, kind, holds_activity) in
        [("panicked", BlockKind::Panic, false), ("holding", BlockKind::Quarantine, true)]
    {
        let listed = block_on_page(&store, id).await.unwrap_or_else(|| panic!("'{id}' is blocked"));
        assert_eq!((listed.kind, listed.holds_activity), (kind, holds_activity), "'{id}'");
        assert_eq!(Some(listed), first_block(&store, id).await, "'{id}'");
    }
    // Its own block hides those of its activities.
    refuse(&store, "holding", BlockKind::Corrupt).await;
    let listed = block_on_page(&store, "holding").await.expect("it is blocked");
    assert_eq!((listed.kind, listed.holds_activity), (BlockKind::Corrupt, false));

    let lease = lease_one_as(&store, &full_node("b2"), "panicked").await;
    commit(&store, under(&lease, Ack::of("panicked", 1).signalled(2))).await;
    assert_eq!(block_on_page(&store, "panicked").await, None, "another build has healed it");
    store.retry_blocked("holding").await.expect("it can be retried");
    assert_eq!(block_on_page(&store, "holding").await, None, "it was retried");
}

/// Blocked instances can be listed alone: all of them or those of one kind, in every order, page by page, beside the other filters.
pub async fn test_page_filter_by_block<F: ProviderFactory>(factory: &F) {
    let store = Subject::new(factory).await;
    for query in [InstanceQuery::new().blocked(), InstanceQuery::new().blocked_by(BlockKind::Panic)] {
        assert!(page(&store, query).await.instances.is_empty(), "nothing is blocked");
    }
    for id in ["d", "a", "f", "c", "b", "e"] {
        completed_root(&store, &format!("{id} free")).await;
        store.create(id).await;
        moment(&store).await;
    }
    hold_activities(&store, "b", &[2, 3]).await;
    hold_activities(&store, "e", &[2]).await;
    for (id, kind) in [
        ("d", BlockKind::Panic),
        ("a", BlockKind::Nondeterminism),
        ("f", BlockKind::Quarantine),
        ("c", BlockKind::Corrupt),
        ("e", BlockKind::Panic),
    ] {
        refuse(&store, id, kind).await;
    }
    // A start that no turn was committed of is no instance.
    store.post(start("unborn")).await;
    let lease = lease_one_as(&store, &full_node("b1"), "unborn").await;
    block(&store, block_of(&store, &lease, "b1")).await;

    let all = InstanceQuery::new;
    let cases: [(InstanceQuery, &[&str]); 9] = [
        (all().blocked(), &["a", "b", "c", "d", "e", "f"]),
        (all().blocked_by(BlockKind::Panic), &["d", "e"]),
        (all().blocked_by(BlockKind::Nondeterminism), &["a"]),
        (all().blocked_by(BlockKind::Corrupt), &["c"]),
        (all().blocked_by(BlockKind::Quarantine), &["b", "f"]),
        (all().blocked().id_prefix("e"), &["e"]),
        (all().blocked().status(abide_model::ExecutionStatus::Completed), &[]),
        (all().blocked().name("Nobody"), &[]),
        (all().blocked().created_before(0), &[]),
    ];
    for (query, expected) in cases {
        for order in ORDERS {
            // The order is that of a listing without a filter, whatever the size of a page.
            let mut in_order = all_pages(&store, all().order(order)).await;
            in_order.retain(|id| expected.contains(&id.as_str()));
            for size in [1, 2, 100] {
                let found = all_pages(&store, query.clone().order(order).limit(size)).await;
                assert_eq!(found, in_order, "{query:?}, {order:?}, {size} a page");
            }
            assert_eq!(in_order.len(), expected.len());
        }
    }
}
