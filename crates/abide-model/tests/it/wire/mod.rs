//! The JSON of events and work items, to the byte.

mod decoding;
mod events;
mod samples;
mod work_items;

use std::collections::BTreeSet;

use expect_test::Expect;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Compares the JSON of the values, one a line, with the frozen text.
fn check_json<T: Serialize>(values: &[T], expected: &Expect) {
    let lines: Vec<String> = values.iter().map(|value| serde_json::to_string(value).unwrap()).collect();
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

/// The variants that a type can be read from, as its own error message lists them.
///
/// Asking the type itself is what makes a forgotten variant fail the tests.
fn variants_of<T: DeserializeOwned>(text_with_an_unknown_variant: &str) -> BTreeSet<String> {
    let Err(error) = serde_json::from_str::<T>(text_with_an_unknown_variant) else {
        panic!("the variant is known after all");
    };
    let message = error.to_string();
    let (_, list) = message.split_once("expected one of ").expect("the message lists the variants");
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}
