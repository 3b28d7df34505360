//! Situations of mail that waits for a start.

use super::{Coverage, Scene};
use crate::op::Op;

impl Coverage {
    pub(super) fn waiting_mail(&mut self, op: &Op, Scene { before, after, world, .. }: Scene<'_>) {
        let both = || {
            let stayed = |number| after.messages.get(number);
            before.messages.iter().filter_map(move |(number, was)| Some((was, stayed(number)?)))
        };
        let got_a_start = both().any(|(was, is)| was.expires_at.is_some() && is.expires_at.is_none());
        let lost_its_start = both().any(|(was, is)| was.expires_at.is_none() && is.expires_at.is_some());
        match op {
            Op::Advance(_) => {
                let is_over = |time: Option<u64>| time.is_some_and(|time| time <= world.now);
                let over = || before.messages.values().filter(|message| is_over(message.expires_at));
                let on_time = before.messages.values().any(|message| message.expires_at == Some(world.now));
                let holds_mail = |name: &str| after.messages.values().any(|mail| mail.mailbox == name);
                let holds_work = |name: &str| after.work.values().any(|work| work.instance == name);
                self.note("mail waited for a start for too long", over().next().is_some());
                self.note("mail waited for too long this very millisecond", on_time);
                let beside = over().any(|message| holds_mail(&message.mailbox));
                self.note("mail waits on beside some that waited for too long", beside);
                let beside = over().any(|message| holds_work(&message.mailbox));
                self.note("mail waited for too long beside work", beside);
            }
            Op::Mail(_) => self.note("mail that waited got a start", got_a_start),
            Op::Instance(_) => {
                self.note("a turn started what had mail that waited", got_a_start);
                self.note("a turn left mail that waits for another start", lost_its_start);
            }
            Op::Delete(_) => self.note("a deletion left mail that waits for another start", lost_its_start),
            Op::Work(_)
            | Op::Session(_)
            | Op::Block(_)
            | Op::Read(_)
            | Op::Look(_)
            | Op::Restart
            | Op::Damage(_)
            | Op::Listen => {}
        }
    }
}
