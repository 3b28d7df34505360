//! Pruning that nobody calls: a policy, and which one counts. Pure.
//!
//! A policy is given where an orchestration is registered, or by the operator, for all or for some of them by name. It is looked
//! at when an execution continues as new.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{PruneOptions, Timestamp};

/// Which ended executions of an instance are kept when it continues as new.
///
/// ```
/// use abide_model::{AutoPrunePolicy, PruneTrigger};
///
/// let policy = AutoPrunePolicy { keep_last: 10, on: PruneTrigger::EveryNExecutions(10), ..AutoPrunePolicy::default() };
/// let read: AutoPrunePolicy = serde_json::from_str(r#"{ "keep_last": 10, "on": { "EveryNExecutions": 10 } }"#).unwrap();
/// assert_eq!(read, policy);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AutoPrunePolicy {
    /// So many of the latest are kept: the one that ends counts, its successor does not. 0 is as good as 1.
    pub keep_last: u32,
    /// And all that ended within this time, by the clock of the store.
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
    /// When an execution continues as new whose number can be divided by this one.
    EveryNExecutions(u64),
}

/// A policy that would never do anything, or always fail.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a policy that prunes every 0 executions never does; use `ContinueAsNew`, or at least 1")]
pub struct NeverPrunes;

impl AutoPrunePolicy {
    /// Says whether the policy can do anything.
    ///
    /// # Errors
    ///
    /// If no execution has a number at which it would.
    pub fn check(&self) -> Result<(), NeverPrunes> {
        match self.on {
            PruneTrigger::EveryNExecutions(0) => Err(NeverPrunes),
            PruneTrigger::EveryNExecutions(_) | PruneTrigger::ContinueAsNew => Ok(()),
        }
    }

    /// What to prune when this execution continues as new at this time; `None` if it is not its turn.
    #[must_use]
    pub fn options(&self, execution_id: u64, now: Timestamp) -> Option<PruneOptions> {
        let is_due = match self.on {
            PruneTrigger::ContinueAsNew => true,
            PruneTrigger::EveryNExecutions(count) => execution_id.checked_rem(count) == Some(0),
        };
        is_due.then(|| PruneOptions {
            keep_last: Some(self.keep_last.max(1)),
            completed_before: self.keep_for.map(|time| now.saturating_sub(time).as_millis()),
        })
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
    /// By the name of the orchestration. Counts for more than what was registered.
    pub overrides: BTreeMap<String, AutoPrunePolicy>,
}

impl Default for AutoPruneConfig {
    fn default() -> Self {
        Self { enabled: true, default_policy: None, overrides: BTreeMap::new() }
    }
}

impl AutoPruneConfig {
    /// Which policy counts for an orchestration that was registered with this one, or with none.
    #[must_use]
    pub fn policy_for<'policy>(
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
    pub fn policies(&self) -> impl Iterator<Item = (Option<&str>, &AutoPrunePolicy)> {
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
        let hourly = AutoPrunePolicy { keep_for: Some(Duration::from_secs(3)), ..keeps(1) };
        assert_eq!(hourly.options(1, now), all(1, Some(7_000)));
        let rarely = AutoPrunePolicy { on: PruneTrigger::EveryNExecutions(10), ..keeps(1) };
        let due: Vec<u64> = (1..=30).filter(|id| rarely.options(*id, now).is_some()).collect();
        assert_eq!(due, [10, 20, 30]);
        let never = AutoPrunePolicy { on: PruneTrigger::EveryNExecutions(0), ..keeps(1) };
        assert_eq!((never.check(), never.options(10, now)), (Err(NeverPrunes), None));
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
