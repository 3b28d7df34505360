//! §18, §32: limits. Exactly at one passes; beyond it the execution fails with a text that names it.

use abide_model::{AppErrorKind, ErrorDetails};

use super::support::{Node, World, names, on_every_store};

fn node() -> Node {
    Node::new()
        .orchestration("Status", |ctx, bytes| async move {
            ctx.set_custom_status("x".repeat(bytes.parse().unwrap()));
            Ok("fine".to_owned())
        })
        .orchestration("Value", |ctx, bytes| async move {
            ctx.set_kv_value("k", "x".repeat(bytes.parse().unwrap()));
            Ok("fine".to_owned())
        })
        .orchestration("Tag", |ctx, bytes| async move {
            drop(ctx.schedule_activity("Echo", "").with_tag("x".repeat(bytes.parse().unwrap())));
            Ok("fine".to_owned())
        })
        .orchestration("Keys", |ctx, count| async move {
            for n in 0..count.parse::<u32>().unwrap() {
                ctx.set_kv_value(n.to_string(), "");
            }
            Ok("fine".to_owned())
        })
        .orchestration("Keys over turns", |ctx, count| async move {
            for n in 0..count.parse::<u32>().unwrap() {
                ctx.set_kv_value(n.to_string(), "");
                if n % 50 == 0 {
                    ctx.schedule_activity("Echo", "").await?;
                }
            }
            Ok("fine".to_owned())
        })
        .orchestration("Keys over executions", |ctx, count| async move {
            let half = count.parse::<u32>().unwrap();
            let first = if ctx.execution_id() == 1 { 0 } else { half };
            for n in first..first + half {
                ctx.set_kv_value(n.to_string(), "");
            }
            if ctx.execution_id() == 1 {
                ctx.continue_as_new((half).to_string()).await
            } else {
                Ok("fine".to_owned())
            }
        })
}

#[test]
fn limits_hold_to_the_byte() {
    on_every_store(async |world: World| {
        let runtime = world.run(node()).await;
        for (name, most, text) in [
            ("Status", 262_144, "Custom status size (262145 bytes) exceeds limit (262144 bytes)"),
            ("Tag", 256, "Activity 'Echo' tag size (257 bytes) exceeds limit (256 bytes)"),
            ("Value", 65_536, "KV value for key 'k' (65537 bytes) exceeds limit (65536 bytes)"),
            ("Keys", 150, "KV key count (151) exceeds limit (150)"),
            ("Keys over turns", 150, "KV key count (151) exceeds limit (150)"),
        ] {
            let fits = world.start_and_end(&format!("{name} fits"), name, &most.to_string()).await;
            assert_eq!(fits.unwrap(), "fine", "{name}");
            let instance = format!("{name} breaks");
            world.start(&instance, name, &(most + 1).to_string()).await;
            let details = world.failure(&instance).await;
            let expected = ErrorDetails::Application {
                kind: AppErrorKind::OrchestrationFailed,
                message: text.to_owned(),
                retryable: false,
            };
            assert_eq!(details, expected);
        }
        runtime.shutdown(None).await;
    });
}

#[test]
fn keys_of_earlier_executions_count() {
    on_every_store(async |world: World| {
        let runtime = world.run(node()).await;
        assert_eq!(world.start_and_end("fits", "Keys over executions", "75").await.unwrap(), "fine");
        assert_eq!(
            world.start_and_end("breaks", "Keys over executions", "76").await.unwrap_err(),
            "KV key count (151) exceeds limit (150)"
        );
        runtime.shutdown(None).await;
    });
}

#[test]
fn what_breaks_a_limit_is_not_recorded_and_there_is_one_end() {
    on_every_store(async |world: World| {
        let runtime = world.run(node()).await;
        world.start_and_end("i", "Value", "65537").await.unwrap_err();
        assert_eq!(names(&world.history("i").await), ["OrchestrationStarted", "OrchestrationFailed"]);
        assert_eq!(world.client().get_kv_value("i", "k").await.unwrap(), None);
        world.start_and_end("j", "Status", "262145").await.unwrap_err();
        assert_eq!(names(&world.history("j").await), ["OrchestrationStarted", "OrchestrationFailed"]);
        runtime.shutdown(None).await;
    });
}

#[test]
fn payloads_and_fan_out_have_no_limit() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, input| async move {
            let all = (0..300).map(|n| ctx.schedule_activity("Echo", n.to_string())).collect();
            let count = ctx.join(all).await.len();
            let echoed = ctx.schedule_activity("Echo", input).await?;
            Ok(format!("{count} {}", echoed.len()))
        });
        let runtime = world.run(node).await;
        let megabyte = "x".repeat(1 << 20);
        assert_eq!(world.start_and_end("i", "Main", &megabyte).await.unwrap(), "300 1048576");
        runtime.shutdown(None).await;
    });
}
