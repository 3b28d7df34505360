//! Which rules a recorded version stands for.

use std::time::Duration;

use crate::support::mail::done;
use crate::support::past::{activity, fit_in_short, past, started, timer};
use crate::support::{Code, Given, code, run_cold, run_resident};

/// A timer whose recorded deadline is not the code's: let pass for old pins only.
fn is_lenient(version: &str) -> bool {
    let sleeps = code(|ctx, _| async move {
        ctx.schedule_timer(Duration::from_secs(1)).await;
        Ok(String::new())
    });
    fit_in_short(&sleeps, past(version, vec![started("in"), timer(1)])) == "fits"
}

#[test]
fn versions_before_ours_are_lenient() {
    for version in ["0.1.32", "0.1.31", "0.1.0", "0.0.0", "0.1.99"] {
        assert!(is_lenient(version), "{version}");
    }
}

#[test]
fn our_own_versions_are_strict() {
    for version in ["0.2.0", "0.2.1", "0.10.0", "1.0.0", "1.0.0-rc.1"] {
        assert!(!is_lenient(version), "{version}");
    }
}

#[test]
fn a_prerelease_comes_before_its_release() {
    assert!(is_lenient("0.2.0-rc.1"));
    assert!(is_lenient("0.2.0-alpha+build.5"));
    assert!(!is_lenient("0.2.1-rc.1"));
}

#[test]
fn build_metadata_changes_nothing() {
    assert!(is_lenient("0.1.32+build.7"));
    assert!(!is_lenient("0.2.0+build.7"));
    assert!(!is_lenient("0.2.0+0"));
}

fn one_activity() -> Code {
    code(|ctx, _| async move { ctx.schedule_activity("a", "").await })
}

#[test]
fn a_version_that_cannot_be_read_is_lenient_and_noticed_in_every_cold_turn() {
    for version in ["", "garbage", "0.1", "v0.1.32"] {
        assert!(is_lenient(version), "{version}");
        let given = Given::history(past(version, vec![started("in"), activity("a", "")]));
        let turns = run_cold(&given, &one_activity(), &[vec![], vec![done(2, "r")]]);
        for turn in &turns {
            let notices: Vec<_> = turn.notices.iter().map(ToString::to_string).collect();
            assert!(notices.iter().any(|notice| notice.contains("Invalid pinned version")), "{notices:?}");
        }
    }
}

#[test]
fn a_version_that_can_be_read_is_not_noticed() {
    for version in ["0.1.32", "0.2.0", "99.0.0"] {
        let given = Given::history(past(version, vec![started("in"), activity("a", "")]));
        let turns = run_resident(&given, &one_activity(), &[vec![done(2, "r")]]);
        assert_eq!(turns[0].notices, []);
    }
}

#[test]
fn the_first_event_pins_the_rules_whoever_wrote_the_others() {
    let sleeps = code(|ctx, _| async move {
        ctx.schedule_timer(Duration::from_secs(1)).await;
        Ok(String::new())
    });
    for (first, second, lenient) in [("0.1.32", "0.2.0", true), ("0.2.0", "0.1.32", false)] {
        let mut history = past(first, vec![started("in"), timer(1)]);
        history[1].duroxide_version = second.to_owned();
        assert_eq!(fit_in_short(&sleeps, history) == "fits", lenient);
    }
}
