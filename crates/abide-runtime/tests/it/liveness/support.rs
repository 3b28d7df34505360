//! An executor that can be stopped, a clock that runs fast, and threads that are listened to.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

use abide_host::SystemClock;
use abide_model::{Clock, Sleep, Spawn, Task, Timestamp};
use abide_sim::LocalTasks;
use futures::FutureExt;
use tracing::instrument::WithSubscriber;

use crate::lessons::listener::Listener;

/// Tasks that can be kept from being polled, as if every thread of their executor were blocked. What runs apart goes on.
#[derive(Clone)]
pub(crate) struct Stallable {
    tasks: Arc<LocalTasks>,
    stall: Arc<Mutex<Stall>>,
}

#[derive(Default)]
struct Stall {
    is_blocked: bool,
    waiting: Vec<Waker>,
    probes: usize,
}

impl Stallable {
    pub(crate) fn new(tasks: Arc<LocalTasks>) -> Self {
        Self { tasks, stall: Arc::default() }
    }

    pub(crate) fn block(&self) {
        self.stall.lock().unwrap().is_blocked = true;
    }

    pub(crate) fn unblock(&self) {
        let waiting = {
            let mut stall = self.stall.lock().unwrap();
            stall.is_blocked = false;
            std::mem::take(&mut stall.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    /// How often the executor was asked whether it is there.
    pub(crate) fn probes(&self) -> usize {
        self.stall.lock().unwrap().probes
    }
}

impl Spawn for Stallable {
    fn spawn(&self, name: &'static str, mut task: Task) {
        if name == "probe" {
            self.stall.lock().unwrap().probes += 1;
        }
        let stall = self.stall.clone();
        let stallable = poll_fn(move |context| {
            {
                let mut stall = stall.lock().unwrap();
                if stall.is_blocked {
                    stall.waiting.push(context.waker().clone());
                    return Poll::Pending;
                }
            }
            task.as_mut().poll(context)
        });
        self.tasks.spawn(name, stallable.boxed());
    }

    fn spawn_apart(&self, name: &'static str, task: Task) {
        self.tasks.spawn_apart(name, task);
    }
}

/// A clock on which time passes some times faster than it does.
#[derive(Debug)]
pub(crate) struct FastClock {
    system: SystemClock,
    start: Timestamp,
    times: u32,
}

impl FastClock {
    pub(crate) fn new(times: u32) -> Self {
        let system = SystemClock::new();
        Self { start: system.wall(), system, times }
    }
}

impl Clock for FastClock {
    fn wall(&self) -> Timestamp {
        let millis = u64::try_from(self.monotonic().as_millis()).unwrap();
        self.start.saturating_add(Duration::from_millis(millis))
    }

    fn monotonic(&self) -> Duration {
        self.system.monotonic() * self.times
    }

    fn sleep_until(&self, monotonic: Duration) -> Sleep {
        // Never early.
        self.system.sleep_until(monotonic / self.times + Duration::from_nanos(1))
    }
}

/// Threads of which every word is heard.
#[derive(Clone)]
pub(crate) struct Heard {
    pub(crate) handle: tokio::runtime::Handle,
    pub(crate) listener: Listener,
}

impl Spawn for Heard {
    fn spawn(&self, _: &'static str, task: Task) {
        let _running = self.handle.spawn(task.with_subscriber(self.listener.clone()));
    }

    fn spawn_apart(&self, name: &'static str, task: Task) {
        let task = task.with_subscriber(self.listener.clone());
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || futures::executor::block_on(task))
            .unwrap();
    }
}
