//! Any policies, given anywhere, and any prunes: what is left, and what the code is told, is what a few lines say.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide_model::PruneOptions;
use abide_provider::ProviderAdmin as _;
use abide_runtime::registry::OrchestrationOptions;
use abide_runtime::{AutoPruneConfig, AutoPrunePolicy, PruneTrigger, RetentionConfig};
use abide_sim::{VirtualClock, simulate};
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
    /// The last one just goes on.
    executions: Vec<Run>,
    /// Finished instances are removed so soon that this one would go, if it counted as finished between two executions.
    retention: bool,
}

/// What an execution does.
#[derive(Debug, Clone)]
struct Run {
    /// What it prunes in its first turn.
    first: Option<Rule>,
    /// How long it takes. Without a minute there is one turn only.
    minutes: u32,
    /// What it prunes when the minutes are over.
    later: Option<Rule>,
    act: Act,
}

/// So many are kept, and those of how many minutes.
type Rule = (u32, Option<u32>);

/// What code is told of each of its prunes: by execution, and whether it was in its first turn.
type Answers = BTreeMap<(u64, bool), u64>;

/// What an execution does about pruning at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Act {
    LeavesItToPolicies,
    OptsOut,
    /// Explicitly, with the commit.
    Prunes(Rule),
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
        1 => rules().prop_map(Act::Prunes),
    ]
}

fn rules() -> impl Strategy<Value = Rule> {
    (0_u32..5, proptest::option::of(0_u32..12))
}

fn runs() -> impl Strategy<Value = Run> {
    let perhaps = || proptest::option::weighted(0.3, rules());
    (perhaps(), 0_u32..5, perhaps(), acts()).prop_map(|(first, minutes, later, act)| Run {
        first,
        minutes,
        later,
        act,
    })
}

fn cases() -> impl Strategy<Value = Case> {
    let maybe = || proptest::option::of(policies());
    let executions = proptest::collection::vec(runs(), 1..12);
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
    fn code(&self, told: &Arc<Mutex<Answers>>) -> Code {
        let (mut code, executions, told) = (Code::bare(), self.executions.clone(), Arc::clone(told));
        code.orchestrations = code.orchestrations.register_with_options(
            "Chance",
            move |ctx: abide_engine::OrchestrationContext, input: String| {
                let before = usize::try_from(ctx.execution_id()).unwrap() - 1;
                let begins = executions.iter().take(before).map(|run| run.minutes).sum();
                let (run, told) = (executions.get(before).cloned(), Arc::clone(&told));
                async move {
                    let Some(run) = run else { return Ok(ctx.schedule_wait("never").await) };
                    let ends = begins + run.minutes;
                    if let Some(rule) = run.first {
                        let pruned = ctx.prune_history(options(rule, begins)).await?;
                        told.lock().unwrap().insert((ctx.execution_id(), true), pruned.executions_deleted);
                    }
                    if run.minutes > 0 {
                        ctx.schedule_timer(run.minutes * MINUTE).await;
                    }
                    if let Some(rule) = run.later {
                        let pruned = ctx.prune_history(options(rule, ends)).await?;
                        told.lock().unwrap().insert((ctx.execution_id(), false), pruned.executions_deleted);
                    }
                    match run.act {
                        Act::LeavesItToPolicies => ctx.continue_as_new(input).await,
                        Act::OptsOut => {
                            ctx.set_auto_prune(false);
                            ctx.continue_as_new(input).await
                        }
                        Act::Prunes(rule) => ctx.continue_as_new_pruned(input, options(rule, ends)).await,
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

    /// What is left when the last one waits, and what the code was told.
    fn outcome(&self) -> (Vec<u64>, Answers) {
        let mut past = Past::default();
        let mut told = Answers::new();
        for (number, run) in (1_u64..).zip(&self.executions) {
            if let Some(rule) = run.first {
                told.insert((number, true), past.prune(number, rule));
            }
            past.now += run.minutes;
            if let Some(rule) = run.later {
                told.insert((number, false), past.prune(number, rule));
            }
            past.ended.insert(number, past.now);
            if let Some(rule) = self.rule(number, &run.act) {
                past.prune(number, rule);
            }
        }
        let last = u64::try_from(self.executions.len()).unwrap() + 1;
        (past.ended.into_keys().chain([last]).collect(), told)
    }

    /// What is pruned when an execution continues.
    fn rule(&self, number: u64, act: &Act) -> Option<Rule> {
        match act {
            Act::OptsOut => None,
            Act::Prunes(rule) => Some(*rule),
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

/// Which executions ended when, in minutes.
#[derive(Debug, Default)]
struct Past {
    now: u32,
    ended: BTreeMap<u64, u32>,
}

impl Past {
    /// Prunes while this execution is the current one; gives how many are gone.
    fn prune(&mut self, current: u64, (keep, age): Rule) -> u64 {
        let (before, counted, now) = (self.ended.len(), u64::from(keep.max(1)), self.now);
        self.ended.retain(|id, at| *id + counted > current || age.is_some_and(|age| now - *at <= age));
        u64::try_from(before - self.ended.len()).unwrap()
    }
}

/// The same for the store, in which a run takes no time but its minutes.
fn options((keep, age): Rule, minutes: u32) -> PruneOptions {
    // Half a minute more, so that nothing is on the border.
    let now = VirtualClock::EPOCH.saturating_add(minutes * MINUTE);
    let before = |age: u32| now.saturating_sub(age * MINUTE + MINUTE / 2).as_millis();
    PruneOptions { keep_last: Some(keep), completed_before: age.map(before) }
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

/// Runs it until the last execution waits; gives what is left, and what the code was told.
fn outcome_of(case: &Case, way: Way) -> (Vec<u64>, Answers) {
    simulate(LONG, async {
        let scene = Scene::new(way);
        let told = Arc::default();
        scene.node(case.code(&told)).await;
        scene.start("i", "Chance", "").await;
        let last = ("i".to_owned(), u64::try_from(case.executions.len()).unwrap() + 1);
        scene.until(|dump| dump.executions.get(&last).is_some_and(|it| it.event_ids.len() > 1)).await;
        // Whatever retention thinks, it has had the time to do it.
        scene.pass(3 * MINUTE).await;
        let left = scene.world.memory.list_executions("i").await.unwrap();
        scene.close().await;
        (left, told.lock().unwrap().clone())
    })
}

#[test]
fn policies_and_code_prune_and_hear_what_the_model_says() {
    let property = |case: Case| {
        for way in [Way::Fused, Way::Resident, Way::Plain] {
            prop_assert_eq!(outcome_of(&case, way), case.outcome(), "{:?}", way);
        }
        Ok(())
    };
    TestRunner::new(config(60)).run(&cases(), property).unwrap();
}
