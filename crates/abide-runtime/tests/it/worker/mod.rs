//! The lane of activities when things go wrong: what counts as a try, when a result counts, and whose sessions are whose.

mod beginning;
mod chances;
mod finishing;
mod sessions;

use std::time::Duration;

use abide_model::Either2;

use crate::lessons::scene::{Code, Scene};

const HOUR: Duration = Duration::from_secs(3_600);

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Whether an instance is still at it.
async fn is_running(scene: &Scene, instance: &str) -> bool {
    let status = scene.client().get_orchestration_status(instance).await.unwrap();
    matches!(status, abide_model::OrchestrationStatus::Running { .. })
}

/// An orchestration `Race`: an activity of this name, dropped when `go` is raised.
fn race(code: Code, activity: &'static str) -> Code {
    code.orchestration("Race", move |ctx, _| async move {
        let work = ctx.schedule_activity(activity, "");
        let signal = ctx.schedule_wait("go");
        Ok(match ctx.select2(work, signal).await {
            Either2::First(result) => format!("{result:?}"),
            Either2::Second(_) => "dropped".to_owned(),
        })
    })
}
