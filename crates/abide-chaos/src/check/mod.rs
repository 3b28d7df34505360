//! What must hold when the dust has settled.
//!
//! [`Evidence`] is everything there is to see: what was ordered, what is stored, what the workers noted. [`Evidence::violations`]
//! holds it against every [`Rule`]; `ending.rs` asks whether each order ended as it must, `history.rs` whether each history is
//! whole, `effect.rs` whether results and runs belong together. [`storage::violations`] looks at the file once nobody uses it.
//! [`Figures`] counts what happened, to show that something did.
//!
//! Deliberately absent: the engine. What it would say about a history is not asked, so that both can be wrong only
//! independently.

mod effect;
mod ending;
mod evidence;
mod figures;
mod history;
pub mod storage;

use std::fmt;

pub use evidence::{Evidence, EvidenceError, Past};
pub use figures::Figures;

/// What must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// What was acknowledged is there.
    NothingLost,
    /// Everything ends.
    NothingStuck,
    /// Everything ends as it must: with the right output, or cancelled.
    RightEnd,
    /// The values that were kept are right.
    RightValues,
    /// Nothing is there that nobody asked for.
    NoGhosts,
    /// A parent was told what became of its child.
    ParentTold,
    /// Executions count from one, and all but the last continued as new.
    Executions,
    /// Events count from one, belong to their execution, and carry one pin.
    Events,
    /// An execution begins with its start, and has no other.
    OneStart,
    /// An execution ends with its end, and has no other.
    OneEnd,
    /// Time does not run backwards.
    Time,
    /// What was answered had been asked for, in kind.
    Asked,
    /// What was asked for was answered at most once.
    AnsweredOnce,
    /// No timer fires early.
    TimerNotEarly,
    /// A recorded result is that of a run.
    ResultOfRun,
    /// It is that of the last run: whoever had lost the lease by then was refused.
    ResultOfLastRun,
    /// What was run had been asked for.
    RunAskedFor,
    /// The file is sound, and nothing is left in it that somebody would have to do.
    Storage,
}

/// A rule that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Which rule.
    pub rule: Rule,
    /// By what: an instance, an execution, a table.
    pub subject: String,
    /// In which way.
    pub detail: String,
}

impl Violation {
    fn new(rule: Rule, subject: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { rule, subject: subject.into(), detail: detail.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}: {}", self.rule, self.subject, self.detail)
    }
}
