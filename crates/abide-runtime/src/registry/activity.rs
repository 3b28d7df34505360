//! Registering activities, typed or not, and those that the runtime brings itself.

use std::future::Future;
use std::sync::Arc;

use abide_model::{codec, decode_error};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{ActivityRegistry, ActivityRegistryBuilder, Registry, version};
use crate::{ActivityContext, ActivityHandler, FnActivity};

const TAKEN: &str = "duplicate activity registration";

/// Names that begin with this belong to the runtime. It is part of the stored format.
const RESERVED_PREFIX: &str = "__duroxide_syscall:";

impl ActivityRegistryBuilder {
    /// A builder that has what `reg` has now; the older name of [`Registry::builder_from`].
    #[must_use]
    pub fn from_registry(reg: &ActivityRegistry) -> Self {
        Registry::builder_from(reg)
    }

    /// Adds an activity.
    #[must_use]
    pub fn register<F, Fut>(self, name: impl Into<String>, f: F) -> Self
    where
        F: Fn(ActivityContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        self.put_unreserved(&name.into(), Arc::new(FnActivity(f)))
    }

    /// Adds an activity with typed input and output. For an input that cannot be decoded it fails before its code runs.
    #[must_use]
    pub fn register_typed<In, Out, F, Fut>(self, name: impl Into<String>, f: F) -> Self
    where
        In: DeserializeOwned + Send + 'static,
        Out: Serialize + Send + 'static,
        F: Fn(ActivityContext, In) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Out, String>> + Send + 'static,
    {
        self.put_unreserved(&name.into(), typed(f))
    }

    /// Adds what another registry has.
    #[must_use]
    pub fn merge(self, other: ActivityRegistry) -> Self {
        self.merge_registry(other, "duplicate activity in merge")
    }

    /// Adds several activities.
    #[must_use]
    pub fn register_all<F, Fut>(self, items: Vec<(&str, F)>) -> Self
    where
        F: Fn(ActivityContext, String) -> Fut + Send + Sync + Clone + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        self.register_all_handlers(items, |builder, name, f| builder.register(name, f))
    }

    fn put_unreserved(mut self, name: &str, handler: Arc<dyn ActivityHandler>) -> Self {
        if name.starts_with(RESERVED_PREFIX) {
            self.mistakes.push(format!("activity name '{name}' uses reserved prefix '{RESERVED_PREFIX}'"));
        } else {
            self.put(name, version::FIRST, handler.into(), TAKEN);
        }
        self
    }
}

impl ActivityRegistry {
    /// The same registry with an activity of the runtime's own, under a name that users cannot take.
    #[must_use]
    pub(crate) fn with_builtin(mut self, name: &str, handler: Arc<dyn ActivityHandler>) -> Self {
        debug_assert!(name.starts_with(RESERVED_PREFIX), "{name} could be a user's");
        Arc::make_mut(&mut self.handlers)
            .entry(name.to_owned())
            .or_default()
            .insert(version::FIRST, handler.into());
        self
    }
}

fn typed<In, Out, F, Fut>(f: F) -> Arc<dyn ActivityHandler>
where
    In: DeserializeOwned + Send + 'static,
    Out: Serialize + Send + 'static,
    F: Fn(ActivityContext, In) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Out, String>> + Send + 'static,
{
    Arc::new(FnActivity(move |ctx, input: String| {
        let input = codec::decode::<In>(&input).map_err(|error| {
            let what = format_args!("input of activity '{}'", ctx.activity_name());
            decode_error::not_a::<In>(&what, &error)
        });
        let name = ctx.activity_name().to_owned();
        let run = input.map(|input| f(ctx, input));
        async move {
            let output = run?.await?;
            codec::encode(&output).map_err(|error| {
                let what = format_args!("output of activity '{name}'");
                decode_error::not_encodable::<Out>(&what, &error)
            })
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtimes_own_activities_do_not_reach_other_clones() {
        let users =
            ActivityRegistry::builder().register("Charge", |_, input| async move { Ok(input) }).build();

        let all = users
            .clone()
            .with_builtin("__duroxide_syscall:new_guid", typed(|_, n: u64| async move { Ok(n) }));

        assert!(all.has("__duroxide_syscall:new_guid") && all.has("Charge"));
        assert_eq!(users.list_names(), ["Charge"]);
        assert_eq!(users.nearest_name("charg"), Some("Charge".to_owned()));
    }
}
