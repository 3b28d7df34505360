//! Whether the checker would notice: sound evidence passes, and damage of every kind does not.

use std::path::Path;

use abide_sqlite::SqliteProvider;
use futures::executor::block_on;
use rusqlite::Connection;

use super::evidence::Evidence;
use super::plan;
use crate::support::folder::{Folder, url};
use crate::support::load::Load;
use crate::support::process::{Journal, Lines};

/// A file with chains that have ended.
fn prepare(folder: &Folder) -> Vec<String> {
    let path = folder.file("sound.db");
    let journal = Journal::append_to(&folder.file("journal"));
    let store = block_on(SqliteProvider::new(&url(&path), None)).unwrap();
    block_on(Load::new(&store, &journal, plan(7, 3)).run());
    drop(store);
    Lines::of(&folder.file("journal")).all()
}

fn passes(path: &Path, journal: &[String]) -> bool {
    Evidence::read(path).whole().holds(journal).finished().problems().is_empty()
}

#[test]
fn damage_is_noticed() {
    let folder = Folder::new("doubts");
    let journal = prepare(&folder);
    let sound = folder.file("sound.db");
    assert!(passes(&sound, &journal), "nothing is wrong with it");
    for line in ["start nobody", "turn chain-7-0 99", "done chain-7-0 98", "mail lost", "bad anything"] {
        let more: Vec<String> = journal.iter().cloned().chain([line.to_owned()]).collect();
        assert!(!passes(&sound, &more), "{line}");
    }
    for damage in [
        "DELETE FROM turn WHERE no = (SELECT max(no) FROM turn)",
        "DELETE FROM turn WHERE no = (SELECT min(no) FROM turn)",
        "DELETE FROM message WHERE no = (SELECT max(no) FROM message)",
        "DELETE FROM mailbox WHERE id = 'chain-7-1'",
        "UPDATE mailbox SET last_event = last_event - 1 WHERE id = 'chain-7-1'",
        "UPDATE mailbox SET status = 'Running' WHERE id = 'chain-7-1'",
        "UPDATE kv_store SET value = 3 WHERE mailbox = (SELECT no FROM mailbox WHERE id = 'chain-7-1')",
        "DELETE FROM kv_delta",
        "INSERT INTO message SELECT mailbox, visible_at, no + 1000, class, execution, event, parent, attempts, item, expires_at \
         FROM message LIMIT 1",
        "INSERT INTO work (mailbox, execution, activity, no, tag, item) \
         SELECT no, 1, 3, 9999, '', '{}' FROM mailbox WHERE id = 'chain-7-1'",
    ] {
        let path = folder.file("damaged.db");
        std::fs::copy(&sound, &path).unwrap();
        let changed = Connection::open(&path).unwrap().execute(damage, []).unwrap();
        assert!(changed > 0, "{damage}");
        assert!(!passes(&path, &journal), "{damage}");
    }
}
