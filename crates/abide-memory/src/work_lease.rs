//! Leasing work, and ending the lease without finishing it.

use std::time::Duration;

use abide_model::{Entropy, Timestamp, WorkItem};
use abide_provider::{LEASE_BYTES, LeaseWork, Serving, Suspicion, WorkLease};

use crate::lease::{Attempt, GiveBack};
use crate::mail;
use crate::refusal::Refusal;
use crate::state::{Instance, Lease, State, Work};
use crate::stored::{Payload as _, Stored};

impl State {
    pub(crate) fn lease_work(
        &mut self,
        request: &LeaseWork,
        now: Timestamp,
        entropy: &dyn Entropy,
    ) -> Vec<WorkLease> {
        let mut leases: Vec<WorkLease> = Vec::new();
        let mut request = request.clone();
        let mut bytes: usize = 0;
        while leases.len() < request.limit && bytes < LEASE_BYTES {
            match self.lease_one_work(&request, &leases, now, entropy) {
                Some(lease) => {
                    let suspicion = Suspicion::after(lease.attempt.saturating_sub(1));
                    if let (Some(serving), true) = (&mut request.serving, suspicion.is_suspect()) {
                        serving.takes_suspect = false;
                    }
                    // The last that was asked for needs no size.
                    if leases.len() + 1 < request.limit {
                        bytes = bytes.saturating_add(lease.item.json().len());
                    }
                    leases.push(lease);
                }
                None => break,
            }
        }
        leases
    }

    fn lease_one_work(
        &mut self,
        request: &LeaseWork,
        taken: &[WorkLease],
        now: Timestamp,
        entropy: &dyn Entropy,
    ) -> Option<WorkLease> {
        loop {
            // Ends: what cannot be read is set aside.
            let number = self.next_leasable(request, taken, now)?;
            let (proof, until) = (self.new_token(entropy), now.saturating_add(request.lease_for));
            match self.work.get_mut(&number) {
                Some(Work {
                    item: Stored::Readable(item),
                    attempts,
                    lease: held,
                    activity,
                    step,
                    session,
                    ..
                }) => {
                    let suspicion = Suspicion::after(*attempts);
                    let lease = Lease::granted(proof, until, request.serving.as_ref(), suspicion);
                    let attempt = attempts.saturating_add(1);
                    if lease.counts {
                        *attempts = attempt;
                    }
                    *held = Some(lease.clone());
                    let (item, step) = (item.clone(), *step);
                    let (instance, session) = (activity.instance.clone(), session.clone());
                    if let (Some(session), Some(config)) = (session, &request.session) {
                        self.claim_session(session, config, now);
                    }
                    let (orchestration_name, orchestration_version) = self.handler_of(&instance);
                    return Some(WorkLease {
                        item,
                        orchestration_name,
                        orchestration_version,
                        token: lease.token,
                        attempt,
                        step,
                        store_time: Some(now),
                        store_time_slack: Duration::ZERO,
                    });
                }
                Some(Work { item: Stored::Unreadable(_), .. }) | None => self.set_work_aside(number, now),
            }
        }
    }

    /// The lowest-numbered work that can be leased. What one call has taken it does not take again, even if the lease
    /// should be over already.
    fn next_leasable(&self, request: &LeaseWork, taken: &[WorkLease], now: Timestamp) -> Option<u64> {
        let is_taken = |work: &Work| {
            work.lease.as_ref().is_some_and(|held| taken.iter().any(|lease| lease.token == held.token))
        };
        let leasable = self.work.iter().find(|(_, work)| {
            work.is_visible(now)
                && !work.is_leased(now)
                && !is_taken(work)
                && work.is_admitted(request.serving.as_ref())
                && request.tags.matches(work.tag.as_deref())
                && self.may_take_session(work.session.as_deref(), request.session.as_ref(), now)
        });
        leasable.map(|(number, _)| *number)
    }

    /// Name and version of the orchestration behind an instance; empty if there is no such instance.
    fn handler_of(&self, name: &str) -> (String, String) {
        match self.instance(name) {
            Some(Instance { name, version, .. }) => (name.clone(), version.clone()),
            None => (String::new(), String::new()),
        }
    }

    /// The number of the work that this token holds a valid lease on.
    pub(crate) fn leased_work_with(&self, token: &str, now: Timestamp) -> Result<u64, Refusal> {
        let is_held =
            |lease: Option<&Lease>| lease.is_some_and(|lease| lease.token == token && lease.is_valid(now));
        let leased = self.work.iter().find(|(_, work)| is_held(work.lease.as_ref()));
        leased.map(|(number, _)| *number).ok_or(Refusal::LeaseLost)
    }

    pub(crate) fn renew_work(
        &mut self,
        token: &str,
        extend_for: Duration,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let number = self.leased_work_with(token, now)?;
        if let Some(lease) = self.work.get_mut(&number).and_then(|work| work.lease.as_mut()) {
            lease.extend(now.saturating_add(extend_for));
        }
        self.use_session_of(number, now);
        Ok(())
    }

    pub(crate) fn abandon_work(
        &mut self,
        token: &str,
        back: GiveBack,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let number = self.leased_work_with(token, now)?;
        if let Some(work) = self.work.get_mut(&number) {
            match back.attempt {
                Attempt::Counts => work.count_lease(),
                Attempt::IsIgnored if !work.lease.as_ref().is_some_and(|lease| lease.counts) => {}
                Attempt::IsIgnored => work.attempts = work.attempts.saturating_sub(1),
            }
            work.lease = None;
            if let Some(time) = mail::hidden_until(back.delay, now) {
                work.visible_at = Some(time);
            }
        }
        self.something_may_be_leasable();
        Ok(())
    }
}

impl Work {
    /// Counts its lease as an attempt, unless it counts already.
    pub(crate) fn count_lease(&mut self) {
        if let Some(lease) = self.lease.as_mut().filter(|lease| !lease.counts) {
            lease.counts = true;
            self.attempts = self.attempts.saturating_add(1);
        }
    }

    /// Whether a call takes it. What cannot be read is taken by every call, and set aside.
    pub(crate) fn is_admitted(&self, serving: Option<&Serving>) -> bool {
        if self.held.is_some() {
            return false;
        }
        match (serving, &self.item) {
            (Some(serving), Stored::Readable(WorkItem::ActivityExecute { name, .. })) => {
                serving.admits_activity(name, Suspicion::after(self.attempts))
            }
            (Some(_), Stored::Readable(_) | Stored::Unreadable(_)) | (None, _) => true,
        }
    }
}
