//! The thread that talks to the server panics: it starts again, and the store with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use abide_host::SystemClock;
use abide_model::{Clock, Sleep, Timestamp};
use abide_postgres::PostgresProvider;
use abide_provider::Provider as _;
use futures::executor::block_on;

use crate::support::database::{Database, wait_until};
use crate::support::items::start;

/// A clock that panics when that thread next asks it for the time.
struct Trap {
    clock: SystemClock,
    is_set: AtomicBool,
}

impl Clock for Trap {
    fn wall(&self) -> Timestamp {
        self.clock.wall()
    }

    fn monotonic(&self) -> Duration {
        let is_node = std::thread::current().name() == Some("abide-postgres");
        assert!(!(is_node && self.is_set.swap(false, Ordering::AcqRel)), "the panic that this test is about");
        self.clock.monotonic()
    }

    fn sleep_until(&self, monotonic: Duration) -> Sleep {
        self.clock.sleep_until(monotonic)
    }
}

#[test]
fn a_panic_of_the_thread_that_talks_to_the_server_does_not_close_the_store() {
    let Some(database) = Database::new() else { return };
    let trap = Arc::new(Trap { clock: SystemClock::new(), is_set: AtomicBool::new(false) });
    let builder = PostgresProvider::builder(database.url()).schema(database.schema());
    let clock: Arc<dyn Clock> = trap.clone();
    let store = block_on(builder.clock(clock).open()).unwrap();
    for round in 0..3 {
        wait_until(|| store.is_listening());
        trap.is_set.store(true, Ordering::Release);
        let id = format!("i{round}");
        wait_until(|| match block_on(store.enqueue_for_orchestrator(start(&id), None)) {
            Ok(()) => !trap.is_set.load(Ordering::Acquire),
            Err(error) => {
                assert!(error.is_retryable(), "{error}");
                false
            }
        });
    }
    let known = "SELECT count(DISTINCT mailbox) FROM abide.message";
    assert_eq!(database.number(known), 3);
    // The sessions from before the panic are gone.
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE starts_with(application_name, $1)";
    let name = format!("abide {} ", database.schema());
    wait_until(|| store.is_listening() && database.rows(sessions, &[&name])[0].get::<_, i64>(0) <= 6);
}
