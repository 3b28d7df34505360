//! The durable futures that exist, found in constant time.

use std::task::Waker;

use abide_model::EventId;
use slab::Slab;

use super::Answer;
use crate::ask::Family;
use crate::token::Token;

/// One durable future, as the tape sees it.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) family: Family,
    /// The name of the signal or queue it waits for; empty for the others.
    pub(super) name: String,
    pub(super) bound: Option<EventId>,
    pub(super) answer: Option<Answer>,
    pub(super) waker: Option<Waker>,
}

/// All slots. A place is used again once its future is gone, so a token is believed only if its number fits.
#[derive(Debug, Default)]
pub(super) struct Slots {
    slab: Slab<(u64, Slot)>,
    last_number: u64,
}

impl Slots {
    /// The token for an ask that is about to be made.
    pub(super) fn next_token(&mut self) -> Token {
        self.last_number = self.last_number.saturating_add(1);
        Token::new(self.last_number, self.slab.vacant_key())
    }

    /// Makes the slot of an ask that has an answer; nothing else may have been made since its token.
    pub(super) fn insert(&mut self, token: Token, slot: Slot) {
        let place = self.slab.insert((token.get(), slot));
        debug_assert_eq!(place, token.place(), "a slot is made right after its token");
    }

    pub(super) fn get(&self, token: Token) -> Option<&Slot> {
        self.slab.get(token.place()).filter(|(number, _)| *number == token.get()).map(|(_, slot)| slot)
    }

    pub(super) fn get_mut(&mut self, token: Token) -> Option<&mut Slot> {
        self.slab.get_mut(token.place()).filter(|(number, _)| *number == token.get()).map(|(_, slot)| slot)
    }

    pub(super) fn remove(&mut self, token: Token) -> Option<Slot> {
        self.get(token)?;
        self.slab.try_remove(token.place()).map(|(_, slot)| slot)
    }
}
