//! The world outside: the warehouse, the bank, the courier, the post. A file, one line for everything that happened.
//!
//! Like any good service it knows repetitions by their idempotency key: the second request with a key gets the answer of
//! the first, and changes nothing. The repetition is written down all the same, so that the referee can count both.
//!
//! Deliberately absent: transactions with the store. A real bank has none either.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What can happen outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Happening {
    Reserved,
    Released,
    Busy,
    Charged,
    Declined,
    Refunded,
    Labelled,
    HandedOver,
    Returned,
    Mailed,
}

impl Happening {
    const ALL: [Self; 10] = [
        Self::Reserved,
        Self::Released,
        Self::Busy,
        Self::Charged,
        Self::Declined,
        Self::Refunded,
        Self::Labelled,
        Self::HandedOver,
        Self::Returned,
        Self::Mailed,
    ];

    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Released => "released",
            Self::Busy => "busy",
            Self::Charged => "charged",
            Self::Declined => "declined",
            Self::Refunded => "refunded",
            Self::Labelled => "labelled",
            Self::HandedOver => "handed over",
            Self::Returned => "returned",
            Self::Mailed => "mailed",
        }
    }

    /// Whether this is an answer of the card terminal.
    pub(crate) fn is_about_payment(self) -> bool {
        match self {
            Self::Busy | Self::Charged | Self::Declined => true,
            Self::Reserved
            | Self::Released
            | Self::Refunded
            | Self::Labelled
            | Self::HandedOver
            | Self::Returned
            | Self::Mailed => false,
        }
    }
}

/// One line: a request that reached the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) order: String,
    pub(crate) what: Happening,
}

impl Entry {
    fn line(&self) -> String {
        format!("{}\t{}\t{}\n", self.key, self.order, self.what.text())
    }

    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let (key, order, what) = (fields.next()?, fields.next()?, fields.next()?);
        let what = Happening::ALL.into_iter().find(|it| it.text() == what)?;
        Some(Self { key: key.to_owned(), order: order.to_owned(), what })
    }
}

#[derive(Debug)]
pub(crate) struct World {
    file: PathBuf,
    /// One request at a time, as at a counter.
    counter: Mutex<()>,
}

impl World {
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self { file: folder.join("effects.log"), counter: Mutex::new(()) }
    }

    /// Asks the world for something. For a key that it knows, the answer is the one it gave before; otherwise `decide` makes
    /// one, knowing what happened to this order so far, without repetitions.
    pub(crate) fn act(
        &self,
        key: &str,
        order: &str,
        decide: impl FnOnce(&[Entry]) -> Happening,
    ) -> io::Result<Happening> {
        let _served = self.counter.lock().unwrap_or_else(PoisonError::into_inner);
        let text = self.text()?;
        let mut earlier = entries_of(&text)?;
        let what = earlier.iter().find(|entry| entry.key == key).map(|entry| entry.what);
        let what = what.unwrap_or_else(|| {
            let mut keys = BTreeSet::new();
            earlier.retain(|entry| entry.order == order && keys.insert(entry.key.clone()));
            decide(&earlier)
        });
        let line = Entry { key: key.to_owned(), order: order.to_owned(), what }.line();
        let mut file = OpenOptions::new().create(true).append(true).open(&self.file)?;
        let whole = whole_lines(&text);
        if whole.len() < text.len() {
            // Somebody was killed in the middle of a line: that request never arrived.
            file.set_len(u64::try_from(whole.len()).map_err(io::Error::other)?)?;
        }
        file.write_all(line.as_bytes())?;
        Ok(what)
    }

    /// Everything that happened so far, repetitions too.
    pub(crate) fn entries(&self) -> io::Result<Vec<Entry>> {
        entries_of(&self.text()?)
    }

    fn text(&self) -> io::Result<String> {
        match std::fs::read_to_string(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            read => read,
        }
    }
}

/// The text without a line that is still being written.
fn whole_lines(text: &str) -> &str {
    text.rfind('\n').map_or("", |end| &text[..=end])
}

fn entries_of(text: &str) -> io::Result<Vec<Entry>> {
    whole_lines(text).lines().map(|line| Entry::parse(line).ok_or_else(|| unreadable(line))).collect()
}

fn unreadable(line: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("'{line}' is no line of effects.log"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Place;
    use crate::folder::Folder;

    #[test]
    fn a_repetition_gets_the_same_answer_and_changes_nothing() {
        let folder = Folder::prepare(&Place::Temporary).unwrap();
        let world = World::in_folder(folder.path());
        assert_eq!(world.act("a", "order-1", |_| Happening::Busy).unwrap(), Happening::Busy);
        assert_eq!(world.act("a", "order-1", |_| Happening::Charged).unwrap(), Happening::Busy);
        let seen = world.act("b", "order-1", |earlier| {
            assert_eq!(earlier.len(), 1);
            Happening::Charged
        });
        assert_eq!(seen.unwrap(), Happening::Charged);
        let lines: Vec<_> = world.entries().unwrap().into_iter().map(|it| (it.key, it.what)).collect();
        let line = |key: &str, what| (key.to_owned(), what);
        assert_eq!(
            lines,
            [line("a", Happening::Busy), line("a", Happening::Busy), line("b", Happening::Charged)]
        );
    }

    #[test]
    fn half_a_line_never_happened() {
        let folder = Folder::prepare(&Place::Temporary).unwrap();
        let world = World::in_folder(folder.path());
        world.act("a", "order-1", |_| Happening::Reserved).unwrap();
        let mut file = OpenOptions::new().append(true).open(folder.path().join("effects.log")).unwrap();
        file.write_all(b"b\torder-1\tchar").unwrap();
        assert_eq!(world.entries().unwrap().len(), 1);
        world.act("b", "order-1", |_| Happening::Charged).unwrap();
        let keys: Vec<_> = world.entries().unwrap().into_iter().map(|it| it.key).collect();
        assert_eq!(keys, ["a", "b"]);
    }
}
