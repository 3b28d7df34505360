//! A node with nothing to do, in a database full of instances that sleep or wait: what it sends, counted by the server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use abide_provider::Provider;
use abide_runtime::Runtime;
use abide_runtime::registry::{ActivityRegistry, OrchestrationRegistry};

use crate::flat::{many, put_to_sleep};
use crate::support::database::{Database, wait_until};

/// A tenth of what it is unless somebody says otherwise.
const SAFETY_POLL: Duration = Duration::from_millis(500);

/// How often a node looks for what nobody told while it is watched.
const LOOKS: i64 = 6;

/// What the server counted of one statement.
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    calls: i64,
    pages: i64,
}

#[test]
fn an_idle_node_sends_its_safety_poll_and_nothing_else() {
    let Some(watcher) = Watcher::new() else { return };
    // Whatever is sent to this database is sent by the node, and counted.
    let database = Database::at(watcher.url());
    // One connection for all looks: another would be opened, and set up, when two of them come together for the first time.
    let store = database.builder().connections(1).safety_poll(SAFETY_POLL);
    let store = Arc::new(futures::executor::block_on(store.open()).unwrap());
    wait_until(|| store.is_listening());
    let provider: Arc<dyn Provider> = store;
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (orchestrations, activities) =
        (OrchestrationRegistry::builder().build(), ActivityRegistry::builder().build());
    let node = threads.block_on(Runtime::start_with_store(provider, activities, orchestrations));

    // Gauges are read once at the start, and by an idle node every ten minutes; the depths of the queues, which ask what time it is, come last.
    wait_until(|| watcher.sent().get("now").is_some_and(|depths| depths.calls == 1));
    // Plans are made in the first round, which reads pages, too.
    watch(&watcher);
    let awake = watch(&watcher);
    put_to_sleep(&database, many());
    // Statements are planned anew now and then, which costs pages too: there is a round without that.
    let mut rounds = (0..10).map(|_| watch(&watcher));
    let is_flat = |asleep: &BTreeMap<String, Sent>| {
        asleep.iter().all(|(statement, sent)| {
            let (pages, before) =
                (sent.pages_each(), awake.get(statement).copied().unwrap_or_default().pages_each());
            println!("{statement}: {} calls, {pages} pages each; {before} in an empty database", sent.calls);
            pages <= before + 20
        })
    };
    assert!(rounds.any(|asleep| is_flat(&asleep)), "looking costs more where much sleeps");
    threads.block_on(node.shutdown(None));
}

impl Sent {
    fn pages_each(self) -> i64 {
        self.pages / self.calls.max(1)
    }
}

/// What is sent while the node looks so many times for something to do.
fn watch(watcher: &Watcher) -> BTreeMap<String, Sent> {
    let (begun, before) = (watcher.milliseconds(), watcher.sent());
    let since = |statement: &str, now: &BTreeMap<String, Sent>| {
        let before = before.get(statement).copied().unwrap_or_default();
        let now = now.get(statement).copied().unwrap_or_default();
        Sent { calls: now.calls - before.calls, pages: now.pages - before.pages }
    };
    let is_over = |now: &BTreeMap<String, Sent>| {
        ["lease_instances", "lease_work"].iter().all(|name| since(name, now).calls >= LOOKS)
    };
    wait_until(|| is_over(&watcher.sent()));
    let (now, ended) = (watcher.sent(), watcher.milliseconds());
    let news = now.keys().map(|statement| (statement.clone(), since(statement, &now)));
    let news: BTreeMap<String, Sent> = news.filter(|(_, sent)| sent.calls > 0).collect();
    let names: Vec<&str> = news.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["lease_instances", "lease_work"],
        "an idle node looks for work and does nothing else: {news:?}"
    );
    let looks = (ended - begun) / i64::try_from(SAFETY_POLL.as_millis()).unwrap() + 1;
    for (statement, sent) in &news {
        assert!(sent.calls <= looks, "{statement} was sent {} times, and {looks} times will do", sent.calls);
    }
    news
}

/// Looks at a database of its own, from another one.
struct Watcher {
    beside: Database,
    name: String,
}

impl Watcher {
    fn new() -> Option<Self> {
        let beside = Database::new()?;
        let name = format!("idle_{}", beside.schema());
        beside.run("CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA public");
        beside.run(&format!("CREATE DATABASE {name}"));
        Some(Self { beside, name })
    }

    fn url(&self) -> String {
        let (server, _) = self.beside.url().rsplit_once('/').unwrap();
        format!("{server}/{}", self.name)
    }

    /// Every statement that was sent to the database, by the function it calls. But for what the driver asks about types, once on each
    /// connection, when that sends a statement for the first time.
    fn sent(&self) -> BTreeMap<String, Sent> {
        let query = "SELECT coalesce(substring(query FROM '\"?\\.(\\w+)\\('), query), sum(calls)::bigint,
                            sum(shared_blks_hit + shared_blks_read)::bigint
                     FROM public.pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = $1)
                       AND position('pg_catalog.pg_' IN query) = 0 AND position('CREATE' IN query) = 0
                     GROUP BY 1";
        let rows = self.beside.rows(query, &[&self.name]);
        rows.iter().map(|row| (row.get(0), Sent { calls: row.get(1), pages: row.get(2) })).collect()
    }

    fn milliseconds(&self) -> i64 {
        self.beside.number("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.beside.run(&format!("DROP DATABASE {} WITH (FORCE)", self.name));
    }
}
