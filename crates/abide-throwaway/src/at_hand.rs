//! What a test does that needs PostgreSQL: it takes what is at hand, or says that it is skipped.
//!
//! `cargo xtask test` starts a server and sets [`VARIABLE`] for all tests. So where it is set, a server that does not answer or
//! cannot be started is a failure, never a reason to skip.

use std::env;
use std::io::{self, Write};
use std::sync::Once;

use crate::error::StartError;
use crate::installed::Version;
use crate::server::Server;
use crate::settings::Settings;

/// The environment variable with the URL of the server that the tests share.
pub const VARIABLE: &str = "ABIDE_TEST_POSTGRES";

/// The URL of the server that the tests share. `None` if there is none: then the test is to be skipped, and that is said.
///
/// Whoever uses it shares it: with a database of one's own, never stopped, and never made to deadlock, because
/// `cargo xtask test` takes any deadlock for a mistake. For all of that there is a server of [one's own](own).
#[must_use]
pub fn shared() -> Option<String> {
    let url = variable();
    if url.is_none() {
        say_skipped();
    }
    url
}

/// A server of one's own. `None` if PostgreSQL is not installed: then the test is to be skipped, and that is said.
///
/// # Errors
///
/// If the server did not start; under `cargo xtask test` also if PostgreSQL is not installed.
pub fn own(settings: &Settings) -> Result<Option<Server>, StartError> {
    installed()?.map(|_| Server::start_with(settings)).transpose()
}

/// The PostgreSQL that [`own`] starts. `None` if it is not installed: then the test is to be skipped, and that is said.
///
/// # Errors
///
/// Under `cargo xtask test`, if it is not installed.
pub fn installed() -> Result<Option<Version>, StartError> {
    match Version::newest() {
        Err(absence) if absence.is_absence() && variable().is_none() => {
            say_skipped();
            Ok(None)
        }
        found => found.map(Some),
    }
}

fn variable() -> Option<String> {
    env::var(VARIABLE).ok().filter(|url| !url.is_empty())
}

/// Once for a whole test binary, and not by `eprintln!`: nobody would see it, because the output of tests that pass is kept back.
fn say_skipped() {
    static SAID: Once = Once::new();
    let line = b"skipped: no PostgreSQL at hand; `cargo xtask test` starts one\n";
    // Without a standard error there is nobody to tell.
    SAID.call_once(|| io::stderr().write_all(line).unwrap_or_default());
}
