//! The text form of typed inputs and results.
//!
//! Values are stored as JSON, but for strings, which are stored bare where that is unambiguous: typed and
//! untyped code then agree on the text `hello`, and people read it without quotes. A string whose bare text
//! would itself be JSON, such as `5` or `null`, keeps its quotes, so that every value comes back as it went in.
//!
//! ```
//! use abide_model::codec::{decode, encode};
//!
//! assert_eq!(encode("hello")?, "hello");
//! assert_eq!(encode(&5)?, "5");
//! assert_eq!(encode("5")?, "\"5\"");
//! assert_eq!(decode::<String>(&encode("5")?)?, "5");
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! The keys of objects are sorted, because the text is recorded and compared on replay. The limits are those
//! of JSON: floats that are not finite become `null`, and what is nested deeper than 127 levels can be
//! written but is refused when read.
//!
//! Deliberately absent: a choice of format. Every node that takes up an execution must read it.

use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::error::Category;
use serde_json::{Error, Value};

/// By which rule strings are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// Bare unless the bare text is itself JSON: every value comes back as it went in.
    Lossless,
    /// Always bare, as in executions recorded before 0.2.0: the string `5` comes back as a number if the
    /// reader can take one.
    Reference,
}

impl Codec {
    /// The text of a value.
    ///
    /// # Errors
    ///
    /// If the value has no JSON form, such as a map whose keys are structures or an integer beyond 64 bits.
    pub fn encode<T: Serialize + ?Sized>(self, value: &T) -> Result<String, Error> {
        // Not straight to text: in a tree the keys of an object are sorted, and the entries of a hash map,
        // which come in another order in every process, give the same text whenever the code is replayed.
        let mut tree = serde_json::to_value(value)?;
        match self {
            // Some program linking us may ask for trees that keep the order of insertion.
            Self::Lossless => tree.sort_all_objects(),
            Self::Reference => {}
        }
        Ok(match (self, tree) {
            (Self::Lossless, Value::String(text)) if is_json(&text) => Value::String(text).to_string(),
            (Self::Lossless | Self::Reference, Value::String(text)) => text,
            (Self::Lossless | Self::Reference, tree) => tree.to_string(),
        })
    }
}

/// The text of a value, by the rule of this build.
///
/// # Errors
///
/// If the value has no JSON form, such as a map whose keys are structures or an integer beyond 64 bits.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    Codec::Lossless.encode(value)
}

/// The value of a text, by whichever rule it was stored.
///
/// A `T` that does not accept a string is also read from the text inside a JSON string. Programs return
/// `serde_json::to_string(&receipt)` from a typed handler, whose result is that text as a string, and read a
/// `Receipt` on the other side. A `T` that accepts a string, such as a `String` or a `Value`, gets the
/// string:
///
/// ```
/// use abide_model::codec::{decode, encode};
///
/// let text = serde_json::to_string(&[1, 2])?;
/// let stored = encode(&text)?;
/// assert_eq!(decode::<String>(&stored)?, text);
/// assert_eq!(decode::<[u8; 2]>(&stored)?, [1, 2]);
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
///
/// If the text is none of JSON for a `T`, a `T` when taken as a string, and a JSON string with JSON for a `T`
/// inside. The error says why it is not the first; why it is not the last, if the string holds an array or
/// object.
pub fn decode<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).or_else(|error| {
        if is_unreadable_structure(text, &error) {
            return Err(error);
        }
        let as_string = serde_json::from_value(Value::String(text.to_owned()));
        as_string.or_else(|_| decode_inside_string(text, error))
    })
}

/// Reads a `T` from the text inside a JSON string. One level only: a program that encodes twice decodes once
/// itself.
fn decode_inside_string<T: DeserializeOwned>(text: &str, outer: Error) -> Result<T, Error> {
    if !text.trim_start().starts_with('"') {
        return Err(outer);
    }
    let Ok(inside) = serde_json::from_str::<String>(text) else { return Err(outer) };
    serde_json::from_str(&inside).map_err(|inner| if is_structure(&inside) { inner } else { outer })
}

/// Whether the text is an array or object that the reader wanted, but that is beyond it: nested too deeply, or
/// holding a number that is too large.
///
/// A reader that takes anything would otherwise be given the text of the structure as a string, and nobody would notice.
fn is_unreadable_structure(text: &str, error: &Error) -> bool {
    error.classify() == Category::Syntax && is_structure(text)
}

/// Whether the text is a JSON array or object.
fn is_structure(text: &str) -> bool {
    text.trim_start().starts_with(['[', '{']) && is_json(text)
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}
