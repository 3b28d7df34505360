//! This test binary again, as a child process that can be killed.
//!
//! A child is an ignored test of this binary. What it needs to know comes through its environment.

use std::process::{Child, Command, Stdio};

const ROLE: &str = "ABIDE_CHILD";
const URL: &str = "ABIDE_URL";
const SCHEMA: &str = "ABIDE_SCHEMA";

/// A process that is killed when it goes out of scope.
#[derive(Debug)]
pub(crate) struct Process(Child);

impl Process {
    /// Runs the ignored test of this name, for a schema.
    pub(crate) fn start(test: &str, url: &str, schema: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
        command.env(ROLE, test).env(URL, url).env(SCHEMA, schema);
        // A child that loses its parent ends, because its input does.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

/// The URL and the schema, if this process is the child that the test of this name is for.
pub(crate) fn told(test: &str) -> Option<(String, String)> {
    let is_child = std::env::var(ROLE).is_ok_and(|role| role == test);
    is_child.then(|| (std::env::var(URL).unwrap(), std::env::var(SCHEMA).unwrap()))
}
