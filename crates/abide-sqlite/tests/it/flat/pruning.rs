//! What a prune costs depends on what goes, not on what is kept.

use abide_model::PruneOptions;
use abide_provider::{InstanceFilter, ProviderAdmin as _};
use futures::executor::block_on;

use super::crowded::flat;
use super::{Cost, Costs};
use crate::support::items::*;
use crate::support::store::*;

/// An instance `a` with so many executions, of which the last runs.
fn with_executions(store: &Store, count: usize) {
    store.create_with_past("a", u64::try_from(count).unwrap() - 1);
}

/// How much of the past is kept.
struct Kept {
    name: &'static str,
    /// Of so many executions.
    options: fn(u32) -> PruneOptions,
    /// How many go.
    pruned: i64,
}

const KEPT: &[Kept] = &[
    Kept {
        name: "as many as there are",
        options: |count| PruneOptions { keep_last: Some(count), completed_before: None },
        pruned: 0,
    },
    Kept {
        name: "more than there are",
        options: |_| PruneOptions { keep_last: Some(u32::MAX), completed_before: None },
        pruned: 0,
    },
    Kept {
        name: "all but three",
        options: |count| PruneOptions { keep_last: Some(count - 3), completed_before: None },
        pruned: 3,
    },
    Kept {
        name: "what ended after everything",
        options: |_| PruneOptions { keep_last: None, completed_before: Some(1) },
        pruned: 0,
    },
    Kept {
        name: "what ended after the third",
        options: |_| PruneOptions { keep_last: None, completed_before: Some(4) },
        pruned: 3,
    },
    Kept {
        name: "all, although they ended before",
        options: |count| PruneOptions { keep_last: Some(count), completed_before: Some(u64::MAX) },
        pruned: 0,
    },
    Kept {
        name: "all but three, although they ended before",
        options: |count| PruneOptions { keep_last: Some(count - 3), completed_before: Some(u64::MAX) },
        pruned: 3,
    },
    Kept {
        name: "a few, and what ended after the third",
        options: |_| PruneOptions { keep_last: Some(5), completed_before: Some(4) },
        pruned: 3,
    },
];

/// Prunes in this way, each time of a new instance.
fn prune_all(prune: impl Fn(&Store, PruneOptions) -> Cost, count: usize) -> Costs {
    let costs = KEPT.iter().map(|kept| {
        let store = Store::in_memory();
        with_executions(&store, count);
        let before = store.count("execution");
        let cost = prune(&store, (kept.options)(u32::try_from(count).unwrap()));
        assert_eq!(before - store.count("execution"), kept.pruned, "{}", kept.name);
        (kept.name, cost)
    });
    costs.collect()
}

#[test]
fn a_commit_that_prunes_costs_what_goes() {
    flat("executions that are kept", |_, rows| {
        let prune = |store: &Store, options| {
            store.enqueue(signal("a", ""));
            let lease = store.lease();
            let turn = TurnBuilder::of_execution(lease.position.execution_id);
            let commit = turn.pruning(options).under(&lease);
            Cost::of(store, || store.commit(commit)).1
        };
        prune_all(prune, rows)
    });
}

#[test]
fn a_prune_by_hand_costs_what_goes() {
    flat("executions that are kept by hand", |_, rows| {
        let prune = |store: &Store, options| {
            Cost::of(store, || block_on(store.provider.prune_executions("a", options)).unwrap()).1
        };
        prune_all(prune, rows)
    });
}

#[test]
fn looking_for_something_to_prune_costs_what_goes() {
    flat("executions that are looked at", |_, rows| {
        let prune = |store: &Store, options| {
            let all = InstanceFilter::default();
            Cost::of(store, || block_on(store.provider.prune_executions_bulk(all, options)).unwrap()).1
        };
        prune_all(prune, rows)
    });
}

/// What runs for ever is in nobody's way, although executions behind it are missing.
#[test]
fn an_old_execution_that_never_ended_makes_no_prune_dearer() {
    flat("executions behind one that never ended", |store, rows| {
        with_executions(store, rows);
        store.damage("UPDATE execution SET status = 'Running', completed_at = NULL WHERE no = 1");
        let keep = u32::try_from(rows).unwrap() - 10;
        let mut costs = Vec::new();
        for (name, keep_last, not_kept) in [("the first time", keep, 10), ("again", keep - 2, 12)] {
            store.enqueue(signal("a", ""));
            let lease = store.lease();
            let options = PruneOptions { keep_last: Some(keep_last), completed_before: None };
            let commit =
                TurnBuilder::of_execution(lease.position.execution_id).pruning(options).under(&lease);
            costs.push((name, Cost::of(store, || store.commit(commit)).1));
            let pruned = i64::try_from(rows).unwrap() - store.count("execution");
            assert_eq!(pruned, not_kept - 1, "all but the first, which runs");
        }
        costs
    });
}
