//! What calls hand out at once to others that wait: the commit that makes work leases it to the call of this node that waits for some.
//!
//! A call that waits says how many leases it would take, and under which [terms](Terms). One that is about to make something takes a
//! [promise](Promise) of that room along. What was leased then lies in a tray, and the call that waits takes it from there. It may have gone
//! away, or be about to come back: what nobody takes within a moment goes back to the server.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::encode::number;
use crate::lease::Looked;
use crate::lease_instances::nonces;
use crate::routes::suspects;
use crate::rows::{InstanceOffer, NewWork, WorkOffer};
use crate::shared::Shared;
use crate::terms::Terms;
use crate::text::unspell;

/// A call that brought some leases, and would have taken more, is usually followed by the next one within so long.
const BACK_WITHIN: Duration = Duration::from_millis(2);

/// How long leases lie in a tray before they go back: if nobody waits or is about to come back, and if somebody is who is slow.
const COLLECTED_WITHIN: Duration = Duration::from_millis(20);
const COLLECTED_AT_LAST: Duration = Duration::from_secs(1);

/// How long a lease under these terms may lie before somebody begins to renew it.
pub(crate) fn quarter_of_lease(terms: &Terms) -> Duration {
    Duration::from_millis(number(terms.lease_ms())) / 4
}

#[derive(Debug, Default)]
pub(crate) struct Hatch {
    state: Mutex<State>,
    filled: Notify,
}

#[derive(Debug, Default)]
struct State {
    trays: Vec<Tray>,
    is_closed: bool,
}

/// What calls under the same terms wait for, and what lies there for them.
#[derive(Debug)]
struct Tray {
    terms: Terms,
    /// How many leases those who wait would take.
    wanted: usize,
    /// How many those would take who are about to come back, and until when that is believed, in monotonic time.
    expected: (usize, Duration),
    /// For how many of them there is a promise.
    promised: usize,
    /// Whether somebody does not look because of that.
    is_relied_on: bool,
    /// What lies there, and since when, in monotonic time.
    handed: VecDeque<(Looked, Duration)>,
}

impl Tray {
    fn of(terms: &Terms) -> Self {
        let (expected, handed) = ((0, Duration::ZERO), VecDeque::new());
        Self { terms: terms.clone(), wanted: 0, expected, promised: 0, is_relied_on: false, handed }
    }

    /// How many leases come, or have come.
    fn coming(&self) -> usize {
        self.handed.iter().map(|(looked, _)| looked.len()).sum::<usize>().saturating_add(self.promised)
    }

    fn room(&self, now: Duration) -> usize {
        let (expected, until) = self.expected;
        let expected = if now < until { expected } else { 0 };
        self.wanted.saturating_add(expected).saturating_sub(self.coming())
    }

    /// Since when something must lie there to go back now.
    fn uncollected_since(&self, now: Duration) -> Duration {
        let is_expected = self.wanted > 0 || self.expected.0 > 0;
        let within = if is_expected { COLLECTED_AT_LAST } else { COLLECTED_WITHIN };
        now.saturating_sub(within.min(quarter_of_lease(&self.terms)))
    }

    fn is_idle(&self) -> bool {
        self.wanted == 0 && self.expected.0 == 0 && self.promised == 0 && self.handed.is_empty()
    }
}

impl State {
    fn tray(&mut self, terms: &Terms) -> Option<&mut Tray> {
        self.trays.iter_mut().find(|tray| tray.terms.share_a_tray(terms))
    }

    fn remove_idle(&mut self) {
        self.trays.retain(|tray| !tray.is_idle());
    }
}

/// Somebody who waits. Wants nothing any more when it is dropped.
#[derive(Debug)]
pub(crate) struct Parked<'h> {
    hatch: &'h Hatch,
    terms: &'h Terms,
    wants: usize,
}

impl Drop for Parked<'_> {
    fn drop(&mut self) {
        let mut state = self.hatch.lock();
        if let Some(tray) = state.tray(self.terms) {
            tray.wanted = tray.wanted.saturating_sub(self.wants);
        }
        state.remove_idle();
    }
}

impl Hatch {
    /// Somebody waits, and would take so many leases.
    pub(crate) fn park<'h>(&'h self, terms: &'h Terms, wants: usize) -> Parked<'h> {
        let mut state = self.lock();
        match state.tray(terms) {
            Some(tray) => {
                tray.wanted = tray.wanted.saturating_add(wants);
                tray.expected.0 = 0;
            }
            None => state.trays.push(Tray { wanted: wants, ..Tray::of(terms) }),
        }
        Parked { hatch: self, terms, wants }
    }

    /// Somebody goes, and is expected back: he would take so many leases then.
    pub(crate) fn expect_back(&self, terms: &Terms, wants: usize, now: Duration) {
        let expected = (wants, now.saturating_add(BACK_WITHIN));
        let mut state = self.lock();
        match state.tray(terms) {
            Some(tray) => tray.expected = expected,
            None => state.trays.push(Tray { expected, ..Tray::of(terms) }),
        }
    }

    /// Whether something lies there for those who come under these terms.
    pub(crate) fn has_some(&self, terms: &Terms) -> bool {
        self.lock().tray(terms).is_some_and(|tray| !tray.handed.is_empty())
    }

    /// How many leases are promised, or lie there.
    pub(crate) fn coming(&self, terms: &Terms) -> usize {
        self.lock().tray(terms).map_or(0, |tray| tray.coming())
    }

    /// Whether so many leases are promised, or lie there: then somebody waits for them, and does not look. If a promise is not kept, he hears
    /// of it.
    pub(crate) fn relies_on(&self, terms: &Terms, wanted: usize) -> bool {
        let mut state = self.lock();
        let Some(tray) = state.tray(terms) else { return false };
        let is_enough = tray.coming() >= wanted;
        tray.is_relied_on |= is_enough;
        is_enough
    }

    /// Takes up to `most` of what lies there.
    pub(crate) fn collect(&self, terms: &Terms, most: usize) -> Option<Looked> {
        let mut state = self.lock();
        let tray = state.tray(terms)?;
        let (mut looked, since) = tray.handed.pop_front()?;
        if let Some(rest) = looked.split_off(most) {
            tray.handed.push_front((rest, since));
        }
        state.remove_idle();
        Some(looked)
    }

    /// Promises up to `most` leases to somebody whose terms these are.
    fn promise(&self, shared: &Arc<Shared>, most: usize, fits: impl Fn(&Terms) -> bool) -> Option<Promise> {
        let now = shared.settings.clock.monotonic();
        let mut state = self.lock();
        let tray = state.trays.iter_mut().find(|tray| tray.room(now) > 0 && fits(&tray.terms))?;
        let count = most.min(tray.room(now));
        tray.promised = tray.promised.saturating_add(count);
        (count > 0).then(|| Promise { shared: Arc::clone(shared), terms: tray.terms.clone(), count })
    }

    /// Waits until something lies there.
    pub(crate) async fn filled(&self) {
        self.filled.notified().await;
    }

    /// What lies there goes back, and whatever comes.
    pub(crate) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        let trays = std::mem::take(&mut state.trays);
        drop(state);
        drop(trays);
        self.filled.notify_one();
    }

    fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// What nobody took goes back; says whether something is left.
    fn clear(&self, now: Duration) -> bool {
        let mut state = self.lock();
        let mut uncollected = Vec::new();
        for tray in &mut state.trays {
            if tray.expected.1 <= now.saturating_sub(COLLECTED_AT_LAST) {
                tray.expected.0 = 0;
            }
            let before = tray.uncollected_since(now);
            let fresh = tray.handed.iter().position(|(_, since)| *since > before);
            uncollected.extend(tray.handed.drain(..fresh.unwrap_or(tray.handed.len())));
        }
        state.remove_idle();
        let is_left = state.trays.iter().any(|tray| !tray.handed.is_empty());
        drop(state);
        // With the lock released: what goes back is put on the desk.
        drop(uncollected);
        is_left
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing can panic while it is held, and counts cannot be half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Room for leases that somebody waits for, kept for a call that is about to make something.
#[derive(Debug)]
pub(crate) struct Promise {
    shared: Arc<Shared>,
    terms: Terms,
    count: usize,
}

impl Promise {
    /// For at most so many instances.
    pub(crate) fn of_instances(shared: &Arc<Shared>, most: usize) -> Option<Self> {
        shared.hatch.promise(shared, most, |terms| matches!(terms, Terms::Instances { .. }))
    }

    /// For at most as many activities as these, by somebody who takes some of them.
    pub(crate) fn of_work(shared: &Arc<Shared>, made: &[&mut NewWork]) -> Option<Self> {
        shared.hatch.promise(shared, made.len(), |terms| made.iter().any(|work| takes(terms, work)))
    }

    /// Whether it is for somebody who takes this activity.
    pub(crate) fn takes(&self, work: &NewWork) -> bool {
        takes(&self.terms, work)
    }

    /// Whether it is for somebody with these terms.
    pub(crate) fn is_under(&self, terms: &Terms) -> bool {
        self.terms.share_a_tray(terms)
    }

    /// What the server is told about those who wait for instances.
    pub(crate) fn instance_offer(&self) -> Option<InstanceOffer> {
        let Terms::Instances { lease_ms, filter } = &self.terms else { return None };
        let admission = self.shared.routes.admitted(filter);
        let (nonces, suspects) = (nonces(&self.shared, self.count), suspects(filter.serving.as_ref()));
        let (routes, known, marks) = (admission.taken.clone(), admission.known, admission.marks);
        Some(InstanceOffer { lease_ms: *lease_ms, nonces, routes, known, marks, suspects })
    }

    /// What the server is told about those who wait for work.
    pub(crate) fn work_offer(&self) -> Option<WorkOffer> {
        let Terms::Work { lease_ms, filter, .. } = &self.terms else { return None };
        let suspects = filter.serving.is_none();
        let (near, leaves_above) = (self.shared.prefers(), self.shared.leaves_above());
        let nonces = nonces(&self.shared, self.count);
        Some(WorkOffer { lease_ms: *lease_ms, nonces, near, leaves_above, suspects })
    }

    /// What was leased and is not kept by its holder can be leased again then.
    pub(crate) fn announce_end_of(&self, leased: &Looked) {
        self.shared.waiters.announce(self.terms.kind(), leased.leased_until(self.terms.lease_ms()));
    }

    /// Hands over what was leased. To be called when the callers of what made it have their answers.
    pub(crate) fn keep(self, looked: Looked) {
        if looked.len() == 0 {
            return;
        }
        let hatch = &self.shared.hatch;
        self.announce_end_of(&looked);
        let mut state = hatch.lock();
        if state.is_closed {
            return drop(state);
        }
        let since = self.shared.settings.clock.monotonic();
        if let Some(tray) = state.tray(&self.terms) {
            tray.handed.push_back((looked, since));
        } else {
            let handed = VecDeque::from([(looked, since)]);
            state.trays.push(Tray { handed, ..Tray::of(&self.terms) });
        }
        drop(state);
        self.shared.waiters.ring(&self.terms.interest());
        hatch.filled.notify_one();
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        let mut state = self.shared.hatch.lock();
        let mut is_relied_on = false;
        if let Some(tray) = state.tray(&self.terms) {
            tray.promised = tray.promised.saturating_sub(self.count);
            is_relied_on = std::mem::take(&mut tray.is_relied_on);
        }
        state.remove_idle();
        drop(state);
        if is_relied_on {
            // He looks for himself.
            self.shared.waiters.ring(&self.terms.interest());
        }
    }
}

/// Whether somebody takes this activity. What is handed over is never of a session.
fn takes(terms: &Terms, work: &NewWork) -> bool {
    let name = work.name.clone().map(unspell);
    work.session.is_none() && terms.take_work(name.as_deref(), &work.tag)
}

/// What a call leased for others, to be handed over once its own callers have their answers.
#[derive(Debug, Default)]
pub(crate) struct Handed(Vec<(Promise, Looked)>);

impl Handed {
    pub(crate) fn add(&mut self, promise: Option<Promise>, looked: Looked) {
        self.0.extend(promise.map(|promise| (promise, looked)));
    }

    pub(crate) fn hand_over(self) {
        for (promise, looked) in self.0 {
            promise.keep(looked);
        }
    }
}

/// Gives back what nobody takes, until the store is closed.
pub(crate) async fn keep_clear(shared: &Arc<Shared>) {
    let clock = &*shared.settings.clock;
    while !shared.hatch.is_closed() {
        shared.hatch.filled().await;
        let mut is_left = true;
        while is_left && !shared.hatch.is_closed() {
            clock.sleep_until(clock.monotonic().saturating_add(COLLECTED_WITHIN)).await;
            is_left = shared.hatch.clear(clock.monotonic());
        }
    }
}
