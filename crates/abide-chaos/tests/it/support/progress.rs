//! How soon nodes go on: from a moment at which nothing is in their way to the next commit of anybody.

use std::time::Duration;

use abide_chaos::check::Evidence;
use abide_chaos::journal::{Line, Note};

/// Nodes are at work again this soon after the database is.
pub(crate) const SOON: Duration = Duration::from_secs(2);

/// Somebody has gone on soon after each of these moments, in milliseconds since the epoch.
pub(crate) fn goes_on_soon_after(moments: &[u64], evidence: &Evidence) {
    // Nobody goes on who has not begun.
    let begun = gap_after(0, evidence).expect("somebody committed something");
    let moments = moments.iter().filter(|moment| **moment >= begun);
    let gaps: Vec<u64> = moments.filter_map(|since| gap_after(*since, evidence)).collect();
    let worst = Duration::from_millis(gaps.iter().copied().max().expect("there was something left to do"));
    println!("at most {worst:?} to the next commit, {} times", gaps.len());
    assert!(worst < SOON, "the nodes took {worst:?} to go on");
}

/// How long it took after this until somebody committed something. `None` if there was nothing left to do.
fn gap_after(since: u64, evidence: &Evidence) -> Option<u64> {
    evidence.journals.values().filter_map(|lines| first_after(since, lines)).min().map(|at| at - since)
}

pub(crate) fn first_after(since: u64, lines: &[Line]) -> Option<u64> {
    lines.iter().find(|line| line.at_ms >= since && line.note == Note::Committed).map(|line| line.at_ms)
}
