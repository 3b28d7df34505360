//! Which instance can be leased, and which comes first.

use abide_model::Timestamp;
use abide_provider::{DispatcherCapabilityFilter, InstanceLease};

use crate::state::{Mailbox, State};

impl State {
    /// Makes what can be seen now visible for good: a clock that goes back hides nothing again.
    pub(crate) fn see_mail(&mut self, now: Timestamp) {
        for message in self.messages.values_mut() {
            if message.is_visible(now) {
                message.visible_at = None;
            }
        }
    }

    /// The name with the lowest-numbered visible message of those that can be leased. What one call has taken it does
    /// not take again, even if the lease should be over already.
    pub(crate) fn next_ready(
        &self,
        capabilities: Option<&DispatcherCapabilityFilter>,
        taken: &[InstanceLease],
        now: Timestamp,
    ) -> Option<String> {
        let visible = self.messages.values().filter(|message| message.is_visible(now));
        visible
            .map(|message| &message.mailbox)
            .filter(|name| taken.iter().all(|lease| lease.instance != **name))
            .find(|name| self.is_ready(name, now) && self.can_be_replayed(name, capabilities))
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

    fn can_be_replayed(&self, name: &str, capabilities: Option<&DispatcherCapabilityFilter>) -> bool {
        let Some(filter) = capabilities else {
            return true;
        };
        let execution = self.mailboxes.get(name).and_then(Mailbox::current_execution);
        match execution.and_then(|execution| execution.pin.as_ref()) {
            None => !filter.supported_duroxide_versions.is_empty(),
            Some(pin) => filter.is_compatible(pin),
        }
    }
}
