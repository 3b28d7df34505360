//! A server that is replaced behind a proxy, which keeps the old connections open and silent.

use std::time::Duration;

use abide_host::SystemClock;
use abide_model::Clock as _;
use abide_postgres::PostgresProvider;
use abide_provider::Provider as _;
use futures::executor::block_on;

use crate::support::database::{Database, wait_until};
use crate::support::items::start;
use crate::support::silent_proxy::SilentProxy;

/// 10 s until a call is given up, 5 s until the listener gives up its own session, and time to connect.
const BACK_WITHIN: Duration = Duration::from_secs(40);

#[test]
fn sessions_that_the_server_does_not_have_any_more_are_opened_again() {
    let Some(database) = Database::new() else { return };
    let proxy = SilentProxy::start(database.url());
    // Every seat is taken: one session that works, one for renewals, one for notices.
    let builder = PostgresProvider::builder(proxy.url()).schema(database.schema()).connections(1);
    let store = block_on(builder.open()).unwrap();
    wait_until(|| store.is_listening());
    block_on(store.enqueue_for_orchestrator(start("before"), None)).unwrap();

    proxy.fall_silent();

    let clock = SystemClock::new();
    wait_until(|| block_on(store.enqueue_for_orchestrator(start("after"), None)).is_ok());
    wait_until(|| store.is_listening());
    assert!(clock.monotonic() < BACK_WITHIN, "it took {:?}", clock.monotonic());
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE starts_with(application_name, $1)";
    let name = format!("abide {} ", database.schema());
    assert!(database.rows(sessions, &[&name])[0].get::<_, i64>(0) <= 3);
}
