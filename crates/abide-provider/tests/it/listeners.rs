//! Those who listen to an instance are told, once for many changes, and forgotten when they go.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};

use abide_provider::{ChangeListeners, Changes, NewListener};
use futures::{FutureExt as _, StreamExt as _};

fn listen(listeners: &ChangeListeners, instance: &str) -> Changes {
    let NewListener { changes, is_first: _ } = listeners.listen(instance);
    changes
}

/// How often it is told, without waiting; nothing more comes after its end.
fn heard(changes: &mut Changes) -> usize {
    std::iter::from_fn(|| changes.next().now_or_never().flatten()).count()
}

fn has_ended(changes: &mut Changes) -> bool {
    changes.next().now_or_never() == Some(None)
}

#[derive(Default)]
struct Calls(AtomicUsize);

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Calls {
    fn made(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

#[test]
fn what_is_told_before_the_first_poll_is_heard() {
    let listeners = ChangeListeners::default();
    let mut changes = listen(&listeners, "a");
    listeners.tell("a");
    assert_eq!(heard(&mut changes), 1);
}

#[test]
fn many_changes_that_nobody_took_note_of_are_one() {
    let listeners = ChangeListeners::default();
    let mut changes = listen(&listeners, "a");
    for _ in 0..1_000 {
        listeners.tell("a");
    }
    assert_eq!(heard(&mut changes), 1);
    listeners.tell("a");
    assert_eq!(heard(&mut changes), 1);
}

#[test]
fn only_those_who_listen_to_the_instance_are_told() {
    let listeners = ChangeListeners::default();
    let [mut first, mut second, mut other] = ["a", "a", "b"].map(|instance| listen(&listeners, instance));
    listeners.tell("a");
    assert_eq!([&mut first, &mut second, &mut other].map(heard), [1, 1, 0]);
    listeners.tell_all();
    assert_eq!([&mut first, &mut second, &mut other].map(heard), [1, 1, 1]);
}

#[test]
fn a_reader_that_waits_is_woken_once() {
    let listeners = ChangeListeners::default();
    let mut changes = listen(&listeners, "a");
    let calls = Arc::new(Calls::default());
    let waker = Waker::from(Arc::clone(&calls));
    let mut context = Context::from_waker(&waker);
    assert!(changes.poll_next_unpin(&mut context).is_pending());
    listeners.tell("a");
    listeners.tell("a");
    assert_eq!(calls.made(), 1);
    assert!(changes.poll_next_unpin(&mut context).is_ready());
}

#[test]
fn the_last_one_who_polled_is_woken() {
    let listeners = ChangeListeners::default();
    let mut changes = listen(&listeners, "a");
    let [former, last] = [(); 2].map(|()| Arc::new(Calls::default()));
    for calls in [&former, &last] {
        let waker = Waker::from(Arc::clone(calls));
        assert!(changes.poll_next_unpin(&mut Context::from_waker(&waker)).is_pending());
    }
    listeners.tell("a");
    assert_eq!([former.made(), last.made()], [0, 1]);
}

#[test]
fn one_who_goes_is_forgotten_and_the_first_is_known() {
    let listeners = ChangeListeners::default();
    assert!(listeners.is_empty());
    let first = listeners.listen("a");
    let second = listeners.listen("a");
    assert_eq!([first.is_first, second.is_first], [true, false]);
    drop(first);
    assert!(!listeners.is_empty());
    drop(second);
    assert!(listeners.is_empty());
    assert!(listeners.listen("b").is_first);
}

#[test]
fn there_is_nothing_to_hear_after_the_end() {
    let listeners = ChangeListeners::default();
    let mut changes = listen(&listeners, "a");
    assert!(!has_ended(&mut changes));
    drop(listeners);
    assert!(has_ended(&mut changes));
    assert!(has_ended(&mut changes));
}

/// Listens no more when it is woken.
struct Leaves(Mutex<Option<Changes>>, Arc<ChangeListeners>);

impl Wake for Leaves {
    fn wake(self: Arc<Self>) {
        let changes = self.0.lock().unwrap().take();
        drop(changes);
        assert!(self.1.is_empty());
    }
}

#[test]
fn a_waker_may_do_anything_with_the_listeners() {
    let listeners = Arc::new(ChangeListeners::default());
    let changes = listen(&listeners, "a");
    let leaves = Arc::new(Leaves(Mutex::new(Some(changes)), Arc::clone(&listeners)));
    let waker = Waker::from(Arc::clone(&leaves));
    let polled = leaves
        .0
        .lock()
        .unwrap()
        .as_mut()
        .map(|changes| changes.poll_next_unpin(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!(polled, Some(true));
    listeners.tell("a");
    assert!(listeners.is_empty());
}
