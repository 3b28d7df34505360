//! Which version of a handler runs.

use semver::Version;

/// What a handler that is registered without a version has.
pub(super) const FIRST: Version = Version::new(1, 0, 0);

/// Which version of an orchestration runs where none is asked for.
#[derive(Clone, Debug)]
pub enum VersionPolicy {
    /// The highest one that is registered.
    Latest,
    /// This one; nothing if it is not registered.
    Exact(Version),
}

/// # Panics
///
/// If the text is not a semantic version.
pub(super) fn parse(name: &str, version: &str) -> Version {
    Version::parse(version).unwrap_or_else(|error| {
        panic!("Version should be valid semver, such as \"1.2.0\": {name} has {version:?}: {error}")
    })
}
