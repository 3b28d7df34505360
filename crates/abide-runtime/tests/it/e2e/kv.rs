//! §16: values that an instance keeps, and the built-in activities.

use abide_model::EventKind;

use super::support::{Node, World, names, on_every_store, seconds, virtually};

#[test]
fn a_value_is_read_where_it_was_written_and_by_clients_once_the_turn_is_committed() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            ctx.set_kv_value("k", "1");
            let read = ctx.get_kv_value("k");
            ctx.schedule_wait("go").await;
            ctx.set_kv_value("k", "2");
            Ok(format!("{read:?} {:?}", ctx.get_kv_value("k")))
        });
        let runtime = world.run(node).await;
        let client = world.client();
        assert_eq!(client.get_kv_value("i", "k").await.unwrap(), None);
        world.start("i", "Main", "").await;
        assert_eq!(client.wait_for_kv_value("i", "k", super::support::LONG).await.unwrap(), "1");
        world.raise("i", "go", "").await;
        assert_eq!(world.end("i").await.unwrap(), r#"Some("1") Some("2")"#);
        assert_eq!(client.get_kv_value("i", "k").await.unwrap().as_deref(), Some("2"));
        assert_eq!(client.get_kv_value("i", "missing").await.unwrap(), None);
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_counter_counts_once_however_often_its_code_is_replayed() {
    on_every_store(async |world: World| {
        let node = || {
            Node::new()
                .orchestration("Main", |ctx, _| async move {
                    for _ in 0..3 {
                        let count = ctx.get_kv_value("count").map_or(0, |text| text.parse::<u32>().unwrap());
                        ctx.set_kv_value("count", (count + 1).to_string());
                        ctx.schedule_wait("go").await;
                    }
                    Ok(ctx.get_kv_value("count").unwrap())
                })
                // Nothing stays in memory: every turn is a replay.
                .with(|options| options.instance_cache_bytes = 0)
        };
        let client = world.client();
        world.start("i", "Main", "").await;
        for count in 1..=3 {
            let runtime = world.run(node()).await;
            world.recorded("i", "ExternalSubscribed", count).await;
            assert_eq!(client.get_kv_value("i", "count").await.unwrap(), Some(count.to_string()));
            runtime.shutdown(None).await;
            world.raise("i", "go", "").await;
        }
        let runtime = world.run(node()).await;
        assert_eq!(world.end("i").await.unwrap(), "3");
        let history = world.history("i").await;
        let written = history.iter().filter_map(|event| {
            if let EventKind::KeyValueSet { value, .. } = &event.kind { Some(value.as_str()) } else { None }
        });
        assert_eq!(written.collect::<Vec<_>>(), ["1", "2", "3"]);
        runtime.shutdown(None).await;
    });
}

#[test]
fn values_go_to_the_next_execution_and_stay_after_the_end() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, input| async move {
            if input.is_empty() {
                ctx.set_kv_value("kept", "1");
                ctx.set_kv_value("cleared later", "1");
                return ctx.continue_as_new("again").await;
            }
            ctx.clear_kv_value("cleared later");
            ctx.set_kv_value("new", "1");
            Ok(ctx.get_kv_all_keys().join(" "))
        });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), "kept new");
        let client = world.client();
        let mut values: Vec<_> = client.get_kv_all_values("i").await.unwrap().into_iter().collect();
        values.sort();
        assert_eq!(values, [("kept", "1"), ("new", "1")].map(|(k, v)| (k.to_owned(), v.to_owned())));
        // Pruning executions takes no value; deleting the instance takes all.
        let only_last = abide_model::PruneOptions { keep_last: Some(1), completed_before: None };
        client.prune_executions("i", only_last).await.unwrap();
        assert_eq!(client.get_kv_value("i", "kept").await.unwrap().as_deref(), Some("1"));
        client.delete_instance("i", false).await.unwrap();
        assert_eq!(client.get_kv_value("i", "kept").await.unwrap(), None);
        runtime.shutdown(None).await;
    });
}

#[test]
fn clearing_is_seen_at_once_inside_and_after_the_commit_outside() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            for key in ["a", "b", "c"] {
                ctx.set_kv_value(key, key);
            }
            ctx.schedule_wait("one").await;
            ctx.clear_kv_value("b");
            assert_eq!(ctx.get_kv_length(), 2);
            ctx.schedule_wait("all").await;
            ctx.clear_all_kv_values();
            assert_eq!(ctx.get_kv_length(), 0);
            ctx.set_kv_value("d", "d");
            Ok(String::new())
        });
        let runtime = world.run(node).await;
        let client = world.client();
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        assert_eq!(client.get_kv_all_values("i").await.unwrap().len(), 3);
        world.raise("i", "one", "").await;
        world.recorded("i", "ExternalSubscribed", 2).await;
        assert_eq!(client.get_kv_value("i", "b").await.unwrap(), None);
        assert_eq!(client.get_kv_all_values("i").await.unwrap().len(), 2);
        world.raise("i", "all", "").await;
        world.end("i").await.unwrap();
        let values = client.get_kv_all_values("i").await.unwrap();
        assert_eq!(values.into_iter().collect::<Vec<_>>(), [("d".to_owned(), "d".to_owned())]);
        let history = names(&world.history("i").await);
        assert!(history.contains(&"KeyValueCleared") && history.contains(&"KeyValuesCleared"));
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_failed_instance_keeps_what_it_wrote() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            ctx.set_kv_value("k", "v");
            Err("failed".to_owned())
        });
        let runtime = world.run(node).await;
        world.start_and_end("i", "Main", "").await.unwrap_err();
        assert_eq!(world.client().get_kv_value("i", "k").await.unwrap().as_deref(), Some("v"));
        runtime.shutdown(None).await;
    });
}

#[test]
fn old_values_are_pruned_in_the_order_of_their_keys() {
    virtually(async |world: World| {
        let node = Node::new()
            .orchestration("Main", |ctx, _| async move {
                let millis = |time: std::time::SystemTime| {
                    u64::try_from(time.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis()).unwrap()
                };
                for key in ["c", "a"] {
                    ctx.set_kv_value(key, "old");
                }
                ctx.schedule_timer(seconds(100)).await;
                let now = millis(ctx.utc_now().await?);
                ctx.set_kv_value("b", "new");
                let pruned = ctx.prune_kv_values_updated_before(now - 50_000);
                Ok(format!("{pruned} {}", ctx.get_kv_all_keys().join(" ")))
            })
            .with(|options| options.instance_cache_bytes = 0);
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), "2 b");
        let history = world.history("i").await;
        let cleared = history.iter().filter_map(|event| {
            if let EventKind::KeyValueCleared { key } = &event.kind { Some(key.as_str()) } else { None }
        });
        assert_eq!(cleared.collect::<Vec<_>>(), ["a", "c"]);
        runtime.shutdown(None).await;
    });
}

#[test]
fn values_are_typed_where_wanted() {
    on_every_store(async |world: World| {
        let node = Node::new().orchestration("Main", |ctx, _| async move {
            ctx.set_kv_value_typed("n", &41_u32);
            ctx.set_kv_value("text", "no number");
            let n = ctx.get_kv_value_typed::<u32>("n")?.unwrap();
            let none = ctx.get_kv_value_typed::<u32>("missing")?;
            assert_eq!(none, None);
            let wrong = ctx.get_kv_value_typed::<u32>("text").unwrap_err();
            assert!(wrong.starts_with("KV deserialization error for key 'text': "), "{wrong}");
            Ok((n + 1).to_string())
        });
        let runtime = world.run(node).await;
        assert_eq!(world.start_and_end("i", "Main", "").await.unwrap(), "42");
        let client = world.client();
        assert_eq!(client.get_kv_value_typed::<u32>("i", "n").await.unwrap(), Some(41));
        let wrong = client.get_kv_value_typed::<u32>("i", "text").await.unwrap_err().to_string();
        assert!(wrong.starts_with("Invalid input: KV deserialization error: "), "{wrong}");
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_value_of_another_instance_is_read_by_a_built_in_activity() {
    on_every_store(async |world: World| {
        let node = Node::new()
            .orchestration("Keeps", |ctx, _| async move {
                ctx.set_kv_value("k", "v");
                ctx.set_kv_value_typed("n", &7_u32);
                Ok(String::new())
            })
            .orchestration("Reads", |ctx, _| async move {
                let there = ctx.get_kv_value_from_instance("keeper", "k").await?;
                let missing = ctx.get_kv_value_from_instance("keeper", "missing").await?;
                let nobody = ctx.get_kv_value_from_instance("nobody", "k").await?;
                let number = ctx.get_kv_value_from_instance_typed::<u32>("keeper", "n").await?;
                let wrong = ctx.get_kv_value_from_instance_typed::<u32>("keeper", "k").await.unwrap_err();
                assert!(
                    wrong.starts_with("get_kv_value_from_instance_typed deserialization error: "),
                    "{wrong}"
                );
                Ok(format!("{there:?} {missing:?} {nobody:?} {number:?}"))
            })
            .orchestration("Raw", |ctx, input| async move {
                ctx.schedule_activity("__duroxide_syscall:get_kv_value", input).await
            });
        let runtime = world.run(node).await;
        world.start_and_end("keeper", "Keeps", "").await.unwrap();
        assert_eq!(world.start_and_end("i", "Reads", "").await.unwrap(), r#"Some("v") None None Some(7)"#);
        assert_eq!(
            world.trace("i").await[1],
            r#"2 ActivityScheduled __duroxide_syscall:get_kv_value({"instance_id":"keeper","key":"k"})"#
        );
        for (instance, input, error) in [
            ("r1", "no json", "get_kv_value: invalid input: "),
            ("r2", "{}", "get_kv_value: missing instance_id"),
            ("r3", r#"{"instance_id":"keeper"}"#, "get_kv_value: missing key"),
        ] {
            let seen = world.start_and_end(instance, "Raw", input).await.unwrap_err();
            assert!(seen.starts_with(error), "{seen}");
        }
        runtime.shutdown(None).await;
    });
}

#[test]
fn a_guid_and_a_time_are_recorded_once() {
    on_every_store(async |world: World| {
        let node = || {
            Node::new().orchestration("Main", |ctx, _| async move {
                let guid = ctx.new_guid().await?;
                let other = ctx.new_guid().await?;
                let time = ctx.utc_now().await?;
                ctx.schedule_wait("go").await;
                let since = time.duration_since(std::time::UNIX_EPOCH).unwrap();
                Ok(format!("{guid} {} {}", guid != other, since.as_millis()))
            })
        };
        let runtime = world.run(node()).await;
        world.start("i", "Main", "").await;
        world.recorded("i", "ExternalSubscribed", 1).await;
        runtime.shutdown(None).await;
        let recorded = world.trace("i").await;
        let world = world.reopened().await;
        let runtime = world.run(node()).await;
        world.raise("i", "go", "").await;
        let output = world.end("i").await.unwrap();
        let [guid, differs, millis] = output.split(' ').collect::<Vec<_>>().try_into().unwrap();
        assert_eq!((guid.len(), differs), (36, "true"));
        assert_eq!(recorded[1], "2 ActivityScheduled __duroxide_syscall:new_guid()");
        assert_eq!(recorded[2], format!("3 ActivityCompleted[2] {guid}"));
        assert_eq!(recorded[5], "6 ActivityScheduled __duroxide_syscall:utc_now_ms()");
        assert_eq!(recorded[6], format!("7 ActivityCompleted[6] {millis}"));
        runtime.shutdown(None).await;
    });
}
