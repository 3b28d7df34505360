//! The referee: knows what should have become of every order, and looks whether it did. Pure.
//!
//! It trusts nobody: the outcome is what the client reads, the effects are what the world outside wrote down, and both are
//! held against what follows from the kind of the order alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use crate::shop::{Kind, Outcome, Purchase, Reason};
use crate::world::{Entry, Happening};
use abide::Event;

/// What is known about an order when it has ended.
#[derive(Debug)]
pub(crate) struct Evidence<'shop> {
    pub(crate) purchase: &'shop Purchase,
    /// The outcome; or the error, if it failed.
    pub(crate) outcome: Result<Outcome, String>,
    pub(crate) history: Vec<Event>,
}

/// What the referee found about an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) id: String,
    pub(crate) kind: &'static str,
    pub(crate) outcome: Result<Outcome, String>,
    /// How often the card terminal was asked.
    pub(crate) payments: usize,
    /// How often it charged the card.
    pub(crate) charges: usize,
    /// How much happened outside.
    pub(crate) effects: usize,
    /// How often it was asked for.
    pub(crate) runs: usize,
    pub(crate) took: Duration,
    pub(crate) faults: Vec<Fault>,
}

/// Something that should not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    Outcome { expected: Outcome, found: Result<Outcome, String> },
    Effects { what: Happening, expected: usize, found: usize },
    TwoAnswers { key: String },
    NoSingleEnd,
}

/// Looks at one order.
pub(crate) fn judge(evidence: &Evidence<'_>, everything: &[Entry]) -> Finding {
    let Purchase { kind, order } = evidence.purchase;
    let entries: Vec<&Entry> = everything.iter().filter(|entry| entry.order == order.id).collect();
    let answers: BTreeSet<(&str, Happening)> =
        entries.iter().map(|entry| (entry.key.as_str(), entry.what)).collect();
    let (first, last) = (evidence.history.first(), evidence.history.last());
    let stamp = |event: Option<&Event>| event.map_or(0, |event| event.timestamp_ms);
    let mut faults = Vec::new();

    let expected = expected_outcome(*kind, &order.id);
    if evidence.outcome.as_ref() != Ok(&expected) {
        faults.push(Fault::Outcome { expected, found: evidence.outcome.clone() });
    }
    faults.extend(wrong_effects(evidence.purchase, &answers));
    faults.extend(two_answers(&answers));
    let ends = evidence.history.iter().filter(|event| event.is_terminal()).count();
    if ends != 1 || !last.is_some_and(Event::is_terminal) {
        faults.push(Fault::NoSingleEnd);
    }
    Finding {
        id: order.id.clone(),
        kind: kind.label(),
        outcome: evidence.outcome.clone(),
        payments: answers.iter().filter(|(_, what)| what.is_about_payment()).count(),
        charges: answers.iter().filter(|(_, what)| *what == Happening::Charged).count(),
        effects: answers.len(),
        runs: entries.len(),
        took: Duration::from_millis(stamp(last).saturating_sub(stamp(first))),
        faults,
    }
}

fn wrong_effects(purchase: &Purchase, answers: &BTreeSet<(&str, Happening)>) -> Vec<Fault> {
    let mut found: BTreeMap<Happening, usize> = BTreeMap::new();
    for (_, what) in answers {
        *found.entry(*what).or_default() += 1;
    }
    let expected: BTreeMap<Happening, usize> = expected_effects(purchase).into_iter().collect();
    let all: BTreeSet<Happening> = expected.keys().chain(found.keys()).copied().collect();
    let count = |of: &BTreeMap<Happening, usize>, what| of.get(&what).copied().unwrap_or(0);
    all.into_iter()
        .map(|what| Fault::Effects { what, expected: count(&expected, what), found: count(&found, what) })
        .filter(|fault| !matches!(fault, Fault::Effects { expected, found, .. } if expected == found))
        .collect()
}

/// A key stands for one request, and a request has one answer.
fn two_answers(answers: &BTreeSet<(&str, Happening)>) -> Vec<Fault> {
    let mut keys = BTreeSet::new();
    let repeated = answers.iter().filter(|(key, _)| !keys.insert(*key));
    repeated.map(|(key, _)| Fault::TwoAnswers { key: (*key).to_owned() }).collect()
}

fn expected_outcome(kind: Kind, id: &str) -> Outcome {
    match kind {
        Kind::Plain | Kind::FlakyPayment | Kind::Approved => {
            Outcome::Shipped { parcel: id.replace("order", "parcel") }
        }
        Kind::Refused => Outcome::Cancelled { reason: Reason::ApprovalRefused },
        Kind::Declined => Outcome::Cancelled { reason: Reason::CardDeclined },
        Kind::Undeliverable => Outcome::Cancelled { reason: Reason::BadAddress },
    }
}

fn expected_effects(purchase: &Purchase) -> Vec<(Happening, usize)> {
    use Happening::{
        Busy, Charged, Declined, HandedOver, Labelled, Mailed, Refunded, Released, Reserved, Returned,
    };
    let goods = purchase.order.items.len();
    let mut effects = vec![(Reserved, goods), (Mailed, 1)];
    effects.extend_from_slice(match purchase.kind {
        Kind::Plain => &[(Charged, 1), (Labelled, 1), (HandedOver, 1)],
        Kind::FlakyPayment => &[(Busy, 2), (Charged, 1), (Labelled, 1), (HandedOver, 1)],
        Kind::Approved => &[(Busy, 1), (Charged, 1), (Labelled, 1), (HandedOver, 1)],
        Kind::Refused => &[(Charged, 1), (Refunded, 1)],
        Kind::Declined => &[(Declined, 1)],
        Kind::Undeliverable => &[(Charged, 1), (Labelled, 1), (Returned, 1), (Refunded, 1)],
    });
    match purchase.kind {
        Kind::Plain | Kind::FlakyPayment | Kind::Approved => {}
        Kind::Refused | Kind::Declined | Kind::Undeliverable => effects.push((Released, goods)),
    }
    effects
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outcome { expected, found: Ok(found) } => write!(f, "should be {expected}, is {found}"),
            Self::Outcome { expected, found: Err(error) } => {
                write!(f, "should be {expected}, failed: {error}")
            }
            Self::Effects { what, expected, found } => {
                write!(f, "{} {found} times instead of {expected}", what.text())
            }
            Self::TwoAnswers { key } => write!(f, "the request {key} was answered in two ways"),
            Self::NoSingleEnd => write!(f, "its history does not end exactly once"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shop::purchases;
    use abide::EventKind;

    fn ended() -> Vec<Event> {
        let started = EventKind::KeyValuesCleared;
        let ended = EventKind::OrchestrationCompleted { output: String::new() };
        vec![Event::with_event_id(1, "x", 1, None, started), Event::with_event_id(2, "x", 1, None, ended)]
    }

    /// What the world writes down if everything is right, and one thing is asked for twice.
    fn right(purchase: &Purchase) -> Vec<Entry> {
        let effects = expected_effects(purchase).into_iter();
        let mut entries: Vec<Entry> = effects
            .flat_map(|(what, count)| (0..count).map(move |number| (what, number)))
            .map(|(what, number)| Entry {
                key: format!("{}/{number}", what.text()),
                order: purchase.order.id.clone(),
                what,
            })
            .collect();
        entries.push(entries[0].clone());
        entries
    }

    fn evidence(purchase: &Purchase) -> Evidence<'_> {
        let outcome = Ok(expected_outcome(purchase.kind, &purchase.order.id));
        Evidence { purchase, outcome, history: ended() }
    }

    #[test]
    fn what_is_right_is_right_for_every_kind() {
        for purchase in purchases(12, 5) {
            let finding = judge(&evidence(&purchase), &right(&purchase));
            assert_eq!(finding.faults, []);
            assert_eq!(finding.runs, finding.effects + 1);
        }
    }

    #[test]
    fn a_card_charged_twice_is_seen() {
        let purchase = &purchases(1, 5)[0];
        let mut entries = right(purchase);
        let order = purchase.order.id.clone();
        entries.push(Entry { key: "another".to_owned(), order, what: Happening::Charged });
        let finding = judge(&evidence(purchase), &entries);
        assert_eq!(finding.faults, [Fault::Effects { what: Happening::Charged, expected: 1, found: 2 }]);
        assert_eq!(finding.faults[0].to_string(), "charged 2 times instead of 1");
    }

    #[test]
    fn a_lost_mail_and_a_wrong_end_are_seen() {
        let purchase = &purchases(1, 5)[0];
        let mut entries = right(purchase);
        entries.retain(|entry| entry.what != Happening::Mailed);
        let outcome = Err("the post is on strike".to_owned());
        let history = ended()[..1].to_vec();
        let finding = judge(&Evidence { purchase, outcome, history }, &entries);
        let told: Vec<String> = finding.faults.iter().map(Fault::to_string).collect();
        assert_eq!(
            told,
            [
                "should be shipped as parcel-01, failed: the post is on strike",
                "mailed 0 times instead of 1",
                "its history does not end exactly once",
            ]
        );
    }
}
