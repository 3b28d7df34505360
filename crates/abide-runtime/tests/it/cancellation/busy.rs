//! Activities that never yield: they have a thread to themselves, and nothing of theirs can be polled. In real time.

use std::sync::{Arc, Mutex, PoisonError, mpsc};

use abide_model::{Spawn, Task};
use abide_provider::{Operation, Provider};
use abide_runtime::{ActivityContext, Runtime};
use abide_sim::{FaultStore, Gate, RequiredOnly};
use tracing::instrument::WithSubscriber as _;

use crate::e2e::support::{Log, Node, World, in_real_time, millis, seconds};
use crate::lessons::listener::Listener;

/// An activity that does nothing but look whether it should stop.
fn looks(log: &Log) -> Node {
    let log = log.clone();
    let work = move |ctx: &ActivityContext| {
        log.write("began");
        while !ctx.is_cancelled() {
            std::thread::yield_now();
        }
        log.write(format!("{:?}", ctx.cancellation_reason()));
    };
    let node = Node::new().activity("Busy", move |ctx, _| {
        work(&ctx);
        async { Ok("stopped".to_owned()) }
    });
    node.orchestration("Main", |ctx, _| async move { ctx.schedule_activity("Busy", "").await })
}

/// Cancels an instance whose activity runs; the reason that was heard.
async fn cancelled(world: &World, log: &Log) -> String {
    world.start("i", "Main", "").await;
    log.has(1).await;
    world.client().cancel_instance("i", "why").await.unwrap();
    log.has(2).await[1].clone()
}

const ENDED: &str = "Some(OrchestrationEnded { status: Failed })";

#[test]
fn it_hears_what_this_process_cancels() {
    in_real_time(async |world: World| {
        let log = Log::new();
        let runtime = world.run(looks(&log)).await;
        assert_eq!(cancelled(&world, &log).await, ENDED);
        runtime.shutdown(None).await;
    });
}

#[test]
fn it_hears_what_another_process_cancels() {
    in_real_time(async |world: World| {
        let (log, gate) = (Log::new(), Gate::closed());
        let other = world.another().await;
        let takes_no_turn = Arc::new(FaultStore::new(other, world.clock.clone()));
        takes_no_turn.hold(Operation::LeaseInstances, &gate);
        let works = world.run_on(takes_no_turn, looks(&log)).await;
        let decides = world.run(looks(&log).with(|options| options.worker_concurrency = 0)).await;
        assert_eq!(cancelled(&world, &log).await, ENDED);
        gate.open();
        for runtime in [works, decides] {
            runtime.shutdown(None).await;
        }
    });
}

/// The store says nothing: a renewal finds out.
#[test]
fn it_hears_what_a_renewal_finds_out() {
    in_real_time(async |world: World| {
        let log = Log::new();
        let store: Arc<dyn Provider> = Arc::new(RequiredOnly::new(world.store.clone()));
        let node = looks(&log).with(|options| options.worker_lock_timeout = seconds(3));
        let runtime = world.run_on(store, node).await;
        assert_eq!(cancelled(&world, &log).await, ENDED);
        runtime.shutdown(None).await;
    });
}

#[test]
fn it_hears_of_a_shutdown_and_what_it_returns_counts() {
    in_real_time(async |world: World| {
        let log = Log::new();
        let runtime = world.run(looks(&log)).await;
        world.start("i", "Main", "").await;
        log.has(1).await;
        runtime.shutdown(Some(30_000)).await;
        assert_eq!(log.lines(), ["began", "Some(Shutdown)"]);
        let runtime = world.run(looks(&log)).await;
        assert_eq!(world.end("i").await.unwrap(), "stopped");
        runtime.shutdown(None).await;
    });
}

/// Tasks on tokio, and threads on which a listener hears what is said.
struct Heard {
    handle: tokio::runtime::Handle,
    listener: Listener,
}

impl Spawn for Heard {
    fn spawn(&self, _: &'static str, task: Task) {
        let _task = self.handle.spawn(task);
    }

    fn spawn_apart(&self, name: &'static str, task: Task) {
        let task = task.with_subscriber(self.listener.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let thread = std::thread::Builder::new().name(name.to_owned());
        let _thread = thread.spawn(move || runtime.block_on(task)).unwrap();
    }
}

#[test]
fn the_slot_of_one_that_does_not_look_is_free_after_the_grace_and_the_log_names_it() {
    in_real_time(async |world: World| {
        let (log, listener) = (Log::new(), Listener::of_warnings());
        let (release, held) = mpsc::channel::<()>();
        let (writes, held) = (log.clone(), Arc::new(Mutex::new(held)));
        let node = Node::new()
            .activity("Deaf", move |_, _| {
                writes.write("began");
                let _released = held.lock().unwrap_or_else(PoisonError::into_inner).recv();
                async { Ok("too late".to_owned()) }
            })
            .orchestration("Main", |ctx, _| async move { ctx.schedule_activity("Deaf", "").await })
            .orchestration("Next", |ctx, input| async move { ctx.schedule_activity("Echo", input).await })
            .with(|options| {
                options.worker_concurrency = 1;
                options.activity_cancellation_grace_period = millis(50);
            });
        let (activities, orchestrations, options) = node.into_parts();
        let tasks = Heard { handle: tokio::runtime::Handle::current(), listener: listener.clone() };
        let builder = Runtime::builder().with_provider(world.store.clone()).with_options(options);
        let builder = builder.with_activities(activities).with_orchestrations(orchestrations);
        let runtime = builder.with_spawn(Arc::new(tasks)).build().await.unwrap();

        world.start("i", "Main", "").await;
        log.has(1).await;
        world.client().cancel_instance("i", "why").await.unwrap();
        let (took, next) = world.time(world.start_and_end("next", "Next", "x")).await;

        assert_eq!(next.unwrap(), "x", "while the thread is still blocked");
        assert!(took <= seconds(5), "{took:?}");
        let lines = listener.lines();
        let complaints: Vec<_> = lines.iter().filter(|line| line.contains("did not stop in time")).collect();
        let [complaint] = complaints[..] else { panic!("{lines:?}") };
        assert!(
            complaint.contains("instance_id=i ") && complaint.contains("activity_name=Deaf "),
            "{complaint}"
        );
        assert!(complaint.contains("another takes its slot"), "{complaint}");
        release.send(()).unwrap();
        runtime.shutdown(None).await;
        assert_eq!(world.end("i").await.unwrap_err(), "canceled: why");
    });
}
