//! What administration takes, and why it refuses.

use std::time::Duration;

use abide_model::{ExecutionStatus, Timestamp};
use abide_provider::{
    AdminRefusal, BlockKind, BlockSummary, DEFAULT_BULK, Force, InstanceOrder, InstanceQuery,
    InstanceSummary, InvalidQuery, Operation, OrphanFilter, PageCursor, Parentage, PruneOptions, Rejection,
    Retention,
};

#[test]
fn a_cursor_is_its_text() {
    let cursors = [
        (PageCursor::created(InstanceOrder::NewestFirst, 12, "7"), "n12.7"),
        (PageCursor::created(InstanceOrder::OldestFirst, 0, ""), "o0."),
        (PageCursor::id("a.b c\u{10ffff}"), "i0.a.b c\u{10ffff}"),
    ];
    for (cursor, text) in cursors {
        assert_eq!(cursor.to_string(), text);
        assert_eq!(text.parse(), Ok(cursor));
    }
    for text in ["", "n", "x1.2", "n1", "n.2", "n-1.2", "n1,2", "n18446744073709551616.1"] {
        assert_eq!(text.parse::<PageCursor>(), Err(InvalidQuery::Cursor { text: text.to_owned() }));
    }
}

#[test]
fn a_page_has_one_to_a_thousand_instances_and_one_order() {
    assert_eq!(InstanceQuery::new().page_size(), Ok(100));
    assert_eq!(InstanceQuery::new().limit(1_000).page_size(), Ok(1_000));
    for limit in [0, 1_001, u32::MAX] {
        assert_eq!(InstanceQuery::new().limit(limit).page_size(), Err(InvalidQuery::PageSize { limit }));
    }
    let after = InstanceQuery::new().after(PageCursor::id("a"));
    let changed = InvalidQuery::OrderChanged { before: InstanceOrder::ById, now: InstanceOrder::NewestFirst };
    assert_eq!(after.start(), Err(changed));
    assert_eq!(after.order(InstanceOrder::ById).start(), Ok(Some(&PageCursor::id("a"))));
}

#[test]
fn a_query_admits_what_meets_all_of_it() {
    let order = InstanceSummary {
        instance_id: "order-7".to_owned(),
        orchestration_name: "Order".to_owned(),
        orchestration_version: "1.2.0".to_owned(),
        execution_id: 1,
        status: ExecutionStatus::Failed,
        custom_status: None,
        created_at: 50,
        updated_at: 60,
        completed_at: Some(60),
        parent_instance_id: Some("parent".to_owned()),
        block: Some(BlockSummary {
            kind: BlockKind::Panic,
            since: Timestamp::from_millis(55),
            holds_activity: false,
        }),
    };
    let all = InstanceQuery::new;
    let admitted = [
        all(),
        all().status(ExecutionStatus::Running).status(ExecutionStatus::Failed),
        all().name("Order").version("1.2.0").id_prefix("order-"),
        all().parentage(Parentage::ChildOf("parent".to_owned())),
        all().created_from(50).created_before(51),
        all().blocked(),
        all().blocked_by(BlockKind::Panic),
    ];
    let left_out = [
        all().status(ExecutionStatus::Completed),
        all().name("Orde"),
        all().name("Order").version("1.2"),
        all().id_prefix("rder"),
        all().parentage(Parentage::Root),
        all().parentage(Parentage::ChildOf("order-7".to_owned())),
        all().created_from(51),
        all().created_before(50),
        all().blocked_by(BlockKind::Corrupt),
    ];
    for query in admitted {
        assert!(query.admits(&order), "{query:?}");
    }
    for query in left_out {
        assert!(!query.admits(&order), "{query:?}");
    }
}

#[test]
fn orphans_are_children_that_ended() {
    let ends = |texts: &[&str]| {
        let child_status = texts.iter().map(|&text| text.to_owned()).collect();
        OrphanFilter { child_status, ..OrphanFilter::default() }.ends()
    };
    assert_eq!(ends(&[]), Ok(vec![ExecutionStatus::Completed, ExecutionStatus::Failed]));
    assert_eq!(ends(&["Failed"]), Ok(vec![ExecutionStatus::Failed]));
    for text in ["Running", "ContinuedAsNew", "failed", ""] {
        assert_eq!(ends(&["Failed", text]).unwrap_err().status, text);
    }
    assert_eq!(OrphanFilter::default().at_most(), DEFAULT_BULK);
}

#[test]
fn retention_keeps_at_least_as_long_as_it_says() {
    let cutoff = |keep_for, now| {
        let retention = Retention { keep_for, limit: 3, host_time: Timestamp::from_millis(0) };
        let filter = retention.filter(Timestamp::from_millis(now));
        assert_eq!((filter.instance_ids, filter.limit), (None, Some(3)));
        filter.completed_before
    };
    assert_eq!(cutoff(Duration::from_millis(10), 100), Some(90));
    assert_eq!(cutoff(Duration::from_micros(10_001), 100), Some(89));
    assert_eq!(cutoff(Duration::MAX, 100), Some(0));
}

#[test]
fn the_current_execution_is_always_kept() {
    for (keep_last, kept) in [(None, 1), (Some(0), 1), (Some(1), 1), (Some(7), 7)] {
        assert_eq!(PruneOptions { keep_last, completed_before: None }.kept(), kept);
    }
    assert_eq!((Force::from(true), Force::from(false)), (Force::Yes, Force::No));
}

#[test]
fn refusals_say_what_happened_to_what_and_what_to_do() {
    let instance = || "a".to_owned();
    let refusals = [
        (AdminRefusal::not_found("a"), Rejection::NotFound, "Instance a not found"),
        (
            AdminRefusal::ExecutionNotFound { instance: instance(), execution_id: 4 },
            Rejection::NotFound,
            "Execution 4 not found for instance a",
        ),
        (
            AdminRefusal::IsChild { instance: instance() },
            Rejection::Invalid,
            "Cannot delete sub-orchestration a directly. Delete root instance instead.",
        ),
        (
            AdminRefusal::Running { instance: instance() },
            Rejection::Running,
            "Instance a is still running. Use force=true to delete anyway, or cancel first.",
        ),
        (
            AdminRefusal::ChildLeftBehind { parent: instance(), child: "c".to_owned() },
            Rejection::Conflict,
            "Cannot delete: instance a has child c that was created after tree traversal. Re-fetch the tree and retry.",
        ),
    ];
    for (refusal, rejection, text) in refusals {
        let error = refusal.store_error(Operation::DeleteInstance);
        assert_eq!((error.rejection(), error.message.as_str()), (Some(rejection), text));
        let error = refusal.provider_error(Operation::DeleteInstance);
        assert_eq!((error.operation.as_str(), error.is_retryable()), ("delete_instance", false));
    }
}
