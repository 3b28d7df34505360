//! One broken rule, at one place.

use std::fmt;

/// Ordered by place, so that a report reads like a walk through the tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) rule: &'static str,
    /// What is wrong, and what to do.
    pub(crate) message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, rule, message } = self;
        write!(formatter, "{path}:{line}: {rule}: {message}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_is_printed_as_a_clickable_place_and_a_sentence() {
        let violation = Violation {
            path: "crates/a/src/lib.rs".to_owned(),
            line: 7,
            rule: "module-docs",
            message: "no docs, add them".to_owned(),
        };
        assert_eq!(violation.to_string(), "crates/a/src/lib.rs:7: module-docs: no docs, add them");
    }
}
