//! What pure code does not mention, and what to do instead.

use super::mentions::{Mention, Site};

#[derive(Debug)]
pub(super) struct Banned {
    /// As people write it, and as exceptions name it.
    pub(super) token: &'static str,
    shape: Shape,
    pub(super) instead: &'static str,
}

#[derive(Debug)]
enum Shape {
    /// The path begins so, and is a path: a variable may be called `log`.
    Root(&'static [&'static str]),
    /// The path ends so, whatever it was imported from.
    End(&'static [&'static str]),
    /// The name occurs anywhere in the path.
    Name(&'static str),
}

use Shape::{End, Name, Root};

const TIME: &str = "time is an argument: use the `now` the turn was given";
const THREADS: &str = "the engine runs where it is called: return what is to be done";
const WORLD: &str = "whoever calls the engine does the I/O: take it as input, return it as output";
const LOGS: &str = "return what is to be logged, or a typed error";
const CHANCE: &str = "replay must give the same again: take the value as an argument";
const ORDER: &str = "its order differs from run to run: use a `BTreeMap` or `BTreeSet`";

const fn banned(token: &'static str, shape: Shape, instead: &'static str) -> Banned {
    Banned { token, shape, instead }
}

pub(super) const BANNED: &[Banned] = &[
    banned("SystemTime::now", End(&["SystemTime", "now"]), TIME),
    banned("Instant::now", End(&["Instant", "now"]), TIME),
    banned(".elapsed", Name(".elapsed"), TIME),
    banned("std::fs", Root(&["std", "fs"]), WORLD),
    banned("std::net", Root(&["std", "net"]), WORLD),
    banned("std::process", Root(&["std", "process"]), WORLD),
    banned("std::env", Root(&["std", "env"]), WORLD),
    banned("thread::spawn", End(&["thread", "spawn"]), THREADS),
    banned("thread::sleep", End(&["thread", "sleep"]), THREADS),
    banned("thread::scope", End(&["thread", "scope"]), THREADS),
    banned("thread::Builder", Root(&["std", "thread", "Builder"]), THREADS),
    banned("tokio", Root(&["tokio"]), THREADS),
    banned("tracing", Root(&["tracing"]), LOGS),
    banned("log", Root(&["log"]), LOGS),
    banned("println!", Name("println!"), LOGS),
    banned("print!", Name("print!"), LOGS),
    banned("eprintln!", Name("eprintln!"), LOGS),
    banned("eprint!", Name("eprint!"), LOGS),
    banned("dbg!", Name("dbg!"), LOGS),
    banned("HashMap", Name("HashMap"), ORDER),
    banned("HashSet", Name("HashSet"), ORDER),
    banned("RandomState", Name("RandomState"), CHANCE),
    banned("rand", Root(&["rand"]), CHANCE),
    banned("fastrand", Root(&["fastrand"]), CHANCE),
    banned("getrandom", Root(&["getrandom"]), CHANCE),
];

impl Banned {
    pub(super) fn matches(&self, mention: &Mention) -> bool {
        let path: Vec<&str> = mention.path.iter().map(String::as_str).collect();
        match self.shape {
            Root(root) => path.starts_with(root) && (path.len() > 1 || mention.site == Site::Import),
            End(end) => path.ends_with(end),
            Name(name) => path.contains(&name),
        }
    }
}
