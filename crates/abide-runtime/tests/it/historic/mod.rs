//! Weaknesses.

use std::time::Duration;

use crate::lessons::scene::{Code, Scene};

mod blast;
mod files;
mod kin;
mod mail;
mod odd_store;
mod outages;
mod replay;
mod stopping;

/// Runs an instance to its end on nodes that each die after a turn, and of which each knows what `code` says at that time.
async fn on_dying_nodes(
    scene: &Scene,
    instance: &str,
    mut code: impl FnMut() -> Code,
) -> Result<String, String> {
    let seen = |scene: &Scene| {
        let dump = scene.world.memory.dump();
        let it = dump.instances.get(instance).filter(|it| it.is_instance);
        it.map(|it| (it.execution, it.last_event_id, it.status.clone()))
    };
    loop {
        let before = seen(scene);
        let doomed = scene.doomed_node(code()).await;
        while seen(scene) == before {
            scene.pass(Duration::from_millis(10)).await;
        }
        doomed.kill();
        doomed.all_ended().await;
        let status = seen(scene).and_then(|(_, _, status)| status);
        if status.is_some_and(|status| status == "Completed" || status == "Failed") {
            return scene.end_of(instance).await;
        }
    }
}
