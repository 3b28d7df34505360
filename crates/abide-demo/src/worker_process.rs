//! The worker, seen from the shop: started, killed, started again, and stopped in the end.

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::cli::WORKER;
use crate::store::{Choice, VARIABLE};
use crate::time;

/// What goes wrong with a process.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessError {
    #[error("the worker process cannot be started: {0}")]
    Start(io::Error),
    #[error("the worker process cannot be killed: {0}")]
    Kill(io::Error),
    #[error("the worker process ended on its own ({status}). {said}")]
    Ended { status: ExitStatus, said: String },
}

/// The worker of a shop. At most one is running at a time.
#[derive(Debug)]
pub(crate) struct WorkerProcess {
    folder: PathBuf,
    store: Choice,
    running: Option<Child>,
}

impl WorkerProcess {
    pub(crate) fn new(folder: &Path, store: Choice) -> Self {
        Self { folder: folder.to_owned(), store, running: None }
    }

    /// Starts it; gives its number.
    pub(crate) fn start(&mut self) -> Result<u32, ProcessError> {
        let log = self.log_file();
        let log = OpenOptions::new().create(true).append(true).open(log).map_err(ProcessError::Start)?;
        let mut command = Command::new(this_program().map_err(ProcessError::Start)?);
        command.arg(WORKER).arg(&self.folder).env(VARIABLE, self.store.secret());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log);
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt as _;
            // A terminal sends Ctrl-C to everybody in the group of the shop. When the worker stops is for the shop to say.
            command.arg0("abide-demo").process_group(0);
        }
        let child = command.spawn().map_err(ProcessError::Start)?;
        let number = child.id();
        self.running = Some(child);
        Ok(number)
    }

    /// Kills it: SIGKILL, no goodbye.
    pub(crate) fn kill(&mut self) -> Result<(), ProcessError> {
        if let Some(mut child) = self.running.take() {
            child.kill().and_then(|()| child.wait()).map_err(ProcessError::Kill)?;
        }
        Ok(())
    }

    /// Fails if it ended although nobody asked it to.
    pub(crate) fn check(&mut self) -> Result<(), ProcessError> {
        let Some(child) = &mut self.running else { return Ok(()) };
        match child.try_wait() {
            Ok(Some(status)) => {
                self.running = None;
                let said = std::fs::read_to_string(self.log_file()).unwrap_or_default();
                Err(ProcessError::Ended { status, said: said.trim().to_owned() })
            }
            // That its state is unknown is no reason to stop: what it does is seen in the database.
            Ok(None) | Err(_) => Ok(()),
        }
    }

    /// Asks it to stop, and waits until it has. One that does not is killed.
    pub(crate) async fn stop(&mut self) {
        const PATIENCE: Duration = Duration::from_secs(5);
        const LOOK: Duration = Duration::from_millis(10);
        let Some(mut child) = self.running.take() else { return };
        let input = child.stdin.take();
        drop(input);
        let asked = time::now();
        while let Ok(None) = child.try_wait() {
            if asked.elapsed() > PATIENCE {
                // It may have ended just now; that is as good.
                let _killed = child.kill();
                let _status = child.wait();
                return;
            }
            time::sleep(LOOK).await;
        }
    }

    fn log_file(&self) -> PathBuf {
        self.folder.join("worker.log")
    }
}

/// The program that is running, also if a new build has just taken the place of its file.
fn this_program() -> io::Result<PathBuf> {
    let itself = Path::new("/proc/self/exe");
    if itself.exists() { Ok(itself.to_owned()) } else { std::env::current_exe() }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // Only after a panic: the shop stops its worker. A worker must not outlive its folder.
        let _killed = self.kill();
    }
}
