//! A schema on the server that all tests share, for one scenario after the other.
//!
//! Making a schema takes longer than most scenarios. So a few are made, and emptied in between. Each has a number, and belongs to
//! whoever holds the lock of that number on the server. It stays when this process ends, and whoever has the number next removes it
//! first: there are never more than scenarios ran at once, and one that failed can be looked at.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use abide_model::Clock as _;
use abide_postgres::{PostgresBuilder, PostgresProvider};
use abide_provider::Provider;
use abide_sim::{FaultPlan, FaultStore, RequiredOnly, VirtualClock};
use futures::executor::block_on;
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls, Statement};

/// What the locks of rooms have in common.
const LOCKS: i32 = 0x0e2e;

/// Rooms of this process that nobody is in.
static FREE: Mutex<Vec<Arc<Room>>> = Mutex::new(Vec::new());

/// What time it is for the store in a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Time {
    /// What the server says.
    Servers,
    /// What [`Room::set_time`] says.
    Set,
}

/// A schema, and a connection of our own to look into it.
pub(crate) struct Room {
    /// The server.
    url: String,
    schema: String,
    time: Time,
    client: Client,
    /// Statements that empty it.
    empty: String,
    set_time: Option<Statement>,
    set_to: Mutex<Option<i64>>,
    /// What moves the bytes of the connection.
    _runtime: Runtime,
}

/// Who is in a room. It is free again afterwards, unless the scenario failed.
pub(crate) struct Guest(Arc<Room>);

impl Guest {
    /// An empty room; `None` if there is no server, which was said.
    pub(crate) fn enter(time: Time) -> Option<Self> {
        let server = abide_throwaway::shared()?;
        let room = {
            let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
            free.iter().position(|room| room.time == time).map(|place| free.swap_remove(place))
        };
        let room = room.unwrap_or_else(|| Arc::new(Room::claim(&server, time)));
        room.clean();
        Some(Self(room))
    }

    pub(crate) fn room(&self) -> &Arc<Room> {
        &self.0
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            FREE.lock().unwrap_or_else(PoisonError::into_inner).push(self.0.clone());
        }
    }
}

/// Making one, and cleaning it. Not within an async runtime.
impl Room {
    fn claim(server: &str, time: Time) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let client = runtime.block_on(connect(server));
        let number = block_on(first_free_number(&client));
        let mut room = Self {
            url: server.to_owned(),
            schema: format!("e2e_{number}"),
            time,
            client,
            empty: String::new(),
            set_time: None,
            set_to: Mutex::new(None),
            _runtime: runtime,
        };
        block_on(room.furnish());
        room
    }

    async fn furnish(&mut self) {
        let schema = &self.schema;
        self.disconnect_stores().await;
        let begin = format!(
            "SET client_min_messages = error; SET search_path = {schema}; DROP SCHEMA IF EXISTS {schema} CASCADE"
        );
        self.client.batch_execute(&begin).await.unwrap();
        let _creates_it = self.open().await;
        if self.time == Time::Set {
            let stop = format!(
                "CREATE SEQUENCE set_time MINVALUE 0;
                 CREATE OR REPLACE FUNCTION {schema}.now() RETURNS bigint LANGUAGE sql VOLATILE AS
                 $$ SELECT last_value FROM {schema}.set_time $$"
            );
            self.client.batch_execute(&stop).await.unwrap();
            self.set_time = Some(self.client.prepare("SELECT setval('set_time', $1)").await.unwrap());
        }
        // A scenario leaves a few rows: to truncate sixty tables and indexes would take far longer.
        let tables = "SELECT string_agg('DELETE FROM ' || tablename, '; ') FROM pg_tables
                      WHERE schemaname = $1 AND tablename NOT IN ('migration', 'route', 'work_route')";
        self.empty = self.client.query_one(tables, &[&self.schema]).await.unwrap().get(0);
    }

    fn clean(&self) {
        block_on(async {
            // Nobody may write to it any more, nor be in the way.
            self.disconnect_stores().await;
            self.client.batch_execute(&self.empty).await.unwrap();
        });
    }

    async fn disconnect_stores(&self) {
        self.disconnect("").await;
    }
}

/// Using it, under any executor.
impl Room {
    fn builder(&self) -> PostgresBuilder {
        // As few as run beside each other: to make one takes the server as long as a short scenario.
        PostgresProvider::builder(&self.url).schema(&self.schema).connections(2)
    }

    /// Ends the connections on which stores here hear notices; says how many.
    pub(crate) async fn deafen(&self) -> usize {
        self.disconnect("notices").await
    }

    /// How many stores here hear notices.
    pub(crate) async fn listeners(&self) -> i64 {
        let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1";
        self.client.query_one(count, &[&self.called("notices")]).await.unwrap().get(0)
    }

    /// Ends the connections of stores here that are for something; says how many.
    async fn disconnect(&self, purpose: &str) -> usize {
        let end = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
                   WHERE starts_with(application_name, $1)";
        self.client.query(end, &[&self.called(purpose)]).await.unwrap().len()
    }

    /// What the connections of stores here are called.
    fn called(&self, purpose: &str) -> String {
        format!("abide {} {purpose}", self.schema)
    }

    /// A store in this room, as another node would have it.
    pub(crate) async fn open(&self) -> PostgresProvider {
        self.builder().open().await.unwrap()
    }

    /// What is seen of a store in virtual time: the required methods, each with its answer at once.
    pub(crate) fn open_at(self: &Arc<Self>, clock: &Arc<VirtualClock>) -> Arc<dyn Provider> {
        self.set_time(clock.monotonic());
        let postgres = Arc::new(block_on(self.builder().connections(1).open()).unwrap());
        let room = self.clone();
        let in_time = FaultPlan::none().when(move |call| {
            room.set_time(call.at);
            None
        });
        let seen = FaultStore::new(postgres, clock.clone()).answering_at_once().with_plan(in_time);
        Arc::new(RequiredOnly::new(Arc::new(seen)))
    }

    fn set_time(&self, monotonic: Duration) {
        let now = VirtualClock::EPOCH.saturating_add(monotonic).as_millis();
        let now = i64::try_from(now).unwrap();
        let mut set_to = self.set_to.lock().unwrap_or_else(PoisonError::into_inner);
        if *set_to == Some(now) {
            return;
        }
        let statement = self.set_time.as_ref().expect("a room whose time is set");
        block_on(self.client.query_one(statement, &[&now])).unwrap();
        *set_to = Some(now);
    }

    /// A number that is asked for in SQL, of tables without the name of their schema.
    pub(crate) async fn number(&self, query: &str) -> i64 {
        self.client.query_one(&format!("SELECT ({query})::bigint"), &[]).await.unwrap().get(0)
    }

    /// A column of texts.
    pub(crate) async fn texts(&self, query: &str) -> Vec<String> {
        self.client.query(query, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
    }

    /// How many rows a statement changes.
    pub(crate) async fn change(&self, statement: &str) -> u64 {
        self.client.execute(statement, &[]).await.unwrap()
    }
}

async fn first_free_number(client: &Client) -> i32 {
    for number in 1.. {
        let lock = "SELECT pg_try_advisory_lock($1, $2)";
        if client.query_one(lock, &[&LOCKS, &number]).await.unwrap().get(0) {
            return number;
        }
    }
    unreachable!("the server has fewer connections than there are numbers")
}

async fn connect(url: &str) -> Client {
    let (client, connection) =
        tokio_postgres::connect(url, NoTls).await.expect("the server of the tests answers");
    tokio::runtime::Handle::current().spawn(async move {
        if let Err(error) = connection.await {
            eprintln!("the connection of a room ended: {error}");
        }
    });
    client
}
