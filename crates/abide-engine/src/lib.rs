//! One turn of a durable orchestration, as a pure function, and the API orchestrations are written in.
//!
//! An [`Execution`] replays the user's code against its recorded history, takes the messages that came
//! since, one at a time, and says what the code decided: events to append, work to enqueue, work to take
//! back, and how the execution stands. [`run_turn`] does it in one call; a resident [`Execution`] is fed
//! its next messages without looking at its past again.
//!
//! There is one loop for the past and the present (`execution.rs`): while history lasts, the stream of
//! events comes from history; after it, the engine writes the stream.
//!
//! Deliberately absent: storage, clocks, randomness, threads, logging, and any async runtime. The engine
//! is told the time and answers with a [`TurnOutput`]; whoever calls it does the I/O. That is what lets a
//! production history be replayed in a unit test, and a program be crashed after every turn in a property
//! test.
//!
//! Read in this order: `turn.rs` (what goes in and comes out), `execution.rs` (the loop), `ask/` (what code
//! can ask for), `arrival.rs` and `inbox.rs` (what can arrive), `ending.rs` (how it ends), `tape.rs` (the
//! cell shared with user code), `context/` (what user code sees).

mod turn;

mod execution;
mod settle;

mod arrival;
mod ask;
mod ending;
mod inbox;

mod effects;
mod journal;
mod ledger;
mod role;

mod program;
mod signals;
mod tape;
mod window;

mod fault;
mod notice;
mod policy;

mod combine;
mod context;
mod future;
mod handler;

pub use abide_model as model;

pub use context::{Elapsed, OrchestrationContext};
pub use execution::Execution;
pub use future::DurableFuture;
pub use handler::{FnOrchestration, OrchestrationHandler};
pub use notice::{LineLevel, LogLine, Notice};
pub use policy::Leniency;
pub use turn::{
    HostCall, Identity, Mail, MailId, Outcome, StatusUpdate, Step, TurnError, TurnInput, TurnOutput,
    TurnStats, run_turn,
};
pub use window::{Foreign, ForeignListener};

/// The README's example compiles.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
