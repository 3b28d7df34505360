//! Which instance can be leased, and which comes first.

use abide_model::Timestamp;
use abide_provider::{DispatcherCapabilityFilter, InstanceLease, LeaseInstances, Serving};

use crate::state::State;

/// What a call takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Filter<'call> {
    pub(crate) pins: Option<&'call DispatcherCapabilityFilter>,
    pub(crate) serving: Option<&'call Serving>,
}

impl<'call> Filter<'call> {
    pub(crate) fn of(request: &'call LeaseInstances) -> Self {
        Self { pins: request.capabilities.as_ref(), serving: request.serving.as_ref() }
    }
}

impl State {
    /// Does what passing time decides, for good: a clock that goes back hides nothing again, and revives no lease.
    pub(crate) fn see_mail(&mut self, now: Timestamp) {
        self.void_expired_leases(now);
        let mut shown = Vec::new();
        for message in self.messages.values_mut() {
            if let Some(time) = message.visible_at.filter(|time| *time <= now) {
                message.visible_at = None;
                shown.push((message.mailbox.clone(), time));
            }
        }
        // The first mail to become visible starts the clock, whatever its number.
        shown.sort_by_key(|(_, time)| *time);
        for (name, time) in shown {
            self.start_retry_clock(&name, time);
        }
        self.open_refused(now);
    }

    /// The name with the lowest-numbered visible message of those that can be leased. What one call has taken it does
    /// not take again, even if the lease should be over already.
    pub(crate) fn next_ready(
        &self,
        filter: &Filter<'_>,
        taken: &[InstanceLease],
        now: Timestamp,
    ) -> Option<String> {
        let visible = self.messages.values().filter(|message| message.is_visible(now));
        visible
            .map(|message| &message.mailbox)
            .filter(|name| taken.iter().all(|lease| lease.instance != **name))
            .find(|name| self.is_ready(name, now) && self.is_admitted(name, filter, now))
            .cloned()
    }

    fn is_ready(&self, name: &str, now: Timestamp) -> bool {
        let Some(mailbox) = self.mailboxes.get(name) else {
            return false;
        };
        let is_instance = mailbox.instance.is_some();
        let mut visible = self.mail_of(name).filter(|(_, message)| message.is_visible(now));
        !mailbox.is_leased(now) && visible.any(|(_, message)| is_instance || message.class.starts())
    }

    fn is_admitted(&self, name: &str, filter: &Filter<'_>, now: Timestamp) -> bool {
        self.route_of(name, now).is_admitted(filter.serving, filter.pins, |route| self.is_served(route))
    }
}
