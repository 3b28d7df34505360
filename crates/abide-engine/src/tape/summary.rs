//! The summary of what the code waits for.

use abide_model::waiting::{OperationRef, WaitKind, WaitingWriter};

use super::Tape;
use super::slots::Slot;
use crate::ask::Family;
use crate::token::Token;

impl Tape {
    /// Completes a summary: what is awaited, as the futures know it, and the queues that hold unread
    /// messages.
    pub(crate) fn summarize<'a>(
        &self,
        mut writer: WaitingWriter,
        awaited: impl Iterator<Item = (OperationRef<'a>, Token)>,
    ) -> String {
        let cell = self.cell();
        for (operation, token) in awaited {
            let may_add = match cell.slots.get(token) {
                Some(slot) => writer.push(described(operation, slot)),
                None => writer.push(operation),
            };
            if !may_add {
                break;
            }
        }
        writer.finish(cell.queues.unread_counts())
    }
}

fn described<'a>(operation: OperationRef<'a>, slot: &'a Slot) -> OperationRef<'a> {
    let plain = OperationRef { name: &slot.name, since_ms: slot.since_ms, due_ms: slot.due_ms, ..operation };
    let Some(retry) = &slot.retry else { return plain };
    OperationRef {
        kind: if slot.family == Family::Timer { WaitKind::Retry } else { plain.kind },
        name: &retry.step.name,
        tries: Some(retry.tries()),
        last_error: &retry.last_error,
        ..plain
    }
}
