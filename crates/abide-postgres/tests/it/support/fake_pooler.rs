//! A pooler between clients and the server, in a few threads: what `PgBouncer` does in transaction and in
//! session mode.
//!
//! It lets every client log in on a new session of the server. In transaction mode that session then belongs
//! to all: each transaction of any client gets one that is free.

use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

/// Who gets which session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Every client keeps its own.
    Session,
    /// Every transaction gets the one that was used last.
    LastUsedFirst,
    /// Every transaction gets the one that was not used for the longest time.
    InTurn,
}

/// Sessions that nobody uses.
#[derive(Default)]
struct Pool {
    free: Mutex<VecDeque<TcpStream>>,
    changed: Condvar,
}

impl Pool {
    fn take(&self) -> TcpStream {
        let free = self.free.lock().unwrap();
        let mut free = self.changed.wait_while(free, |free| free.is_empty()).unwrap();
        free.pop_front().expect("it was waited for")
    }

    fn give_back(&self, session: TcpStream, mode: Mode) {
        let mut free = self.free.lock().unwrap();
        match mode {
            Mode::LastUsedFirst | Mode::Session => free.push_front(session),
            Mode::InTurn => free.push_back(session),
        }
        self.changed.notify_one();
    }
}

/// Starts a pooler before the server at this URL; returns the URL of the pooler. It serves until the process
/// ends.
pub(crate) fn start(url: &str, mode: Mode) -> String {
    let (login, place) = url.split_once('@').unwrap();
    let (server, database) = place.split_once('/').unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (server, pool) = (server.to_owned(), Arc::new(Pool::default()));
    apart(move || {
        for client in listener.incoming() {
            let (server, pool) = (server.clone(), Arc::clone(&pool));
            // A client that goes away ends its thread.
            apart(move || serve(client?, &server, &pool, mode));
        }
        Ok(())
    });
    format!("{login}@{address}/{database}?sslmode=disable")
}

#[expect(clippy::disallowed_methods, reason = "a program beside the one under test")]
fn apart(work: impl FnOnce() -> io::Result<()> + Send + 'static) {
    std::thread::spawn(work);
}

fn serve(mut client: TcpStream, server: &str, pool: &Pool, mode: Mode) -> io::Result<()> {
    let session = log_in(&mut client, server)?;
    if mode == Mode::Session {
        let own = Pool::default();
        own.give_back(session, mode);
        return relay(&mut client, &own, mode);
    }
    pool.give_back(session, mode);
    relay(&mut client, pool, mode)
}

/// Passes on everything up to the first `ReadyForQuery`.
fn log_in(client: &mut TcpStream, server: &str) -> io::Result<TcpStream> {
    let mut session = TcpStream::connect(server)?;
    session.write_all(&read_body(client)?)?;
    loop {
        let (kind, message) = read_message(&mut session)?;
        client.write_all(&message)?;
        let asks = kind == b'R' && !matches!(message.get(5..9), Some([0, 0, 0, 0 | 12]));
        if asks {
            let (_, answer) = read_message(client)?;
            session.write_all(&answer)?;
        }
        if kind == b'Z' {
            return Ok(session);
        }
    }
}

/// Passes on transactions, each in a session of the pool.
fn relay(client: &mut TcpStream, pool: &Pool, mode: Mode) -> io::Result<()> {
    let mut held: Option<TcpStream> = None;
    loop {
        let (kind, message) = read_message(client)?;
        if kind == b'X' {
            return Ok(());
        }
        let mut session = held.take().unwrap_or_else(|| pool.take());
        session.write_all(&message)?;
        let is_complete = matches!(kind, b'Q' | b'S');
        if is_complete && answer(&mut session, client)? == b'I' {
            pool.give_back(session, mode);
        } else {
            held = Some(session);
        }
    }
}

/// Passes on an answer; says in which state the transaction is.
fn answer(session: &mut TcpStream, client: &mut TcpStream) -> io::Result<u8> {
    loop {
        let (kind, message) = read_message(session)?;
        client.write_all(&message)?;
        if kind == b'Z' {
            return Ok(message.last().copied().unwrap_or_default());
        }
    }
}

fn read_message(stream: &mut TcpStream) -> io::Result<(u8, Vec<u8>)> {
    let mut kind = [0];
    stream.read_exact(&mut kind)?;
    let mut message = kind.to_vec();
    message.extend(read_body(stream)?);
    Ok((kind[0], message))
}

/// The length, and as much as it says.
fn read_body(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut body = length.to_vec();
    body.resize(usize::try_from(u32::from_be_bytes(length)).unwrap(), 0);
    stream.read_exact(&mut body[4..])?;
    Ok(body)
}
