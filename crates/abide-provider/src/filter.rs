//! Who may take what: tags of activities, versions of executions.
//!
//! Deliberately absent: sessions, which are not a property of an item but of who holds them.

use std::collections::HashSet;

use abide_model::SemverRange;
use abide_model::limits::MAX_WORKER_TAGS;

/// Which activities a worker takes, by their tag.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TagFilter {
    /// Those without a tag.
    #[default]
    DefaultOnly,
    /// Those with one of these tags.
    Tags(HashSet<String>),
    /// Those without a tag, and those with one of these.
    DefaultAnd(HashSet<String>),
    /// All.
    Any,
    /// None at all.
    None,
}

impl TagFilter {
    /// Takes activities with one of these tags.
    ///
    /// # Panics
    ///
    /// If there is no tag, or more than [`MAX_WORKER_TAGS`] different ones.
    pub fn tags<I, S>(tags: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        let tags = distinct(tags);
        assert!(
            !tags.is_empty(),
            "TagFilter::tags() requires at least one tag; to take activities without one, use \
             TagFilter::default_only()"
        );
        Self::Tags(tags)
    }

    /// Takes activities without a tag, and those with one of these.
    ///
    /// # Panics
    ///
    /// If there is no tag, or more than [`MAX_WORKER_TAGS`] different ones.
    pub fn default_and<I, S>(tags: I) -> Self
    where
        I: IntoIterator<Item = S>,
        S: Into<String>,
    {
        let tags = distinct(tags);
        assert!(
            !tags.is_empty(),
            "TagFilter::default_and() requires at least one tag; to take only activities without one, use \
             TagFilter::default_only()"
        );
        Self::DefaultAnd(tags)
    }

    /// Takes activities without a tag.
    #[must_use]
    pub fn default_only() -> Self {
        Self::DefaultOnly
    }

    /// Takes nothing.
    #[must_use]
    pub fn none() -> Self {
        Self::None
    }

    /// Takes everything.
    #[must_use]
    pub fn any() -> Self {
        Self::Any
    }

    /// Whether an activity with this tag is taken.
    #[must_use]
    pub fn matches(&self, tag: Option<&str>) -> bool {
        match (self, tag) {
            (Self::Any, _) | (Self::DefaultOnly | Self::DefaultAnd(_), None) => true,
            (Self::Tags(tags) | Self::DefaultAnd(tags), Some(tag)) => tags.contains(tag),
            (Self::None, _) | (Self::DefaultOnly, Some(_)) | (Self::Tags(_), None) => false,
        }
    }
}

fn distinct<I, S>(tags: I) -> HashSet<String>
where
    I: IntoIterator<Item = S>,
    S: Into<String>,
{
    let tags: HashSet<String> = tags.into_iter().map(Into::into).collect();
    assert!(
        tags.len() <= MAX_WORKER_TAGS,
        "Worker can subscribe to at most {MAX_WORKER_TAGS} tags, got {}",
        tags.len()
    );
    tags
}

/// Which executions a node can replay, by the version they are pinned to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatcherCapabilityFilter {
    /// A version in any of these ranges can be replayed. Without a range nothing is taken, pinned or not.
    pub supported_duroxide_versions: Vec<SemverRange>,
}

impl DispatcherCapabilityFilter {
    /// Whether an execution pinned to `version` can be replayed.
    #[must_use]
    pub fn is_compatible(&self, version: &semver::Version) -> bool {
        self.supported_duroxide_versions.iter().any(|range| range.contains(version))
    }

    /// What this build can replay.
    #[must_use]
    pub fn default_for_current_build() -> Self {
        Self { supported_duroxide_versions: vec![SemverRange::default_for_current_build()] }
    }
}
