//! Instances that a build cannot run: they are blocked, say why, and go on after a repair.

mod cancel;
mod crashes;
mod deploys;
mod ends;
mod revoke;
mod serving;
mod sessions;
mod waits;

use std::time::Duration;

use abide_provider::{BlockKind, BlockedInstance, Provider as _, ProviderAdmin as _};
use abide_runtime::ProblemPolicy;

use crate::lessons::scene::{Code, Scene, Way};

/// The ways in which the store remembers blocks.
const REMEMBERING: [Way; 3] = [Way::Fused, Way::Resident, Way::Cold];

const MINUTE: Duration = Duration::from_secs(60);

/// Code with the policies of `Runtime::builder`, as this build.
fn build(name: &str) -> Code {
    blocking(Code::bare(), name)
}

fn blocking(code: Code, name: &str) -> Code {
    code.options(|options| {
        options.build_id = Some(name.to_owned());
        for policy in [
            &mut options.on_nondeterminism,
            &mut options.on_panic,
            &mut options.on_corrupt,
            &mut options.on_crashes,
            &mut options.on_missing,
        ] {
            *policy = Some(ProblemPolicy::Block);
        }
    })
}

/// An order of two steps, with a signal between them.
fn order(name: &str) -> Code {
    build(name).orchestration("Order", |ctx, input| async move {
        let first = ctx.schedule_activity("Echo", format!("first {input}")).await?;
        ctx.schedule_wait("go").await;
        let second = ctx.schedule_activity("Echo", format!("second {input}")).await?;
        Ok(format!("{first}, {second}"))
    })
}

/// The same order, with its steps in another order: its histories do not fit.
fn changed_order(name: &str) -> Code {
    build(name).orchestration("Order", |ctx, input| async move {
        ctx.schedule_wait("go").await;
        ctx.schedule_activity("Echo", format!("second {input}")).await
    })
}

/// The same order, in code that panics.
fn panicking_order(name: &str) -> Code {
    build(name).orchestration("Order", |ctx, input| async move {
        ctx.schedule_activity("Echo", format!("first {input}")).await?;
        ctx.schedule_wait("go").await;
        panic!("this build is broken")
    })
}

impl Scene {
    async fn blocks(&self, instance: &str) -> Vec<BlockedInstance> {
        self.world.memory.read_blocks(instance).await.unwrap()
    }

    async fn kind_of_block(&self, instance: &str) -> Option<BlockKind> {
        self.blocks(instance).await.first().map(|blocked| blocked.block.kind)
    }

    async fn until_blocked(&self, instance: &str) {
        self.until(|dump| dump.instances.get(instance).is_some_and(|it| it.block.is_some())).await;
    }

    async fn until_no_mail(&self, instance: &str) {
        self.until(|dump| dump.messages.values().all(|message| message.mailbox != instance)).await;
    }

    async fn signal(&self, instance: &str) {
        self.client().raise_event(instance, "go", "").await.unwrap();
    }

    /// How many instances are blocked.
    async fn blocked(&self) -> u64 {
        let counts = self.world.memory.count_blocked().await.unwrap();
        counts.by_kind.iter().map(|(_, count)| count).sum()
    }
}
