//! Who listens to which instance: for stores that tell of changes.
//!
//! A listener has one slot, which says whether there is something it has not taken note of. Telling it again changes
//! nothing, so one that is slow costs no memory; dropping it takes it off the list. Wakers are other people's code: they are
//! called, and dropped, when no lock is held.
//!
//! Deliberately absent: what changed. Whoever is told looks for itself.

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;

use crate::Changes;

/// Everyone who listens to the instances of one store. When it is dropped, nobody has anything to listen to any more.
#[derive(Debug, Default)]
pub struct ChangeListeners(Arc<Mutex<Register>>);

/// Somebody new who listens.
pub struct NewListener {
    /// What it hears.
    pub changes: Changes,
    /// Whether nobody listened to anything before.
    pub is_first: bool,
}

impl fmt::Debug for NewListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewListener").field("is_first", &self.is_first).finish_non_exhaustive()
    }
}

#[derive(Debug, Default)]
struct Register {
    last_number: u64,
    /// Never an instance without a listener.
    slots: BTreeMap<String, BTreeMap<u64, Arc<Slot>>>,
}

#[derive(Debug, Default)]
struct Slot(Mutex<Heard>);

#[derive(Debug, Default)]
struct Heard {
    is_told: bool,
    is_closed: bool,
    waker: Option<Waker>,
}

impl ChangeListeners {
    /// Listens to an instance, which need not exist: what is told from now on is heard.
    #[must_use]
    pub fn listen(&self, instance: &str) -> NewListener {
        let slot = Arc::new(Slot::default());
        let mut register = locked(&self.0);
        let is_first = register.slots.is_empty();
        register.last_number = register.last_number.saturating_add(1);
        let number = register.last_number;
        register.slots.entry(instance.to_owned()).or_default().insert(number, Arc::clone(&slot));
        drop(register);
        let place = Place { register: Arc::downgrade(&self.0), instance: instance.to_owned(), number };
        NewListener { changes: Box::pin(Listener { slot, _place: place }), is_first }
    }

    /// Tells everyone who listens to this instance.
    pub fn tell(&self, instance: &str) {
        let slots: Vec<Arc<Slot>> =
            locked(&self.0).slots.get(instance).into_iter().flat_map(BTreeMap::values).cloned().collect();
        for slot in &slots {
            slot.tell();
        }
    }

    /// Tells everyone.
    pub fn tell_all(&self) {
        let slots: Vec<Arc<Slot>> =
            locked(&self.0).slots.values().flat_map(BTreeMap::values).cloned().collect();
        for slot in &slots {
            slot.tell();
        }
    }

    /// Tells everyone who listens to an instance that is meant.
    pub fn tell_those(&self, is_meant: impl Fn(&str) -> bool) {
        let register = locked(&self.0);
        let meant = register.slots.iter().filter(|(instance, _)| is_meant(instance));
        let slots: Vec<Arc<Slot>> = meant.flat_map(|(_, slots)| slots.values()).cloned().collect();
        drop(register);
        for slot in &slots {
            slot.tell();
        }
    }

    /// Whether nobody listens.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        locked(&self.0).slots.is_empty()
    }
}

impl Drop for ChangeListeners {
    fn drop(&mut self) {
        let slots = std::mem::take(&mut locked(&self.0).slots);
        slots.values().flat_map(BTreeMap::values).for_each(|slot| slot.close());
    }
}

impl Slot {
    fn tell(&self) {
        let mut heard = locked(&self.0);
        heard.is_told = true;
        let waker = heard.waker.take();
        drop(heard);
        waker.into_iter().for_each(Waker::wake);
    }

    fn close(&self) {
        locked(&self.0).is_closed = true;
        self.tell();
    }

    fn poll(&self, context: &Context<'_>) -> Poll<Option<()>> {
        let waker = context.waker().clone();
        let mut heard = locked(&self.0);
        if heard.is_closed {
            return Poll::Ready(None);
        }
        if heard.is_told {
            heard.is_told = false;
            return Poll::Ready(Some(()));
        }
        let former = heard.waker.replace(waker);
        drop(heard);
        drop(former);
        Poll::Pending
    }
}

/// The stream.
struct Listener {
    slot: Arc<Slot>,
    /// Kept until the stream is dropped.
    _place: Place,
}

impl Stream for Listener {
    type Item = ();

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<()>> {
        self.slot.poll(context)
    }
}

/// A place in the register, given up when it is dropped.
struct Place {
    register: Weak<Mutex<Register>>,
    instance: String,
    number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(register) = self.register.upgrade() else { return };
        let mut register = locked(&register);
        let Some(slots) = register.slots.get_mut(&self.instance) else { return };
        let slot = slots.remove(&self.number);
        if slots.is_empty() {
            register.slots.remove(&self.instance);
        }
        drop(register);
        drop(slot);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing can panic while it is held, and what it guards cannot be half changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
