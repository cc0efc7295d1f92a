//! Lines: those that matter stay, in their order, with marks where others were.

use std::collections::BTreeMap;
use std::ops::Range;

use regex::bytes::RegexSet;

use crate::count::Count;
use crate::ends::{self, Cut, Ends};
use crate::error::TrimError;
use crate::fit::Draft;
use crate::loss::mark;
use crate::piece::Piece;
use crate::sieve::{Kinds, Line, Sieve, Sorted};
use crate::signs::{self, Tier};

/// What a caller wants kept: regular expressions, each tried on every line.
#[derive(Clone, Debug, Default)]
pub struct Patterns(RegexSet);

impl Patterns {
    /// Compiles the patterns.
    pub fn new<P: AsRef<str>>(patterns: impl IntoIterator<Item = P>) -> Result<Self, TrimError> {
        RegexSet::new(patterns).map(Self).map_err(|e| TrimError::Pattern(format!("pattern: {e}")))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn asks_for(&self, line: &[u8]) -> bool {
        !self.0.is_empty() && self.0.is_match(line)
    }
}

/// A longer line is held as its two ends.
pub(crate) const LONG: usize = 64 * 1024;

/// The tier that a line's own words give it. `sign` is the best of its signs; of a very long line only those in what
/// is held of it count.
pub(crate) fn sign(patterns: &Patterns, line: &Line<'_>, sign: Option<Tier>) -> Option<Tier> {
    let ends = [Some(&line.head), line.tail.as_deref()].into_iter().flatten();
    if !patterns.is_empty()
        && ends.clone().any(|end: &Piece<'_>| patterns.asks_for(end.text.trim_ascii_end()))
    {
        return Some(Tier::Asked);
    }
    if line.tail.is_none() { sign } else { ends.filter_map(|end| signs::sign(&end.text)).min() }
}

/// Calls `take` for each line of a text.
pub(crate) fn each<'p>(piece: &'p Piece<'_>, mut take: impl FnMut(Range<usize>, Line<'p>)) {
    let mut row = 0;
    let mut start = 0;
    let breaks = memchr::memchr_iter(b'\n', &piece.text).map(|i| i + 1);
    let open = piece.text.last().is_some_and(|&b| b != b'\n').then_some(piece.len());
    for end in breaks.chain(open) {
        let lines = if piece.swaps.is_empty() { 1 } else { piece.lines(start..end) };
        take(start..end, line(piece, start..end, row, lines));
        row += lines;
        start = end;
    }
}

/// The line that is `range` of a piece.
pub(crate) fn line<'p>(piece: &'p Piece<'_>, range: Range<usize>, row: usize, lines: usize) -> Line<'p> {
    if range.len() <= LONG {
        return Line { row, lines, head: piece.slice(range), tail: None, kind: 0 };
    }
    let (head, tail) = (range.start + LONG / 2, range.end - LONG / 2);
    let head = piece.slice(range.start..piece.cut_before(head));
    Line { row, lines, head, tail: Some(Box::new(piece.slice(piece.cut_after(tail)..range.end))), kind: 0 }
}

/// The lines of a text by what they matter, of each tier as many as `most` tokens can show.
pub(crate) fn sorted<'p>(piece: &'p Piece<'_>, patterns: &Patterns, most: usize) -> Sorted<'p> {
    let mut sieve = Sieve::new(most);
    // Signs are looked for in all lines at once, which is faster than in one after another.
    let mut signs = vec![];
    signs::best(&piece.text, |at, tier| signs.push((at, tier)));
    let mut signs = signs.into_iter().peekable();
    each(piece, |range, line| {
        let mut found = None;
        while let Some((_, tier)) = signs.next_if(|&(at, _)| at < range.end) {
            found = Some(found.map_or(tier, |s: Tier| s.min(tier)));
        }
        let found = sign(patterns, &line, found);
        sieve.put(line, found);
    });
    sieve.finish()
}

/// How a long line is shortened, if it is.
type Shown = Option<Cut>;

/// What lines take, each counted once however many drafts are made.
struct Costs<'c> {
    counter: &'c dyn Count,
    /// By the rank of a line: its tokens as a whole, where they were counted.
    whole: Vec<Option<usize>>,
}

impl Costs<'_> {
    /// The tokens of a line as a whole; `None` if they are more than `room`, which a look at its beginning tells.
    fn whole(&mut self, rank: usize, line: &Line<'_>, room: usize) -> Option<usize> {
        if line.tail.is_some() {
            return None;
        }
        if self.whole.len() <= rank {
            self.whole.resize(rank + 1, None);
        }
        if let Some(tokens) = self.whole[rank] {
            return Some(tokens).filter(|&tokens| tokens <= room);
        }
        let text = &line.head.text;
        // Few texts have so many bytes a token: a look at the beginning is less work than a count.
        if text.len() / 8 > room && self.counter.limit(text, room) < text.len() {
            return None;
        }
        let tokens = self.counter.count(text);
        self.whole[rank] = Some(tokens);
        Some(tokens).filter(|&tokens| tokens <= room)
    }

    /// Where a line is cut to take at most `room` tokens, and what it then takes.
    fn shorten(&mut self, rank: usize, line: &Line<'_>, room: usize) -> (Shown, usize) {
        if let Some(tokens) = self.whole(rank, line, room) {
            return (None, tokens);
        }
        let head = &line.head;
        let inner = mark(0, head.len());
        let room_inside = room.saturating_sub(self.counter.count(inner.as_bytes()));
        let tail = line.tail.as_deref().unwrap_or(head);
        let cut = Ends::Both.cut(head, tail, room_inside, self.counter);
        let [first, last] = ends::kept(head, tail, cut);
        let useful = (!first.is_empty() || !last.is_empty()) && first.end < last.start;
        (Some(cut), if useful { room } else { usize::MAX })
    }
}

/// What is written differently for lines of another format.
pub(crate) struct Style {
    /// What a mark looks like.
    pub(crate) mark: fn(usize) -> String,
    /// Whether lines that are alike are counted where one of them stands.
    pub(crate) fold: bool,
}

/// Marks as plain text has them.
pub(crate) const PLAIN: Style = Style { mark: |lines| format!("{}\n", mark(lines, 0)), fold: true };

/// The tokens of a line that is not yet a long one.
const LINE: usize = 160;
/// How many lines that do not fit are passed over for shorter ones that matter as much.
const PASSED: usize = 16;

/// Chooses lines for a room of so many tokens; `rows` is how many lines the source has.
pub(crate) fn drafts<'s>(
    sorted: &'s Sorted<'_>,
    rows: usize,
    counter: &'s dyn Count,
    style: &'s Style,
) -> impl FnMut(usize) -> Draft + 's {
    let gap = counter.count((style.mark)(rows).as_bytes());
    let alike = counter.count(b" [+1000 alike]");
    let mut costs = Costs { counter, whole: vec![] };
    move |room| {
        let mut left = room.saturating_sub(gap);
        let mut chosen: BTreeMap<usize, (&Line<'_>, Shown)> = BTreeMap::new();
        // The tier that is full, and how many of its lines did not fit.
        let mut full: Option<(Tier, usize)> = None;
        for (rank, (tier, line)) in sorted.ranked().enumerate() {
            // Nothing that matters less gets in.
            if full.is_some_and(|(full, passed)| full != tier || passed == PASSED) {
                break;
            }
            // A long line leaves room for others, and is whole unless it is very long.
            let share = (room / 8).max(LINE).min(room / rows.clamp(1, 3));
            let (shown, tokens) = costs.shorten(rank, line, share);
            let folds = style.fold && sorted.kinds.get(&line.kind).is_some_and(|&n| n > 1);
            // A line that is in and ends where this one begins, and one that begins where it ends.
            let before = chosen.range(..line.row).next_back().map(|(&row, (line, _))| row + line.lines);
            let beside = usize::from(before == Some(line.row))
                + usize::from(chosen.contains_key(&(line.row + line.lines)));
            let marks = if folds { alike } else { 0 } + if beside == 0 { gap } else { 0 };
            let cost = tokens.saturating_add(marks);
            if cost > left {
                full = Some((tier, full.map_or(1, |(_, passed)| passed + 1)));
                continue;
            }
            left -= cost;
            if beside == 2 {
                left += gap;
            }
            chosen.insert(line.row, (line, shown));
        }
        write(sorted, &chosen, rows, style)
    }
}

fn write(
    sorted: &Sorted<'_>,
    chosen: &BTreeMap<usize, (&Line<'_>, Shown)>,
    rows: usize,
    style: &Style,
) -> Draft {
    let mut alike = Kinds::default();
    if style.fold {
        for (line, _) in chosen.values() {
            let all = || sorted.kinds.get(&line.kind).copied().unwrap_or(0);
            let rest = alike.entry(line.kind).or_insert_with(all);
            *rest = rest.saturating_sub(1);
        }
    }
    let mut draft = Draft::default();
    let mut at = 0;
    for (line, shown) in chosen.values() {
        if line.row > at {
            draft.body.extend_from_slice((style.mark)(line.row - at).as_bytes());
        }
        at = line.row + line.lines;
        draft.lines += line.lines;
        write_line(line, *shown, &mut draft);
        if let Some(more) = alike.remove(&line.kind).filter(|&more| more > 0) {
            let end = draft.body.len() - line_break(&draft.body);
            draft.body.splice(end..end, format!(" [+{more} alike]").into_bytes());
        }
    }
    if at < rows {
        draft.body.extend_from_slice((style.mark)(rows - at).as_bytes());
    }
    draft
}

/// The length of the line break that a text ends in.
fn line_break(text: &[u8]) -> usize {
    match text {
        [.., b'\r', b'\n'] => 2,
        [.., b'\n'] => 1,
        _ => 0,
    }
}

fn write_line(line: &Line<'_>, shown: Shown, draft: &mut Draft) {
    let tail = line.tail.as_deref().unwrap_or(&line.head);
    match shown {
        None => {
            draft.body.extend_from_slice(&line.head.text);
            draft.kept.push(line.head.start..line.head.source(line.head.len()));
        }
        Some(cut) => {
            ends::write(&line.head, tail, cut, 0, &mut draft.body);
            draft.kept.extend(ends::kept(&line.head, tail, cut));
        }
    }
}
