//! A store that shows something else than it should is caught, also if its numbers have gaps.

use abide_differential::{Numbers, Sight, agrees_with_the_model};

use crate::model::Model;

/// Enough for what is wrong all the time.
const SEQUENCES: u64 = 3;

fn compare_with(spoil: fn(&mut Sight)) {
    agrees_with_the_model(&mut Model::numbered(Numbers::WithGaps).spoilt(spoil), SEQUENCES);
}

#[test]
#[should_panic(expected = "the other None")]
fn a_message_that_is_not_there_is_caught() {
    compare_with(|sight| {
        let _hidden = sight.dump.messages.pop_last();
    });
}

#[test]
#[should_panic(expected = "message 1")]
fn messages_that_change_places_are_caught() {
    compare_with(|sight| {
        let messages = &mut sight.dump.messages;
        if let (Some((first, one)), Some((last, other))) = (messages.pop_first(), messages.pop_last()) {
            messages.extend([(first, other), (last, one)]);
        }
    });
}

#[test]
#[should_panic(expected = "the other contradicts itself: one thing, but not another")]
fn a_contradiction_is_caught() {
    compare_with(|sight| sight.contradictions.push("one thing, but not another".to_owned()));
}
