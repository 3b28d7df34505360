//! The lane of activities when things go wrong: what counts as a try, when a result counts, and whose sessions are whose.

mod chances;

use std::time::Duration;

use crate::lessons::scene::Scene;

const HOUR: Duration = Duration::from_secs(3_600);

const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// Whether an instance is still at it.
async fn is_running(scene: &Scene, instance: &str) -> bool {
    let status = scene.client().get_orchestration_status(instance).await.unwrap();
    matches!(status, abide_model::OrchestrationStatus::Running { .. })
}
