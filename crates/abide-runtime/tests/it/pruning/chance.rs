//! Any policies, given anywhere: what is left is what a few lines say.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use abide_model::{AutoPruneConfig, AutoPrunePolicy, PruneOptions, PruneTrigger};
use abide_provider::ProviderAdmin as _;
use abide_runtime::RetentionConfig;
use abide_runtime::registry::OrchestrationOptions;
use abide_sim::simulate;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};

use super::MINUTE;
use crate::lessons::scene::{Code, LONG, Scene, Way};

/// What one run is about.
#[derive(Debug, Clone)]
struct Case {
    enabled: bool,
    default_policy: Option<AutoPrunePolicy>,
    configured: Option<AutoPrunePolicy>,
    registered: Option<AutoPrunePolicy>,
    /// Each takes so many minutes, and does this when they are over. The last one just goes on.
    executions: Vec<(u32, Act)>,
    /// Finished instances are removed so soon that this one would go, if it counted as finished between two executions.
    retention: bool,
}

/// What an execution does about pruning.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Act {
    LeavesItToPolicies,
    OptsOut,
    /// Explicitly, with the commit: keeps so many, and what ended within so many minutes.
    Prunes(u32, Option<u32>),
}

fn policies() -> impl Strategy<Value = AutoPrunePolicy> {
    let on =
        prop_oneof![Just(PruneTrigger::ContinueAsNew), (1_u64..5).prop_map(PruneTrigger::EveryNExecutions),];
    (0_u32..5, proptest::option::of(0_u32..12), on).prop_map(|(keep_last, keep_for, on)| AutoPrunePolicy {
        keep_last,
        keep_for: keep_for.map(|minutes| minutes * MINUTE + MINUTE / 2),
        on,
    })
}

fn acts() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => Just(Act::LeavesItToPolicies),
        1 => Just(Act::OptsOut),
        1 => (0_u32..5, proptest::option::of(0_u32..12)).prop_map(|(keep, age)| Act::Prunes(keep, age)),
    ]
}

fn cases() -> impl Strategy<Value = Case> {
    let maybe = || proptest::option::of(policies());
    let executions = proptest::collection::vec((1_u32..5, acts()), 1..12);
    (proptest::bool::weighted(0.8), maybe(), maybe(), maybe(), executions, any::<bool>()).prop_map(
        |(enabled, default_policy, configured, registered, executions, retention)| Case {
            enabled,
            default_policy,
            configured,
            registered,
            executions,
            retention,
        },
    )
}

impl Case {
    fn code(&self) -> Code {
        let (mut code, executions) = (Code::bare(), self.executions.clone());
        code.orchestrations = code.orchestrations.register_with_options(
            "Chance",
            move |ctx: abide_engine::OrchestrationContext, input: String| {
                let now = usize::try_from(ctx.execution_id()).unwrap() - 1;
                let (minutes, act) = executions.get(now).cloned().unwrap_or((1, Act::OptsOut));
                let is_last = now >= executions.len();
                async move {
                    ctx.schedule_timer(minutes * MINUTE).await;
                    if is_last {
                        return Ok(ctx.schedule_wait("never").await);
                    }
                    match act {
                        Act::LeavesItToPolicies => ctx.continue_as_new(input).await,
                        Act::OptsOut => {
                            ctx.set_auto_prune(false);
                            ctx.continue_as_new(input).await
                        }
                        Act::Prunes(keep, age) => {
                            let now = ctx.utc_now().await?.duration_since(UNIX_EPOCH).unwrap();
                            let now = u64::try_from(now.as_millis()).unwrap();
                            ctx.continue_as_new_pruned(input, options(keep, age, now)).await
                        }
                    }
                }
            },
            OrchestrationOptions { auto_prune: self.registered.clone() },
        );
        let overrides = self.configured.iter().map(|policy| ("Chance".to_owned(), policy.clone())).collect();
        let (enabled, default_policy) = (self.enabled, self.default_policy.clone());
        let retention = self.retention.then(|| RetentionConfig::keeping_for(Duration::ZERO));
        code.options(|options| {
            options.auto_prune = AutoPruneConfig { enabled, default_policy, overrides };
            options.retention = retention;
        })
    }

    /// What is left when the last one waits: the numbers of executions, and nothing else.
    fn left(&self) -> Vec<u64> {
        let mut ended: BTreeMap<u64, u32> = BTreeMap::new();
        let mut now = 0;
        for (number, (minutes, act)) in (1_u64..).zip(&self.executions) {
            now += minutes;
            ended.insert(number, now);
            let Some((keep, age)) = self.rule(number, act) else { continue };
            let counted = u64::from(keep.max(1));
            ended.retain(|id, at| *id + counted > number || age.is_some_and(|age| now - *at <= age));
        }
        ended.into_keys().chain([u64::try_from(self.executions.len()).unwrap() + 1]).collect()
    }

    /// How many are kept, and those of how many minutes.
    fn rule(&self, number: u64, act: &Act) -> Option<(u32, Option<u32>)> {
        match act {
            Act::OptsOut => None,
            Act::Prunes(keep, age) => Some((*keep, *age)),
            Act::LeavesItToPolicies => {
                let policy =
                    [&self.configured, &self.registered, &self.default_policy].into_iter().flatten().next();
                let policy = policy.filter(|_| self.enabled)?;
                let every = if let PruneTrigger::EveryNExecutions(count) = policy.on { count } else { 1 };
                let age = policy.keep_for.map(|time| u32::try_from(time.as_secs() / 60).unwrap());
                number.is_multiple_of(every).then_some((policy.keep_last, age))
            }
        }
    }
}

fn options(keep: u32, age: Option<u32>, now_ms: u64) -> PruneOptions {
    // Half a minute more, so that nothing is on the border.
    let kept = |minutes: u32| u64::from(minutes) * 60_000 + 30_000;
    PruneOptions { keep_last: Some(keep), completed_before: age.map(|age| now_ms.saturating_sub(kept(age))) }
}

/// The same cases in every run; `PROPTEST_RNG_SEED` asks for others, `PROPTEST_CASES` for more.
pub(super) fn config(cases: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let rng_seed = match ProptestConfig::default().rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        asked @ RngSeed::Fixed(_) => asked,
    };
    let cases = asked.unwrap_or(cases);
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..ProptestConfig::default() }
}

/// Runs it until the last execution waits; gives what is left.
fn left_of(case: &Case, way: Way) -> Vec<u64> {
    simulate(LONG, async {
        let scene = Scene::new(way);
        scene.node(case.code()).await;
        scene.start("i", "Chance", "").await;
        let last = ("i".to_owned(), u64::try_from(case.executions.len()).unwrap() + 1);
        scene.until(|dump| dump.executions.get(&last).is_some_and(|it| it.event_ids.len() > 3)).await;
        // Whatever retention thinks, it has had the time to do it.
        scene.pass(3 * MINUTE).await;
        let left = scene.world.memory.list_executions("i").await.unwrap();
        scene.close().await;
        left
    })
}

#[test]
fn policies_prune_what_the_model_says() {
    let property = |case: Case| {
        for way in [Way::Resident, Way::Plain] {
            prop_assert_eq!(left_of(&case, way), case.left(), "{:?}", way);
        }
        Ok(())
    };
    TestRunner::new(config(60)).run(&cases(), property).unwrap();
}
