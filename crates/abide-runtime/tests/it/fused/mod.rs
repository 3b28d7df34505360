//! Fused steps: a result and the turn that takes it in are one commit, where that can be done. Elsewhere nothing is lost by it.
//!
//! Every way in which a call can fail is in `faults`, where histories are compared too; here is what is written, counted.

mod alone;
mod astray;
mod refused;
mod turns;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide_model::EventKind;
use abide_provider::Operation;

use crate::lessons::scene::{Code, Scene};

/// Activities `Count`, which counts its runs and returns its input, and an orchestration `Chain` of as many as its input says, one
/// after another.
fn chain(runs: &Arc<AtomicU64>) -> Code {
    let runs = Arc::clone(runs);
    Code::new()
        .activity("Count", move |_, input| {
            runs.fetch_add(1, Ordering::Relaxed);
            async move { Ok(input) }
        })
        .orchestration("Chain", |ctx, steps| async move {
            for step in 0..steps.parse().unwrap() {
                let step: u64 = step;
                ctx.schedule_activity("Count", step.to_string()).await?;
            }
            Ok("done".to_owned())
        })
}

/// What was written: turns, tries included, and results that were told by themselves.
#[derive(Debug, PartialEq, Eq)]
struct Written {
    commits: u64,
    results: u64,
}

fn written(scene: &Scene) -> Written {
    Written {
        commits: scene.faults.count(Operation::CommitTurn),
        results: scene.faults.count(Operation::FinishWork),
    }
}

/// How many results are recorded in an execution.
async fn recorded(scene: &Scene, instance: &str) -> usize {
    scene.count(instance, 1, |kind| matches!(kind, EventKind::ActivityCompleted { .. })).await
}

/// Waits until something went wrong as planned.
async fn until_fired(scene: &Scene) {
    while !scene.faults.fired() {
        scene.pass(Duration::from_millis(1)).await;
    }
}
