//! The memories whose vectors are closest to that of a query.
//!
//! A few are all looked at. Of many, first how many bits differ: a bit for each number, a 32nd of what there is to
//! read; then those that differ in the fewest, whole.

use crate::dots::{bits, differing, dots, dots_of};
use crate::leaf::View;
use crate::top::{Place, Top};

/// Up to so many are all looked at: some 15 us, and no bits that mislead.
const FEW: usize = 500;

/// With fewer bits too many vectors look the same.
const WIDE: usize = 128;

/// The cosines of the closest, the best first, of equal ones the latest.
///
/// `near` are those that a graph proposes, of a namespace that holds the scope. When too few of them are seen, all are
/// looked through.
pub(crate) fn closest(views: &[View<'_>], query: &[f32], near: &[i64], most: usize) -> Vec<(Place, f32)> {
    let embedded: usize = views.iter().map(|view| view.embedded().count()).sum();
    if near.len() >= most {
        let proposed = of(views, query, near, most);
        if proposed.len() >= most.min(embedded) {
            return proposed;
        }
    }
    let misleading = query.len() < WIDE || views.iter().any(|view| view.embedded().sparse());
    let whole = most.saturating_mul(4).max(embedded / 100).max(200);
    if embedded <= FEW || embedded / 2 <= whole || misleading {
        all(views, query, most)
    } else {
        by_bits(views, query, most, whole)
    }
}

fn all(views: &[View<'_>], query: &[f32], most: usize) -> Vec<(Place, f32)> {
    let (mut top, mut cosines) = (Top::new(most), vec![]);
    for (leaf, view) in views.iter().enumerate().filter(|(_, view)| view.embedded().count() > 0) {
        dots(query, view.embedded().rows(), &mut cosines);
        for (slot, cosine) in cosines.iter().enumerate() {
            if *cosine >= top.floor() && view.sees_vector(slot) {
                top.push(Place { leaf, slot }, *cosine, view.seq(slot));
            }
        }
    }
    top.sorted()
}

fn of(views: &[View<'_>], query: &[f32], near: &[i64], most: usize) -> Vec<(Place, f32)> {
    let (mut top, mut cosines) = (Top::new(most), vec![]);
    for (leaf, view) in views.iter().enumerate() {
        let slots: Vec<usize> = near.iter().filter_map(|seq| view.slot(*seq)).collect();
        dots_of(query, view.embedded().rows(), &slots, &mut cosines);
        for (slot, cosine) in slots.into_iter().zip(&cosines) {
            top.push(Place { leaf, slot }, *cosine, view.seq(slot));
        }
    }
    top.sorted()
}

fn by_bits(views: &[View<'_>], query: &[f32], most: usize, wanted: usize) -> Vec<(Place, f32)> {
    let one = bits(query);
    let mut far: Vec<Vec<u16>> = Vec::with_capacity(views.len());
    // How many differ in so many bits: in four lists, or each count would wait for the one before it.
    let mut counts = vec![[0_u32; 4]; query.len() + 1];
    for view in views {
        let mut found = vec![];
        if view.embedded().count() > 0 {
            differing(&one, view.embedded().blocks(), &mut found);
            found.truncate(view.embedded().there().len());
            if view.sees_all_vectors() {
                let (fours, rest) = found.as_chunks::<4>();
                for four in fours {
                    for (list, bits) in four.iter().enumerate() {
                        counts[usize::from(*bits)][list] += 1;
                    }
                }
                for bits in rest {
                    counts[usize::from(*bits)][0] += 1;
                }
            } else {
                for (slot, bits) in found.iter_mut().enumerate() {
                    if view.sees_vector(slot) {
                        counts[usize::from(*bits)][0] += 1;
                    } else {
                        *bits = u16::MAX;
                    }
                }
            }
        }
        far.push(found);
    }
    let mut sum = 0;
    let enough = counts.iter().position(|count| {
        sum += count.iter().map(|count| *count as usize).sum::<usize>();
        sum >= wanted
    });
    let limit = u16::try_from(enough.unwrap_or(query.len())).unwrap_or(u16::MAX - 1);
    let (mut top, mut cosines) = (Top::new(most), vec![]);
    for (leaf, far) in far.iter().enumerate() {
        // Most rows of 32 hold none: one look each.
        let rows = far.chunks(32).enumerate();
        let rows = rows.filter(|(_, row)| row.iter().fold(u16::MAX, |least, bits| least.min(*bits)) <= limit);
        let near = rows.flat_map(|(row, bits)| (row * 32..).zip(bits)).filter(|(_, bits)| **bits <= limit);
        let near: Vec<usize> = near.map(|(slot, _)| slot).collect();
        dots_of(query, views[leaf].embedded().rows(), &near, &mut cosines);
        for (slot, cosine) in near.into_iter().zip(&cosines) {
            if *cosine >= top.floor() && views[leaf].sees_vector(slot) {
                top.push(Place { leaf, slot }, *cosine, views[leaf].seq(slot));
            }
        }
    }
    top.sorted()
}
