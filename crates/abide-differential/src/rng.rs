//! Choices that are the same for the same seed.

use crate::clock::mix;
use crate::habits::Habits;

/// A generator (splitmix64), with the habits of the sequence it chooses for.
#[derive(Debug)]
pub(crate) struct Rng {
    state: u64,
    pub(crate) habits: Habits,
}

impl Rng {
    pub(crate) fn new(seed: u64, habits: Habits) -> Self {
        Self { state: mix(seed), habits }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// A number below `end`, which is not zero.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(u64::try_from(length).unwrap())).unwrap()
    }

    /// True in so many of a hundred cases.
    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.index(from.len())]
    }

    /// One of these, if there are any.
    pub(crate) fn pick_any<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        if from.is_empty() { None } else { Some(self.pick(from)) }
    }

    pub(crate) fn maybe<T>(&mut self, chance: u64, value: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.percent(chance) { Some(value(self)) } else { None }
    }

    /// One of these, as often as its weight and the habits say.
    pub(crate) fn weighted<T: Copy>(&mut self, choices: &[(u64, T)]) -> T {
        let habits = self.habits;
        let weight = |kind: usize| habits.weight(kind, choices[kind].0);
        let mut at = self.below((0..choices.len()).map(weight).sum());
        for (kind, (_, choice)) in choices.iter().enumerate() {
            if at < weight(kind) {
                return *choice;
            }
            at -= weight(kind);
        }
        choices[0].1
    }
}
