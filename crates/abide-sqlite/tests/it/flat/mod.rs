//! What a call costs does not depend on how much of what it does not want is in the way.
//!
//! Costs are counted in instructions of SQLite's virtual machine, which are the same on every machine and in every
//! run. The rows in the way are put there by the scripts in `behind/`, as the store itself would have written them.
//! `ABIDE_FLAT_ROWS` sets how many; a million takes minutes. (`abide-bench flat` measures the same in time.)

mod crowded;
mod described;
mod front;
mod pages;
mod pruning;

use std::collections::BTreeMap;

use futures::executor::block_on;

use crate::support::store::Store;

/// Instructions, by statement.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Cost(BTreeMap<&'static str, u64>);

impl Cost {
    /// What a call costs.
    fn of<T>(store: &Store, call: impl FnOnce() -> T) -> (T, Self) {
        let before = steps(store);
        let result = call();
        let mut after = steps(store);
        for (name, steps) in &before {
            *after.entry(name).or_default() -= steps;
        }
        after.retain(|_, steps| *steps > 0);
        (result, Self(after))
    }

    fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Whether this is hardly more than `few` was.
    fn is_flat(&self, few: &Self) -> bool {
        self.total() <= few.total() + few.total() / 5 + 10
    }
}

fn steps(store: &Store) -> BTreeMap<&'static str, u64> {
    block_on(store.provider.costs()).into_iter().map(|(name, _, steps)| (name, steps)).collect()
}

/// Calls, by what they do, in the order in which they were made.
type Costs = Vec<(&'static str, Cost)>;

fn assert_flat(situation: &str, few: &Costs, many: &Costs) {
    assert_eq!(few.len(), many.len());
    let steep: Vec<_> = few.iter().zip(many).filter(|((_, few), (_, many))| !many.is_flat(few)).collect();
    assert!(steep.is_empty(), "behind {situation}: {steep:#?}");
    let most = many.iter().map(|(_, cost)| cost.total()).max().unwrap_or(0);
    println!("behind {situation}: {} calls, the dearest takes {most} instructions", many.len());
}

/// How many rows are in the way when there are many.
fn many() -> usize {
    std::env::var("ABIDE_FLAT_ROWS").ok().and_then(|rows| rows.parse().ok()).unwrap_or(20_000)
}

/// Puts rows in the way.
fn put_behind(store: &Store, script: &'static str, rows: usize) {
    let filled = block_on(store.provider.inspect(move |connection| {
        let numbers = "CREATE TEMP TABLE numbers (i INTEGER PRIMARY KEY);
             WITH RECURSIVE counted (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < {rows})
             INSERT INTO temp.numbers SELECT i FROM counted;";
        let transaction = connection.unchecked_transaction()?;
        transaction.execute_batch(&numbers.replace("{rows}", &rows.to_string()))?;
        transaction.execute_batch(script)?;
        transaction.execute_batch("DROP TABLE temp.numbers")?;
        transaction.commit()
    }));
    filled.unwrap().unwrap();
}
