//! Waiting: woken where the store tells of changes, polling where it does not, and in time in any case.

use std::time::Duration;

use abide_client::{Client, ClientError};
use abide_model::{AppErrorKind, ErrorDetails, OrchestrationStatus};

use crate::support::{Fault, Telling, World, is_timeout, millis, seconds, text};

/// Every way in which a store may tell, or not.
const EVERY_WAY: [Telling; 4] = [Telling::All, Telling::Nothing, Telling::NothingInSecret, Telling::Ended];

fn completed(output: &str) -> OrchestrationStatus {
    let (custom_status, custom_status_version) = (None, 0);
    OrchestrationStatus::Completed { output: output.to_owned(), custom_status, custom_status_version }
}

/// A wait, and what happens meanwhile.
async fn meanwhile<T>(wait: impl Future<Output = T>, happens: impl Future<Output = ()>) -> T {
    tokio::join!(biased; wait, happens).0
}

#[tokio::test(start_paused = true)]
async fn what_is_there_is_found_at_once_with_one_look() {
    for telling in EVERY_WAY {
        let world = World::telling(telling);
        world.past().started("a").await;
        world.past().kept("a", "k", "7").await;
        world.past().completed("a", "done").await;
        let (client, begun) = (&world.client, world.now());

        assert_eq!(client.wait_for_orchestration("a", Duration::ZERO).await.unwrap(), completed("done"));
        let changed = client.wait_for_status_change("a", 9, seconds(1), Duration::ZERO).await;
        assert_eq!(changed.unwrap(), completed("done"));
        assert_eq!(client.wait_for_kv_value("a", "k", Duration::ZERO).await.unwrap(), "7");
        assert_eq!(client.wait_for_kv_value_typed::<u8>("a", "k", Duration::ZERO).await.unwrap(), 7);

        assert_eq!((world.now(), world.store.reads.calls()), (begun, 4), "{telling:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_is_woken_at_once_and_looks_a_handful_of_times() {
    let world = World::telling(Telling::All);
    world.past().started("a").await;

    let ended = meanwhile(world.client.wait_for_orchestration("a", seconds(3_600)), async {
        world.at(seconds(12)).await;
        world.past().completed("a", "done").await;
    });

    assert_eq!(ended.await.unwrap(), completed("done"));
    assert_eq!(world.now(), seconds(12));
    assert_eq!(world.store.reads.calls(), 4, "at 0, 5 and 10 seconds, and when it was told");
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_what_is_not_there_yet_goes_on() {
    for telling in EVERY_WAY {
        let world = World::telling(telling);

        let ended = meanwhile(world.client.wait_for_orchestration("a", seconds(60)), async {
            world.at(seconds(1)).await;
            world.past().started("a").await;
            world.at(seconds(2)).await;
            world.past().completed("a", "done").await;
        });

        assert_eq!(ended.await.unwrap(), completed("done"), "{telling:?}");
        assert!(world.now() <= seconds(7), "{telling:?}: {:?}", world.now());
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_while_the_first_look_is_on_its_way_is_not_missed() {
    let world = World::telling(Telling::All);
    world.past().started("a").await;
    world.store.reads.plan([Fault::Slow]);

    let ended = meanwhile(world.client.wait_for_orchestration("a", seconds(60)), async {
        world.at(millis(500)).await;
        world.past().completed("a", "done").await;
    });

    assert_eq!(ended.await.unwrap(), completed("done"));
    assert_eq!((world.now(), world.store.reads.calls()), (seconds(1), 2), "listened before it looked");
}

#[tokio::test(start_paused = true)]
async fn a_store_that_forgets_to_tell_is_asked_every_five_seconds() {
    let world = World::telling(Telling::NothingInSecret);
    world.past().started("a").await;

    let ended = meanwhile(world.client.wait_for_orchestration("a", seconds(60)), async {
        world.at(seconds(11)).await;
        world.past().completed("a", "done").await;
    });

    assert_eq!(ended.await.unwrap(), completed("done"));
    assert_eq!((world.now(), world.store.reads.calls()), (seconds(15), 4));
}

#[tokio::test(start_paused = true)]
async fn polling_begins_quickly_and_slows_down() {
    for (telling, extra) in [(Telling::Nothing, 0), (Telling::Ended, 1)] {
        let world = World::telling(telling);
        world.past().started("a").await;

        // Looks at 0, 5, 15, 35, 75, 155, 255, 355 ms; a store that stops telling is asked once more at once.
        let ended = meanwhile(world.client.wait_for_orchestration("a", seconds(60)), async {
            world.at(millis(300)).await;
            world.past().completed("a", "done").await;
        });

        assert_eq!(ended.await.unwrap(), completed("done"));
        assert_eq!((world.now(), world.store.reads.calls()), (millis(355), 8 + extra), "{telling:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn time_is_over_when_it_is_over() {
    for telling in EVERY_WAY {
        for timeout in [Duration::ZERO, millis(1), millis(777), seconds(5), seconds(12)] {
            let world = World::telling(telling);
            world.past().started("a").await;
            let client = &world.client;

            assert!(is_timeout(&client.wait_for_orchestration("a", timeout).await));
            assert_eq!(world.now(), timeout, "{telling:?}");
            assert!(is_timeout(&client.wait_for_orchestration_typed::<u8>("a", timeout).await));
            assert!(is_timeout(&client.wait_for_status_change("a", 0, seconds(1), timeout).await));
            assert!(is_timeout(&client.wait_for_kv_value("a", "k", timeout).await));
            assert!(is_timeout(&client.wait_for_kv_value_typed::<u8>("a", "k", timeout).await));
            assert_eq!(world.now(), 5 * timeout, "{telling:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_came_in_time_is_found_however_long_the_pauses_are() {
    let world = World::telling(Telling::Nothing);
    world.past().started("a").await;

    let wait = world.client.wait_for_status_change("a", 0, seconds(3_600), seconds(60));
    let changed = meanwhile(wait, async {
        world.at(seconds(30)).await;
        world.past().said("a", "halfway").await;
    });

    assert!(matches!(changed.await.unwrap(), OrchestrationStatus::Running { custom_status_version: 1, .. }));
    assert_eq!(world.now(), seconds(60));
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_ever_is_possible() {
    for telling in EVERY_WAY {
        let world = World::telling(telling);
        world.past().started("a").await;
        let wait = async |client: &Client| {
            client.wait_for_orchestration("a", Duration::MAX).await.unwrap();
            client.wait_for_status_change("a", 0, Duration::MAX, Duration::MAX).await.unwrap();
        };

        meanwhile(wait(&world.client), async {
            world.at(seconds(400)).await;
            world.past().completed("a", "done").await;
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_custom_status_is_waited_for() {
    let world = World::telling(Telling::All);
    world.past().started("a").await;
    world.past().said("a", "begun").await;
    let wait = async |seen| {
        let status = world.client.wait_for_status_change("a", seen, seconds(1), seconds(60)).await.unwrap();
        let OrchestrationStatus::Running { custom_status, custom_status_version } = status else {
            panic!("{status:?}");
        };
        (custom_status.unwrap(), custom_status_version)
    };

    assert_eq!(wait(0).await, ("begun".to_owned(), 1), "newer than what was seen");
    let next = meanwhile(wait(1), async {
        world.at(seconds(2)).await;
        world.past().kept("a", "k", "a change of something else").await;
        world.at(seconds(3)).await;
        world.past().said("a", "halfway").await;
    });
    assert_eq!(next.await, ("halfway".to_owned(), 2));
    assert_eq!(world.now(), seconds(3));
}

#[tokio::test(start_paused = true)]
async fn a_custom_status_is_polled_for_at_the_interval_asked_for() {
    for (interval, looks) in [(millis(250), 5), (Duration::ZERO, 1_001)] {
        let world = World::telling(Telling::Nothing);
        world.past().started("a").await;

        assert!(is_timeout(&world.client.wait_for_status_change("a", 0, interval, seconds(1)).await));

        assert_eq!((world.now(), world.store.reads.calls()), (seconds(1), looks));
    }
}

#[tokio::test(start_paused = true)]
async fn the_end_is_news_for_whoever_waits_for_a_custom_status() {
    let world = World::new();
    world.past().started("a").await;

    let changed = meanwhile(world.client.wait_for_status_change("a", 7, seconds(1), seconds(60)), async {
        world.at(seconds(3)).await;
        world.past().completed("a", "done").await;
    });

    assert_eq!(changed.await.unwrap(), completed("done"));
    assert_eq!(world.now(), seconds(3));
}

#[tokio::test(start_paused = true)]
async fn a_value_is_waited_for() {
    for telling in EVERY_WAY {
        let world = World::telling(telling);

        let value = meanwhile(world.client.wait_for_kv_value_typed::<u8>("a", "k", seconds(60)), async {
            world.at(seconds(1)).await;
            world.past().started("a").await;
            world.past().kept("a", "other", "1").await;
            world.at(seconds(2)).await;
            world.past().kept("a", "k", "7").await;
        });

        assert_eq!(value.await.unwrap(), 7, "{telling:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_value_of_another_type_is_invalid() {
    let world = World::new();
    world.past().started("a").await;
    world.past().kept("a", "k", "Ada").await;

    let value = world.client.wait_for_kv_value_typed::<u8>("a", "k", seconds(1)).await;

    assert_eq!(
        text(value),
        "Invalid input: KV deserialization error: value of key 'k' of 'a' is not a `u8`: expected value at line 1 column 1"
    );
}

#[tokio::test(start_paused = true)]
async fn a_typed_output_is_decoded() {
    let world = World::new();
    world.past().started("number").await;
    world.past().completed("number", "7").await;
    world.past().started("text").await;
    world.past().completed("text", "bare").await;
    let client = &world.client;

    let number = client.wait_for_orchestration_typed::<u8>("number", seconds(1)).await;
    assert_eq!(number.unwrap(), Ok(7));
    let bare = client.wait_for_orchestration_typed::<String>("text", seconds(1)).await;
    assert_eq!(bare.unwrap(), Ok("bare".to_owned()));
    let wrong = client.wait_for_orchestration_typed::<u8>("text", seconds(1)).await;
    assert!(matches!(wrong, Err(ClientError::InvalidInput { .. })));
    assert_eq!(
        text(wrong),
        "Invalid input: decode failed: output of 'text' is not a `u8`: expected value at line 1 column 1"
    );
}

#[tokio::test(start_paused = true)]
async fn a_typed_failure_is_its_text() {
    let world = World::new();
    world.past().started("a").await;
    let kind = AppErrorKind::Cancelled { reason: "enough".to_owned() };
    let details = ErrorDetails::Application { kind, message: String::new(), retryable: false };
    world.past().failed("a", details).await;

    let result = world.client.wait_for_orchestration_typed::<u8>("a", seconds(1)).await;

    assert_eq!(result.unwrap(), Err("canceled: enough".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_continues_has_not_ended() {
    let world = World::new();
    world.past().started("a").await;

    let ended = meanwhile(world.client.wait_for_orchestration("a", seconds(60)), async {
        world.at(seconds(1)).await;
        world.past().continued("a", "next").await;
        world.at(seconds(2)).await;
        world.past().completed("a", "done").await;
    });

    assert_eq!(ended.await.unwrap(), completed("done"));
    assert_eq!(world.now(), seconds(2));
}
