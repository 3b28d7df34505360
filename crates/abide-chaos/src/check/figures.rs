//! How much happened.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::Evidence;
use crate::journal::{Activity, Line, Note};

/// How much happened in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Figures {
    /// Instances that are there, children among them.
    pub instances: usize,
    /// Their executions.
    pub executions: usize,
    /// Their events.
    pub events: usize,
    /// Activities that were run.
    pub activities: usize,
    /// How often, in all.
    pub runs: usize,
    /// Activities that were run more than once.
    pub run_again: usize,
    /// How often the most often tried of them was handed out.
    pub most_attempts: u32,
    /// Turns that were run again, because the first time was not committed.
    pub turns_again: usize,
    /// Calls that the store refused, by call and kind.
    pub refused: BTreeMap<(String, String), usize>,
    /// Workers that ended in the middle of an activity.
    pub died_in_activity: usize,
    /// Workers that ended before they were ready.
    pub died_starting: usize,
}

impl Figures {
    /// Counts.
    #[must_use]
    pub fn of(evidence: &Evidence) -> Self {
        let mut figures = Self {
            instances: evidence.instances.len(),
            executions: evidence.instances.values().map(|past| past.executions.len()).sum(),
            events: evidence.instances.values().map(|past| past.events().count()).sum(),
            ..Self::default()
        };
        let mut runs: BTreeMap<&Activity, usize> = BTreeMap::new();
        let mut passed: BTreeMap<(&str, u64, &str), usize> = BTreeMap::new();
        for line in evidence.lines() {
            match &line.note {
                Note::Began { activity, attempt } => {
                    *runs.entry(activity).or_default() += 1;
                    figures.most_attempts = figures.most_attempts.max(*attempt);
                }
                Note::Passed { instance, execution, point } => {
                    *passed.entry((instance, *execution, point)).or_default() += 1;
                }
                Note::Refused { operation, kind } => {
                    *figures.refused.entry((operation.clone(), kind.clone())).or_default() += 1;
                }
                Note::Ready | Note::Committed | Note::Ended { .. } | Note::Stopped => {}
            }
        }
        figures.activities = runs.len();
        figures.runs = runs.values().sum();
        figures.run_again = runs.values().filter(|count| **count > 1).count();
        figures.turns_again = passed.values().filter(|count| **count > 1).count();
        for lines in evidence.journals.values() {
            figures.died_in_activity += usize::from(died_in_activity(lines));
            figures.died_starting += usize::from(!lines.iter().any(|line| line.note == Note::Ready));
        }
        figures
    }
}

fn died_in_activity(lines: &[Line]) -> bool {
    let mut open: BTreeSet<&Activity> = BTreeSet::new();
    for line in lines {
        match &line.note {
            Note::Began { activity, .. } => {
                open.insert(activity);
            }
            Note::Ended { activity, .. } => {
                open.remove(activity);
            }
            Note::Stopped => return false,
            Note::Ready | Note::Committed | Note::Passed { .. } | Note::Refused { .. } => {}
        }
    }
    !open.is_empty()
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { instances, executions, events, activities, runs, .. } = self;
        writeln!(f, "{instances} instances, {executions} executions, {events} events")?;
        writeln!(f, "{activities} activities in {runs} runs, {} of them more than once", self.run_again)?;
        writeln!(f, "the most attempts: {}; turns run again: {}", self.most_attempts, self.turns_again)?;
        let (in_activity, starting) = (self.died_in_activity, self.died_starting);
        writeln!(f, "killed in an activity: {in_activity}; before it was ready: {starting}")?;
        let refused =
            self.refused.iter().map(|((operation, kind), count)| format!("{operation} {kind} {count}"));
        write!(f, "refused: {}", refused.collect::<Vec<_>>().join(", "))
    }
}
