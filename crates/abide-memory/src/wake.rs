//! When something becomes leasable by the passing of time alone.

use abide_model::Timestamp;
use abide_provider::Lane;

use crate::state::State;

impl State {
    /// The earliest future time at which a message becomes visible where nothing is leased, work becomes visible, a lease
    /// ends, or a session becomes free.
    pub(crate) fn next_due(&self, lane: Lane, now: Timestamp) -> Option<Timestamp> {
        match lane {
            Lane::Instances => earliest(
                self.hidden_mail(now).chain(self.ends_of_leases_with_mail(now)).chain(self.retries(now)),
                now,
            ),
            Lane::Work => {
                let visible = self.work.values().filter_map(|work| work.visible_at);
                let ends = self.work.values().filter_map(|work| work.lease.as_ref()).map(|lease| lease.until);
                let free = self.sessions.values().map(|session| session.locked_until);
                earliest(visible.chain(ends).chain(free), now)
            }
        }
    }

    /// A lease hides its mailbox: what becomes visible behind it is found when it ends.
    fn hidden_mail(&self, now: Timestamp) -> impl Iterator<Item = Timestamp> {
        let unleased = self
            .mailboxes
            .iter()
            .filter(move |(_, mailbox)| mailbox.hold.as_ref().is_none_or(|hold| hold.lease.until <= now));
        unleased.flat_map(|(name, _)| self.mail_of(name)).filter_map(|(_, message)| message.visible_at)
    }

    /// When builds that refused an execution may try again. A lease hides that, too.
    fn retries(&self, now: Timestamp) -> impl Iterator<Item = Timestamp> {
        let unleased = self.mailboxes.values().filter(move |mailbox| !mailbox.is_leased(now));
        unleased.filter_map(|mailbox| mailbox.refused.as_ref()?.retry_at)
    }

    fn ends_of_leases_with_mail(&self, now: Timestamp) -> impl Iterator<Item = Timestamp> {
        self.mailboxes.iter().filter_map(move |(name, mailbox)| {
            let until = mailbox.hold.as_ref()?.lease.until;
            self.mail_of(name).any(|(_, message)| message.is_visible(now)).then_some(until)
        })
    }
}

fn earliest(times: impl Iterator<Item = Timestamp>, now: Timestamp) -> Option<Timestamp> {
    times.filter(|time| *time > now).min()
}
