//! Costs for each activity that do not depend on how busy the machine is, for people. Pure.

use super::line::{Line, Subject};
use super::rows::Spread;
use super::show::{number, place_of, store_title};

pub(crate) const HEADINGS: [&str; 9] = [
    "who",
    "workload",
    "store",
    "transactions",
    "statements",
    "fsyncs",
    "polls",
    "events decoded",
    "allocations",
];

/// In the order of the headings.
const COUNTERS: [&str; 6] =
    ["transactions", "statements", "fsyncs", "polls", "events_decoded", "allocations"];

pub(crate) const ABOUT: &str = "\
Everything that was done from the first start to the last end, divided by the number of activities: with default options, and so with what is \
shared by those that are under way at once. *Fsyncs* on SQLite are commits that waited for the disk, without the two or three of each \
copy of the log into the file, which is made once in 1,000 pages; on PostgreSQL they are the server's own count for its log (`pg_stat_wal`), as \
its transactions are (`pg_stat_database`), both with those of opening the store. *Polls* are calls of the store for something to do that came back with \
nothing (where it looks again by itself, that is in its statements); *events decoded* are those of histories that were read. Polls, events and allocations are counted by a program of its own, which \
is not used to measure time. *Statements* on SQLite are those of its writer; with them the few of each look at whether others have written. – is not counted: the model in memory and the stores of the reference do not count.";

/// Under the headings, for whatever ran activities.
pub(crate) fn cells(lines: &[Line]) -> Vec<Vec<String>> {
    let is_plain = |subject: &&Subject| subject.slots.is_none() && subject.nodes == 1;
    let mut subjects: Vec<_> = lines.iter().map(|line| &line.subject).filter(is_plain).collect();
    subjects.sort();
    subjects.dedup();
    subjects.into_iter().filter_map(|subject| row(subject, lines)).collect()
}

/// `None` if nothing was counted.
fn row(subject: &Subject, lines: &[Line]) -> Option<Vec<String>> {
    let same: Vec<&Line> = lines.iter().filter(|line| line.subject == *subject).collect();
    let median = |name: &str| Spread::of(same.iter().filter_map(|line| line.per_step(name)));
    let counts: Vec<_> = COUNTERS.into_iter().map(median).collect();
    if counts.iter().all(Option::is_none) {
        return None;
    }
    let (who, place) = (subject.side.name(), place_of(&subject.workload, subject.size));
    let mut cells = vec![who.to_owned(), place, store_title(&subject.store).to_owned()];
    let count = |count: Option<Spread>| count.map_or_else(|| "–".to_owned(), |it| number(it.median));
    cells.extend(counts.into_iter().map(count));
    Some(cells)
}
