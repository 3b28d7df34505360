//! When something becomes leasable by the passing of time alone.

use abide_model::Timestamp;
use abide_provider::Lane;

use crate::state::State;

impl State {
    /// The earliest future time at which a message or work becomes visible, or a lease ends that keeps some waiting.
    pub(crate) fn next_due(&self, lane: Lane, now: Timestamp) -> Option<Timestamp> {
        match lane {
            Lane::Instances => {
                let visible = self.messages.values().filter_map(|message| message.visible_at);
                earliest(visible.chain(self.ends_of_leases_with_mail(now)), now)
            }
            Lane::Work => {
                let visible = self.work.values().filter_map(|work| work.visible_at);
                let ends = self.work.values().filter_map(|work| work.lease.as_ref()).map(|lease| lease.until);
                earliest(visible.chain(ends), now)
            }
        }
    }

    /// When one who waits in this lane must look again: also when a session becomes free that work waits for.
    pub(crate) fn look_again_at(&self, lane: Lane, now: Timestamp) -> Option<Timestamp> {
        match lane {
            Lane::Instances => self.next_due(lane, now),
            Lane::Work => {
                earliest(self.next_due(lane, now).into_iter().chain(self.ends_of_sessions_with_work()), now)
            }
        }
    }

    fn ends_of_leases_with_mail(&self, now: Timestamp) -> impl Iterator<Item = Timestamp> {
        self.mailboxes.iter().filter_map(move |(name, mailbox)| {
            let until = mailbox.hold.as_ref()?.lease.until;
            self.mail_of(name).any(|(_, message)| message.is_visible(now)).then_some(until)
        })
    }

    fn ends_of_sessions_with_work(&self) -> impl Iterator<Item = Timestamp> {
        let names = self.work.values().filter_map(|work| work.session.as_ref());
        names.filter_map(|name| self.sessions.get(name)).map(|session| session.locked_until)
    }
}

fn earliest(times: impl Iterator<Item = Timestamp>, now: Timestamp) -> Option<Timestamp> {
    times.filter(|time| *time > now).min()
}
