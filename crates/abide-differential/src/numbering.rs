//! Which number of the subject is which of the model.
//!
//! A store that numbers its rows with gaps is compared all the same: rows are paired as they appear, for good. So a row
//! that changes its number, takes one that another had, or comes in another order is found as it would be if the
//! numbers were equal. What is compared and written down has the model's numbers; what the subject is called with has its
//! own.

use std::collections::BTreeMap;

use abide_memory::Dump;
use abide_provider::{Consumed, InstanceLease, InstanceOrder, InstancePage, MessageId, PageCursor, Position};

use crate::subject::{Damage, Numbers};

/// What stands for a number without a partner: beyond all that a sequence comes to.
const UNPAIRED: u64 = 1 << 40;

/// The numbers of the subject beside those of the model.
#[derive(Debug, Default)]
pub(crate) struct Numbering {
    /// Missing if they are the same.
    pairs: Option<Box<AllPairs>>,
}

/// For whoever needs no translation.
pub(crate) static SAME: Numbering = Numbering { pairs: None };

#[derive(Debug, Default)]
struct AllPairs {
    messages: Pairs,
    work: Pairs,
    mailboxes: Pairs,
}

/// Numbers of one kind. Zero is nobody's, and itself.
#[derive(Debug, Default)]
struct Pairs {
    to_model: BTreeMap<u64, u64>,
    to_subject: BTreeMap<u64, u64>,
}

impl Pairs {
    /// Pairs two numbers, if both are new.
    fn pair(&mut self, model: u64, subject: u64) {
        if !self.to_subject.contains_key(&model) && !self.to_model.contains_key(&subject) {
            self.to_subject.insert(model, subject);
            self.to_model.insert(subject, model);
        }
    }

    /// Pairs those that are new, in their order.
    fn pair_new<'a>(&mut self, model: impl Iterator<Item = &'a u64>, subject: impl Iterator<Item = &'a u64>) {
        let model: Vec<u64> = model.filter(|number| !self.to_subject.contains_key(number)).copied().collect();
        let subject: Vec<u64> =
            subject.filter(|number| !self.to_model.contains_key(number)).copied().collect();
        for (model, subject) in model.into_iter().zip(subject) {
            self.pair(model, subject);
        }
    }

    fn model(&self, subject: u64) -> u64 {
        translated(&self.to_model, subject)
    }

    fn subject(&self, model: u64) -> u64 {
        translated(&self.to_subject, model)
    }

    /// Neighbours whose order is not that of the model, among these numbers of the subject, ascending.
    fn disorder(&self, what: &str, numbers: impl Iterator<Item = u64>) -> Option<String> {
        let numbers: Vec<u64> = numbers.map(|number| self.model(number)).collect();
        let is_wrong = numbers.windows(2).any(|pair| pair[0] > pair[1]);
        is_wrong.then(|| format!("{what} in another order than the model's: {numbers:?}"))
    }
}

fn translated(pairs: &BTreeMap<u64, u64>, number: u64) -> u64 {
    match pairs.get(&number) {
        Some(partner) => *partner,
        None if number == 0 || number >= UNPAIRED => number,
        None => UNPAIRED + number,
    }
}

impl Numbering {
    pub(crate) fn of(numbers: Numbers) -> Self {
        match numbers {
            Numbers::LikeTheModel => Self { pairs: None },
            Numbers::WithGaps => Self { pairs: Some(Box::default()) },
        }
    }

    /// Takes note of rows that are new.
    pub(crate) fn learn(&mut self, model: &Dump, subject: &Dump) {
        let Some(pairs) = &mut self.pairs else { return };
        pairs.messages.pair_new(model.messages.keys(), subject.messages.keys());
        pairs.work.pair_new(model.work.keys(), subject.work.keys());
        for (name, mailbox) in &model.instances {
            if let Some(same) = subject.instances.get(name) {
                pairs.mailboxes.pair(mailbox.incarnation, same.incarnation);
            }
        }
    }

    /// Where rows of the subject are not in the order of the model, which says who comes first.
    pub(crate) fn disorder(&self, subject: &Dump) -> Vec<String> {
        let Some(pairs) = &self.pairs else { return Vec::new() };
        let mut mailboxes: Vec<u64> = subject.instances.values().map(|mailbox| mailbox.incarnation).collect();
        mailboxes.sort_unstable();
        let found = [
            pairs.messages.disorder("messages", subject.messages.keys().copied()),
            pairs.work.disorder("work", subject.work.keys().copied()),
            pairs.mailboxes.disorder("incarnations", mailboxes.into_iter()),
        ];
        found.into_iter().flatten().collect()
    }

    /// What the subject holds, with the model's numbers.
    pub(crate) fn of_model(&self, mut dump: Dump) -> Dump {
        let Some(pairs) = &self.pairs else { return dump };
        dump.messages =
            dump.messages.into_iter().map(|(number, row)| (pairs.messages.model(number), row)).collect();
        dump.work = dump.work.into_iter().map(|(number, row)| (pairs.work.model(number), row)).collect();
        for mailbox in dump.instances.values_mut() {
            mailbox.incarnation = pairs.mailboxes.model(mailbox.incarnation);
            for number in &mut mailbox.batch {
                *number = pairs.messages.model(*number);
            }
            mailbox.batch.sort_unstable();
        }
        dump
    }

    /// A lease of the subject, with the model's numbers.
    pub(crate) fn lease_of_model(&self, mut lease: InstanceLease) -> InstanceLease {
        let Some(pairs) = &self.pairs else { return lease };
        lease.position.incarnation = pairs.mailboxes.model(lease.position.incarnation);
        for message in &mut lease.messages {
            message.id = MessageId(pairs.messages.model(message.id.0));
        }
        lease
    }

    /// A page of the subject, with the model's numbers.
    pub(crate) fn page_of_model(&self, mut page: InstancePage) -> InstancePage {
        let Some(pairs) = &self.pairs else { return page };
        page.next = page.next.map(|cursor| with_tie(cursor, |tie| pairs.mailboxes.model(tie)));
        page
    }

    /// A position of the model, as the subject knows it.
    pub(crate) fn position_of_subject(&self, mut position: Position) -> Position {
        if let Some(pairs) = &self.pairs {
            position.incarnation = pairs.mailboxes.subject(position.incarnation);
        }
        position
    }

    /// Messages of the model, as the subject knows them.
    pub(crate) fn consumed_of_subject(&self, consumed: Consumed) -> Consumed {
        match (&self.pairs, consumed) {
            (Some(pairs), Consumed::These(these)) => {
                Consumed::These(these.into_iter().map(|id| MessageId(pairs.messages.subject(id.0))).collect())
            }
            (_, consumed) => consumed,
        }
    }

    /// The place in the subject that this is in the model.
    pub(crate) fn cursor_of_subject(&self, cursor: PageCursor) -> PageCursor {
        let Some(pairs) = &self.pairs else { return cursor };
        let known = &pairs.mailboxes.to_subject;
        // Nobody of that number is there, but those before and behind it are.
        let nearest = match cursor.order() {
            InstanceOrder::NewestFirst => {
                |known: &BTreeMap<u64, u64>, tie| known.range(tie..).next().map(|(_, at)| *at)
            }
            InstanceOrder::OldestFirst | InstanceOrder::ById => {
                |known: &BTreeMap<u64, u64>, tie| known.range(..=tie).next_back().map(|(_, at)| *at)
            }
        };
        with_tie(cursor, |tie| nearest(known, tie).unwrap_or(tie))
    }

    /// Damage to a row of the model, as the subject knows it.
    pub(crate) fn damage_of_subject(&self, damage: &Damage) -> Damage {
        match (&self.pairs, damage) {
            (Some(pairs), Damage::Message { number }) => {
                Damage::Message { number: pairs.messages.subject(*number) }
            }
            (Some(pairs), Damage::Work { number }) => Damage::Work { number: pairs.work.subject(*number) },
            (None, _) | (Some(_), Damage::History { .. }) => damage.clone(),
        }
    }
}

/// The same place, with another number where the cursor has one.
fn with_tie(cursor: PageCursor, number: impl Fn(u64) -> u64) -> PageCursor {
    match (cursor.order(), cursor.tie().parse::<u64>()) {
        (InstanceOrder::NewestFirst | InstanceOrder::OldestFirst, Ok(tie)) => {
            PageCursor::created(cursor.order(), cursor.created_at(), number(tie).to_string())
        }
        (InstanceOrder::NewestFirst | InstanceOrder::OldestFirst | InstanceOrder::ById, _) => cursor,
    }
}

#[cfg(test)]
mod tests {
    use abide_memory::dump::{InstanceDump, MessageDump, WorkDump};

    use super::*;

    /// Both stores after every step: rows by their numbers, mailboxes by name.
    fn learnt(steps: &[(&Dump, &Dump)]) -> Numbering {
        let mut numbering = Numbering::of(Numbers::WithGaps);
        for (model, subject) in steps {
            numbering.learn(model, subject);
        }
        numbering
    }

    fn messages(numbers: &[u64]) -> Dump {
        let rows = numbers.iter().map(|number| (*number, MessageDump::default()));
        Dump { messages: rows.collect(), ..Dump::default() }
    }

    fn work(numbers: &[u64]) -> Dump {
        let rows = numbers.iter().map(|number| (*number, WorkDump::default()));
        Dump { work: rows.collect(), ..Dump::default() }
    }

    fn mailboxes(incarnations: &[(&str, u64)]) -> Dump {
        let row = |incarnation: u64| InstanceDump { incarnation, ..InstanceDump::default() };
        let rows = incarnations.iter().map(|(name, incarnation)| ((*name).to_owned(), row(*incarnation)));
        Dump { instances: rows.collect(), ..Dump::default() }
    }

    #[test]
    fn rows_are_paired_in_their_order_as_they_appear() {
        let (model, subject) = (messages(&[2, 3]), messages(&[20, 31]));
        let numbering = learnt(&[(&messages(&[1, 2]), &messages(&[10, 20])), (&model, &subject)]);
        assert_eq!(numbering.of_model(subject), model);
    }

    #[test]
    fn a_row_that_changes_its_number_has_no_partner() {
        let (model, subject) = (messages(&[1]), messages(&[11]));
        let numbering = learnt(&[(&model, &messages(&[10])), (&model, &subject)]);
        assert_eq!(numbering.of_model(subject), messages(&[UNPAIRED + 11]));
    }

    #[test]
    fn a_newer_row_with_a_lower_number_is_out_of_order() {
        for rows in [messages, work] {
            let (model, subject) = (rows(&[1, 2]), rows(&[5, 10]));
            let numbering = learnt(&[(&rows(&[1]), &rows(&[10])), (&model, &subject)]);
            assert_eq!(numbering.disorder(&subject).len(), 1);
            assert_eq!(numbering.disorder(&rows(&[10])), Vec::<String>::new());
        }
    }

    #[test]
    fn mailboxes_are_paired_by_name_and_have_an_order() {
        let (model, subject) = (mailboxes(&[("a", 1), ("b", 2)]), mailboxes(&[("a", 9), ("b", 4)]));
        let numbering = learnt(&[(&model, &subject)]);
        assert_eq!(numbering.disorder(&subject).len(), 1);
        assert_eq!(numbering.of_model(subject), model);
    }

    #[test]
    fn a_mailbox_that_comes_again_is_another() {
        let (model, subject) = (mailboxes(&[("a", 2)]), mailboxes(&[("a", 9)]));
        let numbering = learnt(&[(&mailboxes(&[("a", 1)]), &mailboxes(&[("a", 9)])), (&model, &subject)]);
        assert_ne!(numbering.of_model(subject), model);
    }

    #[test]
    fn a_number_of_nobody_is_nobodys_in_the_subject() {
        let numbering = learnt(&[(&messages(&[2]), &messages(&[7]))]);
        let these = Consumed::These([2, 7, 0, u64::MAX].map(MessageId).to_vec());
        let theirs = Consumed::These([7, UNPAIRED + 7, 0, u64::MAX].map(MessageId).to_vec());
        assert_eq!(numbering.consumed_of_subject(these), theirs);
    }

    #[test]
    fn a_cursor_of_nobody_stays_between_its_neighbours() {
        let model = mailboxes(&[("a", 2), ("b", 4)]);
        let numbering = learnt(&[(&model, &mailboxes(&[("a", 20), ("b", 40)]))]);
        let place = |order, tie: &str| {
            numbering.cursor_of_subject(PageCursor::created(order, 5, tie)).tie().to_owned()
        };
        assert_eq!(place(InstanceOrder::NewestFirst, "4"), "40");
        assert_eq!(place(InstanceOrder::NewestFirst, "3"), "40");
        assert_eq!(place(InstanceOrder::OldestFirst, "3"), "20");
        assert_eq!(place(InstanceOrder::OldestFirst, "1"), "1");
        assert_eq!(place(InstanceOrder::OldestFirst, "x"), "x");
        assert_eq!(place(InstanceOrder::ById, "4"), "4");
    }
}
