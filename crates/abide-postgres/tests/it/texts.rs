//! Any Unicode text comes back as it was, NUL included, wherever it is kept.

use std::time::Duration;

use abide_model::{EventKind, WorkItem};
use abide_provider::{
    ExecutionMetadata, InstanceQuery, LeaseInstances, LeaseWork, Provider, ProviderAdmin, SessionFetchConfig,
    TagFilter, Turn, WorkLease,
};
use futures::executor::block_on;

use crate::support::database::Database;
use crate::support::items::{commit, event};

const ODD: &[&str] = &[
    "",
    "\0",
    "a\0b",
    "\u{1}",
    "\u{1}0\u{1}1\0",
    "grüße 🦀 \u{10ffff}",
    "'; DROP TABLE x; --",
    "%_\\\"\n\r\t",
    "\u{feff}\u{202e}",
];

fn lease(store: &impl Provider) -> abide_provider::InstanceLease {
    let request = LeaseInstances {
        limit: 1,
        lease_for: Duration::from_secs(9),
        wait: Duration::ZERO,
        capabilities: None,
        serving: None,
    };
    block_on(store.lease_instances(request)).unwrap().pop().expect("something to lease")
}

#[test]
fn every_text_comes_back_wherever_it_is_kept() {
    let Some(database) = Database::new() else { return };
    let store = database.open();
    for text in ODD {
        let id = format!("id{text}");
        let start = start(&id, text);
        block_on(store.enqueue_for_orchestrator(start.clone(), None)).unwrap();
        let lease = lease(&store);
        assert_eq!((&lease.instance, &lease.messages[0].item), (&id, &start));
        let work = work(&id, text);
        let turn = turn(&id, text, work.clone());
        let events = turn.events.clone();
        block_on(store.commit_turns(vec![commit(&lease, turn)])).remove(0).unwrap();

        assert_eq!(block_on(store.read(&id)).unwrap(), events);
        let same = || (*text).to_owned();
        assert_eq!(block_on(store.get_kv_value(&id, &format!("key{text}"))).unwrap(), Some(same()));
        assert_eq!(block_on(store.get_custom_status(&id, 0)).unwrap(), Some((Some(same()), 1)));
        let info = block_on(store.get_instance_info(&id)).unwrap();
        let told =
            (info.orchestration_name, info.orchestration_version, info.output, info.parent_instance_id);
        assert_eq!(told, (same(), same(), Some(same()), Some(same())));
        let leased = lease_work(&store, text);
        assert_eq!((leased.item, leased.orchestration_name), (work, same()));
    }
    let mut query = InstanceQuery::default();
    query.id_prefix = Some("id\0".to_owned());
    let page = block_on(store.list_instances_page(query)).unwrap();
    assert_eq!(
        page.instances.iter().map(|summary| summary.instance_id.as_str()).collect::<Vec<_>>(),
        ["id\0"]
    );
}

fn start(id: &str, text: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: id.to_owned(),
        orchestration: text.to_owned(),
        input: text.to_owned(),
        version: None,
        parent_instance: Some(text.to_owned()),
        parent_id: Some(3),
        parent_execution_id: Some(1),
        execution_id: 1,
    }
}

fn work(id: &str, text: &str) -> WorkItem {
    WorkItem::ActivityExecute {
        instance: id.to_owned(),
        execution_id: 1,
        id: 4,
        name: text.to_owned(),
        input: text.to_owned(),
        session_id: Some(format!("session{text}")),
        tag: Some(format!("tag{text}")),
    }
}

/// A turn that says the text wherever it can, and ends.
fn turn(id: &str, text: &str, work: WorkItem) -> Turn {
    let kinds = [
        EventKind::KeyValueSet { key: format!("key{text}"), value: text.to_owned(), last_updated_at_ms: 1 },
        EventKind::CustomStatusUpdated { status: Some(text.to_owned()) },
        EventKind::OrchestrationCompleted { output: text.to_owned() },
    ];
    let events = (1..).zip(kinds).map(|(number, kind)| event(id, number, kind)).collect();
    let metadata = ExecutionMetadata {
        orchestration_name: Some(text.to_owned()),
        orchestration_version: Some(text.to_owned()),
        parent_instance_id: Some(text.to_owned()),
        status: Some("Completed".to_owned()),
        output: Some(text.to_owned()),
        ..ExecutionMetadata::default()
    };
    Turn { execution_id: 1, events, worker_items: vec![work], metadata, ..Turn::default() }
}

fn lease_work(store: &impl Provider, text: &str) -> WorkLease {
    let lock_timeout = Duration::from_secs(9);
    let session = Some(SessionFetchConfig { owner_id: format!("owner{text}"), lock_timeout });
    let tags = TagFilter::tags([format!("tag{text}")]);
    let request = LeaseWork {
        limit: 1,
        lease_for: Duration::from_secs(9),
        wait: Duration::ZERO,
        session,
        tags,
        serving: None,
    };
    block_on(store.lease_work(request)).unwrap().pop().expect("the work is there")
}
