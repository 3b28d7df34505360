//! An instance with very many executions or queued activities, and what is left of it in the store.

use std::sync::Mutex;

use abide::providers::{Provider, WorkItem};
use futures::executor::block_on;
use rusqlite::{Connection, OpenFlags};

use super::LARGE;
use crate::support::site::Site;
use crate::support::wait::until;

/// A number that the store gives to no other mailbox.
const MAILBOX: u64 = 1_000_000_000;

/// The tables that have rows by the number of a mailbox.
const TABLES: [&str; 6] = ["turn", "execution", "message", "work", "kv_store", "kv_delta"];

/// The executions and activities of one large instance, written by statements of the test.
pub(super) struct Past<'site> {
    site: &'site Site,
    file: Option<Mutex<Connection>>,
    mailbox: u64,
    executions: u64,
}

impl<'site> Past<'site> {
    /// Writes the instance [`LARGE`] with so many executions, which have a turn each. `round` tells the instances of a
    /// test apart.
    pub(super) fn put(site: &'site Site, round: u64, executions: u64) -> Self {
        // Creates the tables.
        drop(site.client());
        let file = site.db();
        let file = file.exists().then(|| Mutex::new(open(&file)));
        let past = Self { site, file, mailbox: MAILBOX + round, executions };
        past.run(&past.statements());
        past
    }

    /// Queues so many activities of the running instance [`LARGE`], which no node serves.
    pub(super) fn queue(site: &'site Site, store: &dyn Provider, activities: u64) -> Self {
        let activity = WorkItem::ActivityExecute {
            instance: LARGE.to_owned(),
            execution_id: 1,
            id: 2,
            name: "Unserved".to_owned(),
            input: String::new(),
            session_id: None,
            tag: None,
        };
        block_on(store.enqueue_for_worker(activity)).unwrap();
        let file = site.db();
        let file = file.exists().then(|| Mutex::new(open(&file)));
        let mut past = Self { site, file, mailbox: 0, executions: 1 };
        let mailbox = past.number(&format!("SELECT no FROM abide.mailbox WHERE id = '{LARGE}'"));
        past.mailbox = u64::try_from(mailbox).unwrap();
        let counted = past.counted(activities - 1);
        let [columns, values] = if past.file.is_some() {
            [
                "mailbox, execution, activity, no, tag, route, item",
                "w.mailbox, 1, 2 + i, w.no + i, w.tag, w.route, w.item",
            ]
        } else {
            ["mailbox, execution, activity, tag, route, item", "w.mailbox, 1, 2 + i, w.tag, w.route, w.item"]
        };
        past.run(&[format!(
            "INSERT INTO abide.work ({columns})
             SELECT {values} FROM abide.work AS w, {counted} AS counted WHERE w.mailbox = {mailbox}"
        )]);
        past
    }

    fn run(&self, statements: &[String]) {
        if let Some(file) = &self.file {
            let file = file.lock().unwrap();
            let statements = statements.join(";").replace("abide.", "main.");
            file.execute_batch(&format!("BEGIN; {statements}; COMMIT")).unwrap();
            file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
            return;
        }
        let database = self.site.database();
        for statement in statements {
            database.rows(statement, &[]);
        }
        for table in TABLES {
            database.rows(&format!("VACUUM (ANALYZE) abide.{table}"), &[]);
        }
        database.rows("CHECKPOINT", &[]);
    }

    /// The numbers from 1 to this one, as a table with the column `i`.
    fn counted(&self, last: u64) -> String {
        if self.file.is_some() {
            let first = "SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i <";
            format!("(WITH RECURSIVE c (i) AS ({first} {last}) SELECT i FROM c)")
        } else {
            format!("(SELECT i FROM generate_series(1, {last}) AS s (i))")
        }
    }

    fn statements(&self) -> Vec<String> {
        let (mailbox, last) = (self.mailbox, self.executions);
        let columns = "no, id, execution, last_event, status";
        let values = format!("{mailbox}, '{LARGE}', {last}, 2, 'Completed'");
        let ended = format!("CASE WHEN i = {last} THEN 'Completed' ELSE 'ContinuedAsNew' END");
        // As long as the events of an execution that starts and continues as new.
        let events = format!("[{}]", "\"event\",".repeat(64).trim_end_matches(','));
        let counted = self.counted(last);
        let mut statements = vec![
            format!(
                "INSERT INTO abide.execution (mailbox, no, status, started_at, completed_at)
                 SELECT {mailbox}, i, {ended}, i, i FROM {counted} AS counted"
            ),
            format!(
                "INSERT INTO abide.turn (mailbox, execution, first_event, last_event, length, events)
                 SELECT {mailbox}, i, 1, 2, 2, '{events}' FROM {counted} AS counted"
            ),
        ];
        if self.file.is_some() {
            statements.push(format!("INSERT INTO abide.mailbox ({columns}, name) VALUES ({values}, 'Past')"));
        } else {
            statements.push(format!("INSERT INTO abide.mailbox ({columns}) VALUES ({values})"));
            statements.push(format!(
                "INSERT INTO abide.instance (no, id, name, status, created_at, completed_at, has_past)
                 VALUES ({mailbox}, '{LARGE}', 'Past', 'Completed', 1, 1, true)"
            ));
        }
        statements
    }

    /// How many rows its executions had.
    pub(super) fn rows(&self) -> i64 {
        i64::try_from(2 * self.executions).unwrap()
    }

    /// How many of its rows are left.
    pub(super) fn rows_left(&self) -> i64 {
        let mailbox = self.mailbox;
        let counts =
            TABLES.map(|table| format!("(SELECT count(*) FROM abide.{table} WHERE mailbox = {mailbox})"));
        self.number(&format!("SELECT {}", counts.join(" + ")))
    }

    /// Whether rows of a deleted instance are still to be removed.
    pub(super) fn is_being_removed(&self) -> bool {
        self.number("SELECT count(*) FROM abide.tombstone") > 0
    }

    /// Waits until nothing of it is left. The removal must make progress all the time.
    pub(super) fn wait_until_removed(&self) {
        while self.is_being_removed() {
            let left = self.rows_left();
            until("the removal to make progress", || {
                (!self.is_being_removed() || self.rows_left() < left).then_some(())
            });
        }
        assert_eq!(self.rows_left(), 0);
        let dead = TABLES.map(|table| {
            format!(
                "(SELECT count(*) FROM abide.{table} WHERE mailbox NOT IN (SELECT no FROM abide.mailbox))"
            )
        });
        assert_eq!(self.number(&format!("SELECT {}", dead.join(" + "))), 0, "rows without a mailbox");
    }

    fn number(&self, query: &str) -> i64 {
        match &self.file {
            Some(file) => {
                let query = query.replace("abide.", "main.");
                file.lock().unwrap().query_row(&query, [], |row| row.get(0)).unwrap()
            }
            None => self.site.database().number(query),
        }
    }
}

fn open(file: &std::path::Path) -> Connection {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
    connection.busy_timeout(crate::support::wait::PATIENCE).unwrap();
    connection
}
