//! The end of the day: what is in the books, the judgement, and the pages that are shown of it.

use std::collections::BTreeSet;
use std::time::Duration;

use abide::{Client, Event};

use crate::line::{Line, Tone};
use crate::referee::{Evidence, Finding, judge};
use crate::screen::{Screen, blank};
use crate::shop::{Outcome, Purchase};
use crate::summary::{self, Crash, Totals};
use crate::timeline;
use crate::window::{Ending, ShopError};
use crate::world::World;

/// How long the outcome of an order that has ended may take to be read.
const PATIENCE: Duration = Duration::from_secs(10);

/// Everything that is known when the last order has ended.
pub(crate) struct Books<'day> {
    pub(crate) purchases: &'day [Purchase],
    pub(crate) client: &'day Client,
    pub(crate) world: &'day World,
    pub(crate) crash: Option<Crash>,
    pub(crate) took: Duration,
}

/// What has become of an order that has ended; the error, if it failed.
pub(crate) async fn outcome(client: &Client, id: &str) -> Result<Result<Outcome, String>, ShopError> {
    Ok(client.wait_for_orchestration_typed(id, PATIENCE).await?)
}

impl Books<'_> {
    /// Judges every order.
    pub(crate) async fn close(&self) -> Result<Judgement, ShopError> {
        let mut evidence = Vec::new();
        for purchase in self.purchases {
            let outcome = outcome(self.client, &purchase.order.id).await?;
            let history = self.client.read_execution_history(&purchase.order.id, 1).await?;
            evidence.push(Evidence { purchase, outcome, history });
        }
        let entries = self.world.entries().map_err(ShopError::World)?;
        let metrics = self.client.get_system_metrics().await?;
        let totals = Totals {
            crash: self.crash,
            orchestrations: metrics.total_instances,
            events: metrics.total_events,
            took: self.took,
        };
        let findings = evidence.iter().map(|it| judge(it, &entries)).collect();
        Ok(Judgement { timeline: timeline_of_one(&evidence, self.crash), findings, totals })
    }
}

/// What the day is worth.
#[derive(Debug)]
pub(crate) struct Judgement {
    timeline: Vec<Line>,
    findings: Vec<Finding>,
    totals: Totals,
}

impl Judgement {
    pub(crate) fn show(&self, screen: &mut Screen) -> std::io::Result<()> {
        screen.print_table(&self.timeline)?;
        screen.print(&[blank()])?;
        screen.print_table(&summary::table(&self.findings))?;
        screen.print(&[blank()])?;
        screen.print(&summary::totals(&self.findings, &self.totals))
    }

    pub(crate) fn ending(&self) -> Ending {
        let all_right = self.findings.iter().all(|finding| finding.faults.is_empty());
        if all_right { Ending::AllRight } else { Ending::SomethingWrong }
    }
}

/// The timeline of the order that has most to tell, among those that lived through the crash if there was one.
fn timeline_of_one(evidence: &[Evidence<'_>], crash: Option<Crash>) -> Vec<Line> {
    let lived_through_it = |history: &[Event]| match (crash, history) {
        (Some(crash), [first, .., last]) => {
            first.timestamp_ms < crash.at_ms && crash.at_ms < last.timestamp_ms
        }
        (_, _) => false,
    };
    let rank = |history: &[Event]| (lived_through_it(history), variety(history), history.len());
    let Some(most) = evidence.iter().max_by_key(|it| rank(&it.history)) else { return Vec::new() };
    let title = format!("The history of {}, event by event:", most.purchase.order.id);
    let mut lines = vec![blank(), Tone::Bold.line(title)];
    lines.extend(timeline::draw(&most.history, crash.map(|crash| crash.at_ms)));
    lines
}

/// How many kinds of events a history has.
fn variety(history: &[Event]) -> usize {
    history.iter().map(|event| event.kind.name()).collect::<BTreeSet<_>>().len()
}
