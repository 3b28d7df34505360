//! One crash suspect at a time: what was under way in several crashes runs on a node only while no other suspect is
//! leased there, so that the next crash tells the culprit from what ran beside it.
//!
//! A crash counts for every lease of its process. So a suspect does not begin before the node has given back every
//! other suspect, and before every lease call that could bring one has ended. It waits 5 s for this at most. What is
//! leased meanwhile did not crash the node: a suspect tells the store when its code is about to run, and only from then
//! on its lease counts.

use std::sync::Arc;
use std::time::Duration;

use abide_provider::{Ability, Lane, Operation, Suspicion};
use futures_util::FutureExt;
use futures_util::future::{Either, select};
use tokio::sync::watch;
use tracing::debug;

use crate::core::Core;
use crate::dispatch::GiveBack;
use crate::insist::Told;
use crate::store_call::Caller;

/// A suspect that was leased while the node runs another is leased again after this time. Where a lease call cannot be
/// ended, one that takes no suspect waits no longer, or it would not notice that there is room for one.
pub(crate) const ANOTHER_SUSPECT: Duration = Duration::from_secs(1);

/// A suspect waits this long at most until no other is leased.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// The suspects of a node. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct Suspects(Arc<watch::Sender<State>>);

#[derive(Debug, Clone, Copy, Default)]
struct State {
    /// A suspect runs, or is about to.
    has_runner: bool,
    /// Lease calls under way that may bring a suspect, and suspects that are still to be given back.
    pending: usize,
}

/// A lease call that may bring a suspect, or a suspect that is to be given back.
#[derive(Debug)]
pub(crate) struct Pending(Suspects);

/// The right to run the one suspect of a node.
#[derive(Debug)]
pub(crate) struct SuspectPermit(Suspects);

/// Whether a lease may be worked on now.
#[derive(Debug)]
pub(crate) enum SuspectAdmission {
    /// It may; a suspect holds its permit meanwhile, and first waits until it is the only one.
    Admitted(Option<SuspectPermit>),
    /// The node runs another suspect. This one goes back to the store.
    AnotherSuspect(Pending),
}

impl Default for Suspects {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(State::default())))
    }
}

impl Suspects {
    /// To be called before a lease call, and held until its leases were admitted. `None` if a suspect runs: such a call
    /// takes none.
    pub(crate) fn ask(&self) -> Option<Pending> {
        let mut may_ask = false;
        self.0.send_if_modified(|state| {
            may_ask = !state.has_runner;
            state.pending += usize::from(may_ask);
            false
        });
        may_ask.then(|| Pending(self.clone()))
    }

    /// Whether a lease may be worked on.
    pub(crate) fn admit(&self, suspicion: Suspicion) -> SuspectAdmission {
        if !suspicion.is_suspect() {
            return SuspectAdmission::Admitted(None);
        }
        let mut is_admitted = false;
        self.0.send_if_modified(|state| {
            is_admitted = !state.has_runner;
            state.has_runner = true;
            state.pending += usize::from(!is_admitted);
            is_admitted
        });
        if is_admitted {
            SuspectAdmission::Admitted(Some(SuspectPermit(self.clone())))
        } else {
            SuspectAdmission::AnotherSuspect(Pending(self.clone()))
        }
    }

    /// Waits until a lease call should be made anew: one that may bring a suspect when a suspect is admitted, another
    /// one when there is room for one again.
    pub(crate) async fn changed(&self, asked: Option<&Pending>) {
        // The sender is ours, so this does not end before.
        let mut states = self.0.subscribe();
        let changed = states.wait_for(|state| state.has_runner == asked.is_some()).await;
        drop(changed);
    }
}

impl SuspectPermit {
    /// Waits until this is the only suspect that the node has leased, for a few seconds at most.
    pub(crate) async fn alone(&self, caller: &Caller) {
        let mut states = self.0.0.subscribe();
        let is_alone = Box::pin(states.wait_for(|state| state.pending == 0));
        match select(is_alone, Box::pin(caller.pause(LONGEST_WAIT))).await {
            Either::Left(_) | Either::Right(_) => {}
        }
    }
}

impl Core {
    /// Tells the store that the code of a suspect is about to run, so that its lease counts. If the code must not run
    /// because the store does not know it, returns how to give the lease back.
    pub(crate) async fn begin_suspect(&self, lane: Lane, token: &str) -> Result<(), GiveBack> {
        if !self.abilities.has(Ability::Serving) {
            return Ok(());
        }
        let (store, token) = (Arc::clone(&self.store), token.to_owned());
        let call = move || {
            let (store, token) = (Arc::clone(&store), token.clone());
            async move { store.begin_suspect(lane, &token).await }.boxed()
        };
        match self.insist(Operation::BeginSuspect, call).await {
            Told::Done(()) => Ok(()),
            Told::Refused { error, .. } => {
                debug!(target: "abide::runtime", %error, "a crash suspect was leased and does not run");
                Err(GiveBack::untried(ANOTHER_SUSPECT))
            }
            Told::GivenUp => Err(GiveBack::UNTRIED),
        }
    }
}

impl Drop for SuspectPermit {
    fn drop(&mut self) {
        self.0.0.send_modify(|state| state.has_runner = false);
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.0.send_if_modified(|state| {
            state.pending = state.pending.saturating_sub(1);
            state.has_runner && state.pending == 0
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspect(suspects: &Suspects) -> Option<SuspectPermit> {
        match suspects.admit(Suspicion::Suspect) {
            SuspectAdmission::Admitted(permit) => permit,
            SuspectAdmission::AnotherSuspect(_) => None,
        }
    }

    fn pending(suspects: &Suspects) -> usize {
        suspects.0.borrow().pending
    }

    #[test]
    fn one_suspect_is_admitted_and_then_the_next() {
        let suspects = Suspects::default();
        let first = suspect(&suspects).unwrap();
        assert!(suspect(&suspects).is_none());
        assert!(matches!(suspects.admit(Suspicion::None), SuspectAdmission::Admitted(None)));
        assert!(suspects.ask().is_none(), "a call takes no suspect meanwhile");
        drop(first);
        assert!(suspect(&suspects).is_some());
    }

    #[test]
    fn a_call_that_may_bring_a_suspect_is_pending_and_hears_of_one_that_is_admitted() {
        let suspects = Suspects::default();
        let call = suspects.ask();
        assert!(suspects.changed(call.as_ref()).now_or_never().is_none());
        let permit = suspect(&suspects).unwrap();
        assert!(suspects.changed(call.as_ref()).now_or_never().is_some());
        assert!(suspects.changed(None).now_or_never().is_none());
        let other = suspects.admit(Suspicion::Suspect);
        assert_eq!(pending(&suspects), 2, "the call, and what is given back");
        drop((call, other));
        assert_eq!(pending(&suspects), 0);
        drop(permit);
        assert!(suspects.changed(None).now_or_never().is_some(), "there is room again");
    }
}
