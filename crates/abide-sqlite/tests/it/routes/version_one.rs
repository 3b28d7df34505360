//! A file of version 1 gets its routes when it is opened.

use abide_provider::Provider as _;
use abide_sqlite::SqliteProvider;
use futures::executor::block_on;
use rusqlite::Connection;

use super::*;
use crate::support::folder::{Folder, url};
use crate::support::items::*;
use crate::support::rules;

/// "abid" in ASCII.
const APPLICATION_ID: i64 = 0x6162_6964;

const SCHEMA: &str = include_str!("../../../migrations/0001_create_tables.sql");

/// Instances in every situation, each with a visible message, and work of every kind.
const ROWS: &str = r#"
    UPDATE counter SET number = 100, mailbox = 20;
    INSERT INTO mailbox (no, id, execution, last_event, status, pin, name, version, created_at, updated_at, ready) VALUES
        (1, 'runs',      1, 1, 'Running',        '0.2.0', 'Order', '1.0.0', 1, 1, 1),
        (2, 'ended',     1, 1, 'Completed',      '0.2.0', 'Gone',  '1.0.0', 1, 1, 2),
        (3, 'continues', 1, 1, 'ContinuedAsNew', '0.2.0', 'Gone',  '1.0.0', 1, 1, 3),
        (4, 'new',       0, 0, '',               '',      '',      'unknown', 0, 0, 4),
        (5, 'any',       0, 0, '',               '',      '',      'unknown', 0, 0, 5),
        (6, 'canceled',  1, 1, 'Running',        '0.2.0', 'Gone',  '1.0.0', 1, 1, 6),
        (7, 'crashed',   1, 1, 'Running',        '0.2.0', 'Order', '1.0.0', 1, 1, 7),
        (8, 'damaged',   0, 0, '',               '',      '',      'unknown', 0, 0, 8),
        (9, 'idle',      1, 1, 'Running',        '0.2.0', 'Order', '1.0.0', 1, 1, NULL);
    INSERT INTO execution (mailbox, no, status, pin, started_at, completed_at)
    SELECT no, 1, status, pin, 1, iif(status = 'Running', NULL, 1) FROM mailbox WHERE execution > 0;
    INSERT INTO turn (mailbox, execution, first_event, last_event, length, events)
    SELECT no, 1, 1, 1, 0, '[]' FROM mailbox WHERE execution > 0;
    INSERT INTO message (mailbox, visible_at, no, class, attempts, item) VALUES
        (1, 0, 1, 0, 0, '{"ExternalRaised":{"instance":"runs","name":"go","data":""}}'),
        (2, 0, 2, 0, 0, '{"ExternalRaised":{"instance":"ended","name":"go","data":""}}'),
        (3, 0, 3, 2, 0, '{"ContinueAsNew":{"instance":"continues","orchestration":"Order","input":"","version":"1.0.0",
            "carry_forward_events":[]}}'),
        (4, 0, 4, 1, 0, '{"StartOrchestration":{"instance":"new","orchestration":"Order","input":"","version":"1.0.0",
            "parent_instance":null,"parent_id":null,"execution_id":1}}'),
        (5, 0, 5, 1, 0, '{"StartOrchestration":{"instance":"any","orchestration":"Order","input":"","version":null,
            "parent_instance":null,"parent_id":null,"execution_id":1}}'),
        (6, 0, 6, 0, 0, '{"CancelInstance":{"instance":"canceled","reason":"old"}}'),
        (7, 0, 7, 0, 3, '{"ExternalRaised":{"instance":"crashed","name":"go","data":""}}'),
        (8, 0, 8, 1, 0, '{"StartOrch');
    INSERT INTO session (name, owner, locked_until, last_active_at, held) VALUES ('s', 'me', 9000000000000000, 1, 1);
    INSERT INTO work (mailbox, execution, activity, no, tag, session, attempts, item) VALUES
        (9, 1, 11, 11, '',     NULL, 0, '{"ActivityExecute":{"instance":"idle","execution_id":1,"id":11,"name":"charge",
            "input":"","session_id":null,"tag":null}}'),
        (9, 1, 12, 12, '=gpu', NULL, 0, '{"ActivityExecute":{"instance":"idle","execution_id":1,"id":12,"name":"charge",
            "input":"","session_id":null,"tag":"gpu"}}'),
        (9, 1, 13, 13, '',     's',  0, '{"ActivityExecute":{"instance":"idle","execution_id":1,"id":13,"name":"charge",
            "input":"","session_id":"s","tag":null}}'),
        (9, 1, 14, 14, '',     's',  0, '{"ActivityExecute":{"instance":"idle","execution_id":1,"id":14,"name":"ship",
            "input":"","session_id":"s","tag":null}}'),
        (9, 1, 15, 15, '',     NULL, 3, '{"ActivityExecute":{"instance":"idle","execution_id":1,"id":15,"name":"charge",
            "input":"","session_id":null,"tag":null}}'),
        (9, 1, 16, 16, '',     NULL, 0, '{"ActivityExec');
    INSERT INTO lane (session, tag, holder, head) VALUES ('s', '', '=me', 13);
"#;

fn opened() -> (Folder, SqliteProvider) {
    let folder = Folder::new("version-one");
    let path = database_in(&folder);
    let file = Connection::open(&path).unwrap();
    file.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
    file.execute_batch(SCHEMA).unwrap();
    file.execute_batch(ROWS).unwrap();
    file.pragma_update(None, "user_version", 1).unwrap();
    drop(file);
    let provider = block_on(SqliteProvider::new(&url(&path), None)).unwrap();
    (folder, provider)
}

#[test]
fn tables_of_version_one_agree_after_the_migration() {
    let (_folder, provider) = opened();
    let contradictions = block_on(provider.inspect(|connection| rules::contradictions(connection, 1)));
    assert_eq!(contradictions.unwrap().unwrap(), Vec::<String>::new());
}

#[test]
fn instances_of_version_one_go_to_nodes_that_have_their_code() {
    let (_folder, provider) = opened();
    let lease = |serving: &Serving| {
        let leased = block_on(provider.lease_instances(instances_of(serving))).unwrap();
        names(&leased).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let busy = |serving: Serving| Serving { takes_suspect: false, ..serving };
    // What needs no code, a cancel of what nobody has the code for, and a start that turns out to be unreadable.
    assert_eq!(lease(&busy(node("b1", &["Refund"], &[]))), ["ended", "canceled"]);
    assert_eq!(lease(&busy(node("b1", &["Order"], &[]))), ["runs", "continues", "new", "any"]);
    assert_eq!(lease(&node("b1", &["Order"], &[])), ["crashed"]);
}

#[test]
fn work_of_version_one_goes_to_nodes_that_have_it() {
    let (_folder, provider) = opened();
    let lease = |serving: Serving| {
        let leased = block_on(provider.lease_work(work_of(&serving))).unwrap();
        activities(&leased)
    };
    let busy = |serving: Serving| Serving { takes_suspect: false, ..serving };
    assert_eq!(lease(busy(node("b1", &[], &["nothing"]))), Vec::<u64>::new());
    assert_eq!(lease(busy(node("b1", &[], &["ship"]))), [14]);
    assert_eq!(lease(busy(node("b1", &[], &["charge"]))), [11, 13]);
    assert_eq!(lease(node("b1", &[], &["charge"])), [15]);
}
