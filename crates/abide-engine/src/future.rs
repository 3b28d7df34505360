//! [`DurableFuture`]: a handle to something that survives crashes.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use abide_model::{ErrorDetails, EventId, ScheduleKind};

use crate::ask::Family;
use crate::tape::{Answer, TagRefused, Tape, Try};
use crate::token::Token;

/// Something an orchestration asked for: an activity, a timer, an event, a child.
///
/// It was asked for when it was made, not when it is awaited. Dropping it before it is ready takes the
/// request back: an activity is cancelled, a child too, a wait or dequeue frees its place, a timer is
/// removed. It works with every combinator that uses wakers (`join!`, `join_all`, `FuturesUnordered`,
/// `future::select`, `select_all`, `select_biased!`); `select!` of the futures crate shuffles its branches
/// and is safe only where no two of them can be ready at once.
#[must_use = "dropping a durable future takes back what it stands for"]
pub struct DurableFuture<T> {
    claim: Claim,
    /// Turns the answer into what the user awaits; `None` once it did.
    convert: Option<Convert<T>>,
}

type Convert<T> = Box<dyn FnOnce(Answer) -> Result<T, Undeliverable> + Send>;

/// An answer that cannot be given to the code: the orchestration fails with this message.
#[derive(Debug)]
pub(crate) struct Undeliverable(pub(crate) String);

impl<T> DurableFuture<T> {
    /// The future of an ask; without a token (the ask did not count) it is never ready.
    pub(crate) fn of(
        tape: &Arc<Tape>,
        token: Option<Token>,
        convert: impl FnOnce(Answer) -> Result<T, Undeliverable> + Send + 'static,
    ) -> Self {
        let state = token.map_or(ClaimState::Void, ClaimState::Waiting);
        Self { claim: Claim { tape: Arc::clone(tape), state }, convert: Some(Box::new(convert)) }
    }

    /// A future that is ready at once, without anything having been asked.
    pub(crate) fn ready(
        tape: &Arc<Tape>,
        family: Family,
        answer: Answer,
        convert: impl FnOnce(Answer) -> Result<T, Undeliverable> + Send + 'static,
    ) -> Self {
        let claim = Claim { tape: Arc::clone(tape), state: ClaimState::Answered(family, Some(answer)) };
        Self { claim, convert: Some(Box::new(convert)) }
    }
}

impl<T> DurableFuture<T> {
    /// Notes which try of a retried activity this is, or which one it follows. To be called as soon as it is
    /// made.
    pub(crate) fn noting_try(self, attempt: Try) -> Self {
        if let ClaimState::Waiting(token) = self.claim.state {
            self.claim.tape.note_try(token, attempt);
        }
        self
    }

    /// The event that records what was asked for, while the future waits and once the event is written.
    pub(crate) fn event_id(&self) -> Option<EventId> {
        match self.claim.state {
            ClaimState::Waiting(token) => self.claim.tape.event_of(token),
            ClaimState::Void | ClaimState::Answered(..) | ClaimState::Done => None,
        }
    }
}

impl<T: Send + 'static> DurableFuture<T> {
    /// Changes what the future gives, keeping what it stands for: dropping the result still takes the
    /// request back, and [`with_tag`](Self::with_tag) still works.
    ///
    /// If `f` panics, the orchestration fails with that panic.
    pub fn map<U: Send + 'static>(self, f: impl FnOnce(T) -> U + Send + 'static) -> DurableFuture<U> {
        let Self { claim, convert } = self;
        let convert = convert.map(|convert| -> Convert<U> { Box::new(move |answer| convert(answer).map(f)) });
        DurableFuture { claim, convert }
    }

    /// Routes an activity to workers that serve `tag`.
    ///
    /// Call it on the future as soon as it is made: the request is sealed when the orchestration next
    /// waits for something.
    ///
    /// # Panics
    ///
    /// If this is not the future of an activity, or if the request is sealed. The panic fails the
    /// orchestration, nothing else.
    pub fn with_tag(self, tag: impl Into<String>) -> Self {
        if let Some(refusal) = self.claim.tag(tag.into()) {
            panic!("{refusal}");
        }
        self
    }
}

impl<T> Future for DurableFuture<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let Poll::Ready(answer) = self.claim.poll(cx) else { return Poll::Pending };
        let Some(convert) = self.convert.take() else { return Poll::Pending };
        match convert(answer) {
            Ok(value) => Poll::Ready(value),
            Err(Undeliverable(message)) => {
                self.claim.tape.fail(ErrorDetails::orchestration_failed(message));
                Poll::Pending
            }
        }
    }
}

// The boxed closure is never pinned: a durable future may be moved between polls.
impl<T> Unpin for DurableFuture<T> {}

impl<T> fmt::Debug for DurableFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DurableFuture").field("state", &self.claim.state).finish_non_exhaustive()
    }
}

/// The hold a future has on its request. Its drop takes the request back, so that the future itself needs
/// no destructor and can be taken apart.
struct Claim {
    tape: Arc<Tape>,
    state: ClaimState,
}

#[derive(Debug)]
enum ClaimState {
    /// Never asked: never ready.
    Void,
    Waiting(Token),
    /// Ready without having been asked; empty once given.
    Answered(Family, Option<Answer>),
    /// Given.
    Done,
}

impl Claim {
    fn poll(&mut self, cx: &Context<'_>) -> Poll<Answer> {
        match &mut self.state {
            ClaimState::Void | ClaimState::Done => Poll::Pending,
            ClaimState::Answered(_, answer) => answer.take().map_or(Poll::Pending, Poll::Ready),
            ClaimState::Waiting(token) => {
                let polled = self.tape.poll_answer(*token, cx.waker());
                if polled.is_ready() {
                    self.state = ClaimState::Done;
                }
                polled
            }
        }
    }

    /// Tags the activity; says why not.
    fn tag(&self, tag: String) -> Option<String> {
        let token = match self.state {
            ClaimState::Waiting(token) => token,
            ClaimState::Void | ClaimState::Answered(Family::Activity, _) => return None,
            ClaimState::Answered(family, _) => return Some(not_an_activity(family, String::new(), None)),
            ClaimState::Done => {
                return Some("with_tag(): the future has already given its result".to_owned());
            }
        };
        match self.tape.tag_activity(token, tag) {
            Ok(()) => None,
            Err(TagRefused::NotAnActivity(family, name)) => Some(not_an_activity(family, name, Some(token))),
            Err(TagRefused::Sealed) => Some(format!(
                "with_tag(): token {} not found in emitted_actions — actions were drained before with_tag() \
                 was called; call it directly on the future that schedule_activity returns",
                token.get()
            )),
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let ClaimState::Waiting(token) = self.state {
            self.tape.drop_future(token);
        }
    }
}

fn not_an_activity(family: Family, name: String, token: Option<Token>) -> String {
    let kind = match family {
        Family::Activity => ScheduleKind::Activity { name },
        Family::Timer => ScheduleKind::Timer,
        Family::Wait => ScheduleKind::ExternalWait { event_name: name },
        Family::Dequeue => ScheduleKind::QueueDequeue { event_name: name },
        Family::Child => ScheduleKind::SubOrchestration { token: token.map_or(0, Token::get) },
        Family::Prune => {
            return "with_tag() can only be called on activity futures, got a prune".to_owned();
        }
    };
    format!("with_tag() can only be called on activity futures, got {kind:?}")
}
