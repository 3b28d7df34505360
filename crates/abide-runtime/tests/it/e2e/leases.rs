//! §15.3, §25.6: leases are renewed in time, whatever happens meanwhile.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use abide_client::Client;
use abide_provider::{Operation, Provider};
use abide_runtime::{InvalidOptions, Runtime, RuntimeOptions, StartError};
use abide_sim::{Fault, FaultPlan, FaultStore, Gate};

use super::support::{Log, Node, Steps, World, millis, on_every_store, on_own_stores, seconds, virtually};

/// When a call was made, by the clock of the store.
#[derive(Clone, Default)]
struct Times(Arc<Mutex<Vec<Duration>>>);

impl Times {
    /// A plan by which nothing goes wrong, and which notes when this operation is called.
    fn of(&self, operation: Operation) -> FaultPlan {
        let times = self.0.clone();
        FaultPlan::none().when(move |call| {
            if call.operation == operation {
                times.lock().unwrap().push(call.at);
            }
            None
        })
    }

    fn taken(&self) -> Vec<Duration> {
        self.0.lock().unwrap().clone()
    }
}

fn asks(node: Node) -> Node {
    node.orchestration("Main", |ctx, input| async move { ctx.schedule_activity("Held", input).await })
}

/// No two calls, and neither the first nor the last, are further apart than this.
fn assert_never_later(times: &[Duration], from: Duration, until: Duration, most: Duration) {
    let all: Vec<_> = [&[from], times, &[until]].concat();
    for pair in all.windows(2) {
        assert!(pair[1] - pair[0] <= most, "{:?} then {:?}", pair[0], pair[1]);
    }
}

#[test]
fn an_activity_is_renewed_every_third_of_its_lease_at_the_latest() {
    for (lease, buffer) in [(30, 5), (30, 25), (3, 1), (1, 5), (600, 1)] {
        virtually(async |world: World| {
            if world.room().is_some() && lease > 30 {
                return; // a server would be asked six thousand times for nothing
            }
            let (log, gate, times) = (Log::new(), Gate::closed(), Times::default());
            let plan = times.of(Operation::RenewWorkItemLock);
            let store = Arc::new(FaultStore::new(world.store.clone(), world.clock.clone()).with_plan(plan));
            let node = asks(Node::new().held("Held", &log, &gate)).with(|options| {
                options.worker_lock_timeout = seconds(lease);
                options.worker_lock_renewal_buffer = seconds(buffer);
                options.session_idle_timeout = seconds(3_600);
            });
            let runtime = world.run_on(store, node).await;
            world.start("i", "Main", "x").await;
            log.has(1).await;
            let began = world.clock.monotonic();
            world.pass(seconds(10 * lease)).await;
            let ended = world.clock.monotonic();
            assert_never_later(&times.taken(), began, ended, seconds(lease) / 3 + millis(200));
            assert!(times.taken().len() <= 70, "and not all the time: {}", times.taken().len());
            gate.open();
            assert_eq!(world.end("i").await.unwrap(), "x");
            assert_eq!(log.len(), 1, "it ran once");
            runtime.shutdown(None).await;
        });
    }
}

#[test]
fn a_turn_that_takes_long_is_renewed_and_stays_ours() {
    virtually(async |world: World| {
        let (gate, times) = (Gate::closed(), Times::default());
        let plan = times.of(Operation::RenewOrchestrationItemLock);
        let store = Arc::new(FaultStore::new(world.store.clone(), world.clock.clone()).with_plan(plan));
        for operation in [Operation::CommitTurn, Operation::AckOrchestrationItem] {
            store.hold(operation, &gate);
        }
        let node = || Node::new().orchestration("Main", |_, input| async move { Ok(input) });
        let slow = world.run_on(store, node()).await;
        world.start("i", "Main", "x").await;
        gate.waiting().await;
        let rival = world.run(node()).await;
        let began = world.clock.monotonic();
        // Shorter than the store may take to answer, and longer than the lease.
        world.pass(millis(4_900)).await;
        assert_never_later(&times.taken(), began, world.clock.monotonic(), seconds(5) / 3 + millis(200));
        gate.open();
        assert_eq!(world.end("i").await.unwrap(), "x");
        assert_eq!(world.history("i").await.len(), 2);
        slow.shutdown(None).await;
        rival.shutdown(None).await;
    });
}

#[test]
fn leases_are_renewed_while_user_code_blocks_every_thread() {
    // One thread, blocked by the activity itself until its lease was renewed often enough to have run out twice.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (renewed, renewals) = mpsc::channel::<()>();
    let renewals = Arc::new(Mutex::new(renewals));
    let log = Log::new();
    runtime.block_on(async {
        let sqlite = Arc::new(abide_sqlite::SqliteProvider::new_in_memory().await.unwrap());
        let plan = FaultPlan::none().when(move |call| {
            if call.operation == Operation::RenewWorkItemLock {
                let _heard = renewed.send(());
            }
            None
        });
        let clock = Arc::new(abide_host::SystemClock::new());
        let store = Arc::new(FaultStore::new(sqlite.clone(), clock).with_plan(plan));
        let (writes, waits) = (log.clone(), renewals.clone());
        let node = Node::new().activity("Held", move |ctx, input| {
            let (log, renewals) = (writes.clone(), waits.clone());
            async move {
                log.write(format!("attempt {}", ctx.attempt()));
                for _ in 0..7 {
                    renewals.lock().unwrap().recv().unwrap();
                }
                Ok(input)
            }
        });
        let (activities, orchestrations, mut options) = asks(node).into_parts();
        options.worker_lock_timeout = millis(150);
        let node = Runtime::start_with_options(store, activities, orchestrations, options).await;
        let client = Client::new(sqlite);
        client.start_orchestration("i", "Main", "x").await.unwrap();
        let status = client.wait_for_orchestration("i", seconds(30)).await.unwrap();
        assert_eq!(crate::support::output(status), "x");
        assert_eq!(log.lines(), ["attempt 1"]);
        node.shutdown(None).await;
    });
}

#[test]
fn a_renewal_that_may_succeed_later_cancels_nothing() {
    virtually(async |world: World| {
        let (log, gate) = (Log::new(), Gate::closed());
        // Every renewal of the first twenty-five seconds fails; the lease lasts thirty.
        let until = world.clock.monotonic() + seconds(25);
        let plan = FaultPlan::none().when(move |call| {
            (call.operation == Operation::RenewWorkItemLock && call.at < until).then_some(Fault::NotApplied)
        });
        let store = Arc::new(FaultStore::new(world.store.clone(), world.clock.clone()).with_plan(plan));
        let runtime = world.run_on(store.clone(), asks(Node::new().held("Held", &log, &gate))).await;
        world.start("i", "Main", "x").await;
        log.has(1).await;
        world.pass(seconds(200)).await;
        assert!(store.fired());
        gate.open();
        assert_eq!(world.end("i").await.unwrap(), "x");
        assert_eq!(log.len(), 1);
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_lost_lease_is_told_and_the_work_runs_again() {
    virtually(async |world: World| {
        let log = Log::new();
        let writes = log.clone();
        let node = Node::new().activity("Held", move |ctx, input| {
            let log = writes.clone();
            async move {
                log.write(format!("attempt {}", ctx.attempt()));
                if ctx.attempt() == 1 {
                    ctx.cancelled().await;
                    log.write(format!("{:?}", ctx.cancellation_reason().unwrap()));
                    return Ok("of a stale holder".to_owned());
                }
                Ok(input)
            }
        });
        let plan = FaultPlan::none().at(Operation::RenewWorkItemLock, 1, Fault::LoseLease);
        let store = Arc::new(FaultStore::new(world.store.clone(), world.clock.clone()).with_plan(plan));
        let runtime = world.run_on(store, asks(node)).await;
        assert_eq!(world.start_and_end("i", "Main", "x").await.unwrap(), "x");
        let mut lines = log.has(3).await;
        lines.sort();
        assert_eq!(lines, ["LeaseLost", "attempt 1", "attempt 2"]);
        runtime.shutdown(None).await;
    });
}

#[test]
fn renewal_goes_on_through_the_acknowledgement_and_through_a_shutdown() {
    for steps in Steps::BOTH {
        virtually(async |world: World| {
            let (log, gate, acknowledging) = (Log::new(), Gate::closed(), Gate::closed());
            let store = world.faulty(steps, FaultPlan::none());
            let node = asks(Node::new().held("Held", &log, &gate)).with(|options| {
                options.worker_lock_timeout = seconds(3);
            });
            let runtime = world.run_on(store.clone(), node).await;
            world.start("i", "Main", "x").await;
            log.has(1).await;
            // The turn that asked for it is committed: what comes now is its result, in a turn or by itself.
            for operation in [Operation::CommitTurn, Operation::FinishWork, Operation::AckWorkItem] {
                store.hold(operation, &acknowledging);
            }
            let commits = store.count(Operation::CommitTurn);
            let stopping = runtime.shutdown(Some(3_600_000));
            let watching = async {
                world.pass(seconds(12)).await;
                gate.open();
                acknowledging.waiting().await;
                // The store takes longer than the lease lasts to answer.
                world.pass(seconds(4)).await;
                acknowledging.open();
            };
            futures::join!(stopping, watching);
            assert!(
                store.count(Operation::RenewWorkItemLock) >= 12,
                "{}",
                store.count(Operation::RenewWorkItemLock)
            );
            let fused = u64::from(world.messages_of_a_result(steps) == 0);
            assert_eq!(store.count(Operation::CommitTurn) - commits, fused);
            assert_eq!(log.len(), 1);
            let runtime = world.run(asks(Node::new())).await;
            assert_eq!(world.end("i").await.unwrap(), "x");
            runtime.shutdown(None).await;
        });
    }
}

#[test]
fn a_short_lease_is_renewed_in_real_time_too() {
    on_own_stores(async |world: World| {
        let (log, gate) = (Log::new(), Gate::closed());
        let store = Arc::new(FaultStore::new(world.store.clone(), world.clock.clone()));
        let node = asks(Node::new().held("Held", &log, &gate)).with(|options| {
            options.worker_lock_timeout = millis(500);
        });
        let runtime = world.run_on(store.clone(), node).await;
        world.start("i", "Main", "x").await;
        log.has(1).await;
        // Renewed often enough to have run out otherwise.
        world.until(async || store.count(Operation::RenewWorkItemLock) >= 5).await;
        gate.open();
        assert_eq!(world.end("i").await.unwrap(), "x");
        assert_eq!(log.len(), 1);
        runtime.shutdown(None).await;
    });
}

#[test]
fn an_idle_timeout_shorter_than_the_renewals_is_refused() {
    on_every_store(async |world: World| {
        let options = RuntimeOptions { session_idle_timeout: seconds(20), ..RuntimeOptions::default() };
        let store: Arc<dyn Provider> = world.store.clone();
        let refused =
            Runtime::builder().with_provider(store).with_options(options).build().await.unwrap_err();
        assert!(matches!(
            refused,
            StartError::InvalidOptions(InvalidOptions::SessionIdleTimeoutTooShort { .. })
        ));
        let text = refused.to_string();
        assert!(
            text.starts_with(
                "session_idle_timeout (20s) must be greater than worker lock renewal interval (25s)"
            ),
            "{text}"
        );
        // Nothing runs.
        let client = world.client();
        client.start_orchestration("i", "Main", "").await.unwrap();
        assert!(client.wait_for_orchestration("i", millis(20)).await.is_err());
    });
}
