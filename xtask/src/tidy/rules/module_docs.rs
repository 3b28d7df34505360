//! Every file of code begins by saying what it is for.

use crate::tidy::tree::Tree;
use crate::tidy::violation::Violation;

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    tree.files_with_extension("rs")
        .filter(|file| !begins_with_docs(&file.text))
        .map(|file| Violation {
            path: file.path.clone(),
            line: 1,
            rule: "module-docs",
            message:
                "no `//!` docs on the first line; say what the module is, where to start, what is absent"
                    .to_owned(),
        })
        .collect()
}

fn begins_with_docs(text: &str) -> bool {
    text.lines()
        .next()
        .and_then(|line| line.strip_prefix("//!"))
        .is_some_and(|words| !words.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn docs_on_the_first_line_are_good() {
        assert_eq!(check(&Tree::of(&[("src/a.rs", "//! Says what it is.\nfn f() {}\n")])), []);
    }

    #[test]
    fn late_empty_and_missing_docs_are_not() {
        for text in
            ["", "fn f() {}\n", "use a::b;\n//! Late.\n", "//!\n//! Late.\n", "/// Of the item.\nfn f() {}\n"]
        {
            assert_eq!(
                check(&Tree::of(&[("src/a.rs", text)])).iter().filter(|it| it.rule == "module-docs").count(),
                1
            );
        }
    }
}
