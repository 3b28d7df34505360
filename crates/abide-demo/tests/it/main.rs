//! The demo, run as people run it: into a pipe, on a terminal, interrupted, with wrong arguments.
//!
//! Every test has a folder for temporary files of its own, and looks that it is empty afterwards and that no process is left.

mod arguments;
mod interrupted;
mod lines;
mod places;
mod support;
#[cfg(target_os = "linux")]
mod terminal;
