//! Recorded times: bounded by what stores hold, and never early.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use abide_model::Timestamp;
use proptest::prelude::*;

use crate::cases::cases;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_millis(millis)
}

#[test]
fn times_fit_a_signed_column() {
    assert_eq!(at(u64::MAX), Timestamp::MAX);
    assert_eq!(i64::try_from(at(u64::MAX).as_millis()), Ok(i64::MAX));
    assert_eq!(at(5).as_millis(), 5);
    assert_eq!(Timestamp::default(), Timestamp::EPOCH);
}

#[test]
fn a_deadline_rounds_up_to_the_next_millisecond() {
    assert_eq!(at(5).saturating_add(Duration::ZERO), at(5));
    assert_eq!(at(5).saturating_add(Duration::from_nanos(1)), at(6));
    assert_eq!(at(5).saturating_add(Duration::from_millis(1)), at(6));
    assert_eq!(at(5).saturating_add(Duration::from_nanos(1_000_001)), at(7));
}

#[test]
fn a_time_in_the_past_rounds_down() {
    assert_eq!(at(5).saturating_sub(Duration::from_nanos(1)), at(4));
    assert_eq!(at(5).saturating_sub(Duration::from_millis(2)), at(3));
    assert_eq!(at(5).saturating_sub(Duration::from_millis(6)), Timestamp::EPOCH);
}

#[test]
fn arithmetic_stops_at_the_ends() {
    assert_eq!(at(5).saturating_add(Duration::MAX), Timestamp::MAX);
    assert_eq!(Timestamp::MAX.saturating_add(Duration::from_nanos(1)), Timestamp::MAX);
    assert_eq!(Timestamp::MAX.saturating_sub(Duration::MAX), Timestamp::EPOCH);
}

#[test]
fn the_distance_between_times_is_never_negative() {
    assert_eq!(at(9).saturating_duration_since(at(4)), Duration::from_millis(5));
    assert_eq!(at(4).saturating_duration_since(at(9)), Duration::ZERO);
}

#[test]
fn system_times_convert_both_ways() {
    assert_eq!(SystemTime::from(at(1_500)), UNIX_EPOCH + Duration::from_millis(1_500));
    assert_eq!(Timestamp::from(UNIX_EPOCH + Duration::from_micros(1_999)), at(1));
    assert_eq!(Timestamp::from(UNIX_EPOCH - Duration::from_secs(1)), Timestamp::EPOCH);
    assert!(SystemTime::from(Timestamp::MAX) > SystemTime::from(at(1)));
}

#[test]
fn a_time_is_shown_as_it_is_stored() {
    assert_eq!(at(1_700_000_000_123).to_string(), "1700000000123");
}

fn any_duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (0_u64..10_000_000_000).prop_map(Duration::from_nanos),
        (any::<u64>(), 0_u32..1_000_000_000).prop_map(|(seconds, nanos)| Duration::new(seconds, nanos)),
    ]
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn no_timer_is_early_and_none_a_whole_millisecond_late(start in any::<u64>(), wait in any_duration()) {
        let due = at(start).saturating_add(wait);
        let exact_nanos = u128::from(at(start).as_millis()) * 1_000_000 + wait.as_nanos();
        let due_nanos = u128::from(due.as_millis()) * 1_000_000;
        if due < Timestamp::MAX {
            prop_assert!(due_nanos >= exact_nanos);
            prop_assert!(due_nanos < exact_nanos + 1_000_000);
        } else {
            prop_assert!(exact_nanos > due_nanos - 1_000_000);
        }
    }

    #[test]
    fn a_recorded_time_survives_the_conversion(millis in 0_u64..253_402_300_799_000) {
        prop_assert_eq!(Timestamp::from(SystemTime::from(at(millis))), at(millis));
    }
}
