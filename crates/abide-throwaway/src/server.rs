//! The server, as its owner sees it.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use crate::error::{ControlError, StartError};
use crate::installed::Version;
use crate::keeper::{Keeper, Site};
use crate::port::Port;
use crate::settings::Settings;

/// A PostgreSQL server of one's own. It is stopped and its files are removed when this is dropped, and when the process
/// that holds it ends in any way.
///
/// It keeps its address for life, whatever happens to it. Calls block for a second or so.
#[derive(Debug)]
pub struct Server {
    // In the order in which they go: the port is free when the server is gone.
    keeper: Mutex<Keeper>,
    site: Site,
    version: Version,
    _port: Port,
}

/// How a server is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// In good order: transactions are rolled back, connections are closed, everything is written.
    Fast,
    /// As if it were killed: it recovers from its log when it starts again.
    Immediate,
}

impl Mode {
    const fn word(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Immediate => "immediate",
        }
    }
}

impl Server {
    /// One that keeps what it acknowledged ([`Settings::durable`]), of the newest version installed.
    ///
    /// # Errors
    ///
    /// If PostgreSQL is [not installed](StartError::is_absence), or did not start.
    pub fn start() -> Result<Self, StartError> {
        Self::start_with(&Settings::durable())
    }

    /// One that is configured like this.
    ///
    /// # Errors
    ///
    /// If PostgreSQL is [not installed](StartError::is_absence), or did not start.
    pub fn start_with(settings: &Settings) -> Result<Self, StartError> {
        let version = Version::newest()?;
        let settings = settings.clone().with_statistics(&version);
        let port = Port::reserve().ok_or(StartError::NoPort)?;
        let (keeper, site) = Keeper::start(&version, &settings, &port)?;
        Ok(Self { keeper: Mutex::new(keeper), site, version, _port: port })
    }

    /// Of its first database, for a user who may do everything.
    #[must_use]
    pub fn url(&self) -> String {
        let Site { port, user, password, database, .. } = &self.site;
        format!("postgres://{user}:{password}@127.0.0.1:{port}/{database}")
    }

    /// Which PostgreSQL it is.
    #[must_use]
    pub const fn version(&self) -> &Version {
        &self.version
    }

    /// Where all of its files are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.site.folder
    }

    /// What it logged so far. An error is on a line with its code: a deadlock with ` 40P01 `.
    ///
    /// # Errors
    ///
    /// If its log cannot be read.
    pub fn log(&self) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(&self.site.log)?).into_owned())
    }

    /// Stops it and starts it again. It answers when this returns.
    ///
    /// # Errors
    ///
    /// If it does not run, or not any more.
    pub fn restart(&self, mode: Mode) -> Result<(), ControlError> {
        self.ask(&format!("restart {}", mode.word()))
    }

    /// Stops it. Nobody listens at its address until it [starts again](Self::start_again).
    ///
    /// # Errors
    ///
    /// If it does not run.
    pub fn stop(&self, mode: Mode) -> Result<(), ControlError> {
        self.ask(&format!("stop {}", mode.word()))
    }

    /// Starts it after a [stop](Self::stop). It answers when this returns.
    ///
    /// # Errors
    ///
    /// If it runs already, or cannot.
    pub fn start_again(&self) -> Result<(), ControlError> {
        self.ask("start")
    }

    /// Freezes all of its processes: connections stay, and nothing answers until it [thaws](Self::thaw).
    ///
    /// # Errors
    ///
    /// If whoever keeps the server is gone.
    pub fn freeze(&self) -> Result<(), ControlError> {
        self.ask("signal STOP")
    }

    /// Ends a [freeze](Self::freeze). So does a stop.
    ///
    /// # Errors
    ///
    /// If whoever keeps the server is gone.
    pub fn thaw(&self) -> Result<(), ControlError> {
        self.ask("signal CONT")
    }

    fn ask(&self, request: &str) -> Result<(), ControlError> {
        // A keeper is as good as before if a thread that talked to it panicked elsewhere.
        self.keeper.lock().unwrap_or_else(PoisonError::into_inner).ask(request)
    }
}
