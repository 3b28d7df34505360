//! How SQLite means to run each statement: by an index, without sorting, and as the statement's file says.
//!
//! The plans are those of the library's default planner: nobody runs `ANALYZE` on a store, so they are the same for
//! an empty database and for a full one.

use std::collections::BTreeMap;

use abide_model::ExecutionStatus;
use abide_provider::{BlockFilter, BlockKind, InstanceOrder, InstanceQuery, PageCursor, Parentage};
use abide_sqlite::SqliteProvider;
use futures::executor::block_on;
use rusqlite::Connection;

use crate::support::store::Store;

/// Statements that go through a whole table or index, and why they may.
const MAY_SCAN: &[(&str, &str)] = &[
    ("any_ready_mailbox", "stops at the first entry of the queue"),
    ("any_ready_work", "stops at the first entry of either queue"),
    ("next_mailbox_due", "stops at the first entry of each index, which is in the order of time"),
    ("next_work_due", "stops at the first entry of each index, which is in the order of time"),
    ("mailboxes_of_owner", "only leased mailboxes are in this index, and only when a process has died"),
    ("work_of_owner", "only leased work is in this index, and only when a process has died"),
    ("held_work", "only leased work is in this index, and only when somebody begins to listen"),
    (
        "leased_work_of",
        "only leased work is in this index, and only when an instance with much work is deleted",
    ),
    ("next_removal", "stops at the first entry, which is in the order of time"),
    ("list_owners", "as many rows as processes have the file open"),
    ("forget_sessions", "housekeeping: who asks for it wants every session looked at"),
    ("list_newest", "who asks for it wants every instance; pages are for those who do not"),
    ("count_instances", "counts by going through the smallest index"),
    ("count_executions", "counts by going through what is counted"),
    ("count_all_events", "counts by going through the smallest index, which knows how many a turn has"),
    ("count_messages", "counts by going through what is counted"),
    ("count_waiting_work", "counts by going through the indexes of what waits"),
    ("list_blocks", "stops at the limit, in an index of what is blocked"),
    ("count_blocks", "counts by going through an index of what is blocked"),
    ("list_nodes", "as many rows as nodes have announced themselves"),
    ("ready_routes", "a loose scan: the first entry, and then a seek per route"),
    ("ready_work_routes", "a loose scan: the first entry, and then a seek per route"),
    ("lane_routes", "a loose scan: the first entry, and then a seek per route"),
];

/// Statements that sort, and why they may.
const MAY_SORT: &[(&str, &str)] = &[
    (
        "list_newest",
        "a list of everything, which no index is worth being kept for; pages are for those who want a few",
    ),
    ("list_by_status", "all of a status: roots and others are apart in the index, and both are wanted"),
    ("list_blocks", "sorts only what was blocked in the same millisecond, by name"),
    ("list_holds", "sorts only what was held in the same millisecond, by name"),
    ("count_blocks", "four kinds"),
];

type Plans = BTreeMap<&'static str, Vec<String>>;

fn plans() -> Plans {
    let plans = block_on(Store::in_memory().provider.inspect(|connection| {
        let statements = SqliteProvider::statement_texts().filter(|(_, text)| is_planned(text));
        statements.map(|(name, text)| (name, plan_of(connection, text))).collect()
    }));
    plans.unwrap()
}

/// Whether a statement is more than a command.
fn is_planned(text: &str) -> bool {
    let statement = text.lines().find(|line| !line.starts_with("--")).unwrap_or_default();
    !["PRAGMA", "BEGIN", "COMMIT", "ROLLBACK"].iter().any(|command| statement.starts_with(command))
}

fn plan_of(connection: &Connection, text: &str) -> Vec<String> {
    // Not bound: a plan must not depend on the values.
    let mut explained = connection.prepare(&format!("EXPLAIN QUERY PLAN {text}")).unwrap();
    let mut rows = explained.raw_query();
    let mut plan = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        plan.push(row.get(3).unwrap());
    }
    plan
}

/// What a statement's file says about its plan.
fn promised(text: &str) -> Vec<&str> {
    let promise = text.lines().find_map(|line| line.strip_prefix("-- Plan: "));
    let names = promise.map(|names| names.trim_end_matches('.').split(", ").collect());
    names.unwrap_or_default()
}

/// Whether a name is a word of a plan.
fn mentions(plan: &[String], name: &str) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    plan.iter().any(|step| step.split(|character| !is_word(character)).any(|word| word == name))
}

/// Whether a step of a plan goes through a table, and not only through what another step has found.
fn scans_a_table(step: &str) -> bool {
    let what = step.strip_prefix("SCAN ");
    what.is_some_and(|what| {
        !what.starts_with('(') && !what.starts_with("json_each") && what != "CONSTANT ROW"
    })
}

#[test]
fn no_statement_goes_through_a_table_without_a_reason() {
    let scanning = plans().into_iter().filter(|(_, plan)| plan.iter().any(|step| scans_a_table(step)));
    let scanning: BTreeMap<_, _> = scanning.collect();
    let forbidden: Vec<_> =
        scanning.iter().filter(|(name, _)| !MAY_SCAN.iter().any(|(known, _)| known == *name)).collect();
    assert!(forbidden.is_empty(), "{forbidden:#?}");
    for (name, reason) in MAY_SCAN {
        assert!(scanning.contains_key(name), "{name} needs no exception any more ({reason})");
    }
}

/// A step over a route is a seek, however many rows are on it.
#[test]
fn every_step_to_the_next_route_is_a_seek() {
    let plans = plans();
    for name in ["ready_routes", "ready_work_routes", "lane_routes"] {
        let steps = plans[name].iter().filter(|step| step.starts_with("SEARCH"));
        let steps: Vec<_> = steps.filter(|step| step.contains("(route>?)")).collect();
        assert_eq!(steps.len(), 1, "{name}: {:#?}", plans[name]);
    }
}

#[test]
fn no_statement_sorts() {
    let sorting: Plans = plans()
        .into_iter()
        .filter(|(_, plan)| {
            plan.iter().any(|step| step.contains("TEMP B-TREE") || step.contains("AUTOMATIC"))
        })
        .collect();
    let forbidden: Vec<_> =
        sorting.iter().filter(|(name, _)| !MAY_SORT.iter().any(|(known, _)| known == *name)).collect();
    assert!(forbidden.is_empty(), "{forbidden:#?}");
    for (name, reason) in MAY_SORT {
        assert!(sorting.contains_key(name), "{name} needs no exception any more ({reason})");
    }
}

#[test]
fn every_statement_is_run_as_its_file_promises() {
    let plans = plans();
    let mut broken = Vec::new();
    let mut promises = 0;
    for (name, text) in SqliteProvider::statement_texts() {
        for promise in promised(text) {
            promises += 1;
            let plan = plans.get(name).map_or(&[][..], Vec::as_slice);
            if !mentions(plan, promise) {
                broken.push(format!("{name} promises {promise}, and does {plan:?}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    assert!(promises > 20, "the promises were not found");
}

/// An index costs every write something: one that no statement uses is a mistake, here or in the statement.
#[test]
fn every_index_is_used() {
    let plans = plans();
    let indexes = block_on(Store::in_memory().provider.inspect(|connection| {
        let query = "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL";
        let mut statement = connection.prepare(query).unwrap();
        let names = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        names.map(Result::unwrap).collect::<Vec<_>>()
    }));
    let pages: Vec<_> = listings().into_iter().map(|(query, _)| listing_plan(&query)).collect();
    let used = |index: &String| plans.values().chain(&pages).any(|plan| mentions(plan, index));
    let unused: Vec<_> = indexes.unwrap().into_iter().filter(|index| !used(index)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

/// Queries of every shape, and the index that their page must come from.
fn listings() -> Vec<(InstanceQuery, &'static str)> {
    let all = || InstanceQuery::new().limit(10);
    let child = || Parentage::ChildOf("p".to_owned());
    let created = PageCursor::created(InstanceOrder::OldestFirst, 5, "7");
    let shapes = [
        (all(), "mailbox_status"),
        (all().status(ExecutionStatus::Failed), "mailbox_status"),
        (all().version("1.0.0").parentage(Parentage::Root).id_prefix("a"), "mailbox_status"),
        (all().created_from(3).created_before(9), "mailbox_status"),
        (all().name("Order"), "mailbox_name"),
        (all().name("Order").status(ExecutionStatus::Running).created_from(3), "mailbox_name"),
        (all().parentage(child()), "mailbox_parent"),
        (all().parentage(child()).name("Order").status(ExecutionStatus::Failed), "mailbox_parent"),
    ];
    let oldest_first = |(query, index): &(InstanceQuery, &'static str)| {
        (query.clone().order(InstanceOrder::OldestFirst).after(created.clone()), *index)
    };
    let mut queries: Vec<_> = shapes.iter().map(oldest_first).collect();
    queries.extend(shapes);
    queries.push((all().order(InstanceOrder::ById), "mailbox_id"));
    // Blocked instances are found by what blocks them.
    for query in [all().blocked(), all().blocked_by(BlockKind::Quarantine)] {
        queries.push((query.clone(), "work_held"));
        queries.push((query.clone(), "block_since"));
        queries.push((query.order(InstanceOrder::ById).name("Order"), "block_since"));
    }
    queries.push((
        all().order(InstanceOrder::ById).id_prefix("a").name("Order").after(PageCursor::id("ab")),
        "mailbox_id",
    ));
    queries
}

fn listing_plan(query: &InstanceQuery) -> Vec<String> {
    let text = SqliteProvider::listing_text(query).unwrap();
    block_on(Store::in_memory().provider.inspect(move |connection| plan_of(connection, &text))).unwrap()
}

#[test]
fn every_page_comes_from_an_index_in_its_order() {
    for (query, index) in listings() {
        let plan = listing_plan(&query);
        assert!(mentions(&plan, index), "{query:?}: {plan:#?}");
        let of_mailboxes: Vec<_> = plan.iter().filter(|step| step.contains("mailbox")).collect();
        assert!(of_mailboxes.iter().all(|step| step.starts_with("SEARCH")), "{query:?}: {plan:#?}");
        assert!(mentions(&plan, "work_held_of"), "what holds an instance of the page: {plan:#?}");
        let of_blocks = plan.iter().filter(|step| step.contains(" b ") || step.contains("block"));
        let is_narrow = |step: &String| step.starts_with("SEARCH") || step.contains("block_since");
        assert!(of_blocks.clone().all(is_narrow), "{query:?}: {plan:#?}");
        if query.blocked != BlockFilter::Any {
            continue;
        }
        // What is sorted is the page, merged from the ranges of its statuses, and never a range.
        let sorts = plan.iter().filter(|step| step.contains("TEMP B-TREE")).count();
        let limit = usize::from(query.order != InstanceOrder::ById);
        assert!(sorts <= limit, "{query:?}: {plan:#?}");
    }
}

#[test]
fn plans_do_not_depend_on_statistics() {
    let store = Store::in_memory();
    store.settle();
    let query = "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'sqlite_stat%'";
    assert_eq!(store.value::<i64>(query), 0);
}
