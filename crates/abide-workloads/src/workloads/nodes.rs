//! W12: W1 with several processes on one store. This process only calls.

use std::time::Duration;

use super::many::STEPS;
use super::process::{Process, say_ready, until_told};
use crate::arguments::Arguments;
use crate::bench::Bench;
use crate::machine::{Machine, cpu_of};
use crate::program::Fallible;
use crate::report::Outcome;

/// A process with a runtime.
pub(crate) async fn node(arguments: &Arguments) -> Fallible<Outcome> {
    let bench = Bench::start(arguments, 0).await?;
    say_ready();
    until_told().await?;
    let mut outcome = Outcome::default();
    bench.stop(&mut outcome).await;
    Ok(Outcome::default())
}

pub(crate) async fn nodes(arguments: &Arguments) -> Fallible<Outcome> {
    // Whoever comes first makes the tables.
    let bench = Bench::without_runtime(arguments).await?;
    let mut nodes = Vec::new();
    for _ in 0..arguments.nodes {
        nodes.push(Process::start("node", arguments).await?);
    }
    let cpu_of_nodes = || -> Duration { nodes.iter().map(|node| cpu_of(&node.id().to_string())).sum() };
    let (before, nodes_before) = (Machine::now(arguments.server.as_deref()), cpu_of_nodes());
    let mut outcome = bench.caller.run_all(arguments.size, "Sequence", &STEPS.to_string()).await;
    let (after, nodes_after) = (Machine::now(arguments.server.as_deref()), cpu_of_nodes());
    let time = after.at - before.at;
    outcome.set("seconds", time.as_secs_f64());
    outcome.set_rate("orchestrations", arguments.size, time);
    outcome.set_rate("activities", arguments.size * STEPS, time);
    let cpu = after.cpu_since(&before) + nodes_after.saturating_sub(nodes_before);
    outcome.set_cpu(arguments.size, cpu, after.server_since(&before));
    for node in nodes {
        node.stop()?;
    }
    bench.stop(&mut outcome).await;
    Ok(outcome)
}
