//! The dependencies a `Cargo.toml` names, with what it inherits from the workspace.

use toml::{Table, Value};

use super::tree::TextFile;
use super::violation::Violation;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DefaultFeatures {
    On,
    Off,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// The package, also where the manifest gives it another name.
    pub(crate) package: String,
    pub(crate) default_features: DefaultFeatures,
    pub(crate) line: usize,
}

pub(crate) fn parse(file: &TextFile) -> Result<Table, Violation> {
    file.text.parse::<Table>().map_err(|error| Violation {
        path: file.path.clone(),
        line: error.span().map_or(1, |span| line_at(&file.text, span.start)),
        rule: "syntax",
        message: format!("this is not TOML: {}; correct it", error.message()),
    })
}

pub(crate) fn package_name(manifest: &Table) -> Option<&str> {
    manifest.get("package")?.get("name")?.as_str()
}

/// Normal and build dependencies, for every platform. Dev-dependencies reach no user, so they are free.
pub(crate) fn dependencies(text: &str, manifest: &Table, workspace: &Table) -> Vec<Dependency> {
    let platforms = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let sections = platforms.filter_map(Value::as_table).chain([manifest]).flat_map(|section| {
        ["dependencies", "build-dependencies"].into_iter().filter_map(|kind| section.get(kind)?.as_table())
    });
    sections
        .flatten()
        .map(|(key, value)| {
            let shared = workspace.get("workspace").and_then(|it| it.get("dependencies")?.get(key));
            let inherited = if value.get("workspace").is_some() { shared } else { None };
            let package = [Some(value), inherited]
                .into_iter()
                .flatten()
                .find_map(|it| it.get("package")?.as_str())
                .unwrap_or(key);
            Dependency {
                package: package.to_owned(),
                default_features: default_features(value, inherited),
                line: line_of_key(text, key),
            }
        })
        .collect()
}

fn default_features(own: &Value, inherited: Option<&Value>) -> DefaultFeatures {
    let setting = |value: &Value| value.get("default-features").and_then(Value::as_bool);
    // A member can switch the defaults of a shared dependency on, but not off: so says cargo.
    let on = match inherited {
        Some(shared) => setting(shared).unwrap_or(true) || setting(own) == Some(true),
        None => setting(own).unwrap_or(true),
    };
    if on { DefaultFeatures::On } else { DefaultFeatures::Off }
}

/// Where the key stands, as `key = …`, `key.… = …` or `[dependencies.key]`.
fn line_of_key(text: &str, key: &str) -> usize {
    let is_entry = |line: &str| {
        let after_name = line.trim_start_matches('"').strip_prefix(key);
        after_name.is_some_and(|rest| rest.starts_with(['.', ' ', '=', '"']))
    };
    let header = format!("dependencies.{key}]");
    let names_key = |line: &str| is_entry(line.trim_start()) || line.trim_end().ends_with(&header);
    text.lines().position(names_key).map_or(1, |index| index + 1)
}

fn line_at(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKSPACE: &str = r#"
        [workspace.dependencies]
        plain = "1"
        bare = { version = "1", default-features = false }
        nickname = { version = "1", package = "real-name" }
    "#;

    fn dependencies_of(text: &str) -> Vec<(String, DefaultFeatures, usize)> {
        let table = |text: &str| text.parse::<Table>().unwrap();
        let mut found: Vec<_> = dependencies(text, &table(text), &table(WORKSPACE))
            .into_iter()
            .map(|it| (it.package, it.default_features, it.line))
            .collect();
        found.sort_by_key(|(_, _, line)| *line);
        found
    }

    #[test]
    fn inherited_settings_are_followed() {
        let text =
            "[dependencies]\nplain.workspace = true\nbare.workspace = true\nnickname.workspace = true\n";
        assert_eq!(
            dependencies_of(text),
            [
                ("plain".to_owned(), DefaultFeatures::On, 2),
                ("bare".to_owned(), DefaultFeatures::Off, 3),
                ("real-name".to_owned(), DefaultFeatures::On, 4),
            ]
        );
    }

    #[test]
    fn a_member_can_switch_the_defaults_back_on() {
        let text = "[dependencies]\nbare = { workspace = true, default-features = true }\n";
        assert_eq!(dependencies_of(text), [("bare".to_owned(), DefaultFeatures::On, 2)]);
    }

    #[test]
    fn a_section_of_its_own_is_found_at_its_header() {
        let text = "[package]\n[dependencies.bare]\nversion = \"1\"\n";
        assert_eq!(dependencies_of(text), [("bare".to_owned(), DefaultFeatures::On, 2)]);
    }

    #[test]
    fn platform_and_build_dependencies_count_and_dev_dependencies_do_not() {
        let text = "[build-dependencies]\na = \"1\"\n[target.'cfg(unix)'.dependencies]\nb = \"1\"\n\
                    [dev-dependencies]\nc = \"1\"\n";
        let names: Vec<_> = dependencies_of(text).into_iter().map(|(name, _, _)| name).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn a_broken_manifest_is_a_violation_with_its_line() {
        let file = TextFile { path: "Cargo.toml".to_owned(), text: "[package]\nname = \n".to_owned() };
        assert_eq!(parse(&file).unwrap_err().line, 2);
    }
}
