//! Watched tasks.

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_model::{Spawn as _, Task};
use abide_sim::{LocalTasks, VirtualClock};

struct PanicsWhenDropped;

impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

fn sleeper(clock: &VirtualClock, seconds: u64) -> Task {
    clock.sleep(Duration::from_secs(seconds))
}

#[tokio::test(start_paused = true)]
async fn tasks_are_counted_until_they_end() {
    let (clock, tasks) = (VirtualClock::new(), LocalTasks::new());
    tasks.spawn("short", sleeper(&clock, 1));
    tasks.spawn_apart("long", sleeper(&clock, 3));
    assert_eq!((tasks.running(), tasks.names()), (2, vec!["short", "long"]));

    clock.sleep(Duration::from_secs(2)).await;
    assert_eq!((tasks.running(), tasks.names()), (1, vec!["long"]));

    tasks.all_ended().await;
    assert_eq!((tasks.running(), tasks.panicked()), (0, Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_panic_ends_its_task_and_nothing_else() {
    let (clock, tasks) = (VirtualClock::new(), LocalTasks::new());
    tasks.spawn("careful", sleeper(&clock, 1));
    tasks.spawn("plain", Box::pin(async { panic!("words") }));
    tasks.spawn("formatted", Box::pin(async { panic!("words of {}", 2) }));
    tasks.spawn("odd", Box::pin(async { std::panic::panic_any(7) }));
    let dropped = PanicsWhenDropped;
    tasks.spawn(
        "clumsy",
        Box::pin(async move {
            let _kept = &dropped;
        }),
    );

    tasks.all_ended().await;
    assert_eq!(
        tasks.panicked(),
        ["plain: words", "formatted: words of 2", "odd: no message", "clumsy: dropped"]
    );
}

#[tokio::test(start_paused = true)]
async fn tasks_run_in_the_order_they_were_spawned() {
    let (tasks, order) = (LocalTasks::new(), Arc::new(Mutex::new(Vec::new())));
    for number in 0..100 {
        let order = order.clone();
        tasks.spawn("one of many", Box::pin(async move { order.lock().unwrap().push(number) }));
    }
    tasks.all_ended().await;
    assert_eq!(*order.lock().unwrap(), (0..100).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_kill_ends_all_and_lets_nobody_begin() {
    let tasks = LocalTasks::new();
    let held = Arc::new(());
    for _ in 0..3 {
        let held = held.clone();
        tasks.spawn(
            "stuck",
            Box::pin(async move {
                pending::<()>().await;
                drop(held);
            }),
        );
    }
    tokio::task::yield_now().await;

    tasks.kill();
    tasks.all_ended().await;
    let late = held.clone();
    tasks.spawn("late", Box::pin(async move { drop(late) }));

    assert_eq!((tasks.running(), tasks.panicked()), (0, Vec::new()));
    assert_eq!(Arc::strong_count(&held), 1, "what the tasks held is dropped");
}

#[test]
fn tasks_of_a_runtime_that_is_gone_have_ended() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let tasks = runtime.block_on(async { LocalTasks::new() });
    tasks.spawn("stuck", Box::pin(pending()));
    assert_eq!(tasks.running(), 1);
    drop(runtime);
    assert_eq!(tasks.running(), 0);
}

#[test]
fn tasks_are_spawned_from_anywhere() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let tasks = runtime.block_on(async { LocalTasks::new() });
    let elsewhere = std::thread::scope(|scope| {
        scope.spawn(|| tasks.spawn("from elsewhere", Box::pin(async {}))).join().is_ok()
    });
    assert!(elsewhere);
    runtime.block_on(tasks.all_ended());
    assert_eq!(tasks.running(), 0);
}
