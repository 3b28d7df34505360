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
//! ```
//! use std::collections::BTreeMap;
//! use std::sync::Arc;
//!
//! use abide_engine::model::{Timestamp, WorkItem};
//! use abide_engine::{Execution, FnOrchestration, Identity, Mail, MailId, Outcome, OrchestrationContext, Step};
//!
//! // An orchestration: an ordinary async function.
//! async fn greet(ctx: OrchestrationContext, name: String) -> Result<String, String> {
//!     let greeting = ctx.schedule_activity("Greet", name).await?;
//!     Ok(greeting + "!")
//! }
//!
//! let who = Identity {
//!     instance: "greet-1".into(),
//!     execution_id: 1,
//!     orchestration: "Greet".into(),
//!     version: "1.0.0".into(),
//! };
//! let mut execution = Execution::new(who, BTreeMap::new(), Arc::new(FnOrchestration(greet)));
//!
//! // The first message starts it: it asks for an activity, and waits.
//! let start = WorkItem::StartOrchestration {
//!     instance: "greet-1".into(),
//!     orchestration: "Greet".into(),
//!     input: "Ada".into(),
//!     version: None,
//!     parent_instance: None,
//!     parent_id: None,
//!     parent_execution_id: None,
//!     execution_id: 1,
//! };
//! let mail = vec![Mail { id: MailId(1), item: start }];
//! let Step::Done(first) = execution.turn(mail, Timestamp::from_millis(1_000))? else { unreachable!() };
//! assert_eq!(first.outcome, Outcome::Running);
//! assert_eq!(first.worker_items.len(), 1);
//!
//! // The second brings the answer: it ends.
//! let done = WorkItem::ActivityCompleted {
//!     instance: "greet-1".into(),
//!     execution_id: 1,
//!     id: 2,
//!     result: "hello Ada".into(),
//! };
//! let mail = vec![Mail { id: MailId(2), item: done }];
//! let Step::Done(second) = execution.turn(mail, Timestamp::from_millis(2_000))? else { unreachable!() };
//! assert_eq!(second.outcome, Outcome::Completed { output: "hello Ada!".into() });
//! # Ok::<(), abide_engine::TurnError>(())
//! ```
//!
//! Read in this order: `turn.rs` (what goes in and comes out), `execution.rs` (the loop), `settle.rs` and
//! `ask/` (what code asks for meets the record), `arrival.rs` and `inbox.rs` (what can arrive), `ending.rs`
//! (how it ends), `tape/` (the cell shared with user code), `context/` (what user code sees).

mod turn;

mod execution;
mod settle;

mod arrival;
mod ask;
mod ending;
mod inbox;
mod outside;

mod cancel;
mod effects;
mod journal;
mod ledger;
mod news;
mod role;

mod panic;
mod program;
mod signals;
mod tape;
mod token;
mod waiting;
mod window;

mod fault;
mod notice;
mod policy;
mod redacted;

mod context;
mod future;
mod handler;

pub use abide_model as model;

pub use context::{Elapsed, OrchestrationContext};
pub use execution::{Execution, run_turn};
pub use future::DurableFuture;
pub use handler::{FnOrchestration, OrchestrationHandler, OrchestrationHandlerRef};
pub use notice::{LineLevel, LogLine, Notice};
pub use outside::{answer_late_mail, cancel_unstarted, condemn};
pub use turn::{
    HostCall, Identity, Mail, MailId, Outcome, StatusUpdate, Step, TurnError, TurnInput, TurnOutput,
    TurnStats,
};
pub use window::{Foreign, ForeignListener};
