//! Registries: what is found under which name and version, and what becomes of mistakes.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use abide_engine::{FnOrchestration, OrchestrationContext, OrchestrationHandler};
use abide_runtime::registry::{
    ActivityRegistry, ActivityRegistryBuilder, OrchestrationRegistry, OrchestrationRegistryBuilder, Registry,
    RegistryBuilder, VersionPolicy,
};
use abide_runtime::{ActivityContext, ActivityHandler, FnActivity};
use futures::executor::block_on;
use semver::Version;
use serde::{Deserialize, Serialize};

async fn echo(_: OrchestrationContext, input: String) -> Result<String, String> {
    Ok(input)
}

async fn act(_: ActivityContext, input: String) -> Result<String, String> {
    Ok(input)
}

/// An orchestration that says who it is.
fn says(
    word: &'static str,
) -> impl Fn(OrchestrationContext, String) -> std::future::Ready<Result<String, String>> + Clone {
    move |_, _| std::future::ready(Ok(word.to_owned()))
}

fn context() -> OrchestrationContext {
    OrchestrationContext::new(Vec::new(), 1, "i".into(), "o".into(), "1.0.0".into(), None)
}

fn run(registry: &OrchestrationRegistry, name: &str, input: &str) -> Result<String, String> {
    let (_, handler) = registry.resolve_handler(name).expect("registered");
    block_on(handler.invoke(context(), input.to_owned()))
}

fn panic_text(code: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(code)).expect_err("should panic");
    payload.downcast_ref::<String>().expect("formatted").clone()
}

fn v(major: u64, minor: u64) -> Version {
    Version::new(major, minor, 0)
}

#[test]
fn what_is_registered_is_found() {
    let registry = OrchestrationRegistry::builder()
        .register("B", says("b"))
        .register("A", |_ctx, input| async move { Ok(input) })
        .register_versioned("B", "2.1.0", says("b2"))
        .build_result()
        .unwrap();

    assert_eq!(registry.list_names(), ["A", "B"]);
    assert_eq!(registry.count(), 2);
    assert!(registry.has("A") && !registry.has("C"));
    assert_eq!(registry.list_versions("B"), [v(1, 0), v(2, 1)]);
    assert!(registry.list_versions("C").is_empty());
    assert_eq!(run(&registry, "A", "x"), Ok("x".to_owned()));
    assert_eq!(run(&registry, "B", ""), Ok("b2".to_owned()), "the latest");
    let first = registry.resolve_handler_exact("B", &v(1, 0)).expect("registered");
    assert_eq!(block_on(first.invoke(context(), String::new())), Ok("b".to_owned()));
    assert!(registry.resolve_handler_exact("B", &v(3, 0)).is_none());
    assert!(registry.resolve_handler("C").is_none());
}

#[test]
fn a_policy_chooses_and_does_not_fall_back() {
    let registry = OrchestrationRegistry::builder()
        .register("A", says("1"))
        .register_versioned("A", "2.0.0", says("2"))
        .set_policy("A", VersionPolicy::Exact(v(1, 0)))
        .build();
    assert_eq!(registry.resolve_version("A"), Some(v(1, 0)));

    registry.set_version_policy("A", VersionPolicy::Exact(v(9, 0)));
    assert_eq!(registry.resolve_version("A"), None);
    assert!(registry.resolve_handler("A").is_none());

    registry.set_version_policy("A", VersionPolicy::Latest);
    assert_eq!(registry.resolve_version("A"), Some(v(2, 0)));
}

#[test]
fn clones_share_policies_and_copies_do_not() {
    let registry = OrchestrationRegistry::builder()
        .register("A", says("1"))
        .register_versioned("A", "2.0.0", says("2"))
        .build();
    let clone = registry.clone();
    let copy = Registry::builder_from(&registry).build();
    let merged = OrchestrationRegistry::builder().merge(registry.clone()).build();

    clone.set_version_policy("A", VersionPolicy::Exact(v(1, 0)));

    assert_eq!(registry.resolve_version("A"), Some(v(1, 0)));
    assert_eq!(copy.resolve_version("A"), Some(v(2, 0)));
    assert_eq!(merged.resolve_version("A"), Some(v(2, 0)));
    assert_eq!(Registry::builder_from(&registry).build().resolve_version("A"), Some(v(1, 0)));
    let later = OrchestrationRegistry::builder().merge(registry).build();
    assert_eq!(later.resolve_version("A"), Some(v(2, 0)), "a merge takes no policies");
}

#[test]
fn a_duplicate_is_a_mistake_and_the_first_stays() {
    let twice = || {
        OrchestrationRegistry::builder()
            .register("A", says("first"))
            .register("A", says("second"))
            .register_typed::<String, String, _, _>("A", says("third"))
            .register_versioned("A", "1.0.0", says("fourth"))
            .register("B", says("b"))
    };

    let text = twice().build_result().unwrap_err();
    assert_eq!(text, ["duplicate orchestration registration: A@1.0.0"; 3].join("; "));
    let registry = twice().build();
    assert_eq!(run(&registry, "A", ""), Ok("first".to_owned()));
    assert_eq!(run(&registry, "B", ""), Ok("b".to_owned()));
}

#[test]
fn merges_report_what_was_there() {
    let other = OrchestrationRegistry::builder().register("A", says("other")).register("C", echo).build();
    let builder = OrchestrationRegistry::builder().register("A", says("mine")).merge(other.clone());
    assert_eq!(builder.build_result().unwrap_err(), "duplicate orchestration in merge: A@1.0.0");

    let merged = OrchestrationRegistry::builder().register("B", echo).merge(other).build_result().unwrap();
    assert_eq!(merged.list_names(), ["A", "B", "C"]);

    let activities = ActivityRegistry::builder().register("X", act).build();
    let builder = ActivityRegistryBuilder::from_registry(&activities).merge(activities.clone());
    assert_eq!(builder.build_result().unwrap_err(), "duplicate activity in merge: X@1.0.0");
}

#[test]
fn versions_rise() {
    let builder = || OrchestrationRegistry::builder().register_versioned("A", "2.0.0", echo);

    assert_eq!(
        panic_text(|| drop(builder().register_versioned("A", "1.5.0", echo))),
        "non-monotonic orchestration version for A: 1.5.0 is not later than existing latest 2.0.0"
    );
    let text = panic_text(|| drop(builder().register_versioned("A", "two", echo)));
    assert!(text.starts_with("Version should be valid semver"), "{text}");
    assert!(text.contains("A has \"two\""), "{text}");

    // Without a version it is 1.0.0, wherever that comes.
    let registry = builder().register("A", echo).build_result().unwrap();
    assert_eq!(registry.list_versions("A"), [v(1, 0), v(2, 0)]);
    assert_eq!(registry.resolve_version("A"), Some(v(2, 0)));
}

#[test]
fn prereleases_come_before_their_release() {
    let registry = OrchestrationRegistry::builder()
        .register_versioned("A", "2.0.0-beta.1", echo)
        .register_versioned("A", "2.0.0", echo)
        .build_result()
        .unwrap();
    assert_eq!(registry.resolve_version("A"), Some(v(2, 0)));
}

#[test]
fn activities_cannot_take_names_of_the_runtime() {
    let builder =
        ActivityRegistry::builder().register("__duroxide_syscall:new_guid", act).register("Mine", act);
    assert_eq!(
        builder.build_result().unwrap_err(),
        "activity name '__duroxide_syscall:new_guid' uses reserved prefix '__duroxide_syscall:'"
    );
    let builder =
        ActivityRegistry::builder().register_typed("__duroxide_syscall:", |_, n: u8| async move { Ok(n) });
    assert!(builder.build().list_names().is_empty());
    let builder = ActivityRegistry::builder().register("X", act).register("X", act);
    assert_eq!(builder.build_result().unwrap_err(), "duplicate activity registration: X@1.0.0");
}

#[derive(Debug, Serialize, Deserialize)]
struct Order {
    id: u64,
    note: Option<String>,
}

#[test]
fn typed_orchestrations_decode_and_encode() {
    let registry = OrchestrationRegistry::builder()
        .register_typed::<Order, Order, _, _>("Next", |_ctx, order| async move {
            Ok(Order { id: order.id + 1, note: order.note })
        })
        .register_versioned_typed::<String, String, _, _>("Text", "1.2.3", |_ctx, text: String| async move {
            Ok(text)
        })
        .register_typed("Bad", |_ctx, (): ()| async move { Ok(HashMap::from([(vec![1], 1)])) })
        .build_result()
        .unwrap();

    assert_eq!(run(&registry, "Next", r#"{"id":6,"note":null}"#), Ok(r#"{"id":7,"note":null}"#.to_owned()));
    assert_eq!(run(&registry, "Text", "plain"), Ok("plain".to_owned()));
    assert_eq!(run(&registry, "Text", "\"5\""), Ok("\"5\"".to_owned()), "a string stays a string");
    let text = run(&registry, "Next", "{").unwrap_err();
    assert!(text.contains("EOF"), "what serde says: {text}");
    let text = run(&registry, "Bad", "null").unwrap_err();
    assert!(text.contains("key must be a string"), "what serde says: {text}");
}

#[test]
fn an_input_that_cannot_be_decoded_is_named_with_its_handler_its_type_and_the_position() {
    let registry = OrchestrationRegistry::builder()
        .register_typed("o", |_ctx, order: Order| async move { Ok(order.id) })
        .build();
    let text = run(&registry, "o", r#"{"note":"secret"}"#).unwrap_err();
    assert_eq!(text, "input of orchestration 'o' is not a `Order`: missing field `id` at line 1 column 17");
    let text = run(&registry, "o", r#"{"id":"secret"}"#).unwrap_err();
    assert_eq!(
        text,
        "input of orchestration 'o' is not a `Order`: invalid type: string, expected u64 at line 1 column 14"
    );
}

#[test]
fn a_name_that_is_empty_or_too_long_is_a_mistake() {
    let longest = "n".repeat(256);
    let builder = || {
        OrchestrationRegistry::builder()
            .register(longest.as_str(), echo)
            .register("", echo)
            .register_versioned(format!("{longest}n"), "2.0.0", echo)
    };
    let text = builder().build_result().unwrap_err();
    let beginning = "n".repeat(32);
    assert_eq!(
        text,
        format!(
            "handler name is empty; it must have at least one character; handler name beginning with \"{beginning}\" \
             has 257 bytes; the limit is 256"
        )
    );
    assert_eq!(builder().build().list_names(), [longest.as_str()]);
    assert!(ActivityRegistry::builder().register("", act).build_result().is_err());
}

fn unreachable(input: u64) -> Result<u64, String> {
    panic!("ran with {input}")
}

#[test]
fn an_input_that_cannot_be_decoded_does_not_reach_the_code() {
    let registry = OrchestrationRegistry::builder()
        .register_typed("A", |_ctx, n: u64| async move { unreachable(n) })
        .build();
    assert!(run(&registry, "A", "no number").is_err());
}

#[test]
fn what_code_fails_with_passes_through() {
    let registry = OrchestrationRegistry::builder()
        .register_typed("A", |_ctx, n: u64| async move { Err::<u64, _>(format!("no {n}")) })
        .build();
    assert_eq!(run(&registry, "A", "5"), Err("no 5".to_owned()));
}

#[test]
fn several_at_once() {
    let f = says("same");
    let registry = OrchestrationRegistry::builder().register_all(vec![("A", f.clone()), ("B", f)]).build();
    assert_eq!(registry.list_names(), ["A", "B"]);

    let f = |_: ActivityContext, input: String| async move { Ok(input) };
    let registry = ActivityRegistry::builder().register_all(vec![("X", f), ("Y", f)]).build();
    assert_eq!(registry.list_names(), ["X", "Y"]);
}

#[test]
fn handlers_of_ones_own() {
    struct Mine;
    #[async_trait::async_trait]
    impl ActivityHandler for Mine {
        async fn invoke(&self, _: ActivityContext, input: String) -> Result<String, String> {
            Ok(input)
        }
    }
    let handlers: [Arc<dyn ActivityHandler>; 2] = [Arc::new(Mine), Arc::new(FnActivity(act))];
    assert_eq!(handlers.len(), 2);
    let handler: Arc<dyn OrchestrationHandler> = Arc::new(FnOrchestration(echo));
    assert_eq!(block_on(handler.invoke(context(), "x".into())), Ok("x".to_owned()));
}

#[test]
fn registries_show_names_and_versions() {
    let builder: OrchestrationRegistryBuilder = OrchestrationRegistry::builder()
        .register("A", echo)
        .register_versioned("A", "1.1.0", echo)
        .register("A", echo)
        .set_policy("A", VersionPolicy::Latest);
    assert_eq!(
        format!("{builder:?}"),
        r#"RegistryBuilder { handlers: {"A": ["1.0.0", "1.1.0"]}, policies: {"A": Latest}, mistakes: ["duplicate orchestration registration: A@1.0.0"] }"#
    );
    assert_eq!(
        format!("{:?}", builder.build()),
        r#"Registry { handlers: {"A": ["1.0.0", "1.1.0"]}, policies: {"A": Latest} }"#
    );
    assert_eq!(format!("{:?}", ActivityRegistry::default()), "Registry { handlers: {}, policies: {} }");
    let empty: RegistryBuilder<dyn ActivityHandler> = ActivityRegistryBuilder::default();
    assert_eq!(empty.build().count(), 0);
}

#[test]
fn a_panic_under_a_clone_harms_nobody() {
    let registry = OrchestrationRegistry::builder().register("A", echo).build();
    let clone = registry.clone();
    let _text = panic_text(move || {
        clone.set_version_policy("A", VersionPolicy::Latest);
        panic!("{}", "while a clone is alive");
    });
    assert_eq!(registry.resolve_version("A"), Some(v(1, 0)));
}
