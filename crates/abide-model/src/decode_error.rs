//! The text of an error about a value that cannot be decoded.
//!
//! Such an error names what was read, the type the reader expects, and the position, such as ``result of
//! activity 'Charge' is not a `Receipt`: missing field `id` at line 1 column 14``. It never repeats the
//! value: errors are logged and shown to people who may not see payloads. serde quotes the value in some of
//! its messages, so those are rewritten here.
//!
//! Deliberately absent: a check of messages that come from a type's own `Deserialize` code. What such a
//! message says is the choice of that type's author.

use std::fmt::Display;

use serde_json::Error;

/// Returns the text of an error about `what`, which was to be decoded as a `T`.
///
/// ```
/// use abide_model::codec::decode;
/// use abide_model::decode_error::not_a;
///
/// let error = decode::<u32>("[1]").unwrap_err();
/// let text = not_a::<u32>(&"result of activity 'Count'", &error);
/// assert_eq!(
///     text,
///     "result of activity 'Count' is not a `u32`: invalid type: sequence, expected u32 at line 1 column 0"
/// );
/// ```
#[must_use]
pub fn not_a<T: ?Sized>(what: &dyn Display, error: &Error) -> String {
    format!("{what} is not a `{}`: {}", short_type_name::<T>(), without_payload(error))
}

/// Returns the text of an error about `what`, a `T` that has no JSON form.
#[must_use]
pub fn not_encodable<T: ?Sized>(what: &dyn Display, error: &Error) -> String {
    format!("{what}, a `{}`, cannot be encoded: {error}", short_type_name::<T>())
}

/// Returns serde's message with its position, without the value that serde quotes.
#[must_use]
pub fn without_payload(error: &Error) -> String {
    let text = error.to_string();
    let position = match error.line() {
        0 => String::new(),
        line => format!(" at line {line} column {}", error.column()),
    };
    let message = text.strip_suffix(&position).unwrap_or(&text);
    format!("{}{position}", redacted(message))
}

/// Replaces a value that serde quotes with its kind. The quoted value may contain the words that follow it,
/// so the last occurrence of those is where it ends.
fn redacted(message: &str) -> String {
    for complaint in ["invalid type: ", "invalid value: "] {
        if let Some(rest) = message.strip_prefix(complaint)
            && let Some((value, expected)) = rest.rsplit_once(", expected ")
        {
            return format!("{complaint}{}, expected {expected}", kind_of(value));
        }
    }
    for complaint in ["unknown variant", "unknown field"] {
        if let Some(rest) = message.strip_prefix(complaint)
            && rest.starts_with(" `")
        {
            let allowed = ["`, expected ", "`, there are no "]
                .into_iter()
                .filter_map(|follows| rest.rfind(follows))
                .max()
                .and_then(|end| rest.get(end.saturating_add(1)..));
            return format!("{complaint}{}", allowed.unwrap_or_default());
        }
    }
    message.to_owned()
}

/// The kind of a value in serde's words: what comes before the quoted value.
fn kind_of(value: &str) -> &str {
    let end = value.find(['`', '"']).unwrap_or(value.len());
    value.get(..end).unwrap_or_default().trim_end()
}

/// Returns the name of a type without the paths of the modules it is in: `Vec<Receipt>`.
#[must_use]
pub fn short_type_name<T: ?Sized>() -> String {
    without_paths(std::any::type_name::<T>())
}

fn without_paths(name: &str) -> String {
    let mut short = String::with_capacity(name.len());
    // Where the segment that is being written began: `::` discards it.
    let mut segment = 0;
    let mut rest = name;
    while let Some(character) = rest.chars().next() {
        if let Some(behind) = rest.strip_prefix("::") {
            short.truncate(segment);
            rest = behind;
            continue;
        }
        short.push(character);
        if !(character.is_alphanumeric() || character == '_') {
            segment = short.len();
        }
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_names_are_shown_without_paths() {
        assert_eq!(without_paths("my_app::orders::Receipt"), "Receipt");
        assert_eq!(without_paths("alloc::vec::Vec<my_app::Receipt>"), "Vec<Receipt>");
        assert_eq!(without_paths("(u32, core::option::Option<a::b::C>)"), "(u32, Option<C>)");
        assert_eq!(without_paths("&[serde_json::value::Value; 3]"), "&[Value; 3]");
        assert_eq!(without_paths("u32"), "u32");
    }
}
