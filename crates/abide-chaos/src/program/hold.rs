//! Waiting for the driver: code that goes on when a file is there.
//!
//! What blocks does so on purpose. Code that awaits would be told that its lease is lost before it goes on; code that blocks goes on as if
//! nothing had happened, and what it then sends is stale.

use std::path::Path;
use std::time::Duration;

use abide::ActivityContext;
use abide::seams::Clock;
use abide_host::SystemClock;

/// How often to look whether the gate is open.
const LOOK: Duration = Duration::from_millis(1);

/// Blocks until the gate is open: until this file is there.
pub(super) fn wait_at(gate: &Path) {
    while !gate.exists() {
        std::thread::park_timeout(LOOK);
    }
}

/// The same without blocking. An activity that is told to stop does not wait any longer.
pub(super) async fn linger_at(gate: &Path, ctx: &ActivityContext) -> Result<(), String> {
    let clock = SystemClock::new();
    while !gate.exists() {
        if ctx.is_cancelled() {
            return Err("told to stop".to_owned());
        }
        clock.sleep_until(clock.monotonic().saturating_add(LOOK)).await;
    }
    Ok(())
}
