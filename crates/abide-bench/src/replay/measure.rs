//! Taking the time.

use std::time::{Duration, Instant};

use abide_engine::Outcome;
use abide_model::Event;

use super::histories::Shape;
use super::report::Measured;

/// Events replayed per second that a core must reach.
const REPLAY_TARGET: f64 = 1_000_000.0;
/// Events decoded per second that a core must reach.
const DECODE_TARGET: f64 = 400_000.0;

/// Cold replay of decoded events.
pub(crate) fn replay(shape: &Shape, history: &[Event], repeat: usize) -> Measured {
    let times = (0..repeat)
        .map(|_| {
            let history = history.to_vec();
            let mut execution = shape.execution();
            let mut replayed = Ok(());
            let time = timed(|| replayed = execution.replay(history));
            assert_eq!(replayed, Ok(()), "no turn is in progress");
            assert_eq!(execution.outcome(), Outcome::Running, "the history fits its code");
            time
        })
        .collect();
    Measured::new("replay", shape.name, history.len(), times, REPLAY_TARGET)
}

/// Decoding of the same events from JSON text.
pub(crate) fn decode(shape: &Shape, history: &[Event], repeat: usize) -> Measured {
    let texts: Vec<String> = history.iter().filter_map(|event| serde_json::to_string(event).ok()).collect();
    let times = (0..repeat)
        .map(|_| {
            let mut decoded: Vec<Event> = Vec::with_capacity(texts.len());
            let time = timed(|| {
                decoded.extend(texts.iter().filter_map(|text| serde_json::from_str(text).ok()));
            });
            assert_eq!(decoded.len(), history.len(), "every event decodes");
            time
        })
        .collect();
    Measured::new("decode", shape.name, history.len(), times, DECODE_TARGET)
}

#[expect(clippy::disallowed_methods, reason = "a benchmark is about real time")]
fn timed(work: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    work();
    begin.elapsed()
}
