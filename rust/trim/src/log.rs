//! A log inside a string of JSON, as tools return them: its lines are sieved as those of a log by itself.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use crate::lines::{self, Patterns};
use crate::loss::mark;
use crate::nested;
use crate::piece::Piece;
use crate::signs::Tier;

/// A string with fewer lines is shortened as a text is.
const FEW: usize = 4;
/// As many lines of a tier as are held.
const HELD: usize = 4096;
/// How many lines that do not fit are passed over for shorter ones that matter as much.
const PASSED: usize = 16;

/// The lines of a string.
#[derive(Debug)]
pub(crate) struct Log {
    /// Where each stands between the quotes, with the escape that ends it.
    lines: Vec<Range<usize>>,
    /// Their numbers, those that matter most first.
    ranked: Vec<(Tier, usize)>,
}

impl Log {
    /// `inside` is what stands between the quotes; `may_cut` says where in it a cut tears nothing.
    pub(crate) fn read(inside: &[u8], patterns: &Patterns, may_cut: impl Fn(usize) -> bool) -> Option<Self> {
        memchr::memmem::find_iter(inside, br"\n").nth(FEW - 1)?;
        let (text, from) = nested::open(inside)?;
        let piece = Piece { text: Cow::Owned(text), start: 0, swaps: vec![] };
        let mut lines = vec![];
        lines::each(&piece, |range, _| lines.push(from[range.start]..from[range.end]));
        let sorted = lines::sorted(&piece, patterns, HELD);
        let ranked = sorted.ranked().map(|(tier, line)| (tier, line.row)).collect();
        let whole = |line: &Range<usize>| may_cut(line.start);
        (lines.len() >= FEW && lines.iter().all(whole)).then_some(Self { lines, ranked })
    }

    /// The lines for so many bytes, marks included, in their order; none where not one fits.
    fn choose(&self, most: usize) -> BTreeSet<usize> {
        let gap = Self::mark(self.lines.len()).len();
        let mut left = most.saturating_sub(gap);
        let mut chosen = BTreeSet::new();
        let mut full: Option<(Tier, usize)> = None;
        for &(tier, row) in &self.ranked {
            if full.is_some_and(|(full, passed)| full != tier || passed == PASSED) {
                break;
            }
            // A line between two that are in needs no mark, and makes one needless.
            let beside = usize::from(row > 0 && chosen.contains(&(row - 1)))
                + usize::from(chosen.contains(&(row + 1)));
            let cost = self.lines[row].len() + if beside == 0 { gap } else { 0 };
            if cost > left {
                full = Some((tier, full.map_or(1, |(_, passed)| passed + 1)));
                continue;
            }
            left = left - cost + if beside == 2 { gap } else { 0 };
            chosen.insert(row);
        }
        chosen
    }

    /// What is written for so many bytes; nothing where not one line fits.
    pub(crate) fn parts(&self, most: usize) -> Vec<Part> {
        let mut parts = vec![];
        let mut at = 0;
        for row in self.choose(most) {
            if row > at {
                parts.push(Part::Mark(Self::mark(row - at)));
            }
            parts.push(Part::Line(self.lines[row].clone()));
            at = row + 1;
        }
        if at > 0 && at < self.lines.len() {
            parts.push(Part::Mark(mark(self.lines.len() - at, 0)));
        }
        parts
    }

    fn mark(lines: usize) -> String {
        mark(lines, 0) + r"\n"
    }
}

/// A part of a shortened log.
pub(crate) enum Part {
    /// What stands for lines that are not there.
    Mark(String),
    /// A line: where it stands between the quotes.
    Line(Range<usize>),
}
