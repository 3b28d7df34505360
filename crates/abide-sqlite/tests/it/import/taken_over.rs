//! What an import brings, row by row.

use rusqlite::Connection;
use rusqlite::types::Value;

use super::{Target, assert_imported, copy_of, rows_of};
use crate::support::folder::Folder;

struct Imported {
    target: Target,
    source: Connection,
    _folder: Folder,
}

impl Imported {
    fn new() -> Self {
        let folder = Folder::new("rows");
        let path = copy_of(&folder, "everything.db");
        let target = Target::in_memory();
        let report = target.import(&path).unwrap();
        assert_imported(&report);
        let source = Connection::open(path).unwrap();
        Self { target, source, _folder: folder }
    }

    /// Both queries return the same, and something.
    fn same(&self, theirs: &str, ours: &'static str) {
        let expected = rows_of(&self.source, theirs);
        assert!(!expected.is_empty(), "{theirs}");
        assert_eq!(self.target.rows(ours), expected, "{ours}");
    }
}

#[test]
fn instances_and_executions() {
    let imported = Imported::new();
    imported.same(
        "SELECT instance_id, orchestration_name, orchestration_version, current_execution_id, parent_instance_id
         FROM instances ORDER BY instance_id",
        "SELECT id, name, version, execution, parent FROM mailbox WHERE execution > 0 ORDER BY id",
    );
    imported.same(
        "SELECT instance_id, execution_id, status, output, completed_at,
                duroxide_version_major || '.' || duroxide_version_minor || '.' || duroxide_version_patch
         FROM executions ORDER BY instance_id, execution_id",
        "SELECT m.id, e.no, e.status, e.output, e.completed_at, e.pin
         FROM execution AS e JOIN mailbox AS m ON m.no = e.mailbox ORDER BY m.id, e.no",
    );
    imported.same(
        "SELECT instance_id, custom_status, custom_status_version FROM instances WHERE custom_status_version > 0
         ORDER BY instance_id",
        "SELECT m.id, s.value, s.version FROM custom_status AS s JOIN mailbox AS m ON m.no = s.mailbox ORDER BY m.id",
    );
}

/// In every history the terminal event is the last. There, cancellations may follow it.
#[test]
fn histories() {
    let imported = Imported::new();
    let each_event = "SELECT m.id, t.execution, e.value ->> '$.event_id', e.value
                      FROM turn AS t JOIN mailbox AS m ON m.no = t.mailbox, json_each(t.events) AS e
                      WHERE m.id <> 'busy-canceled' ORDER BY 1, 2, 3";
    imported.same(
        "SELECT instance_id, execution_id, event_id, event_data FROM history WHERE instance_id <> 'busy-canceled'
         ORDER BY 1, 2, 3",
        each_event,
    );
    let kinds = |theirs: &str| -> Vec<String> {
        rows_of(&imported.source, theirs).into_iter().flatten().map(text).collect()
    };
    let there = kinds(
        "SELECT event_type FROM history WHERE instance_id = 'busy-canceled' AND event_id > 7 ORDER BY event_id",
    );
    assert_eq!(there, ["OrchestrationFailed", "ActivityCancelRequested"], "the sample shows it");
    let here = imported.target.rows(
        "SELECT e.value ->> '$.type' FROM turn AS t JOIN mailbox AS m ON m.no = t.mailbox, json_each(t.events) AS e
         WHERE m.id = 'busy-canceled' AND e.value ->> '$.event_id' > 7 ORDER BY e.value ->> '$.event_id'",
    );
    let here: Vec<String> = here.into_iter().flatten().map(text).collect();
    assert_eq!(here, ["ActivityCancelRequested", "OrchestrationFailed"]);
}

fn text(value: Value) -> String {
    if let Value::Text(text) = value { text } else { panic!("{value:?} is no text") }
}

/// With their order, visibility and attempts. Timers of what has ended are left out.
#[test]
fn messages() {
    let imported = Imported::new();
    imported.same(
        &format!(
            "SELECT instance_id, work_item, attempt_count, CASE WHEN visible_at > {} THEN visible_at ELSE 0 END
             FROM orchestrator_queue WHERE instance_id NOT LIKE 'busy-%' ORDER BY id",
            imported.target.clock.now_ms()
        ),
        "SELECT m.id, q.item, q.attempts, q.visible_at FROM message AS q JOIN mailbox AS m ON m.no = q.mailbox ORDER BY q.no",
    );
    let obsolete = "SELECT count(*) FROM orchestrator_queue WHERE instance_id LIKE 'busy-%'";
    assert_eq!(rows_of(&imported.source, obsolete), [[Value::Integer(2)]], "the sample has some");
    let hidden = imported.target.rows("SELECT count(*) FROM message WHERE visible_at > 0");
    assert!(matches!(hidden[0][0], Value::Integer(3..)), "{hidden:?}");
    let tried = imported.target.rows("SELECT count(*) FROM message WHERE attempts > 0");
    assert!(matches!(tried[0][0], Value::Integer(2..)), "{tried:?}");
}

/// Leases are void: no process has the file open. The attempt of the one that died counts.
#[test]
fn activities_and_sessions() {
    let imported = Imported::new();
    imported.same(
        "SELECT instance_id, execution_id, activity_id, work_item, coalesce('=' || tag, ''), session_id, attempt_count,
                0, NULL FROM worker_queue ORDER BY id",
        "SELECT m.id, w.execution, w.activity, w.item, w.tag, w.session, w.attempts, w.visible_at, w.lease
         FROM work AS w JOIN mailbox AS m ON m.no = w.mailbox ORDER BY w.no",
    );
    imported.same(
        "SELECT session_id, worker_id, locked_until, last_activity_at FROM sessions",
        "SELECT name, owner, locked_until, last_active_at FROM session",
    );
}

#[test]
fn values() {
    let imported = Imported::new();
    imported.same(
        "SELECT instance_id, key, value, last_updated_at_ms FROM kv_store ORDER BY 1, 2",
        "SELECT m.id, k.key, k.value, k.updated_at FROM kv_store AS k JOIN mailbox AS m ON m.no = k.mailbox ORDER BY 1, 2",
    );
    imported.same(
        "SELECT instance_id, key, value, CASE WHEN value IS NULL THEN 0 ELSE last_updated_at_ms END FROM kv_delta ORDER BY 1, 2",
        "SELECT m.id, k.key, k.value, k.updated_at FROM kv_delta AS k JOIN mailbox AS m ON m.no = k.mailbox ORDER BY 1, 2",
    );
}

/// Activities that are hidden, and timers in the table of early releases, are brought as well.
#[test]
fn rows_that_the_samples_do_not_have() {
    let folder = Folder::new("rare");
    let path = copy_of(&folder, "everything.db");
    super::change(
        &path,
        "UPDATE worker_queue SET visible_at = 4000000000000, attempt_count = 2 WHERE instance_id IN ('tagged', 'on-session');
         INSERT INTO timer_queue (work_item, fire_at) SELECT work_item, visible_at FROM orchestrator_queue
             WHERE instance_id IN ('racing', 'busy-failed');
         DELETE FROM orchestrator_queue WHERE instance_id = 'racing';
         UPDATE executions SET duroxide_version_major = NULL WHERE instance_id = 'typed';",
    );
    let target = Target::in_memory();
    let report = target.import(&path).unwrap();
    assert_eq!(report.counts.obsolete_timers, 3);
    let hidden = target.rows("SELECT attempts, visible_at FROM work WHERE visible_at > 0");
    assert_eq!(hidden, vec![vec![Value::Integer(2), Value::Integer(4_000_000_000_000)]; 2]);
    let timers = target
        .rows("SELECT q.no FROM message AS q JOIN mailbox AS m ON m.no = q.mailbox WHERE m.id = 'racing'");
    assert_eq!(timers.len(), 1);
    let pins = target.rows("SELECT pin FROM mailbox WHERE id = 'typed'");
    assert_eq!(pins, [[Value::Text("0.1.32".to_owned())]]);
    target.contents();
}
