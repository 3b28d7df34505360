//! A file has at most 600 lines. Inline tests do not count; a file of tests does.

use crate::tidy::tree::Tree;
use crate::tidy::violation::Violation;

const LIMIT: usize = 600;

/// Files that may be longer: the path and why it cannot be split.
const LONGER: &[(&str, &str)] = &[];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    check_with(tree, LONGER)
}

fn check_with(tree: &Tree, longer: &[(&str, &str)]) -> Vec<Violation> {
    let violation = |path: &str, message: String| Violation {
        path: path.to_owned(),
        line: 1,
        rule: "file-length",
        message,
    };
    let is_listed = |path: &str| longer.iter().any(|(listed, _)| *listed == path);

    let too_long = tree.sources.iter().filter(|source| !is_listed(&source.path)).filter_map(|source| {
        let lines = source.relevant_line_count();
        (lines > LIMIT).then(|| {
            violation(
                &source.path,
                format!("{lines} lines, at most {LIMIT} are allowed; split it by subject"),
            )
        })
    });
    let needlessly_listed = longer.iter().filter_map(|(listed, _)| {
        let source = tree.sources.iter().find(|source| source.path == *listed);
        source.is_none_or(|source| source.relevant_line_count() <= LIMIT).then(|| {
            violation(listed, "listed as longer than allowed but is not; remove it from the list".to_owned())
        })
    });
    too_long.chain(needlessly_listed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn functions(count: usize) -> String {
        "fn f() {}\n".repeat(count)
    }

    #[test]
    fn the_limit_itself_is_allowed_and_inline_tests_are_free() {
        let text = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", functions(LIMIT), functions(50));
        assert_eq!(check(&Tree::of(&[("src/lib.rs", &text)])), []);
    }

    #[test]
    fn one_line_more_is_a_violation_also_in_a_file_of_tests() {
        let text = functions(LIMIT + 1);
        for path in ["src/lib.rs", "tests/it/main.rs"] {
            let found = check(&Tree::of(&[(path, &text)]));
            assert_eq!(found.len(), 1, "{path}");
            assert!(found[0].message.starts_with("601 lines"), "{}", found[0]);
        }
    }

    #[test]
    fn a_listed_file_may_be_longer_and_must_be() {
        let listed = [("src/lib.rs", "a table")];
        assert_eq!(check_with(&Tree::of(&[("src/lib.rs", &functions(LIMIT + 1))]), &listed), []);
        assert_eq!(check_with(&Tree::of(&[("src/lib.rs", &functions(1))]), &listed).len(), 1);
        assert_eq!(check_with(&Tree::of(&[]), &listed).len(), 1);
    }
}
