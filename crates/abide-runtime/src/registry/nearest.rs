//! Did you mean …?

/// Longer names are not compared: the cost grows with the square of the length, and nobody mistypes only a letter of them.
const LONGEST: usize = 64;

/// The candidate that differs least from `name`, if it differs in no more than a third of the letters.
pub(super) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let letters = letters_of(name)?;
    let bearable = (letters.len() / 3).max(1);
    candidates
        .filter_map(|candidate| Some((distance(&letters, &letters_of(candidate)?), candidate)))
        .filter(|(distance, _)| *distance <= bearable)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Names that differ in case only are as good as the same.
fn letters_of(name: &str) -> Option<Vec<char>> {
    (name.len() <= LONGEST).then(|| name.chars().flat_map(char::to_lowercase).collect())
}

/// How many letters must be inserted, removed or replaced to make one of the other.
fn distance(left: &[char], right: &[char]) -> usize {
    // One row of the usual table: `row[i]` is the distance between what was read of `left` and the first `i` of `right`.
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (read, from) in left.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = read + 1;
        for (i, to) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[i + 1];
            row[i + 1] = replaced.min(row[i] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
        nearest(name, candidates.iter().copied())
    }

    #[test]
    fn one_letter_and_case_are_forgiven() {
        assert_eq!(meant("ProcesOrder", &["CancelOrder", "ProcessOrder"]), Some("ProcessOrder"));
        assert_eq!(meant("processorder", &["ProcessOrder"]), Some("ProcessOrder"));
        assert_eq!(meant("Grete", &["Greet"]), None, "two letters of five");
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

    #[test]
    fn distances_are_symmetric() {
        let of = |left: &str, right: &str| {
            distance(&left.chars().collect::<Vec<_>>(), &right.chars().collect::<Vec<_>>())
        };
        for (left, right, expected) in
            [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2), ("ä", "a", 1)]
        {
            assert_eq!((of(left, right), of(right, left)), (expected, expected), "{left} {right}");
        }
    }
}
