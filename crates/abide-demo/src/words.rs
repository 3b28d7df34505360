//! Numbers, as people say them.

use std::time::Duration;

/// `41 ms`, `3.2 s` or `60 s`.
pub(crate) fn readable(duration: Duration) -> String {
    if duration < Duration::from_secs(1) {
        format!("{} ms", duration.as_millis())
    } else if duration < Duration::from_secs(30) {
        format!("{:.1} s", duration.as_secs_f64())
    } else {
        format!("{} s", duration.as_secs())
    }
}

/// `1 order`, `2 orders`.
pub(crate) fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let texts = [7, 999, 1_000, 9_960, 60_400].map(|ms| readable(Duration::from_millis(ms)));
        assert_eq!(texts, ["7 ms", "999 ms", "1.0 s", "10.0 s", "60 s"]);
    }

    #[test]
    fn numbers() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "order")), ["0 orders", "1 order", "2 orders"]);
    }
}
