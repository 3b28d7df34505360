//! Every validation by name, what it needs, and how to run them all.

use std::panic::AssertUnwindSafe;

use abide_model::panic_text;
use abide_provider::{Abilities, Ability};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::factory::{AnyFactory, Hook, Hooks, Polling, ProviderFactory};

/// One test of the contract.
pub struct Validation {
    /// The module it is in.
    pub area: &'static str,
    /// Its function there.
    pub name: &'static str,
    /// What must be there for it to apply.
    pub needs: &'static [Need],
    run: Run,
}

/// A function of an area, for any factory.
pub(crate) type Run = for<'f> fn(&'f AnyFactory<'f>) -> BoxFuture<'f, ()>;

/// What a validation asks for beyond the required methods of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// The provider has [an administrative side](abide_provider::Provider::as_management_capability).
    Administration,
    /// The factory implements a hook.
    Hook(Hook),
    /// The provider says that it has an ability.
    Ability(Ability),
    /// The factory says that fetches answer, or wait, like this.
    Polling(Polling),
}

/// What came of a validation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The provider does what its name says.
    Passed,
    /// It does not; this is what the assertion said.
    Failed(String),
    /// It does not apply.
    NotApplicable(Need),
}

/// What came of all validations, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Area, name, and what came of it.
    pub outcomes: Vec<(&'static str, &'static str, Outcome)>,
}

impl Validation {
    /// `area::name`.
    #[must_use]
    pub fn path(&self) -> String {
        format!("{}::{}", self.area, self.name)
    }

    /// Runs it if it applies. A failed assertion is an outcome, not a panic.
    pub async fn run(&self, factory: &dyn ProviderFactory) -> Outcome {
        self.run_knowing(factory, &Facts::of(factory).await).await
    }

    async fn run_knowing(&self, factory: &dyn ProviderFactory, facts: &Facts) -> Outcome {
        if let Some(missing) = self.needs.iter().find(|need| !facts.meet(**need)) {
            return Outcome::NotApplicable(*missing);
        }
        let factory = AnyFactory(factory);
        match AssertUnwindSafe((self.run)(&factory)).catch_unwind().await {
            Ok(()) => Outcome::Passed,
            Err(panic) => Outcome::Failed(panic_text(panic).unwrap_or_else(|| "it panicked".to_owned())),
        }
    }
}

impl std::fmt::Debug for Validation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}::{}", self.area, self.name)
    }
}

impl Report {
    /// Those that failed: path and reason.
    pub fn failures(&self) -> impl Iterator<Item = (String, &str)> {
        self.outcomes.iter().filter_map(|(area, name, outcome)| match outcome {
            Outcome::Failed(why) => Some((format!("{area}::{name}"), why.as_str())),
            Outcome::Passed | Outcome::NotApplicable(_) => None,
        })
    }

    /// Those that did not apply: path and what they would have needed.
    pub fn not_applicable(&self) -> impl Iterator<Item = (String, Need)> {
        self.outcomes.iter().filter_map(|(area, name, outcome)| match outcome {
            Outcome::NotApplicable(need) => Some((format!("{area}::{name}"), *need)),
            Outcome::Passed | Outcome::Failed(_) => None,
        })
    }

    /// How many passed.
    #[must_use]
    pub fn passed(&self) -> usize {
        self.outcomes.iter().filter(|(.., outcome)| *outcome == Outcome::Passed).count()
    }
}

/// Runs every validation that applies, prints what does not, and panics with a list if any failed.
///
/// # Panics
///
/// If the provider breaks the contract.
pub async fn run_all_validations<F: ProviderFactory>(factory: &F) {
    let report = report(factory).await;
    for (path, need) in report.not_applicable() {
        println!("not applicable: {path} ({need:?})");
    }
    let failures: Vec<String> = report.failures().map(|(path, why)| format!("{path}: {why}")).collect();
    assert!(
        failures.is_empty(),
        "{} of {} validations failed:\n\n{}",
        failures.len(),
        report.outcomes.len(),
        failures.join("\n\n")
    );
    println!("{} validations passed", report.passed());
}

/// Runs every validation that applies, and says what came of each.
pub async fn report<F: ProviderFactory>(factory: &F) -> Report {
    let mut report = Report::default();
    let facts = Facts::of(factory).await;
    for validation in validations() {
        let outcome = validation.run_knowing(factory, &facts).await;
        report.outcomes.push((validation.area, validation.name, outcome));
    }
    report
}

/// What a factory and its providers say about themselves.
struct Facts {
    hooks: Hooks,
    polling: Polling,
    abilities: Abilities,
    has_administration: bool,
}

impl Facts {
    async fn of(factory: &dyn ProviderFactory) -> Self {
        let provider = factory.create_provider().await;
        Self {
            hooks: factory.hooks(),
            polling: factory.polling(),
            abilities: provider.abilities(),
            has_administration: provider.as_management_capability().is_some(),
        }
    }

    fn meet(&self, need: Need) -> bool {
        match need {
            Need::Administration => self.has_administration,
            Need::Hook(hook) => self.hooks.has(hook),
            Need::Ability(ability) => self.abilities.has(ability),
            Need::Polling(polling) => self.polling == polling,
        }
    }
}

/// Every validation, in the order of the modules.
#[must_use]
pub fn validations() -> Vec<Validation> {
    crate::areas()
}

impl Validation {
    pub(crate) const fn new(
        area: &'static str,
        name: &'static str,
        needs: &'static [Need],
        run: Run,
    ) -> Self {
        Self { area, name, needs, run }
    }
}

/// Lists the functions of an area: its name, then each function with what it needs.
///
/// ```text
/// area! {
///     deletion;
///     test_delete_nonexistent_instance: Administration;
///     test_that_needs_nothing;
/// }
/// ```
macro_rules! area {
    ($area:ident; $($name:ident $(: $($need:expr),+)?;)*) => {
        pub(crate) fn area() -> Vec<$crate::suite::Validation> {
            #[allow(unused_imports, reason = "not every area needs all of them")]
            use $crate::suite::Need::{self, Administration};
            vec![$(
                $crate::suite::Validation::new(
                    stringify!($area),
                    stringify!($name),
                    &[$($($need),+)?],
                    |factory| futures_util::FutureExt::boxed($name(factory)),
                ),
            )*]
        }
    };
}
pub(crate) use area;
