//! A schema of one's own on a PostgreSQL server; gone when the test is, also if it panics.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide::seams::Entropy as _;
use abide_chaos::store::Store;
use abide_host::SystemEntropy;
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Row};

use super::cpu;
use super::rules::contradictions;
use super::wait::{now_ms, until};

/// What must be empty once everything has ended and every process is gone.
const EMPTY: [(&str, &str); 5] = [
    ("messages", "SELECT count(*) FROM abide.message"),
    ("work", "SELECT count(*) FROM abide.work"),
    ("dead letters", "SELECT count(*) FROM abide.dead_letter"),
    ("leased mailboxes", "SELECT count(*) FROM abide.mailbox WHERE lease IS NOT NULL"),
    ("lanes", "SELECT count(*) FROM abide.lane WHERE head IS NOT NULL"),
];

const DEADLOCKS: &str = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";

/// A schema, and a connection of the test's own to its server.
pub(crate) struct Database {
    url: String,
    schema: String,
    /// Opened when it is needed: servers are restarted.
    client: Mutex<Option<Client>>,
    /// What moves the bytes of that connection.
    runtime: Runtime,
    deadlocks_before: i64,
}

/// Whose connection is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victim {
    Anybody,
    Listener,
}

impl Database {
    /// On the server that all tests share; `None` if there is none, and the test is to be skipped.
    pub(crate) fn shared() -> Option<Self> {
        abide_throwaway::shared().map(|url| Self::at(&url))
    }

    /// A schema that does not exist yet, of the database with this URL.
    pub(crate) fn at(url: &str) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let (chance, count) = (SystemEntropy.next_u64() >> 32, COUNT.fetch_add(1, Ordering::Relaxed));
        let schema = format!("chaos_{}_{count}_{chance:08x}", std::process::id());
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (url, client) = (url.to_owned(), Mutex::default());
        let mut database = Self { url, schema, client, runtime, deadlocks_before: 0 };
        database.deadlocks_before = database.number(DEADLOCKS);
        database
    }

    /// How a worker or a client gets there, by this URL.
    pub(crate) fn store(&self, url: &str) -> Store {
        Store::Schema { url: url.to_owned(), schema: self.schema.clone() }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Rows in answer to a query that says `abide.` for this schema.
    pub(crate) fn rows(&self, query: &str, values: &[&(dyn ToSql + Sync)]) -> Vec<Row> {
        let mut client = self.client.lock().unwrap();
        let open = client.take().filter(|client| !client.is_closed());
        let open = open.unwrap_or_else(|| self.runtime.block_on(connect(&self.url)));
        let query = query.replace("abide.", &format!("{}.", self.schema));
        let rows = self.runtime.block_on(open.query(&query, values)).unwrap();
        *client = Some(open);
        rows
    }

    /// The first column of the first row.
    pub(crate) fn number(&self, query: &str) -> i64 {
        self.rows(query, &[])[0].get(0)
    }

    /// Whether the server lets somebody in.
    pub(crate) fn answers(&self) -> bool {
        self.runtime.block_on(async {
            let Ok((client, connection)) = tokio_postgres::connect(&self.url, NoTls).await else {
                return false;
            };
            let _moves = tokio::runtime::Handle::current().spawn(connection);
            client.simple_query("SELECT").await.is_ok()
        })
    }

    /// How long its server has computed, for all of its databases.
    pub(crate) fn server_cpu_time(&self) -> Duration {
        let own = self.rows("SELECT pg_backend_pid()", &[])[0].get::<_, i32>(0);
        cpu::of_siblings(u32::try_from(own).unwrap())
    }

    /// How many leases there are on instances and on activities.
    pub(crate) fn leases(&self) -> i64 {
        self.number(
            "SELECT (SELECT count(*) FROM abide.mailbox WHERE lease IS NOT NULL)
                    + (SELECT count(*) FROM abide.work WHERE lease IS NOT NULL)",
        )
    }

    /// Ends some connection of a node, or that on which one listens; says how many, which is none if there is none.
    pub(crate) fn end_some_connection(&self, whose: Victim) -> usize {
        let name = self.connections(match whose {
            Victim::Anybody => "%",
            Victim::Listener => "notices",
        });
        let some =
            "SELECT pid FROM pg_stat_activity WHERE application_name LIKE $1 ORDER BY random() LIMIT 1";
        let end = format!("SELECT pg_terminate_backend(pid) FROM ({some}) AS victim");
        self.rows(&end, &[&name]).iter().filter(|row| row.get(0)).count()
    }

    /// What the nodes' connections for this purpose are called, as a pattern.
    fn connections(&self, purpose: &str) -> String {
        format!("abide {} {purpose}", self.schema).replace('_', "\\_")
    }

    /// How many transactions made something in this schema.
    pub(crate) fn makers_of_the_schema(&self) -> i64 {
        let space = format!("'{}'::regnamespace", self.schema);
        self.number(&format!(
            "SELECT count(DISTINCT maker) FROM (
                 SELECT xmin::text AS maker FROM pg_proc WHERE pronamespace = {space}
                 UNION ALL SELECT xmin::text FROM pg_type WHERE typnamespace = {space}
                 UNION ALL SELECT xmin::text FROM abide.migration
             ) AS made"
        ))
    }

    /// What is wrong with a schema that nobody uses any more and in which everything has ended.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let mut found = contradictions(self, now_ms());
        for (what, query) in EMPTY {
            let count = self.number(query);
            if count != 0 {
                found.push(format!("there are {count} {what}"));
            }
        }
        found.extend(self.complaints_about_connections());
        found
    }

    /// How many connections of the nodes are in the middle of a transaction, and do nothing in it. No node ever does that.
    pub(crate) fn forgotten_transactions(&self) -> usize {
        let open = "SELECT FROM pg_stat_activity WHERE application_name LIKE $1 AND state LIKE 'idle in transaction%'";
        self.rows(open, &[&self.connections("%")]).len()
    }

    /// What the nodes' connections should not have done. Whoever was killed may be listed for a moment.
    pub(crate) fn complaints_about_connections(&self) -> Vec<String> {
        until("the transactions of the nodes to be over", || {
            (self.forgotten_transactions() == 0).then_some(())
        });
        let deadlocks = self.number(DEADLOCKS);
        // A server that crashed counts from zero again.
        let is_fine = deadlocks == 0 || deadlocks == self.deadlocks_before;
        if is_fine { Vec::new() } else { vec![format!("there were {deadlocks} deadlocks")] }
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if std::thread::panicking() && std::env::var_os("ABIDE_KEEP").is_some() {
            eprintln!("schema {} is kept", self.schema);
            return;
        }
        let drop_schema =
            format!("SET client_min_messages = error; DROP SCHEMA IF EXISTS {} CASCADE", self.schema);
        let dropped = self.runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&self.url, NoTls).await?;
            let _moves = tokio::runtime::Handle::current().spawn(connection);
            client.batch_execute(&drop_schema).await
        });
        if let Err(error) = dropped {
            eprintln!("schema {} stays behind: {error}", self.schema);
        }
    }
}

async fn connect(url: &str) -> Client {
    let (client, connection) =
        tokio_postgres::connect(url, NoTls).await.expect("the server of the test answers");
    let _moves = tokio::runtime::Handle::current().spawn(connection);
    client
}
