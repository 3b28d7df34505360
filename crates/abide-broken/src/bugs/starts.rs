//! Starting an instance.

use std::collections::BTreeSet;
use std::sync::Mutex;

use abide_model::WorkItem;
use abide_provider::{AdminRefusal, Enqueue, Operation, RequestKey, Start};
use async_trait::async_trait;

use crate::bug::{Bug, StoreAnswer};
use crate::planted::bugs;
use crate::store::{Store, addressee};

bugs! {
    /// A start is answered for, and never sent.
    CreatedAndNotSent => "starts::test_start_creates_what_is_not_there";
    /// A delayed start comes at once.
    StartNotDelayed => "starts::test_delayed_start_comes_after_its_delay";
    /// An instance that has ended is started again.
    EndedIsStarted => "starts::test_start_of_an_instance_says_that_it_exists";
    /// An instance that exists is sent the start all the same.
    ExistsAndSent => "starts::test_start_of_an_instance_says_that_it_exists";
    /// Any message starts an instance.
    AnythingStarts => "starts::test_only_a_start_starts_an_instance";
    /// A start in the queue is not looked for.
    QueuedStartUnseen => "starts::test_start_sees_a_start_that_waits";
    /// Of starts in the queue only visible ones are looked for.
    DelayedStartUnseen => "starts::test_start_sees_a_start_that_is_delayed";
    /// A start that is leased is not looked for.
    LeasedStartUnseen => "starts::test_start_sees_a_start_that_is_leased";
    /// A successor in the queue is not looked for.
    SuccessorUnseen => "starts::test_start_sees_a_successor_that_waits";
    /// A name that has any mail is an instance.
    MailExists => "starts::test_start_is_not_hindered_by_other_mail";
    /// A repeated start is told of what its first call created.
    RepetitionExists => "starts::test_repeated_start_is_answered_like_the_first";
    /// A start that met an instance is answered the same for ever.
    ExistsForEver { keys: Mutex<BTreeSet<RequestKey>> } => "starts::test_repeated_start_that_met_an_instance_looks_again";
    /// The key of what was refused is remembered.
    RefusedStartRemembered { keys: Mutex<BTreeSet<RequestKey>> } => "starts::test_refused_start_is_not_remembered";
    /// Looking and sending are two transactions.
    LooksThenSends => "starts::test_starts_at_the_same_time_create_one";
    /// A key is looked for before the transaction.
    KeyLookedForTooEarly { keys: Mutex<BTreeSet<RequestKey>> } => "starts::test_repetitions_of_a_start_at_the_same_time_all_created";
    /// A name that was started once cannot be started again.
    NameUsedUp { names: Mutex<BTreeSet<String>> } => "starts::test_start_after_deletion_creates_anew";
    /// A message for an instance that does not exist is stored although the sender wants it not to be.
    AbsentIsSent => "starts::test_message_for_an_existing_instance_is_not_stored_without_one";
    /// An instance whose start is queued does not exist for a message that wants one.
    QueuedStartIsAbsent => "starts::test_message_for_an_existing_instance_sees_a_start_that_waits";
    /// The key of a message that was rejected is remembered.
    AbsentRemembered { keys: Mutex<BTreeSet<RequestKey>> } => "starts::test_message_for_nobody_is_not_remembered";
}

/// Sends a start without looking.
async fn send(store: &Store, request: Enqueue) -> StoreAnswer<Start> {
    store.enqueue_once(request).await.map(|()| Start::Created)
}

/// The starts in the mailbox of what is no instance: what they are, whether they are visible, whether they are leased.
fn queued(store: &Store, name: &str) -> Vec<(String, Visible, Leased)> {
    let dump = store.dump();
    let batch = dump.instances.get(name).map(|instance| instance.batch.clone()).unwrap_or_default();
    let of_name = dump.messages.iter().filter(|(_, message)| message.mailbox == name);
    let starts = of_name.filter(|(_, message)| ["Start", "ContinueAsNew"].contains(&message.class.as_str()));
    starts
        .map(|(number, message)| {
            let visible = Visible(message.visible_at.is_none());
            (message.class.clone(), visible, Leased(batch.contains(number)))
        })
        .collect()
}

#[derive(Clone, Copy)]
struct Visible(bool);

#[derive(Clone, Copy)]
struct Leased(bool);

/// Sends if the only starts that wait for the same name are overlooked.
async fn overlooking(
    store: &Store,
    request: Enqueue,
    is_overlooked: impl Fn(&(String, Visible, Leased)) -> bool + Send,
) -> StoreAnswer<Start> {
    let name = addressee(&request.item).to_owned();
    let waiting = queued(store, &name);
    if !store.is_instance(&name) && !waiting.is_empty() && waiting.iter().all(is_overlooked) {
        return send(store, request).await;
    }
    store.start_once(request).await
}

#[async_trait]
impl Bug for CreatedAndNotSent {
    async fn start_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<Start> {
        let name = addressee(&request.item).to_owned();
        let answer = store.start_once(request).await?;
        if answer == Start::Created && !store.is_instance(&name) {
            store.remove_mail(&name, |_| true).await;
        }
        Ok(answer)
    }
}

#[async_trait]
impl Bug for StartNotDelayed {
    async fn start_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<Start> {
        store.start_once(Enqueue { delay: None, ..request }).await
    }
}

#[async_trait]
impl Bug for EndedIsStarted {
    async fn start_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<Start> {
        let info = store.read_status(addressee(&request.item)).await;
        let has_ended =
            info.is_ok_and(|status| matches!(status, abide_model::OrchestrationStatus::Completed { .. }));
        if has_ended { send(store, request).await } else { store.start_once(request).await }
    }
}

#[async_trait]
impl Bug for ExistsAndSent {
    async fn start_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<Start> {
        let answer = store.start_once(request.clone()).await?;
        if answer == Start::Exists && store.is_instance(addressee(&request.item)) {
            send(store, request).await?;
        }
        Ok(answer)
    }
}

#[async_trait]
impl Bug for AnythingStarts {
    async fn start_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<Start> {
        let is_signal = matches!(request.item, WorkItem::ExternalRaised { .. });
        if is_signal { send(store, request).await } else { store.start_once(request).await }
    }
}

#[async_trait]
impl Bug for QueuedStartUnseen {
    async fn start_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<Start> {
        overlooking(store, request, |_| true).await
    }
}

#[async_trait]
impl Bug for DelayedStartUnseen {
    async fn start_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<Start> {
        overlooking(store, request, |(_, Visible(is_visible), _)| !is_visible).await
    }
}

#[async_trait]
impl Bug for LeasedStartUnseen {
    async fn start_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<Start> {
        overlooking(store, request, |(_, _, Leased(is_leased))| *is_leased).await
    }
}

#[async_trait]
impl Bug for SuccessorUnseen {
    async fn start_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<Start> {
        overlooking(store, request, |(class, ..)| class == "ContinueAsNew").await
    }
}

#[async_trait]
impl Bug for MailExists {
    async fn start_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<Start> {
        let name = addressee(&request.item);
        if store.dump().instances.contains_key(name) && queued(store, name).is_empty() {
            return Ok(Start::Exists);
        }
        store.start_once(request).await
    }
}

#[async_trait]
impl Bug for RepetitionExists {
    async fn start_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<Start> {
        if store.is_instance(addressee(&request.item)) {
            return Ok(Start::Exists);
        }
        store.start_once(request).await
    }
}

#[async_trait]
impl Bug for ExistsForEver {
    async fn start_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<Start> {
        let key = request.key;
        if self.keys.lock().unwrap().contains(&key) {
            return Ok(Start::Exists);
        }
        let answer = store.start_once(request).await?;
        if answer == Start::Exists {
            self.keys.lock().unwrap().insert(key);
        }
        Ok(answer)
    }
}

#[async_trait]
impl Bug for RefusedStartRemembered {
    async fn start_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<Start> {
        let key = request.key;
        let answer = store.start_once(request.clone()).await;
        if answer.is_err() {
            self.keys.lock().unwrap().insert(key);
        } else if self.keys.lock().unwrap().contains(&key) {
            store.remove_mail(addressee(&request.item), |_| true).await;
        }
        answer
    }
}

#[async_trait]
impl Bug for LooksThenSends {
    async fn start_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<Start> {
        let name = addressee(&request.item).to_owned();
        let is_free = !store.is_instance(&name) && queued(store, &name).is_empty();
        tokio::task::yield_now().await;
        let is_start = matches!(request.item, WorkItem::StartOrchestration { .. });
        if is_free && is_start { send(store, request).await } else { store.start_once(request).await }
    }
}

#[async_trait]
impl Bug for KeyLookedForTooEarly {
    async fn start_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<Start> {
        let (key, name) = (request.key, addressee(&request.item).to_owned());
        let is_seen = self.keys.lock().unwrap().contains(&key);
        tokio::task::yield_now().await;
        let _moment = store.moment().await;
        if !is_seen && (store.is_instance(&name) || !queued(store, &name).is_empty()) {
            return Ok(Start::Exists);
        }
        let answer = store.start_once(request).await?;
        self.keys.lock().unwrap().insert(key);
        Ok(answer)
    }
}

#[async_trait]
impl Bug for NameUsedUp {
    async fn start_once(&self, store: &Store, request: Enqueue) -> StoreAnswer<Start> {
        let name = addressee(&request.item).to_owned();
        let is_used = self.names.lock().unwrap().contains(&name) && !store.is_instance(&name);
        if is_used && queued(store, &name).is_empty() {
            return Ok(Start::Exists);
        }
        let answer = store.start_once(request).await?;
        self.names.lock().unwrap().insert(name);
        Ok(answer)
    }
}

#[async_trait]
impl Bug for AbsentIsSent {
    async fn enqueue_existing(&self, store: &Store, request: Enqueue) -> StoreAnswer<()> {
        let answer = store.enqueue_existing(request.clone()).await;
        if answer.is_err() {
            store.enqueue_once(request).await?;
        }
        answer
    }
}

#[async_trait]
impl Bug for QueuedStartIsAbsent {
    async fn enqueue_existing(&self, store: &Store, request: Enqueue) -> StoreAnswer<()> {
        let name = addressee(&request.item).to_owned();
        if store.is_instance(&name) {
            return store.enqueue_existing(request).await;
        }
        Err(AdminRefusal::not_found(name).store_error(Operation::EnqueueExisting))
    }
}

#[async_trait]
impl Bug for AbsentRemembered {
    async fn enqueue_existing(&self, store: &Store, request: Enqueue) -> StoreAnswer<()> {
        if self.keys.lock().unwrap().contains(&request.key) {
            return Ok(());
        }
        let answer = store.enqueue_existing(request.clone()).await;
        if answer.is_err() {
            self.keys.lock().unwrap().insert(request.key);
        }
        answer
    }
}
