//! How often to try again, and how long to wait in between.
//!
//! A policy is arithmetic: it is asked for a delay and answers. Every combination of inputs has an
//! answer, because a policy is often configuration, and bad configuration must not take down a turn.
//!
//! ```
//! use std::time::Duration;
//!
//! use abide_model::RetryPolicy;
//!
//! let policy = RetryPolicy::new(5).with_timeout(Duration::from_secs(10));
//! assert_eq!(policy.delay_for_attempt(1), Duration::from_millis(100));
//! assert_eq!(policy.delay_for_attempt(3), Duration::from_millis(400));
//! assert_eq!(policy.delay_for_attempt(u32::MAX), Duration::from_secs(30));
//! ```
//!
//! Deliberately absent: jitter. The delay becomes a durable timer, and code that replays must compute the
//! same one on every machine.

use std::time::Duration;

/// How long to wait before the next attempt.
#[derive(Debug, Clone, PartialEq)]
pub enum BackoffStrategy {
    /// Not at all.
    None,
    /// Always the same.
    Fixed {
        /// How long.
        delay: Duration,
    },
    /// Longer by the same amount each time.
    Linear {
        /// The first delay, and the amount.
        base: Duration,
        /// Never longer than this.
        max: Duration,
    },
    /// Longer by the same factor each time.
    Exponential {
        /// The first delay.
        base: Duration,
        /// The factor.
        multiplier: f64,
        /// Never longer than this.
        max: Duration,
    },
}

impl BackoffStrategy {
    /// How long to wait after the given attempt failed; attempts count from one.
    #[must_use]
    pub fn delay_for_attempt(&self, attempt: u32) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::Fixed { delay } => *delay,
            Self::Linear { base, max } => base.saturating_mul(attempt).min(*max),
            Self::Exponential { base, multiplier, max } => {
                exponential(*base, *multiplier, attempt.saturating_sub(1))
                    .map_or(*max, |delay| delay.min(*max))
            }
        }
    }
}

impl Default for BackoffStrategy {
    /// 100 ms, doubled each time, up to 30 s.
    fn default() -> Self {
        Self::Exponential { base: Duration::from_millis(100), multiplier: 2.0, max: Duration::from_secs(30) }
    }
}

/// How often an activity is tried, how long each attempt may take, and how long to wait in between.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryPolicy {
    /// How often the activity is tried in all.
    pub max_attempts: u32,
    /// How long to wait between attempts.
    pub backoff: BackoffStrategy,
    /// How long one attempt may take; an attempt that takes longer ends the retries.
    pub timeout: Option<Duration>,
}

impl RetryPolicy {
    /// Makes a policy with the default backoff and no timeout.
    ///
    /// # Panics
    ///
    /// If `max_attempts` is zero: an activity that is never tried has no outcome.
    #[must_use]
    pub fn new(max_attempts: u32) -> Self {
        assert!(max_attempts >= 1, "max_attempts must be at least 1");
        Self { max_attempts, ..Self::default() }
    }

    /// Bounds how long one attempt may take.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Bounds how long one attempt may take; an older name of [`RetryPolicy::with_timeout`].
    #[doc(hidden)]
    #[must_use]
    pub fn with_total_timeout(self, timeout: Duration) -> Self {
        self.with_timeout(timeout)
    }

    /// Replaces the backoff.
    #[must_use]
    pub fn with_backoff(mut self, backoff: BackoffStrategy) -> Self {
        self.backoff = backoff;
        self
    }

    /// How long to wait after the given attempt failed; attempts count from one.
    #[must_use]
    pub fn delay_for_attempt(&self, attempt: u32) -> Duration {
        self.backoff.delay_for_attempt(attempt)
    }
}

impl Default for RetryPolicy {
    /// Three attempts, the default backoff, no timeout.
    fn default() -> Self {
        Self { max_attempts: 3, backoff: BackoffStrategy::default(), timeout: None }
    }
}

/// `base` times `multiplier` to the power of `exponent`, or `None` if that is longer than any duration, or NaN.
fn exponential(base: Duration, multiplier: f64, exponent: u32) -> Option<Duration> {
    // Nothing grown is nothing. In floating point, zero times an overflown factor would be NaN instead.
    // And the first delay is the base itself, to the nanosecond, whatever the factor.
    if base.is_zero() || exponent == 0 {
        return Some(base);
    }
    let seconds = base.as_secs_f64() * power(multiplier, exponent);
    // A negative factor asks for a time in the past, which has come. NaN is not caught here: whatever was
    // meant by it, the longest delay does less harm than none.
    if seconds < 0.0 {
        return Some(Duration::ZERO);
    }
    Duration::try_from_secs_f64(seconds).ok()
}

/// Integer power by squaring.
///
/// `f64::powi` and `powf` may differ in the last bit between machines. Multiplication may not, and a
/// delay that is zero here and one nanosecond there would make replay ask for another timer.
fn power(factor: f64, mut exponent: u32) -> f64 {
    let mut square = factor;
    let mut product = 1.0;
    while exponent > 0 {
        if exponent % 2 == 1 {
            product *= square;
        }
        square *= square;
        exponent /= 2;
    }
    product
}
