//! Nothing is left for later in the code: an idea is an issue, and a gap is a typed error.

use crate::tidy::tree::Tree;
use crate::tidy::violation::Violation;

/// Assembled, so that this file does not break its own rule.
const MARKERS: [&str; 5] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("X", "XX"),
    concat!("to", "do!"),
    concat!("unimple", "mented!"),
];

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in &tree.files {
        for (index, line) in file.text.lines().enumerate() {
            if let Some(marker) = MARKERS.into_iter().find(|marker| has_word(line, marker)) {
                violations.push(Violation {
                    path: file.path.clone(),
                    line: index + 1,
                    rule: "leftover",
                    message: format!(
                        "`{marker}` is a promise nobody tracks; do it, or open an issue and remove it"
                    ),
                });
            }
        }
    }
    violations
}

fn has_word(line: &str, word: &str) -> bool {
    let is_part_of_word = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        !before.is_some_and(is_part_of_word) && (word.ends_with('!') || !after.is_some_and(is_part_of_word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        check(&Tree::of(&[(path, text)])).iter().map(|it| it.line).collect()
    }

    #[test]
    fn words_that_only_contain_a_marker_are_good() {
        for text in [
            "// mastodon\n",
            "let fixme = 1;\n",
            "// XXXL\n",
            "// a to-do list\n",
            "TODOS\n",
            "fn todo() {}\n",
        ] {
            assert!(lines("src/a.rs", text).is_empty(), "{text}");
        }
    }

    #[test]
    fn every_marker_is_found_in_code_comments_and_prose() {
        for marker in MARKERS {
            let text = format!("fn f() {{}}\n// {marker}: more\n");
            assert_eq!(lines("src/a.rs", &text), [2], "{marker}");
            assert_eq!(lines("docs/a.md", &format!("{marker}\n")), [1], "{marker}");
        }
        assert_eq!(lines("src/a.rs", &format!("fn f() {{ {}() }}\n", MARKERS[3])), [1]);
    }
}
