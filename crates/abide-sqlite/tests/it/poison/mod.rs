//! One row that cannot be read harms nobody else.
//!
//! Rows are damaged behind the store's back, in every way that a row can be damaged; whatever is not damaged must be
//! served as if nothing had happened.

mod histories;
mod messages;
mod rows;
mod work;

use std::fmt::Write as _;

use crate::support::store::Store;

/// What may stand where an item or a history should, and how to call it.
const DAMAGES: &[(&str, &[u8])] = &[
    ("nothing", b""),
    ("no JSON", b"\x00\x01 what?"),
    ("JSON that breaks off", b"{\"ExternalRaised\":{\"instance\":\"a\",\"na"),
    ("an unknown type", b"{\"SomethingNew\":{\"instance\":\"a\"}}"),
    ("a list of unknown types", b"[{\"type\":\"SomethingNew\"}]"),
    ("another shape", b"[1,2,3]"),
    ("a null", b"null"),
    ("invalid UTF-8", b"{\"ExternalRaised\":{\"instance\":\"a\",\"name\":\"\xff\xfe\",\"data\":\"\"}}"),
    ("a field of another type", b"{\"ExternalRaised\":{\"instance\":7,\"name\":\"go\",\"data\":\"\"}}"),
];

/// Runs a test once for each way to damage a row.
fn each_damage(test: impl Fn(&Store, &[u8])) {
    for (name, bytes) in DAMAGES {
        println!("damaged by {name}");
        test(&Store::in_memory(), bytes);
    }
    println!("nested too deeply");
    test(&Store::in_memory(), "[".repeat(100_000).as_bytes());
    println!("on a file");
    test(&Store::on_file(), b"{");
}

/// Puts bytes where a text should be.
fn damage(store: &Store, table: &str, column: &str, condition: &str, bytes: &[u8]) {
    let mut hex = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        write!(hex, "{byte:02x}").unwrap();
    }
    store.damage(&format!("UPDATE {table} SET {column} = CAST(x'{hex}' AS TEXT) WHERE {condition}"));
}
