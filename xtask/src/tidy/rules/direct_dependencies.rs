//! Every crate depends only on what its rows in the dependency table allow.

use toml::Table;

use crate::tidy::dependency_table::{CrateRows, DIRECT, Defaults, THIS_FILE};
use crate::tidy::manifest::{self, DefaultFeatures, Dependency};
use crate::tidy::tree::{TextFile, Tree};
use crate::tidy::violation::Violation;

pub(crate) fn check(tree: &Tree) -> Vec<Violation> {
    let manifests = tree.files.iter().filter(|file| file.path.ends_with("/Cargo.toml"));
    // A broken root manifest stops cargo long before it gets here.
    let workspace = tree.file("Cargo.toml").and_then(|root| manifest::parse(root).ok()).unwrap_or_default();
    manifests.flat_map(|file| check_manifest(file, &workspace, DIRECT)).collect()
}

fn check_manifest(file: &TextFile, workspace: &Table, table: &[CrateRows]) -> Vec<Violation> {
    let manifest = match manifest::parse(file) {
        Ok(manifest) => manifest,
        Err(broken) => return vec![broken],
    };
    let Some(name) = manifest::package_name(&manifest) else { return Vec::new() };
    let violation =
        |line, message| Violation { path: file.path.clone(), line, rule: "dependencies", message };
    let Some(rows) = table.iter().find(|rows| rows.name == name) else {
        return vec![violation(
            1,
            format!("`{name}` has no rows in {THIS_FILE}; add them, each with its reason"),
        )];
    };
    manifest::dependencies(&file.text, &manifest, workspace)
        .into_iter()
        .filter_map(|dependency| Some(violation(dependency.line, objection(rows, &dependency)?)))
        .collect()
}

fn objection(rows: &CrateRows, dependency: &Dependency) -> Option<String> {
    let name = &dependency.package;
    let Some(row) = rows.may_depend_on.iter().find(|row| row.dependency == *name) else {
        return Some(format!(
            "`{}` may not depend on `{name}`; do without it, or add a row with its reason to {THIS_FILE}",
            rows.name
        ));
    };
    let needless = row.defaults == Defaults::MustBeOff && dependency.default_features == DefaultFeatures::On;
    needless.then(|| {
        format!(
            "`{name}` brings its default features; set `default-features = false` (it is here for: {})",
            row.reason
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: (&str, &str) = (
        "Cargo.toml",
        "[workspace.dependencies]\nserde = \"1\"\nfutures-util = { version = \"0.3\", default-features = false }\n",
    );

    fn found(manifest: &str) -> Vec<(usize, String)> {
        let tree = Tree::of(&[ROOT, ("crates/a/Cargo.toml", manifest)]);
        check(&tree).into_iter().map(|it| (it.line, it.message)).collect()
    }

    #[test]
    fn listed_dependencies_and_any_dev_dependency_are_good() {
        let manifest = "[package]\nname = \"abide-engine\"\n[dependencies]\nserde.workspace = true\n\
                        futures-util.workspace = true\n[dev-dependencies]\ntokio = \"1\"\n";
        assert_eq!(found(manifest), []);
    }

    #[test]
    fn an_unlisted_dependency_is_found_at_its_line() {
        let violations =
            found("[package]\nname = \"abide-model\"\n\n[dependencies]\nserde = \"1\"\ntokio = \"1\"\n");
        assert_eq!(violations.len(), 1);
        assert_eq!(violations[0].0, 6);
        assert!(violations[0].1.contains("may not depend on `tokio`"), "{}", violations[0].1);
    }

    #[test]
    fn a_renamed_dependency_does_not_hide() {
        let violations = found(
            "[package]\nname = \"abide-model\"\n[dependencies]\nserde = { package = \"tokio\", version = \"1\" }\n",
        );
        assert!(violations[0].1.contains("`tokio`"), "{violations:?}");
    }

    #[test]
    fn default_features_must_stay_off_where_the_table_says_so() {
        let violations =
            found("[package]\nname = \"abide-engine\"\n[dependencies]\nfutures-util = \"0.3\"\n");
        assert!(violations[0].1.contains("default-features = false"), "{violations:?}");
    }

    #[test]
    fn a_crate_without_rows_is_told_where_to_add_them() {
        let violations = found("[package]\nname = \"abide-new\"\n");
        assert!(violations[0].1.contains(THIS_FILE), "{violations:?}");
    }
}
