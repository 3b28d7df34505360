//! Delays between attempts: the formulas, and that no input breaks them.

use std::time::Duration;

use abide_model::{BackoffStrategy, RetryPolicy};
use proptest::prelude::*;

use crate::cases::cases;

fn millis(delays: impl IntoIterator<Item = Duration>) -> Vec<u128> {
    delays.into_iter().map(|delay| delay.as_millis()).collect()
}

fn exponential(base: Duration, multiplier: f64, max: Duration) -> BackoffStrategy {
    BackoffStrategy::Exponential { base, multiplier, max }
}

const MS_100: Duration = Duration::from_millis(100);
const S_30: Duration = Duration::from_secs(30);

#[test]
fn no_backoff_never_waits() {
    assert_eq!(BackoffStrategy::None.delay_for_attempt(7), Duration::ZERO);
}

#[test]
fn a_fixed_backoff_always_waits_the_same() {
    let fixed = BackoffStrategy::Fixed { delay: MS_100 };
    assert_eq!(millis([0, 1, 2, u32::MAX].map(|attempt| fixed.delay_for_attempt(attempt))), [100; 4]);
}

#[test]
fn a_linear_backoff_grows_by_its_base_up_to_its_maximum() {
    let linear = BackoffStrategy::Linear { base: MS_100, max: Duration::from_millis(350) };
    assert_eq!(millis((0..6).map(|attempt| linear.delay_for_attempt(attempt))), [0, 100, 200, 300, 350, 350]);
}

#[test]
fn an_exponential_backoff_grows_by_its_factor_up_to_its_maximum() {
    let doubling = BackoffStrategy::default();
    assert_eq!(
        millis((0..12).map(|attempt| doubling.delay_for_attempt(attempt))),
        [100, 100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 30000, 30000]
    );
    let slower = exponential(MS_100, 1.5, S_30);
    assert_eq!(slower.delay_for_attempt(3), Duration::from_millis(225));
}

#[test]
fn the_first_exponential_delay_is_the_base_to_the_nanosecond() {
    let base = Duration::new(123_456_789_012, 345_678_901);
    assert_eq!(exponential(base, f64::NAN, Duration::MAX).delay_for_attempt(1), base);
}

#[test]
fn a_factor_that_makes_no_sense_still_gives_a_delay() {
    let second = |multiplier| exponential(MS_100, multiplier, S_30).delay_for_attempt(2);
    assert_eq!(second(f64::NAN), S_30);
    assert_eq!(second(f64::INFINITY), S_30);
    assert_eq!(second(f64::NEG_INFINITY), Duration::ZERO);
    assert_eq!(second(-2.0), Duration::ZERO);
    assert_eq!(second(0.0), Duration::ZERO);
}

#[test]
fn nothing_grown_for_ever_is_nothing() {
    assert_eq!(exponential(Duration::ZERO, 2.0, S_30).delay_for_attempt(u32::MAX), Duration::ZERO);
}

#[test]
fn an_overflow_gives_the_longest_delay_and_not_the_shortest() {
    let growing = exponential(MS_100, 2.0, S_30);
    for attempt in [40, 62, 63, 64, 65, 1_000, 1_100, u32::MAX] {
        assert_eq!(growing.delay_for_attempt(attempt), S_30);
    }
    let endless = exponential(Duration::MAX, 2.0, Duration::MAX);
    assert_eq!(endless.delay_for_attempt(u32::MAX), Duration::MAX);
    let linear = BackoffStrategy::Linear { base: Duration::MAX, max: Duration::MAX };
    assert_eq!(linear.delay_for_attempt(u32::MAX), Duration::MAX);
}

#[test]
fn a_policy_starts_with_three_attempts_and_no_timeout() {
    let policy = RetryPolicy::default();
    assert_eq!((policy.max_attempts, policy.timeout), (3, None));
    assert_eq!(policy.backoff, BackoffStrategy::default());
}

#[test]
fn a_policy_is_built_step_by_step() {
    let policy = RetryPolicy::new(5)
        .with_backoff(BackoffStrategy::Fixed { delay: MS_100 })
        .with_total_timeout(MS_100)
        .with_timeout(S_30);
    assert_eq!((policy.max_attempts, policy.timeout), (5, Some(S_30)));
    assert_eq!(policy.delay_for_attempt(2), MS_100);
}

#[test]
#[should_panic(expected = "max_attempts must be at least 1")]
fn a_policy_without_attempts_is_refused() {
    drop(RetryPolicy::new(0));
}

fn any_duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::ZERO),
        Just(Duration::MAX),
        (0_u64..100_000).prop_map(Duration::from_millis),
        (any::<u64>(), 0_u32..1_000_000_000).prop_map(|(seconds, nanos)| Duration::new(seconds, nanos)),
    ]
}

/// Every bit pattern: NaN, infinities, subnormals and negatives included.
fn any_factor() -> impl Strategy<Value = f64> {
    prop_oneof![any::<u64>().prop_map(f64::from_bits), -4.0..4.0]
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn no_delay_panics_or_exceeds_the_maximum(
        base in any_duration(), multiplier in any_factor(), max in any_duration(), attempt in any::<u32>(),
    ) {
        prop_assert!(exponential(base, multiplier, max).delay_for_attempt(attempt) <= max);
        let linear = BackoffStrategy::Linear { base, max };
        prop_assert!(linear.delay_for_attempt(attempt) <= max);
        prop_assert_eq!(BackoffStrategy::Fixed { delay: base }.delay_for_attempt(attempt), base);
    }

    #[test]
    fn delays_never_shrink_while_the_factor_is_at_least_one(
        base in any_duration(), multiplier in 1.0..10.0, max in any_duration(), attempt in 0..u32::MAX,
    ) {
        let growing = exponential(base, multiplier, max);
        // Beyond 2^53 ns a float no longer holds every nanosecond, so the first delay is exact and
        // the second may be rounded below it by as much.
        let slack = base.mul_f64(1e-15).max(Duration::from_nanos(1));
        let (shorter, longer) = (growing.delay_for_attempt(attempt), growing.delay_for_attempt(attempt + 1));
        prop_assert!(shorter <= longer.saturating_add(slack), "{:?} then {:?}", shorter, longer);
    }
}
