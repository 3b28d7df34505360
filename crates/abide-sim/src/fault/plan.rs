//! What goes wrong, and when.

use std::fmt;
use std::time::Duration;

use abide_provider::Operation;

use super::Fault;

/// One call of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call {
    /// Which call. A batch is one.
    pub operation: Operation,
    /// Its number among the calls of its operation, from one.
    pub ordinal: u64,
    /// Its number among all calls, from one.
    pub number: u64,
    /// When it would have its effect, by the monotonic clock of the store.
    pub at: Duration,
}

/// What goes wrong, and when. Of several rules for the same call the first decides.
///
/// ```
/// use std::time::Duration;
///
/// use abide_provider::Operation;
/// use abide_sim::{Fault, FaultPlan};
///
/// let plan = FaultPlan::none()
///     .at(Operation::CommitTurn, 2, Fault::Unknown)
///     .outage(Duration::from_secs(10), Duration::from_secs(70))
///     .when(|call| (call.number % 10 == 0).then_some(Fault::NotApplied));
/// ```
#[derive(Default)]
pub struct FaultPlan {
    rules: Vec<Rule>,
}

type Predicate = Box<dyn Fn(&Call) -> Option<Fault> + Send + Sync>;

enum Rule {
    Nth { operation: Operation, ordinal: u64, fault: Fault },
    NthOfAll { number: u64, fault: Fault },
    Outage { from: Duration, until: Duration },
    When(Predicate),
}

impl FaultPlan {
    /// Nothing goes wrong.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// The `ordinal`th call of an operation goes wrong; the first is one.
    #[must_use]
    pub fn at(self, operation: Operation, ordinal: u64, fault: Fault) -> Self {
        self.with(Rule::Nth { operation, ordinal, fault })
    }

    /// The `number`th call of any kind goes wrong; the first is one.
    #[must_use]
    pub fn at_call(self, number: u64, fault: Fault) -> Self {
        self.with(Rule::NthOfAll { number, fault })
    }

    /// The store cannot be reached between these two moments of its monotonic clock: no call has an effect, and one that
    /// waits when it begins is cut off, which nobody can tell from one that was applied.
    #[must_use]
    pub fn outage(self, from: Duration, until: Duration) -> Self {
        self.with(Rule::Outage { from, until })
    }

    /// Every call for which the function names a fault goes wrong. It is asked at most once for each.
    #[must_use]
    pub fn when(self, predicate: impl Fn(&Call) -> Option<Fault> + Send + Sync + 'static) -> Self {
        self.with(Rule::When(Box::new(predicate)))
    }

    fn with(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    pub(super) fn fault_of(&self, call: &Call) -> Option<Fault> {
        self.rules.iter().find_map(|rule| rule.fault_of(call))
    }

    /// When the next outage begins.
    pub(super) fn next_outage(&self, now: Duration) -> Option<Duration> {
        let begins = self.rules.iter().filter_map(|rule| match rule {
            Rule::Outage { from, until } => (from < until && now < *from).then_some(*from),
            Rule::Nth { .. } | Rule::NthOfAll { .. } | Rule::When(_) => None,
        });
        begins.min()
    }
}

impl Rule {
    fn fault_of(&self, call: &Call) -> Option<Fault> {
        match self {
            Self::Nth { operation, ordinal, fault } => {
                (call.operation == *operation && call.ordinal == *ordinal).then_some(*fault)
            }
            Self::NthOfAll { number, fault } => (call.number == *number).then_some(*fault),
            Self::Outage { from, until } => {
                (*from <= call.at && call.at < *until).then_some(Fault::NotApplied)
            }
            Self::When(predicate) => predicate(call),
        }
    }
}

impl fmt::Debug for FaultPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.rules).finish()
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nth { operation, ordinal, fault } => write!(f, "{fault:?} at {operation} {ordinal}"),
            Self::NthOfAll { number, fault } => write!(f, "{fault:?} at call {number}"),
            Self::Outage { from, until } => write!(f, "outage from {from:?} until {until:?}"),
            Self::When(_) => f.write_str("when a function says so"),
        }
    }
}
