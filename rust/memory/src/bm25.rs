//! BM25 over the memories of one scope. Nothing of any other is counted: statistics, too, would tell of them.

#![expect(clippy::cast_precision_loss, reason = "nobody has 2^52 memories")]

use crate::leaf::View;
use crate::top::{Place, Top};
use crate::words::Term;

const K1: f64 = 1.2;
const B: f64 = 0.75;

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
        if let Some((place, best)) = scores.top(views, 1).first() {
            let held = terms.iter().filter(|term| views[place.leaf].holds(**term, place.slot)).count();
            (scores.best, scores.held) = (*best, held as f64 / terms.len() as f64);
        }
        scores
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
            for (slot, score) in scores.iter().enumerate() {
                if *score > 0.0 && *score >= top.floor() {
                    top.push(Place { leaf, slot }, *score, views[leaf].seq(slot));
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

fn idf(texts: usize, holders: usize) -> f32 {
    let (texts, holders) = (texts as f64, holders as f64);
    (1.0 + (texts - holders + 0.5) / (holders + 0.5)).ln() as f32
}
