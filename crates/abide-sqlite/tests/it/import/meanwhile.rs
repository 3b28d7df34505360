//! What clients do to a store while an import into it is not complete.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use abide_model::WorkItem;
use abide_provider::{Provider, ProviderAdmin as _};
use abide_sqlite::{ImportError, ImportOutcome, discard_duroxide_import};
use futures::executor::block_on;

use super::resumed::dies;
use super::{Target, copy_of, recorded_at};
use crate::support::folder::Folder;
use crate::support::items::start;
use crate::support::store::lease_instances;

const WORK: &str =
    "SELECT m.id || ' ' || w.activity FROM work AS w JOIN mailbox AS m ON m.no = w.mailbox ORDER BY 1";

/// A store with every instance of the source, and none of its queues. It is a copy of `prepared`, if there is
/// one.
fn without_queues(folder: &Folder, from: &Path, prepared: Option<&Path>) -> Target {
    for looks in (10..60).rev() {
        let into = folder.file(&format!("ours-{looks}-{}.db", prepared.is_some()));
        if let Some(prepared) = prepared {
            fs::copy(prepared, &into).unwrap();
        }
        if dies(from, &into, looks) {
            let target = Target::at(into.to_str().unwrap(), recorded_at());
            // It may have died with the queues written.
            if texts(&target, WORK).is_empty() {
                return target;
            }
        }
    }
    panic!("no import was interrupted");
}

fn texts(target: &Target, query: &str) -> Vec<String> {
    let query = query.to_owned();
    let read = target.provider.inspect(move |connection| {
        let mut statement = connection.prepare(&query).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<rusqlite::Result<Vec<String>>>().unwrap()
    });
    block_on(read).unwrap()
}

/// A store into which everything was imported at once.
fn whole(from: &Path) -> Target {
    let target = Target::in_memory();
    assert_eq!(target.import(from).unwrap().outcome, ImportOutcome::Imported);
    target
}

fn running(target: &Target) -> Vec<String> {
    texts(
        target,
        "SELECT m.id FROM duroxide_imported AS i JOIN mailbox AS m ON m.no = i.mailbox WHERE m.status = 'Running' ORDER BY 1",
    )
}

fn send(target: &Target, item: WorkItem) {
    block_on(target.provider.enqueue_for_orchestrator(item, None)).unwrap();
}

fn leased(target: &Target) -> BTreeSet<String> {
    let leases = block_on(target.provider.lease_instances(lease_instances(1_000))).unwrap();
    leases.into_iter().map(|lease| lease.instance).collect()
}

#[test]
fn signals_and_cancels_wait_until_the_import_is_complete() {
    // Given
    let folder = Folder::new("meanwhile");
    let from = copy_of(&folder, "everything.db");
    let (target, whole) = (without_queues(&folder, &from, None), whole(&from));
    let running = running(&target);
    assert!(running.len() > 3, "{running:?}");
    // When
    for (number, instance) in running.iter().cloned().enumerate() {
        let (name, data) = ("unheard".to_owned(), "data".to_owned());
        send(
            &target,
            match number % 2 {
                0 => WorkItem::ExternalRaised { instance, name, data },
                _ => WorkItem::CancelInstance { instance, reason: "no longer needed".to_owned() },
            },
        );
    }
    // Then
    assert_eq!(leased(&target), BTreeSet::new(), "nothing is leased that has no queues yet");
    assert_eq!(target.import(&from).unwrap().outcome, ImportOutcome::Resumed);
    assert_eq!(texts(&target, WORK), texts(&whole, WORK), "no activity is lost or doubled");
    let messages = |target: &Target| texts(target, "SELECT no || '' FROM message").len();
    assert_eq!(messages(&target), messages(&whole) + running.len(), "no message is lost or doubled");
    let _consistent = target.contents();
    let leased = leased(&target);
    assert!(
        running.iter().all(|instance| leased.contains(instance)),
        "{running:?} can be leased: {leased:?}"
    );
}

/// Messages that waited for an instance before it was imported do not open it either.
#[test]
fn mail_that_waited_for_the_import_waits_until_it_is_complete() {
    // Given
    let folder = Folder::new("waiting");
    let from = copy_of(&folder, "everything.db");
    let running = running(&without_queues(&folder, &from, None));
    let prepared = folder.file("prepared.db");
    let before = Target::at(prepared.to_str().unwrap(), recorded_at());
    for instance in running.iter().cloned() {
        send(&before, WorkItem::ExternalRaised { instance, name: "early".to_owned(), data: String::new() });
    }
    drop(before);
    // When
    let target = without_queues(&folder, &from, Some(&prepared));
    // Then
    assert_eq!(texts(&target, "SELECT no || '' FROM message").len(), running.len());
    assert_eq!(leased(&target), BTreeSet::new());
    assert_eq!(target.import(&from).unwrap().outcome, ImportOutcome::Resumed);
    let leased = leased(&target);
    assert!(
        running.iter().all(|instance| leased.contains(instance)),
        "{running:?} can be leased: {leased:?}"
    );
}

#[test]
fn what_is_deleted_meanwhile_does_not_come_back() {
    for starts_again in [false, true] {
        // Given
        let folder = Folder::new("deleted");
        let from = copy_of(&folder, "everything.db");
        let (target, whole) = (without_queues(&folder, &from, None), whole(&from));
        let roots = texts(
            &target,
            "SELECT m.id FROM duroxide_imported AS i JOIN mailbox AS m ON m.no = i.mailbox
             WHERE m.status = 'Running' AND m.parent IS NULL ORDER BY 1",
        );
        // When
        for root in &roots {
            block_on(target.provider.delete_instance(root, true)).unwrap();
            if starts_again {
                send(&target, start(root));
            }
        }
        assert_eq!(target.import(&from).unwrap().outcome, ImportOutcome::Resumed);
        // Then
        let lost = |target: &Target, table: &str| {
            texts(
                target,
                &format!(
                    "SELECT m.id FROM {table} AS t JOIN mailbox AS m ON m.no = t.mailbox WHERE m.id IN ({})",
                    roots.iter().map(|root| format!("'{root}'")).collect::<Vec<_>>().join(", ")
                ),
            )
        };
        assert!(!lost(&whole, "work").is_empty(), "the source has activities of them");
        assert_eq!(
            lost(&target, "work"),
            Vec::<String>::new(),
            "no activity of a deleted instance comes back"
        );
        let messages = lost(&target, "message");
        assert_eq!(messages.len(), if starts_again { roots.len() } else { 0 }, "{messages:?}");
        let instances = lost(&target, "execution");
        assert_eq!(instances, Vec::<String>::new());
        let _consistent = target.contents();
    }
}

#[test]
fn an_import_whose_file_is_lost_can_be_discarded() {
    // Given
    let folder = Folder::new("lost");
    let from = copy_of(&folder, "everything.db");
    let target = without_queues(&folder, &from, None);
    send(&target, start("ours"));
    fs::remove_file(&from).unwrap();
    let other = copy_of(&folder, "crashed.db");
    let error = target.import(&other).unwrap_err();
    assert!(matches!(error, ImportError::Unfinished { .. }), "{error:?}");
    assert!(error.to_string().contains("discard_duroxide_import"), "{error}");
    // When
    let imported = u64::try_from(texts(&target, "SELECT id FROM duroxide_imported").len()).unwrap();
    let deleted = block_on(discard_duroxide_import(&target.provider)).unwrap();
    // Then
    assert_eq!(deleted, imported);
    assert_eq!(texts(&target, "SELECT id FROM mailbox"), ["ours"], "what was started here stays");
    assert_eq!(block_on(discard_duroxide_import(&target.provider)).unwrap(), 0);
    assert_eq!(target.import(&other).unwrap().outcome, ImportOutcome::Imported);
    assert_eq!(block_on(discard_duroxide_import(&target.provider)).unwrap(), 0, "a complete import stays");
    assert_eq!(target.import(&other).unwrap().outcome, ImportOutcome::AlreadyImported);
}
