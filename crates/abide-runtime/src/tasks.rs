//! Tasks on tokio, and a thread for what must not be held up.

use abide_model::{Spawn, Task};
use tokio::runtime::{Builder, Handle};
use tracing::error;

/// Tasks of the tokio runtime in which it was made.
#[derive(Debug, Clone)]
pub(crate) struct TokioTasks {
    handle: Handle,
}

impl TokioTasks {
    /// `None` outside of a tokio runtime.
    pub(crate) fn current() -> Option<Self> {
        Handle::try_current().ok().map(|handle| Self { handle })
    }
}

impl Spawn for TokioTasks {
    fn spawn(&self, _name: &'static str, task: Task) {
        // Detached: whoever spawns keeps track of its tasks.
        let _running = self.handle.spawn(task);
    }

    /// A thread with a runtime of its own, in which a store can do all that it can do elsewhere. Without one (the system has no
    /// more threads), an ordinary task must do.
    fn spawn_apart(&self, name: &'static str, task: Task) {
        let runtime = Builder::new_current_thread().enable_all().build();
        let Ok(runtime) = runtime else {
            error!(target: "abide::runtime", task = name, "no runtime of its own for this task: it may be held up");
            return self.spawn(name, task);
        };
        let (give, take) = std::sync::mpsc::channel::<Task>();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            if let Ok(task) = take.recv() {
                runtime.block_on(task);
            }
        });
        if let Err(problem) = thread {
            error!(target: "abide::runtime", task = name, %problem, "no thread of its own for this task: it may be held up");
            return self.spawn(name, task);
        }
        if let Err(unsent) = give.send(task) {
            self.spawn(name, unsent.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    /// A store may be anything: a database behind a socket, say.
    #[test]
    fn a_task_apart_may_wait_for_sockets_although_the_runtime_it_was_made_in_may_not() {
        let runtime = Builder::new_current_thread().build().unwrap();
        let tasks = runtime.block_on(async { TokioTasks::current() }).unwrap();
        let (say, hear) = std::sync::mpsc::channel();
        let task = async move { say.send(tokio::net::UdpSocket::bind("127.0.0.1:0").await.is_ok()).unwrap() };
        tasks.spawn_apart("apart", task.boxed());
        assert_eq!(hear.recv(), Ok(true));
    }
}
