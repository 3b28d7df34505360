//! Small facts, one each (`semantics.md` §8.4, §9, §11, §12, §16–§18, §29.3, §32; `cancellation-and-pruning.md`).

mod activity;
mod cancel;
mod child;
mod event;
mod inbox;
mod kv;
mod limit;
mod next;
mod prune;
