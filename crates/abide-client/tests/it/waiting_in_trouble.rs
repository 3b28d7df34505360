//! Waiting while the store is in trouble.

use abide_client::ClientError;
use abide_model::OrchestrationStatus;

use crate::support::{Fault, Telling, World, is_timeout, millis, seconds};

#[tokio::test(start_paused = true)]
async fn an_outage_does_not_end_a_wait() {
    for telling in [Telling::All, Telling::Nothing] {
        for fault in [Fault::NotApplied, Fault::Hang, Fault::Panic] {
            let world = World::telling(telling);
            world.past().started("a").await;
            world.store.reads.last(Some(fault));

            let wait = world.client.wait_for_orchestration("a", seconds(60));
            let (ended, ()) = tokio::join!(biased; wait, async {
                world.at(seconds(10)).await;
                world.past().completed("a", "done").await;
                world.at(seconds(20)).await;
                world.store.reads.last(None);
            });

            assert!(matches!(ended.unwrap(), OrchestrationStatus::Completed { .. }));
            assert!(world.now() <= seconds(26), "{telling:?}, {fault:?}: {:?}", world.now());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_is_said_to() {
    let world = World::new();
    world.store.reads.last(Some(Fault::Panic));
    let waited = world.client.wait_for_orchestration("a", seconds(3)).await.unwrap_err();
    let asked = world.client.get_orchestration_status("a").await.unwrap_err();
    for error in [waited, asked] {
        assert_eq!(error.to_string(), "client: the store panicked while it was asked");
        assert!(error.is_retryable());
    }
}

#[tokio::test(start_paused = true)]
async fn looks_at_a_store_in_trouble_become_rare() {
    let world = World::telling(Telling::Nothing);
    world.store.reads.last(Some(Fault::NotApplied));

    assert!(world.client.wait_for_orchestration("a", seconds(10)).await.is_err());

    assert!((16..=27).contains(&world.store.reads.calls()), "{}", world.store.reads.calls());
}

#[tokio::test(start_paused = true)]
async fn the_last_error_is_reported_when_the_time_is_over() {
    let world = World::new();
    world.store.reads.last(Some(Fault::NotApplied));
    let client = &world.client;

    let errors = [
        client.wait_for_orchestration("a", seconds(3)).await.unwrap_err(),
        client.wait_for_orchestration_typed::<u8>("a", seconds(3)).await.unwrap_err(),
        client.wait_for_status_change("a", 0, seconds(1), seconds(3)).await.unwrap_err(),
        client.wait_for_kv_value("a", "k", seconds(3)).await.unwrap_err(),
    ];

    assert_eq!(world.now(), seconds(12));
    for error in errors {
        assert!(matches!(&error, ClientError::Provider(error) if error.is_retryable()), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn trouble_that_has_passed_is_not_reported() {
    let world = World::new();
    world.store.reads.plan([Fault::NotApplied; 3]);

    assert!(is_timeout(&world.client.wait_for_orchestration("a", seconds(3)).await));

    assert_eq!(world.now(), seconds(3));
}

#[tokio::test(start_paused = true)]
async fn an_error_says_more_than_silence() {
    let world = World::new();
    world.store.reads.plan([Fault::NotApplied]);
    world.store.reads.last(Some(Fault::Hang));

    let ended = world.client.wait_for_orchestration("a", seconds(12)).await;

    assert!(matches!(ended, Err(ClientError::Provider(_))));
    assert_eq!(world.now(), seconds(12));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_gives_a_timeout() {
    let world = World::new();
    world.store.reads.last(Some(Fault::Hang));

    assert!(is_timeout(&world.client.wait_for_orchestration("a", seconds(12)).await));

    assert_eq!(world.now(), seconds(12), "the look that is under way does not prolong it");
    assert_eq!(world.store.reads.calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_short_wait_for_a_store_that_hangs_takes_a_second() {
    let world = World::new();
    world.store.reads.last(Some(Fault::Hang));

    assert!(is_timeout(&world.client.wait_for_orchestration("a", millis(10)).await));

    assert_eq!((world.now(), world.store.reads.calls()), (seconds(1), 1), "a look needs some time");
}

#[tokio::test(start_paused = true)]
async fn a_permanent_error_ends_a_wait_at_once() {
    let world = World::new();
    world.store.reads.plan([Fault::NotApplied, Fault::Refused]);

    let ended = world.client.wait_for_orchestration("a", seconds(60)).await;

    assert!(matches!(ended, Err(ClientError::Provider(error)) if !error.is_retryable()));
    assert!(world.now() < seconds(1));
}

#[tokio::test(start_paused = true)]
async fn a_wait_sees_an_output_that_takes_long_to_read() {
    for telling in [Telling::All, Telling::Nothing] {
        let world = World::telling(telling);
        world.past().started("a").await;
        world.past().kept("a", "k", "7").await;
        world.past().completed("a", "done").await;
        // 64 MiB take as long at a mebibyte per second.
        world.store.reads.last(Some(Fault::SlowBy(64)));

        let ended = world.client.wait_for_orchestration("a", seconds(300)).await;

        assert!(matches!(ended.unwrap(), OrchestrationStatus::Completed { .. }));
        assert!(world.now() <= seconds(150), "{telling:?}: {:?}", world.now());
        assert_eq!(world.client.wait_for_kv_value("a", "k", seconds(300)).await.unwrap(), "7");
    }
}

#[tokio::test(start_paused = true)]
async fn no_look_takes_longer_than_the_largest_payload() {
    const MEBIBYTE: usize = 1024 * 1024;
    let world = World::new().asked_by(|client| client.max_payload_bytes(3 * MEBIBYTE));
    world.store.reads.last(Some(Fault::Hang));

    assert!(is_timeout(&world.client.wait_for_orchestration("a", seconds(100)).await));

    assert_eq!(world.now(), seconds(100));
    // Two looks of five seconds, then of eight, with pauses of up to a second.
    assert_eq!(world.store.reads.calls(), 2 + 11);
}

#[tokio::test(start_paused = true)]
async fn an_answer_takes_the_extra_time_back() {
    let world = World::telling(Telling::Nothing);
    world.past().started("a").await;
    world.store.reads.plan([Fault::Hang; 3]);

    let wait = world.client.wait_for_orchestration("a", seconds(60));
    let (ended, ()) = tokio::join!(biased; wait, async {
        // The three looks take 5, 5 and 10 seconds.
        world.at(seconds(25)).await;
        world.store.reads.plan([Fault::Hang; 2]);
        world.past().completed("a", "done").await;
    });

    assert!(matches!(ended.unwrap(), OrchestrationStatus::Completed { .. }));
    assert!(world.now() <= seconds(36), "{:?}", world.now());
}

#[tokio::test(start_paused = true)]
async fn a_single_read_has_the_time_that_the_caller_chooses() {
    let world = World::new();
    world.past().started("a").await;
    world.store.reads.last(Some(Fault::SlowBy(64)));

    assert!(is_timeout(&world.client.get_orchestration_status("a").await));
    assert_eq!(world.now(), seconds(5));
    let patient = world.client.with_call_timeout(seconds(70));
    assert!(matches!(
        patient.get_orchestration_status("a").await.unwrap(),
        OrchestrationStatus::Running { .. }
    ));
}
