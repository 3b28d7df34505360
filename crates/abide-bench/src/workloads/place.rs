//! A new store for each measurement: a file in a folder, or a database on a server of our own.
//!
//! Nothing stays behind, however this process ends: the folder is removed by a process that ends with its input, as the server is.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use abide_throwaway::{Server, Settings};
use tokio_postgres::{Client, NoTls};

use crate::store::Fallible;
use crate::store::clock::sleep;

/// Removes the folder once its input ends.
const KEEPER: &str = r#"cat >/dev/null; rm -rf -- "$1""#;

/// A folder that is gone when this process is.
pub(crate) struct Folder {
    path: PathBuf,
    keeper: Child,
}

impl Folder {
    pub(crate) fn new() -> Fallible<Self> {
        let path = std::env::temp_dir().join(format!("abide-bench-{}-files", std::process::id()));
        fs::create_dir_all(&path)?;
        // In a group of its own, so that Ctrl-C does not end it before us.
        let keeper = Command::new("sh")
            .args(["-c", KEEPER, "keeper"])
            .arg(&path)
            .stdin(Stdio::piped())
            .process_group(0)
            .spawn()?;
        Ok(Self { path, keeper })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Of the name, which is removed with all that SQLite adds to it.
    pub(crate) fn file(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    pub(crate) fn clear(&self) -> Fallible<()> {
        for entry in fs::read_dir(&self.path)? {
            fs::remove_file(entry?.path())?;
        }
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.keeper.stdin = None;
        // Without a keeper to wait for there is nothing to wait for.
        self.keeper.wait().ok();
    }
}

/// A server with what PostgreSQL has by default, as far as speed is concerned.
pub(crate) struct Databases {
    server: Server,
    client: Client,
    made: u64,
    /// When the last one was made.
    fsyncs: Option<f64>,
}

/// What the server did for one database.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) deadlocks: f64,
    pub(crate) transactions: f64,
    /// Of the server's log. `None` if this server does not say.
    pub(crate) fsyncs: Option<f64>,
}

impl Databases {
    /// `None` if PostgreSQL is not installed.
    pub(crate) async fn start() -> Fallible<Option<Self>> {
        let settings = Settings::durable().set("shared_preload_libraries", "").set("log_lock_waits", "off");
        let Some(server) = abide_throwaway::own(&settings)? else { return Ok(None) };
        let (client, connection) = tokio_postgres::connect(&server.url(), NoTls).await?;
        // It ends with the client.
        let _connection = spawn(connection);
        Ok(Some(Self { server, client, made: 0, fsyncs: None }))
    }

    /// A new database, by its URL.
    pub(crate) async fn make(&mut self) -> Fallible<String> {
        self.made += 1;
        let name = self.name();
        self.client.batch_execute(&format!("CREATE DATABASE {name}")).await?;
        self.fsyncs = self.fsyncs().await;
        let url = self.server.url();
        let server = url.rsplit_once('/').map_or(url.as_str(), |(server, _)| server);
        Ok(format!("{server}/{name}"))
    }

    /// What it did for the last one; then that is removed, and what it left is on the disk.
    pub(crate) async fn finish(&self) -> Fallible<Served> {
        let name = self.name();
        self.clients_are_gone(&name).await?;
        let fsyncs = self.fsyncs().await.zip(self.fsyncs).map(|(after, before)| after - before);
        let query = "SELECT deadlocks::float8, (xact_commit + xact_rollback)::float8 \
                     FROM pg_stat_database WHERE datname = $1";
        let row = self.client.query_one(query, &[&name]).await?;
        self.client.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await?;
        self.client.batch_execute("CHECKPOINT").await?;
        Ok(Served { deadlocks: row.get(0), transactions: row.get(1), fsyncs })
    }

    /// A connection counts for the server once it has ended, which is a little later than its client.
    async fn clients_are_gone(&self, name: &str) -> Fallible<()> {
        const TRIES: usize = 200;
        for _ in 0..TRIES {
            let query = "SELECT count(*) FROM pg_stat_activity WHERE datname = $1";
            let clients: i64 = self.client.query_one(query, &[&name]).await?.get(0);
            if clients == 0 {
                break;
            }
            sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    async fn fsyncs(&self) -> Option<f64> {
        let query = if self.server.version().major() < 18 {
            "SELECT wal_sync::float8 FROM pg_stat_wal"
        } else {
            "SELECT sum(fsyncs)::float8 FROM pg_stat_io WHERE object = 'wal'"
        };
        self.client.query_one(query, &[]).await.ok()?.try_get(0).ok()
    }

    fn name(&self) -> String {
        format!("bench_{}", self.made)
    }

    pub(crate) fn version(&self) -> String {
        format!("PostgreSQL {}", self.server.version().major())
    }

    /// The number of its first process, whose children are all others.
    pub(crate) fn first_process(&self) -> Option<String> {
        first_process(&self.server.folder().display().to_string())
    }
}

/// The process whose command line names a file in this folder.
fn first_process(folder: &str) -> Option<String> {
    let processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
    let mut names = processes.filter_map(|entry| entry.file_name().into_string().ok());
    names.find(|name| {
        let line = fs::read(format!("/proc/{name}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        line.split('\0').next().is_some_and(|program| program.ends_with("postgres")) && line.contains(folder)
    })
}

#[expect(clippy::disallowed_methods, reason = "a connection ends with its client")]
pub(crate) fn spawn<T: Send + 'static>(
    task: impl Future<Output = T> + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    tokio::spawn(task)
}
