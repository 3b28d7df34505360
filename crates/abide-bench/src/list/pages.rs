//! The instances, and what people ask for.

use abide_model::ExecutionStatus;
use abide_provider::{InstanceOrder, InstanceQuery, Parentage};
use abide_sqlite::SqliteProvider;
use futures::executor::block_on;

use crate::store::Fallible;

const SCRIPT: &str = include_str!("../../../abide-sqlite/tests/it/flat/instances.sql");

/// When the first of them was created.
const BEGIN: u64 = 1_600_000_000_000;

/// Makes so many instances, in one transaction.
pub(crate) fn fill(provider: &SqliteProvider, instances: usize) -> Fallible<()> {
    let fill = format!(
        "BEGIN;
         CREATE TEMP TABLE numbers (i INTEGER PRIMARY KEY);
         WITH RECURSIVE counted (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < {instances})
         INSERT INTO temp.numbers SELECT i FROM counted;
         {SCRIPT};
         DROP TABLE temp.numbers;
         COMMIT;"
    );
    let filled = block_on(provider.inspect(move |connection| connection.execute_batch(&fill)));
    filled.ok_or("the store was closed")??;
    Ok(block_on(provider.checkpoint())?)
}

/// What people ask for, filtered and sorted.
pub(crate) fn queries(instances: usize, page: u32) -> Vec<(&'static str, InstanceQuery)> {
    let middle = BEGIN + u64::try_from(instances / 6).unwrap_or(0);
    let page = || InstanceQuery::new().limit(page);
    let oldest = || page().order(InstanceOrder::OldestFirst);
    let one = Parentage::ChildOf(format!("order-{:08}", instances / 20 * 10));
    let failed = ExecutionStatus::Failed;
    vec![
        ("newest", page()),
        ("oldest", oldest()),
        ("failed, newest first", page().status(failed)),
        ("failed or running, oldest first", oldest().status(failed).status(ExecutionStatus::Running)),
        ("of a name, newest first", page().name("Order7")),
        ("of a name and failed, newest first", page().name("Order7").status(failed)),
        ("created before the middle, newest first", page().created_before(middle)),
        ("children of one instance", page().parentage(one)),
        (
            "completed roots, newest first",
            page().parentage(Parentage::Root).status(ExecutionStatus::Completed),
        ),
        ("of a version, newest first", page().version("1.2.0")),
        ("of a version nobody has: looks at all", page().version("9.9.9")),
        ("failed, by id: looks at many", page().order(InstanceOrder::ById).status(failed)),
        ("by id, of a prefix", page().order(InstanceOrder::ById).id_prefix("order-000050")),
    ]
}
