//! What a sequence knows about the stores while it runs: leases handed out, and the model's state.

use std::collections::BTreeSet;

use abide_memory::Dump;
use abide_memory::dump::{InstanceDump, WorkDump};
use abide_model::{Timestamp, WorkItem};
use abide_provider::{InstanceLease, Lane, PageCursor, Position};

use crate::apply::Answer;
use crate::numbering::{Numbering, SAME};
use crate::op::{Op, Token};
use crate::rng::Rng;
use crate::subject::{Numbers, Reopening};

/// One of the two stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Memory,
    Subject,
}

/// A lease as one store handed it out.
#[derive(Debug, Clone)]
pub(crate) struct Handed {
    pub(crate) lane: Lane,
    pub(crate) token: String,
    pub(crate) instance: String,
    /// The activity, if it is one.
    pub(crate) item: Option<WorkItem>,
    /// The lease, if the call returns one.
    pub(crate) lease: Option<InstanceLease>,
}

/// The same lease in both stores.
#[derive(Debug, Clone)]
pub(crate) struct Issued {
    pub(crate) memory: Handed,
    pub(crate) subject: Handed,
    /// Which mailbox of that name it was on.
    pub(crate) incarnation: u64,
    until: u64,
    state: Hold,
}

/// What became of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    /// Nobody ended it.
    Seems,
    Over,
    /// It went with what it was on.
    Taken,
}

/// What is known.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) now: u64,
    pub(crate) reopening: Reopening,
    /// What the subject calls what the model numbers.
    pub(crate) numbering: Numbering,
    pub(crate) issued: Vec<Issued>,
    pub(crate) dump: Dump,
    /// Executions whose events were damaged.
    pub(crate) damaged: BTreeSet<(String, u64)>,
    /// Places where pages ended; what was there may be gone.
    pub(crate) cursors: Vec<PageCursor>,
    /// Trees as they were when somebody asked.
    pub(crate) trees: Vec<Vec<String>>,
}

impl Issued {
    /// Whether it was handed out for an activity with these numbers.
    pub(crate) fn is_for(&self, work: &WorkDump) -> bool {
        if let Some(WorkItem::ActivityExecute { instance, execution_id, id, .. }) = &self.memory.item {
            (instance, *execution_id, *id) == (&work.instance, work.execution, work.activity)
        } else {
            false
        }
    }

    pub(crate) fn of(&self, side: Side) -> &Handed {
        match side {
            Side::Memory => &self.memory,
            Side::Subject => &self.subject,
        }
    }
}

impl World {
    /// Of two stores that are empty.
    pub(crate) fn new(now: u64, reopening: Reopening, numbers: Numbers) -> Self {
        Self {
            now,
            reopening,
            numbering: Numbering::of(numbers),
            issued: Vec::new(),
            dump: Dump::default(),
            damaged: BTreeSet::new(),
            cursors: Vec::new(),
            trees: Vec::new(),
        }
    }

    /// What has to be done to the numbers of one store.
    pub(crate) fn numbering(&self, side: Side) -> &Numbering {
        match side {
            Side::Memory => &SAME,
            Side::Subject => &self.numbering,
        }
    }

    /// The text of a token in one store.
    pub(crate) fn token(&self, side: Side, token: &Token) -> String {
        match token {
            Token::Issued(order) => self.issued[*order].of(side).token.clone(),
            Token::Garbage(text) => text.clone(),
        }
    }

    /// Which token this text is in one store.
    pub(crate) fn order_of(&self, side: Side, text: &str) -> Option<usize> {
        self.issued.iter().position(|issued| issued.of(side).token == text)
    }

    pub(crate) fn is_live(&self, order: usize) -> bool {
        let issued = &self.issued[order];
        issued.state == Hold::Seems && issued.until > self.now
    }

    /// The leases that seem to hold.
    pub(crate) fn live(&self, lane: Lane) -> Vec<usize> {
        let of_lane = |order: &usize| self.issued[*order].memory.lane == lane && self.is_live(*order);
        (0..self.issued.len()).filter(of_lane).collect()
    }

    /// A token that mostly holds, if there is one that does.
    pub(crate) fn pick_token(&self, rng: &mut Rng, lane: Lane) -> Token {
        let garbage = ["", "lock_", "lock_i.1.0", "lock_w.1.1.1.1.0", "lock_i.-1.7", "ü"];
        let live = self.live(lane);
        let superseded = self.superseded(&live);
        let taken = self.taken(lane);
        match rng.below(100) {
            0..10 if !taken.is_empty() => Token::Issued(*rng.pick(&taken)),
            0..60 if live.is_empty() && !taken.is_empty() => Token::Issued(*rng.pick(&taken)),
            0..12 if !superseded.is_empty() => Token::Issued(*rng.pick(&superseded)),
            0..90 if !live.is_empty() => Token::Issued(*rng.pick(&live)),
            0..97 if !self.issued.is_empty() => Token::Issued(rng.index(self.issued.len())),
            _ => Token::Garbage((*rng.pick(&garbage)).to_owned()),
        }
    }

    /// Leases that went with what they were on.
    pub(crate) fn taken(&self, lane: Lane) -> Vec<usize> {
        let is_meant = |order: &usize| {
            let issued = &self.issued[*order];
            issued.memory.lane == lane && issued.state == Hold::Taken
        };
        (0..self.issued.len()).filter(is_meant).collect()
    }

    /// Leases that are over, on what is leased again.
    fn superseded(&self, live: &[usize]) -> Vec<usize> {
        let same = |a: &Issued, b: &Issued| {
            (a.memory.lane, &a.memory.instance, &a.memory.item)
                == (b.memory.lane, &b.memory.instance, &b.memory.item)
        };
        let is_again =
            |order: &usize| live.iter().any(|live| same(&self.issued[*order], &self.issued[*live]));
        (0..self.issued.len()).filter(|order| !self.is_live(*order)).filter(is_again).collect()
    }

    /// Whether a step was tried with a lease that is over, on what is leased again.
    pub(crate) fn is_superseded(&self, token: &Token) -> bool {
        let Token::Issued(order) = token else { return false };
        self.superseded(&self.live(self.issued[*order].memory.lane)).contains(order)
    }

    pub(crate) fn instance(&self, name: &str) -> Option<&InstanceDump> {
        self.dump.instances.get(name).filter(|instance| instance.is_instance)
    }

    pub(crate) fn position(&self, name: &str) -> Position {
        let instance = self.dump.instances.get(name);
        Position {
            incarnation: instance.map_or(0, |instance| instance.incarnation),
            execution_id: instance.map_or(0, |instance| instance.execution),
            last_event_id: instance.map_or(0, |instance| instance.last_event_id),
        }
    }

    pub(crate) fn has_visible_mail(&self, name: &str) -> bool {
        let mut mail = self.dump.messages.values().filter(|message| message.mailbox == name);
        mail.any(|message| message.visible_at.is_none())
    }

    /// Notes what a step did to leases, by the answers of both stores.
    pub(crate) fn settle(&mut self, op: &Op, memory: &Answer, subject: &Answer) {
        for (token, result) in op.tokens().into_iter().zip(&memory.results) {
            if let (Token::Issued(order), true) = (token, result.is_ok()) {
                let issued = &mut self.issued[*order];
                match op.extends_by() {
                    Some(by) => {
                        let until = Timestamp::from_millis(self.now).saturating_add(by).as_millis();
                        issued.until = issued.until.max(until);
                    }
                    None => issued.state = Hold::Over,
                }
            }
        }
        let lease_for = op.leases_for().unwrap_or_default();
        let until = Timestamp::from_millis(self.now).saturating_add(lease_for).as_millis();
        for (memory, subject) in memory.leases.iter().zip(&subject.leases) {
            self.issued.push(Issued {
                memory: memory.clone(),
                subject: subject.clone(),
                incarnation: self.position(&memory.instance).incarnation,
                until,
                state: Hold::Seems,
            });
        }
        self.trees.extend(memory.trees.iter().cloned());
        self.cursors.extend(memory.pages.iter().filter_map(|page| page.next.clone()));
    }

    /// Notes what the stores hold after a step.
    pub(crate) fn now_holds(&mut self, dump: Dump) {
        self.dump = dump;
        // What comes again under the same name is not damaged.
        self.damaged.retain(|key| self.dump.executions.contains_key(key));
        for order in 0..self.issued.len() {
            let issued = &self.issued[order];
            let mailbox = self.dump.instances.get(&issued.memory.instance);
            let mailbox = mailbox.filter(|mailbox| mailbox.incarnation == issued.incarnation);
            let is_there = match issued.memory.lane {
                Lane::Instances => mailbox.is_some_and(|mailbox| mailbox.leased_until.is_some()),
                Lane::Work => mailbox.is_some(),
            };
            if self.is_live(order) && !is_there {
                self.issued[order].state = Hold::Taken;
            }
        }
    }

    /// An instance and everything below it, as the stores hold it.
    pub(crate) fn tree(&self, name: &str) -> Vec<String> {
        let mut all = vec![name.to_owned()];
        let mut next = 0;
        while let Some(parent) = all.get(next).cloned() {
            let children =
                self.dump.instances.iter().filter(|(_, child)| {
                    child.parent.as_ref().is_some_and(|(instance, ..)| *instance == parent)
                });
            let new: Vec<String> =
                children.map(|(name, _)| name.clone()).filter(|name| !all.contains(name)).collect();
            all.extend(new);
            next += 1;
        }
        all
    }

    /// Notes that a lease was taken away.
    pub(crate) fn end(&mut self, order: usize) {
        let issued = &mut self.issued[order];
        if issued.state == Hold::Seems {
            issued.state = Hold::Over;
        }
    }

    pub(crate) fn end_all(&mut self) {
        for issued in &mut self.issued {
            issued.state = Hold::Over;
        }
    }
}
