//! Whole orchestrations, through a runtime and a client with default options: what a user waits for.
//!
//! Each workload has a store of its own.

mod arguments;
mod workloads;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use abide_sqlite::{Durability, SqliteProvider};
use arguments::{Arguments, Store};
use serde_json::{Value, json};
use workloads::Bench;

use crate::flat::Folder;
use crate::store::Fallible;
use crate::store::clock::{millis, number, process_cpu_time, rate, sleep};

pub(crate) fn main(words: impl Iterator<Item = String>) -> ExitCode {
    let arguments = match Arguments::parse(words) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            println!("{}", arguments::USAGE);
            return ExitCode::SUCCESS;
        }
        Err(complaint) => {
            eprintln!("abide-bench runtime: {complaint}\n\n{}", arguments::USAGE);
            return ExitCode::from(2);
        }
    };
    let measured = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Into::into)
        .and_then(|tokio| tokio.block_on(run(&arguments)));
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("abide-bench runtime: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Fallible<()> {
    for orchestrations in [200, 1_000, 5_000] {
        measure(arguments, "w1", async |bench| {
            let time = bench.chains(orchestrations).await?;
            Ok(json!({ "orchestrations": orchestrations, "seconds": time.as_secs_f64(),
                "orchestrations_per_second": rate(orchestrations, time).round() }))
        })
        .await?;
    }
    measure(arguments, "w2", async |bench| {
        let times = bench.one_by_one(500).await?;
        Ok(json!({ "ms": { "p50": millis(times.median()), "p99": millis(times.permille(990)) } }))
    })
    .await?;
    for activities in [1_000, 10_000] {
        measure(arguments, "w3", async |bench| {
            let time = bench.fan_out(activities).await?;
            Ok(json!({ "activities": activities, "seconds": time.as_secs_f64() }))
        })
        .await?;
    }
    measure(arguments, "w4", async |bench| {
        let activities = 1_000;
        let time = bench.sequence(activities).await?;
        Ok(json!({ "activities": activities, "ms_per_activity": millis(time) / number(activities) }))
    })
    .await?;
    measure(arguments, "w9", async |_| Ok(idle(arguments.idle).await)).await
}

/// Runs a workload on a store of its own, and prints what it came to.
async fn measure(
    arguments: &Arguments,
    workload: &str,
    run: impl AsyncFnOnce(&Bench) -> Fallible<Value>,
) -> Fallible<()> {
    if !arguments.wants(workload) {
        return Ok(());
    }
    let folder = Folder::new()?;
    let file = format!("sqlite:{}", folder.path().join("store.db").display());
    let builder = match arguments.store {
        Store::Full => SqliteProvider::builder(&file),
        Store::Normal => SqliteProvider::builder(&file).durability(Durability::Normal),
        Store::Memory => SqliteProvider::builder("sqlite::memory:"),
    };
    let bench = Bench::start(Arc::new(builder.open().await?)).await;
    let measured = run(&bench).await;
    bench.stop().await;
    println!("{}", json!({ "bench": "runtime", "workload": workload, "result": measured? }));
    Ok(())
}

/// What a runtime with nothing to do uses, after its start.
async fn idle(time: Duration) -> Value {
    let before = process_cpu_time();
    sleep(time).await;
    let used = before.zip(process_cpu_time()).map(|(before, after)| after.saturating_sub(before));
    json!({ "seconds": time.as_secs_f64(), "cpu_seconds": used.map(|used| used.as_secs_f64()) })
}
