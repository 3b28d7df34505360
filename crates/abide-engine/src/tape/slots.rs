//! The durable futures that exist, found in constant time.

use std::task::Waker;

use abide_model::EventId;
use slab::Slab;

use super::{Answer, Try};
use crate::ask::Family;
use crate::token::Token;

/// One durable future, as the tape sees it.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) family: Family,
    /// The name of the signal or queue it waits for, of the activity, or of the child orchestration; empty
    /// for the others.
    pub(super) name: String,
    pub(super) bound: Option<EventId>,
    pub(super) since_ms: u64,
    pub(super) due_ms: u64,
    /// Which try of a retried activity it is, or pauses before. Boxed: most are none.
    pub(super) retry: Option<Box<Try>>,
    pub(super) answer: Option<Answer>,
    pub(super) waker: Option<Waker>,
}

impl Slot {
    pub(super) fn new(family: Family, name: String) -> Self {
        Self { family, name, bound: None, since_ms: 0, due_ms: 0, retry: None, answer: None, waker: None }
    }
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
