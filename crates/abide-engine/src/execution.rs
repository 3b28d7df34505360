//! The loop: live is replay.
//!
//! One loop over a stream of events. While history lasts the stream comes from history; after it, the
//! engine writes the stream. An *ask* is anything the code requests in a poll, a drop included.
//!
//! 1. While asks of the last poll are unrecorded: the next history event is an ask → match and bind it;
//!    history is over → write and bind them, in the order asked, drops last; the next history event is an
//!    arrival → mismatch.
//! 2. Something was resolved for the code, or it woke itself → poll. Never between two asks of one poll.
//! 3. Take ONE arrival (from history, else from the inbox), record it, deliver it. None left: the turn ends.
//!
//! Messages are taken one at a time, so a batch of k messages gives exactly the history and the decisions of
//! k batches of one. The steps are in `settle.rs` (1), here (2), and `arrival.rs` and `inbox.rs` (3); how an
//! execution ends is in `ending.rs`.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use abide_model::limits::{DEFAULT_MAX_PAYLOAD_BYTES, MAX_SELF_WAKES_PER_ARRIVAL};
use abide_model::{ErrorDetails, Event, EventId, EventKind, KvEntry, PruneOptions, PruneResult, Timestamp};

use crate::effects::Effects;
use crate::ending::{Ending, ParentLink};
use crate::fault::{self, Difference, Fault};
use crate::handler::OrchestrationHandlerRef;
use crate::journal::{Entry, Journal};
use crate::ledger::Ledger;
use crate::notice::Notice;
use crate::policy::Policy;
use crate::program::{Polled, Program};
use crate::role::{Arrival, Role, role};
use crate::settle::{Pending, Settled};
use crate::tape::{Collected, Tape, Unwound};
use crate::turn::{
    HostCall, Identity, Mail, MailId, Outcome, StatusUpdate, Step, TurnError, TurnInput, TurnOutput,
    TurnStats,
};
use crate::window::{ForeignListener, Window};

/// One execution of an orchestration: its code, where it stands in its history, and what it waits for.
///
/// A cold one is made from its history ([`replay`](Self::replay)); a resident one is kept and fed its next
/// messages ([`turn`](Self::turn)). Both decide the same.
pub struct Execution {
    pub(crate) who: Identity,
    pub(crate) code: OrchestrationHandlerRef,
    pub(crate) tape: Arc<Tape>,
    pub(crate) program: Option<Program>,
    pub(crate) journal: Journal,
    pub(crate) ledger: Ledger,
    pub(crate) pending: Pending,
    pub(crate) policy: Policy,
    /// Prunes that were asked for and have no answer, oldest first.
    pub(crate) host_calls: VecDeque<(EventId, PruneOptions)>,
    /// Messages carried over from the execution before, not taken yet.
    pub(crate) carried: VecDeque<(String, String)>,
    pub(crate) parent: Option<ParentLink>,
    /// How it ends: decided, but perhaps not yet recorded.
    pub(crate) ending: Option<Ending>,
    /// How it ended: recorded.
    pub(crate) ended: Option<Outcome>,
    /// Why history and code do not fit, if they do not. Boxed: what sleeps is to be small.
    pub(crate) mismatch: Option<Box<ErrorDetails>>,
    /// The event at which history and code differ, if the execution ends for that.
    pub(crate) difference: Option<Box<Difference>>,
    pub(crate) notices: Vec<Notice>,
    /// Whether the last turn left it waiting for nothing: only the turn that enters this state says so.
    waited_for_nothing: bool,
    /// Boxed: most of the time there is none, and what sleeps is to be small.
    pub(crate) live: Option<Box<Live>>,
    /// Polls since something arrived or a message was read. Code that wakes itself, or that resolves its own
    /// requests without taking what they give, would otherwise hold the turn for ever.
    idle_polls: u32,
    program_polls: u64,
    pub(crate) max_payload_bytes: usize,
}

/// What a turn in progress holds: only then can anything be written.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) now: Timestamp,
    pub(crate) inbox: VecDeque<Mail>,
    pub(crate) consumed: Vec<MailId>,
    pub(crate) effects: Effects,
    pub(crate) custom_status: Option<StatusUpdate>,
    pub(crate) prune: Option<PruneOptions>,
    /// What the asks of this turn hold together, in bytes.
    pub(crate) payload_bytes: usize,
    /// Asks whose input was too large, and that fail for it, oldest first.
    pub(crate) refused: VecDeque<(EventId, EventKind)>,
}

impl Live {
    pub(crate) fn new(mail: Vec<Mail>, now: Timestamp) -> Self {
        Self {
            now,
            inbox: mail.into(),
            consumed: Vec::new(),
            effects: Effects::default(),
            custom_status: None,
            prune: None,
            payload_bytes: 0,
            refused: VecDeque::new(),
        }
    }
}

/// Whether the loop goes round again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    Again,
    /// History is over and no turn is in progress, the messages are used up, or the execution ended.
    Rest,
    /// The next thing to arrive is the host's answer.
    AwaitHost,
}

impl fmt::Debug for Execution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Execution")
            .field("who", &self.who)
            .field("ending", &self.ending)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

impl Execution {
    /// An execution that has not begun. `kv` is the key-value state that previous executions left.
    #[must_use]
    pub fn new(who: Identity, kv: BTreeMap<String, KvEntry>, code: OrchestrationHandlerRef) -> Self {
        Self::build(who, kv, code, None)
    }

    /// The same, with somebody to be told of foreign asynchrony the moment it happens.
    #[must_use]
    pub fn new_with_listener(
        who: Identity,
        kv: BTreeMap<String, KvEntry>,
        code: OrchestrationHandlerRef,
        listener: ForeignListener,
    ) -> Self {
        Self::build(who, kv, code, Some(listener))
    }

    fn build(
        who: Identity,
        kv: BTreeMap<String, KvEntry>,
        code: OrchestrationHandlerRef,
        listener: Option<ForeignListener>,
    ) -> Self {
        let tape = Tape::new(who.clone(), Window::new(listener), kv);
        Self {
            who,
            code,
            tape,
            program: None,
            journal: Journal::default(),
            ledger: Ledger::default(),
            pending: Pending::default(),
            policy: Policy::STRICT,
            host_calls: VecDeque::new(),
            carried: VecDeque::new(),
            parent: None,
            ending: None,
            ended: None,
            mismatch: None,
            difference: None,
            notices: Vec::new(),
            waited_for_nothing: false,
            live: None,
            idle_polls: 0,
            program_polls: 0,
            max_payload_bytes: DEFAULT_MAX_PAYLOAD_BYTES,
        }
    }

    /// Sets the largest payload that this execution may record: an input, an output. 64 MiB unless told.
    ///
    /// Only turns obey it, a replay does not: what is recorded stays right under every limit.
    #[must_use]
    pub const fn with_max_payload_bytes(mut self, limit: usize) -> Self {
        self.max_payload_bytes = limit;
        self
    }

    /// Re-lives recorded events: the whole history of a cold execution, or what others committed since.
    /// History may come in pieces; a piece ends where a commit ended.
    ///
    /// Nothing is written. If code and history do not fit, the next turn fails the execution and says why.
    ///
    /// # Errors
    ///
    /// [`TurnError::HostCallPending`] if a turn waits for its host: nobody else can have committed meanwhile.
    pub fn replay(&mut self, history: Vec<Event>) -> Result<(), TurnError> {
        if self.live.is_some() {
            return Err(TurnError::HostCallPending);
        }
        if self.journal.is_empty()
            && let Some(first) = history.first()
        {
            let (policy, notice) = Policy::pinned_by(&first.duroxide_version);
            self.policy = policy;
            self.notices.extend(notice);
        }
        let last_time = history.last().map_or(0, |event| event.timestamp_ms);
        self.tape.go_back_to_replay(Timestamp::from_millis(last_time));
        for event in &history {
            if let EventKind::KeyValueSet { last_updated_at_ms, .. } = event.kind {
                self.tape.expect_write(last_updated_at_ms);
            }
        }
        self.journal.extend(history);
        self.run();
        self.waited_for_nothing = self.waits_for_nothing();
        Ok(())
    }

    /// Takes messages, one at a time, at time `now`, until they are used up or the execution ends.
    ///
    /// # Errors
    ///
    /// [`TurnError::NotStarted`] if the execution has no history and `mail` does not start it;
    /// [`TurnError::HostCallPending`] if the turn before still waits for its host. Nothing is consumed.
    pub fn turn(&mut self, mail: Vec<Mail>, now: Timestamp) -> Result<Step, TurnError> {
        if self.live.is_some() {
            return Err(TurnError::HostCallPending);
        }
        if self.journal.is_empty() && self.find_start(&mail).is_none() {
            let Identity { instance, execution_id, .. } = self.who.clone();
            return Err(TurnError::NotStarted { instance, execution_id, mail: mail.len() });
        }
        self.tape.go_live(now);
        self.live = Some(Live::new(mail, now).into());
        Ok(self.run_turn())
    }

    /// Goes on with a turn that stopped for its host.
    ///
    /// # Errors
    ///
    /// [`TurnError::NoHostCall`] if no turn waits for an answer.
    pub fn resume(&mut self, answer: Result<PruneResult, String>) -> Result<Step, TurnError> {
        let asked = if self.live.is_some() { self.host_calls.front() } else { None };
        let Some((id, _)) = asked.cloned() else { return Err(TurnError::NoHostCall) };
        let (counts, error) = match answer {
            Ok(result) => (result, None),
            Err(error) => (PruneResult::default(), Some(error)),
        };
        let answered = self.record_arrival(Entry::about(
            id,
            EventKind::HistoryPruned {
                executions_deleted: counts.executions_deleted,
                events_deleted: counts.events_deleted,
                error,
            },
        ));
        if let Err(fault) = answered {
            self.fail(fault);
        }
        Ok(self.run_turn())
    }

    /// How the execution stands.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let decided = || self.ending.as_ref().map(Ending::outcome);
        self.ended.clone().or_else(decided).unwrap_or(Outcome::Running)
    }

    /// Why the code does not fit the history that was replayed, if it does not. An execution that is still
    /// running fails for it at its next turn; one that has ended cannot be failed any more.
    #[must_use]
    pub fn mismatch(&self) -> Option<&ErrorDetails> {
        self.mismatch.as_deref()
    }

    /// Whose execution this is.
    #[must_use]
    pub const fn identity(&self) -> &Identity {
        &self.who
    }

    /// Returns whether the code waits, and nothing that could arrive would resume it.
    ///
    /// The code awaits a future that is not durable (`std::future::pending()`, a channel), or only durable
    /// futures whose answer it has taken. Such an execution stays running until it is canceled. After a
    /// replay this is known once the next turn has run.
    #[must_use]
    pub fn waits_for_nothing(&self) -> bool {
        self.program.is_some()
            && self.outcome() == Outcome::Running
            && self.pending.is_empty()
            && !self.ledger.has_awaited()
    }

    /// Whether this activity is the only thing under way for it: it waits for the answer, and for none of another activity or child.
    /// Then nothing is gained by waiting for more mail before the answer is taken in.
    #[must_use]
    pub fn waits_only_for(&self, activity: EventId) -> bool {
        self.ended.is_none() && self.ledger.is_only_work(activity)
    }

    fn run_turn(&mut self) -> Step {
        if self.run() == Progress::AwaitHost
            && let Some((_, options)) = self.host_calls.front()
        {
            return Step::HostCall(HostCall::Prune { options: options.clone() });
        }
        Step::Done(Box::new(self.finish_turn()))
    }

    pub(crate) fn run(&mut self) -> Progress {
        loop {
            match self.advance() {
                Ok(Progress::Again) => {}
                Ok(rest) => return rest,
                Err(fault) => self.fail(fault),
            }
        }
    }

    /// Goes once round the loop.
    fn advance(&mut self) -> Result<Progress, Fault> {
        if self.ended.is_some() {
            return Ok(self.after_the_end());
        }
        if self.settle_asks()? == Settled::HistoryIsOver {
            return Ok(Progress::Rest);
        }
        if self.ending.is_some() {
            return self.conclude();
        }
        if self.wants_poll()? {
            self.poll();
            return Ok(Progress::Again);
        }
        self.take_arrival()
    }

    /// Whether there is anything new for the code to see.
    pub(crate) fn wants_poll(&mut self) -> Result<bool, Fault> {
        let Some(program) = &self.program else { return Ok(false) };
        if program.is_untouched() && self.may_be_cancelled_already() {
            return Ok(false);
        }
        let resolved = self.tape.take_resolved();
        let woken = self.tape.window().take_woken();
        if !resolved && !woken {
            return Ok(false);
        }
        if self.idle_polls > MAX_SELF_WAKES_PER_ARRIVAL {
            return Err(fault::spinning());
        }
        self.idle_polls = self.idle_polls.saturating_add(1);
        Ok(true)
    }

    /// Whether the code may never have run. A cancel right behind the start is one that was older than the
    /// start (code that ran left asks in between, or it ended); if the piece of history at hand ends with the
    /// start, the next one tells.
    fn may_be_cancelled_already(&self) -> bool {
        match self.journal.peek() {
            Some(event) => role(event) == Role::Arrival(Arrival::Cancel),
            None => self.live.is_none(),
        }
    }

    /// Step 2: polls the code and collects what it did.
    pub(crate) fn poll(&mut self) {
        let Some(program) = &mut self.program else { return };
        self.program_polls = self.program_polls.saturating_add(1);
        let polled = program.poll();
        let unwound = if matches!(polled, Polled::Panicked(_)) { Unwound::Yes } else { Unwound::No };
        let Collected { asks, drops, read, next, failure } = self.tape.collect(unwound);
        if !read.is_empty() {
            self.reset_idle_polls();
        }
        for id in read {
            self.ledger.close(id);
        }
        self.pending.add(asks);
        self.note_drops(drops);
        let ending = match (polled, failure, next) {
            (Polled::Panicked(message), _, _) => Some(Ending::failed(ErrorDetails::panicked(message))),
            (_, Some(details), _) => Some(Ending::failed(details)),
            (_, None, Some(next)) => Some(Ending::continued(next)),
            (Polled::Returned(returned), None, None) => Some(Ending::returned(returned)),
            (Polled::Pending, None, None) => None,
        };
        if ending.is_some() {
            self.ending = ending;
            self.put_program_away();
        }
    }

    /// Drops the code; its outcome is fixed, or it will not be asked again.
    pub(crate) fn put_program_away(&mut self) {
        if let Some(program) = self.program.take()
            && let Some(message) = program.put_away()
            && self.live.is_some()
        {
            self.notices.push(Notice::PanicAfterEnd { message });
        }
    }

    /// There is news: the code may wake itself as often as before.
    pub(crate) const fn reset_idle_polls(&mut self) {
        self.idle_polls = 0;
    }

    pub(crate) fn finish_turn(&mut self) -> TurnOutput {
        let outcome = self.outcome();
        let waits_for_nothing = self.waits_for_nothing();
        if waits_for_nothing && !self.waited_for_nothing {
            self.notices.push(Notice::WaitsForNothing);
        }
        self.waited_for_nothing = waits_for_nothing;
        let (effects, consumed, custom_status, prune) = match self.live.take() {
            Some(live) => (live.effects, live.consumed, live.custom_status, live.prune),
            None => (Effects::default(), Vec::new(), None, None),
        };
        let waiting = self.waiting(&outcome);
        let items = effects.into_items(&self.who);
        let stats = TurnStats {
            events_replayed: self.journal.take_read_count(),
            program_polls: std::mem::take(&mut self.program_polls),
            future_polls: self.tape.take_future_polls(),
        };
        TurnOutput {
            outcome,
            waits_for_nothing,
            fault_event_id: self.difference.as_ref().and_then(|difference| difference.event_id),
            fault_summary: self.difference.as_ref().map(|difference| difference.summary.clone()),
            waiting,
            events: self.journal.take_appended(),
            worker_items: items.worker,
            retries: items.retries,
            orchestrator_items: items.orchestrator,
            unaddressed: items.unaddressed,
            cancelled_activities: items.cancelled_activities,
            removed_timers: items.removed_timers,
            consumed,
            custom_status,
            prune,
            auto_prune: self.tape.auto_prune(),
            lines: self.tape.take_lines(),
            notices: std::mem::take(&mut self.notices),
            stats,
        }
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        // Whatever the code's destructors do now, they do to an execution that was put away.
        self.put_program_away();
    }
}

/// Runs one cold turn: replays `input.history` through `code`, then takes `input.mail`.
///
/// `prune` answers the host calls of the turn.
///
/// # Errors
///
/// [`TurnError::NotStarted`] if there is neither a history nor a message that starts the execution.
pub fn run_turn(
    input: TurnInput,
    code: OrchestrationHandlerRef,
    mut prune: impl FnMut(&PruneOptions) -> Result<PruneResult, String>,
) -> Result<TurnOutput, TurnError> {
    let TurnInput { identity, history, mail, kv, now } = input;
    let mut execution = Execution::new(identity, kv, code);
    execution.replay(history)?;
    let mut step = execution.turn(mail, now)?;
    loop {
        step = match step {
            Step::Done(output) => return Ok(*output),
            Step::HostCall(HostCall::Prune { options }) => execution.resume(prune(&options))?,
        };
    }
}
