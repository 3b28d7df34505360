//! The PostgreSQL server that tests share: installed if it is missing, started around them, and looked at afterwards.
//!
//! The server is of this run alone and is gone with it, however that ends; runs beside each other do not meet. What tests do
//! with its address is in `abide-throwaway`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use abide_throwaway::{Server, Settings, VARIABLE};
use anyhow::Context;

use crate::workspace::Workspace;

mod install;
mod verdict;

pub(crate) use install::ensure;

/// The server, while it runs.
#[derive(Debug)]
pub(crate) struct Postgres {
    server: Server,
    log: PathBuf,
}

/// Installs PostgreSQL if need be, and runs tests beside a server. They fail if the server has something to complain of.
pub(crate) fn beside<T>(
    workspace: &Workspace,
    tests: impl FnOnce(&Postgres) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    ensure()?;
    let server = Server::start_with(&Settings::common()).context("there is no server for the tests")?;
    println!("PostgreSQL {} runs beside the tests", server.version().major());
    let postgres = Postgres { server, log: workspace.target_dir().join("postgres.log") };
    let outcome = tests(&postgres).and_then(|value| verdict::nothing_wrong(&postgres.server).map(|()| value));
    outcome.with_context(|| postgres.keep_log())
}

impl Postgres {
    /// Tells the tests where the server is.
    pub(crate) fn lend<'command>(&self, command: &'command mut Command) -> &'command mut Command {
        command.env(VARIABLE, self.server.url())
    }

    /// The sentence that says where it is.
    fn keep_log(&self) -> String {
        let kept = self.server.log().and_then(|text| fs::write(&self.log, text));
        match kept {
            Ok(()) => format!("the log of PostgreSQL is in {}", self.log.display()),
            Err(error) => format!("the log of PostgreSQL is lost: {error}"),
        }
    }
}
