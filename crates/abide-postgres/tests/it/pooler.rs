//! A pooler between the node and the server: refused if it gives every transaction another session.

use abide_postgres::{OpenError, PostgresProvider};
use abide_provider::Provider as _;
use futures::executor::block_on;

use crate::support::database::Database;
use crate::support::fake_pooler::{Mode, start as start_pooler};
use crate::support::items::start;

#[test]
fn a_pooler_in_transaction_mode_is_refused_and_nothing_is_set_in_its_sessions() {
    let Some(database) = Database::new() else { return };
    for mode in [Mode::LastUsedFirst, Mode::InTurn] {
        let url = start_pooler(database.url(), mode);
        let opened = block_on(PostgresProvider::builder(&url).schema(database.schema()).open());
        let error = opened.unwrap_err();
        assert!(matches!(error, OpenError::TransactionPooler { .. }), "{mode:?}: {error}");
        let text = error.to_string();
        assert!(text.contains("pool_mode = session") && text.contains("directly"), "{text}");

        // The sessions are used one after the other: whoever comes next sees all of them.
        let next = Database::at(url);
        for _ in 0..6 {
            next.run(
                "DO $$ BEGIN
                     ASSERT current_setting('search_path') <> 'pg_catalog, pg_temp';
                     ASSERT current_setting('plan_cache_mode') = 'auto';
                     ASSERT current_setting('enable_seqscan') = 'on';
                 END $$",
            );
        }
    }
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = $1";
    assert_eq!(database.rows(schemas, &[&database.schema()])[0].get::<_, i64>(0), 0, "nothing was made");
}

#[test]
fn a_connection_for_notices_through_such_a_pooler_is_refused_too() {
    let Some(database) = Database::new() else { return };
    let url = start_pooler(database.url(), Mode::LastUsedFirst);
    let error = block_on(database.builder().listen_url(&url).open()).unwrap_err();
    assert!(matches!(error, OpenError::TransactionPooler { .. }), "{error}");
}

#[test]
fn a_pooler_in_session_mode_is_as_good_as_the_server() {
    let Some(database) = Database::new() else { return };
    let url = start_pooler(database.url(), Mode::Session);
    let store = block_on(PostgresProvider::builder(&url).schema(database.schema()).open()).unwrap();
    block_on(store.enqueue_for_orchestrator(start("a"), None)).unwrap();
    assert_eq!(database.number("SELECT count(*) FROM abide.message"), 1);
}
