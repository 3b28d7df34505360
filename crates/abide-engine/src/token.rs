//! The name an ask has before it is recorded.

/// Names one ask from the moment it is made; its event id is known only when it is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Token {
    /// Counts the asks of an execution; never used twice.
    number: u64,
    /// Where its slot is, as long as it has one.
    place: usize,
}

impl Token {
    pub(crate) const fn new(number: u64, place: usize) -> Self {
        Self { number, place }
    }

    pub(crate) const fn get(self) -> u64 {
        self.number
    }

    pub(crate) const fn place(self) -> usize {
        self.place
    }
}
