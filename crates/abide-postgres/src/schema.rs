//! The schema a store lives in: its name, and every statement with that name in it.

use std::fmt;

/// The name of a schema. Checked, because it becomes part of statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Schema(String);

/// Where a store lives if nobody says otherwise.
pub(crate) const DEFAULT_SCHEMA: &str = "abide";

/// The channel of its notices has a longer name, and PostgreSQL cuts names at 63 bytes.
const LONGEST_NAME: usize = 50;

/// A text that cannot be the name of a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{name}' cannot be the name of a schema: {reason}")]
pub struct InvalidSchema {
    /// The text.
    pub name: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl Schema {
    pub(crate) fn new(name: &str) -> Result<Self, InvalidSchema> {
        let invalid = |reason| Err(InvalidSchema { name: name.to_owned(), reason });
        let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
        if name.is_empty() || name.len() > LONGEST_NAME {
            return invalid("it must have 1 to 50 characters");
        }
        if !name.chars().all(is_word) || name.starts_with(|first: char| first.is_ascii_digit()) {
            return invalid(
                "it must consist of ASCII letters, digits and underscores, and not begin with a digit",
            );
        }
        if name.starts_with("pg_") {
            return invalid("names that begin with `pg_` belong to PostgreSQL");
        }
        Ok(Self(name.to_owned()))
    }

    pub(crate) fn name(&self) -> &str {
        &self.0
    }

    /// As a statement names it.
    pub(crate) fn quoted(&self) -> String {
        format!("\"{}\"", self.0)
    }

    /// The channel on which its nodes tell each other what is new.
    pub(crate) fn channel(&self) -> String {
        format!("abide:{}", self.0)
    }

    /// A statement, whose text says `abide.`, for this schema.
    pub(crate) fn qualify(&self, text: &str) -> String {
        text.replace("abide.", &format!("{}.", self.quoted()))
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_need_no_thought_are_taken() {
        for name in ["abide", "Abide_2", "_x", "public"] {
            let schema = Schema::new(name).unwrap();
            assert_eq!(schema.qualify("SELECT abide.now()"), format!("SELECT \"{name}\".now()"));
        }
    }

    #[test]
    fn others_are_refused_with_a_reason() {
        let long = "x".repeat(51);
        for name in ["", "a-b", "a b", "1a", "a\"b", "a;drop", "ü", "pg_temp", "a.b", &long] {
            assert!(
                Schema::new(name).unwrap_err().to_string().contains("cannot be the name of a schema"),
                "{name}"
            );
        }
    }
}
