//! A SQLite store, in memory or on a file of its own, under a clock that the test moves; its calls without `await`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use abide_model::{Clock, Event, WorkItem};
use abide_provider::{
    Enqueue, ExecutionMetadata, FinishedWork, InstanceLease, LeaseInstances, LeaseWork, OrchestrationItem,
    Provider, ProviderError, Rejection, RequestKey, SessionFetchConfig, Start, StoreError, TagFilter,
    TurnCommit, WorkLease,
};
use abide_sqlite::SqliteProvider;
use futures::executor::block_on;
use rusqlite::Connection;
use rusqlite::types::{FromSql, ValueRef};

use super::clock::ManualClock;
use super::folder::Folder;
use super::items::{TurnBuilder, signal, start};

/// Where every test begins.
pub(crate) const BEGIN: u64 = 1_000_000;

/// How long leases last unless a test says otherwise.
pub(crate) const LEASE: Duration = seconds(30);

pub(crate) const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub(crate) const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Whether this SQLite may be used by several processes on one file. With an older one a second is refused
/// (`processes::alone`), and tests of several have nothing to test.
pub(crate) fn processes_can_share() -> bool {
    rusqlite::version_number() >= 3_051_003
}

pub(crate) struct Store {
    // Closed before its folder is removed.
    pub(crate) provider: SqliteProvider,
    pub(crate) clock: ManualClock,
    folder: Option<Folder>,
}

/// Every row of every table: two that are equal mean that nothing was changed in between.
pub(crate) type Rows = BTreeMap<String, Vec<String>>;

/// Runs a test on a database in memory and on one in a file.
pub(crate) fn on_both(test: impl Fn(&Store)) {
    println!("in memory:");
    test(&Store::in_memory());
    println!("on a file:");
    test(&Store::on_file());
}

impl Store {
    pub(crate) fn in_memory() -> Self {
        let clock = ManualClock::at(BEGIN);
        let provider = open("sqlite::memory:", &clock);
        Self { provider, clock, folder: None }
    }

    pub(crate) fn on_file() -> Self {
        let clock = ManualClock::at(BEGIN);
        let folder = Folder::new("store");
        let provider = open(database_in(&folder).to_str().unwrap(), &clock);
        Self { provider, clock, folder: Some(folder) }
    }

    /// In memory, removing so many rows of deleted instances in one transaction.
    pub(crate) fn removing(rows: u32) -> Self {
        let clock = ManualClock::at(BEGIN);
        let provider = open_removing("sqlite::memory:", &clock, rows);
        Self { provider, clock, folder: None }
    }

    /// The same on a file.
    pub(crate) fn on_file_removing(rows: u32) -> Self {
        let clock = ManualClock::at(BEGIN);
        let folder = Folder::new("store");
        let provider = open_removing(database_in(&folder).to_str().unwrap(), &clock, rows);
        Self { provider, clock, folder: Some(folder) }
    }

    /// On a file, by the machine's clock.
    pub(crate) fn on_file_in_real_time() -> Self {
        let folder = Folder::new("store");
        let url = database_in(&folder).to_str().unwrap().to_owned();
        let provider = block_on(SqliteProvider::builder(&url).open()).unwrap();
        Self { provider, clock: ManualClock::at(BEGIN), folder: Some(folder) }
    }

    /// How many bytes the log has.
    pub(crate) fn log_size(&self) -> u64 {
        let database = database_in(self.folder.as_ref().expect("only a file has a log"));
        let log = database.with_file_name("store.db-wal");
        std::fs::metadata(log).map_or(0, |log| log.len())
    }

    /// The same file, closed and opened again, removing so many rows in one transaction.
    pub(crate) fn reopened_removing(self, rows: u32) -> Self {
        let Self { provider, clock, folder } = self;
        drop(provider);
        let path = database_in(folder.as_ref().expect("only a file can be opened again"));
        Self { provider: open_removing(path.to_str().unwrap(), &clock, rows), clock, folder }
    }

    /// The same file, closed and opened again.
    pub(crate) fn reopened(self) -> Self {
        let Self { provider, clock, folder } = self;
        drop(provider);
        let path = database_in(folder.as_ref().expect("only a file can be opened again"));
        Self { provider: open(path.to_str().unwrap(), &clock), clock, folder }
    }

    /// Starts an instance and commits its first turn; gives back the lease it was committed under.
    pub(crate) fn create(&self, name: &str, first_turn: TurnBuilder) -> InstanceLease {
        self.enqueue(start(name));
        let lease = self.lease();
        assert_eq!(lease.instance, name, "another instance was ready");
        self.commit(first_turn.under(&lease));
        lease
    }

    /// An instance that has started and waits.
    pub(crate) fn create_idle(&self, name: &str) {
        self.create(name, TurnBuilder::starting(1));
    }

    /// An instance with so many executions that ended, a millisecond apart and with an event each, before the one that runs. By
    /// SQL, because that many turns take long.
    pub(crate) fn create_with_past(&self, name: &str, ended: u64) {
        self.create_idle(name);
        let mailbox: i64 = self.value(&format!("SELECT no FROM mailbox WHERE id = '{name}'"));
        let counted = format!(
            "WITH RECURSIVE counted (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counted WHERE i < {ended})"
        );
        self.damage(&format!("DELETE FROM execution WHERE mailbox = {mailbox}"));
        self.damage(&format!(
            "{counted} INSERT INTO execution (mailbox, no, status, started_at, completed_at)
             SELECT {mailbox}, i, 'ContinuedAsNew', i, i FROM counted"
        ));
        self.damage(&format!("DELETE FROM turn WHERE mailbox = {mailbox}"));
        self.damage(&format!(
            "{counted} INSERT INTO turn (mailbox, execution, first_event, last_event, length, events)
             SELECT {mailbox}, i, 1, 1, 1, '[]' FROM counted"
        ));
        self.damage(&format!("UPDATE mailbox SET execution = {ended} WHERE no = {mailbox}"));
        self.enqueue(signal(name, ""));
        let lease = self.lease();
        self.commit(TurnBuilder::starting(ended + 1).under(&lease));
    }

    pub(crate) fn enqueue(&self, item: WorkItem) {
        self.try_enqueue(item, None).unwrap();
    }

    pub(crate) fn enqueue_delayed(&self, item: WorkItem, delay: Duration) {
        self.try_enqueue(item, Some(delay)).unwrap();
    }

    pub(crate) fn try_enqueue(&self, item: WorkItem, delay: Option<Duration>) -> Result<(), ProviderError> {
        block_on(self.provider.enqueue_for_orchestrator(item, delay))
    }

    pub(crate) fn enqueue_once(&self, item: WorkItem, key: u8) {
        let request = Enqueue { item, delay: None, key: RequestKey([key; 16]) };
        block_on(self.provider.enqueue_once(request)).unwrap();
    }

    pub(crate) fn start_once(&self, instance: &str, key: u8) -> Start {
        let request = Enqueue { item: start(instance), delay: None, key: RequestKey([key; 16]) };
        block_on(self.provider.start_once(request)).unwrap()
    }

    pub(crate) fn enqueue_work(&self, item: WorkItem) {
        block_on(self.provider.enqueue_for_worker(item)).unwrap();
    }

    pub(crate) fn lease_with(&self, request: LeaseInstances) -> Vec<InstanceLease> {
        block_on(self.provider.lease_instances(request)).unwrap()
    }

    pub(crate) fn try_lease(&self) -> Option<InstanceLease> {
        self.lease_with(lease_instances(1)).into_iter().next()
    }

    pub(crate) fn lease(&self) -> InstanceLease {
        self.try_lease().expect("something to lease")
    }

    pub(crate) fn fetch(&self) -> Option<(OrchestrationItem, String, u32)> {
        block_on(self.provider.fetch_orchestration_item(LEASE, Duration::ZERO, None)).unwrap()
    }

    pub(crate) fn commit(&self, commit: TurnCommit) {
        self.try_commit(commit).unwrap();
    }

    pub(crate) fn try_commit(&self, commit: TurnCommit) -> Result<(), StoreError> {
        block_on(self.provider.commit_turns(vec![commit])).remove(0).map(drop)
    }

    /// Why a commit is refused. Nothing may have changed.
    pub(crate) fn refused(&self, commit: TurnCommit) -> Option<Rejection> {
        self.unchanged(|| self.try_commit(commit).unwrap_err().rejection())
    }

    pub(crate) fn ack(&self, token: &str, events: Vec<Event>) -> Result<(), ProviderError> {
        let (work, mail, cancelled) = (Vec::new(), Vec::new(), Vec::new());
        let metadata = ExecutionMetadata::default();
        block_on(self.provider.ack_orchestration_item(token, 1, events, work, mail, metadata, cancelled))
    }

    pub(crate) fn abandon(&self, token: &str, delay: Option<Duration>) -> Result<(), ProviderError> {
        block_on(self.provider.abandon_orchestration_item(token, delay, false))
    }

    pub(crate) fn renew(&self, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
        block_on(self.provider.renew_orchestration_item_lock(token, extend_for))
    }

    pub(crate) fn lease_work_with(&self, request: LeaseWork) -> Vec<WorkLease> {
        block_on(self.provider.lease_work(request)).unwrap()
    }

    pub(crate) fn try_lease_work(&self) -> Option<WorkLease> {
        self.lease_work_with(lease_work(1)).into_iter().next()
    }

    pub(crate) fn lease_work(&self) -> WorkLease {
        self.try_lease_work().expect("work to lease")
    }

    /// Leases one activity, also one of a session.
    pub(crate) fn lease_work_as(&self, owner: &str, lock_timeout: Duration) -> Option<WorkLease> {
        self.lease_work_with(lease_work_of_sessions(1, owner, lock_timeout)).into_iter().next()
    }

    pub(crate) fn finish(&self, token: &str, completion: Option<WorkItem>) -> Result<(), StoreError> {
        block_on(self.provider.finish_work(vec![FinishedWork { token: token.to_owned(), completion }]))
            .remove(0)
    }

    pub(crate) fn abandon_work(&self, token: &str, delay: Option<Duration>) -> Result<(), ProviderError> {
        block_on(self.provider.abandon_work_item(token, delay, false))
    }

    pub(crate) fn renew_work(&self, token: &str, extend_for: Duration) -> Result<(), ProviderError> {
        block_on(self.provider.renew_work_item_lock(token, extend_for))
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Lets the store do what the passing of time asks of it.
    pub(crate) fn settle(&self) {
        block_on(self.provider.nudge());
    }

    /// Changes rows behind the store's back.
    pub(crate) fn damage(&self, statement: &str) {
        let text = statement.to_owned();
        let changed = block_on(self.provider.inspect(move |connection| connection.execute(&text, [])));
        assert!(changed.expect("the writer is alive").unwrap() > 0, "nothing was damaged: {statement}");
    }

    /// The first column of the first row.
    pub(crate) fn value<T: FromSql + Send + 'static>(&self, query: &str) -> T {
        let query = query.to_owned();
        let value = block_on(
            self.provider.inspect(move |connection| connection.query_row(&query, [], |row| row.get(0))),
        );
        value.expect("the writer is alive").unwrap()
    }

    /// The same for a time in milliseconds.
    pub(crate) fn time(&self, query: &str) -> u64 {
        u64::try_from(self.value::<i64>(query)).unwrap()
    }

    /// How many rows a table has.
    pub(crate) fn count(&self, table: &str) -> i64 {
        self.value(&format!("SELECT count(*) FROM {table}"))
    }

    pub(crate) fn rows(&self) -> Rows {
        let rows = block_on(self.provider.inspect(all_rows));
        rows.expect("the writer is alive").unwrap()
    }

    /// Runs something that must change nothing, once time has done its part.
    pub(crate) fn unchanged<T>(&self, run: impl FnOnce() -> T) -> T {
        self.settle();
        let before = self.rows();
        let result = run();
        assert_eq!(self.rows(), before, "something was changed");
        result
    }
}

/// Where the tests put their database.
pub(crate) fn database_in(folder: &Folder) -> PathBuf {
    folder.file("store.db")
}

/// Opens a file with its own entropy: two stores on one file must not draw the same numbers.
pub(crate) fn open(url: &str, clock: &ManualClock) -> SqliteProvider {
    let clock: Arc<dyn Clock> = Arc::new(clock.clone());
    block_on(SqliteProvider::builder(url).clock(clock).open()).unwrap()
}

fn open_removing(url: &str, clock: &ManualClock, rows: u32) -> SqliteProvider {
    let clock: Arc<dyn Clock> = Arc::new(clock.clone());
    block_on(SqliteProvider::builder(url).clock(clock).removal_rows(rows).open()).unwrap()
}

fn all_rows(connection: &Connection) -> rusqlite::Result<Rows> {
    let mut tables = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
    let names: Vec<String> = tables.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut all = Rows::new();
    for name in names {
        let mut statement = connection.prepare(&format!("SELECT * FROM {name}"))?;
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| {
            let cells = (0..columns).map(|column| row.get_ref(column).map(text_of));
            Ok(cells.collect::<Result<Vec<_>, _>>()?.join("|"))
        })?;
        let rows = rows.collect::<Result<_, _>>()?;
        all.insert(name, rows);
    }
    Ok(all)
}

fn text_of(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "-".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) => format!("'{}'", text.escape_ascii()),
        ValueRef::Blob(bytes) => format!("x'{}'", bytes.escape_ascii()),
    }
}

pub(crate) fn lease_instances(limit: usize) -> LeaseInstances {
    LeaseInstances { limit, lease_for: LEASE, wait: Duration::ZERO, capabilities: None, serving: None }
}

pub(crate) fn lease_work(limit: usize) -> LeaseWork {
    LeaseWork {
        limit,
        lease_for: LEASE,
        wait: Duration::ZERO,
        session: None,
        tags: TagFilter::DefaultOnly,
        serving: None,
    }
}

pub(crate) fn lease_work_of_sessions(limit: usize, owner: &str, lock_timeout: Duration) -> LeaseWork {
    let session = Some(SessionFetchConfig { owner_id: owner.to_owned(), lock_timeout });
    LeaseWork { session, ..lease_work(limit) }
}
