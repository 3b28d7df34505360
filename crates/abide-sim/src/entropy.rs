//! Chance that can be repeated.

use std::sync::atomic::{AtomicU64, Ordering};

use abide_model::Entropy;

/// Random numbers that are the same for the same seed: `SplitMix64`.
///
/// ```
/// use abide_model::Entropy as _;
/// use abide_sim::SeededEntropy;
///
/// let (one, other) = (SeededEntropy::new(7), SeededEntropy::new(7));
/// assert_eq!(one.next_u64(), other.next_u64());
/// assert_ne!(one.next_u64(), SeededEntropy::new(8).next_u64());
/// ```
#[derive(Debug)]
pub struct SeededEntropy {
    state: AtomicU64,
}

impl SeededEntropy {
    /// The numbers of this seed, from the first.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: AtomicU64::new(seed) }
    }
}

impl Entropy for SeededEntropy {
    fn next_u64(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

        let mut mixed = self.state.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
