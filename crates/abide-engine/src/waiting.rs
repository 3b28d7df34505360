//! What an execution waits for, as the summary that is stored with each turn.
//!
//! A function of the record: a cold execution and a resident one give the same bytes.

use abide_model::waiting::{OperationRef, WaitKind, WaitingWriter};

use crate::ask::Family;
use crate::execution::Execution;
use crate::turn::Outcome;

impl Execution {
    /// The summary of what the execution waits for; `None` once it has ended.
    pub(crate) fn waiting(&self, outcome: &Outcome) -> Option<String> {
        match outcome {
            Outcome::Running => {}
            Outcome::Completed { .. } | Outcome::Failed { .. } | Outcome::ContinuedAsNew { .. } => {
                return None;
            }
        }
        let mut writer = WaitingWriter::new(self.ledger.awaited_count());
        if self.waits_for_nothing() {
            writer.push(nothing_since(self.journal.last_time_ms()));
        }
        let awaited = self.ledger.awaited().filter_map(|(id, ask, token)| {
            let kind = kind_of(ask.family)?;
            let operation = OperationRef { kind, event_id: id.get(), child: &ask.child, ..nothing_since(0) };
            Some((operation, token))
        });
        Some(self.tape.summarize(writer, awaited))
    }
}

const fn nothing_since(since_ms: u64) -> OperationRef<'static> {
    OperationRef {
        kind: WaitKind::Nothing,
        event_id: 0,
        name: "",
        since_ms,
        due_ms: 0,
        tries: None,
        last_error: "",
        child: "",
    }
}

/// A prune is done within its turn: nothing waits for one between two turns.
const fn kind_of(family: Family) -> Option<WaitKind> {
    match family {
        Family::Activity => Some(WaitKind::Activity),
        Family::Timer => Some(WaitKind::Timer),
        Family::Wait => Some(WaitKind::Event),
        Family::Dequeue => Some(WaitKind::Queue),
        Family::Child => Some(WaitKind::Child),
        Family::Prune => None,
    }
}
