//! Where callers put what they want, and connections find it.
//!
//! A connection that has nothing to do waits here; the one that came last is called first, so that few connections do the work of a quiet
//! store, and the others are not even opened. Kinds take turns: none waits behind a flood of another.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use abide_model::Clock;
use abide_provider::{Operation, StoreError};
use futures_channel::oneshot;
use futures_util::future::select;

use super::abandon::{AbandonInstance, AbandonWork};
use super::batch::{Batched, Waiting};
use super::call::Call;
use super::commit::Commit;
use super::enqueue::Enqueue;
use super::finish::Finish;
use super::look::Look;
use super::queues::{Moment, Next, Ordinary, Renewals, Work};
use super::renew::{RenewInstance, RenewWork};

/// Which connections something is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Ordinary,
    /// Renewals wait for nobody, also if every other connection is busy.
    Renewals,
}

#[derive(Default)]
pub(crate) struct Desk(Mutex<State>);

#[derive(Default)]
struct State {
    ordinary: Ordinary,
    renewals: Renewals,
    /// Those without work; the last came last.
    idle: Idle,
    idle_for_renewals: Idle,
    /// When a connection was last missed, in monotonic time, and how many calls had come back by then.
    last_missed: Option<(Duration, u64)>,
    is_closed: bool,
}

/// Who takes something from the desk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Worker {
    Connected,
    /// Had a connection that broke.
    Lost,
    /// Has a connection yet to open: called if there is no other.
    Spare,
}

#[derive(Default)]
struct Idle {
    connected: Vec<oneshot::Sender<()>>,
    lost: Vec<oneshot::Sender<()>>,
    spare: Vec<oneshot::Sender<()>>,
}

impl Idle {
    fn pop(&mut self) -> Option<oneshot::Sender<()>> {
        self.connected.pop().or_else(|| self.lost.pop()).or_else(|| self.spare.pop())
    }
}

/// Something that can be put on the desk.
pub(crate) trait Wanted: Sized {
    fn place(&self) -> Place;
    fn put(self, desk: &mut Slots<'_>);
    fn refuse(self, error: StoreError);
    fn operation(&self) -> Operation;
}

/// The queues, for those that put something into one.
pub(crate) struct Slots<'a> {
    ordinary: &'a mut Ordinary,
    renewals: &'a mut Renewals,
}

macro_rules! batched {
    ($($kind:ty => $place:ident . $queue:ident),* $(,)?) => {
        $(impl Wanted for Waiting<$kind> {
            fn place(&self) -> Place {
                batched!(@place $place)
            }
            fn put(self, desk: &mut Slots<'_>) {
                desk.$place.$queue.push_back(self);
            }
            fn refuse(self, error: StoreError) {
                self.answer(Err(error));
            }
            fn operation(&self) -> Operation {
                self.operation
            }
        })*
    };
    (@place ordinary) => { Place::Ordinary };
    (@place renewals) => { Place::Renewals };
}

batched! {
    Commit => ordinary.commits,
    Finish => ordinary.finishes,
    Enqueue => ordinary.enqueues,
    Look => ordinary.looks,
    AbandonInstance => ordinary.abandon_instances,
    AbandonWork => ordinary.abandon_work,
    RenewInstance => renewals.instances,
    RenewWork => renewals.work,
}

impl Wanted for Call {
    fn place(&self) -> Place {
        self.place
    }
    fn put(self, desk: &mut Slots<'_>) {
        match self.place {
            Place::Ordinary => desk.ordinary.calls.push_back(self),
            Place::Renewals => desk.renewals.calls.push_back(self),
        }
    }
    fn refuse(self, error: StoreError) {
        self.fail(error);
    }
    fn operation(&self) -> Operation {
        self.operation
    }
}

impl Desk {
    /// Puts things there, together.
    pub(crate) fn put<W: Wanted>(&self, wanted: impl IntoIterator<Item = W>) {
        let mut state = self.lock();
        let mut wakes = Vec::new();
        let mut refused = Vec::new();
        for wanted in wanted {
            if state.is_closed {
                refused.push(wanted);
                continue;
            }
            let place = wanted.place();
            let State { ordinary, renewals, .. } = &mut *state;
            wanted.put(&mut Slots { ordinary, renewals });
            wakes.push(place);
        }
        wakes.dedup();
        for place in wakes {
            state.wake_one(place);
        }
        drop(state);
        for wanted in refused {
            let error = StoreError::not_applied(wanted.operation(), "the store is closed");
            wanted.refuse(error);
        }
    }

    /// What there is to do for a connection of this place.
    pub(crate) fn take(&self, place: Place, moment: Moment) -> ToDo<'_> {
        let mut state = self.lock();
        match state.take(place, moment) {
            Next::Work(work, kind) => {
                // Somebody else may take what is left.
                if state.has_some(place) {
                    state.wake_one(place);
                }
                ToDo::Work(Taken { work, under_way: UnderWay { desk: self, place, kind } })
            }
            Next::Later(until) => {
                let bell = state.wait(place, Worker::Connected);
                ToDo::Later(Patience { bell, until })
            }
            Next::Nothing => ToDo::Nothing,
        }
    }

    /// Waits until there is something to do; `false` when the store is closed and nothing is left.
    pub(crate) async fn is_wanted(&self, place: Place, worker: Worker) -> bool {
        loop {
            let bell = {
                let mut state = self.lock();
                if state.has_some(place) {
                    return true;
                }
                if state.is_closed {
                    return false;
                }
                state.wait(place, worker)
            };
            let _rung_or_closed = bell.await;
        }
    }

    /// Until when there is believed to be more work than this node has slots, in monotonic time: what waits because of that is looked at again.
    pub(crate) fn believe_in_backlog(&self, until: Duration) {
        let mut state = self.lock();
        state.ordinary.believe_in_backlog(until);
        if until.is_zero() && state.has_some(Place::Ordinary) {
            state.wake_one(Place::Ordinary);
        }
    }

    /// Whether there is believed to be more work than this node has slots, at that monotonic time.
    pub(crate) fn believes_in_backlog(&self, now: Duration) -> bool {
        self.lock().ordinary.believes_in_backlog(now)
    }

    /// Whoever was called cannot do it: another is.
    pub(crate) fn pass_on(&self, place: Place) {
        let mut state = self.lock();
        if state.has_some(place) {
            state.wake_one(place);
        }
    }

    /// Whether one more connection is missed: something has waited for that long, and none was missed within `pause` before.
    pub(crate) fn misses_one(&self, place: Place, now: Duration, waited: Duration, pause: Duration) -> bool {
        let mut state = self.lock();
        let oldest = match place {
            Place::Ordinary => state.ordinary.oldest(),
            Place::Renewals => state.renewals.oldest(),
        };
        let has_waited = oldest.is_some_and(|since| since.saturating_add(waited) <= now);
        let returned = state.ordinary.returned();
        // If no call came back since, those that are there may be stuck.
        let is_next = state
            .last_missed
            .is_none_or(|(last, before)| last.saturating_add(pause) <= now || returned == before);
        if has_waited && is_next {
            state.last_missed = Some((now, returned));
        }
        has_waited && is_next
    }

    /// There is no connection: those that have waited since `before` are told so.
    pub(crate) fn refuse_waiting(&self, place: Place, before: Duration, message: &str) {
        let mut state = self.lock();
        let State { ordinary, renewals, .. } = &mut *state;
        let mut refused = Refused::default();
        match place {
            Place::Ordinary => {
                refused.take(&mut ordinary.commits, before, message);
                refused.take(&mut ordinary.finishes, before, message);
                refused.take(&mut ordinary.enqueues, before, message);
                refused.take(&mut ordinary.looks, before, message);
                refused.take(&mut ordinary.abandon_instances, before, message);
                refused.take(&mut ordinary.abandon_work, before, message);
                refused.take(&mut ordinary.calls, before, message);
            }
            Place::Renewals => {
                refused.take(&mut renewals.instances, before, message);
                refused.take(&mut renewals.work, before, message);
                refused.take(&mut renewals.calls, before, message);
            }
        }
        drop(state);
        refused.tell();
    }

    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let bells = [std::mem::take(&mut state.idle), std::mem::take(&mut state.idle_for_renewals)];
        drop(state);
        for bell in
            bells.into_iter().flat_map(|idle| idle.connected.into_iter().chain(idle.lost).chain(idle.spare))
        {
            let _gone = bell.send(());
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing can panic while it is held, and queues cannot be half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn idle(&mut self, place: Place) -> &mut Idle {
        match place {
            Place::Ordinary => &mut self.idle,
            Place::Renewals => &mut self.idle_for_renewals,
        }
    }

    fn wait(&mut self, place: Place, worker: Worker) -> oneshot::Receiver<()> {
        let (bell, rung) = oneshot::channel();
        let idle = self.idle(place);
        // Who waited until then, and not for the bell.
        idle.connected.retain(|bell| !bell.is_canceled());
        match worker {
            Worker::Connected => idle.connected.push(bell),
            Worker::Lost => idle.lost.push(bell),
            Worker::Spare => idle.spare.push(bell),
        }
        rung
    }

    fn wake_one(&mut self, place: Place) {
        let idle = self.idle(place);
        while let Some(bell) = idle.pop() {
            if bell.send(()).is_ok() {
                return;
            }
        }
    }

    fn has_some(&self, place: Place) -> bool {
        match place {
            Place::Ordinary => self.ordinary.has_some(),
            Place::Renewals => self.renewals.has_some(),
        }
    }

    fn take(&mut self, place: Place, moment: Moment) -> Next {
        match place {
            Place::Ordinary => self.ordinary.take(moment),
            Place::Renewals => self.renewals.take(),
        }
    }
}

/// What a connection finds.
pub(crate) enum ToDo<'d> {
    Work(Taken<'d>),
    /// What there is waits for others of its kind.
    Later(Patience),
    Nothing,
}

/// How long to wait for others.
pub(crate) struct Patience {
    bell: oneshot::Receiver<()>,
    /// In monotonic time.
    until: Duration,
}

impl Patience {
    /// Waits until then, or until something else comes.
    pub(crate) async fn wait(self, clock: &dyn Clock) {
        let _rung_or_time = select(self.bell, clock.sleep_until(self.until)).await;
    }
}

/// Work that a connection took.
pub(crate) struct Taken<'d> {
    pub(crate) work: Work,
    /// To be dropped when it is done.
    pub(crate) under_way: UnderWay<'d>,
}

/// A call that is under way.
pub(crate) struct UnderWay<'d> {
    desk: &'d Desk,
    place: Place,
    kind: usize,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if self.place == Place::Ordinary {
            self.desk.lock().ordinary.is_back(self.kind);
        }
    }
}

/// Answers that are given when no lock is held.
#[derive(Default)]
struct Refused(Vec<Box<dyn FnOnce()>>);

impl Refused {
    fn take<W: Wanted + Since + 'static>(
        &mut self,
        queue: &mut VecDeque<W>,
        before: Duration,
        message: &str,
    ) {
        let waiting: Vec<W> = queue.drain(..).collect();
        for wanted in waiting {
            if wanted.since() > before {
                queue.push_back(wanted);
                continue;
            }
            let error = StoreError::not_applied(wanted.operation(), message);
            self.0.push(Box::new(move || wanted.refuse(error)));
        }
    }

    fn tell(self) {
        for tell in self.0 {
            tell();
        }
    }
}

/// Since when something waits.
pub(crate) trait Since {
    fn since(&self) -> Duration;
}

impl<B: Batched> Since for Waiting<B> {
    fn since(&self) -> Duration {
        self.since
    }
}

impl Since for Call {
    fn since(&self) -> Duration {
        self.since
    }
}
