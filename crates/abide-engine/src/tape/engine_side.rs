//! What the engine calls.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::task::Waker;

use abide_model::codec::Codec;
use abide_model::{ErrorDetails, EventId, KvEntry, Timestamp};

use super::slots::Slots;
use super::{Answer, Bound, Cell, Collected, Phase, RecordedWrites, Tape, Unwound};
use crate::ask::Family;
use crate::notice::LogLine;
use crate::panic::contained;
use crate::signals::{Queues, Signals};
use crate::token::Token;
use crate::turn::Identity;
use crate::window::Window;

impl Tape {
    pub(crate) fn new(identity: Identity, window: Arc<Window>, kv: BTreeMap<String, KvEntry>) -> Arc<Self> {
        let cell = Cell {
            phase: Phase::Replaying,
            codec: Codec::Lossless,
            now: Timestamp::EPOCH,
            collected: Collected::default(),
            slots: Slots::default(),
            signals: Signals::default(),
            queues: Queues::default(),
            kv,
            recorded_writes: RecordedWrites::default(),
            status: None,
            lines: Vec::new(),
            auto_prune: true,
            resolved: false,
            to_wake: Vec::new(),
            future_polls: 0,
        };
        Arc::new(Self { identity, window, cell: Mutex::new(cell) })
    }

    pub(crate) fn window(&self) -> &Arc<Window> {
        &self.window
    }

    /// Begins an execution: the code is to be polled for the first time.
    pub(crate) fn begin(&self, codec: Codec, status: Option<String>) {
        let mut cell = self.cell();
        cell.codec = codec;
        cell.status = status;
        cell.resolved = true;
    }

    /// From here on the code is live, and this is the time.
    pub(crate) fn go_live(&self, now: Timestamp) {
        let mut cell = self.cell();
        cell.enter(Phase::Live);
        cell.now = now;
    }

    /// From here on the code re-lives events that were recorded elsewhere.
    pub(crate) fn go_back_to_replay(&self, last_time: Timestamp) {
        let mut cell = self.cell();
        if cell.phase == Phase::Live {
            // Live writes were recorded by the turn that made them: they are not among what comes now.
            cell.recorded_writes = RecordedWrites::default();
        }
        cell.enter(Phase::Replaying);
        cell.now = last_time;
    }

    /// Makes the time of a recorded key-value write known before the code makes that write again.
    pub(crate) fn expect_write(&self, at_ms: u64) {
        self.cell().recorded_writes.show(at_ms);
    }

    /// The next recorded write is one that the code does not make.
    pub(crate) fn skip_write(&self) {
        self.cell().recorded_writes.skip();
    }

    /// Everything the code did since the last call. After a panic, drops made while unwinding do not count:
    /// the code did not decide them.
    pub(crate) fn collect(&self, panicked: Unwound) -> Collected {
        let mut collected = std::mem::take(&mut self.cell().collected);
        match panicked {
            Unwound::No => {}
            Unwound::Yes => collected.drops.retain(|dropped| dropped.unwinding == Unwound::No),
        }
        collected
    }

    /// Whether an answer was brought since the last call.
    pub(crate) fn take_resolved(&self) -> bool {
        std::mem::take(&mut self.cell().resolved)
    }

    /// Tells a future which event records its ask. If it is ready by that, it is woken once all asks of the
    /// poll are bound: no code of the user's runs between two of them.
    pub(crate) fn bind(&self, token: Token, bound: Bound) {
        let mut cell = self.cell();
        let Cell { slots, signals, queues, .. } = &mut *cell;
        let Some(slot) = slots.get_mut(token) else { return };
        let Bound { id, since_ms, due_ms } = bound;
        slot.bound = Some(id);
        slot.since_ms = slot.retry.as_ref().map_or(since_ms, |retry| retry.step.begun_at(since_ms));
        slot.due_ms = due_ms;
        let ready = match slot.family {
            Family::Wait => {
                signals.open(&slot.name, id, token);
                false
            }
            Family::Dequeue => queues.open(&slot.name, id, token),
            Family::Activity | Family::Timer | Family::Child | Family::Prune => false,
        };
        if ready {
            let waker = cell.resolve(token);
            cell.to_wake.extend(waker);
        }
    }

    /// Wakes the futures that are ready because they were bound.
    pub(crate) fn wake_bound(&self) {
        let to_wake = std::mem::take(&mut self.cell().to_wake);
        for waker in to_wake {
            self.wake(Some(waker));
        }
    }

    /// Brings the answer for a future; if it was dropped meanwhile, nothing happens.
    pub(crate) fn answer(&self, token: Token, answer: Answer) {
        let mut cell = self.cell();
        let Some(slot) = cell.slots.get_mut(token) else { return };
        slot.answer = Some(answer);
        let woken = cell.resolve(token);
        drop(cell);
        self.wake(woken);
    }

    /// Brings a signal to the oldest wait for it; says which one, or `None` if nobody waits.
    pub(crate) fn signal(&self, name: &str, data: String) -> Option<EventId> {
        let (id, token) = self.cell().signals.take_oldest(name)?;
        self.answer(token, Answer::Received(data));
        Some(id)
    }

    /// Adds a message to its queue.
    pub(crate) fn enqueue(&self, name: &str, data: String) {
        let mut cell = self.cell();
        let woken = cell.queues.deliver(name, data).and_then(|token| cell.resolve(token));
        drop(cell);
        self.wake(woken);
    }

    pub(crate) fn unread_messages(&self) -> Vec<(String, String)> {
        self.cell().queues.unread()
    }

    pub(crate) fn take_lines(&self) -> Vec<LogLine> {
        std::mem::take(&mut self.cell().lines)
    }

    pub(crate) fn auto_prune(&self) -> bool {
        self.cell().auto_prune
    }

    pub(crate) fn take_future_polls(&self) -> u64 {
        std::mem::take(&mut self.cell().future_polls)
    }

    /// Fixes the outcome: later asks and drops are ignored, and nothing is foreign any more.
    pub(crate) fn close(&self) {
        self.window.seal();
        let mut cell = self.cell();
        cell.phase = Phase::Closed;
        // Wakers may own the tasks that own our futures: let go of them, or the circle is never freed.
        let slots = std::mem::take(&mut cell.slots);
        drop(cell);
        drop(slots);
    }

    /// Wakes a future inside the execution's own window. A waker may be the user's: its panic is the code's.
    fn wake(&self, waker: Option<Waker>) {
        let Some(waker) = waker else { return };
        let _open = self.window.open();
        if let Err(message) = contained(|| waker.wake()) {
            let panicked = ErrorDetails::panicked(message);
            self.cell().collected.failure.get_or_insert(panicked);
        }
    }
}
