//! What groups run on: the open database, the clock, and this process's name in leases.

use std::cell::Cell;
use std::time::Duration;

use abide_model::Timestamp;
use abide_provider::Lane;
use rusqlite::Connection;

use crate::connect::{Location, Missing, several_connections_are_safe};
use crate::encode::column;
use crate::error::OpenError;
use crate::job::Durable;
use crate::migrate::migrate;
use crate::options::Durability;
use crate::owner::{Life, OwnerLock, look_for};
use crate::shared::Shared;
use crate::statements::{Sql, Statements};
use crate::store::Tx;
use crate::store::owner::Company;
use crate::store::route::Routes;

/// An open database.
pub(crate) struct Disk {
    connection: Connection,
}

impl Disk {
    /// Opens the database, brings its schema up to date, and enters this process.
    pub(crate) fn open(shared: &Shared) -> Result<Self, OpenError> {
        let connection = open_patiently(shared)?;
        if let Location::File(path) = &shared.location {
            shared.files.remember_database();
            let lock = OwnerLock::new(path, &*shared.entropy)?;
            register(&connection, &lock, shared)?;
            shared.keep_lock(lock);
            shared.files.remember_log();
        }
        Ok(Self { connection })
    }

    /// Opens the database again after it failed. Never another file, and never a new one.
    pub(crate) fn reopen(shared: &Shared) -> Result<Self, String> {
        shared.files.forget_log();
        shared.files.check()?;
        let connection = shared
            .location
            .open_writer(shared.durability, Missing::Refuse)
            .map_err(|error| error.to_string())?;
        shared.files.check()?;
        empty_log(&connection).map_err(|error| error.to_string())?;
        shared.files.remember_log();
        Ok(Self { connection })
    }

    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The same, without a transaction that was left open.
    pub(crate) fn rolled_back(self) -> Self {
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::error!(target: "abide::sqlite", %error, "a transaction could not be rolled back");
        }
        self
    }

    /// Saves what was acknowledged into a log that is gone: this connection is the last that can still read it.
    pub(crate) fn save_lost_log(&self, shared: &Shared) {
        if shared.files.log_is_lost()
            && let Err(error) = empty_log(&self.connection)
        {
            tracing::error!(target: "abide::sqlite", %error, "the log was deleted, and its contents are lost");
        }
    }
}

/// Processes that start together on a new file get into each other's way, and SQLite does not wait where two want to switch
/// it to a log at once.
fn open_patiently(shared: &Shared) -> Result<Connection, OpenError> {
    const TRIES: usize = 400;
    const LONGEST_PAUSE: u64 = 20;
    let mut tries = 0;
    loop {
        match open_and_migrate(shared) {
            Err(error) if error.is_busy() && tries < TRIES => {
                tries += 1;
                let pause = 1 + shared.entropy.next_u64() % LONGEST_PAUSE;
                std::thread::park_timeout(Duration::from_millis(pause));
            }
            opened => return opened,
        }
    }
}

fn open_and_migrate(shared: &Shared) -> Result<Connection, OpenError> {
    let mut connection = shared.location.open_writer(shared.durability, Missing::Create(shared.file_mode))?;
    migrate(&mut connection, &shared.location)?;
    Ok(connection)
}

/// After a failed fsync the log may have lost pages that later commits would be read behind. Everything in it goes to
/// the database file, and it begins anew, before anything is acknowledged again.
fn empty_log(connection: &Connection) -> rusqlite::Result<()> {
    let busy: i64 = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    if busy == 0 { Ok(()) } else { Err(rusqlite::Error::StatementChangedRows(0)) }
}

/// Enters this process among those that work on the file, unless it or one of them must be alone. In one transaction, so
/// that of two that come at once one stays.
fn register(connection: &Connection, lock: &OwnerLock, shared: &Shared) -> Result<(), OpenError> {
    let failed = |error| shared.location.cannot_open(error);
    let (statements, routes) = (Statements::new(connection), Routes::default());
    statements.execute(Sql::Begin, []).map_err(failed)?;
    let company = if several_connections_are_safe() { Company::Any } else { Company::None };
    let registered =
        Tx::begin(&statements, shared.clock.wall(), 0, &routes, &*shared.entropy).map_err(failed);
    let registered = registered.and_then(|tx| {
        refuse_company(&tx.owners().map_err(failed)?, company, shared)?;
        tx.register_owner(lock.name(), company).map_err(failed)
    });
    let end = if registered.is_ok() { Sql::Commit } else { Sql::Rollback };
    statements.execute(end, []).map_err(failed)?;
    shared.set_owner(registered?);
    Ok(())
}

/// Refuses to work beside a process that is alive, if this one or that one must be alone.
fn refuse_company(others: &[(String, Company)], ours: Company, shared: &Shared) -> Result<(), OpenError> {
    let path = shared.location.path();
    let is_in_the_way = |(lock_file, theirs): &&(String, Company)| {
        let must_be_alone = ours == Company::None || *theirs == Company::None;
        must_be_alone && matches!(look_for(path, lock_file), Life::Alive)
    };
    match others.iter().find(is_in_the_way) {
        None => Ok(()),
        Some((lock_file, _)) => {
            Err(OpenError::OtherProcess { path: path.to_owned(), lock_file: lock_file.clone() })
        }
    }
}

/// What groups run on.
pub(crate) struct WriterGround<'a, 'c> {
    shared: &'a Shared,
    statements: &'a Statements<'c>,
    routes: &'a Routes,
    level: Cell<Durable>,
}

impl<'a, 'c> WriterGround<'a, 'c> {
    pub(crate) fn new(
        shared: &'a Shared,
        disk: &'c Disk,
        statements: &'a Statements<'c>,
        routes: &'a Routes,
    ) -> Self {
        debug_assert!(std::ptr::eq(disk.connection(), statements.connection()));
        Self { shared, statements, routes, level: Cell::new(Durable::Must) }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.shared.clock.wall()
    }

    pub(crate) fn shared(&self) -> &'a Shared {
        self.shared
    }

    /// Whether something can be leased, or has become due, without looking at who wants it.
    pub(crate) fn anything_to_lease(&self, lane: Lane) -> rusqlite::Result<bool> {
        let (ready, due) = match lane {
            Lane::Instances => (Sql::AnyReadyMailbox, Sql::NextMailboxDue),
            Lane::Work => (Sql::AnyReadyWork, Sql::NextWorkDue),
        };
        if self.statements.row(ready, [], |_| Ok(()))?.is_some() {
            return Ok(true);
        }
        let now = column(self.now().as_millis());
        Ok(self.statements.next_due(due)?.is_some_and(|due| due <= now))
    }

    /// Takes this process out of the list: its leases, if it has any left, are void.
    pub(crate) fn sign_off(&self) {
        if self.shared.in_memory() || self.still_there().is_err() {
            return; // the lock file will be free, which says the same
        }
        let owner = self.shared.owner();
        let signed_off = self.begin().and_then(|tx| {
            tx.bury_owner(owner)?;
            tx.finish()
        });
        let end = if signed_off.is_ok() { Sql::Commit } else { Sql::Rollback };
        if let Err(error) = self.statements.execute(end, []) {
            tracing::warn!(target: "abide::sqlite", %error, "this process could not sign off; its leases run out");
        }
    }

    pub(crate) fn statements(&self) -> &'a Statements<'c> {
        self.statements
    }

    /// Begins a transaction.
    pub(crate) fn begin(&self) -> rusqlite::Result<Tx<'a, 'c>> {
        self.statements.execute(Sql::Begin, [])?;
        self.shared.counts.transactions.one();
        let tx =
            Tx::begin(self.statements, self.now(), self.shared.owner(), self.routes, &*self.shared.entropy)?;
        let tx = tx.removing_at_most(self.shared.removal_rows);
        let tx = if self.shared.changes.is_empty() { tx } else { tx.listened_to() };
        Ok(if self.shared.watches_leases() { tx.watched() } else { tx })
    }

    /// Whether the file that was written is still the one that its path names.
    pub(crate) fn still_there(&self) -> Result<(), String> {
        self.shared.files.check()
    }

    /// Commits, and counts it if that waits for the disk.
    pub(crate) fn commit(&self) -> rusqlite::Result<()> {
        self.statements.execute(Sql::Commit, [])?;
        let waits = self.shared.durability == Durability::Full && self.level.get() == Durable::Must;
        if waits && !self.shared.in_memory() {
            self.shared.counts.synced_commits.one();
        }
        Ok(())
    }

    /// Groups that only lease or renew need no fsync: losing them frees the leases.
    pub(crate) fn require(&self, durable: Durable) -> rusqlite::Result<()> {
        if self.shared.durability == Durability::Normal || self.level.get() == durable {
            return Ok(());
        }
        let level = match durable {
            Durable::Must => Durability::Full,
            Durable::LeaseOnly => Durability::Normal,
        };
        self.statements.connection().pragma_update(None, "synchronous", level.pragma())?;
        self.level.set(durable);
        Ok(())
    }
}
