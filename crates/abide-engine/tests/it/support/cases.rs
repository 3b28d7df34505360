//! How many generated cases a property runs, and which.

use proptest::test_runner::{Config as ProptestConfig, RngSeed};

/// The same cases in every run; `PROPTEST_RNG_SEED` asks for others, `PROPTEST_CASES` for more.
pub(crate) fn cases(default: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = asked.unwrap_or(default);
    // Unlike the default this goes on shrinking for as long as it helps; `PROPTEST_MAX_SHRINK_ITERS` bounds it.
    let max_shrink_iters = ProptestConfig::default().max_shrink_iters.min(20_000);
    let rng_seed = match ProptestConfig::default().rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        asked @ RngSeed::Fixed(_) => asked,
    };
    ProptestConfig {
        cases,
        max_shrink_iters,
        rng_seed,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}
