//! Running a program in virtual time.

use std::future::pending;
use std::time::Duration;

use abide_model::Clock as _;
use abide_sim::{VirtualClock, simulate};

#[test]
fn a_program_may_take_years() {
    let years = Duration::from_secs(20 * 365 * 24 * 3600);
    let passed = simulate(Duration::MAX, async {
        let clock = VirtualClock::new();
        clock.sleep(years).await;
        clock.monotonic()
    });
    assert_eq!(passed, years);
}

#[test]
#[should_panic(expected = "not done after 60s of virtual time")]
fn a_program_that_takes_too_long_fails() {
    simulate(Duration::from_secs(60), async { VirtualClock::new().sleep(Duration::from_secs(61)).await });
}

#[test]
#[should_panic(expected = "not done after 3162240000s of virtual time")]
fn a_deadlock_fails_whatever_the_limit() {
    simulate(Duration::MAX, pending::<()>());
}
