//! 3: finding code by name.

use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;

use duroxide::runtime::registry::{
    ActivityRegistry, ActivityRegistryBuilder, OrchestrationRegistry, OrchestrationRegistryBuilder, Registry,
    RegistryBuilder, VersionPolicy,
};
use duroxide::runtime::{ActivityHandler, OrchestrationHandler};
use duroxide::{ActivityContext, OrchestrationContext};
use semver::Version;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Text;

const fn is_registry<T: Clone + Default + Send + Sync + 'static>() {}
const fn is_policy<T: Clone + Debug>() {}
const _: () = {
    is_registry::<OrchestrationRegistry>();
    is_registry::<ActivityRegistry>();
    is_policy::<VersionPolicy>();
};

fn _policies(policy: VersionPolicy) -> Option<Version> {
    match policy {
        VersionPolicy::Latest => None,
        VersionPolicy::Exact(version) => Some(version),
    }
}

/// The aliases are what they are documented to be.
fn _aliases(
    a: Registry<dyn OrchestrationHandler>,
    b: Registry<dyn ActivityHandler>,
    c: RegistryBuilder<dyn OrchestrationHandler>,
    d: RegistryBuilder<dyn ActivityHandler>,
) -> (OrchestrationRegistry, ActivityRegistry, OrchestrationRegistryBuilder, ActivityRegistryBuilder) {
    (a, b, c, d)
}

fn _registry<H: ?Sized>(registry: &Registry<H>, version: &Version) -> RegistryBuilder<H> {
    let _: RegistryBuilder<H> = Registry::<H>::builder();
    let _: Option<(Version, Arc<H>)> = registry.resolve_handler("n");
    let _: Option<Version> = registry.resolve_version("n");
    let _: Option<Arc<H>> = registry.resolve_handler_exact("n", version);
    let () = registry.set_version_policy("n", VersionPolicy::Latest);
    let _: Vec<String> = registry.list_names();
    let _: Vec<Version> = registry.list_versions("n");
    let _: bool = registry.has("n");
    let _: usize = registry.count();
    let _: Registry<H> = Registry::clone(registry);
    let _: Registry<H> = Registry::default();
    Registry::<H>::builder_from(registry)
}

fn _builder<H: ?Sized>(builder: RegistryBuilder<H>, other: Registry<H>) -> Result<Registry<H>, String> {
    let _: Registry<H> = Registry::<H>::builder().build();
    builder.merge_registry(other, "prefix").build_result()
}

fn _all_handlers<H: ?Sized, F: Clone>(
    builder: RegistryBuilder<H>,
    items: Vec<(&str, F)>,
    register: impl Fn(RegistryBuilder<H>, &str, F) -> RegistryBuilder<H>,
) -> RegistryBuilder<H> {
    builder.register_all_handlers::<F>(items, register)
}

// Orchestrations

fn _orchestrations<F, G, Fut, A: Text, B: Text, C: Text, V: AsRef<str>>(
    (f, g, h): (F, F, G),
    (a, b, c): (A, B, C),
    version: V,
    other: OrchestrationRegistry,
) -> OrchestrationRegistryBuilder
where
    F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
    G: Fn(OrchestrationContext, String) -> Fut + Send + Sync + Clone + 'static,
    Fut: Future<Output = Result<String, String>> + Send + 'static,
{
    OrchestrationRegistry::builder()
        .register(a, f)
        .register_versioned(b, version, g)
        .merge(other)
        .register_all(vec![("x", h.clone()), ("y", h)])
        .set_policy(c, VersionPolicy::Exact(Version::new(1, 0, 0)))
}

fn _typed_orchestrations<In, Out, F, Fut, A: Text, B: Text, V: AsRef<str>>(
    f: F,
    (a, b): (A, B),
    version: V,
) -> OrchestrationRegistryBuilder
where
    In: DeserializeOwned + Send + 'static,
    Out: Serialize + Send + 'static,
    F: Fn(OrchestrationContext, In) -> Fut + Send + Sync + Clone + 'static,
    Fut: Future<Output = Result<Out, String>> + Send + 'static,
{
    OrchestrationRegistry::builder()
        .register_typed(a, f.clone())
        .register_versioned_typed(b, version, f.clone())
        // Parameters that are named by a turbofish, in this order.
        .register_typed::<In, Out, _, _>("n", f.clone())
        .register_versioned_typed::<In, Out, _, _>("n", "2.0.0", f)
}

// Activities

fn _activities<F, G, Fut, A: Text>(
    (f, g): (F, G),
    name: A,
    other: ActivityRegistry,
) -> ActivityRegistryBuilder
where
    F: Fn(ActivityContext, String) -> Fut + Send + Sync + 'static,
    G: Fn(ActivityContext, String) -> Fut + Send + Sync + Clone + 'static,
    Fut: Future<Output = Result<String, String>> + Send + 'static,
{
    ActivityRegistryBuilder::from_registry(&other)
        .register(name, f)
        .merge(other)
        .register_all(vec![("x", g.clone()), ("y", g)])
}

/// The function need not be `Clone`.
fn _typed_activities<In, Out, F, Fut, A: Text>(f: F, g: F, name: A) -> ActivityRegistryBuilder
where
    In: DeserializeOwned + Send + 'static,
    Out: Serialize + Send + 'static,
    F: Fn(ActivityContext, In) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Out, String>> + Send + 'static,
{
    ActivityRegistry::builder().register_typed(name, f).register_typed::<In, Out, _, _>("n", g)
}

/// Closures whose parameters have no types, as most people write them.
fn _inferred() -> (OrchestrationRegistry, ActivityRegistry) {
    let orchestrations = OrchestrationRegistry::builder()
        .register("a", |ctx, _input| async move { ctx.schedule_activity("b", "").await })
        .register_versioned("a", "2.0.0", |ctx, input| async move {
            ctx.trace_info("second");
            Ok(input)
        })
        .register_typed("c", |ctx, n: u64| async move {
            let doubled: u64 = ctx.schedule_activity_typed("d", &n).await?;
            Ok(doubled)
        })
        .build();
    let activities = ActivityRegistry::builder()
        .register("b", |ctx, input| async move { Ok(format!("{}{input}", ctx.activity_name())) })
        .register_typed("d", |_ctx, n: u64| async move { Ok(n * 2) })
        .build();
    (orchestrations, activities)
}
