//! A skeleton of JSON that is JSON: keys and shape stay, long strings and arrays are sampled, what is odd comes first.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use crate::error::TrimError;
use crate::fit::{Draft, Made, Place};
use crate::lines::Patterns;
use crate::log::{Log, Part};
use crate::loss::{Units, lines_in, mark};
use crate::nested;
use crate::piece::Piece;
use crate::plan::Source;
use crate::signs::{self, Tier};
use crate::tree::{Kind, ROOT, Tree};

/// How much of each thing is shown.
#[derive(Clone, Copy, Debug)]
struct Detail {
    /// Items of an array.
    items: usize,
    /// Keys of an object.
    keys: usize,
    /// Bytes of a string.
    text: usize,
    /// Levels of nesting.
    depth: usize,
    /// Whether what was asked for is shown beyond all of these.
    asked: bool,
}

/// From nearly all to nearly nothing, each step a little less.
const STEPS: usize = 56;
const ITEMS: [usize; 30] = [
    0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 320, 400, 512,
    1024, 4096, 16384, 65536,
];
const TEXT: [usize; 26] = [
    8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 128, 160, 200, 256, 320, 400, 512, 640, 800, 1024, 1536, 2048,
    4096, 8192, 32768, 131_072,
];
const DEPTH: [usize; 18] = [1, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 8, 10, 12, 16, 32, 64, 64];

/// A step of each, from 0.
#[derive(Clone, Copy, Debug, Default)]
struct Steps {
    items: usize,
    keys: usize,
    text: usize,
    depth: usize,
}

impl Steps {
    fn all(step: usize) -> Self {
        Self { items: step, keys: step, text: step, depth: step }
    }

    fn detail(self, asked: bool) -> Detail {
        fn pick(list: &[usize], step: usize) -> usize {
            list[(STEPS - 1 - step) * list.len() / STEPS]
        }
        Detail {
            items: pick(&ITEMS, self.items),
            keys: 4 * pick(&ITEMS, self.keys),
            text: pick(&TEXT, self.text),
            depth: pick(&DEPTH, self.depth),
            asked,
        }
    }

    /// The least finer step that shows another level.
    fn deeper(self) -> Option<usize> {
        let depth = |step| Self::all(step).detail(false).depth;
        (0..self.depth).rev().find(|&step| depth(step) > depth(self.depth))
    }
}

/// What makes a value worth showing, the least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    #[default]
    Plain,
    /// It differs from those beside it, or tells of an error.
    Odd,
    /// Something that was asked for is inside.
    Holds,
    /// It was asked for, or a value beside it was.
    Asked,
}

/// How many values that hold what was asked for are shown of an array or object.
const HOLD: usize = 8;
/// How many keys of an object that was asked for.
const KEYS: usize = 32;

/// Deeper values are not written: recursion ends.
const DEEPEST: usize = 64;

/// A text that is JSON, and what in it is odd.
pub(crate) struct Document<'p> {
    piece: &'p Piece<'p>,
    tree: Tree,
    ranks: Vec<Rank>,
    patterns: &'p Patterns,
    /// What alone is to be written, if not all.
    pub(crate) wanted: Option<Vec<bool>>,
    /// The strings that are logs, by where they start: read once, however many drafts are made.
    logs: RefCell<HashMap<usize, Option<Rc<Log>>>>,
}

/// Trims JSON; `None` if it is none.
pub(crate) fn trim(source: &Source<'_>) -> Option<Result<Made, TrimError>> {
    Some(Document::read(source.piece(), &source.plan.patterns)?.trim(source, "json"))
}

impl<'p> Document<'p> {
    pub(crate) fn read(piece: &'p Piece<'p>, patterns: &'p Patterns) -> Option<Self> {
        // Most texts are not JSON, which their first byte says.
        let first = piece.text.trim_ascii_start().first()?;
        if !matches!(first, b'{' | b'[' | b'"') {
            return None;
        }
        let tree = Tree::read(&piece.text)?;
        let mut ranks = odd(&piece.text, &tree);
        if !patterns.is_empty() {
            ask(&mut ranks, &piece.text, &tree, patterns);
        }
        Some(Self { piece, tree, ranks, patterns, wanted: None, logs: RefCell::default() })
    }

    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    pub(crate) fn trim(&self, source: &Source<'_>, name: &'static str) -> Result<Made, TrimError> {
        let counter = &*source.plan.counter;
        let sample = self.piece.cut_before(self.piece.len().min(2048));
        let tokens = counter.count(&self.piece.text[..sample]).max(1);
        source.fit(name).run(|room| {
            let most = room.saturating_mul(sample) / tokens;
            let asked = if self.patterns.is_empty() { None } else { self.fill(most, true) };
            self.draft(source, asked.or_else(|| self.fill(most, false)).unwrap_or_else(|| self.least()))
        })
    }

    /// The finest detail that fits: a step for all, then where much room is left a level more, and each by itself.
    fn fill(&self, most: usize, asked: bool) -> Option<Written<'_>> {
        let (step, mut best) = self.finest(most, asked, Steps::all)?;
        let mut steps = Steps::all(step);
        let full = |w: &Written<'_>| w.out.len() >= most - most / 8;
        if !full(&best)
            && let Some(depth) = steps.deeper()
            && let Some((step, more)) = self.finest(most, asked, |step| Steps { depth, ..Steps::all(step) })
            && more.out.len() > best.out.len()
        {
            (steps, best) = (Steps { depth, ..Steps::all(step) }, more);
        }
        let each: [fn(usize, Steps) -> Steps; 3] = [
            |step, steps| Steps { keys: step, ..steps },
            |step, steps| Steps { items: step, ..steps },
            |step, steps| Steps { text: step, ..steps },
        ];
        for with in each {
            if !full(&best)
                && let Some((step, more)) = self.finest(most, asked, |step| with(step, steps))
                && more.out.len() > best.out.len()
            {
                (steps, best) = (with(step, steps), more);
            }
        }
        Some(best)
    }

    /// The first step whose text is short enough: later ones are shorter.
    fn finest(
        &self,
        most: usize,
        asked: bool,
        steps: impl Fn(usize) -> Steps,
    ) -> Option<(usize, Written<'_>)> {
        let (mut low, mut high) = (0, STEPS);
        let mut found = None;
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.write(steps(middle).detail(asked), most) {
                Some(written) => {
                    found = Some((middle, written));
                    high = middle;
                }
                None => low = middle + 1,
            }
        }
        found
    }

    /// All of what is wanted, without a marker.
    pub(crate) fn full(&self, source: &Source<'_>) -> Draft {
        let all = Detail {
            items: usize::MAX / 8,
            keys: usize::MAX / 8,
            text: usize::MAX / 8,
            depth: DEEPEST,
            asked: false,
        };
        let written = self.write(all, usize::MAX).expect("there is no limit");
        self.draft(source, written)
    }

    fn draft(&self, source: &Source<'_>, written: Written<'_>) -> Draft {
        let kept: Vec<Range<usize>> =
            written.kept.iter().map(|r| self.piece.source(r.start)..self.piece.source(r.end)).collect();
        let lines = lines_in(source.view.raw, &kept);
        Draft { body: written.out, lines, kept, units: written.units, place: written.place }
    }

    /// Brackets, or quotes.
    fn least(&self) -> Written<'_> {
        let mut w = Written::new(&self.piece.text, usize::MAX);
        let top = self.tree.top();
        if top == ROOT {
            w.place = Place::JsonLine;
            return w;
        }
        let (body, place) = match self.tree.nodes[top].kind {
            Kind::Object => (&b"{}"[..], Place::Member { at: 1, empty: true }),
            Kind::Array => (&b"[]"[..], Place::Item { at: 1, empty: true }),
            _ => (&b"\"\""[..], Place::Inside { at: 1 }),
        };
        w.out = body.to_vec();
        w.place = place;
        w
    }

    /// The text in this detail; `None` if it is longer than `most` bytes.
    fn write(&self, detail: Detail, most: usize) -> Option<Written<'_>> {
        let mut w = Written::new(&self.piece.text, most);
        let top = self.tree.top();
        if top == ROOT {
            w.place = Place::JsonLine;
            let items: Vec<usize> = self.tree.inside(ROOT).to_vec();
            let chosen = self.choose(&items, detail.items, detail.asked);
            w.units = Some(Units { name: "items", kept: chosen.len(), total: items.len() });
            let mut at = 0;
            for i in chosen {
                if i > at {
                    w.put(format!("{}\n", gone(i - at, "items")).as_bytes());
                }
                at = i + 1;
                self.value(&mut w, items[i], detail, 0)?;
                w.put(b"\n");
            }
            if at < items.len() {
                w.put(format!("{}\n", gone(items.len() - at, "items")).as_bytes());
            }
        } else {
            self.value(&mut w, top, detail, 0)?;
            let kind = self.tree.nodes[top].kind;
            let empty = w.out.len() <= 2;
            w.place = match kind {
                Kind::Object => Place::Member { at: 1, empty },
                Kind::Array => Place::Item { at: 1, empty },
                _ => Place::Inside { at: 1 },
            };
        }
        (w.out.len() <= most).then_some(w)
    }

    fn is_wanted(&self, n: usize) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| wanted[n])
    }

    fn value(&self, w: &mut Written<'_>, n: usize, detail: Detail, depth: usize) -> Option<()> {
        if w.out.len() > w.most {
            return None;
        }
        let node = &self.tree.nodes[n];
        match node.kind {
            Kind::Number | Kind::Word => w.keep(node.span.clone()),
            Kind::String => self.string(w, node.span.clone(), detail, depth),
            Kind::Array | Kind::Object => {
                let object = node.kind == Kind::Object;
                let what = if object { "keys" } else { "items" };
                let all: Vec<usize> =
                    self.tree.inside(n).iter().copied().filter(|&c| self.is_wanted(c)).collect();
                let rank = if detail.asked { self.ranks[n] } else { Rank::Plain };
                if !all.is_empty() && (depth >= detail.depth && rank < Rank::Holds || depth >= DEEPEST) {
                    w.put(gone(all.len(), what).as_bytes());
                    return Some(());
                }
                w.keep(node.span.start..node.span.start + 1);
                let mut most = if object { detail.keys } else { detail.items };
                if object && rank == Rank::Asked {
                    most = most.max(KEYS);
                }
                let chosen = self.choose(&all, most, detail.asked);
                let rest = all.len() - chosen.len();
                if n == self.tree.top() {
                    w.units = Some(Units { name: what, kept: chosen.len(), total: all.len() });
                }
                let mut at = 0;
                let mut comma: &[u8] = b"";
                for i in chosen {
                    if i > at && !object {
                        w.put(comma);
                        w.put(gone(i - at, what).as_bytes());
                        comma = b",";
                    }
                    at = i + 1;
                    w.put(comma);
                    comma = b",";
                    let child = &self.tree.nodes[all[i]];
                    if object {
                        w.keep(child.key.clone());
                        w.put(b":");
                    }
                    self.value(w, all[i], detail, depth + 1)?;
                }
                if object && rest > 0 {
                    w.put(comma);
                    w.put(format!("{}:null", gone(rest, what)).as_bytes());
                } else if at < all.len() {
                    w.put(comma);
                    w.put(gone(all.len() - at, what).as_bytes());
                }
                w.keep(node.span.end - 1..node.span.end);
            }
        }
        Some(())
    }

    /// Which of `all` are shown when `most` may be: the odd ones, the first and the last, then more of the first. Before
    /// and beyond those, when `asked`, what holds what was asked for.
    fn choose(&self, all: &[usize], most: usize, asked: bool) -> Vec<usize> {
        if all.len() <= most {
            return (0..all.len()).collect();
        }
        let rank = |i: usize| self.ranks[all[i]];
        let mut chosen: Vec<usize> = vec![];
        let mut taken = vec![false; all.len()];
        let mut take = |from: &mut dyn Iterator<Item = usize>, most: usize| {
            let new = from.filter(|&i| !std::mem::replace(&mut taken[i], true));
            let before = chosen.len();
            chosen.extend(new.take(most));
            chosen.len() - before
        };
        let ends = || (0..all.len()).map(|i| if i % 2 == 0 { i / 2 } else { all.len() - 1 - i / 2 });
        if asked {
            take(&mut ends().filter(|&i| rank(i) == Rank::Asked), HOLD);
            take(&mut ends().filter(|&i| rank(i) >= Rank::Holds), HOLD);
        }
        let odd = take(&mut ends().filter(|&i| rank(i) >= Rank::Odd), most.div_ceil(2));
        // One of three from the end: what comes last is often what counts.
        let mut rest = (0..all.len()).map(|i| if i % 3 == 2 { all.len() - 1 - i / 3 } else { i - i / 3 });
        take(&mut rest, most - odd);
        chosen.sort_unstable();
        chosen
    }

    fn string(&self, w: &mut Written<'_>, span: Range<usize>, detail: Detail, depth: usize) {
        let inner = span.start + 1..span.end - 1;
        if inner.len() <= detail.text.saturating_add(24) {
            w.keep(span);
            return;
        }
        if let Some(short) = nested::shorten(&self.piece.text[inner.clone()], |piece| {
            let document = Document::read(piece, self.patterns).filter(|d| !d.tree.lines)?;
            let room = w.most.saturating_sub(w.out.len());
            let inside = Detail { depth: detail.depth.saturating_sub(depth).max(1), ..detail };
            let written = document.write(inside, room)?;
            Some((written.out, written.kept))
        }) {
            // Blanks alone are no loss in a document, but in a string they are part of the value.
            if short.kept.len() == 1 {
                w.keep(span);
                return;
            }
            w.keep(span.start..inner.start);
            w.put(&short.text);
            for part in short.kept {
                w.note(inner.start + part.start..inner.start + part.end);
            }
            w.keep(inner.end..span.end);
            return;
        }
        let parts = self.log(&inner).map_or_else(Vec::new, |log| log.parts(detail.text));
        if !parts.is_empty() {
            w.keep(span.start..inner.start);
            for part in parts {
                match part {
                    Part::Mark(mark) => w.put(mark.as_bytes()),
                    Part::Line(line) => w.keep(inner.start + line.start..inner.start + line.end),
                }
            }
            w.keep(inner.end..span.end);
            return;
        }
        let tail = detail.text / 3;
        let head = self.piece.cut_before(inner.start + detail.text - tail).max(inner.start);
        let tail = self.piece.cut_after(inner.end - tail).min(inner.end);
        w.keep(span.start..head);
        w.put(mark(0, tail.saturating_sub(head)).as_bytes());
        w.keep(tail..span.end);
    }

    fn log(&self, inner: &Range<usize>) -> Option<Rc<Log>> {
        let may_cut = |at| self.piece.may_cut(inner.start + at);
        let read = || Log::read(&self.piece.text[inner.clone()], self.patterns, may_cut).map(Rc::new);
        self.logs.borrow_mut().entry(inner.start).or_insert_with(read).clone()
    }
}

/// What stands for `count` items or keys.
fn gone(count: usize, what: &str) -> String {
    format!("\"[{count} {what} cut]\"")
}

/// What has been written, and what of the text it is.
#[derive(Clone, Debug)]
struct Written<'t> {
    text: &'t [u8],
    out: Vec<u8>,
    kept: Vec<Range<usize>>,
    most: usize,
    place: Place,
    units: Option<Units>,
}

impl<'t> Written<'t> {
    fn new(text: &'t [u8], most: usize) -> Self {
        Self { text, out: vec![], kept: vec![], most, place: Place::Above, units: None }
    }

    fn put(&mut self, mark: &[u8]) {
        self.out.extend_from_slice(mark);
    }

    fn keep(&mut self, range: Range<usize>) {
        self.out.extend_from_slice(&self.text[range.clone()]);
        self.note(range);
    }

    /// Enters what is kept; nothing is lost with the blanks and commas between two values.
    fn note(&mut self, range: Range<usize>) {
        if let Some(last) = self.kept.last_mut() {
            let gap = &self.text[last.end..range.start];
            if gap.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n' | b',' | b':')) {
                last.end = range.end;
                return;
            }
        }
        self.kept.push(range);
    }
}

/// The values that differ from those beside them, and those that hold them.
fn odd(text: &[u8], tree: &Tree) -> Vec<Rank> {
    let mut ranks = vec![Rank::Plain; tree.nodes.len()];
    // Signs are looked for in all of the text at once; values stand in the order of the text.
    let mut signs = vec![];
    signs::each(text, |at, tier| {
        if tier == Tier::Error {
            signs.push(at);
        }
    });
    for (n, node) in tree.nodes.iter().enumerate().skip(1) {
        match node.kind {
            Kind::String | Kind::Number | Kind::Word => {
                let start = if node.key.is_empty() { node.span.start } else { node.key.start };
                // What follows the key `error` is one; a code of an exit is none among others.
                let next = signs.partition_point(|&at| at < start);
                if signs.get(next).is_some_and(|&at| at < node.span.end) {
                    raise(&mut ranks, tree, n, Rank::Odd);
                }
            }
            Kind::Array => strangers(&mut ranks, text, tree, n),
            Kind::Object => {}
        }
    }
    if tree.lines {
        strangers(&mut ranks, text, tree, ROOT);
    }
    ranks
}

/// Marks what was asked for: values whose key or text a pattern matches, with what they stand beside.
fn ask(ranks: &mut [Rank], text: &[u8], tree: &Tree, patterns: &Patterns) {
    for (n, node) in tree.nodes.iter().enumerate().skip(1) {
        let leaf = !matches!(node.kind, Kind::Array | Kind::Object);
        let start = if node.key.is_empty() { node.span.start } else { node.key.start };
        let end = if leaf { node.span.end } else { node.key.end.max(start) };
        if !patterns.asks_for(&text[start..end]) {
            continue;
        }
        raise(ranks, tree, n, Rank::Holds);
        ranks[n] = Rank::Asked;
        if leaf && tree.nodes[node.parent].kind == Kind::Object {
            ranks[node.parent] = Rank::Asked;
        }
    }
}

/// Marks a value and all that hold it.
fn raise(ranks: &mut [Rank], tree: &Tree, mut n: usize, rank: Rank) {
    while n != ROOT && ranks[n] < rank {
        ranks[n] = rank;
        n = tree.nodes[n].parent;
    }
}

/// Marks the items of an array that are made differently from most, and the least and the greatest of its numbers.
fn strangers(ranks: &mut [Rank], text: &[u8], tree: &Tree, array: usize) {
    let items = tree.inside(array);
    if items.len() < 8 {
        return;
    }
    let shapes: Vec<u64> = items.iter().map(|&n| shape(text, tree, n)).collect();
    let mut counts: HashMap<u64, usize> = HashMap::new();
    for &shape in &shapes {
        *counts.entry(shape).or_default() += 1;
    }
    for (&n, shape) in items.iter().zip(&shapes) {
        if counts[shape] * 10 <= items.len() {
            raise(ranks, tree, n, Rank::Odd);
        }
    }
    let value = |n: usize| std::str::from_utf8(&text[tree.nodes[n].span.clone()]).ok()?.parse::<f64>().ok();
    let numbers: Option<Vec<(f64, usize)>> =
        items.iter().map(|&n| Some((value(n).filter(|_| tree.nodes[n].kind == Kind::Number)?, n))).collect();
    if let Some(numbers) = numbers {
        let least = numbers.iter().min_by(|a, b| a.0.total_cmp(&b.0));
        let greatest = numbers.iter().max_by(|a, b| a.0.total_cmp(&b.0));
        for &(_, n) in least.into_iter().chain(greatest) {
            ranks[n] = ranks[n].max(Rank::Odd);
        }
    }
}

/// How a value is made: its kind, and the keys of an object.
fn shape(text: &[u8], tree: &Tree, n: usize) -> u64 {
    let mut shape = tree.nodes[n].kind as u64;
    if tree.nodes[n].kind == Kind::Object {
        for &child in tree.inside(n) {
            let key = &text[tree.nodes[child].key.clone()];
            let hash = key.iter().fold(0u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01B3));
            shape = shape.rotate_left(5) ^ hash.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
    }
    shape
}
