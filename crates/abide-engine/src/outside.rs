//! What happens to an execution without its code: it is failed from outside, or gets mail after its end.
//!
//! A host cannot always run the code: messages that were tried too often, a commit that the store refuses for good, an
//! instance that ended long ago. What an end means to everybody else is the same as ever, so it is decided here.

use std::collections::BTreeMap;
use std::sync::Arc;

use abide_model::{ErrorDetails, Timestamp, WorkItem};
use async_trait::async_trait;

use crate::context::OrchestrationContext;
use crate::execution::{Execution, Live};
use crate::fault::Fault;
use crate::handler::OrchestrationHandler;
use crate::turn::{Identity, Mail, Outcome, Step, TurnInput, TurnOutput};

/// Fails an execution, whatever its code would say: what is open is cancelled, and the parent is told.
///
/// If it has no history, the message that starts it is recorded first; without one only the failure is. All of its
/// mail is used up. An execution whose history says how it ended stays as it is.
#[must_use]
pub fn condemn(input: TurnInput, details: ErrorDetails) -> TurnOutput {
    let TurnInput { identity, history, mail, kv: _, now } = input;
    let mut execution = Execution::new(identity, BTreeMap::new(), Arc::new(NoCode));
    let is_new = history.is_empty();
    execution.journal.extend(history);
    execution.live = Some(Live::new(mail, now).into());
    let begun = if is_new { execution.take_start().err() } else { None };
    // A start that cannot even be recorded is the better explanation.
    execution.fail(begun.unwrap_or_else(|| Fault::of(details)));
    execution.run();
    execution.finish_turn()
}

/// Ends an execution that was canceled before it started: records the start, the cancel and the end.
///
/// No code runs, so the host needs none. Returns `None` if no cancel in `mail` is older than the start, or if
/// nothing in it starts the execution: then the execution needs its code.
#[must_use]
pub fn cancel_unstarted(identity: Identity, mail: Vec<Mail>, now: Timestamp) -> Option<TurnOutput> {
    let mut execution = Execution::new(identity, BTreeMap::new(), Arc::new(NoCode));
    let start = execution.find_start(&mail)?;
    mail.iter().take(start).find(|mail| matches!(mail.item, WorkItem::CancelInstance { .. }))?;
    match execution.turn(mail, now) {
        Ok(Step::Done(output)) => Some(*output),
        Ok(Step::HostCall(_)) | Err(_) => None,
    }
}

/// Uses up mail for an instance that has ended. A parent that wanted to start it is told that the id is taken.
#[must_use]
pub fn answer_late_mail(identity: Identity, outcome: Outcome, mail: Vec<Mail>, now: Timestamp) -> TurnOutput {
    let mut execution = Execution::new(identity, BTreeMap::new(), Arc::new(NoCode));
    execution.ended = Some(outcome);
    execution.live = Some(Live::new(mail, now).into());
    execution.run();
    execution.finish_turn()
}

/// Stands where code would, and is never run.
struct NoCode;

#[async_trait]
impl OrchestrationHandler for NoCode {
    async fn invoke(&self, _: OrchestrationContext, _: String) -> Result<String, String> {
        Err("an execution that is ended from outside has no code".to_owned())
    }
}
