//! Other processes of this program, which help to measure. They end with their input, and so with whoever started them.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::arguments::Arguments;
use crate::program::Fallible;

/// What a process says when it is where it should be.
const READY: &str = "ready";

/// Killed when dropped.
pub(crate) struct Process {
    child: Child,
    input: Option<ChildStdin>,
}

impl Process {
    /// Starts it, and returns once it is ready.
    pub(crate) async fn start(workload: &str, arguments: &Arguments) -> Fallible<Self> {
        Self::start_heard(workload, arguments, |_| ()).await
    }

    /// The same, and `hear` gets each line that it prints afterwards.
    pub(crate) async fn start_heard(
        workload: &str,
        arguments: &Arguments,
        hear: impl Fn(&str) + Send + 'static,
    ) -> Fallible<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([workload, "--store", &arguments.store, "--at", &arguments.at]);
        command.args(["--size", &arguments.size.to_string(), "--samples", &arguments.samples.to_string()]);
        command.args(["--activity-ms", &arguments.activity.as_millis().to_string()]);
        if let Some(slots) = arguments.slots {
            command.args(["--slots", &slots.to_string()]);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let process = Self { child, input };
        let output = output.ok_or("the process has no output")?;
        tokio::task::spawn_blocking(move || {
            let mut lines = BufReader::new(output).lines().map_while(Result::ok);
            let is_ready = lines.any(|line| line == READY);
            // What else it says must go somewhere, or it would have to wait.
            std::thread::Builder::new().spawn(move || lines.for_each(|line| hear(&line)))?;
            if is_ready { Ok(()) } else { Err("the process ended before it was ready".into()) }
        })
        .await?
        .map(|()| process)
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// As the machine does when it runs out of memory.
    pub(crate) fn kill(mut self) -> Fallible<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Ends it in good order.
    pub(crate) fn stop(mut self) -> Fallible<()> {
        self.input = None;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It has ended already if this fails.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

pub(crate) fn say_ready() {
    println!("{READY}");
}

/// Returns when whoever started this process has ended, or wants it to end.
pub(crate) async fn until_told() -> Fallible<()> {
    let input = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    input.await??;
    Ok(())
}
