//! Checks ids and names before they are stored.
//!
//! Ids and names are keys of indexes, whose entries are limited in some stores and not in others. One rule
//! for all of them lets a program move from one store to another. It is checked where an id or name enters:
//! by the client, by the registry, and by the engine when an orchestration asks for something. What is
//! recorded already is never checked again.
//!
//! Deliberately absent: a set of allowed characters. Ids are the user's own keys, in any script.

use crate::is_reserved_root_id;
use crate::limits::{MAX_GENERATED_ID_BYTES, MAX_INSTANCE_ID_BYTES, MAX_NAME_BYTES};

/// Why an id or a name cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidName {
    /// It is empty.
    #[error("{what} is empty; it must have at least one character")]
    Empty {
        /// What is named, such as `instance id`.
        what: &'static str,
    },
    /// It is longer than allowed.
    #[error("{what} beginning with {beginning:?} has {bytes} bytes; the limit is {limit}")]
    TooLong {
        /// What is named, such as `instance id`.
        what: &'static str,
        /// Its first characters.
        beginning: String,
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// It is not the version of a handler.
    #[error("'{beginning}' is not a version such as 1.2.0: {problem}")]
    NotAVersion {
        /// Its first characters.
        beginning: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// Checks the id of an instance: one byte at least, [`MAX_INSTANCE_ID_BYTES`] at most. The id of a child that
/// was named after its parent grows with the depth of the tree and may have [`MAX_GENERATED_ID_BYTES`].
///
/// # Errors
///
/// [`InvalidName`] if it is empty or too long.
pub fn check_instance_id(id: &str) -> Result<(), InvalidName> {
    let limit = if is_reserved_root_id(id) { MAX_GENERATED_ID_BYTES } else { MAX_INSTANCE_ID_BYTES };
    check("instance id", id, limit)
}

/// Checks a name: one byte at least, [`MAX_NAME_BYTES`] at most. `what` is what has it, such as `activity
/// name`.
///
/// # Errors
///
/// [`InvalidName`] if it is empty or too long.
pub fn check_name(what: &'static str, name: &str) -> Result<(), InvalidName> {
    check(what, name, MAX_NAME_BYTES)
}

/// Checks an id of the code's own, such as a key or a session. It may be empty.
///
/// # Errors
///
/// [`InvalidName`] if it is longer than [`MAX_INSTANCE_ID_BYTES`].
pub fn check_key(what: &'static str, key: &str) -> Result<(), InvalidName> {
    if key.is_empty() { Ok(()) } else { check(what, key, MAX_INSTANCE_ID_BYTES) }
}

/// Checks the version of a handler: no handler can be registered under one that is not a semantic version.
///
/// # Errors
///
/// [`InvalidName::NotAVersion`].
pub fn check_version(version: &str) -> Result<(), InvalidName> {
    match semver::Version::parse(version) {
        Ok(_) => Ok(()),
        Err(problem) => Err(InvalidName::NotAVersion {
            beginning: version.chars().take(32).collect(),
            problem: problem.to_string(),
        }),
    }
}

fn check(what: &'static str, text: &str, limit: usize) -> Result<(), InvalidName> {
    let bytes = text.len();
    if bytes == 0 {
        return Err(InvalidName::Empty { what });
    }
    if bytes > limit {
        return Err(InvalidName::TooLong { what, beginning: text.chars().take(32).collect(), bytes, limit });
    }
    Ok(())
}
