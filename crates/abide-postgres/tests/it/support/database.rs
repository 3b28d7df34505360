//! A schema of one's own, on the server that all tests share; gone when the test is, also if it panics.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use abide_host::{SystemClock, SystemEntropy};
use abide_model::Entropy as _;
use abide_postgres::{PostgresBuilder, PostgresProvider};
use futures::channel::oneshot;
use futures::executor::block_on;
use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Row, SimpleQueryMessage, Statement};

/// Every table that a store fills, apart from routes: those are never removed, and stores know them by their numbers.
const TABLES: [&str; 15] = [
    "instance",
    "mailbox",
    "execution",
    "turn",
    "message",
    "work",
    "session",
    "lane",
    "kv_store",
    "kv_delta",
    "request",
    "dead_letter",
    "tombstone",
    "block",
    "node",
];

/// A schema, and a connection of the test's own to it.
pub(crate) struct Database {
    url: String,
    schema: String,
    client: Client,
    emptied: AtomicU64,
    is_analysed: AtomicBool,
    /// Statements are sent again and again: each is prepared once.
    prepared: Mutex<BTreeMap<String, Statement>>,
    _background: Background,
}

impl Database {
    /// A schema that does not exist yet; `None` if there is no server, and the test is to be skipped.
    pub(crate) fn new() -> Option<Self> {
        abide_throwaway::shared().map(Self::at)
    }

    /// The same on a server of one's own.
    pub(crate) fn at(url: String) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let (chance, count) = (SystemEntropy.next_u64(), COUNT.fetch_add(1, Ordering::Relaxed));
        let schema = format!("test_{}_{count}_{chance:08x}", std::process::id());
        let background = Background::new();
        let client = background.connect(&url);
        let (emptied, is_analysed, prepared) = (AtomicU64::new(0), AtomicBool::new(false), Mutex::default());
        Self { url, schema, client, emptied, is_analysed, prepared, _background: background }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn schema(&self) -> &str {
        &self.schema
    }

    pub(crate) fn builder(&self) -> PostgresBuilder {
        PostgresProvider::builder(&self.url).schema(&self.schema).clock(Arc::new(SystemClock::new()))
    }

    /// A store in this schema.
    pub(crate) fn open(&self) -> PostgresProvider {
        block_on(self.builder().open()).unwrap()
    }

    /// From now on the store's clock is a number that the test sets. The store must have been opened once.
    pub(crate) fn stop_clock(&self, now: u64) {
        self.run("CREATE SEQUENCE IF NOT EXISTS abide.test_clock MINVALUE 0");
        self.set_clock(now);
        self.run(
            "CREATE OR REPLACE FUNCTION abide.now() RETURNS bigint LANGUAGE sql VOLATILE AS
             $$ SELECT last_value FROM abide.test_clock $$",
        );
    }

    /// From now on what is alone is done as for many. The store must have been opened once.
    pub(crate) fn do_one_as_many(&self) {
        self.commit_one_as_many();
        self.run(
            "CREATE OR REPLACE FUNCTION abide.start_one(
                 p_message abide.new_message, p_delay_ms bigint, p_key bytea, p_only_once boolean, p_offer abide.instance_offer,
                 OUT outcomes text[], OUT wakes bigint[], OUT due_at bigint,
                 OUT now bigint, OUT instance_leases abide.instance_lease[], OUT messages abide.leased_message[]
             ) LANGUAGE sql AS $$
                 SELECT e.outcomes, e.wakes, e.due_at, e.now, e.instance_leases, e.messages
                 FROM abide.enqueue_messages(
                     ARRAY[p_message], ARRAY[p_delay_ms], ARRAY[p_key], ARRAY[p_only_once], p_offer) AS e
             $$",
        );
    }

    /// A turn that is alone is committed as many are.
    fn commit_one_as_many(&self) {
        self.run(
            "CREATE OR REPLACE FUNCTION abide.commit_one(
                 p_turn abide.new_turn, p_work abide.new_work[], p_messages abide.new_message[], p_node bigint,
                 p_instance_offer abide.instance_offer, p_work_offer abide.work_offer,
                 OUT outcome text, OUT instance text, OUT was_running boolean, OUT wakes bigint[], OUT due_at bigint, OUT routes bigint[],
                 OUT now bigint, OUT instance_leases abide.instance_lease[], OUT messages abide.leased_message[],
                 OUT work_leases abide.work_lease[], OUT last_work bigint
             ) LANGUAGE sql AS $$
                 SELECT c.outcomes[1], c.instances[1], c.was_running[1], c.wakes, c.due_at, c.routes, c.now, c.instance_leases, c.messages,
                        c.work_leases, c.last_work
                 FROM abide.commit_turns(
                     ARRAY[p_turn], p_work, '{}', p_messages,
                     ROW (ARRAY[p_turn.mailbox], '{}', '{}', array_remove(ARRAY[p_turn.work], NULL), p_node, false, true, false, true,
                          true)::abide.outline,
                     p_instance_offer, p_work_offer) AS c
             $$",
        );
    }

    pub(crate) fn set_clock(&self, now: u64) {
        let now = i64::try_from(now).unwrap();
        self.rows("SELECT setval('abide.test_clock', $1)", &[&now]);
    }

    /// Empties every table.
    pub(crate) fn empty(&self) {
        // Quick where there is little; what is deleted stays on the disk for a while, so now and then for good.
        if self.emptied.fetch_add(1, Ordering::Relaxed).is_multiple_of(32) {
            self.empty_for_good();
            if self.is_analysed.load(Ordering::Relaxed) {
                self.analyse();
            }
        } else {
            self.insist(&TABLES.map(|table| format!("DELETE FROM abide.{table};")).concat());
        }
    }

    /// The same, with nothing left on the disk either.
    pub(crate) fn empty_for_good(&self) {
        self.insist(&format!("TRUNCATE {}", TABLES.map(|table| format!("abide.{table}")).join(", ")));
    }

    /// Lets the server look at what the tables hold; it plans by that, also when they were emptied since.
    pub(crate) fn analyse(&self) {
        self.run(&TABLES.map(|table| format!("ANALYZE abide.{table};")).concat());
        self.is_analysed.store(true, Ordering::Relaxed);
    }

    /// The server does not look at them by itself.
    pub(crate) fn leave_alone(&self) {
        let all = TABLES.map(|table| format!("ALTER TABLE abide.{table} SET (autovacuum_enabled = off);"));
        self.run(&all.concat());
    }

    fn insist(&self, statements: &str) {
        let statements = self.text(statements);
        // A call that its caller has forgotten may still be under way. Whoever gives up this soon is in no deadlock.
        self.run("SET lock_timeout = '50ms'");
        while let Err(error) = block_on(self.client.batch_execute(&statements)) {
            assert_eq!(error.code(), Some(&SqlState::LOCK_NOT_AVAILABLE), "{error:?}");
        }
        self.run("RESET lock_timeout");
    }

    /// A statement that says `abide.` for this schema.
    pub(crate) fn text(&self, statement: &str) -> String {
        statement.replace("abide.", &format!("{}.", self.schema))
    }

    /// Statements without values.
    pub(crate) fn run(&self, statements: &str) {
        block_on(self.client.batch_execute(&self.text(statements))).unwrap();
    }

    pub(crate) fn rows(&self, statement: &str, values: &[&(dyn ToSql + Sync)]) -> Vec<Row> {
        let statement = self.prepare(statement);
        block_on(self.client.query(&statement, values)).unwrap()
    }

    fn prepare(&self, statement: &str) -> Statement {
        let mut prepared = self.prepared.lock().unwrap();
        if let Some(known) = prepared.get(statement) {
            return known.clone();
        }
        let new = block_on(self.client.prepare(&self.text(statement))).unwrap();
        prepared.insert(statement.to_owned(), new.clone());
        new
    }

    /// Changes rows behind the store's back.
    pub(crate) fn damage(&self, statement: &str, values: &[&(dyn ToSql + Sync)]) -> u64 {
        block_on(self.client.execute(&self.text(statement), values)).unwrap()
    }

    /// Waits until the server does nothing more for nodes of this schema, also nothing that its caller has forgotten.
    pub(crate) fn come_to_rest(&self) {
        let busy = "SELECT count(*) FROM pg_stat_activity WHERE starts_with(application_name, $1) AND state <> 'idle'";
        let nodes = format!("abide {} ", self.schema);
        wait_until(|| self.rows(busy, &[&nodes])[0].get::<_, i64>(0) == 0);
    }

    /// Ends the connections on which nodes of this schema listen.
    pub(crate) fn cut_listeners(&self) {
        self.cut(&self.listeners());
    }

    /// Ends these sessions.
    pub(crate) fn cut(&self, sessions: &BTreeSet<i32>) {
        assert!(!sessions.is_empty(), "nobody listens");
        for session in sessions {
            self.rows("SELECT pg_terminate_backend($1)", &[session]);
        }
    }

    /// The sessions in which nodes of this schema listen.
    pub(crate) fn listeners(&self) -> BTreeSet<i32> {
        let query = "SELECT pid FROM pg_stat_activity WHERE application_name = $1";
        self.rows(query, &[&self.listener_name()]).iter().map(|row| row.get(0)).collect()
    }

    /// From now on what nodes of this schema tell each other waits until it is let go.
    pub(crate) fn hold_notices(&self) {
        let barrier = self.barrier();
        self.run(&format!(
            "SELECT pg_advisory_lock({barrier});
             CREATE OR REPLACE FUNCTION abide.tell(p_channel text, p_notices text[]) RETURNS void LANGUAGE plpgsql AS $$
             BEGIN
                 PERFORM pg_advisory_xact_lock_shared({barrier});
                 PERFORM pg_notify(p_channel, n) FROM unnest(p_notices) AS n;
             END $$"
        ));
    }

    /// How many nodes have something to tell that waits.
    pub(crate) fn held_notices(&self) -> i64 {
        let query = "SELECT count(*) FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid)
                     WHERE a.application_name = $1 AND l.locktype = 'advisory' AND NOT l.granted";
        self.rows(query, &[&self.listener_name()])[0].get(0)
    }

    pub(crate) fn let_notices_go(&self) {
        self.run(&format!("SELECT pg_advisory_unlock({})", self.barrier()));
    }

    /// A lock of the tests of this schema.
    fn barrier(&self) -> String {
        format!("hashtextextended('barrier of {}', 0)", self.schema)
    }

    fn listener_name(&self) -> String {
        format!("abide {} notices", self.schema)
    }

    /// How many pages of tables and indexes the server looks at for a statement, and for everything that it calls.
    pub(crate) fn pages(&self, statement: &str) -> i64 {
        let explain = self.text(&format!("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}"));
        let messages = block_on(self.client.simple_query(&explain)).unwrap();
        let lines = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0).map(ToOwned::to_owned),
            SimpleQueryMessage::CommandComplete(_) | SimpleQueryMessage::RowDescription(_) | _ => None,
        });
        let json: serde_json::Value = serde_json::from_str(&lines.collect::<String>()).unwrap();
        let count = |name: &str| json[0]["Plan"][name].as_i64().unwrap();
        count("Shared Hit Blocks") + count("Shared Read Blocks")
    }

    /// The first column of the first row.
    pub(crate) fn number(&self, query: &str) -> i64 {
        self.rows(query, &[])[0].get(0)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // Stores of this schema may still be there. None stays in the middle of a transaction, and does nothing; one that was not opened
        // after all may be on its way out.
        let name = format!("abide {} %", self.schema);
        let forgotten = "SELECT FROM pg_stat_activity WHERE application_name LIKE $1 AND state LIKE 'idle in transaction%'";
        let is_clean =
            || block_on(self.client.query(forgotten, &[&name])).map_or(true, |rows| rows.is_empty());
        if !std::thread::panicking() {
            wait_until(is_clean);
        }
        let drop_schema =
            format!("SET client_min_messages = error; DROP SCHEMA IF EXISTS {} CASCADE", self.schema);
        if let Err(error) = block_on(self.client.batch_execute(&drop_schema)) {
            eprintln!("schema {} stays behind: {error:?}", self.schema);
        }
    }
}

/// A thread that moves the bytes of a connection, and can be left anywhere.
struct Background(Option<Runtime>);

impl Background {
    fn new() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        Self(Some(runtime))
    }

    /// The answers of this connection can be waited for on any thread, also on one of an executor.
    fn connect(&self, url: &str) -> Client {
        let (reply, answer) = oneshot::channel();
        let url = url.to_owned();
        self.0.as_ref().expect("it is there until it is dropped").spawn(async move {
            let connected = tokio_postgres::connect(&url, NoTls).await;
            let (client, connection) = connected.expect("the server of the tests answers");
            reply.send(client).expect("it is waited for");
            if let Err(error) = connection.await {
                eprintln!("the connection of a test ended: {error}");
            }
        });
        block_on(answer).expect("the server of the tests answers")
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Looks again and again until something holds; a minute is more than anything here takes.
#[expect(clippy::disallowed_methods, reason = "a condition that only looking can show")]
pub(crate) fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..12_000 {
        if condition() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("it did not come about within a minute");
}
