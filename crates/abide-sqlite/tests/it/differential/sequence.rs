//! Running a sequence, and finding the shortest one that fails in the same way.

use std::fmt;
use std::path::{Path, PathBuf};

use super::coverage::Coverage;
use super::generate;
use super::habits::{Habits, Subject};
use super::pair::{Pair, Place};
use super::rng::Rng;

/// Numbers, each of which means a step where it is taken.
#[derive(Debug, Clone)]
pub(crate) struct Sequence {
    pub(crate) seed: u64,
    pub(crate) steps: Vec<u64>,
    /// The folder for its database, if that is on a file.
    folder: Option<PathBuf>,
}

/// What a sequence did until the stores differed.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    script: Vec<String>,
    differences: Vec<String>,
}

/// Every so-manieth sequence runs on a file.
const ON_FILE: u64 = 10;

impl Sequence {
    /// The sequence of this seed; `folder` is for those that run on a file.
    pub(crate) fn of(seed: u64, folder: &Path) -> Self {
        let habits = Habits::of(seed);
        let mut rng = Rng::new(seed, habits);
        let length = match habits.subject {
            Subject::Damage => 100,
            Subject::Families => 100 + rng.below(81),
            Subject::Everything | Subject::Turns => 50 + rng.below(61),
        };
        let steps = (0..length).map(|_| rng.next()).collect();
        Self { seed, steps, folder: seed.is_multiple_of(ON_FILE).then(|| folder.to_owned()) }
    }

    /// Runs all steps, as long as the stores agree.
    pub(crate) fn run(&self, coverage: &mut Coverage) -> Result<(), Failure> {
        let path = self.folder.as_ref().map(|folder| folder.join("differential.db"));
        let place = path.map_or(Place::Memory, Place::File);
        let mut pair = Pair::open(place, self.seed);
        let habits = Habits::of(self.seed);
        let mut script = Vec::new();
        for number in &self.steps {
            let op = generate::step(*number, habits, &pair.world);
            let before = pair.world.dump.clone();
            let done = pair.step(&op);
            coverage.observe(&op, &before, &pair.world, &done);
            script.push(line(&op, &done));
            if !done.differences.is_empty() {
                return Err(Failure { script, differences: done.differences });
            }
        }
        drop(pair);
        self.clean();
        Ok(())
    }

    /// Removes the database, if it is on a file.
    fn clean(&self) {
        if let Some(folder) = &self.folder {
            drop(std::fs::remove_dir_all(folder));
        }
    }

    /// The shortest sequence found that still fails, by leaving out ever smaller pieces.
    pub(crate) fn shrink(mut self, mut failure: Failure) -> Failure {
        let mut piece = self.steps.len().div_ceil(2);
        while piece > 0 {
            let mut at = 0;
            while at < self.steps.len() {
                let mut shorter = self.clone();
                shorter.steps.drain(at..(at + piece).min(self.steps.len()));
                self.clean();
                match shorter.run(&mut Coverage::default()) {
                    Err(found) => (self, failure) = (shorter, found),
                    Ok(()) => at += piece,
                }
            }
            piece = if piece == 1 { 0 } else { piece.div_ceil(2) };
        }
        self.clean();
        failure
    }
}

fn line(op: &super::op::Op, done: &super::pair::Done) -> String {
    if done.memory.text == done.sqlite.text {
        format!("{op:?}\n        -> {}", done.memory.text)
    } else {
        format!("{op:?}\n        -> memory {}\n        -> SQLite {}", done.memory.text, done.sqlite.text)
    }
}

impl Failure {
    pub(crate) fn len(&self) -> usize {
        self.script.len()
    }

    /// The last step and what differs, without what is different every time.
    pub(crate) fn kind(&self) -> String {
        let step: String = self.script.last().map(|line| words(line, 2)).unwrap_or_default();
        let mut differences: Vec<String> = self.differences.iter().map(|text| words(text, 4)).collect();
        differences.dedup();
        format!("{step}: {}", differences.join(", "))
    }
}

/// The first few words that are only letters.
fn words(text: &str, count: usize) -> String {
    let words = text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    words.take(count).collect::<Vec<_>>().join(" ")
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, line) in self.script.iter().enumerate() {
            writeln!(f, "{:3}. {line}", number + 1)?;
        }
        for difference in &self.differences {
            writeln!(f, "{difference}")?;
        }
        Ok(())
    }
}
