//! The measuring provider: it passes everything on unchanged, and counts what became of it.

mod samples;
mod spy;

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use abide_memory::InMemoryProvider;
use abide_provider::{DispatcherCapabilityFilter, ExecutionMetadata, Lane, Provider, TagFilter};
use abide_runtime::observability::{
    InstrumentedProvider, MetricsProvider, MetricsSnapshot, ObservabilityConfig,
};
use expect_test::expect;
use futures::executor::block_on;
use metrics::with_local_recorder;

use crate::recorder::Shown;
use samples::{commit, enqueue, event, finished, lease, mail, seconds, session, work};
use spy::{Mood, Spy};

const ALL_MOODS: [Mood; 4] = [Mood::Rich, Mood::Poor, Mood::Down, Mood::Refusing];

fn text(answer: impl Debug) -> String {
    format!("{answer:?}")
}

/// Calls every method once; says what they answered.
async fn call_everything(store: &dyn Provider, wait: Duration) -> Vec<String> {
    let filter = DispatcherCapabilityFilter::default_for_current_build();
    let (session, lease) = (session(), lease());
    let mut answers = vec![
        text(store.name()),
        text(store.version()),
        text(store.durability()),
        text(store.fetch_orchestration_item(seconds(5), wait, Some(&filter)).await),
        text(
            store
                .ack_orchestration_item(
                    "token",
                    3,
                    vec![event()],
                    vec![work()],
                    vec![mail(), mail()],
                    ExecutionMetadata::default(),
                    vec![],
                )
                .await,
        ),
        text(store.abandon_orchestration_item("token", Some(seconds(2)), true).await),
        text(store.read("i").await),
        text(store.read_with_execution("i", 7).await),
        text(store.append_with_execution("i", 8, vec![event()]).await),
        text(store.enqueue_for_worker(work()).await),
        text(store.fetch_work_item(seconds(5), wait, Some(&session), &TagFilter::Any).await),
        text(store.ack_work_item("token", Some(work())).await),
        text(store.renew_work_item_lock("token", seconds(9)).await),
        text(store.renew_session_lock(&["a", "b"], seconds(1), seconds(2)).await),
        text(store.cleanup_orphaned_sessions(seconds(3)).await),
        text(store.abandon_work_item("token", None, false).await),
        text(store.renew_orchestration_item_lock("token", seconds(10)).await),
        text(store.enqueue_for_orchestrator(mail(), Some(seconds(11))).await),
        text(store.as_management_capability().is_some()),
        text(store.get_custom_status("i", 12).await),
        text(store.get_kv_value("i", "key").await),
        text(store.get_kv_all_values("i").await),
        text(store.get_instance_stats("i").await),
    ];
    answers.extend([
        text(store.abilities()),
        text(store.lease_instances(samples::lease_instances(wait)).await),
        text(store.read_history_after(&lease, 13).await),
        text(store.read_kv_snapshot(&lease).await),
        text(store.commit_turns(vec![commit("a"), commit("b")]).await),
        text(store.lease_work(samples::lease_work(wait)).await),
        text(store.renew_sessions(samples::renew_sessions()).await),
        text(store.finish_work(vec![finished("a"), finished("b")]).await),
        text(store.enqueue_once(enqueue(1)).await),
        text(store.start_once(enqueue(2)).await),
        text(store.enqueue_existing(enqueue(3)).await),
        text(store.read_status("i").await),
        text(store.changes("i").is_some()),
        text(store.next_due(Lane::Work).await),
        text(store.stolen_leases().is_some()),
    ]);
    answers.extend(ask_about_blocks_and_nodes(store).await);
    answers
}

async fn ask_about_blocks_and_nodes(store: &dyn Provider) -> Vec<String> {
    vec![
        text(store.block_instance(samples::block()).await),
        text(store.hold_work(samples::hold()).await),
        text(store.begin_suspect(Lane::Work, "token").await),
        text(store.revoke_work(samples::revoke()).await),
        text(store.retry_blocked("i").await),
        text(store.read_blocks("i").await),
        text(store.read_overview("i").await),
        text(store.read_children(&["i".to_owned()]).await),
        text(store.announce_node(samples::announcement()).await),
        text(store.forget_node("n").await),
        text(store.nodes().await),
    ]
}

/// The names of all methods of the trait, from its source.
fn methods() -> Vec<&'static str> {
    let source = include_str!("../../../../abide-provider/src/provider.rs");
    let signature = |line: &'static str| {
        let line = line.strip_prefix("    ")?;
        let line = line.strip_prefix("async ").unwrap_or(line);
        line.strip_prefix("fn ")?.split(['(', '<']).next()
    };
    source.lines().filter_map(signature).collect()
}

/// What is measured around a spy, which takes a second for everything, while `code` runs.
fn measured(spy: Spy, code: impl AsyncFnOnce(&dyn Provider)) -> (String, MetricsSnapshot) {
    let recorder = Shown::default();
    let metrics = Arc::new(MetricsProvider::new(&ObservabilityConfig::default()).unwrap());
    let clock = spy.clock();
    let store = InstrumentedProvider::with_clock(Arc::new(spy), Some(Arc::clone(&metrics)), clock);
    with_local_recorder(&recorder, || block_on(code(&store)));
    (recorder.text(), metrics.snapshot())
}

#[test]
fn every_method_is_passed_on_unchanged() {
    for (mood, measures) in ALL_MOODS.into_iter().flat_map(|mood| [(mood, true), (mood, false)]) {
        // Given a spy, and another that is measured
        let plain = Spy::new(mood);
        let inner = Arc::new(Spy::new(mood));
        let metrics =
            measures.then(|| Arc::new(MetricsProvider::new(&ObservabilityConfig::default()).unwrap()));
        let store = InstrumentedProvider::new(inner.clone(), metrics);

        // When everything is called on both
        let expected = block_on(call_everything(&plain, seconds(1)));
        let answers = block_on(call_everything(&store, seconds(1)));

        // Then they heard the same, said the same, and nothing was forgotten
        assert_eq!(answers, expected, "{mood:?}");
        // The wrapper asks what the store can do; that is no call of the user's.
        let heard = |spy: &Spy| -> Vec<String> {
            spy.calls().into_iter().filter(|call| call != "abilities ()").collect()
        };
        assert_eq!(heard(&inner), heard(&plain), "{mood:?}");
        let mut called: Vec<String> =
            plain.calls().iter().map(|call| call.split(' ').next().unwrap().to_owned()).collect();
        let mut there_are = methods();
        called.sort_unstable();
        there_are.sort_unstable();
        assert_eq!(called, there_are, "call the new method here and pass it on there");
    }
}

#[test]
fn calls_that_succeed_are_measured() {
    let (text, snapshot) = measured(Spy::new(Mood::Rich), async |store| {
        let _answers = call_everything(store, Duration::ZERO).await;
    });

    expect![[r#"
        abide_lease_renewals_total{kind=instance, outcome=renewed} 1
        abide_lease_renewals_total{kind=session, outcome=renewed} 2
        abide_lease_renewals_total{kind=work, outcome=renewed} 1
        abide_provider_operation_duration_seconds{operation=abandon_orchestration_item, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=abandon_work_item, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=ack_orchestration_item, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=ack_work_item, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=announce_node, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=append_with_execution, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=begin_suspect, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=block_instance, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=cleanup_orphaned_sessions, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=commit_turn, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=enqueue_existing, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=enqueue_for_orchestrator, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=enqueue_for_worker, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=enqueue_once, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=fetch_orchestration_item, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=fetch_work_item, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=finish_work, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=forget_node, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=get_custom_status, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=get_instance_stats, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=get_kv_all_values, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=get_kv_value, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=hold_work, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=lease_instances, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=lease_work, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=next_due, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=nodes, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=read, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=read_blocks, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=read_children, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=read_history_after, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=read_kv_snapshot, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=read_overview, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=read_status, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=read_with_execution, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=renew_orchestration_item_lock, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=renew_session_lock, status=success} [1.0, 1.0]
        abide_provider_operation_duration_seconds{operation=renew_work_item_lock, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=retry_blocked, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=revoke_work, status=success} [1.0]
        abide_provider_operation_duration_seconds{operation=start_once, status=success} [1.0]
    "#]].assert_eq(&text);
    assert_eq!(snapshot, MetricsSnapshot::default());
}

#[test]
fn calls_that_fail_are_counted_by_what_became_of_them() {
    let (text, snapshot) = measured(Spy::new(Mood::Down), async |store| {
        let _answer = store.read("i").await;
        let _answer = store.next_due(Lane::Work).await;
        let _answer = store.renew_work_item_lock("token", seconds(1)).await;
        let _answer = store.lease_work(samples::lease_work(seconds(30))).await;
        let _answers = store.commit_turns(vec![commit("a"), commit("b")]).await;
    });
    expect![[r#"
        abide_lease_renewals_total{kind=work, outcome=failed} 1
        abide_provider_errors_total{operation=commit_turn, error_type=not_applied} 2
        abide_provider_errors_total{operation=lease_work, error_type=not_applied} 1
        abide_provider_errors_total{operation=next_due, error_type=not_applied} 1
        abide_provider_errors_total{operation=read, error_type=unknown} 1
        abide_provider_errors_total{operation=renew_work_item_lock, error_type=unknown} 1
        abide_provider_operation_duration_seconds{operation=commit_turn, status=error} [1.0]
        abide_provider_operation_duration_seconds{operation=lease_work, status=error} [1.0]
        abide_provider_operation_duration_seconds{operation=next_due, status=error} [1.0]
        abide_provider_operation_duration_seconds{operation=read, status=error} [1.0]
        abide_provider_operation_duration_seconds{operation=renew_work_item_lock, status=error} [1.0]
        abide_storage_errors_total{operation=commit_turn, kind=not_applied} 2
        abide_storage_errors_total{operation=lease_work, kind=not_applied} 1
        abide_storage_errors_total{operation=next_due, kind=not_applied} 1
        abide_storage_errors_total{operation=read, kind=unknown} 1
        abide_storage_errors_total{operation=renew_work_item_lock, kind=unknown} 1
    "#]]
    .assert_eq(&text);
    assert_eq!(snapshot.provider_errors, 6);

    let (text, _) = measured(Spy::new(Mood::Refusing), async |store| {
        let _answer = store.read("i").await;
        let _answer = store.next_due(Lane::Work).await;
        let _answer = store.renew_work_item_lock("token", seconds(1)).await;
        let _answer = store.renew_orchestration_item_lock("token", seconds(1)).await;
    });
    expect![[r#"
        abide_lease_renewals_total{kind=instance, outcome=lost} 1
        abide_lease_renewals_total{kind=work, outcome=lost} 1
        abide_provider_errors_total{operation=next_due, error_type=conflict} 1
        abide_provider_errors_total{operation=read, error_type=other} 1
        abide_provider_errors_total{operation=renew_orchestration_item_lock, error_type=lease_lost} 1
        abide_provider_errors_total{operation=renew_work_item_lock, error_type=lease_lost} 1
        abide_provider_operation_duration_seconds{operation=next_due, status=error} [1.0]
        abide_provider_operation_duration_seconds{operation=read, status=error} [1.0]
        abide_provider_operation_duration_seconds{operation=renew_orchestration_item_lock, status=error} [1.0]
        abide_provider_operation_duration_seconds{operation=renew_work_item_lock, status=error} [1.0]
        abide_storage_errors_total{operation=next_due, kind=conflict} 1
        abide_storage_errors_total{operation=read, kind=other} 1
        abide_storage_errors_total{operation=renew_orchestration_item_lock, kind=lease_lost} 1
        abide_storage_errors_total{operation=renew_work_item_lock, kind=lease_lost} 1
    "#]]
    .assert_eq(&text);
}

#[test]
fn waiting_is_not_slowness() {
    let lease_everything = async |store: &dyn Provider, wait| {
        let _leases = store.lease_instances(samples::lease_instances(wait)).await;
        let _leases = store.lease_work(samples::lease_work(wait)).await;
        let _lease = store.fetch_orchestration_item(seconds(5), wait, None).await;
        let _lease = store.fetch_work_item(seconds(5), wait, None, &TagFilter::Any).await;
    };
    let lines =
        |spy, wait| measured(spy, async |store| lease_everything(store, wait).await).0.lines().count();

    assert_eq!(lines(Spy::new(Mood::Poor), seconds(30)), 0, "found nothing");
    assert_eq!(lines(Spy::new(Mood::Poor), Duration::ZERO), 0);
    assert_eq!(lines(Spy::new(Mood::Rich).that_parks(), seconds(30)), 0, "found something after a while");
    assert_eq!(lines(Spy::new(Mood::Rich).that_parks(), Duration::ZERO), 4);
    assert_eq!(lines(Spy::new(Mood::Rich), seconds(30)), 4, "answers at once, whatever it is told");
    assert_eq!(lines(Spy::new(Mood::Down).that_parks(), seconds(30)), 12, "a failure is told");
}

#[test]
fn no_turns_are_no_call() {
    let (text, _) = measured(Spy::new(Mood::Rich), async |store| {
        let _answers = store.commit_turns(vec![]).await;
        let _answers = store.finish_work(vec![]).await;
        assert_eq!(store.renew_session_lock(&[], seconds(1), seconds(1)).await, Ok(2));
    });
    expect![[r#"
        abide_lease_renewals_total{kind=session, outcome=renewed} 2
        abide_provider_operation_duration_seconds{operation=renew_session_lock, status=success} [1.0]
    "#]]
    .assert_eq(&text);
}

#[test]
fn administration_is_handed_out() {
    let store = InstrumentedProvider::new(Arc::new(InMemoryProvider::new()), None);
    assert!(store.as_management_capability().is_some());
    assert!(format!("{store:?}").contains("InstrumentedProvider"));
}
