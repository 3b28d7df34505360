//! Built-in activities: what orchestrations ask of the system.
//!
//! They are activities like any other, so that their results are recorded and replayed; only their names are reserved.

use std::sync::Arc;

use abide_client::{Client, ClientError};
use abide_model::{Clock, Entropy};
use serde_json::Value;
use tracing::warn;

use crate::activity_context::ActivityContext;
use crate::handler::FnActivity;
use crate::insist::Patience;
use crate::pacing::Backoff;
use crate::registry::ActivityRegistry;

/// The names under which the engine asks for them. Part of the stored format.
const NEW_GUID: &str = "__duroxide_syscall:new_guid";
const UTC_NOW_MS: &str = "__duroxide_syscall:utc_now_ms";
const GET_KV_VALUE: &str = "__duroxide_syscall:get_kv_value";

/// The registry of a runtime: what the user registered, and the built-in activities.
pub(crate) fn with_system_calls(
    registry: ActivityRegistry,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
) -> ActivityRegistry {
    let reader = Reader { clock: Arc::clone(&clock), entropy: Arc::clone(&entropy) };
    let guid = move |_: ActivityContext, _: String| {
        let guid = new_guid(&*entropy);
        async move { Ok(guid) }
    };
    let now = move |ctx: ActivityContext, _: String| {
        // Recorded, and compared with what other nodes record: the store's.
        let now = ctx.store_time().now(&*clock).as_millis().to_string();
        async move { Ok(now) }
    };
    let read = move |ctx: ActivityContext, input: String| {
        let reader = reader.clone();
        async move { reader.get_kv_value(&ctx.get_client(), &input).await }
    };
    registry
        .with_builtin(NEW_GUID, Arc::new(FnActivity(guid)))
        .with_builtin(UTC_NOW_MS, Arc::new(FnActivity(now)))
        .with_builtin(GET_KV_VALUE, Arc::new(FnActivity(read)))
}

/// A random (version 4) UUID.
fn new_guid(entropy: &dyn Entropy) -> String {
    let bits = (u128::from(entropy.next_u64()) << 64) | u128::from(entropy.next_u64());
    let bits = bits & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// Reads values of other instances.
#[derive(Clone)]
struct Reader {
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

impl Reader {
    async fn get_kv_value(&self, client: &Client, input: &str) -> Result<String, String> {
        let request: Value =
            serde_json::from_str(input).map_err(|error| format!("get_kv_value: invalid input: {error}"))?;
        let field = |name: &str| request.get(name).and_then(Value::as_str);
        let instance = field("instance_id").ok_or("get_kv_value: missing instance_id")?;
        let key = field("key").ok_or("get_kv_value: missing key")?;
        let value = self.insist(client, instance, key).await?;
        serde_json::to_string(&value).map_err(|error| format!("get_kv_value: {error}"))
    }

    /// Asks until the store answers for certain. That it fails for a while is no result; a shutdown, or an end of the
    /// orchestration, ends the activity and this with it.
    async fn insist(&self, client: &Client, instance: &str, key: &str) -> Result<Option<String>, String> {
        let mut backoff = Backoff::default();
        let mut patience = Patience::for_read();
        loop {
            let client = client.with_call_timeout(patience.next);
            let problem = match client.get_kv_value(instance, key).await {
                Ok(value) => return Ok(value),
                Err(error) if error.is_retryable() => error,
                Err(error) => return Err(format!("get_kv_value client error: {error}")),
            };
            if matches!(problem, ClientError::Timeout) {
                // The value may be too large for the time that the read had.
                patience.grow();
            }
            let delay = backoff.after_failure(&*self.entropy);
            warn!(target: "abide::runtime", %problem, failures = backoff.failures(), retry_in = ?delay,
                "a value of another instance could not be read; trying again");
            self.clock.sleep_until(self.clock.monotonic().saturating_add(delay)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ones;

    impl Entropy for Ones {
        fn next_u64(&self) -> u64 {
            u64::MAX
        }
    }

    struct Zeros;

    impl Entropy for Zeros {
        fn next_u64(&self) -> u64 {
            0
        }
    }

    #[test]
    fn a_guid_has_the_form_of_a_random_uuid() {
        assert_eq!(new_guid(&Ones), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(new_guid(&Zeros), "00000000-0000-4000-8000-000000000000");
    }
}
