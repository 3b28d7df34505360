//! What an instance waits for, as one short text.
//!
//! Each turn's commit stores this summary with its instance, so that an operator can be told what an instance
//! waits for without reading its history. It is a JSON array, which both databases can read and index:
//!
//! ```json
//! [2,[["activity",2,"Charge",1700000000000],["timer",3,"",1700000000000,1700000060000]],[["orders",4]]]
//! ```
//!
//! First how many operations are open, then the oldest of them, then queues with unread messages. An
//! operation is kind, event, name, since, due, try, tries, last error, child; what is zero or empty at its
//! end is left out. A reader passes over elements and kinds that it does not know, so that later releases may
//! add some.

use std::fmt;
use std::io::Write;

use serde_json::Value;

use crate::Timestamp;

/// A summary lists at most this many operations, and as many queues.
pub const MAX_LISTED_OPERATIONS: usize = 16;

/// A summary has at most this many bytes.
pub const MAX_WAITING_BYTES: usize = 1024;

/// A summary holds at most this many bytes of an error.
pub const MAX_ERROR_BYTES: usize = 160;

/// Bytes that close the lists of a summary.
const CLOSING_BYTES: usize = 4;

/// What an instance waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Waiting {
    /// How many operations are open.
    pub open: u64,
    /// The oldest of them, at most [`MAX_LISTED_OPERATIONS`]. If none is open and the code waits all the
    /// same, one entry of kind [`WaitKind::Nothing`].
    pub operations: Vec<OpenOperation>,
    /// Queues that hold messages which the code has not read, with the number of messages.
    pub queues: Vec<(String, u64)>,
}

/// One operation that has no answer yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenOperation {
    /// What it waits for.
    pub kind: WaitKind,
    /// The event that recorded it; zero for [`WaitKind::Nothing`].
    pub event_id: u64,
    /// The name of the activity, event, queue or child orchestration; empty for a timer.
    pub name: String,
    /// Since when. Of an activity with retries: since its first try.
    pub since: Timestamp,
    /// When a timer fires, or when the next try begins.
    pub due: Option<Timestamp>,
    /// Which try of how many, if the activity has a retry policy. While it waits for its next try: the one
    /// that failed.
    pub tries: Option<Tries>,
    /// The error of the try before, cut to [`MAX_ERROR_BYTES`].
    pub last_error: Option<String>,
    /// The instance of a child, as recorded: see [`build_child_instance_id`](crate::build_child_instance_id).
    pub child: Option<String>,
}

/// Which try of how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tries {
    /// Counts from one.
    pub number: u32,
    /// How many the policy allows.
    pub max: u32,
}

/// What an operation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum WaitKind {
    /// An activity.
    Activity,
    /// The next try of an activity that failed.
    Retry,
    /// A timer.
    Timer,
    /// An event that a client raises.
    Event,
    /// A message of a queue.
    Queue,
    /// A child orchestration.
    Child,
    /// Nothing that could arrive: the code awaits something that is not durable.
    Nothing,
}

impl WaitKind {
    /// Every kind.
    pub const ALL: [Self; 7] =
        [Self::Activity, Self::Retry, Self::Timer, Self::Event, Self::Queue, Self::Child, Self::Nothing];

    /// The name of this kind in summaries.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Activity => "activity",
            Self::Retry => "retry",
            Self::Timer => "timer",
            Self::Event => "event",
            Self::Queue => "queue",
            Self::Child => "child",
            Self::Nothing => "nothing",
        }
    }
}

impl fmt::Display for WaitKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// An operation as a [`WaitingWriter`] takes it: an [`OpenOperation`] that owns nothing.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "the fields are those of `OpenOperation`")]
pub struct OperationRef<'a> {
    pub kind: WaitKind,
    pub event_id: u64,
    pub name: &'a str,
    pub since_ms: u64,
    pub due_ms: u64,
    pub tries: Option<Tries>,
    pub last_error: &'a str,
    pub child: &'a str,
}

/// Writes a summary. The same calls give the same bytes.
#[derive(Debug)]
pub struct WaitingWriter {
    bytes: Vec<u8>,
    listed: usize,
}

impl WaitingWriter {
    /// Begins the summary of an instance with this many open operations.
    #[must_use]
    pub fn new(open: u64) -> Self {
        let mut bytes = Vec::with_capacity(128);
        put(&mut bytes, format_args!("[{open},["));
        Self { bytes, listed: 0 }
    }

    /// Adds an operation, the oldest first. Returns whether another one may be added: `false` once the
    /// summary is full, and if this one did not fit, which is then left out.
    pub fn push(&mut self, operation: OperationRef<'_>) -> bool {
        self.entry(|bytes| write_operation(bytes, operation)) && self.listed < MAX_LISTED_OPERATIONS
    }

    /// Ends the summary with the queues that hold unread messages.
    #[must_use]
    pub fn finish<'a>(mut self, queues: impl IntoIterator<Item = (&'a str, usize)>) -> String {
        self.bytes.extend_from_slice(b"],[");
        self.listed = 0;
        for (name, unread) in queues.into_iter().take(MAX_LISTED_OPERATIONS) {
            let fits = self.entry(|bytes| {
                bytes.push(b'[');
                put_text(bytes, name);
                put(bytes, format_args!(",{unread}]"));
            });
            if !fits {
                break;
            }
        }
        self.bytes.extend_from_slice(b"]]");
        String::from_utf8(self.bytes).unwrap_or_default()
    }

    /// Writes one entry of a list, unless the summary would become too long by it.
    fn entry(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        let before = self.bytes.len();
        if self.listed > 0 {
            self.bytes.push(b',');
        }
        write(&mut self.bytes);
        let fits = self.bytes.len() + CLOSING_BYTES <= MAX_WAITING_BYTES;
        if fits {
            self.listed += 1;
        } else {
            self.bytes.truncate(before);
        }
        fits
    }
}

fn write_operation(bytes: &mut Vec<u8>, operation: OperationRef<'_>) {
    let OperationRef { kind, event_id, name, since_ms, due_ms, tries, last_error, child } = operation;
    put(bytes, format_args!("[\"{kind}\",{event_id},"));
    put_text(bytes, name);
    put(bytes, format_args!(",{since_ms}"));
    let has_more = tries.is_some() || !last_error.is_empty() || !child.is_empty();
    if due_ms != 0 || has_more {
        put(bytes, format_args!(",{due_ms}"));
    }
    if has_more {
        let (number, max) = tries.map_or((0, 0), |tries| (tries.number, tries.max));
        put(bytes, format_args!(",{number},{max}"));
    }
    if !last_error.is_empty() || !child.is_empty() {
        bytes.push(b',');
        put_text(bytes, cut_error(last_error));
    }
    if !child.is_empty() {
        bytes.push(b',');
        put_text(bytes, child);
    }
    bytes.push(b']');
}

/// The beginning of an error that a summary holds.
#[must_use]
pub fn cut_error(error: &str) -> &str {
    let mut end = MAX_ERROR_BYTES.min(error.len());
    while !error.is_char_boundary(end) {
        end -= 1;
    }
    error.get(..end).unwrap_or_default()
}

/// Writing to memory does not fail.
fn put(bytes: &mut Vec<u8>, text: fmt::Arguments<'_>) {
    bytes.write_fmt(text).unwrap_or_default();
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(bytes, text).unwrap_or_default();
}

impl Waiting {
    /// Reads a summary. `None` if it is none. Kinds and elements of later releases are passed over.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        let list = |place: usize| value.get(place).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        Some(Self {
            open: value.get(0)?.as_u64()?,
            operations: list(1).iter().filter_map(OpenOperation::read).collect(),
            queues: list(2).iter().filter_map(read_queue).collect(),
        })
    }
}

impl OpenOperation {
    fn read(value: &Value) -> Option<Self> {
        let kind = value.get(0)?.as_str()?;
        let kind = WaitKind::ALL.into_iter().find(|each| each.as_str() == kind)?;
        let number = |place: usize| value.get(place).and_then(Value::as_u64).unwrap_or_default();
        let text = |place: usize| value.get(place).and_then(Value::as_str).unwrap_or_default();
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let count = |place: usize| u32::try_from(number(place)).unwrap_or(u32::MAX);
        Some(Self {
            kind,
            event_id: number(1),
            name: text(2).to_owned(),
            since: Timestamp::from_millis(number(3)),
            due: (number(4) > 0).then(|| Timestamp::from_millis(number(4))),
            tries: (number(6) > 0).then(|| Tries { number: count(5), max: count(6) }),
            last_error: some(text(7)),
            child: some(text(8)),
        })
    }
}

fn read_queue(value: &Value) -> Option<(String, u64)> {
    Some((value.get(0)?.as_str()?.to_owned(), value.get(1)?.as_u64()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: OperationRef<'_> = OperationRef {
        kind: WaitKind::Activity,
        event_id: 2,
        name: "Charge",
        since_ms: 1_700_000_000_000,
        due_ms: 0,
        tries: None,
        last_error: "",
        child: "",
    };

    fn summary(open: u64, operations: &[OperationRef<'_>], queues: &[(&str, usize)]) -> String {
        let mut writer = WaitingWriter::new(open);
        for operation in operations {
            if !writer.push(*operation) {
                break;
            }
        }
        writer.finish(queues.iter().copied())
    }

    #[test]
    fn a_summary_is_a_short_array() {
        let timer = OperationRef { kind: WaitKind::Timer, event_id: 3, name: "", due_ms: 9, ..PLAIN };
        let retry = OperationRef {
            kind: WaitKind::Retry,
            due_ms: 9,
            tries: Some(Tries { number: 4, max: 5 }),
            last_error: "card \"declined\"",
            ..PLAIN
        };
        let child = OperationRef { kind: WaitKind::Child, name: "Ship", child: "sub::4", ..PLAIN };
        let table = [
            (summary(0, &[], &[]), r#"[0,[],[]]"#),
            (summary(1, &[PLAIN], &[]), r#"[1,[["activity",2,"Charge",1700000000000]],[]]"#),
            (
                summary(2, &[PLAIN, timer], &[("orders", 4), ("a", 1)]),
                r#"[2,[["activity",2,"Charge",1700000000000],["timer",3,"",1700000000000,9]],[["orders",4],["a",1]]]"#,
            ),
            (
                summary(1, &[retry], &[]),
                r#"[1,[["retry",2,"Charge",1700000000000,9,4,5,"card \"declined\""]],[]]"#,
            ),
            (summary(1, &[child], &[]), r#"[1,[["child",2,"Ship",1700000000000,0,0,0,"","sub::4"]],[]]"#),
        ];
        for (found, expected) in table {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let retry = OperationRef {
            kind: WaitKind::Retry,
            due_ms: 9,
            tries: Some(Tries { number: 4, max: 5 }),
            last_error: "no\u{0}",
            ..PLAIN
        };
        let read = Waiting::read(&summary(7, &[retry], &[("q", 3)])).expect("a summary");
        let expected = OpenOperation {
            kind: WaitKind::Retry,
            event_id: 2,
            name: "Charge".to_owned(),
            since: Timestamp::from_millis(1_700_000_000_000),
            due: Some(Timestamp::from_millis(9)),
            tries: Some(Tries { number: 4, max: 5 }),
            last_error: Some("no\u{0}".to_owned()),
            child: None,
        };
        assert_eq!(read, Waiting { open: 7, operations: vec![expected], queues: vec![("q".to_owned(), 3)] });
    }

    #[test]
    fn a_summary_is_bounded() {
        let many = summary(1_000, &[PLAIN; 40], &[]);
        assert_eq!(Waiting::read(&many).expect("a summary").operations.len(), MAX_LISTED_OPERATIONS);
        let name = "é".repeat(128);
        let long = OperationRef { name: &name, last_error: &name, ..PLAIN };
        let queues: Vec<(&str, usize)> = vec![(name.as_str(), 1); 40];
        let long = summary(40, &[long; 40], &queues);
        assert!(long.len() <= MAX_WAITING_BYTES, "{}", long.len());
        let read = Waiting::read(&long).expect("a summary");
        assert_eq!((read.open, read.operations.len(), read.queues.len()), (40, 2, 0));
        assert_eq!(read.operations.first().and_then(|each| each.last_error.as_deref()), name.get(..160));
    }

    #[test]
    fn a_reader_passes_over_what_it_does_not_know() {
        let later = r#"[2,[["lock",1,"x",5],["event",2,"paid",5,0,0,0,"","",{"at":1}]],[["q",1,9]],"more"]"#;
        let read = Waiting::read(later).expect("a summary");
        assert_eq!(read.operations.len(), 1);
        assert_eq!(read.queues, [("q".to_owned(), 1)]);
        for damaged in ["", "{}", "[]", "[1", "7"] {
            assert_eq!(Waiting::read(damaged), None, "{damaged}");
        }
    }
}
