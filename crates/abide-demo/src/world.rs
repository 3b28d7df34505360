//! The world around the order: workers that answer, a clock that moves, and a process that keeps dying.

use std::collections::{BTreeMap, VecDeque};

use abide_engine::{Execution, Identity, Mail, MailId, Outcome, Step, TurnOutput};
use abide_model::{AppErrorKind, ErrorDetails, Event, Timestamp, WorkItem};

use crate::order;

const INSTANCE: &str = "order-1";

/// When the process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Crash {
    AfterEveryTurn,
    Never,
}

#[derive(Debug)]
pub(crate) struct World {
    crash: Crash,
    now: Timestamp,
    committed: Vec<Event>,
    queue: VecDeque<WorkItem>,
    resident: Option<Execution>,
    charges: u32,
}

impl World {
    pub(crate) fn new(crash: Crash) -> Self {
        Self {
            crash,
            now: Timestamp::from_millis(1_000),
            committed: Vec::new(),
            queue: VecDeque::from([start()]),
            resident: None,
            charges: 0,
        }
    }

    /// Delivers messages until the order has ended; gives its output.
    pub(crate) fn run(mut self) -> Result<String, String> {
        while let Some(item) = self.queue.pop_front() {
            if let WorkItem::TimerFired { fire_at_ms, .. } = &item {
                self.now = self.now.max(Timestamp::from_millis(*fire_at_ms));
            }
            let output = self.take_turn(item)?;
            self.show(&output);
            self.committed.extend(output.events.iter().cloned());
            match &output.outcome {
                Outcome::Completed { output } => return Ok(output.clone()),
                Outcome::Failed { details } => return Err(format!("the order failed: {details}")),
                Outcome::ContinuedAsNew { .. } | Outcome::Running => self.answer(&output),
            }
        }
        Err("the order waits for something that nobody sends".to_owned())
    }

    fn take_turn(&mut self, item: WorkItem) -> Result<TurnOutput, String> {
        let mut execution = match self.resident.take() {
            Some(execution) => execution,
            None => self.replayed()?,
        };
        let mail = vec![Mail { id: MailId(0), item }];
        let step = execution.turn(mail, self.now).map_err(|error| error.to_string())?;
        if self.crash == Crash::Never {
            self.resident = Some(execution);
        }
        match step {
            Step::Done(output) => Ok(*output),
            Step::HostCall(call) => Err(format!("this world has no answer to {call:?}")),
        }
    }

    /// The order as it comes back after a crash: from its history alone.
    fn replayed(&self) -> Result<Execution, String> {
        let who = Identity {
            instance: INSTANCE.to_owned(),
            execution_id: 1,
            orchestration: order::NAME.to_owned(),
            version: "1.0.0".to_owned(),
        };
        let mut execution = Execution::new(who, BTreeMap::new(), order::code());
        execution.replay(self.committed.clone()).map_err(|error| error.to_string())?;
        Ok(execution)
    }

    fn show(&self, output: &TurnOutput) {
        let replayed = output.stats.events_replayed;
        let how = if replayed == 0 { String::new() } else { format!(" (replayed {replayed} events)") };
        println!("turn at {} s{how}", self.now.as_millis() / 1_000);
        for event in &output.events {
            println!("  {:>3}  {}", event.event_id, event.kind.name());
        }
        for line in &output.lines {
            println!("       says: {}", line.message);
        }
    }

    /// Does what the turn asked for. The first charge fails; the approval comes when the charge is through.
    fn answer(&mut self, output: &TurnOutput) {
        for item in output.worker_items.iter().chain(&output.orchestrator_items) {
            let answer = if let WorkItem::ActivityExecute { id, name, input, .. } = item {
                self.work(*id, name, input)
            } else if let WorkItem::StartOrchestration { parent_id: Some(id), .. } = item {
                WorkItem::SubOrchCompleted {
                    parent_instance: INSTANCE.to_owned(),
                    parent_execution_id: 1,
                    parent_id: *id,
                    result: "delivered".to_owned(),
                }
            } else if self.charges >= 2 {
                // What is left is the deadline of the approval, an hour away: the approval comes first.
                WorkItem::ExternalRaised {
                    instance: INSTANCE.to_owned(),
                    name: "approval".to_owned(),
                    data: "Ada".to_owned(),
                }
            } else {
                item.clone()
            };
            self.queue.push_back(answer);
        }
    }

    fn work(&mut self, id: u64, name: &str, input: &str) -> WorkItem {
        let instance = INSTANCE.to_owned();
        self.charges += u32::from(name == "Charge");
        if name == "Charge" && self.charges == 1 {
            let details = ErrorDetails::Application {
                kind: AppErrorKind::ActivityFailed,
                message: "the card terminal is busy".to_owned(),
                retryable: false,
            };
            return WorkItem::ActivityFailed { instance, execution_id: 1, id, details };
        }
        let result = format!("{}d {input}", name.to_lowercase());
        WorkItem::ActivityCompleted { instance, execution_id: 1, id, result }
    }
}

fn start() -> WorkItem {
    WorkItem::StartOrchestration {
        instance: INSTANCE.to_owned(),
        orchestration: order::NAME.to_owned(),
        input: "order 4711".to_owned(),
        version: None,
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    }
}
