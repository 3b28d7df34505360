//! A server ends with its owner, however that ends.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use abide_throwaway::installed;

use crate::support::{answers, is_gone, until};

/// The program of this crate, which holds a server.
struct Owner {
    process: Child,
    url: String,
    folder: PathBuf,
}

impl Owner {
    /// In a process group of its own, as a shell would start it. `None` where there is no PostgreSQL.
    fn start() -> Option<Self> {
        installed().unwrap()?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_abide-throwaway"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut process = command.spawn().unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let mut line = || lines.next().expect("the program ended early").unwrap();
        let (url, folder) = (line(), PathBuf::from(line()));
        assert!(answers(&url));
        Some(Self { process, url, folder })
    }

    fn signal_group(&self, signal: &str) {
        let group = format!("-{}", self.process.id());
        assert!(Command::new("kill").args([signal, "--", &group]).status().unwrap().success());
    }

    fn sees_its_server_go(mut self) {
        self.process.wait().unwrap();
        until("the server to be gone", || is_gone(&self.url, &self.folder));
    }
}

#[test]
fn the_server_of_an_owner_that_is_killed_is_gone() {
    let Some(mut owner) = Owner::start() else { return };
    owner.process.kill().unwrap();
    owner.sees_its_server_go();
}

#[test]
fn the_server_of_an_owner_that_is_interrupted_at_the_terminal_is_gone() {
    let Some(owner) = Owner::start() else { return };
    owner.signal_group("-INT");
    owner.sees_its_server_go();
}
