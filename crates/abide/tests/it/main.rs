//! The facade as its users see it.
//!
//! `duroxide_paths` holds the API against the crate whose users come here; `own_store` runs a store that implements what
//! that crate required and nothing more; `living` is what has to be run to be believed.

// The name under which programs written for that crate know this one, and nothing else in this test does.
extern crate abide as duroxide;

mod duroxide_paths;
mod examples;
mod living;
mod own_store;
mod pages;
mod readme;
