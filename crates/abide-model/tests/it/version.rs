//! The version of this build, and what it can replay.

use abide_model::{BUILD_VERSION, SemverRange, current_build_version};
use semver::Version;

#[test]
fn the_build_version_is_what_events_are_stamped_with() {
    assert_eq!(current_build_version().to_string(), BUILD_VERSION);
}

#[test]
fn this_build_replays_everything_up_to_itself() {
    let range = SemverRange::default_for_current_build();
    assert!(range.contains(&Version::new(0, 0, 0)));
    assert!(range.contains(&Version::new(0, 1, 32)));
    assert!(range.contains(&current_build_version()));
    assert!(!range.contains(&Version::new(99, 0, 0)));
}

#[test]
fn both_ends_belong_to_a_range() {
    let range = SemverRange::new(Version::new(1, 0, 0), Version::new(2, 0, 0));
    assert!(range.contains(&range.min) && range.contains(&range.max));
    assert!(!range.contains(&Version::new(0, 9, 9)));
    assert!(!range.contains(&Version::new(2, 0, 1)));
}

#[test]
fn a_range_the_wrong_way_round_is_empty() {
    let range = SemverRange::new(Version::new(2, 0, 0), Version::new(1, 0, 0));
    assert!(!range.contains(&Version::new(1, 5, 0)));
}
