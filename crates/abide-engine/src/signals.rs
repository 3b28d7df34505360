//! Who gets a signal, and who gets a queue message.
//!
//! A *signal* goes to the oldest bound open wait of its name, or to nobody. A *queue message* is kept until
//! it is read: the i-th oldest open dequeue of a queue is ready if more than i messages are unread, and
//! takes the i-th. Dropping a wait or a dequeue frees its place at once.

use std::collections::{BTreeMap, VecDeque};

use abide_model::EventId;

use crate::token::Token;

/// The open positional waits, by name and age.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    waits: BTreeMap<String, BTreeMap<EventId, Token>>,
}

impl Signals {
    pub(crate) fn open(&mut self, name: &str, id: EventId, token: Token) {
        self.waits.entry(name.to_owned()).or_default().insert(id, token);
    }

    /// Takes the oldest wait for `name`: it gets the signal.
    pub(crate) fn take_oldest(&mut self, name: &str) -> Option<(EventId, Token)> {
        let waits = self.waits.get_mut(name)?;
        let oldest = waits.pop_first();
        if waits.is_empty() {
            self.waits.remove(name);
        }
        oldest
    }

    /// Forgets a wait whose future was dropped.
    pub(crate) fn close(&mut self, name: &str, id: EventId) {
        if let Some(waits) = self.waits.get_mut(name) {
            waits.remove(&id);
            if waits.is_empty() {
                self.waits.remove(name);
            }
        }
    }
}

/// All queues of an execution.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    queues: BTreeMap<String, Queue>,
    /// Orders messages across queues, so that they are carried over in the order they came.
    arrived: u64,
}

/// One queue. Both lists are in order of age, which pairs them: the i-th dequeue with the i-th message.
#[derive(Debug, Default)]
struct Queue {
    open: VecDeque<(EventId, Token)>,
    unread: VecDeque<Message>,
}

#[derive(Debug)]
struct Message {
    arrival: u64,
    data: String,
}

impl Queues {
    /// Adds a dequeue; says whether a message is ready for it.
    pub(crate) fn open(&mut self, name: &str, id: EventId, token: Token) -> bool {
        let queue = self.queues.entry(name.to_owned()).or_default();
        queue.open.push_back((id, token));
        queue.open.len() <= queue.unread.len()
    }

    /// Adds a message; says which dequeue it makes ready.
    pub(crate) fn deliver(&mut self, name: &str, data: String) -> Option<Token> {
        self.arrived = self.arrived.saturating_add(1);
        let queue = self.queues.entry(name.to_owned()).or_default();
        queue.unread.push_back(Message { arrival: self.arrived, data });
        queue.newest_ready()
    }

    /// Reads the message of a dequeue, if it is ready.
    pub(crate) fn read(&mut self, name: &str, id: EventId) -> Option<String> {
        let queue = self.queues.get_mut(name)?;
        let place = queue.place_of(id)?;
        let message = queue.unread.remove(place)?;
        queue.open.remove(place);
        self.forget_if_empty(name);
        Some(message.data)
    }

    /// Forgets a dequeue whose future was dropped; says which younger one becomes ready by it.
    pub(crate) fn close(&mut self, name: &str, id: EventId) -> Option<Token> {
        let queue = self.queues.get_mut(name)?;
        let place = queue.place_of(id)?;
        queue.open.remove(place);
        let ready = if place < queue.unread.len() { queue.newest_ready() } else { None };
        self.forget_if_empty(name);
        ready
    }

    /// A long-lived execution may use a queue per message.
    fn forget_if_empty(&mut self, name: &str) {
        if self.queues.get(name).is_some_and(|queue| queue.open.is_empty() && queue.unread.is_empty()) {
            self.queues.remove(name);
        }
    }

    /// The queues that hold messages which the code has not read, by name, and how many.
    pub(crate) fn unread_counts(&self) -> impl Iterator<Item = (&str, usize)> {
        let counts = self.queues.iter().map(|(name, queue)| (name.as_str(), queue.unread.len()));
        counts.filter(|(_, unread)| *unread > 0)
    }

    /// The messages nobody read, in the order they came.
    pub(crate) fn unread(&self) -> Vec<(String, String)> {
        let mut unread: Vec<_> = self
            .queues
            .iter()
            .flat_map(|(name, queue)| queue.unread.iter().map(move |message| (name, message)))
            .collect();
        unread.sort_by_key(|(_, message)| message.arrival);
        unread.into_iter().map(|(name, message)| (name.clone(), message.data.clone())).collect()
    }
}

impl Queue {
    /// Dequeues are bound in the order of their ids, so the list is sorted.
    fn place_of(&self, id: EventId) -> Option<usize> {
        self.open.binary_search_by_key(&id, |(open, _)| *open).ok()
    }

    /// The dequeue paired with the youngest message.
    fn newest_ready(&self) -> Option<Token> {
        let youngest = self.unread.len().checked_sub(1)?;
        self.open.get(youngest).map(|(_, token)| *token)
    }
}
