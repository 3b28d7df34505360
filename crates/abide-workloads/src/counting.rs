//! Costs that do not depend on how busy the machine is. What would slow a measurement of time down is counted by a program of
//! its own.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// How often something was done, by its name.
pub(crate) type Counters = BTreeMap<String, u64>;

static ALLOCATIONS: OnceLock<fn() -> usize> = OnceLock::new();

/// To be called before anything else. `allocations` says how often memory was asked for so far.
pub fn count_with(allocations: fn() -> usize) {
    ALLOCATIONS.get_or_init(|| allocations);
}

/// `None` in the program that measures time.
pub(crate) fn allocations() -> Option<u64> {
    ALLOCATIONS.get().and_then(|count| u64::try_from(count()).ok())
}

/// How often each was done between two looks.
pub(crate) fn since(before: &Counters, after: Counters) -> Counters {
    let difference = |(name, count): (String, u64)| {
        let before = before.get(&name).copied().unwrap_or_default();
        (name, count.saturating_sub(before))
    };
    after.into_iter().map(difference).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_came_later_counts() {
        let counters = |counts: &[(&str, u64)]| -> Counters {
            counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
        };
        let (before, after) = (counters(&[("polls", 2)]), counters(&[("polls", 5), ("commit", 1)]));
        assert_eq!(since(&before, after), counters(&[("polls", 3), ("commit", 1)]));
    }
}
