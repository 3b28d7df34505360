//! Leasing an instance, and ending the lease without a commit.

use std::time::Duration;

use abide_model::{Entropy, Timestamp};
use abide_provider::rows::Starter;
use abide_provider::{
    InstanceLease, LEASE_BYTES, Lane, LeaseInstances, Message, NextLease, ParentLink, Position, Suspicion,
};

use crate::mail;
use crate::readiness::Filter;
use crate::refusal::Refusal;
use crate::state::{Hold, Lease, Mailbox, State};

/// How a lease is given back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GiveBack {
    pub(crate) delay: Option<Duration>,
    pub(crate) attempt: Attempt,
}

/// Whether the lease that ends was an attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Attempt {
    Counts,
    IsIgnored,
}

impl GiveBack {
    /// From the arguments of the frozen signatures.
    #[expect(clippy::fn_params_excessive_bools, reason = "this is where the frozen `bool` ends")]
    pub(crate) fn of(delay: Option<Duration>, ignore_attempt: bool) -> Self {
        Self { delay, attempt: if ignore_attempt { Attempt::IsIgnored } else { Attempt::Counts } }
    }
}

impl State {
    pub(crate) fn lease_instances(
        &mut self,
        request: &LeaseInstances,
        now: Timestamp,
        entropy: &dyn Entropy,
    ) -> Vec<InstanceLease> {
        let mut leases = Vec::new();
        let mut request = request.clone();
        let mut bytes = 0;
        while leases.len() < request.limit && bytes < LEASE_BYTES {
            match self.lease_instance(&request, &leases, now, entropy) {
                Some((lease, size)) => {
                    bytes = bytes.saturating_add(size);
                    if let (Some(serving), true) = (&mut request.serving, lease.suspicion().is_suspect()) {
                        serving.takes_suspect = false;
                    }
                    leases.push(lease);
                }
                None => break,
            }
        }
        leases
    }

    /// One more lease, and the size of its messages.
    fn lease_instance(
        &mut self,
        request: &LeaseInstances,
        taken: &[InstanceLease],
        now: Timestamp,
        entropy: &dyn Entropy,
    ) -> Option<(InstanceLease, usize)> {
        self.see_mail(now);
        loop {
            // Ends: whoever is ready and has nothing to hand out has had a message set aside.
            let name = self.next_ready(&Filter::of(request), taken, now)?;
            self.void_lease(&name);
            let (batch, size) = self.gather_batch(&name, now);
            if !batch.is_empty() {
                let until = now.saturating_add(request.lease_for);
                let (serving, suspicion) = (request.serving.as_ref(), suspicion_of(&batch));
                let lease = Lease::granted(self.new_token(entropy), until, serving, suspicion);
                return Some((self.hand_out(&name, lease, batch, now), size));
            }
        }
    }

    /// Leases an instance whose turn was just committed to whoever did that, if its next one is the next of all.
    pub(crate) fn lease_next(
        &mut self,
        name: &str,
        terms: &NextLease,
        now: Timestamp,
        entropy: &dyn Entropy,
    ) -> Option<InstanceLease> {
        self.see_mail(now);
        let filter = Filter { pins: terms.capabilities.as_ref(), serving: terms.serving.as_ref() };
        let next = self.next_ready(&filter, &[], now)?;
        if next != name {
            return None;
        }
        let (batch, _) = self.gather_batch(name, now);
        let (token, until) = (self.new_token(entropy), now.saturating_add(terms.lease_for));
        let lease = Lease::granted(token, until, terms.serving.as_ref(), suspicion_of(&batch));
        (!batch.is_empty()).then(|| self.hand_out(name, lease, batch, now))
    }

    /// Ends the leases that ran out.
    pub(crate) fn void_expired_leases(&mut self, now: Timestamp) {
        let is_expired = |mailbox: &Mailbox| mailbox.hold.is_some() && !mailbox.is_leased(now);
        let expired = self.mailboxes.iter().filter(|(_, mailbox)| is_expired(mailbox));
        for name in expired.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            self.void_lease(&name);
        }
    }

    /// Ends all leases, as if they had run out.
    pub(crate) fn end_leases(&mut self) {
        for name in self.mailboxes.keys().cloned().collect::<Vec<_>>() {
            self.void_lease(&name);
        }
        self.work.values_mut().for_each(|work| work.lease = None);
        self.something_may_be_leasable();
    }

    /// Ends a lease that ran out: it was an attempt, unless it is that of a suspect whose code did not run.
    pub(crate) fn void_lease(&mut self, name: &str) {
        let hold = self.mailboxes.get_mut(name).and_then(|mailbox| mailbox.hold.take());
        for number in hold.into_iter().filter(|hold| hold.lease.counts).flat_map(|hold| hold.batch) {
            if let Some(message) = self.messages.get_mut(&number) {
                message.count_attempt();
            }
        }
    }

    fn hand_out(&mut self, name: &str, lease: Lease, batch: Vec<Message>, now: Timestamp) -> InstanceLease {
        let token = lease.token.clone();
        let mailbox = self.mailbox_mut(name);
        mailbox.hold = Some(Hold { lease, batch: batch.iter().map(|message| message.id.0).collect() });
        let position = mailbox.position();
        let status = mailbox.current_execution().map(|execution| execution.status);
        let (orchestration_name, orchestration_version, parent) = match &mailbox.instance {
            Some(instance) => (instance.name.clone(), instance.version.clone(), instance.parent.clone()),
            None => described_by(&batch),
        };
        InstanceLease {
            instance: name.to_owned(),
            token,
            attempt: batch.iter().map(|message| message.attempt).max().unwrap_or_default(),
            store_time: Some(now),
            store_time_slack: Duration::ZERO,
            position,
            status,
            orchestration_name,
            orchestration_version,
            parent,
            refused: mailbox.refused.as_ref().map(|refused| Box::new(refused.told())),
            messages: batch,
            preloaded: None,
        }
    }

    /// The name of the instance that this token holds a valid lease on.
    pub(crate) fn leased_with(&self, token: &str, now: Timestamp) -> Result<String, Refusal> {
        let is_held = |hold: Option<&Hold>| {
            hold.is_some_and(|hold| hold.lease.token == token && hold.lease.is_valid(now))
        };
        let leased = self.mailboxes.iter().find(|(_, mailbox)| is_held(mailbox.hold.as_ref()));
        leased.map(|(name, _)| name.clone()).ok_or(Refusal::LeaseLost)
    }

    pub(crate) fn renew_instance(
        &mut self,
        token: &str,
        extend_for: Duration,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let name = self.leased_with(token, now)?;
        if let Some(hold) = &mut self.mailbox_mut(&name).hold {
            hold.lease.extend(now.saturating_add(extend_for));
        }
        Ok(())
    }

    /// The code of a suspect is about to run: from now on its lease counts.
    pub(crate) fn begin_suspect(&mut self, lane: Lane, token: &str, now: Timestamp) -> Result<(), Refusal> {
        match lane {
            Lane::Instances => {
                let name = self.leased_with(token, now)?;
                if let Some(hold) = &mut self.mailbox_mut(&name).hold {
                    hold.lease.counts = true;
                }
            }
            Lane::Work => {
                let number = self.leased_work_with(token, now)?;
                if let Some(work) = self.work.get_mut(&number) {
                    work.count_lease();
                }
            }
        }
        Ok(())
    }

    pub(crate) fn abandon_instance(
        &mut self,
        token: &str,
        back: GiveBack,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let name = self.leased_with(token, now)?;
        for number in self.release(&name) {
            let Some(message) = self.messages.get_mut(&number) else {
                continue;
            };
            match back.attempt {
                Attempt::Counts => message.count_attempt(),
                Attempt::IsIgnored => {}
            }
            if let Some(time) = mail::hidden_until(back.delay, now) {
                message.visible_at = Some(time);
            }
        }
        Ok(())
    }

    /// Takes a lease away and says which messages it had handed out.
    pub(crate) fn release(&mut self, name: &str) -> Vec<u64> {
        self.something_may_be_leasable();
        self.mailbox_mut(name).hold.take().map(|hold| hold.batch).unwrap_or_default()
    }
}

impl Mailbox {
    pub(crate) fn position(&self) -> Position {
        let execution_id = self.instance.as_ref().map_or(0, |instance| instance.current);
        Position {
            incarnation: self.incarnation,
            execution_id,
            last_event_id: self.instance.as_ref().map_or(0, |instance| instance.last_event_id(execution_id)),
        }
    }
}

/// What a lease on these messages is: see [`InstanceLease::suspicion`].
fn suspicion_of(batch: &[Message]) -> Suspicion {
    let lowest = batch.iter().min_by_key(|message| message.id);
    Suspicion::after(lowest.map_or(0, |message| message.attempt.saturating_sub(1)))
}

/// What the first of these messages that starts an instance says about it.
fn described_by(batch: &[Message]) -> (String, String, Option<ParentLink>) {
    let starter = batch.iter().find_map(|message| Starter::of(&message.item));
    starter
        .map(|starter| (starter.orchestration_name, starter.orchestration_version, starter.parent))
        .unwrap_or_default()
}
