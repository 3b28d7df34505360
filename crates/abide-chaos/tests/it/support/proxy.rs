//! A wire that goes wrong: a TCP proxy on this machine, in front of a server.
//!
//! It does what networks do. It loses the answer to something that the server has done, and the connection with it; it stalls;
//! it closes one direction of a connection; it goes silent, and closes nothing.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use super::wait::Dice;

/// The proxy. It closes everything when it goes out of scope.
#[derive(Debug)]
pub(crate) struct Proxy {
    address: SocketAddr,
    line: Arc<Line>,
    acceptor: Option<JoinHandle<()>>,
}

/// What the threads share.
#[derive(Debug)]
struct Line {
    server: SocketAddr,
    state: Mutex<State>,
    stall_is_over: Condvar,
}

#[derive(Debug)]
struct State {
    dice: Dice,
    /// One answer of so many is lost.
    loses_one_in: Option<usize>,
    is_stalled: bool,
    /// So many of the next connections are silent from the beginning.
    silences_next: usize,
    silenced: usize,
    is_closed: bool,
    answers_lost: usize,
    wires: BTreeMap<u64, Arc<Wire>>,
    accepted: u64,
}

/// One connection, both of its halves.
#[derive(Debug)]
struct Wire {
    client: TcpStream,
    server: TcpStream,
    is_silent: AtomicBool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    ToServer,
    ToClient,
}

impl Proxy {
    /// In front of the server that this URL names by its address.
    pub(crate) fn before(url: &str) -> Self {
        let server = address_in(url).parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = State {
            dice: Dice::of_environment(),
            loses_one_in: None,
            is_stalled: false,
            silences_next: 0,
            silenced: 0,
            is_closed: false,
            answers_lost: 0,
            wires: BTreeMap::new(),
            accepted: 0,
        };
        let line = Arc::new(Line { server, state: Mutex::new(state), stall_is_over: Condvar::new() });
        let mine = Arc::clone(&line);
        let acceptor = on_a_thread("proxy", move || mine.accept(&listener));
        Self { address, line, acceptor: Some(acceptor) }
    }

    /// The same URL, by way of the proxy. Not encrypted: what is cut in two should be an answer.
    pub(crate) fn url(&self, url: &str) -> String {
        let by_proxy = url.replacen(address_in(url), &self.address.to_string(), 1);
        format!("{by_proxy}?sslmode=disable")
    }

    /// From now on one answer of so many gets lost, and its connection ends.
    pub(crate) fn lose_one_answer_in(&self, so_many: usize) {
        self.line.state.lock().unwrap().loses_one_in = Some(so_many);
    }

    pub(crate) fn answers_lost(&self) -> usize {
        self.line.state.lock().unwrap().answers_lost
    }

    /// Nothing gets through any more, and nothing is lost.
    pub(crate) fn stall(&self) {
        self.line.state.lock().unwrap().is_stalled = true;
    }

    /// Ends a stall, and the loss of answers.
    pub(crate) fn calm(&self) {
        let mut state = self.line.state.lock().unwrap();
        (state.is_stalled, state.loses_one_in) = (false, None);
        self.line.stall_is_over.notify_all();
    }

    /// Closes one direction of some connection; says how many it found.
    pub(crate) fn half_close_one(&self, dice: &mut Dice) -> usize {
        let Some(wire) = self.some_wire(dice) else { return 0 };
        let half = if dice.below(2) == 0 { &wire.client } else { &wire.server };
        // It may be closed already.
        usize::from(half.shutdown(Shutdown::Write).is_ok())
    }

    /// Some connection does not carry anything any more, and nobody is told; says how many it found.
    pub(crate) fn silence_one(&self, dice: &mut Dice) -> usize {
        let Some(wire) = self.some_wire(dice) else { return 0 };
        wire.is_silent.store(true, Ordering::Relaxed);
        1
    }

    /// The next connections are accepted, and carry nothing.
    pub(crate) fn silence_next(&self, so_many: usize) {
        self.line.state.lock().unwrap().silences_next = so_many;
    }

    /// How many connections were silent from the beginning.
    pub(crate) fn silenced(&self) -> usize {
        self.line.state.lock().unwrap().silenced
    }

    /// Ends all connections.
    pub(crate) fn cut_all(&self) {
        self.line.state.lock().unwrap().wires.values().for_each(|wire| wire.close());
    }

    fn some_wire(&self, dice: &mut Dice) -> Option<Arc<Wire>> {
        let state = self.line.state.lock().unwrap();
        let count = state.wires.len();
        if count == 0 { None } else { state.wires.values().nth(dice.below(count)).cloned() }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.calm();
        let wires = {
            let mut state = self.line.state.lock().unwrap();
            state.is_closed = true;
            std::mem::take(&mut state.wires)
        };
        for wire in wires.values() {
            wire.close();
        }
        // Whoever accepts looks up.
        let _looked_up = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let _ended = acceptor.join();
        }
    }
}

impl Line {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        let mut pumps = Vec::new();
        for client in listener.incoming() {
            if self.state.lock().unwrap().is_closed {
                break;
            }
            // A server that is away does not answer: neither do we.
            let Ok(wire) = client.and_then(|client| Wire::new(client, self.server)) else { continue };
            let wire = Arc::new(wire);
            let number = {
                let mut state = self.state.lock().unwrap();
                state.accepted += 1;
                let number = state.accepted;
                wire.is_silent.store(state.silences_next > 0, Ordering::Relaxed);
                state.silenced += usize::from(state.silences_next > 0);
                state.silences_next = state.silences_next.saturating_sub(1);
                state.wires.insert(number, Arc::clone(&wire));
                number
            };
            for direction in [Direction::ToServer, Direction::ToClient] {
                let (line, wire) = (Arc::clone(self), Arc::clone(&wire));
                pumps.push(on_a_thread("wire", move || {
                    // However it ended, it has.
                    let _ended = line.pump(&wire, direction);
                    if direction == Direction::ToServer {
                        wire.close();
                        line.state.lock().unwrap().wires.remove(&number);
                    }
                }));
            }
        }
        for pump in pumps {
            let _ended = pump.join();
        }
    }

    /// Carries one direction until it ends.
    fn pump(&self, wire: &Wire, direction: Direction) -> io::Result<()> {
        let (mut from, mut to) = match direction {
            Direction::ToServer => (&wire.client, &wire.server),
            Direction::ToClient => (&wire.server, &wire.client),
        };
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let length = from.read(&mut buffer)?;
            self.wait_out_a_stall();
            if wire.is_silent.load(Ordering::Relaxed) {
                // Nobody is told of an end either, unless whoever began the connection has given it up.
                if length == 0 {
                    return Ok(());
                }
                continue;
            }
            if length == 0 {
                return to.shutdown(Shutdown::Write);
            }
            if direction == Direction::ToClient && self.loses_this() {
                wire.close();
                return Ok(());
            }
            to.write_all(&buffer[..length])?;
        }
    }

    fn wait_out_a_stall(&self) {
        let state = self.state.lock().unwrap();
        let _over = self.stall_is_over.wait_while(state, |state| state.is_stalled).unwrap();
    }

    fn loses_this(&self) -> bool {
        let mut state = self.state.lock().unwrap();
        let State { dice, loses_one_in, .. } = &mut *state;
        let is_lost = loses_one_in.is_some_and(|so_many| dice.below(so_many) == 0);
        state.answers_lost += usize::from(is_lost);
        is_lost
    }
}

impl Wire {
    fn new(client: TcpStream, server: SocketAddr) -> io::Result<Self> {
        let server = TcpStream::connect(server)?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        Ok(Self { client, server, is_silent: AtomicBool::new(false) })
    }

    fn close(&self) {
        // What is closed already stays so.
        let _client = self.client.shutdown(Shutdown::Both);
        let _server = self.server.shutdown(Shutdown::Both);
    }
}

fn on_a_thread(name: &str, run: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run).unwrap()
}

/// `host:port` of a URL.
fn address_in(url: &str) -> &str {
    let (_, place) = url.rsplit_once('@').expect("a URL with a user");
    place.split('/').next().expect("a URL with an address")
}
