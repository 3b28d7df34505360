//! A role that owns the schema, and one that only works in it: the statements of the guide are enough, as they are written there.

use std::sync::Arc;
use std::time::Duration;

use abide_host::SystemClock;
use abide_model::{EventKind, PruneOptions, WorkItem};
use abide_postgres::{OpenError, PostgresProvider};
use abide_provider::{
    InstanceFilter, InstanceLease, LeaseInstances, LeaseWork, Provider as _, ProviderAdmin,
    SessionFetchConfig, TagFilter, Turn,
};
use abide_throwaway::{Settings, own};
use futures::executor::block_on;

use crate::support::database::{Database, wait_until};
use crate::support::items::{activity, commit, completed, event, first_turn, signal, start};

const GUIDE: &str = include_str!("../../../../docs/guide/postgresql.md");

const LONG: Duration = Duration::from_secs(60);

/// As the guide calls it.
const SCHEMA: &str = "orders";

#[test]
fn a_role_with_the_grants_of_the_guide_does_everything_and_creates_nothing() {
    let Some(server) = own(&Settings::common()).unwrap() else { return };
    let admin = Database::at(server.url());
    admin.run(
        "CREATE ROLE app LOGIN PASSWORD 'secret'; CREATE ROLE worker LOGIN PASSWORD 'secret';
         REVOKE ALL ON DATABASE postgres FROM PUBLIC; REVOKE ALL ON SCHEMA public FROM PUBLIC;
         GRANT CONNECT ON DATABASE postgres TO app, worker",
    );
    admin.run(statements_of_guide("CREATE SCHEMA"));
    // The owner of the schema, who may create nothing else either, brings it up to date, and lets the other in.
    drop(open(&admin, "app").unwrap());
    let app = Database::at(url(&admin, "app"));
    let refused = open(&admin, "worker").map(|store| store.schema().to_owned()).unwrap_err();
    assert!(refused.to_string().contains("42501"), "{refused}");
    app.run(statements_of_guide("GRANT USAGE ON SCHEMA"));

    let store = open(&admin, "worker").unwrap();
    wait_until(|| store.is_listening());
    block_on(work(&store));
    block_on(look_around_and_clean_up(&store));

    // Those who came after the grants are usable too; and nobody can create anything.
    app.run("CREATE TABLE orders.later (no bigint); CREATE SEQUENCE orders.later_number");
    let rights = "SELECT has_table_privilege('worker', 'orders.later', 'SELECT')
                         AND has_table_privilege('worker', 'orders.later', 'INSERT')
                         AND has_table_privilege('worker', 'orders.later', 'UPDATE')
                         AND has_table_privilege('worker', 'orders.later', 'DELETE')
                         AND has_sequence_privilege('worker', 'orders.later_number', 'USAGE'),
                         has_schema_privilege('worker', 'orders', 'CREATE')
                         OR has_database_privilege('worker', 'postgres', 'CREATE')";
    let row = &admin.rows(rights, &[])[0];
    assert!(row.get::<_, bool>(0), "a later table is closed to the worker");
    assert!(!row.get::<_, bool>(1), "the worker can create something");
}

/// The text between the fences that begins with these words.
fn statements_of_guide(first_words: &str) -> &'static str {
    let begin = GUIDE.find(&format!("```sql\n{first_words}")).expect("the guide has it") + "```sql\n".len();
    let text = &GUIDE[begin..];
    &text[..text.find("```").expect("it ends")]
}

fn url(admin: &Database, role: &str) -> String {
    let (_, place) = admin.url().split_once('@').unwrap();
    format!("postgres://{role}:secret@{place}")
}

fn open(admin: &Database, role: &str) -> Result<PostgresProvider, OpenError> {
    let builder = PostgresProvider::builder(&url(admin, role)).schema(SCHEMA);
    block_on(builder.clock(Arc::new(SystemClock::new())).open())
}

/// An instance from its start to its end, with an activity in a session.
async fn work(store: &PostgresProvider) {
    store.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    store.enqueue_for_orchestrator(signal("a"), Some(LONG)).await.unwrap();
    let turn = lease(store).await;
    store.renew_orchestration_item_lock(&turn.token, LONG).await.unwrap();
    let WorkItem::ActivityExecute { instance, execution_id, id, name, input, tag, .. } = activity("a", 3)
    else {
        panic!("an activity")
    };
    let session_id = Some("s".to_owned());
    let in_session = WorkItem::ActivityExecute { instance, execution_id, id, name, input, session_id, tag };
    let asked = first_turn("a", vec![activity("a", 2), in_session]);
    store.commit_turns(vec![commit(&turn, asked)]).await.remove(0).unwrap();

    let session = SessionFetchConfig { owner_id: "node".to_owned(), lock_timeout: LONG };
    let request = LeaseWork {
        limit: 2,
        lease_for: LONG,
        wait: Duration::ZERO,
        session: Some(session),
        tags: TagFilter::DefaultOnly,
        serving: None,
    };
    let mut leased = store.lease_work(request).await.unwrap();
    assert_eq!(leased.len(), 2);
    assert_eq!(store.renew_session_lock(&["node"], LONG, LONG).await.unwrap(), 1);
    let (second, first) = (leased.pop().unwrap(), leased.pop().unwrap());
    store.renew_work_item_lock(&first.token, LONG).await.unwrap();
    store.ack_work_item(&first.token, Some(completed("a", 2))).await.unwrap();
    store.abandon_work_item(&second.token, None, false).await.unwrap();

    let turn = lease(store).await;
    let end = event("a", 2, EventKind::OrchestrationCompleted { output: "done".to_owned() });
    let end = commit(&turn, Turn::of_past(1, vec![end]));
    store.commit_turns(vec![end]).await.remove(0).unwrap();
    store.cleanup_orphaned_sessions(Duration::ZERO).await.unwrap();
}

async fn lease(store: &PostgresProvider) -> InstanceLease {
    let request =
        LeaseInstances { limit: 1, lease_for: LONG, wait: Duration::ZERO, capabilities: None, serving: None };
    store.lease_instances(request).await.unwrap().pop().expect("an instance to lease")
}

async fn look_around_and_clean_up(store: &PostgresProvider) {
    assert_eq!(store.list_instances_by_status("Completed").await.unwrap(), ["a"]);
    assert_eq!(ProviderAdmin::read_history(store, "a").await.unwrap().len(), 2);
    store.get_system_metrics().await.unwrap();
    store.get_queue_depths().await.unwrap();
    store.get_instance_stats("a").await.unwrap();
    store.get_instance_tree("a").await.unwrap();
    let options = PruneOptions { keep_last: Some(1), ..PruneOptions::default() };
    store.prune_executions("a", options).await.unwrap();
    store.delete_instance("a", false).await.unwrap();
    store.enqueue_for_orchestrator(start("b"), None).await.unwrap();
    let turn = lease(store).await;
    let turn = commit(&turn, first_turn("b", Vec::new()));
    store.commit_turns(vec![turn]).await.remove(0).unwrap();
    store.delete_instance("b", true).await.unwrap();
    store.delete_instance_bulk(InstanceFilter::default()).await.unwrap();
    assert!(store.list_instances().await.unwrap().is_empty());
}
