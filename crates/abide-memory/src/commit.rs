//! Committing a turn: by what right, and in which order.

use abide_model::{Event, Timestamp};
use abide_provider::rows::CommitRows;
use abide_provider::{Authority, Committed, Consumed, Position, TurnCommit};

use crate::refusal::Refusal;
use crate::state::{Mailbox, State};

/// A right that was checked.
enum Right {
    Lease,
    FinishedWork { number: u64 },
}

impl State {
    pub(crate) fn commit(&mut self, commit: TurnCommit, now: Timestamp) -> Result<Committed, Refusal> {
        let TurnCommit { instance, authority, consumed, left: _, turn } = commit;
        let rows = CommitRows::of(turn).map_err(|error| Refusal::invalid(&error))?;
        let right = self.check_authority(&instance, &authority, now)?;
        self.check_order(&instance, &rows)?;
        match right {
            Right::Lease => {
                for number in self.release(&instance) {
                    if is_consumed(number, &consumed) {
                        self.messages.remove(&number);
                    }
                }
            }
            Right::FinishedWork { number } => self.remove_finished(number, now),
        }
        let (execution_id, still_refused) = (rows.execution_id, rows.still_refused.clone());
        let pruned = self.write(&instance, rows, now);
        self.heal(&instance, execution_id, still_refused, now);
        Ok(Committed::with_pruned(pruned))
    }

    fn check_authority(
        &mut self,
        instance: &str,
        authority: &Authority,
        now: Timestamp,
    ) -> Result<Right, Refusal> {
        match authority {
            Authority::Lease { token } => {
                check_addressee(&self.leased_with(token, now)?, instance)?;
                Ok(Right::Lease)
            }
            Authority::FinishedWork { token, expected } => {
                let number = self.leased_work_with(token, now)?;
                if let Some(work) = self.work.get(&number) {
                    check_addressee(&work.activity.instance, instance)?;
                }
                self.check_undisturbed(instance, *expected, now)?;
                Ok(Right::FinishedWork { number })
            }
        }
    }

    /// Whether a fused step meets the instance as its turn left it.
    fn check_undisturbed(&mut self, name: &str, expected: Position, now: Timestamp) -> Result<(), Refusal> {
        self.see_mail(now);
        let mailbox = self.mailboxes.get(name);
        if mailbox.is_some_and(|mailbox| mailbox.is_leased(now)) {
            return Err(Refusal::busy("the instance is leased: finish the activity the plain way"));
        }
        if mailbox.map(Mailbox::position) != Some(expected) {
            return Err(Refusal::busy("the instance has moved on: finish the activity the plain way"));
        }
        if self.mail_of(name).any(|(_, message)| message.is_visible(now)) {
            return Err(Refusal::busy("the instance has mail: finish the activity the plain way"));
        }
        Ok(())
    }

    /// Whether the rows go on where the instance stands.
    pub(crate) fn check_order(&self, name: &str, rows: &CommitRows) -> Result<(), Refusal> {
        let Some(instance) = self.instance(name) else {
            return Ok(());
        };
        let position = Position {
            incarnation: 0,
            execution_id: instance.current,
            last_event_id: instance.last_event_id(instance.current),
        };
        let first = rows.history.first().map(Event::event_id);
        position.admits(rows.execution_id, first).map_err(|conflict| Refusal::conflict(conflict.to_string()))
    }
}

fn check_addressee(leased: &str, instance: &str) -> Result<(), Refusal> {
    if leased == instance {
        return Ok(());
    }
    Err(Refusal::invalid(&format!(
        "the lease is of instance {leased}, and the turn is of instance {instance}"
    )))
}

fn is_consumed(number: u64, consumed: &Consumed) -> bool {
    match consumed {
        Consumed::All => true,
        Consumed::These(ids) => ids.iter().any(|id| id.0 == number),
    }
}
