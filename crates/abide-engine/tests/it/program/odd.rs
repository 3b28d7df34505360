//! What no sensible program does: to go on behind the end, to ask for too much, to ask while it is dropped.

use std::time::Duration;

use abide_engine::OrchestrationContext;

use super::Step;
use super::interpret::make;

/// Steps that ask for the end or for too much, and go on.
pub(super) fn go_too_far(ctx: &OrchestrationContext, step: &Step, executions: u32) {
    let again = (executions < 2).then(|| (executions + 1).to_string());
    match (step, again) {
        (Step::NextUnawaited, Some(again)) => drop(ctx.continue_as_new(again)),
        (Step::NextTwice, Some(again)) => {
            drop(ctx.continue_as_new(again));
            drop(ctx.continue_as_new_versioned("9.9.9", "9"));
        }
        (Step::NextAnd(leaf, what), Some(again)) => {
            drop(ctx.continue_as_new(again));
            drop(make(ctx, *leaf));
            ask(ctx, *what, executions);
        }
        (Step::TooMuch(what), _) => match what % 3 {
            0 => ctx.set_custom_status("s".repeat(262_145)),
            1 => ctx.set_kv_value("big", "v".repeat(65_537)),
            _ => drop(ctx.schedule_activity("t", "").with_tag("t".repeat(257))),
        },
        _ => {}
    }
    if let Step::TooMuch(3..) = step {
        ask(ctx, 2, executions);
        ask(ctx, 0, executions);
    }
}

/// Asks for something that nobody waits for.
pub(super) fn ask(ctx: &OrchestrationContext, what: u8, executions: u32) {
    match what {
        0 => drop(ctx.schedule_activity("by-the-way", "")),
        1 => ctx.set_kv_value("k0", "by the way"),
        2 => ctx.schedule_orchestration("Detached", "by-the-way", ""),
        3 => ctx.set_custom_status("by the way"),
        4 => drop(ctx.dequeue_event("q0")),
        _ if executions < 2 => drop(ctx.continue_as_new((executions + 1).to_string())),
        _ => drop(ctx.schedule_timer(Duration::ZERO)),
    }
}

/// Something that asks when it is dropped.
pub(super) struct AsksWhenDropped {
    pub(super) ctx: OrchestrationContext,
    pub(super) what: u8,
    pub(super) executions: u32,
}

impl Drop for AsksWhenDropped {
    fn drop(&mut self) {
        ask(&self.ctx, self.what, self.executions);
    }
}
