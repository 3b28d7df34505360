//! A proxy before the server that passes on only so many bytes per second, and a clock that runs ahead.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use abide_host::SystemClock;
use abide_model::{Clock, Sleep, Timestamp};

/// Starts a proxy before the server at this URL, which serves until the process ends. Says by which URL it is reached.
pub(crate) fn slow_proxy(url: &str, bytes_per_second: u32) -> String {
    let (login, place) = url.split_once('@').unwrap();
    let (server, database) = place.split_once('/').unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("{login}@{}/{database}?sslmode=disable", listener.local_addr().unwrap());
    let server = server.to_owned();
    apart(move || {
        for client in listener.incoming() {
            let (client, session) = (client.unwrap(), TcpStream::connect(&server).unwrap());
            let (from, to) = (client.try_clone().unwrap(), session.try_clone().unwrap());
            apart(move || pass_on(from, to, bytes_per_second));
            apart(move || pass_on(session, client, bytes_per_second));
        }
    });
    url
}

/// Passes on bytes until there are no more, or nobody takes them.
fn pass_on(mut from: TcpStream, mut to: TcpStream, bytes_per_second: u32) {
    let clock = SystemClock::new();
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let began = clock.monotonic();
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
        let needed = Duration::from_secs(u64::try_from(count).unwrap()) / bytes_per_second;
        pause(needed.saturating_sub(clock.monotonic().saturating_sub(began)));
    }
    let _ended = to.shutdown(Shutdown::Both);
}

#[expect(clippy::disallowed_methods, reason = "a program beside the one under test")]
fn apart(work: impl FnOnce() + Send + 'static) {
    std::thread::spawn(work);
}

#[expect(clippy::disallowed_methods, reason = "this is what makes it slow")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

/// A clock that runs so many times as fast as that of the machine.
pub(crate) struct HastyClock {
    pub(crate) machine: SystemClock,
    pub(crate) factor: u32,
}

impl Clock for HastyClock {
    fn wall(&self) -> Timestamp {
        self.machine.wall()
    }

    fn monotonic(&self) -> Duration {
        self.machine.monotonic() * self.factor
    }

    fn sleep_until(&self, monotonic: Duration) -> Sleep {
        self.machine.sleep_until(monotonic / self.factor)
    }
}
