//! Running a sequence, and finding the shortest one that fails in the same way.

use std::fmt;

use crate::coverage::Coverage;
use crate::generate;
use crate::habits::{Habits, Topic};
use crate::op::Op;
use crate::pair::{Done, Pair};
use crate::rng::Rng;
use crate::subject::Subject;

/// Numbers, each of which means a step where it is taken.
#[derive(Debug, Clone)]
pub(crate) struct Sequence {
    pub(crate) seed: u64,
    pub(crate) steps: Vec<u64>,
}

/// What a sequence did until the stores differed.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    script: Vec<String>,
    differences: Vec<String>,
}

impl Sequence {
    /// The sequence of this seed.
    pub(crate) fn of(seed: u64) -> Self {
        let habits = Habits::of(seed);
        let mut rng = Rng::new(seed, habits);
        let length = match habits.topic {
            Topic::Damage => 100,
            Topic::Families | Topic::Blocks => 100 + rng.below(81),
            Topic::Everything | Topic::Turns => 50 + rng.below(61),
        };
        let steps = (0..length).map(|_| rng.next()).collect();
        Self { seed, steps }
    }

    /// Runs all steps, as long as the stores agree.
    pub(crate) fn run(&self, subject: &mut dyn Subject, coverage: &mut Coverage) -> Result<(), Failure> {
        let name = subject.name();
        let mut pair = Pair::open(subject, self.seed);
        let habits = Habits::of(self.seed);
        let mut script = Vec::new();
        for number in &self.steps {
            let op = generate::step(*number, habits, &pair.world);
            let before = pair.world.dump.clone();
            let done = pair.step(&op);
            coverage.observe(&op, &before, &pair.world, &done);
            script.push(line(&op, &done, name));
            if !done.differences.is_empty() {
                return Err(Failure { script, differences: done.differences });
            }
        }
        Ok(())
    }

    /// The shortest sequence found that still fails, by leaving out ever smaller pieces.
    pub(crate) fn shrink(mut self, subject: &mut dyn Subject, mut failure: Failure) -> Failure {
        let mut piece = self.steps.len().div_ceil(2);
        while piece > 0 {
            let mut at = 0;
            while at < self.steps.len() {
                let mut shorter = self.clone();
                shorter.steps.drain(at..(at + piece).min(self.steps.len()));
                match shorter.run(subject, &mut Coverage::default()) {
                    Err(found) => (self, failure) = (shorter, found),
                    Ok(()) => at += piece,
                }
            }
            piece = if piece == 1 { 0 } else { piece.div_ceil(2) };
        }
        failure
    }
}

fn line(op: &Op, done: &Done, name: &str) -> String {
    if done.memory.text == done.subject.text {
        format!("{op:?}\n        -> {}", done.memory.text)
    } else {
        format!("{op:?}\n        -> memory {}\n        -> {name} {}", done.memory.text, done.subject.text)
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
