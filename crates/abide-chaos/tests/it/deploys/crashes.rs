//! Code that ends its process: what it runs is quarantined, and nothing else is.

use abide_chaos::deploy::{ABORTING, Code};

use super::*;
use crate::support::deployment::{Build, Deploy, SHORT_LEASE, on_every_store};

/// How many crashes something may be under way in. As a suspect, each item can be hit by the crashes of another one that
/// is none yet, so this is more than twice as many as make a suspect.
const MOST: usize = 7;

/// How many activities or turns are under way beside the one that aborts.
const OTHERS: usize = 199;

/// How often a turn that aborts runs with the lease of the activity whose result it takes, before that is a suspect.
const FUSED: usize = 3;

const CRASHING: &[&str] = &[SHORT_LEASE[0], SHORT_LEASE[1], "--max-attempts", "7", "--slots", "200"];

/// What crashed until something was quarantined.
pub(super) struct Crashed {
    /// The build that runs since.
    pub(super) build: Build,
    crashes: usize,
}

/// Starts a build again whenever it has crashed, until so much is quarantined.
pub(super) fn crash_until_quarantined(site: &Site, client: &Client, items: usize) -> Crashed {
    let mut crashes = 0;
    let mut build = Build::start_unawaited(site, Deploy::of("bad", Code::Aborts).with(CRASHING));
    until("a quarantine", || {
        if build.has_ended() {
            crashes += 1;
            assert!(crashes <= 4 * MOST * items, "it crashes for ever");
            build = Build::start_unawaited(site, Deploy::of("bad", Code::Aborts).with(CRASHING));
        }
        (count_blocked(client) >= items).then_some(())
    });
    Crashed { build, crashes }
}

#[test]
fn one_of_200_activities_that_aborts_is_quarantined_alone() {
    on_every_store("aborts", |site| {
        let client = site.client();
        start(&client, "bad", "Work", ABORTING);
        for number in 0..OTHERS {
            start(&client, &format!("other-{number}"), "Work", "fine");
        }
        let Crashed { mut build, crashes } = crash_until_quarantined(site, &client, 1);
        for number in 0..OTHERS {
            assert_eq!(end_of(&client, &format!("other-{number}")), Ok("fine".to_owned()));
        }
        let blocked = block_on(client.list_blocked(10)).unwrap();
        assert_eq!(blocked.len(), 1, "{blocked:#?}");
        assert!(blocked[0].instance == "bad" && blocked[0].block.holds_activity, "{blocked:#?}");
        assert_eq!(crashes, MOST, "each crash counts, and for nothing else");
        assert!(is_running(&client, "bad"));
        assert!(!build.has_ended(), "nothing ends it any more");
        println!("{crashes} crashes");
        build.end();

        let repaired = Build::start(site, Deploy::of("good", Code::Right));
        assert!(block_on(client.retry("bad")).unwrap());
        assert_eq!(end_of(&client, "bad"), Ok(ABORTING.to_owned()));
        repaired.end();
    });
}

#[test]
fn a_timer_raced_against_an_activity_that_aborts_wins() {
    on_every_store("race", |site| {
        let client = site.client();
        start(&client, "race", "Race", ABORTING);
        let mut build = Build::start_unawaited(site, Deploy::of("bad", Code::Aborts).with(CRASHING));
        let output = until("the timer", || {
            if build.has_ended() {
                build = Build::start_unawaited(site, Deploy::of("bad", Code::Aborts).with(CRASHING));
            }
            match status(&client, "race") {
                OrchestrationStatus::Completed { output, .. } => Some(output),
                OrchestrationStatus::Failed { details, .. } => panic!("{details:?}"),
                OrchestrationStatus::Running { .. } | OrchestrationStatus::NotFound => None,
            }
        });
        assert_eq!(output, "the timer wins");
        until("its activity to be revoked", || (count_blocked(&client) == 0).then_some(()));
    });
}

#[test]
fn a_turn_that_aborts_is_quarantined_alone() {
    on_every_store("turn", |site| {
        let client = site.client();
        start(&client, "bad", "Turn", ABORTING);
        for number in 0..OTHERS {
            start(&client, &format!("other-{number}"), "Turn", "fine");
        }
        let Crashed { build, crashes } = crash_until_quarantined(site, &client, 1);
        for number in 0..OTHERS {
            assert_eq!(end_of(&client, &format!("other-{number}")), Ok("after".to_owned()));
        }
        let blocked = block_on(client.list_blocked(10)).unwrap();
        assert_eq!(blocked.len(), 1, "{blocked:#?}");
        assert!(blocked[0].instance == "bad" && !blocked[0].block.holds_activity, "{blocked:#?}");
        assert!((MOST..=MOST + FUSED).contains(&crashes), "{crashes} crashes");
        println!("{crashes} crashes");
        build.end();

        let repaired = Build::start(site, Deploy::of("good", Code::Right));
        assert!(is_running(&client, "bad"), "it is not tried by itself");
        assert!(block_on(client.retry("bad")).unwrap());
        assert_eq!(end_of(&client, "bad"), Ok("after".to_owned()));
        repaired.end();
    });
}
