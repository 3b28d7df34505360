//! What the context and the durable futures call.

use std::collections::BTreeMap;
use std::task::{Poll, Waker};

use abide_model::codec::Codec;
use abide_model::{ErrorDetails, EventId, KvEntry};

use super::slots::Slot;
use super::{Answer, Answered, Cell, Dropped, KvView, Next, Phase, TagRefused, Tape, Unwound};
use crate::ask::{Ask, Family};
use crate::notice::{LineLevel, LogLine};
use crate::token::Token;
use crate::turn::Identity;
use crate::window::Foreign;

impl Tape {
    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Writes down an ask; `None` if it does not count, because the outcome is fixed or the caller is not
    /// the execution's own poll.
    pub(crate) fn ask(&self, build: impl FnOnce(Token, &mut KvView<'_>) -> Ask) -> Option<Token> {
        if !self.window.admits(Foreign::Ask) {
            return None;
        }
        let mut cell = self.cell();
        if cell.phase == Phase::Closed {
            return None;
        }
        let token = cell.slots.next_token();
        let ask = {
            let Cell { kv, recorded_writes, now, .. } = &mut *cell;
            build(token, &mut KvView { entries: kv, recorded_writes, now: *now })
        };
        if let Some((family, name)) = ask.waits_for() {
            cell.slots.insert(token, Slot::new(family, name.to_owned()));
        }
        cell.collected.asks.push(ask);
        Some(token)
    }

    /// Writes down that the execution ends with this poll and how the next begins; the first one counts.
    pub(crate) fn ask_next(&self, next: Next) {
        if self.window.admits(Foreign::Ask) {
            self.cell().collected.next.get_or_insert(next);
        }
    }

    /// Polls the future with this token.
    pub(crate) fn poll_answer(&self, token: Token, waker: &Waker) -> Poll<Answer> {
        if !self.window.admits(Foreign::Poll) {
            return Poll::Pending;
        }
        let mut cell = self.cell();
        cell.future_polls = cell.future_polls.saturating_add(1);
        let Cell { slots, queues, collected, .. } = &mut *cell;
        let Some(slot) = slots.get_mut(token) else { return Poll::Pending };
        let answer = if let (Family::Dequeue, Some(id)) = (slot.family, slot.bound) {
            queues.read(&slot.name, id).map(|data| {
                collected.read.push(id);
                Answer::Received(data)
            })
        } else {
            slot.answer.take()
        };
        if let Some(answer) = answer {
            let finished = slots.remove(token);
            drop(cell);
            drop(finished);
            return Poll::Ready(answer);
        }
        let known = slot.waker.take();
        drop(cell);
        // Cloning and dropping a waker may run the user's code.
        let watching = match known {
            Some(known) if known.will_wake(waker) => known,
            Some(_) | None => waker.clone(),
        };
        if let Some(slot) = self.cell().slots.get_mut(token) {
            slot.waker = Some(watching);
        }
        Poll::Pending
    }

    /// The event that records the ask with this token, once there is one and until its answer is taken.
    pub(crate) fn event_of(&self, token: Token) -> Option<EventId> {
        self.cell().slots.get(token)?.bound
    }

    /// Notes that the future with this token was dropped before it returned its answer. Acts at once: the
    /// place of a wait or dequeue is free.
    pub(crate) fn drop_future(&self, token: Token) {
        let admitted = self.window.admits(Foreign::Drop);
        let mut cell = self.cell();
        let Some(slot) = cell.slots.remove(token) else { return };
        let mut woken = None;
        if admitted && cell.phase != Phase::Closed {
            if let Some(id) = slot.bound {
                match slot.family {
                    Family::Wait => cell.signals.close(&slot.name, id),
                    Family::Dequeue => {
                        woken = cell.queues.close(&slot.name, id).and_then(|next| cell.resolve(next));
                    }
                    Family::Activity | Family::Timer | Family::Child | Family::Prune => {}
                }
            }
            cell.collected.drops.push(Dropped {
                token,
                bound: slot.bound,
                family: slot.family,
                answered: if slot.answer.is_some() { Answered::Yes } else { Answered::No },
                unwinding: if std::thread::panicking() { Unwound::Yes } else { Unwound::No },
            });
        }
        drop(cell);
        drop(slot);
        if let Some(waker) = woken {
            waker.wake();
        }
    }

    /// Routes an activity that was asked for in the current poll to workers that serve `tag`.
    pub(crate) fn tag_activity(&self, token: Token, tag: String) -> Result<(), TagRefused> {
        if !self.window.admits(Foreign::Ask) {
            return Ok(());
        }
        let mut cell = self.cell();
        if cell.phase == Phase::Closed {
            return Ok(());
        }
        if let Some(slot) = cell.slots.get(token)
            && slot.family != Family::Activity
        {
            return Err(TagRefused::NotAnActivity(slot.family, slot.name.clone()));
        }
        let asks = &mut cell.collected.asks;
        // Asks are in the order of their tokens.
        let place = asks.binary_search_by_key(&token, |ask| ask.token).map_err(|_| TagRefused::Sealed)?;
        asks.get_mut(place).map(|ask| ask.set_tag(tag)).ok_or(TagRefused::Sealed)
    }

    /// Fails the execution at the end of this poll.
    pub(crate) fn fail(&self, details: ErrorDetails) {
        if self.window.admits(Foreign::Ask) {
            self.cell().collected.failure.get_or_insert(details);
        }
    }

    /// Writes a log line, unless it was written before in a turn that is now being replayed.
    pub(crate) fn say(&self, level: LineLevel, message: String) {
        if !self.window.admits(Foreign::Ask) {
            return;
        }
        let mut cell = self.cell();
        if cell.phase == Phase::Live {
            cell.lines.push(LogLine { level, message });
        }
    }

    /// Reads the key-value state as the code sees it now.
    pub(crate) fn read_kv<T>(&self, read: impl FnOnce(&BTreeMap<String, KvEntry>) -> T) -> T {
        read(&self.cell().kv)
    }

    pub(crate) fn status(&self) -> Option<String> {
        self.cell().status.clone()
    }

    pub(crate) fn set_status(&self, status: Option<String>) {
        self.cell().status = status;
    }

    pub(crate) fn codec(&self) -> Codec {
        self.cell().codec
    }

    pub(crate) fn is_live(&self) -> bool {
        self.cell().phase == Phase::Live
    }

    pub(crate) fn is_replaying(&self) -> bool {
        self.cell().phase == Phase::Replaying
    }

    #[expect(clippy::fn_params_excessive_bools, reason = "it is what the user said")]
    pub(crate) fn set_auto_prune(&self, enabled: bool) {
        if self.window.admits(Foreign::Ask) {
            self.cell().auto_prune = enabled;
        }
    }
}
