//! BM25 over the memories of one scope. Nothing of any other is counted: statistics, too, would tell of them.

#![expect(clippy::cast_precision_loss, reason = "nobody has 2^52 memories")]

use crate::leaf::View;
use crate::top::{Place, Top};
use crate::words::Term;

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Scores that are looked at together.
const ROW: usize = 64;

/// The scores of a scope: one list a leaf, a score a slot.
pub(crate) struct Scores {
    leaves: Vec<Vec<f32>>,
    /// The share of the words that the best one holds.
    held: f64,
    best: f32,
}

impl Scores {
    /// What every memory of the views scores for the words.
    pub(crate) fn of(views: &[View<'_>], terms: &[Term]) -> Self {
        let texts: usize = views.iter().map(View::count).sum();
        let length: u64 = views.iter().map(View::words).sum();
        let average = (length as f64 / texts.max(1) as f64).max(1.0);
        let weights: Vec<f32> =
            terms.iter().map(|term| idf(texts, views.iter().map(|view| view.holders(*term)).sum())).collect();
        let (flat, slope) = ((K1 * (1.0 - B)) as f32, (K1 * B / average) as f32);
        let one = |view: &View<'_>| {
            let mut scores = vec![];
            for (term, weight) in terms.iter().zip(&weights) {
                let weight = weight * (K1 + 1.0) as f32;
                view.each_holder(*term, |slot, count, length| {
                    // Not before: most leaves of a wide scope hold none of the words.
                    if scores.is_empty() {
                        scores.resize(view.slots(), 0.0);
                    }
                    scores[slot] += weight * count / (count + flat + slope * length);
                });
            }
            scores
        };
        let mut scores = Self { leaves: views.iter().map(one).collect(), held: 0.0, best: 0.0 };
        if let Some((place, best)) = scores.first(views) {
            let held = terms.iter().filter(|term| views[place.leaf].holds(**term, place.slot)).count();
            (scores.best, scores.held) = (best, held as f64 / terms.len() as f64);
        }
        scores
    }

    /// The best that holds any of the words, of equal ones the latest.
    fn first(&self, views: &[View<'_>]) -> Option<(Place, f32)> {
        let best = self.leaves.iter().map(|scores| highest(scores)).fold(0.0, f32::max);
        let each = |(leaf, scores): (usize, &Vec<f32>)| {
            let equal = |(slot, score): (usize, &f32)| (*score >= best).then_some(Place { leaf, slot });
            scores.iter().enumerate().filter_map(equal).collect::<Vec<_>>()
        };
        let equal = self.leaves.iter().enumerate().filter(|_| best > 0.0).flat_map(each);
        equal.max_by_key(|place| views[place.leaf].seq(place.slot)).map(|place| (place, best))
    }

    /// What one scores.
    pub(crate) fn at(&self, place: Place) -> f32 {
        self.leaves[place.leaf].get(place.slot).copied().unwrap_or_default()
    }

    /// Whether no memory holds any of the words.
    pub(crate) fn none(&self) -> bool {
        self.best <= 0.0
    }

    /// The best that hold any of the words, the best first, of equal ones the latest.
    pub(crate) fn top(&self, views: &[View<'_>], most: usize) -> Vec<(Place, f32)> {
        let mut top = Top::new(most);
        for (leaf, scores) in self.leaves.iter().enumerate() {
            for (row, scores) in scores.chunks(ROW).enumerate() {
                // Most rows hold none of the best: one look each.
                let best = highest(scores);
                if best <= 0.0 || best < top.floor() {
                    continue;
                }
                for (slot, score) in (row * ROW..).zip(scores) {
                    if *score > 0.0 && *score >= top.floor() {
                        top.push(Place { leaf, slot }, *score, views[leaf].seq(slot));
                    }
                }
            }
        }
        top.sorted()
    }

    /// A score as relevance in [0, 1]: relative to the best one, which is worth 1 when its text holds half of the words
    /// that were asked for. Relative alone, the best of texts that do not fit at all would fit perfectly.
    pub(crate) fn relevance(&self, score: f32) -> f64 {
        if self.best > 0.0 { f64::from(score / self.best) * (2.0 * self.held).min(1.0) } else { 0.0 }
    }
}

/// No score is below 0, so that their bits have their order; and those can be compared many at once.
fn highest(scores: &[f32]) -> f32 {
    f32::from_bits(scores.iter().fold(0, |best, score| best.max(score.to_bits())))
}

fn idf(texts: usize, holders: usize) -> f32 {
    let (texts, holders) = (texts as f64, holders as f64);
    (1.0 + (texts - holders + 0.5) / (holders + 0.5)).ln() as f32
}
