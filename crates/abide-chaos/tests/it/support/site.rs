//! A place: a store, and a folder with a gate and journals. It is gone when the test is, also if it panics.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide::Client;
use abide_chaos::check::storage;
use abide_chaos::store::Store;
use abide_host::SystemClock;
use futures::executor::block_on;

use super::database::Database;
use super::wait::PATIENCE;

#[derive(Debug)]
pub(crate) struct Site {
    folder: PathBuf,
    store: Store,
    /// If it is on a server.
    database: Option<Database>,
}

impl Site {
    /// On a file in the folder.
    pub(crate) fn new(label: &str) -> Self {
        let folder = folder(label);
        let store = Store::File(folder.join("data.db"));
        Self { folder, store, database: None }
    }

    /// On a server.
    pub(crate) fn on(label: &str, database: Database) -> Self {
        let url = database.url().to_owned();
        Self::through(label, database, &url)
    }

    /// On a server that workers and clients reach by another URL.
    pub(crate) fn through(label: &str, database: Database, url: &str) -> Self {
        Self { folder: folder(label), store: database.store(url), database: Some(database) }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The server's side, where there is one.
    pub(crate) fn database(&self) -> &Database {
        self.database.as_ref().expect("this site is on a server")
    }

    /// How long the server has computed, where there is one.
    pub(crate) fn server_cpu_time(&self) -> Option<Duration> {
        self.database.as_ref().map(Database::server_cpu_time)
    }

    /// The file, where there is one.
    pub(crate) fn db(&self) -> PathBuf {
        self.folder.join("data.db")
    }

    pub(crate) fn journals(&self) -> PathBuf {
        self.folder.join("journals")
    }

    pub(crate) fn gate(&self) -> PathBuf {
        self.folder.join("gate")
    }

    /// Lets go what waits at the gate.
    pub(crate) fn open_gate(&self) {
        std::fs::write(self.gate(), "").unwrap();
    }

    /// A client in this process. It gives the store up when it is dropped.
    pub(crate) fn client(&self) -> Client {
        let store = block_on(self.store.open(Arc::new(SystemClock::new()))).unwrap();
        // A store that is busy for a while is no fault of a test: what counts is that nothing is lost.
        Client::builder(store).retry_for(PATIENCE).call_timeout(Duration::from_secs(20)).build()
    }

    /// Makes the histories of all instances unreadable whose ids are like this.
    pub(crate) fn damage_histories_of(&self, ids: &str) {
        self.damage("UPDATE abide.turn SET events = '{' WHERE mailbox IN (SELECT no FROM abide.mailbox WHERE id LIKE $1)", ids);
    }

    /// Stores a text as the status of all instances whose ids are like this.
    pub(crate) fn set_status_of(&self, ids: &str, status: &str) {
        self.damage(&format!("UPDATE abide.mailbox SET status = '{status}' WHERE id LIKE $1"), ids);
    }

    /// Changes what is stored, with a statement that takes a pattern of ids and says `abide.` for the schema.
    fn damage(&self, statement: &str, ids: &str) {
        match &self.database {
            Some(database) => drop(database.rows(statement, &[&ids])),
            None => storage::damage(&self.db(), &statement.replace("abide.", ""), ids).unwrap(),
        }
    }

    /// Returns how many messages are queued for an instance.
    pub(crate) fn messages_of(&self, id: &str) -> i64 {
        const MESSAGES: &str =
            "SELECT count(*) FROM abide.message WHERE mailbox = (SELECT no FROM abide.mailbox WHERE id = $1)";
        match &self.database {
            Some(database) => database.rows(MESSAGES, &[&id])[0].get(0),
            None => storage::count(&self.db(), &MESSAGES.replace("abide.", ""), &[&id]).unwrap(),
        }
    }

    /// Whether nobody keeps all others from writing.
    pub(crate) fn is_writable(&self) -> bool {
        self.database.is_some() || storage::is_writable(&self.db()).unwrap()
    }

    pub(crate) fn leases(&self) -> i64 {
        match &self.database {
            Some(database) => database.leases(),
            None => storage::leases(&self.db()).unwrap(),
        }
    }

    /// Returns how many activities are queued, running or held.
    pub(crate) fn activities(&self) -> i64 {
        match &self.database {
            Some(database) => database.number("SELECT count(*) FROM abide.work"),
            None => storage::count(&self.db(), "SELECT count(*) FROM work", &[]).unwrap(),
        }
    }

    /// Connections that were left in the middle of a transaction, while the workers are still there.
    pub(crate) fn forgotten_transactions(&self) -> usize {
        self.database.as_ref().map_or(0, Database::forgotten_transactions)
    }

    /// What is wrong with the store once nobody uses it any more, in which everything has ended.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let Some(database) = &self.database else {
            let mut found: Vec<String> =
                storage::violations(&self.db()).unwrap().iter().map(ToString::to_string).collect();
            found.extend((self.owner_files() > 0).then(|| "files of owners were left behind".to_owned()));
            return found;
        };
        database.complaints()
    }

    /// The files of processes that have the database open, or have died with it.
    pub(crate) fn owner_files(&self) -> usize {
        let entries = std::fs::read_dir(&self.folder).unwrap();
        entries.filter(|entry| is_owner_file(&entry.as_ref().unwrap().path())).count()
    }
}

fn folder(label: &str) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("abide-chaos-{}-{number}-{label}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(folder.join("journals")).unwrap();
    folder
}

fn is_owner_file(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().contains("-owner-"))
}

impl Drop for Site {
    fn drop(&mut self) {
        if std::thread::panicking() && std::env::var_os("ABIDE_KEEP").is_some() {
            eprintln!("{} is kept", self.folder.display());
        } else if let Err(error) = std::fs::remove_dir_all(&self.folder) {
            eprintln!("{} stays behind: {error}", self.folder.display());
        }
    }
}
