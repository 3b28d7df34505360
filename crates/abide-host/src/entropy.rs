//! The machine's entropy.

use std::hash::{BuildHasher, RandomState};

use abide_model::Entropy;

/// Random numbers from the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn next_u64(&self) -> u64 {
        // The system's generator is there on every supported platform. Should it fail nevertheless, a fresh hasher
        // still has keys that no other process knows.
        getrandom::u64().unwrap_or_else(|_| RandomState::new().hash_one(std::process::id()))
    }
}
