//! What is there, what is in use, and who hears that it no longer is.

use abide_engine::{FnOrchestration, Identity};
use futures_util::FutureExt as _;

use super::*;

const ROOM: usize = 1 << 20;

fn resident(last_event_id: u64) -> Box<Resident> {
    let who = Identity {
        instance: "i".to_owned(),
        execution_id: 1,
        orchestration: "O".to_owned(),
        version: "1.0.0".to_owned(),
    };
    let code = Arc::new(FnOrchestration(|_, input: String| async move { Ok::<_, String>(input) }));
    Box::new(Resident {
        execution: Execution::new(who, BTreeMap::new(), code),
        position: Position { incarnation: 1, execution_id: 1, last_event_id },
        weight: Weight::default(),
        life: Life::default(),
        away: None,
    })
}

/// What is there of `i`, whatever it is.
fn take(cache: &Cache) -> Found {
    cache.take_if("i", |_| true)
}

#[track_caller]
fn here(found: Found) -> Box<Resident> {
    match found {
        Found::Here(resident) => resident,
        other @ (Found::InUse(_) | Found::Nothing) => panic!("it is not here: {other:?}"),
    }
}

#[track_caller]
fn in_use(found: Found) -> oneshot::Receiver<()> {
    match found {
        Found::InUse(over) => over,
        other @ (Found::Here(_) | Found::Nothing) => panic!("it is not in use: {other:?}"),
    }
}

/// Whether whoever waits has heard.
fn is_over(waiting: &mut oneshot::Receiver<()>) -> bool {
    waiting.now_or_never().is_some()
}

#[test]
fn what_was_never_put_is_nothing() {
    let cache = Cache::new(ROOM);
    assert!(matches!(take(&cache), Found::Nothing));
}

#[test]
fn what_is_taken_is_in_use_until_it_is_put_back() {
    let cache = Cache::new(ROOM);
    cache.put("i".to_owned(), resident(1));
    let taken = here(take(&cache));
    let (mut first, mut second) = (in_use(take(&cache)), in_use(take(&cache)));
    assert!(!is_over(&mut first) && !is_over(&mut second));
    cache.put("i".to_owned(), taken);
    assert!(is_over(&mut first) && is_over(&mut second), "everybody hears");
    assert!(here(take(&cache)).away.is_some());
}

#[test]
fn what_is_let_go_of_is_no_longer_in_use() {
    let cache = Cache::new(ROOM);
    cache.put("i".to_owned(), resident(1));
    let taken = here(take(&cache));
    let mut waiting = in_use(take(&cache));
    drop(taken);
    assert!(is_over(&mut waiting));
    assert!(matches!(take(&cache), Found::Nothing));
}

/// What the bound goes by: the weight of all, and who came when.
fn reckoned(cache: &Cache) -> (usize, BTreeMap<u64, String>) {
    let kept = lock(&cache.kept);
    (kept.weight, kept.by_age.clone())
}

#[test]
fn what_is_not_as_wanted_stays_with_its_weight_and_its_age() {
    let cache = Cache::new(ROOM);
    cache.put("i".to_owned(), resident(3));
    let before = reckoned(&cache);
    assert!(matches!(cache.take_if("i", |kept| kept.position.last_event_id == 4), Found::Nothing));
    assert_eq!(reckoned(&cache), before);
    assert_eq!(cache.len(), 1);
    assert_eq!(here(cache.take_if("i", |kept| kept.position.last_event_id == 3)).position.last_event_id, 3);
    assert_eq!(reckoned(&cache), (0, BTreeMap::new()));
}

#[test]
fn what_is_in_use_without_having_been_there_is_waited_for_too() {
    let cache = Cache::new(ROOM);
    let mut fresh = resident(1);
    fresh.away = Some(cache.in_use("i"));
    let mut waiting = in_use(take(&cache));
    assert!(!is_over(&mut waiting));
    cache.put("i".to_owned(), fresh);
    assert!(is_over(&mut waiting));
    assert_eq!(here(take(&cache)).position.last_event_id, 1);
}

#[test]
fn whoever_waits_for_a_use_that_another_replaced_waits_no_longer() {
    let cache = Cache::new(ROOM);
    let older = cache.in_use("i");
    let mut waiting = in_use(take(&cache));
    let newer = cache.in_use("i");
    assert!(is_over(&mut waiting));
    let mut waiting = in_use(take(&cache));
    drop(older);
    assert!(!is_over(&mut waiting), "the end of the older is not that of the newer");
    let mut also_waiting = in_use(take(&cache));
    drop(newer);
    assert!(is_over(&mut waiting) && is_over(&mut also_waiting));
    assert!(lock(&cache.kept).away.is_empty());
}

/// A turn that was slow to hear from the store puts back what is older than what another put meanwhile.
#[test]
fn putting_ends_its_own_use_and_no_newer_one() {
    let cache = Cache::new(ROOM);
    cache.put("i".to_owned(), resident(1));
    let slow = here(take(&cache));
    let newer = cache.in_use("i");
    cache.put("i".to_owned(), slow);
    let mut waiting = in_use(take(&cache));
    drop(newer);
    assert!(is_over(&mut waiting));
    assert_eq!(here(take(&cache)).position.last_event_id, 1);
}

#[test]
fn the_use_of_one_instance_is_not_that_of_another() {
    let cache = Cache::new(ROOM);
    let _other = cache.in_use("j");
    assert!(matches!(take(&cache), Found::Nothing));
    cache.put("i".to_owned(), resident(1));
    here(take(&cache));
}

#[test]
fn without_room_nothing_is_kept_and_its_use_ends() {
    let cache = Cache::new(0);
    let mut fresh = resident(1);
    fresh.away = Some(cache.in_use("i"));
    let mut waiting = in_use(take(&cache));
    cache.put("i".to_owned(), fresh);
    assert!(is_over(&mut waiting));
    assert!(matches!(take(&cache), Found::Nothing));
}

/// Whoever was taken out is not there to be let go of, and whoever comes back may find that others have to go.
#[test]
fn the_one_that_was_not_used_for_the_longest_time_goes_first() {
    let each = Weight::default().total();
    let cache = Cache::new(4 * each);
    for name in ["i", "j", "k", "l"] {
        cache.put(name.to_owned(), resident(1));
    }
    let taken = here(take(&cache));
    cache.put("m".to_owned(), resident(1));
    cache.put("i".to_owned(), taken);
    let names: Vec<_> = lock(&cache.kept).residents.keys().cloned().collect();
    assert_eq!(names, ["i", "k", "l", "m"]);
    assert_eq!(lock(&cache.kept).weight, 4 * each);
}
