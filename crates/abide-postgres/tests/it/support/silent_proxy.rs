//! A proxy before the server whose connections can go silent: open at the node's end, gone at the server's.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// The proxy. It serves until the process ends.
pub(crate) struct SilentProxy {
    url: String,
    /// The ends that the server knows, of connections that are not silent.
    sessions: Arc<Mutex<Vec<TcpStream>>>,
    /// The ends that clients know.
    clients: Arc<Mutex<Vec<TcpStream>>>,
}

impl SilentProxy {
    /// Starts one before the server at this URL.
    pub(crate) fn start(url: &str) -> Self {
        let (login, place) = url.split_once('@').unwrap();
        let (server, database) = place.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("{login}@{}/{database}?sslmode=disable", listener.local_addr().unwrap());
        let (server, sessions) = (server.to_owned(), Arc::new(Mutex::new(Vec::new())));
        let clients = Arc::new(Mutex::new(Vec::new()));
        let (known, known_clients) = (Arc::clone(&sessions), Arc::clone(&clients));
        apart(move || {
            for client in listener.incoming() {
                let (client, session) = (client.unwrap(), TcpStream::connect(&server).unwrap());
                known.lock().unwrap().push(session.try_clone().unwrap());
                known_clients.lock().unwrap().push(client.try_clone().unwrap());
                let (from, to) = (client.try_clone().unwrap(), session.try_clone().unwrap());
                apart(move || {
                    pass_on(from, &to);
                    // The client is gone: so is its session, if it is not already.
                    let _ended = to.shutdown(Shutdown::Both);
                });
                apart(move || pass_on(session, &client));
            }
        });
        Self { url, sessions, clients }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Breaks every connection at both ends. Connections that are made from now on work.
    pub(crate) fn reset(&self) {
        self.fall_silent();
        for client in self.clients.lock().unwrap().drain(..) {
            // It may have closed it itself.
            let _ended = client.shutdown(Shutdown::Both);
        }
    }

    /// Ends every session without a word to its client. Connections that are made from now on work.
    pub(crate) fn fall_silent(&self) {
        for session in self.sessions.lock().unwrap().drain(..) {
            // Its client may have closed it.
            let _ended = session.shutdown(Shutdown::Both);
        }
    }
}

/// Passes on bytes until there are no more. What cannot be passed on is forgotten.
fn pass_on(mut from: TcpStream, mut to: &TcpStream) {
    let mut buffer = [0; 8 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let _silent = to.write_all(&buffer[..count]);
    }
}

#[expect(clippy::disallowed_methods, reason = "a program beside the one under test")]
fn apart(work: impl FnOnce() + Send + 'static) {
    std::thread::spawn(work);
}
