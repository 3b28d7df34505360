//! Looking into the store of a world.

use std::time::Duration;

use abide_model::Event;
use futures::executor::block_on;

use super::trace;
use super::world::{Ground, Place, World};

/// Far less than a lease lasts.
const A_MOMENT: Duration = Duration::from_secs(5);

/// What is left in the queues of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) messages: usize,
    pub(crate) work: usize,
    /// On instances and on work.
    pub(crate) leases: usize,
}

impl Left {
    pub(crate) const NOTHING: Self = Self { messages: 0, work: 0, leases: 0 };
}

impl World {
    /// The history of the latest execution.
    pub(crate) async fn history(&self, instance: &str) -> Vec<Event> {
        self.store.read(instance).await.unwrap()
    }

    pub(crate) async fn history_of(&self, instance: &str, execution: u64) -> Vec<Event> {
        self.store.read_with_execution(instance, execution).await.unwrap()
    }

    pub(crate) async fn trace(&self, instance: &str) -> Vec<String> {
        trace(&self.history(instance).await)
    }

    pub(crate) async fn trace_of(&self, instance: &str, execution: u64) -> Vec<String> {
        trace(&self.history_of(instance, execution).await)
    }

    /// Waits until the latest execution has so many events of a kind.
    pub(crate) async fn recorded(&self, instance: &str, kind: &str, many: usize) {
        self.until(async || {
            let history = self.history(instance).await;
            history.iter().filter(|event| event.kind.name() == kind).count() >= many
        })
        .await;
    }

    /// What is in the queues, and how much of the store is leased.
    pub(crate) async fn left(&self) -> Left {
        let Some(memory) = self.memory() else {
            let now = self.clock.wall().as_millis();
            let leased = |table: &str| format!("SELECT count(*) FROM {table} WHERE leased_until > {now}");
            return Left {
                messages: self.number("SELECT count(*) FROM message").await,
                work: self.number("SELECT count(*) FROM work").await,
                leases: self.number(&leased("mailbox")).await + self.number(&leased("work")).await,
            };
        };
        let dump = memory.dump();
        let instances = dump.instances.values().filter(|instance| instance.leased_until.is_some());
        let work = dump.work.values().filter(|work| work.leased_until.is_some());
        Left {
            messages: dump.messages.len(),
            work: dump.work.len(),
            leases: instances.count() + work.count(),
        }
    }

    /// This is left, and nothing else. What a server was leasing when the call for it was dropped goes back a moment later.
    pub(crate) async fn leaves(&self, expected: Left) {
        if self.place == Place::Postgres {
            let last_look = self.clock.monotonic().saturating_add(A_MOMENT);
            self.until(async || self.left().await == expected || self.clock.monotonic() > last_look).await;
        }
        assert_eq!(self.left().await, expected);
    }

    /// A number that is asked for in SQL. Not in memory.
    pub(crate) async fn number(&self, query: &str) -> usize {
        let number = match &self.ground {
            Ground::Memory(_) => panic!("this world is in memory"),
            Ground::Postgres(room) => self.outside_of_time(room.number(query)).await,
            Ground::File { sqlite, .. } => {
                let query = query.to_owned();
                let look = sqlite.inspect(move |rows| rows.query_row(&query, [], |row| row.get::<_, i64>(0)));
                self.outside_of_time(look).await.unwrap().unwrap()
            }
        };
        usize::try_from(number).unwrap()
    }

    /// A column of texts that is asked for in SQL. Not in memory.
    pub(crate) async fn texts(&self, query: &str) -> Vec<String> {
        match &self.ground {
            Ground::Memory(_) => panic!("this world is in memory"),
            Ground::Postgres(room) => self.outside_of_time(room.texts(query)).await,
            Ground::File { sqlite, .. } => {
                let query = query.to_owned();
                let look = sqlite.inspect(move |rows| {
                    let mut statement = rows.prepare(&query)?;
                    let column = statement.query_map([], |row| row.get::<_, String>(0))?;
                    column.collect::<Result<Vec<_>, _>>()
                });
                self.outside_of_time(look).await.unwrap().unwrap()
            }
        }
    }

    /// How many rows a statement changes. Not in memory.
    pub(crate) async fn change(&self, statement: &str) -> usize {
        match &self.ground {
            Ground::Memory(_) => panic!("this world is in memory"),
            Ground::Postgres(room) => {
                usize::try_from(self.outside_of_time(room.change(statement)).await).unwrap()
            }
            Ground::File { sqlite, .. } => {
                let statement = statement.to_owned();
                let change = sqlite.inspect(move |rows| rows.execute(&statement, []));
                self.outside_of_time(change).await.unwrap().unwrap()
            }
        }
    }

    /// Virtual time would pass while everybody waits for a thread of the store.
    async fn outside_of_time<T>(&self, something: impl Future<Output = T>) -> T {
        if self.is_virtual() { block_on(something) } else { something.await }
    }

    /// Waits until nothing is left in the queues.
    pub(crate) async fn is_drained(&self) {
        self.until(async || self.left().await == Left::NOTHING).await;
    }
}
