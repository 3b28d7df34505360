//! A PostgreSQL server that is gone when its owner is.
//!
//! Two kinds of tests need one. Most share the server that `cargo xtask test` starts around them: [`shared`] is its address.
//! Tests that stop, crash or freeze a server have [one of their own](own), which nobody else notices. Where there is no
//! PostgreSQL, both say so once and the test is skipped; under `cargo xtask test` nothing is skipped.
//!
//! Start at [`Server`]. It is a process (`keeper.rs`) that stands between the owner and Debian's `pg_virtualenv`, and ends when its
//! standard input does: when the [`Server`] is dropped, and when its owner is killed in any way. `cargo run -p abide-throwaway`
//! gives a server to a person.
//!
//! Deliberately absent: a client (tests have theirs), other systems than those with Debian's tools, and an async runtime:
//! every call here blocks.

mod at_hand;
mod error;
mod installed;
mod keeper;
mod port;
mod server;
mod settings;

pub use at_hand::{VARIABLE, installed, own, shared};
pub use error::{ControlError, StartError};
pub use installed::{OLDEST, Version};
pub use server::{Mode, Server};
pub use settings::Settings;
