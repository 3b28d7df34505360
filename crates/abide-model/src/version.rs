//! The version of this build, and ranges of versions it can replay.
//!
//! Every event is stamped with the build that recorded it. The stamp of an execution's first event is its
//! *pin*: it decides by which rules the execution replays, and which nodes may take it up.
//!
//! Deliberately absent: versions of handlers. Those belong to the user and live in the registry.

use semver::{Prerelease, Version};

/// The version of this build, as events are stamped with it.
pub const BUILD_VERSION: &str = env!("CARGO_PKG_VERSION");

const MAJOR: u64 = number(env!("CARGO_PKG_VERSION_MAJOR"));
const MINOR: u64 = number(env!("CARGO_PKG_VERSION_MINOR"));
const PATCH: u64 = number(env!("CARGO_PKG_VERSION_PATCH"));

/// The version of this build, for comparing with the pins of executions.
#[must_use]
pub fn current_build_version() -> Version {
    Version {
        pre: Prerelease::new(env!("CARGO_PKG_VERSION_PRE")).unwrap_or_default(),
        ..Version::new(MAJOR, MINOR, PATCH)
    }
}

/// Versions from `min` to `max`, both included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SemverRange {
    /// The oldest version in the range.
    pub min: Version,
    /// The newest version in the range.
    pub max: Version,
}

impl SemverRange {
    /// Makes the range from `min` to `max`, both included; it is empty if they are the wrong way round.
    #[must_use]
    pub fn new(min: Version, max: Version) -> Self {
        Self { min, max }
    }

    /// Whether `version` lies in the range.
    #[must_use]
    pub fn contains(&self, version: &Version) -> bool {
        (&self.min..=&self.max).contains(&version)
    }

    /// What this build can replay: everything up to itself.
    #[must_use]
    pub fn default_for_current_build() -> Self {
        Self::new(Version::new(0, 0, 0), current_build_version())
    }
}

/// Parses at compile time, so that there is nothing left to fail at run time.
const fn number(digits: &str) -> u64 {
    match u64::from_str_radix(digits, 10) {
        Ok(number) => number,
        Err(_) => panic!("a part of the package version is not a number"),
    }
}
