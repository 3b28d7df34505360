//! Which registered name was meant by one that nobody registered.

use strsim::osa_distance;

/// Longer names are not compared: the cost grows with the square of the length.
const LONGEST: usize = 64;

/// The candidate that is most like `name`, if at most a third of the letters differ; of equal ones, the first.
/// Case does not count, and two neighbors that changed places are one difference.
#[must_use]
pub fn nearest_name<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let letters = letters_of(name)?;
    let limit = (letters.chars().count() / 3).max(1);
    candidates
        .filter_map(|candidate| Some((osa_distance(&letters, &letters_of(candidate)?), candidate)))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn letters_of(name: &str) -> Option<String> {
    (name.len() <= LONGEST).then(|| name.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
        nearest_name(name, candidates.iter().copied())
    }

    #[test]
    fn one_letter_and_case_are_forgiven() {
        assert_eq!(meant("ProcesOrder", &["CancelOrder", "ProcessOrder"]), Some("ProcessOrder"));
        assert_eq!(meant("processorder", &["ProcessOrder"]), Some("ProcessOrder"));
        assert_eq!(meant("Grete", &["Greet"]), Some("Greet"), "neighbours changed places");
        assert_eq!(meant("Groat", &["Greet"]), None, "two letters of five");
        assert_eq!(meant("Gret", &["Greet"]), Some("Greet"));
    }

    #[test]
    fn the_nearest_wins_and_strangers_are_not_suggested() {
        assert_eq!(meant("ship-ordr", &["ship-odr", "ship-order"]), Some("ship-odr"), "of equals, the first");
        assert_eq!(meant("ship-orders", &["ship-oder", "ship-order"]), Some("ship-order"));
        assert_eq!(meant("ship", &["charge", "refund", ""]), None);
        assert_eq!(meant("", &["charge"]), None);
        assert_eq!(meant("ship", &[]), None);
    }

    #[test]
    fn names_of_absurd_length_are_left_alone() {
        let long = "x".repeat(1_000_000);
        assert_eq!(meant(&long, &[&long]), None);
        assert_eq!(meant("ship", &[&long]), None);
    }
}
