//! Virtual time.

use std::time::Duration;

use abide_model::{Clock as _, Timestamp};
use abide_sim::{Offset, VirtualClock};

const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn a_clock_starts_in_2030_and_stands_still_while_somebody_can_run() {
    let clock = VirtualClock::new();
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(clock.wall(), Timestamp::from_millis(1_893_456_000_000));
    assert_eq!(clock.monotonic(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn time_jumps_to_the_next_timer_when_all_wait() {
    let clock = VirtualClock::new();
    let (first, second) = (clock.sleep_until(HOUR), clock.sleep_until(2 * HOUR));
    first.await;
    assert_eq!(clock.monotonic(), HOUR);
    second.await;
    assert_eq!(clock.monotonic(), 2 * HOUR);
    assert_eq!(clock.wall(), VirtualClock::EPOCH.saturating_add(2 * HOUR));
}

#[tokio::test(start_paused = true)]
async fn what_is_due_is_ready_at_once() {
    let clock = VirtualClock::new();
    clock.sleep(HOUR).await;
    clock.sleep_until(HOUR).await;
    clock.sleep_until(Duration::ZERO).await;
    assert_eq!(clock.monotonic(), HOUR);
}

#[tokio::test(start_paused = true)]
async fn half_a_century_passes_and_the_end_of_time_does_not() {
    let clock = VirtualClock::new();
    let decades = 50 * 365 * 24 * HOUR;
    clock.sleep(decades).await;
    assert_eq!(clock.monotonic(), decades);

    let never = futures_util::future::select(clock.sleep_until(Duration::MAX), clock.sleep(HOUR));
    assert!(matches!(never.await, futures_util::future::Either::Right(_)));
}

#[tokio::test(start_paused = true)]
async fn nobody_wakes_early() {
    let clock = VirtualClock::new();
    let until = Duration::from_nanos(1_500_001);
    clock.sleep_until(until).await;
    assert!(clock.monotonic() >= until);
}

#[tokio::test(start_paused = true)]
async fn what_rounds_up_is_the_first_millisecond_that_is_not_before_now() {
    let micros = Duration::from_micros;
    // How wrong the wall is; how much time has passed, in microseconds; what it shows then, in milliseconds.
    let cases = [
        (Offset::NONE, 0, 0),
        (Offset::NONE, 1, 1),
        (Offset::NONE, 999, 1),
        (Offset::NONE, 1_000, 1),
        (Offset::NONE, 1_001, 2),
        (Offset::Ahead(micros(60_000)), 1_400, 62),
        (Offset::Ahead(micros(700)), 400, 2),
        (Offset::Behind(micros(60_000)), 61_400, 2),
        (Offset::Behind(micros(700)), 1_600, 1),
    ];
    for (offset, passed, shown) in cases {
        let clock = VirtualClock::new();
        clock.set_offset(offset);
        tokio::time::advance(micros(passed)).await;
        let expected = VirtualClock::EPOCH.saturating_add(Duration::from_millis(shown));
        assert_eq!(clock.wall_rounded_up(), expected, "{passed} µs, {offset:?}");
        assert!(clock.wall() <= expected, "{passed} µs, {offset:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reading_of_the_wall_rounds_down() {
    let clock = VirtualClock::new();
    tokio::time::advance(Duration::from_micros(1999)).await;
    let later = VirtualClock::EPOCH.saturating_add(Duration::from_millis(1));
    assert_eq!(clock.wall(), later);
}

#[tokio::test(start_paused = true)]
async fn a_wall_jumps_for_a_clock_and_its_clones_and_not_for_others() {
    let clock = VirtualClock::new();
    let (clone, other) = (clock.clone(), clock.skewed(Offset::Ahead(HOUR)));

    clock.set_offset(Offset::Behind(HOUR));
    assert_eq!(clone.wall(), VirtualClock::EPOCH.saturating_sub(HOUR));
    assert_eq!(other.wall(), VirtualClock::EPOCH.saturating_add(HOUR));

    clock.sleep(2 * HOUR).await;
    assert_eq!(clone.wall(), VirtualClock::EPOCH.saturating_add(HOUR));
    assert_eq!(other.wall(), VirtualClock::EPOCH.saturating_add(3 * HOUR));
    assert_eq!(other.monotonic(), clock.monotonic());

    clock.set_offset(Offset::NONE);
    assert_eq!(clone.wall(), VirtualClock::EPOCH.saturating_add(2 * HOUR));
}
