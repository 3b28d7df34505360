//! Several workers, of which one or the other is hit.

use std::time::Duration;

use abide::seams::Clock;
use abide_chaos::check::Evidence;
use abide_chaos::journal::Note;
use abide_host::SystemClock;

use super::site::Site;
use super::wait::{Dice, PATIENCE, pass};
use super::worker::{Manner, Worker};

/// How long to go on hitting: at least so long, and until this says that it is enough.
pub(crate) struct Season<'a> {
    pub(crate) length: Duration,
    pub(crate) is_enough: &'a dyn Fn() -> bool,
}

#[derive(Debug)]
pub(crate) struct Fleet {
    size: usize,
    lease: Option<Duration>,
    clocks_ahead_ms: Vec<i64>,
    workers: Vec<Worker>,
    /// Who was started when.
    started: Vec<(String, u64)>,
    // Last, so that it is removed when the workers are gone.
    site: Site,
}

impl Fleet {
    /// So many workers on a file, not yet started.
    pub(crate) fn of(size: usize) -> Self {
        Self::at(Site::new("storm"), size)
    }

    /// So many workers at this place, not yet started.
    pub(crate) fn at(site: Site, count: usize) -> Self {
        Self {
            size: count,
            lease: None,
            clocks_ahead_ms: vec![0],
            workers: Vec::new(),
            started: Vec::new(),
            site,
        }
    }

    /// Their clocks are wrong by these milliseconds, in turns.
    pub(crate) fn with_clocks_ahead_ms(self, clocks_ahead_ms: &[i64]) -> Self {
        Self { clocks_ahead_ms: clocks_ahead_ms.to_vec(), ..self }
    }

    pub(crate) fn with_lease(self, lease: Duration) -> Self {
        Self { lease: Some(lease), ..self }
    }

    pub(crate) fn launch(mut self) -> Self {
        for _ in 0..self.size {
            self.start();
        }
        self
    }

    pub(crate) fn site(&self) -> &Site {
        &self.site
    }

    fn start(&mut self) {
        let label = format!("worker-{}", self.started.len());
        let clock_ahead_ms = self.clocks_ahead_ms[self.started.len() % self.clocks_ahead_ms.len()];
        let manner = Manner { lease: self.lease, clock_ahead_ms, ..Manner::default() };
        let worker = Worker::start_as(&self.site, &label, manner);
        self.started.push((label, worker.started_ms));
        self.workers.push(worker);
    }

    /// Kills somebody and starts another, again and again, at least so often; says how often.
    pub(crate) fn kill_every(
        &mut self,
        pause: Duration,
        least: usize,
        dice: &mut Dice,
        season: &Season<'_>,
    ) -> usize {
        let mut kills = 0;
        season.every(pause, least, || {
            let victim = self.workers.swap_remove(dice.below(self.size));
            if self.size == 1 {
                // What is under way in too many lives is quarantined, and rightly so if each ends before it did anything.
                victim.live_until_it_commits();
            }
            victim.kill();
            self.start();
            kills += 1;
            kills
        })
    }

    /// Stops somebody for longer than a lease, wherever that hits, again and again, at least so often; says how often.
    pub(crate) fn stop_every(
        &mut self,
        pause: Duration,
        least: usize,
        dice: &mut Dice,
        season: &Season<'_>,
    ) -> usize {
        let stopped_for = self.lease.expect("a lease of known length") * 3 / 2;
        let clock = SystemClock::new();
        let mut stopped: Vec<(usize, Duration)> = Vec::new();
        let mut stops = 0;
        let stops = season.every(pause, least, || {
            stopped.retain(|(victim, until)| {
                let is_over = *until <= clock.monotonic();
                if is_over {
                    self.workers[*victim].thaw();
                }
                !is_over
            });
            let running: Vec<usize> =
                (0..self.size).filter(|one| stopped.iter().all(|(other, _)| other != one)).collect();
            // Somebody has to be left to take over.
            if running.len() > 1 {
                let victim = running[dice.below(running.len())];
                self.workers[victim].signal("STOP");
                stopped.push((victim, clock.monotonic() + stopped_for));
                stops += 1;
            }
            stops
        });
        for (victim, _) in stopped {
            self.workers[victim].thaw();
        }
        stops
    }

    /// Ends all of them in good order.
    pub(crate) fn end(&mut self) {
        self.workers.iter_mut().for_each(Worker::end);
    }

    /// How long it took from the start of each worker to its first commit, if it lived to see it.
    pub(crate) fn gaps(&self, evidence: &Evidence) -> String {
        let gap = |(label, started): &(String, u64)| {
            let mut lines = evidence.journals.get(label)?.iter();
            Some(lines.find(|line| line.note == Note::Committed)?.at_ms.saturating_sub(*started))
        };
        let mut gaps: Vec<u64> = self.started.iter().filter_map(gap).collect();
        gaps.sort_unstable();
        let (median, longest) = (gaps.get(gaps.len() / 2), gaps.last());
        format!("{} of {}, median {median:?} ms, longest {longest:?} ms", gaps.len(), self.started.len())
    }
}

impl Season<'_> {
    /// Does something again and again. On a machine that cannot keep up it is done less often, not several times at once.
    ///
    /// It says how often something was hit by now; the season is not over before that was often enough.
    pub(crate) fn every(&self, pause: Duration, least: usize, mut act: impl FnMut() -> usize) -> usize {
        let clock = SystemClock::new();
        let (mut next, mut hits) = (pause, 0);
        let is_enough = |hits| hits >= least && (self.is_enough)();
        while next < self.length || (next < self.length + PATIENCE && !is_enough(hits)) {
            pass(next.saturating_sub(clock.monotonic()));
            hits = act();
            next = (next + pause).max(clock.monotonic());
        }
        // In a long storm there are many: one that hits a quarter of what it should is none.
        let times = usize::try_from(self.length.as_millis() / pause.as_millis()).unwrap_or(usize::MAX);
        let least = least.max(times / 4);
        assert!(hits >= least, "there were {hits} hits, and {least} at least are needed");
        hits
    }
}
