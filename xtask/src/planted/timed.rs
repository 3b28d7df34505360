//! Runs tests of a test binary, and does not wait for ever.

use std::fmt;
use std::io::{self, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Passed,
    Failed,
    /// Ended without a verdict: an abort, a stack overflow.
    Crashed,
    /// Still running at the limit, and killed.
    Hung,
    NoSuchTest,
}

impl fmt::Display for Ending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Passed => "passes",
            Self::Failed => "fails",
            Self::Crashed => "crashes",
            Self::Hung => "hangs",
            Self::NoSuchTest => "does not exist",
        })
    }
}

/// What libtest exits with if a test failed, as opposed to having been killed by a signal.
const TEST_FAILED: i32 = 101;

/// The command must run exactly so many tests. It is the test binary and not cargo, because killing cargo would leave the
/// tests running.
pub(crate) fn run_tests(mut command: Command, count: usize, limit: Duration) -> io::Result<Ending> {
    let verdict = format!("test result: ok. {count} passed");
    let (mut output, writer) = io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    // It owns our copies of the writing end; the output ends when the child holds the last one.
    drop(command);

    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut text = Vec::new();
            let read = output.read_to_end(&mut text).map(|_| text);
            // Nobody listens any more if the child was killed.
            sender.send(read).ok();
        });
        let Ok(text) = receiver.recv_timeout(limit) else {
            child.kill()?;
            child.wait()?;
            return Ok(Ending::Hung);
        };
        let text = text?;
        let status = child.wait()?;
        Ok(match status.code() {
            Some(0) if String::from_utf8_lossy(&text).contains(&verdict) => Ending::Passed,
            Some(0) => Ending::NoSuchTest,
            Some(TEST_FAILED) => Ending::Failed,
            Some(_) | None => Ending::Crashed,
        })
    })
}
