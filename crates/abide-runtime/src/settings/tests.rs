//! What is refused, and what becomes of the rest.

use std::collections::HashSet;

use semver::Version;

use super::*;

fn settings(change: impl FnOnce(&mut RuntimeOptions)) -> Result<Settings, InvalidOptions> {
    let mut options = RuntimeOptions::default();
    change(&mut options);
    Settings::try_from(options)
}

fn refusal(change: impl FnOnce(&mut RuntimeOptions)) -> String {
    settings(change).unwrap_err().to_string()
}

#[test]
fn defaults_make_sense() {
    let settings = settings(|_| ()).unwrap();
    assert_eq!(settings.warnings, []);
    assert_eq!(settings.worker_renewal_interval, Duration::from_secs(10));
    assert_eq!(settings.session_renewal_interval, Duration::from_secs(10));
    assert_eq!(settings.orchestrator_renewal_interval, Duration::from_secs(5) / 3);
    assert_eq!(
        settings.capabilities().supported_duroxide_versions,
        [SemverRange::default_for_current_build()]
    );
}

#[test]
fn a_lease_is_renewed_at_least_twice_in_its_time() {
    let ms = Duration::from_millis;
    for (lease, buffer, expected) in [
        (ms(30_000), ms(5_000), ms(10_000)),
        (ms(30_000), ms(25_000), ms(5_000)),
        (ms(30_000), ms(0), ms(10_000)),
        (ms(900), ms(5_000), ms(150)),
        (ms(900), ms(899), ms(150)),
        (ms(1), ms(0), ms(1)),
        (Duration::MAX, Duration::MAX, Duration::MAX / 6),
        (Duration::MAX, ms(0), Duration::MAX / 3),
    ] {
        assert_eq!(Settings::renewal_interval(lease, buffer), expected, "{lease:?} {buffer:?}");
    }
}

#[test]
fn refusals_name_field_value_and_rule() {
    let texts = [
        refusal(|options| options.orchestrator_lock_timeout = Duration::ZERO),
        refusal(|options| options.worker_lock_timeout = Duration::from_millis(29)),
        refusal(|options| options.session_lock_timeout = Duration::from_millis(1)),
        refusal(|options| options.dispatcher_long_poll_timeout = Duration::ZERO),
        refusal(|options| options.session_cleanup_interval = Duration::ZERO),
        refusal(|options| options.observability.gauge_poll_interval = Duration::ZERO),
        refusal(|options| {
            (options.orchestration_concurrency, options.worker_concurrency) = (0, 0);
        }),
        refusal(|options| options.build_id = Some(String::new())),
        refusal(|options| options.orchestration_concurrency = usize::MAX),
        refusal(|options| options.worker_concurrency = 100_001),
        refusal(|options| options.max_payload_bytes = 0),
        refusal(|options| options.max_attempts = 0),
        refusal(|options| options.worker_node_id = Some(String::new())),
    ];
    expect_test::expect![[r#"
        orchestrator_lock_timeout is 0ns; it must be at least 30ms, or leases end before the work under them is written and it is done again and again
        worker_lock_timeout is 29ms; it must be at least 30ms, or leases end before the work under them is written and it is done again and again
        session_lock_timeout is 1ms; it must be at least 30ms, or leases end before the work under them is written and it is done again and again
        dispatcher_long_poll_timeout is zero; it must be longer, or the runtime would do nothing else
        session_cleanup_interval is zero; it must be longer, or the runtime would do nothing else
        observability.gauge_poll_interval is zero; it must be longer, or the runtime would do nothing else
        orchestration_concurrency and worker_concurrency are both 0; at least one must be above. A program that only starts and queries orchestrations needs a client, not a runtime
        build_id is empty; it must name this build of the program, or be None
        orchestration_concurrency is 18446744073709551615; it must be at most 100000
        worker_concurrency is 100001; it must be at most 100000
        max_payload_bytes is 0; it must be at least 1, or every request with an input fails
        max_attempts is 0; it must be at least 1, or everything counts as poison before it is tried
        worker_node_id is empty; it must be a name that no other node has, or None"#]]
    .assert_eq(&texts.join("\n"));
}

#[test]
fn sessions_outlive_the_renewals_that_keep_them() {
    let with = |idle: u64, timeout: u64, buffer: u64| {
        settings(|options| {
            options.session_idle_timeout = Duration::from_millis(idle);
            options.worker_lock_timeout = Duration::from_millis(timeout);
            options.worker_lock_renewal_buffer = Duration::from_millis(buffer);
        })
        .map(|_| ())
        .map_err(|error| error.to_string())
    };

    let text = with(25_000, 30_000, 5_000).unwrap_err();
    let documented = "session_idle_timeout (25s) must be greater than worker lock renewal interval (25s)";
    assert!(text.starts_with(documented), "{text}");
    assert_eq!(with(25_001, 30_000, 5_000), Ok(()));
    let text = with(1_000, 2_000, 5_000).unwrap_err();
    assert!(text.contains("(1s) must") && text.contains("interval (1s)"), "{text}");
    assert_eq!(with(1_001, 2_000, 5_000), Ok(()));
    let text = with(500, 1_500, 500).unwrap_err();
    assert!(text.contains("(0.5s)"), "{text}");
}

#[test]
fn nodes_replay_no_later_version_than_their_own() {
    let with = |min: &str, max: &str| {
        let range = SemverRange::new(Version::parse(min).unwrap(), Version::parse(max).unwrap());
        settings(|options| options.supported_replay_versions = Some(range))
    };

    let older = with("0.1.0", "0.1.32").unwrap();
    assert_eq!((older.supported_replay_versions.max, older.warnings), (Version::new(0, 1, 32), vec![]));

    let wide = with("0.1.0", "99.0.0").unwrap();
    assert_eq!(wide.supported_replay_versions.max, current_build_version());
    let text = wide.warnings[0].to_string();
    assert!(text.contains("0.1.0..=99.0.0, but this build is"), "{text}");

    let beyond = with("98.0.0", "99.0.0").unwrap();
    assert!(!beyond.supported_replay_versions.contains(&Version::new(98, 1, 0)));
    assert!(!beyond.supported_replay_versions.contains(&current_build_version()));
    assert_eq!(beyond.warnings.len(), 1);

    let inverted = with("0.2.0", "0.1.0").unwrap_err();
    assert_eq!(
        inverted.to_string(),
        "supported_replay_versions is 0.2.0..=0.1.0; its minimum must not be later than its maximum"
    );
}

#[test]
fn tags_are_few_and_short() {
    let with = |tags: Vec<String>| {
        let tags: HashSet<String> = tags.into_iter().collect();
        let only = settings(|options| options.worker_tag_filter = TagFilter::Tags(tags.clone()));
        let also = settings(|options| options.worker_tag_filter = TagFilter::DefaultAnd(tags));
        assert_eq!(only.as_ref().err(), also.as_ref().err());
        only.map(|_| ()).map_err(|error| error.to_string())
    };
    let numbered = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();

    assert_eq!(with(numbered(5)), Ok(()));
    assert_eq!(with(numbered(6)).unwrap_err(), "worker_tag_filter has 6 tags; a worker can serve at most 5");
    assert_eq!(with(vec!["é".repeat(128)]), Ok(()));
    let text = with(vec!["short".into(), "é".repeat(129)]).unwrap_err();
    assert!(text.contains("258 bytes") && text.contains(&"é".repeat(32)), "{text}");
}

#[test]
fn durations_have_at_most_ten_years() {
    type Change = fn(&mut RuntimeOptions, Duration);
    let fields: [(&str, Change); 13] = [
        ("dispatcher_min_poll_interval", |options, value| options.dispatcher_min_poll_interval = value),
        ("dispatcher_long_poll_timeout", |options, value| options.dispatcher_long_poll_timeout = value),
        ("orchestrator_lock_timeout", |options, value| options.orchestrator_lock_timeout = value),
        ("max_turn_time", |options, value| options.max_turn_time = value),
        ("worker_lock_timeout", |options, value| {
            (options.worker_lock_timeout, options.worker_lock_renewal_buffer) = (value, value);
        }),
        ("session_lock_timeout", |options, value| options.session_lock_timeout = value),
        ("session_idle_timeout", |options, value| options.session_idle_timeout = value),
        ("session_cleanup_interval", |options, value| options.session_cleanup_interval = value),
        ("activity_cancellation_grace_period", |options, value| {
            options.activity_cancellation_grace_period = value;
        }),
        ("unregistered_backoff.base_delay", |options, value| options.unregistered_backoff.base_delay = value),
        ("unregistered_backoff.max_delay", |options, value| options.unregistered_backoff.max_delay = value),
        ("observability.gauge_poll_interval", |options, value| {
            options.observability.gauge_poll_interval = value;
        }),
        ("retention.every", |options, value| {
            options.retention =
                Some(RetentionConfig { every: value, ..RetentionConfig::keeping_for(Duration::ZERO) });
        }),
    ];
    for (field, change) in fields {
        settings(|options| change(options, LONGEST)).unwrap_or_else(|error| panic!("{field}: {error}"));
        for value in [LONGEST + Duration::from_nanos(1), Duration::MAX] {
            let error = settings(|options| change(options, value)).unwrap_err();
            assert_eq!(error, InvalidOptions::TooLong { field, value });
        }
    }
    let text = refusal(|options| options.max_turn_time = Duration::from_secs(u64::MAX / 2));
    let expected = "max_turn_time is 9223372036854775807s; it must be at most 315360000s (ten years)";
    assert_eq!(text, expected);
}

#[test]
fn ids_of_nodes_and_builds_have_at_most_256_bytes() {
    let node = |id: String| settings(|options| options.worker_node_id = Some(id));
    let build = |id: String| settings(|options| options.build_id = Some(id));
    assert_eq!(node("n".repeat(256)).unwrap().worker_node_id.unwrap().len(), 256);
    assert_eq!(build("b".repeat(256)).unwrap().build_id.len(), 256);
    let (letters, refused) = ("é".repeat(129), ["worker_node_id", "build_id"]);
    for (field, error) in refused.into_iter().zip([node(letters.clone()), build(letters)]) {
        let beginning = "é".repeat(32);
        let expected =
            format!("{field} has 258 bytes, beginning with {beginning:?}; it must have at most 256");
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
}

#[test]
fn polling_all_the_time_is_not_polling_better() {
    let settings = settings(|options| options.dispatcher_min_poll_interval = Duration::ZERO).unwrap();
    assert_eq!(settings.dispatcher_min_poll_interval, Duration::from_millis(1));
    assert_eq!(settings.warnings, [Warning::PollIntervalTooShort { asked: Duration::ZERO }]);
}
