//! A crate's own `clippy.toml` repeats every setting of the root's, because clippy reads the nearest and merges nothing.

use toml::{Table, Value};

use crate::tidy::manifest;
use crate::tidy::tree::Tree;
use crate::tidy::violation::Violation;

const ROOT: &str = "clippy.toml";

/// It bans unordered maps on top, which only this file can do.
const REQUIRED: &str = "crates/abide-engine/clippy.toml";

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let Some(root) = tree.file(ROOT) else {
        return vec![violation(ROOT, "missing; restore it".to_owned())];
    };
    let root = match manifest::parse(root) {
        Ok(root) => root,
        Err(broken) => return vec![broken],
    };
    let own_files: Vec<_> = tree.files.iter().filter(|file| file.path.ends_with("/clippy.toml")).collect();
    let mut violations: Vec<Violation> = own_files
        .iter()
        .flat_map(|file| match manifest::parse(file) {
            Ok(own) => lost_settings(&root, &own).into_iter().map(|it| violation(&file.path, it)).collect(),
            Err(broken) => vec![broken],
        })
        .collect();
    if own_files.iter().all(|file| file.path != REQUIRED) {
        violations.push(violation(REQUIRED, "missing; restore it: it keeps unordered maps out".to_owned()));
    }
    violations
}

fn violation(path: &str, message: String) -> Violation {
    Violation { path: path.to_owned(), line: 1, rule: "clippy-settings", message }
}

fn lost_settings(root: &Table, own: &Table) -> Vec<String> {
    root.iter()
        .filter_map(|(key, expected)| match (expected, own.get(key)) {
            (_, None) => Some(format!("`{key}` of the root {ROOT} is missing; repeat it here")),
            (Value::Array(expected), Some(Value::Array(found))) => {
                let lost = expected.iter().find(|entry| !found.contains(entry))?;
                Some(format!(
                    "`{key}` lacks an entry of the root {ROOT}; repeat {lost}",
                    lost = in_one_line(lost)
                ))
            }
            (expected, Some(found)) => (expected != found).then(|| {
                format!("`{key}` differs from the root {ROOT}; set it to {}", in_one_line(expected))
            }),
        })
        .collect()
}

/// An entry is named by its path where it has one; the rest of it is in the root file.
fn in_one_line(value: &Value) -> String {
    value.get("path").and_then(Value::as_str).map_or_else(|| value.to_string(), |path| format!("`{path}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT_TEXT: &str = "limit = 70\nbanned = [{ path = \"a::b\", reason = \"r\" }]\n";

    fn messages(own: &str) -> Vec<String> {
        check(&Tree::of(&[(ROOT, ROOT_TEXT), (REQUIRED, own)])).into_iter().map(|it| it.message).collect()
    }

    #[test]
    fn repeating_everything_and_adding_more_is_good() {
        let own = "banned = [{ path = \"c\" }, { reason = \"r\", path = \"a::b\" }]\nlimit = 70\nmore = 1\n";
        assert!(messages(own).is_empty());
    }

    #[test]
    fn a_missing_a_different_and_a_shortened_setting_are_found() {
        let missing = messages("limit = 70\n");
        assert!(missing[0].contains("`banned`") && missing[0].contains("missing"), "{missing:?}");
        let different = messages(&ROOT_TEXT.replace("70", "71"));
        assert!(
            different[0].contains("`limit` differs") && different[0].ends_with("set it to 70"),
            "{different:?}"
        );
        let shortened = messages("limit = 70\nbanned = []\n");
        assert!(shortened[0].contains("repeat `a::b`"), "{shortened:?}");
    }

    #[test]
    fn the_engine_must_have_its_own() {
        assert_eq!(check(&Tree::of(&[(ROOT, ROOT_TEXT)]))[0].path, REQUIRED);
    }
}
