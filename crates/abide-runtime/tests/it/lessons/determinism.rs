//! §3.2: what is decided once is decided the same way on every replay.

use std::time::Duration;

use abide_engine::OrchestrationContext;
use abide_model::Either2;
use tracing::subscriber::with_default;

use super::listener::Listener;
use super::scene::{Code, Scene, Way, every_way, ways};

const DAY: Duration = Duration::from_secs(86_400);

/// Sends messages to the queue `q` while the instance waits for its timer.
async fn send_before_the_timer(scene: &Scene, messages: &[&str]) {
    scene.start("it", "It", "").await;
    scene.until_idle("it").await;
    for message in messages {
        scene.client().enqueue_event("it", "q", *message).await.unwrap();
    }
}

#[test]
fn lesson_03_16_dequeues_polled_in_another_order_than_made_decide_the_same_on_replay() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("It", |ctx, _| async move {
            ctx.schedule_timer(Duration::from_secs(1)).await;
            let (older, younger) = (ctx.dequeue_event("q"), ctx.dequeue_event("q"));
            let first = match ctx.select2(younger, older).await {
                Either2::First(data) => format!("younger {data}"),
                Either2::Second(data) => format!("older {data}"),
            };
            let echo = ctx.schedule_activity("Echo", first).await?;
            Ok(format!("{echo}, {}", ctx.dequeue_event("q").await))
        });
        scene.node(code).await;
        send_before_the_timer(&scene, &["m1", "m2"]).await;
        assert_eq!(scene.end_of("it").await.unwrap(), "younger m2, m1");
    });
}

#[test]
fn lesson_03_17_dropping_an_older_dequeue_neither_repeats_nor_skips_a_message() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("It", |ctx, _| async move {
            ctx.schedule_timer(Duration::from_secs(1)).await;
            let (older, younger) = (ctx.dequeue_event("q"), ctx.dequeue_event("q"));
            let mut read = vec![younger.await];
            drop(older);
            for _ in 0..3 {
                read.push(ctx.dequeue_event("q").await);
                ctx.schedule_activity("Echo", "a turn").await?;
            }
            Ok(read.join(" "))
        });
        scene.node(code).await;
        send_before_the_timer(&scene, &["m1", "m2", "m3", "m4"]).await;
        assert_eq!(scene.end_of("it").await.unwrap(), "m2 m1 m3 m4");
    });
}

#[test]
fn lesson_03_18_a_replayed_write_keeps_the_time_it_was_made_at() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("It", |ctx, _| async move {
            ctx.set_kv_value("old", "1");
            ctx.schedule_timer(Duration::from_secs(60)).await;
            let now = ctx.utc_now().await?;
            ctx.set_kv_value("new", "2");
            ctx.schedule_timer(Duration::from_secs(60)).await;
            let since_epoch = now.duration_since(std::time::UNIX_EPOCH).unwrap();
            let pruned = ctx.prune_kv_values_updated_before(u64::try_from(since_epoch.as_millis()).unwrap());
            ctx.schedule_activity("Echo", "another turn").await?;
            Ok(format!("{pruned} {:?}", ctx.get_kv_all_keys()))
        });
        scene.node(code).await;
        assert_eq!(scene.run("it", "It", "").await.unwrap(), r#"1 ["new"]"#);
    });
}

#[test]
fn lesson_03_19_a_line_between_two_awaits_is_written_once() {
    let listener = Listener::default();
    with_default(listener.clone(), || {
        every_way(|scene| {
            let listener = listener.clone();
            listener.forget();
            async move {
                let code = Code::new().orchestration("It", |ctx, _| async move {
                    let (a, b) =
                        (ctx.schedule_activity("Sleep", "1000"), ctx.schedule_activity("Sleep", "2000"));
                    a.await?;
                    ctx.trace_info("between the two");
                    b.await?;
                    ctx.schedule_timer(Duration::from_secs(1)).await;
                    Ok(String::new())
                });
                scene.node(code).await;
                scene.run("it", "It", "").await.unwrap();
                assert_eq!(listener.count("between the two"), 1);
            }
        });
    });
}

/// What becomes of an instance that runs `original` up to a signal and then `changed`.
async fn drift<A, B, FA, FB>(scene: &Scene, original: A, changed: B) -> Result<String, String>
where
    A: Fn(OrchestrationContext, String) -> FA + Send + Sync + 'static,
    FA: Future<Output = Result<String, String>> + Send + 'static,
    B: Fn(OrchestrationContext, String) -> FB + Send + Sync + 'static,
    FB: Future<Output = Result<String, String>> + Send + 'static,
{
    scene.node(Code::new().orchestration("It", original)).await;
    scene.start("it", "It", "").await;
    scene.until(|dump| dump.instances.get("it").is_some_and(|it| it.last_event_id > 2)).await;
    scene.close().await;
    scene.node(Code::new().orchestration("It", changed)).await;
    scene.client().raise_event("it", "go", "now").await.unwrap();
    scene.end_of("it").await
}

/// An orchestration that asks for something and then waits.
macro_rules! asks {
    (|$ctx:ident| $ask:expr) => {
        |$ctx: OrchestrationContext, _: String| async move {
            let _asked = $ask;
            Ok::<String, String>($ctx.schedule_wait("go").await)
        }
    };
}

/// The one that runs `changed` notices what `original` recorded.
macro_rules! notices {
    ($original:expr, $changed:expr) => {
        ways(&[Way::Cold, Way::Plain], |scene| async move {
            let end = drift(&scene, $original, $changed).await;
            assert!(end.as_ref().is_err_and(|error| error.starts_with("nondeterministic")), "{end:?}");
        })
    };
}

#[test]
fn lesson_03_20_code_that_drifts_is_noticed() {
    notices!(asks!(|ctx| ctx.schedule_timer(DAY)), asks!(|ctx| ctx.schedule_timer(2 * DAY)));
    notices!(asks!(|ctx| ctx.schedule_timer(DAY)), |_, _| async move { Ok("early".to_owned()) });
    notices!(
        asks!(|ctx| ctx.schedule_sub_orchestration_with_id("Wait", "a", "")),
        asks!(|ctx| ctx.schedule_sub_orchestration_with_id("Wait", "b", ""))
    );
    notices!(
        asks!(|ctx| ctx.schedule_sub_orchestration("Wait", "a")),
        asks!(|ctx| ctx.schedule_sub_orchestration("Wait", "b"))
    );
    notices!(
        asks!(|ctx| ctx.schedule_orchestration("Wait", "a", "")),
        asks!(|ctx| ctx.schedule_orchestration("Wait", "b", ""))
    );
    notices!(asks!(|ctx| ctx.set_custom_status("a")), asks!(|ctx| ctx.set_custom_status("b")));
    notices!(asks!(|ctx| ctx.set_kv_value("k", "a")), asks!(|ctx| ctx.set_kv_value("k", "b")));
    notices!(asks!(|ctx| ctx.set_kv_value("k", "a")), asks!(|ctx| ctx.get_kv_value("k")));
    notices!(
        asks!(|ctx| ctx.schedule_activity("Echo", "a")),
        asks!(|ctx| ctx.schedule_activity("Echo", "b"))
    );
}

#[test]
fn lesson_03_21_values_can_be_gone_through_in_an_order_that_replays() {
    every_way(|scene| async move {
        let code = Code::new().orchestration("It", |ctx, _| async move {
            for number in (0..20).rev() {
                ctx.set_kv_value(format!("key{number:02}"), number.to_string());
            }
            let mut said = Vec::new();
            for (key, value) in ctx.get_kv_entries() {
                said.push(ctx.schedule_activity("Echo", format!("{key}={value}")).await?);
            }
            Ok(said.join(" "))
        });
        scene.node(code).await;
        let expected: Vec<_> = (0..20).map(|number| format!("key{number:02}={number}")).collect();
        assert_eq!(scene.run("it", "It", "").await.unwrap(), expected.join(" "));
    });
}
