//! The engine compiles where there is neither clock, thread, file nor socket.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use super::step::{Conclusion, quietly};
use crate::workspace::Workspace;

const TARGET: &str = "wasm32-unknown-unknown";

pub(crate) fn check(workspace: &Workspace) -> anyhow::Result<Conclusion> {
    if !is_installed() {
        return Ok(Conclusion::LeftOut(format!(
            "the target {TARGET} is not installed (`rustup target add {TARGET}`); \
             tidy's rules `linked-into-engine` and `ambient` stand in for it"
        )));
    }
    quietly(&mut workspace.cargo(&["check", "--package", "abide-engine", "--target", TARGET]))
}

/// Asks the compiler and not rustup, which a distribution's toolchain lacks.
fn is_installed() -> bool {
    let compiler = env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let answer = Command::new(compiler).args(["--print", "target-libdir", "--target", TARGET]).output();
    answer
        .is_ok_and(|it| it.status.success() && Path::new(String::from_utf8_lossy(&it.stdout).trim()).is_dir())
}
