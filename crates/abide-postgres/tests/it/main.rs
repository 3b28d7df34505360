//! The PostgreSQL store under test.
//!
//! Everything here needs a server: `cargo xtask test` starts one. Without one a test says that it is skipped, and passes.

mod conformance;
mod differential;
mod support;
