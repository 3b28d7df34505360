//! Typed values as text: bare where that is unambiguous, and always back as they went in.

use std::collections::HashMap;

use abide_model::Codec;
use abide_model::codec::{decode, encode};
use abide_model::decode_error::not_a;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::cases::cases;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Shape {
    Dot,
    Circle(u32),
    Label { text: String, size: Option<u8> },
}

fn comes_back<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) {
    let text = encode(value).expect("encodes");
    assert_eq!(&decode::<T>(&text).expect("decodes"), value, "by way of {text:?}");
}

#[test]
fn strings_are_stored_bare() {
    assert_eq!(encode("hello \"world\"\n").unwrap(), "hello \"world\"\n");
    assert_eq!(encode("").unwrap(), "");
    assert_eq!(encode(&Some("x")).unwrap(), "x");
}

#[test]
fn strings_that_read_as_json_keep_their_quotes() {
    assert_eq!(encode("5").unwrap(), r#""5""#);
    assert_eq!(encode(" 5").unwrap(), r#"" 5""#);
    assert_eq!(encode("null").unwrap(), r#""null""#);
    assert_eq!(encode("[1]").unwrap(), r#""[1]""#);
    assert_eq!(encode("\"x\"").unwrap(), r#""\"x\"""#);
}

#[test]
fn unit_variants_are_stored_bare() {
    assert_eq!(encode(&Shape::Dot).unwrap(), "Dot");
    assert_eq!(decode::<Shape>("Dot").unwrap(), Shape::Dot);
    assert_eq!(decode::<Shape>("\"Dot\"").unwrap(), Shape::Dot);
}

#[test]
fn everything_else_is_stored_as_compact_json() {
    assert_eq!(encode(&5).unwrap(), "5");
    assert_eq!(encode(&()).unwrap(), "null");
    assert_eq!(encode(&(1, "a", true)).unwrap(), r#"[1,"a",true]"#);
    assert_eq!(encode(&Shape::Circle(3)).unwrap(), r#"{"Circle":3}"#);
}

#[test]
fn the_keys_of_objects_are_sorted_so_that_hash_maps_replay() {
    let map: HashMap<String, usize> = ["d", "b", "a", "e", "c"].map(|key| (key.to_owned(), 1)).into();
    for codec in [Codec::Lossless, Codec::Reference] {
        assert_eq!(codec.encode(&map).unwrap(), r#"{"a":1,"b":1,"c":1,"d":1,"e":1}"#);
        let label = Shape::Label { text: "t".into(), size: None };
        assert_eq!(codec.encode(&label).unwrap(), r#"{"Label":{"size":null,"text":"t"}}"#);
    }
}

#[test]
fn the_reference_stores_every_string_bare() {
    for text in ["hello", "5", "null", "\"x\"", ""] {
        assert_eq!(Codec::Reference.encode(text).unwrap(), text);
    }
    assert_eq!(Codec::Reference.encode(&5).unwrap(), "5");
}

#[test]
fn texts_of_the_reference_are_read_as_it_read_them() {
    assert_eq!(decode::<String>("5").unwrap(), "5");
    assert_eq!(decode::<String>("1e999").unwrap(), "1e999");
    assert_eq!(decode::<String>("[1]").unwrap(), "[1]");
    assert_eq!(decode::<Option<String>>("null").unwrap(), None);
    assert_eq!(decode::<Option<String>>("x").unwrap(), Some("x".into()));
    assert_eq!(decode::<Value>("5").unwrap(), json!(5));
}

#[test]
fn awkward_strings_come_back() {
    let nested = "[".repeat(300) + &"]".repeat(300);
    for text in [
        "",
        "null",
        "true",
        "\"x\"",
        "\"",
        "5",
        " 5",
        "5 ",
        "1e999",
        "-",
        "[",
        "{}",
        "\u{43a}\u{1f511}",
        "\u{feff}5",
        "\u{0}",
        r#""\ud800""#,
        &nested,
    ] {
        comes_back(&text.to_owned());
        comes_back(&Some(text.to_owned()));
        comes_back(&Value::String(text.to_owned()));
    }
    comes_back(&None::<String>);
}

#[test]
fn a_value_that_cannot_be_read_reports_why_it_is_not_json_for_the_type() {
    let error = decode::<u32>("[1]").unwrap_err().to_string();
    assert!(error.contains("invalid type: sequence, expected u32"), "{error}");
    let error = decode::<(u32, u32)>("hello").unwrap_err().to_string();
    assert!(error.contains("expected value"), "{error}");
}

#[test]
fn a_decode_error_names_what_was_read_the_type_and_the_position_but_not_the_value() {
    let told = |text: &str| {
        let error = decode::<Shape>(text).unwrap_err();
        not_a::<Shape>(&"result of activity 'Draw'", &error)
    };
    let cases = [
        (r#"{"Label":{"size":1}}"#, "missing field `text` at line 1 column 19"),
        (r#"{"Circle":"hunter2"}"#, "invalid type: string, expected u32 at line 1 column 19"),
        (r#"{"Circle":99999999999}"#, "invalid value: integer, expected u32 at line 1 column 21"),
        (r#"{"Circle":null}"#, "invalid type: null, expected u32 at line 1 column 14"),
        (r#"{"Square":1}"#, "unknown variant, expected one of `Dot`, `Circle`, `Label` at line 1 column 9"),
        (r#""{\"Circle\":true}""#, "invalid type: boolean, expected u32 at line 1 column 14"),
        ("hunter2", "expected value at line 1 column 1"),
    ];
    for (text, problem) in cases {
        assert_eq!(told(text), format!("result of activity 'Draw' is not a `Shape`: {problem}"));
    }
}

#[test]
fn a_structure_that_cannot_be_read_is_not_mistaken_for_a_string() {
    let too_deep = "[".repeat(200) + &"]".repeat(200);
    assert!(decode::<Value>(&too_deep).unwrap_err().to_string().contains("recursion limit"));
    assert_eq!(decode::<String>(&too_deep).unwrap(), too_deep);
}

/// What a program does that encodes a value itself and returns the text from a typed handler.
fn read_through_a_string<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) {
    let text = serde_json::to_string(value).expect("encodes");
    let stored = encode(&text).expect("encodes");
    assert_eq!(decode::<String>(&stored).expect("decodes"), text, "a string that is JSON stays exact");
    assert_eq!(&decode::<T>(&stored).expect("decodes"), value, "by way of {stored:?}");
}

#[test]
fn a_reader_that_accepts_no_string_reads_the_json_inside_one() {
    read_through_a_string(&Shape::Circle(3));
    read_through_a_string(&Shape::Dot);
    read_through_a_string(&(1, "a".to_owned()));
    read_through_a_string(&5);
    read_through_a_string(&vec![true]);
    read_through_a_string(&Some(5));
}

#[test]
fn a_reader_that_accepts_a_string_gets_the_string() {
    let stored = encode(r#"{"Circle":3}"#).unwrap();
    assert_eq!(decode::<Value>(&stored).unwrap(), json!(r#"{"Circle":3}"#));
    assert_eq!(decode::<Option<String>>(&stored).unwrap().unwrap(), r#"{"Circle":3}"#);
}

#[test]
fn json_inside_a_string_inside_a_string_is_not_read() {
    let twice = encode(&serde_json::to_string(r#"{"Circle":3}"#).unwrap()).unwrap();
    decode::<Shape>(&twice).unwrap_err();
}

#[test]
fn a_value_without_a_json_form_is_an_error() {
    let map: HashMap<(u8, u8), u8> = [((1, 2), 3)].into();
    assert_eq!(encode(&map).unwrap_err().to_string(), "key must be a string");
}

/// Text that is likely to be JSON, or nearly.
fn json_like() -> impl Strategy<Value = String> {
    let fragment = prop::sample::select(vec![
        "[", "]", "{", "}", "\"", "\\", ":", ",", " ", "\n", "0", "-1", "e9", ".5", "null", "true", "fals",
        "\\u00e9", "x",
    ]);
    prop_oneof![
        prop::collection::vec(fragment, 0..8).prop_map(|parts| parts.concat()),
        any_value().prop_map(|value| value.to_string()),
        any::<String>(),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(any::<String>(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        Just(Shape::Dot),
        any::<u32>().prop_map(Shape::Circle),
        (json_like(), any::<Option<u8>>()).prop_map(|(text, size)| Shape::Label { text, size }),
    ]
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_string_comes_back(text in json_like()) {
        comes_back(&text);
        comes_back(&Some(text.clone()));
        comes_back(&Value::String(text));
    }

    #[test]
    fn any_value_comes_back(value in any_value(), shape in any_shape(), number in any::<f64>(), pair in any::<(String, Option<i8>)>()) {
        comes_back(&value);
        comes_back(&shape);
        comes_back(&number);
        comes_back(&pair);
        comes_back(&Some(shape));
    }

    #[test]
    fn any_value_is_read_through_a_string(
        shape in any_shape(), number in any::<i64>(), list in prop::collection::vec(any::<bool>(), 0..4),
        pair in (json_like(), any::<Option<i8>>()),
    ) {
        read_through_a_string(&shape);
        read_through_a_string(&number);
        read_through_a_string(&list);
        read_through_a_string(&pair);
    }

    #[test]
    fn a_decode_error_never_holds_the_value(secret in "[a-z]{3}[0-9]{5}[^\\p{C}]{0,12}", number in 1_000_000_000_u64..) {
        let number = number.to_string();
        for text in [
            json!(secret).to_string(), secret.clone(), json!({"Circle": secret}).to_string(),
            json!({"Label": {"text": secret, "size": number}}).to_string(), json!({secret.as_str(): 1}).to_string(),
            json!({"Circle": format!("{secret}, expected `{secret}`, expected {secret}")}).to_string(),
            format!(r#"{{"Circle":{number}000}}"#), json!(json!({"Circle": secret}).to_string()).to_string(),
        ] {
            let Err(error) = decode::<Shape>(&text) else { continue };
            let told = not_a::<Shape>(&"result of activity 'Draw'", &error);
            prop_assert!(told.starts_with("result of activity 'Draw' is not a `Shape`: "), "{}", told);
            prop_assert!(!told.contains(secret.as_str()) && !told.contains(&number), "{}", told);
        }
    }

    #[test]
    fn any_string_of_the_reference_is_read_as_a_string(text in "[^\"\\s].*") {
        // The reference itself loses the quotes of a string that is a JSON string; nothing can bring them back.
        prop_assert_eq!(decode::<String>(&Codec::Reference.encode(&text).unwrap()).unwrap(), text);
    }
}
