//! Talking to a server, and waiting for it to be gone.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use abide_throwaway::{Server, Settings, own};

/// A server whose data outlives a crash; `None` where there is no PostgreSQL.
pub(crate) fn durable_server() -> Option<Server> {
    own(&Settings::durable()).unwrap()
}

/// What the server answers, a line for a row; `None` if it does not.
pub(crate) fn query(url: &str, statement: &str) -> Option<String> {
    let mut psql = Command::new("psql");
    psql.args(["--no-psqlrc", "-qAt", "-v", "ON_ERROR_STOP=1", "-c", statement, url]).stderr(Stdio::null());
    let answer = psql.output().unwrap();
    answer.status.success().then(|| String::from_utf8(answer.stdout).unwrap().trim().to_owned())
}

pub(crate) fn answers(url: &str) -> bool {
    query(url, "select 1").as_deref() == Some("1")
}

/// Nobody listens there, and no file is left.
pub(crate) fn is_gone(url: &str, folder: &Path) -> bool {
    let address: SocketAddr = url.split(['@', '/']).find_map(|part| part.parse().ok()).unwrap();
    TcpStream::connect(address).is_err() && !folder.exists()
}

/// Looks until it is so.
///
/// # Panics
///
/// If it is not after a minute.
#[expect(clippy::disallowed_methods, reason = "other processes live in real time")]
pub(crate) fn until(what: &str, mut look: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if look() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("waited a minute for {what}");
}
