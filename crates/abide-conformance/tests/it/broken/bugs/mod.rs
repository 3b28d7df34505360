//! The bugs, by subject.

use super::planted::Planted;

/// All of them.
pub(super) fn all() -> Vec<&'static Planted> {
    let subjects: [&[Planted]; 0] = [];
    subjects.into_iter().flatten().collect()
}
