//! Calls of many callers that become one.

use std::sync::Arc;
use std::time::Duration;

use abide_provider::{Operation, StoreError};
use futures_channel::oneshot;

use super::connection::{Connection, TRIES};
use super::patience::Patience;
use crate::error::{CallError, CallErrorKind};
use crate::hatch::Handed;
use crate::news::News;
use crate::shared::Shared;

/// What goes together carries no more than this, unless one alone does: a call must come to an end in time.
pub(crate) const MOST_BYTES: usize = 16 * 1024 * 1024;

/// Something that is done together with others of its kind, each for itself.
pub(crate) trait Batched: Send + Sized + 'static {
    /// What whoever waits is told.
    type Answer: Send + 'static;

    /// At most this many at once.
    const MOST: usize;

    /// What it must be alone about.
    fn key(&self) -> Key;

    /// An instance that it looks at before it changes anything: in one call it waits for those before it that touch that one. (Between
    /// callers there is no order.)
    fn minds(&self) -> Option<&str> {
        None
    }

    /// The other instances that it changes.
    fn touches(&self) -> impl Iterator<Item = &str> {
        std::iter::empty()
    }

    /// How much it carries, of what has no bound.
    fn bytes(&self) -> usize {
        0
    }

    /// Makes one call for all.
    async fn call(
        connection: &Connection<'_>,
        shared: &Arc<Shared>,
        batch: &mut [Waiting<Self>],
    ) -> Result<Answers<Self::Answer>, CallError>;
}

/// What a call brought.
pub(crate) struct Answers<A> {
    /// One for each that it was made for, in order.
    pub(crate) each: Vec<Result<A, StoreError>>,
    /// What it leased for others.
    pub(crate) handed: Handed,
    /// What those who wait want to know.
    pub(crate) news: News,
}

impl<A> From<Vec<Result<A, StoreError>>> for Answers<A> {
    fn from(each: Vec<Result<A, StoreError>>) -> Self {
        Self { each, handed: Handed::default(), news: News::default() }
    }
}

/// Two with the same key do not go together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    /// Goes with everything.
    Any,
    /// Goes with nothing.
    Alone,
    Number(i64),
    Name(String),
}

/// Something to do, and who waits for it.
#[derive(Debug)]
pub(crate) struct Waiting<B: Batched> {
    pub(crate) what: B,
    pub(crate) operation: Operation,
    /// In monotonic time.
    pub(crate) since: Duration,
    reply: oneshot::Sender<Result<B::Answer, StoreError>>,
}

/// Where the answer arrives.
pub(crate) type Reply<A> = oneshot::Receiver<Result<A, StoreError>>;

impl<B: Batched> Waiting<B> {
    pub(crate) fn new(operation: Operation, what: B, since: Duration) -> (Self, Reply<B::Answer>) {
        let (reply, answer) = oneshot::channel();
        (Self { what, operation, since, reply }, answer)
    }

    /// A caller that has gone away does not need it.
    pub(crate) fn answer(self, answer: Result<B::Answer, StoreError>) {
        let _unheard = self.reply.send(answer);
    }
}

/// How long a call for all of these may take.
pub(crate) fn patience_of<B: Batched>(batch: &[Waiting<B>]) -> Patience {
    let bytes = batch.iter().map(|waiting| waiting.what.bytes()).fold(0, usize::saturating_add);
    Patience::SHORT.carrying(bytes)
}

/// Does them together; if that may have failed because of one of them, apart.
pub(crate) async fn run<B: Batched>(
    connection: &Connection<'_>,
    shared: &Arc<Shared>,
    mut batch: Vec<Waiting<B>>,
) {
    let error = match attempt(connection, shared, &mut batch).await {
        Ok(mut answers) => {
            // Who listens is told before whoever changed something knows that he did.
            shared.tell(answers.news.take_seen());
            for (waiting, answer) in batch.into_iter().zip(answers.each) {
                waiting.answer(answer);
            }
            // First what was leased for them: whoever hears that there is more should not look before he has it.
            answers.handed.hand_over();
            return shared.tell(answers.news);
        }
        Err(error) => error,
    };
    let may_be_one =
        matches!(error.kind, CallErrorKind::Collided | CallErrorKind::Suspect | CallErrorKind::Refused);
    if batch.len() == 1 || !may_be_one || connection.is_broken() {
        for waiting in batch {
            let told = error.clone().of(waiting.operation);
            waiting.answer(Err(told));
        }
        return;
    }
    // By halves: whoever is in the way holds up his half, and not each one alone.
    let rest = batch.split_off(batch.len() / 2);
    for half in [batch, rest] {
        Box::pin(run(connection, shared, half)).await;
    }
}

/// One call; one alone is made again if others were in its way.
async fn attempt<B: Batched>(
    connection: &Connection<'_>,
    shared: &Arc<Shared>,
    batch: &mut [Waiting<B>],
) -> Result<Answers<B::Answer>, CallError> {
    let tries = if batch.len() == 1 { TRIES } else { 1 };
    let mut answer = B::call(connection, shared, batch).await;
    for _ in 1..tries {
        if !matches!(&answer, Err(error) if error.kind == CallErrorKind::Collided) {
            break;
        }
        answer = B::call(connection, shared, batch).await;
    }
    answer
}
