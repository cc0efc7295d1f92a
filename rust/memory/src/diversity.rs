//! Maximal marginal relevance (Carbonell and Goldstein, 1998): not twice the same among the few that are returned.

use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::dots::dots;

/// A candidate: how well it fits, and its vector.
pub(crate) struct Candidate<'v> {
    pub(crate) score: f64,
    pub(crate) vector: Option<&'v [f32]>,
}

/// What a candidate is worth at most: what it was worth when fewer were chosen.
struct Bound {
    worth: f64,
    at: usize,
    chosen: usize,
}

impl Ord for Bound {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.worth.total_cmp(&other.worth).then(other.at.cmp(&self.at))
    }
}

impl PartialOrd for Bound {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Bound {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Bound {}

/// The places of those that are chosen, one after the other: each the one that is worth most, which is `lambda` times
/// its score less `1 - lambda` times its likeness to the most alike of those before it. Of equal ones the first.
pub(crate) fn choose(candidates: &[Candidate<'_>], lambda: f64, most: usize) -> Vec<usize> {
    let mut alike = vec![0.0_f64; candidates.len()];
    let worth = |at: usize, alike: f64| lambda * candidates[at].score - (1.0 - lambda) * alike;
    // Worth only falls. Whoever leads when all that were chosen are counted, leads; the others are not looked at.
    let mut heap: BinaryHeap<Bound> =
        (0..candidates.len()).map(|at| Bound { worth: worth(at, 0.0), at, chosen: 0 }).collect();
    let (mut chosen, mut cosine) = (Vec::<usize>::new(), vec![]);
    while chosen.len() < most {
        let Some(mut first) = heap.peek_mut() else { break };
        let Bound { at, chosen: mut seen, .. } = *first;
        if seen == chosen.len() {
            PeekMut::pop(first);
            chosen.push(at);
            continue;
        }
        while seen < chosen.len() {
            let (one, other) = (candidates[at].vector, candidates[chosen[seen]].vector);
            seen += 1;
            if let (Some(one), Some(other)) = (one, other) {
                dots(one, other, &mut cosine);
                if f64::from(cosine[0]) > alike[at] {
                    alike[at] = cosine[0].into();
                    // It may be the first no more.
                    break;
                }
            }
        }
        *first = Bound { worth: worth(at, alike[at]), at, chosen: seen };
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As it is printed: all are looked at, each time.
    fn plain(candidates: &[Candidate<'_>], lambda: f64, most: usize) -> Vec<usize> {
        let mut chosen: Vec<usize> = vec![];
        let likeness = |a: usize, b: usize| match (candidates[a].vector, candidates[b].vector) {
            (Some(a), Some(b)) => a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum(),
            _ => 0.0_f64,
        };
        while chosen.len() < most.min(candidates.len()) {
            let worth = |at: usize| {
                let alike = chosen.iter().map(|other| likeness(at, *other)).fold(0.0, f64::max);
                lambda * candidates[at].score - (1.0 - lambda) * alike
            };
            let rest = (0..candidates.len()).filter(|at| !chosen.contains(at));
            let best = rest.fold(None, |best: Option<usize>, at| match best {
                Some(best) if worth(best) >= worth(at) => Some(best),
                _ => Some(at),
            });
            chosen.extend(best);
        }
        chosen
    }

    proptest! {
        #[test]
        fn as_the_formula(
            drawn in prop::collection::vec((0_u8..9, prop::option::of(0_usize..4)), 0..24),
            lambda in 0_u8..=4,
            most in 0_usize..9,
        ) {
            // Powers of two: no sum is rounded.
            let vectors = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [-1.0, 0.25]];
            let one = |(score, vector): &(u8, Option<usize>)| Candidate {
                score: f64::from(*score) / 8.0,
                vector: vector.map(|at| &vectors[at][..]),
            };
            let candidates: Vec<Candidate<'_>> = drawn.iter().map(one).collect();
            let lambda = f64::from(lambda) / 4.0;
            prop_assert_eq!(choose(&candidates, lambda, most), plain(&candidates, lambda, most));
        }
    }
}
