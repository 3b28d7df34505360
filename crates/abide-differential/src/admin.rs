//! Steps of administration: looking, deleting, pruning.

use abide_model::PruneOptions;
use abide_provider::{Force, InstanceFilter, InstanceQuery, OrphanFilter, Retention};

/// What changes nothing.
#[derive(Debug, Clone)]
pub(crate) enum LookOp {
    List,
    ByStatus {
        status: String,
    },
    Executions {
        instance: String,
    },
    History {
        instance: String,
    },
    HistoryOf {
        instance: String,
        execution_id: u64,
    },
    Latest {
        instance: String,
    },
    Info {
        instance: String,
    },
    ExecutionInfo {
        instance: String,
        execution_id: u64,
    },
    Metrics,
    QueueDepths,
    Children {
        instance: String,
    },
    Parent {
        instance: String,
    },
    Tree {
        instance: String,
    },
    /// One page, and those behind it: at most so many.
    Pages {
        query: Box<InstanceQuery>,
        most: usize,
    },
}

/// What deletes something.
#[derive(Debug, Clone)]
pub(crate) enum DeleteOp {
    One { instance: String, force: Force },
    Set { ids: Vec<String>, force: Force },
    Bulk(InstanceFilter),
    Orphans(OrphanFilter),
    Retention(Retention),
    Prune { instance: String, options: PruneOptions },
    PruneBulk { filter: InstanceFilter, options: PruneOptions },
}
