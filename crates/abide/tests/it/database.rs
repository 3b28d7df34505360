//! A database of one's own on the PostgreSQL server that all tests share; gone when the test is, also if it panics.
//!
//! Not only a schema: what is tested here chooses its schema itself.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio_postgres::NoTls;

pub(crate) struct Database {
    server: String,
    name: String,
    url: String,
}

impl Database {
    /// `None` if there is no server, and the test is to be skipped.
    pub(crate) fn new() -> Option<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let server = abide_throwaway::shared()?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("facade_{}_{count}", std::process::id());
        let (place, _) = server.rsplit_once('/').expect("the URL of the server names a database");
        let url = format!("{place}/{name}");
        let database = Self { server, name, url };
        // One of an earlier process with the same number may have been left behind.
        database.run(&format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", database.name));
        // Nobody is ever connected to that template, which would keep others from copying it.
        database.run(&format!("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'", database.name));
        Some(database)
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    fn run(&self, statement: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ran = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&self.server, NoTls).await?;
            runtime.spawn(connection);
            client.batch_execute(statement).await
        });
        if let Err(error) = ran {
            // Also from a `drop`, where a panic would hide another one.
            eprintln!("{}: {error:?}", self.name);
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.run(&format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}
