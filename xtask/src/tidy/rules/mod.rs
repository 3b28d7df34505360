//! The rules, one file each.

use super::tree::Tree;
use super::violation::Violation;

pub(crate) mod transitive_dependencies;

mod ambient;
mod clippy_settings;
mod direct_dependencies;
mod dropped_calls;
mod file_length;
mod function_length;
mod leftovers;
mod linked_docs;
mod module_docs;
mod untested_targets;

/// Rules that need nothing but the files.
pub(crate) const OF_THE_TREE: &[fn(&Tree) -> Vec<Violation>] = &[
    unreadable_files,
    file_length::check,
    function_length::check,
    module_docs::check,
    dropped_calls::check,
    leftovers::check,
    ambient::check,
    direct_dependencies::check,
    clippy_settings::check,
    untested_targets::check,
    linked_docs::check,
];

/// A file that could not be parsed is seen by no other rule, so it must not pass in silence.
fn unreadable_files(tree: &Tree) -> Vec<Violation> {
    tree.unreadable.clone()
}
