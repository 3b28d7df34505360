//! Running the demo, and waiting for what it says.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};

pub(crate) const DEMO: &str = env!("CARGO_BIN_EXE_abide-demo");

/// A folder that stands in for the system's temporary one.
#[derive(Debug)]
pub(crate) struct Temp {
    path: PathBuf,
}

impl Temp {
    pub(crate) fn new(test: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{test}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self { path }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn demo(&self, arguments: &[&str]) -> Command {
        self.program(Path::new(DEMO), arguments)
    }

    /// The demo, with this as its folder for temporary files and as the one it is started in.
    fn program(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env("TMPDIR", &self.path)
            .current_dir(&self.path)
            .env_remove("NO_COLOR")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.demo(arguments).output().unwrap()
    }

    /// Nothing is left: no file, no process.
    pub(crate) fn assert_clean(&self) {
        let left: Vec<_> =
            std::fs::read_dir(&self.path).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
        assert_eq!(self.processes(), [0_u32; 0]);
    }

    /// The processes that were told of a folder in this one. Empty where there is no `/proc`.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let name = format!("{}/", self.path.display());
        let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
        let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let is_ours = |number: &u32| {
            // A process may end while it is looked at.
            let told = std::fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&told).contains(&name)
        };
        numbers.filter(is_ours).collect()
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        let _removed = std::fs::remove_dir_all(&self.path);
    }
}

/// A demo that is running, in a process group of its own.
pub(crate) struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
    seen: String,
}

impl Running {
    pub(crate) fn start(temp: &Temp, arguments: &[&str]) -> Self {
        Self::start_program(Path::new(DEMO), temp, arguments)
    }

    pub(crate) fn start_program(program: &Path, temp: &Temp, arguments: &[&str]) -> Self {
        let mut command = temp.program(program, arguments);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output, seen: String::new() }
    }

    /// Reads on until a line has this in it.
    pub(crate) fn wait_for(&mut self, text: &str) {
        loop {
            let mut line = String::new();
            let length = self.output.read_line(&mut line).unwrap();
            assert_ne!(length, 0, "it ended without saying '{text}':\n{}", self.seen);
            self.seen.push_str(&line);
            if line.contains(text) {
                return;
            }
        }
    }

    /// Sends a signal, as a terminal does: to everybody in the group.
    pub(crate) fn signal_group(&self, signal: &str) {
        send(signal, &format!("-{}", self.child.id()));
    }

    /// Sends a signal to the shop alone.
    pub(crate) fn signal(&self, signal: &str) {
        send(signal, &self.child.id().to_string());
    }

    /// Nobody reads its output any more.
    pub(crate) fn stop_reading(self) -> (ExitStatus, String) {
        let Self { mut child, output, .. } = self;
        drop(output);
        let mut complaints = String::new();
        child.stderr.take().unwrap().read_to_string(&mut complaints).unwrap();
        (child.wait().unwrap(), complaints)
    }

    /// Waits for its end; gives everything it said, and what it complained about.
    pub(crate) fn finish(mut self) -> (ExitStatus, String, String) {
        self.output.read_to_string(&mut self.seen).unwrap();
        let mut complaints = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut complaints).unwrap();
        (self.child.wait().unwrap(), self.seen, complaints)
    }
}

fn send(signal: &str, target: &str) {
    let sent = Command::new("kill").args(["-s", signal, "--", target]).status().unwrap();
    assert!(sent.success());
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
