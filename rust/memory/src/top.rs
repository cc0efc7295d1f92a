//! The best of many, without sorting them all.

/// Where a memory is among the leaves of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) leaf: usize,
    pub(crate) slot: usize,
}

/// Keeps the best of what is pushed: by score, of equal ones the latest.
pub(crate) struct Top {
    most: usize,
    found: Vec<(f32, i64, Place)>,
    floor: f32,
}

impl Top {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, found: vec![], floor: f32::NEG_INFINITY }
    }

    /// What scores less is none of the best; what scores as much may be.
    #[inline]
    pub(crate) fn floor(&self) -> f32 {
        self.floor
    }

    pub(crate) fn push(&mut self, place: Place, score: f32, seq: i64) {
        self.found.push((score, seq, place));
        // Room for as many again: each cut costs what it looks at, and comes after so many pushes.
        if self.found.len() >= self.most.saturating_mul(2).max(64) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.found.len() > self.most && self.most > 0 {
            self.found.select_nth_unstable_by(self.most - 1, order);
            self.floor = self.found[self.most - 1].0;
        }
        self.found.truncate(self.most);
    }

    /// The best, in their order.
    pub(crate) fn sorted(mut self) -> Vec<(Place, f32)> {
        self.cut();
        self.found.sort_unstable_by(order);
        self.found.into_iter().map(|(score, _, place)| (place, score)).collect()
    }
}

fn order(a: &(f32, i64, Place), b: &(f32, i64, Place)) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(b.1.cmp(&a.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_best_are_those_of_a_sort(scores in prop::collection::vec(-3_i8..3, 0..400), most in 0_usize..90) {
            let mut top = Top::new(most);
            let mut all = vec![];
            for (slot, score) in scores.into_iter().enumerate() {
                let (score, place) = (f32::from(score), Place { leaf: 0, slot });
                if score >= top.floor() {
                    top.push(place, score, slot.cast_signed() as i64);
                }
                all.push((place, score));
            }
            all.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.slot.cmp(&a.0.slot)));
            all.truncate(most);
            prop_assert_eq!(top.sorted(), all);
        }
    }
}
