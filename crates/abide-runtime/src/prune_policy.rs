//! Pruning that nobody calls: a policy, when it is due, and which one counts. Pure.
//!
//! A policy is given where an orchestration is registered, or by the operator, for all or for some of them by name. It is looked
//! at when an execution continues as new.

use std::collections::BTreeMap;
use std::time::Duration;

use abide_model::{PruneOptions, Timestamp};
use abide_provider::PRUNE_BATCH;
use serde::{Deserialize, Serialize};

/// For so many executions that came since, one commit prunes: less than it may, so that what is older goes too, bit by bit.
const FOR_EACH_PRUNE: u64 = PRUNE_BATCH / 2;

/// Which ended executions of an instance are kept when it continues as new.
///
/// ```
/// use abide_runtime::{AutoPrunePolicy, PruneTrigger};
///
/// let policy = AutoPrunePolicy { keep_last: 10, on: PruneTrigger::EveryNExecutions(10), ..AutoPrunePolicy::default() };
/// let read: AutoPrunePolicy = serde_json::from_str(r#"{ "keep_last": 10, "on": { "EveryNExecutions": 10 } }"#).unwrap();
/// assert_eq!(read, policy);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AutoPrunePolicy {
    /// So many of the latest are kept: the one that ends counts, its successor does not. 0 is as good as 1, and with
    /// [`u32::MAX`] nothing is ever pruned: that is how an operator overrides a policy by none.
    pub keep_last: u32,
    /// And all that ended within this time, by the clock of the store. In a file: `{ "secs": 3600, "nanos": 0 }`.
    pub keep_for: Option<Duration>,
    /// When it is looked at.
    pub on: PruneTrigger,
}

impl Default for AutoPrunePolicy {
    fn default() -> Self {
        Self { keep_last: 1, keep_for: None, on: PruneTrigger::ContinueAsNew }
    }
}

/// When executions are pruned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum PruneTrigger {
    /// Whenever an execution continues as new.
    #[default]
    ContinueAsNew,
    /// When an execution continues as new whose number can be divided by this one. A commit prunes at most
    /// [`PRUNE_BATCH`]: if more may have
    /// come together since the last time, a few of the next executions prune too.
    EveryNExecutions(u64),
}

/// A policy whose time never comes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a policy that prunes every 0 executions never does; use `ContinueAsNew`, or at least 1")]
pub struct NeverPrunes;

impl AutoPrunePolicy {
    /// Says whether the policy can do anything.
    ///
    /// # Errors
    ///
    /// If no execution has a number at which it would.
    pub const fn check(&self) -> Result<(), NeverPrunes> {
        match self.on {
            PruneTrigger::EveryNExecutions(0) => Err(NeverPrunes),
            PruneTrigger::EveryNExecutions(_) | PruneTrigger::ContinueAsNew => Ok(()),
        }
    }

    /// What to prune when this execution continues as new at this time; `None` if it is not its turn.
    pub(crate) fn options(&self, execution_id: u64, now: Timestamp) -> Option<PruneOptions> {
        let takes_any = self.keep_last < u32::MAX;
        (takes_any && self.on.is_due(execution_id)).then(|| PruneOptions {
            keep_last: Some(self.keep_last.max(1)),
            completed_before: self.keep_for.map(|time| now.saturating_sub(time).as_millis()),
        })
    }
}

impl PruneTrigger {
    fn is_due(self, execution_id: u64) -> bool {
        match self {
            Self::ContinueAsNew => true,
            Self::EveryNExecutions(count) => execution_id
                .checked_rem(count)
                .is_some_and(|after| execution_id >= count && after <= count / FOR_EACH_PRUNE),
        }
    }
}

/// What an operator says about automatic pruning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AutoPruneConfig {
    /// With `false` nothing is pruned but by explicit calls: for roll-outs that may have to be taken back.
    pub enabled: bool,
    /// For orchestrations that nothing else is said of.
    pub default_policy: Option<AutoPrunePolicy>,
    /// By the name of the orchestration. Counts for more than what was registered. Nothing of an orchestration is pruned with a
    /// [`keep_last`](AutoPrunePolicy::keep_last) of [`u32::MAX`].
    pub overrides: BTreeMap<String, AutoPrunePolicy>,
}

impl Default for AutoPruneConfig {
    fn default() -> Self {
        Self { enabled: true, default_policy: None, overrides: BTreeMap::new() }
    }
}

impl AutoPruneConfig {
    /// Which policy counts for an orchestration that was registered with this one, or with none.
    pub(crate) fn policy_for<'policy>(
        &'policy self,
        orchestration: &str,
        registered: Option<&'policy AutoPrunePolicy>,
    ) -> Option<&'policy AutoPrunePolicy> {
        if !self.enabled {
            return None;
        }
        self.overrides.get(orchestration).or(registered).or(self.default_policy.as_ref())
    }

    /// All policies, with the name of the orchestration they are for.
    pub(crate) fn policies(&self) -> impl Iterator<Item = (Option<&str>, &AutoPrunePolicy)> {
        let default = self.default_policy.iter().map(|policy| (None, policy));
        default.chain(self.overrides.iter().map(|(name, policy)| (Some(name.as_str()), policy)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keeps(keep_last: u32) -> AutoPrunePolicy {
        AutoPrunePolicy { keep_last, ..AutoPrunePolicy::default() }
    }

    #[test]
    fn an_override_counts_for_more_than_the_registration_and_that_for_more_than_the_default() {
        let mut config = AutoPruneConfig {
            default_policy: Some(keeps(3)),
            overrides: BTreeMap::from([("Loud".to_owned(), keeps(1))]),
            ..AutoPruneConfig::default()
        };
        let registered = keeps(2);
        let kept = |config: &AutoPruneConfig, name, registered| {
            config.policy_for(name, registered).map(|policy| policy.keep_last)
        };
        assert_eq!(kept(&config, "Loud", Some(&registered)), Some(1));
        assert_eq!(kept(&config, "Quiet", Some(&registered)), Some(2));
        assert_eq!(kept(&config, "Quiet", None), Some(3));
        config.enabled = false;
        assert_eq!(kept(&config, "Loud", Some(&registered)), None);
        assert_eq!(kept(&AutoPruneConfig::default(), "Quiet", None), None);
    }

    #[test]
    fn what_is_pruned_depends_on_the_number_and_the_time() {
        let now = Timestamp::from_millis(10_000);
        let all =
            |keep_last, completed_before| Some(PruneOptions { keep_last: Some(keep_last), completed_before });
        assert_eq!(keeps(0).options(1, now), all(1, None));
        assert_eq!(keeps(5).options(7, now), all(5, None));
        let recent = AutoPrunePolicy { keep_for: Some(Duration::from_secs(3)), ..keeps(1) };
        assert_eq!(recent.options(1, now), all(1, Some(7_000)));
        let rarely = AutoPrunePolicy { on: PruneTrigger::EveryNExecutions(10), ..keeps(1) };
        let due: Vec<u64> = (1..=30).filter(|id| rarely.options(*id, now).is_some()).collect();
        assert_eq!(due, [10, 20, 30]);
        assert_eq!(keeps(u32::MAX).options(7, now), None);
        let never = AutoPrunePolicy { on: PruneTrigger::EveryNExecutions(0), ..keeps(1) };
        assert_eq!((never.check(), never.options(10, now)), (Err(NeverPrunes), None));
    }

    #[test]
    fn what_came_together_is_pruned_before_more_comes() {
        let due = |count: u64, until: u64| -> Vec<u64> {
            let trigger = PruneTrigger::EveryNExecutions(count);
            (1..=until).filter(|id| trigger.is_due(*id)).collect()
        };
        assert_eq!(due(1, 4), [1, 2, 3, 4]);
        assert_eq!(due(127, 300), [127, 254]);
        assert_eq!(due(128, 300), [128, 129, 256, 257]);
        assert_eq!(due(500, 1_200), [500, 501, 502, 503, 1_000, 1_001, 1_002, 1_003]);
        for count in 1..3_000 {
            let times = u64::try_from(due(count, 2 * count - 1).len()).unwrap();
            assert!(times * PRUNE_BATCH >= 2 * count, "{count}: {times}");
        }
    }

    #[test]
    fn files_say_what_they_mean() {
        let config: AutoPruneConfig =
            serde_json::from_str(r#"{ "overrides": { "Poll": { "keep_last": 2 } } }"#).unwrap();
        assert_eq!(config.policy_for("Poll", None), Some(&keeps(2)));
        assert!(config.enabled);
        assert!(serde_json::from_str::<AutoPruneConfig>(r#"{ "enable": false }"#).is_err());
        assert!(serde_json::from_str::<AutoPrunePolicy>(r#"{ "keepLast": 2 }"#).is_err());
    }
}
