//! Running a program in virtual time.

use std::time::Duration;

/// Further than anybody waits, and near enough to be reached.
const CENTURY: Duration = Duration::from_secs(100 * 366 * 24 * 60 * 60);

/// Runs a program on one thread, in virtual time: whenever all its tasks wait, time jumps to the next timer.
///
/// ```
/// use std::time::Duration;
///
/// use abide_sim::{VirtualClock, simulate};
///
/// let answer = simulate(Duration::from_secs(60), async {
///     VirtualClock::new().sleep(Duration::from_secs(59)).await;
///     42
/// });
/// assert_eq!(answer, 42);
/// ```
///
/// # Panics
///
/// If the program is not done after `limit` of virtual time, or after a century. One in which nothing can happen any more
/// gets there at once, so that a deadlock is a failed test and not one that never ends.
pub fn simulate<T>(limit: Duration, program: impl Future<Output = T>) -> T {
    #[expect(clippy::expect_used, reason = "a runtime without I/O asks nothing of the system")]
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a current-thread runtime is only memory");
    let limit = limit.min(CENTURY);
    #[expect(clippy::disallowed_methods, reason = "the limit is on the very time that is simulated")]
    let outcome = runtime.block_on(async { tokio::time::timeout(limit, program).await });
    outcome.unwrap_or_else(|_| panic!("the program was not done after {limit:?} of virtual time"))
}
