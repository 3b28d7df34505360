//! Two nodes, one idle: what is enqueued on the other runs on it almost at once.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide::providers::Provider;
use abide::runtime::Runtime;
use abide::runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use abide::seams::Clock;
use abide::{ActivityContext, Client, OrchestrationContext, RuntimeOptions};
use abide_host::SystemClock;

use crate::support::database::Database;
use crate::support::site::Site;
use crate::support::wait::PATIENCE;

const TRIES: usize = 50;

/// What is promised. It holds for most tries: on a machine that is busy with other tests, some wait for a processor.
const AT_ONCE: Duration = Duration::from_millis(50);

/// Every try is much faster than looking for what nobody told, which is done every 5 s.
const WITHOUT_LOOKING: Duration = Duration::from_secs(2);

/// Tells when code of a name ran, on one clock for all.
#[derive(Clone)]
struct Witness {
    clock: SystemClock,
    saw: Arc<Mutex<Sender<(&'static str, Duration)>>>,
}

impl Witness {
    fn new() -> (Self, Receiver<(&'static str, Duration)>) {
        let (saw, seen) = channel();
        (Self { clock: SystemClock::new(), saw: Arc::new(Mutex::new(saw)) }, seen)
    }

    fn see(&self, what: &'static str) {
        self.saw.lock().unwrap().send((what, self.clock.monotonic())).unwrap();
    }

    fn orchestrations(&self) -> OrchestrationRegistry {
        let (plain, with_work) = (self.clone(), self.clone());
        OrchestrationRegistry::builder()
            .register("Plain", move |_: OrchestrationContext, input: String| {
                plain.see("turn");
                async move { Ok(input) }
            })
            .register("WithWork", move |ctx: OrchestrationContext, input: String| {
                with_work.see("turn");
                async move { ctx.schedule_activity("Work", input).await }
            })
            .build()
    }

    fn activities(&self) -> ActivityRegistry {
        let work = self.clone();
        let activity = move |_: ActivityContext, input: String| {
            work.see("work");
            async move { Ok(input) }
        };
        ActivityRegistry::builder().register("Work", activity).build()
    }
}

#[test]
fn what_one_node_enqueues_runs_on_the_other_within_50_ms() {
    let Some(database) = Database::shared() else { return };
    let site = Site::on("two", database);
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    threads.block_on(async {
        let clock = Arc::new(SystemClock::new());
        let (here, there) = (site.store().open(clock.clone()).await, site.store().open(clock).await);
        let (here, there) = (here.unwrap(), there.unwrap());
        let (witness, seen) = Witness::new();
        let client = Client::new(Arc::clone(&here));

        let all = RuntimeOptions::default();
        let other = start(there, &witness, all.clone()).await;
        let starts =
            tries(&client, &witness, "Plain", |begun| first(&seen, ["turn"])[0].saturating_sub(begun)).await;
        are_fast("an orchestration that a client starts on the other node", &starts);

        // Nobody here does activities; whoever started an orchestration here runs its turns here.
        let one = start(here, &witness, RuntimeOptions { worker_concurrency: 0, ..all }).await;
        let work = tries(&client, &witness, "WithWork", |_| {
            let [asked, ran] = first(&seen, ["turn", "work"]);
            ran.saturating_sub(asked)
        })
        .await;
        are_fast("an activity that the other node asks for", &work);
        one.shutdown(None).await;
        other.shutdown(None).await;
    });
    assert_eq!(site.complaints(), Vec::<String>::new());
}

/// When each of these was seen for the first time since the last look. (Whoever takes an orchestration over runs its code again.)
fn first<const N: usize>(seen: &Receiver<(&'static str, Duration)>, what: [&str; N]) -> [Duration; N] {
    let all: Vec<_> = seen.try_iter().collect();
    what.map(|what| all.iter().find(|(name, _)| *name == what).expect("it was seen").1)
}

async fn start(store: Arc<dyn Provider>, witness: &Witness, options: RuntimeOptions) -> Arc<Runtime> {
    let builder = Runtime::builder().with_provider(store).with_options(options);
    let builder = builder.with_orchestrations(witness.orchestrations());
    builder.with_activities(witness.activities()).build().await.unwrap()
}

/// How long each took, of as many as there are; `measure` is told when it was begun.
async fn tries(
    client: &Client,
    witness: &Witness,
    orchestration: &str,
    measure: impl Fn(Duration) -> Duration,
) -> Vec<Duration> {
    let mut took = Vec::new();
    for number in 0..TRIES {
        let instance = format!("{orchestration}-{number}");
        let begun = witness.clock.monotonic();
        client.start_orchestration(&instance, orchestration, "").await.unwrap();
        // Everybody has nothing to do when the next one comes.
        client.wait_for_orchestration(&instance, PATIENCE).await.unwrap();
        took.push(measure(begun));
    }
    took.sort_unstable();
    took
}

fn are_fast(what: &str, took: &[Duration]) {
    let (median, worst) = (took[took.len() / 2], took[took.len() - 1]);
    println!("{what}: median {median:?}, worst {worst:?} of {}", took.len());
    assert!(median < AT_ONCE, "{what}: {took:?}");
    assert!(worst < WITHOUT_LOOKING, "{what}: {took:?}");
}
