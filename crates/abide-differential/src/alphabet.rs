//! The few names, keys and times that sequences are made of: few, so that things meet; odd ones among them, because
//! a store must not care.

use std::collections::HashSet;
use std::time::Duration;

use abide_provider::{DispatcherCapabilityFilter, SemverRange, TagFilter};
use semver::Version;

use crate::habits::{Pace, Topic};
use crate::rng::Rng;

const INSTANCES: [&str; 9] = ["a", "b", "c", "", "ü🦀'%", "A", "d", "ab", "e"];
const NAMES: [&str; 3] = ["Order", "Child", ""];
const TEXTS: [&str; 6] =
    ["x", "", "{\"n\":1}", "ü🦀\n\"'", "\u{0}", "0123456789012345678901234567890123456789"];
const KEYS: [&str; 6] = ["k", "k", "k", "l", "", "Ü\u{0}"];
const TAGS: [&str; 3] = ["gpu", "cpu", ""];
const SESSIONS: [&str; 3] = ["s", "t", ""];
const OWNERS: [&str; 3] = ["w1", "w2", ""];
const PINS: [&str; 4] = ["1.0.0", "1.9.0", "2.0.0-rc.1", "1.0.0+build.7"];

const MICROS: u64 = 1;
const MS: u64 = 1_000;
const S: u64 = 1_000 * MS;

/// Round numbers, so that things often end at the very same millisecond.
const LEASES: [u64; 10] = [S, 5 * S, 5 * S, 30 * S, 30 * S, 30 * S, 30 * S, 30 * S, MS, 0];
const DELAYS: [u64; 8] = [0, 500 * MICROS, MS, 400 * MS, S, 5 * S, 5 * S, 60 * S];
const SHORT_STEPS: [u64; 6] = [0, MS, 400 * MS, S, S, 2 * S];
const STEPS: [u64; 9] = [MS, 400 * MS, S, 2 * S, 5 * S, 5 * S, 30 * S, 61 * S, 3_600 * S];
const LONG_STEPS: [u64; 5] = [61 * S, 61 * S, 61 * S, 3_600 * S - MS, 3_600 * S];

fn owned(rng: &mut Rng, from: &[&str]) -> String {
    (*rng.pick(from)).to_owned()
}

pub(crate) fn instance(rng: &mut Rng) -> String {
    let names = rng.habits.names.min(INSTANCES.len());
    owned(rng, &INSTANCES[..names])
}

pub(crate) fn orchestration(rng: &mut Rng) -> String {
    owned(rng, &NAMES)
}

pub(crate) fn text(rng: &mut Rng) -> String {
    owned(rng, &TEXTS)
}

pub(crate) fn key(rng: &mut Rng) -> String {
    owned(rng, &KEYS)
}

pub(crate) fn tag(rng: &mut Rng) -> String {
    owned(rng, &TAGS)
}

pub(crate) fn session(rng: &mut Rng) -> String {
    owned(rng, &SESSIONS)
}

pub(crate) fn owner(rng: &mut Rng) -> String {
    owned(rng, &OWNERS)
}

pub(crate) fn handler_version(rng: &mut Rng) -> String {
    owned(rng, &["1.0.0", "2.1.0", "latest"])
}

pub(crate) fn pin(rng: &mut Rng) -> Version {
    rng.pick(&PINS).parse().unwrap()
}

pub(crate) fn lease_for(rng: &mut Rng) -> Duration {
    if rng.percent(1) { Duration::MAX } else { Duration::from_micros(*rng.pick(&LEASES)) }
}

pub(crate) fn delay(rng: &mut Rng) -> Option<Duration> {
    rng.maybe(40, |rng| Duration::from_micros(*rng.pick(&DELAYS)))
}

pub(crate) fn step(rng: &mut Rng) -> Duration {
    let micros = match rng.habits.pace {
        Pace::Crawls => *rng.pick(&SHORT_STEPS),
        Pace::Any => *rng.pick(&STEPS),
        Pace::Jumps => *rng.pick(&LONG_STEPS),
    };
    Duration::from_micros(micros)
}

/// How far ahead a timer fires, in milliseconds.
pub(crate) fn ahead_ms(rng: &mut Rng) -> u64 {
    rng.pick(&DELAYS) / MS
}

pub(crate) fn tag_filter(rng: &mut Rng) -> TagFilter {
    let tags = |rng: &mut Rng| -> HashSet<String> { (0..rng.below(3)).map(|_| tag(rng)).collect() };
    let choice = if is_narrow(rng) { 0 } else { rng.below(10) };
    match choice {
        0..=4 => TagFilter::Any,
        5..=6 => TagFilter::DefaultOnly,
        7 => TagFilter::Tags(tags(rng)),
        8 => TagFilter::DefaultAnd(tags(rng)),
        _ => TagFilter::None,
    }
}

pub(crate) fn capabilities(rng: &mut Rng) -> Option<DispatcherCapabilityFilter> {
    let range = |min: &str, max: &str| SemverRange::new(min.parse().unwrap(), max.parse().unwrap());
    let choice = if is_narrow(rng) { 0 } else { rng.below(10) };
    let ranges = match choice {
        0..=4 => return None,
        5 => Vec::new(),
        6 => vec![range("0.0.0", "1.5.0")],
        7 => vec![range("1.9.0", "1.9.0"), range("2.0.0-alpha", "2.0.0")],
        8 => vec![range("7.0.0", "8.0.0")],
        _ => vec![range("0.0.0", "9.0.0")],
    };
    Some(DispatcherCapabilityFilter { supported_duroxide_versions: ranges })
}

/// Whether a sequence mostly takes whatever is there, because it is about something else than pins and tags.
fn is_narrow(rng: &mut Rng) -> bool {
    match rng.habits.topic {
        Topic::Damage => true,
        Topic::Blocks => rng.percent(80),
        Topic::Everything | Topic::Turns | Topic::Families => false,
    }
}

/// Builds of nodes: a few that come often, and enough of others that not all are remembered.
pub(crate) fn build(rng: &mut Rng) -> String {
    let often = ["b1", "b1", "b2", "", "ü"];
    if rng.percent(75) { owned(rng, &often) } else { format!("b{}", rng.below(12)) }
}

pub(crate) fn retry_after(rng: &mut Rng) -> Option<Duration> {
    let pauses = [0, 1, 400, 1_000, 5_000, 5_000, 60_000, 60_000];
    rng.maybe(80, |rng| Duration::from_millis(*rng.pick(&pauses)))
}
