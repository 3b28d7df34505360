//! How soon a running activity hears that its instance was cancelled: in one process, and between two on one file.
//!
//! From before the call of `cancel_instance` until after the await of `cancelled` in the activity.

mod arguments;
mod program;
mod second;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use abide::runtime::Runtime;
use abide::{Client, RuntimeOptions};
use abide_sqlite::SqliteProvider;
use arguments::Arguments;
use futures::StreamExt as _;
use futures::channel::mpsc::{UnboundedReceiver, unbounded};
use futures::future::{Either, select};
use program::{Say, Word, activities, orchestrations};
use second::Second;
use serde_json::json;

use crate::flat::Folder;
use crate::program::{Program, Verdict, block_on};
use crate::store::Fallible;
use crate::store::clock::{Stopwatch, Times, millis, sleep};

/// Nothing that is measured takes so long, unless it hangs.
const TOO_LONG: Duration = Duration::from_secs(60);

pub(crate) fn main(words: impl Iterator<Item = String>) -> ExitCode {
    let program = Program { name: "abide-bench cancel", usage: arguments::USAGE };
    program.run(Arguments::parse(words), |arguments| block_on(run(arguments)))
}

async fn run(arguments: Arguments) -> Fallible<Verdict> {
    let samples = match arguments {
        Arguments::Measure { samples } => samples,
        Arguments::Work { store } => {
            second::work(&store).await?;
            return Ok(Verdict::Met);
        }
    };
    let one = report("one", &in_one_process(samples).await?, Duration::from_millis(50));
    let two = report("two", &between_two_processes(samples).await?, Duration::from_millis(500));
    Ok(if one == two { one } else { Verdict::Missed })
}

async fn in_one_process(samples: u32) -> Fallible<Times> {
    let folder = Folder::new()?;
    let (ear, say) = Ear::new();
    let store = Arc::new(SqliteProvider::new(&file_in(&folder), None).await?);
    let runtime = Runtime::start_with_store(store.clone(), activities(say), orchestrations()).await;
    let times = sample(&Client::new(store), ear, samples).await;
    runtime.shutdown(None).await;
    times
}

async fn between_two_processes(samples: u32) -> Fallible<Times> {
    let folder = Folder::new()?;
    let (mut ear, say) = Ear::new();
    let store = Arc::new(SqliteProvider::new(&file_in(&folder), None).await?);
    let second = Second::start(&file_in(&folder), Arc::clone(&say))?;
    ear.hears(Word::Ready).await?;
    // All activities are for the second process.
    let options = RuntimeOptions { worker_concurrency: 0, ..RuntimeOptions::default() };
    let runtime =
        Runtime::start_with_options(store.clone(), activities(say), orchestrations(), options).await;
    let times = sample(&Client::new(store), ear, samples).await;
    runtime.shutdown(None).await;
    second.stop()?;
    times
}

fn file_in(folder: &Folder) -> String {
    format!("sqlite:{}", folder.path().join("store.db").display())
}

/// Cancels one instance after the other; says how long each took to hear.
async fn sample(client: &Client, mut ear: Ear, samples: u32) -> Fallible<Times> {
    let mut times = Vec::new();
    for number in 0..samples {
        let instance = format!("i-{number}");
        client.start_orchestration(&instance, "Main", "").await?;
        ear.hears(Word::Began).await?;
        // So that it does not always come at the same moment between two looks at the file.
        sleep(Duration::from_millis(u64::from(number * 37 % 100))).await;
        let before = ear.watch.elapsed();
        client.cancel_instance(&instance, "measured").await?;
        times.push(ear.hears(Word::Heard).await?.saturating_sub(before));
        client.wait_for_orchestration(&instance, TOO_LONG).await?;
    }
    Ok(times.into())
}

/// Hears what activities say, with the time at which they did.
struct Ear {
    watch: Stopwatch,
    said: UnboundedReceiver<(Word, Duration)>,
}

impl Ear {
    fn new() -> (Self, Say) {
        let watch = Stopwatch::start();
        let (sender, said) = unbounded();
        let say = move |word| {
            // Nobody listens any more when everything is measured.
            let _gone = sender.unbounded_send((word, watch.elapsed()));
        };
        (Self { watch, said }, Arc::new(say))
    }

    /// Waits for this word, and says when it came.
    async fn hears(&mut self, word: Word) -> Fallible<Duration> {
        loop {
            match select(self.said.next(), Box::pin(sleep(TOO_LONG))).await {
                Either::Left((Some((said, at)), _)) if said == word => return Ok(at),
                Either::Left((Some(_), _)) => {}
                Either::Left((None, _)) | Either::Right(_) => {
                    return Err(format!("'{}' was not heard in {TOO_LONG:?}", word.line()).into());
                }
            }
        }
    }
}

fn report(processes: &str, times: &Times, target: Duration) -> Verdict {
    let p99 = times.permille(990);
    let verdict = if p99 < target { Verdict::Met } else { Verdict::Missed };
    let line = json!({
        "bench": "cancel",
        "processes": processes,
        "ms": { "p50": millis(times.median()), "p99": millis(p99), "max": millis(times.longest()) },
        "target_p99_ms": millis(target),
        "met": verdict == Verdict::Met,
    });
    println!("{line}");
    verdict
}
