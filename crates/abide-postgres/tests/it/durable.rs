//! What is acknowledged is on the server's disk, also where the server's default is not to wait for it. Leases need not be.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use abide_host::SystemClock;
use abide_model::EventKind;
use abide_postgres::PostgresProvider;
use abide_provider::{InstanceLease, LeaseInstances, LeaseWork, Provider as _, TagFilter, Turn};
use abide_throwaway::{Settings, own};
use futures::executor::block_on;

use crate::support::database::Database;
use crate::support::items::{activity, commit, completed, event, first_turn, start};

const LONG: Duration = Duration::from_secs(60);

/// Notes what holds when a transaction commits: a trigger that is put off until then.
const WITNESS: &str = "
    CREATE TABLE abide.seen (what text, setting text);
    GRANT ALL ON abide.seen TO PUBLIC;
    CREATE FUNCTION abide.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO abide.seen VALUES (TG_ARGV[0], current_setting('synchronous_commit')); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER note AFTER INSERT ON abide.message DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION abide.note('message');
    CREATE CONSTRAINT TRIGGER note AFTER INSERT ON abide.turn DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION abide.note('turn');
    CREATE CONSTRAINT TRIGGER note AFTER DELETE ON abide.work DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION abide.note('finished work');
    CREATE CONSTRAINT TRIGGER note AFTER UPDATE ON abide.mailbox DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (NEW.lease IS NOT NULL AND OLD.leased_until IS DISTINCT FROM NEW.leased_until)
        EXECUTE FUNCTION abide.note('lease of an instance');
    CREATE CONSTRAINT TRIGGER note_lease AFTER UPDATE ON abide.work DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (NEW.lease IS NOT NULL AND OLD.leased_until IS DISTINCT FROM NEW.leased_until)
        EXECUTE FUNCTION abide.note('lease of work');";

#[test]
fn what_is_acknowledged_is_on_the_disk_whatever_the_role_has_as_its_default() {
    let Some(server) = own(&Settings::common()).unwrap() else { return };
    let database = Database::at(server.url());
    database.run(
        "CREATE ROLE careless LOGIN PASSWORD 'secret'; ALTER ROLE careless SET synchronous_commit = off;
         GRANT CREATE ON DATABASE postgres TO careless",
    );
    let (_, place) = database.url().split_once('@').unwrap();
    let url = format!("postgres://careless:secret@{place}");
    // One connection: what a lease sets for itself must not outlive it.
    let builder = PostgresProvider::builder(&url).schema(database.schema()).connections(1);
    let store = block_on(builder.clock(Arc::new(SystemClock::new())).open()).unwrap();
    database.run(WITNESS);
    // The server of the tests runs without fsync, and the store says so.
    assert_eq!(store.durability(), Some("synchronous_commit=on, fsync=off"));

    block_on(run(&store, "a"));

    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in database.rows("SELECT what, setting FROM abide.seen", &[]) {
        seen.entry(row.get(0)).or_default().insert(row.get(1));
    }
    let expected = [
        ("finished work", "on"),
        ("lease of an instance", "off"),
        ("lease of work", "off"),
        ("message", "on"),
        ("turn", "on"),
    ];
    let expected = expected.map(|(what, setting)| (what.to_owned(), BTreeSet::from([setting.to_owned()])));
    assert_eq!(seen, BTreeMap::from(expected));
}

/// A start, a turn that asks for an activity, its result, and the end; with everything that is renewed on the way.
async fn run(store: &PostgresProvider, id: &str) {
    store.enqueue_for_orchestrator(start(id), None).await.unwrap();
    let turn = lease(store).await;
    store.renew_orchestration_item_lock(&turn.token, 2 * LONG).await.unwrap();
    let asked = commit(&turn, first_turn(id, vec![activity(id, 2)]));
    store.commit_turns(vec![asked]).await.remove(0).unwrap();
    let (wait, tags) = (Duration::ZERO, TagFilter::DefaultOnly);
    let work = LeaseWork { limit: 1, lease_for: LONG, wait, session: None, tags, serving: None };
    let work = store.lease_work(work).await.unwrap().remove(0);
    store.renew_work_item_lock(&work.token, 2 * LONG).await.unwrap();
    store.ack_work_item(&work.token, Some(completed(id, 2))).await.unwrap();
    let turn = lease(store).await;
    let end = event(id, 2, EventKind::OrchestrationCompleted { output: "done".to_owned() });
    let end = commit(&turn, Turn::of_past(1, vec![end]));
    store.commit_turns(vec![end]).await.remove(0).unwrap();
}

async fn lease(store: &PostgresProvider) -> InstanceLease {
    let request =
        LeaseInstances { limit: 1, lease_for: LONG, wait: Duration::ZERO, capabilities: None, serving: None };
    store.lease_instances(request).await.unwrap().remove(0)
}
