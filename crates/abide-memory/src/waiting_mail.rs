//! Mail that waits for a start: for so long, and then it is gone.

use abide_model::Timestamp;
use abide_provider::MAIL_WAITS_FOR_START;

use crate::state::State;

impl State {
    /// Removes mail that has waited in vain, and mailboxes that hold nothing else. At the beginning of every
    /// call, so that nobody sees any of it.
    pub(crate) fn forget_expired(&mut self, now: Timestamp) {
        for name in self.waiting_for_start.clone() {
            self.messages.retain(|_, message| {
                message.mailbox != name || message.expires_at.is_none_or(|time| time > now)
            });
            let holds_something = self.mail_of(&name).next().is_some()
                || self.work.values().any(|work| work.activity.instance == name);
            if !holds_something {
                self.mailboxes.remove(&name);
                self.waiting_for_start.remove(&name);
            }
        }
    }

    /// To be called when a mailbox may have got or lost what starts it.
    pub(crate) fn settle_waiting(&mut self, name: &str, now: Timestamp) {
        if self.is_instance(name) || self.is_about_to_start(name) {
            if self.waiting_for_start.remove(name) {
                for message in self.messages.values_mut().filter(|message| message.mailbox == name) {
                    message.expires_at = None;
                }
            }
            return;
        }
        // What blocked its start went with it.
        if let Some(mailbox) = self.mailboxes.get_mut(name) {
            mailbox.refused = None;
        }
        for message in self.messages.values_mut().filter(|message| message.mailbox == name) {
            let visible_at = message.visible_at.map_or(now, |time| time.max(now));
            message.expires_at.get_or_insert(visible_at.saturating_add(MAIL_WAITS_FOR_START));
            self.waiting_for_start.insert(name.to_owned());
        }
    }
}
