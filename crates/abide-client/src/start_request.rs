//! Starting an orchestration, and being told whether it was there already.

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use abide_provider::{Ability, Enqueue, Start as Answer};
use serde::Serialize;

use crate::start::{Start, encode};
use crate::validate::check_delay;
use crate::{Client, ClientError, StartError};

impl Client {
    /// Starts an instance, in words:
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    ///
    /// use abide_client::{Client, Started};
    /// use abide_memory::InMemoryProvider;
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let client = Client::new(Arc::new(InMemoryProvider::new()));
    /// let started = client
    ///     .start("order-1", "Ship")
    ///     .input("two boxes")
    ///     .delay(Duration::from_secs(60))
    ///     .await?;
    /// assert_eq!(started, Started::Created);
    /// # Ok::<(), abide_client::StartError>(())
    /// # }).unwrap();
    /// ```
    ///
    /// Nothing is sent before the request is awaited.
    pub fn start(&self, instance: impl Into<String>, orchestration: impl Into<String>) -> StartRequest {
        StartRequest {
            client: self.clone(),
            instance: instance.into(),
            orchestration: orchestration.into(),
            input: Ok(String::new()),
            version: None,
            delay: None,
            if_exists: IfExists::Accept,
        }
    }
}

/// An instance to be started; see [`Client::start`].
#[derive(Clone)]
#[must_use = "nothing is started before the request is awaited"]
pub struct StartRequest {
    client: Client,
    instance: String,
    orchestration: String,
    input: Result<String, ClientError>,
    version: Option<String>,
    delay: Option<Duration>,
    if_exists: IfExists,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IfExists {
    Accept,
    Refuse,
}

impl StartRequest {
    /// What its code is given; an empty text unless told.
    pub fn input(mut self, input: impl Into<String>) -> Self {
        self.input = Ok(input.into());
        self
    }

    /// The same as a value. If it has no JSON form, sending says so.
    pub fn typed_input<In: Serialize + ?Sized>(mut self, input: &In) -> Self {
        self.input = encode(input);
        self
    }

    /// Which version of the handler runs, instead of the one that the registry's policy chooses.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// How long to wait before it starts. Until then it is not to be found, but its name is taken.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = Some(delay);
        self
    }

    /// If there is one of that name, running or ended, or one is about to be, that is an error.
    pub fn or_refuse(mut self) -> Self {
        self.if_exists = IfExists::Refuse;
        self
    }

    /// Sends it. Awaiting the request does the same.
    ///
    /// # Errors
    ///
    /// [`StartError::AlreadyExists`] if [`or_refuse`](Self::or_refuse) was said and there is one.
    /// [`ClientError::InvalidInput`] if the id or the name is empty or too long, the id is reserved for
    /// children, the delay is longer than a hundred years, the input is too large or has no JSON form. A
    /// retryable error or
    /// [`ClientError::Timeout`] if nobody can say whether it was started.
    pub async fn send(self) -> Result<Started, StartError> {
        let Self { client, instance, orchestration, input, version, delay, if_exists } = self;
        let instance_id = instance.clone();
        let item = Start::new(instance, orchestration)?.item(version, input?)?;
        check_delay(delay)?;
        let bytes = client.check(&item)?;
        let request = Enqueue { item, delay, key: client.fresh_key() };
        // Without atomic starts, a repetition would find what it started itself and take it for somebody else's.
        let lost_answer = client.lost_answers(&[Ability::KeyedRequests, Ability::AtomicStarts]);
        let answer =
            client.persist(lost_answer, bytes, || client.store().start_once(request.clone())).await?;
        match (answer, if_exists) {
            (Answer::Created, IfExists::Accept | IfExists::Refuse) => Ok(Started::Created),
            (Answer::Exists, IfExists::Accept) => Ok(Started::AlreadyExisted),
            (Answer::Exists, IfExists::Refuse) => Err(StartError::AlreadyExists { instance_id }),
        }
    }
}

impl IntoFuture for StartRequest {
    type Output = Result<Started, StartError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}

/// Shows no input: it is the user's business.
impl fmt::Debug for StartRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StartRequest")
            .field("instance", &self.instance)
            .field("orchestration", &self.orchestration)
            .field("version", &self.version)
            .field("delay", &self.delay)
            .field("if_exists", &self.if_exists)
            .finish_non_exhaustive()
    }
}

/// What became of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Started {
    /// It was sent: the instance will run.
    Created,
    /// There was an instance of that name, running or ended, or one was about to be. Nothing was sent.
    AlreadyExisted,
}
