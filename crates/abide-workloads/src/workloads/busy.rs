//! W2 beside other load on the same runtime: nobody may have to wait for everybody else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use durable::OrchestrationStatus;
use tokio::task::JoinHandle;

use super::many::{STEPS, samples};
use crate::arguments::Arguments;
use crate::bench::{Bench, PAUSE};
use crate::clock;
use crate::program::Fallible;
use crate::report::Outcome;

/// How many orchestrations are always under way.
const UNDER_WAY: u64 = 500;
/// How many send to the flooded instance.
const SENDERS: u64 = 8;

/// What the load has done, and whether it should go on.
#[derive(Default)]
struct Load {
    is_over: AtomicBool,
    done: AtomicU64,
    failed: AtomicU64,
}

/// One at a time, while many others are under way all the time.
pub(crate) async fn beside_many(arguments: &Arguments) -> Fallible<Outcome> {
    let bench = Bench::start(arguments, 0).await?;
    let load = Arc::new(Load::default());
    let one_of_many = |which: u64| {
        let (caller, load) = (bench.caller.clone(), Arc::clone(&load));
        clock::spawn(async move {
            for round in 0_u64.. {
                if load.is_over.load(Relaxed) {
                    break;
                }
                let instance = format!("load-{which}-{round}");
                let ended = caller.run(&instance, "Sequence", &STEPS.to_string()).await;
                if ended.is_ok() { &load.done } else { &load.failed }.fetch_add(1, Relaxed);
            }
        })
    };
    let all: Vec<_> = (0..UNDER_WAY).map(one_of_many).collect();
    let begin = clock::now();
    // All of them have begun, and the slots are taken.
    while load.done.load(Relaxed) + load.failed.load(Relaxed) < UNDER_WAY / 10 {
        clock::sleep(PAUSE).await;
    }
    let mut outcome = samples(arguments, &bench.caller).await;
    outcome.set_rate("load_orchestrations", load.done.load(Relaxed), begin.elapsed());
    end_of(&load, all, &mut outcome).await;
    bench.stop(&mut outcome).await;
    Ok(outcome)
}

/// Those who make the load come to their end: none of them may hang.
async fn end_of(load: &Load, all: Vec<JoinHandle<()>>, outcome: &mut Outcome) {
    load.is_over.store(true, Relaxed);
    for one in all {
        outcome.note(one.await.map_err(|error| error.to_string()));
    }
    outcome.failures += load.failed.load(Relaxed);
}

/// One at a time, while one instance gets more messages than it can read.
pub(crate) async fn beside_a_flood(arguments: &Arguments) -> Fallible<Outcome> {
    let bench = Bench::start(arguments, 0).await?;
    let load = Arc::new(Load::default());
    bench.caller.start("flooded", "Reader", "").await?;
    let sender = |_| {
        let (client, load) = (bench.caller.client.clone(), Arc::clone(&load));
        clock::spawn(async move {
            while !load.is_over.load(Relaxed) {
                let sent = client.enqueue_event("flooded", "flood", "message").await;
                if sent.is_ok() { &load.done } else { &load.failed }.fetch_add(1, Relaxed);
                // A store that answers at once would leave no thread to anybody else.
                clock::let_others_go_first().await;
            }
        })
    };
    let all: Vec<_> = (0..SENDERS).map(sender).collect();
    let begin = clock::now();
    clock::sleep(PAUSE * 50).await;
    let mut outcome = samples(arguments, &bench.caller).await;
    outcome.set_rate("messages", load.done.load(Relaxed), begin.elapsed());
    end_of(&load, all, &mut outcome).await;
    let flooded = bench.caller.client.get_orchestration_status("flooded").await;
    if !matches!(flooded, Ok(OrchestrationStatus::Running { .. })) {
        outcome.fail(format!("the flooded instance does not read any more: {flooded:?}"));
    }
    bench.stop(&mut outcome).await;
    Ok(outcome)
}
