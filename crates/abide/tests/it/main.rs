//! The facade as its users see it.
//!
//! `duroxide_paths` holds the API against the crate whose users come here; `own_store` runs a store that implements what
//! that crate required and nothing more; `living` is what has to be run to be believed; `stores_with_a_runtime` is the part
//! of the suite that needs a runtime. `readme`, `examples` and `pages` are what users read first, tried as it stands. `import`
//! continues what duroxide has recorded.
//! `dropped_mail` is a warning of every store.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should say where; clippy exempts the tests but not what they call"
)]

// The name under which programs written for that crate know this one, and nothing else in this test does.
extern crate abide as duroxide;
// The name by which the program of the sample files knows the crate that runs it.
extern crate abide as durable;

#[cfg(feature = "postgres")]
mod database;
mod describing;
mod dropped_mail;
mod duroxide_paths;
mod examples;
mod import;
mod living;
mod own_store;
mod pages;
mod readme;
#[cfg(feature = "provider-test")]
mod stores_with_a_runtime;
mod upgrade;
