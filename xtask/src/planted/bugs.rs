//! The planted bugs: mistakes somebody could make in the engine, each with the test that catches it.
//!
//! To plant one: find the line that keeps a promise, write down what would happen to a user without it, and name the
//! test that fails then. `cargo xtask planted NAME` shows whether it does.

/// A change to one file that must not survive the tests.
#[derive(Debug)]
pub(crate) struct PlantedBug {
    /// Short, and typed on the command line: `lost-signal`.
    pub(crate) name: &'static str,
    /// What happens to a user of a build with this bug, in one sentence.
    pub(crate) story: &'static str,
    /// From the root of the workspace, under `crates/`.
    pub(crate) file: &'static str,
    /// What is changed in it. Most bugs are one edit.
    pub(crate) edits: &'static [Edit],
    /// Full names of tests of the binary `it` of `abide-engine`; at least one of them must fail.
    pub(crate) caught_by: &'static [&'static str],
}

/// A piece of text and what takes its place.
#[derive(Debug)]
pub(crate) struct Edit {
    /// Occurs exactly once in the file.
    pub(crate) find: &'static str,
    pub(crate) replace: &'static str,
}

pub(crate) const PLANTED_BUGS: &[PlantedBug] = &[];

impl PlantedBug {
    /// The file's text with the bug in it, or why the bug no longer applies.
    pub(crate) fn apply(&self, text: &str) -> Result<String, String> {
        self.edits.iter().try_fold(text.to_owned(), |text, edit| edit.apply(&text, self.file))
    }
}

impl Edit {
    fn apply(&self, text: &str, file: &str) -> Result<String, String> {
        let remedy = "it no longer applies; look at what became of the line";
        match text.matches(self.find).count() {
            _ if self.find == self.replace => Err(format!("`replace` changes nothing; {remedy}")),
            0 => Err(format!("`find` does not occur in {file}; {remedy}")),
            1 => Ok(text.replacen(self.find, self.replace, 1)),
            count => Err(format!("`find` occurs {count} times in {file}; {remedy}, or make `find` longer")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const BUG: PlantedBug = PlantedBug {
        name: "wrong-sign",
        story: "Sums are differences.",
        file: "crates/abide-engine/src/lib.rs",
        edits: &[Edit { find: "a + b", replace: "a - b" }],
        caught_by: &["sums"],
    };

    #[test]
    fn a_bug_is_planted_where_its_text_occurs_once() {
        assert_eq!(BUG.apply("let c = a + b;"), Ok("let c = a - b;".to_owned()));
    }

    #[test]
    fn a_bug_whose_text_is_gone_or_ambiguous_no_longer_applies() {
        for (text, complaint) in [("", "does not occur"), ("a + b; a + b", "occurs 2 times")] {
            let objection = BUG.apply(text).unwrap_err();
            assert!(objection.contains(complaint) && objection.contains("no longer applies"), "{objection}");
        }
        assert!(
            PlantedBug { edits: &[Edit { find: "a + b", replace: "a + b" }], ..BUG }.apply("a + b").is_err()
        );
    }

    #[test]
    fn names_in_the_table_are_unique() {
        let names: BTreeSet<&str> = PLANTED_BUGS.iter().map(|bug| bug.name).collect();
        assert_eq!(names.len(), PLANTED_BUGS.len());
    }
}
