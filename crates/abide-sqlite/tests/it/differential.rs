//! This store against the reference model: the same random calls to both, compared after each.
//!
//! Most sequences run in memory, which is quick; every so-manieth on a file, whose process ends now and then. How many run,
//! and from which seed on, can be set: see [`abide_differential`].

use std::sync::Arc;

use abide_differential::{Damage, Reopening, Sight, Subject, agrees_with_the_model, crowded, directed};
use abide_model::Timestamp;
use abide_provider::Provider;
use abide_sqlite::{Durability, SqliteProvider};
use futures::executor::block_on;

use crate::support::clock::{ManualClock, SeededEntropy};
use crate::support::dump::read_dump;
use crate::support::folder::{Folder, url};
use crate::support::rules;
use crate::support::store::database_in;

/// How many sequences run if nobody says otherwise.
const SEQUENCES: u64 = 400;

/// Every so-manieth seed is for a file.
const ON_FILE: u64 = 10;

/// A database in memory or on a file, and then another.
#[derive(Default)]
struct Sqlite(Option<Opened>);

struct Opened {
    // Closed before its folder is removed; missing only while it is opened again.
    provider: Option<SqliteProvider>,
    clock: ManualClock,
    entropy: Arc<SeededEntropy>,
    folder: Option<Folder>,
    removal_rows: u32,
}

impl Opened {
    fn open(&mut self) {
        let url = self.folder.as_ref().map(|folder| url(&database_in(folder)));
        let builder = SqliteProvider::builder(url.as_deref().unwrap_or("sqlite::memory:"))
            .durability(Durability::Normal)
            .clock(Arc::new(self.clock.clone()))
            .entropy(Arc::<SeededEntropy>::clone(&self.entropy))
            .removal_rows(self.removal_rows);
        self.provider = Some(block_on(builder.open()).unwrap());
    }
}

impl Sqlite {
    fn opened(&self) -> &Opened {
        self.0.as_ref().expect("it was opened")
    }

    fn store(&self) -> &SqliteProvider {
        self.opened().provider.as_ref().expect("it is open")
    }
}

impl Subject for Sqlite {
    fn name(&self) -> &'static str {
        "SQLite"
    }

    fn open(&mut self, seed: u64, now: Timestamp) {
        self.0 = None;
        let opened = self.0.insert(Opened {
            provider: None,
            clock: ManualClock::at(now.as_millis()),
            // Not that of the model: tokens differ.
            entropy: Arc::new(SeededEntropy::new(!seed)),
            folder: seed.is_multiple_of(ON_FILE).then(|| Folder::new("differential")),
            // Every other store removes hardly anything at once: most deletions leave rows for later.
            removal_rows: if seed.is_multiple_of(2) { 2 } else { 2_048 },
        });
        opened.open();
    }

    fn provider(&self) -> &dyn Provider {
        self.store()
    }

    fn set_time(&mut self, now: Timestamp) {
        self.opened().clock.advance_to(now);
    }

    fn look(&mut self, now: Timestamp) -> Result<Sight, String> {
        let now = now.as_millis();
        let looked = block_on(self.store().inspect(move |connection| {
            connection.set_prepared_statement_cache_capacity(64);
            let contradictions = rules::contradictions(connection, now)?;
            Ok::<_, rusqlite::Error>(Sight { dump: read_dump(connection, now)?, contradictions })
        }));
        looked
            .ok_or("what is stored makes no sense: see the panic of the writer")?
            .map_err(|error| format!("a table cannot be read: {error}"))
    }

    fn damage(&mut self, damage: &Damage) {
        let damage = damage.clone();
        let done = block_on(self.store().inspect(move |connection| match damage {
            // The model finds out at once; this store when it looks at the mailbox again, which is made to happen.
            Damage::Message { number } => {
                connection.execute("UPDATE message SET item = '{' WHERE no = ?1", [column(number)]).and_then(
                    |_| {
                        connection.execute(
                            "UPDATE mailbox SET due_at = 1
                         WHERE lease IS NULL AND no = (SELECT mailbox FROM message WHERE no = ?1)",
                            [column(number)],
                        )
                    },
                )
            }
            Damage::Work { number } => damage_work(connection, column(number)),
            // As many events as before, so that they can be counted, and none that can be read.
            Damage::History { instance, execution_id } => connection.execute(
                "UPDATE turn SET events = (SELECT json_group_array(json('{}')) FROM json_each(turn.events))
                 WHERE mailbox = (SELECT no FROM mailbox WHERE id = ?1) AND execution = ?2",
                (instance, column(execution_id)),
            ),
        }));
        done.expect("the writer is alive").unwrap();
        block_on(self.store().nudge());
    }

    fn nudge(&mut self) {
        block_on(self.store().nudge());
    }

    fn reopening(&self) -> Reopening {
        if self.opened().folder.is_some() { Reopening::LeasesEnd } else { Reopening::Never }
    }

    fn reopen(&mut self) {
        let opened = self.0.as_mut().expect("it was opened");
        opened.provider = None;
        opened.open();
    }
}

/// The model takes what cannot be read for everybody's at once; this store when somebody has found out.
fn damage_work(connection: &rusqlite::Connection, number: Option<i64>) -> rusqlite::Result<usize> {
    for statement in [
        "INSERT OR IGNORE INTO work_route (activity, tag, is_suspect)
         SELECT '', tag, 0 FROM work WHERE no = ?1",
        "UPDATE work SET item = '{', route = (SELECT no FROM work_route AS r WHERE r.activity = '' AND r.tag = work.tag)
         WHERE no = ?1",
        "DELETE FROM lane WHERE session IN (SELECT session FROM work WHERE no = ?1)",
        "INSERT INTO lane
         SELECT w.session, w.route, coalesce((SELECT '=' || owner FROM session WHERE name = w.session AND held = 1), ''),
                min(w.no)
         FROM work AS w
         WHERE w.session IN (SELECT session FROM work WHERE no = ?1)
           AND w.visible_at = 0 AND w.lease IS NULL AND w.held_since IS NULL
         GROUP BY w.session, w.route",
    ] {
        connection.execute(statement, [number])?;
    }
    connection.execute("UPDATE counter SET work_route = (SELECT max(no) FROM work_route)", [])
}

/// A number as it would be stored; `NULL`, which is nowhere, if it cannot be.
fn column(number: u64) -> Option<i64> {
    i64::try_from(number).ok()
}

#[test]
fn both_stores_do_the_same() {
    agrees_with_the_model(&mut Sqlite::default(), SEQUENCES);
}

#[test]
fn a_batch_has_so_many_messages_and_no_more() {
    directed::a_batch_has_so_many_messages_and_no_more(&mut Sqlite::default());
}

#[test]
fn a_cancel_comes_ahead_of_mail_that_fills_a_batch() {
    directed::a_cancel_comes_ahead_of_mail_that_fills_a_batch(&mut Sqlite::default());
}

#[test]
fn a_batch_has_so_many_bytes_and_one_message_at_least() {
    directed::a_batch_has_so_many_bytes_and_one_message_at_least(&mut Sqlite::default());
}

#[test]
fn a_call_for_instances_has_so_many_bytes_and_one_lease_at_least() {
    directed::a_call_for_instances_has_so_many_bytes_and_one_lease_at_least(&mut Sqlite::default());
}

#[test]
fn a_call_for_work_has_so_many_bytes_and_one_lease_at_least() {
    directed::a_call_for_work_has_so_many_bytes_and_one_lease_at_least(&mut Sqlite::default());
}

#[test]
fn what_nobody_can_read_is_buried_in_the_end() {
    directed::what_nobody_can_read_is_buried_in_the_end(&mut Sqlite::default());
}

#[test]
fn a_session_is_not_claimed_for_what_nobody_can_read() {
    directed::a_session_is_not_claimed_for_what_nobody_can_read(&mut Sqlite::default());
}

#[test]
fn the_turns_of_a_call_are_judged_one_after_the_other() {
    directed::the_turns_of_a_call_are_judged_one_after_the_other(&mut Sqlite::default());
}

#[test]
fn a_bulk_deletion_looks_behind_those_that_must_stay() {
    crowded::a_bulk_deletion_looks_behind_those_that_must_stay(&mut Sqlite::default());
}

#[test]
fn large_trees_are_deleted_in_several_parts() {
    crowded::large_trees_are_deleted_in_several_parts(&mut Sqlite::default());
}

#[test]
fn orphans_and_executions_are_removed_up_to_a_thousand() {
    crowded::orphans_and_executions_are_removed_up_to_a_thousand(&mut Sqlite::default());
}
