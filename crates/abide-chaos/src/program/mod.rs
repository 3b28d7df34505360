//! What workers run, and what must come of it.
//!
//! A [`Program`] is a kind of orchestration, an [`Order`] one instance of it. What an order ends with is computed here, without
//! any of the machinery that runs it; `code.rs` has the orchestrations, `activity.rs` the activities, `hold.rs` those that wait
//! for the driver.
//!
//! Deliberately absent: programs whose result depends on who is faster. Every order has one right end.

mod activity;
mod code;
mod hold;

use std::path::PathBuf;

pub(crate) use activity::attempt_of;
pub use activity::{activities, step};
pub use code::orchestrations;

use crate::journal::Journal;

/// What the code is given to leave traces, and to wait at.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Where it leaves traces.
    pub journal: Journal,
    /// Who it is, as the driver calls it.
    pub label: String,
    /// The file whose being there lets go what waits at the gate.
    pub gate: PathBuf,
}

/// A kind of orchestration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// One activity after the other.
    Chain,
    /// Several activities at once.
    FanOut,
    /// Children, with ids of their own and without.
    Family,
    /// Timers between activities.
    Timers,
    /// An activity that fails twice before it succeeds.
    Retries,
    /// A signal, then messages of a queue.
    Mail,
    /// Executions that each take one message of a queue and begin anew.
    Laps,
    /// Executions that each add to a value.
    Tally,
    /// An activity that wins against one that never ends.
    Race,
    /// An independent orchestration that is started on the way.
    Herald,
    /// A wait, with a child that waits, until somebody cancels it.
    Patient,
    /// An activity that blocks at the gate, and another one.
    HeldActivity,
    /// A turn that blocks at the gate, between two activities.
    HeldTurn,
    /// An activity that waits at the gate, but goes if it is told to.
    Lingering,
}

impl Program {
    /// Those that end by themselves, or by the mail that goes with them.
    pub const FREE: [Self; 11] = [
        Self::Chain,
        Self::FanOut,
        Self::Family,
        Self::Timers,
        Self::Retries,
        Self::Mail,
        Self::Laps,
        Self::Tally,
        Self::Race,
        Self::Herald,
        Self::Patient,
    ];

    /// What it is registered as.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chain => "Chain",
            Self::FanOut => "FanOut",
            Self::Family => "Family",
            Self::Timers => "Timers",
            Self::Retries => "Retries",
            Self::Mail => "Mail",
            Self::Laps => "Laps",
            Self::Tally => "Tally",
            Self::Race => "Race",
            Self::Herald => "Herald",
            Self::Patient => "Patient",
            Self::HeldActivity => "HeldActivity",
            Self::HeldTurn => "HeldTurn",
            Self::Lingering => "Lingering",
        }
    }
}

/// How long a chain is.
pub(crate) const LINKS: u64 = 4;
/// How wide a fan is.
pub(crate) const WIDTH: u64 = 6;
/// How many messages are taken, and how many executions there are.
pub(crate) const LAPS: u64 = 4;
/// How many timers there are.
pub(crate) const PAUSES: u64 = 3;

/// An instance to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Its name.
    pub instance: String,
    /// What it runs.
    pub program: Program,
    /// What it computes with.
    pub number: u64,
}

/// How an order must end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// With this output.
    Output(String),
    /// Cancelled for this reason.
    Cancelled(String),
}

/// Something a client sends to an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mail {
    /// A signal.
    Signal {
        /// Its name.
        name: &'static str,
        /// What it carries.
        data: String,
    },
    /// A message of a queue.
    Message {
        /// The queue.
        queue: &'static str,
        /// What it carries.
        data: String,
    },
    /// That it should end.
    Cancel {
        /// Why.
        reason: String,
    },
}

impl Order {
    /// The `number`th order of a run: programs take turns.
    #[must_use]
    pub fn nth(number: u64) -> Self {
        let turn = usize::try_from(number).unwrap_or_default() % Program::FREE.len();
        let program = Program::FREE[turn];
        Self { instance: format!("{}-{number}", program.name()), program, number }
    }

    /// What its code is given.
    #[must_use]
    pub fn input(&self) -> String {
        match self.program {
            Program::Laps | Program::Tally => format!("1,{}", self.number),
            Program::Chain
            | Program::FanOut
            | Program::Family
            | Program::Timers
            | Program::Retries
            | Program::Mail
            | Program::Race
            | Program::Herald
            | Program::Patient
            | Program::HeldActivity
            | Program::HeldTurn
            | Program::Lingering => self.number.to_string(),
        }
    }

    /// What has to be sent to it after its start, in this order.
    #[must_use]
    pub fn mail(&self) -> Vec<Mail> {
        let message = |queue: &'static str, lap: u64| Mail::Message { queue, data: self.message(lap) };
        match self.program {
            Program::Mail => {
                let signal = Mail::Signal { name: "go", data: format!("go {}", self.number) };
                std::iter::once(signal).chain((1..=LAPS).map(|lap| message("box", lap))).collect()
            }
            Program::Laps => (1..=LAPS).map(|lap| message("laps", lap)).collect(),
            Program::Patient => vec![Mail::Cancel { reason: self.reason() }],
            Program::Chain
            | Program::FanOut
            | Program::Family
            | Program::Timers
            | Program::Retries
            | Program::Tally
            | Program::Race
            | Program::Herald
            | Program::HeldActivity
            | Program::HeldTurn
            | Program::Lingering => Vec::new(),
        }
    }

    fn message(&self, lap: u64) -> String {
        (self.number + 100 * lap).to_string()
    }

    fn reason(&self) -> String {
        format!("enough of {}", self.number)
    }

    /// How it must end; `None` if only the driver can know.
    #[must_use]
    pub fn ending(&self) -> Option<Ending> {
        let number = self.number;
        let output = match self.program {
            Program::Chain => chain(number).to_string(),
            Program::FanOut => listed((0..WIDTH).map(|nth| step(number + nth))),
            Program::Family => listed((0..3).map(|nth| chain(number + nth))),
            Program::Timers => repeated(number, PAUSES).to_string(),
            Program::Retries | Program::Race | Program::Herald => step(number).to_string(),
            Program::Mail => {
                let messages: Vec<String> = (1..=LAPS).map(|lap| self.message(lap)).collect();
                format!("go {number}: {}", messages.join(" "))
            }
            Program::Laps => (1..=LAPS).fold(number, |sum, lap| step(sum + number + 100 * lap)).to_string(),
            Program::Tally => (number * LAPS).to_string(),
            Program::HeldTurn => repeated(number, 2).to_string(),
            Program::Patient => return Some(Ending::Cancelled(self.reason())),
            Program::HeldActivity | Program::Lingering => return None,
        };
        Some(Ending::Output(output))
    }

    /// The orders that it places itself, and that nobody waits for.
    #[must_use]
    pub fn heirs(&self) -> Vec<Self> {
        if self.program == Program::Herald {
            let instance = heir_of(&self.instance);
            vec![Self { instance, program: Program::Chain, number: self.number }]
        } else {
            Vec::new()
        }
    }

    /// The value that it leaves behind under [`KEPT`], if any.
    #[must_use]
    pub fn kept(&self) -> Option<String> {
        (self.program == Program::Tally).then(|| (self.number * LAPS).to_string())
    }
}

/// The key under which orders keep something.
pub const KEPT: &str = "sum";

/// The detached orchestration of an instance.
fn heir_of(instance: &str) -> String {
    format!("{instance}-heir")
}

fn chain(number: u64) -> u64 {
    repeated(number, LINKS)
}

fn repeated(number: u64, times: u64) -> u64 {
    (0..times).fold(number, |value, _| step(value))
}

fn listed(values: impl Iterator<Item = u64>) -> String {
    values.map(|value| value.to_string()).collect::<Vec<_>>().join(" ")
}
