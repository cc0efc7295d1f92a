//! Text that arrives in pieces: what is held does not grow with what has gone by.

use std::borrow::Cow;
use std::collections::VecDeque;

use ctxproto_redact::{Format, Stream};

use crate::ends::Ends;
use crate::error::TrimError;
use crate::lines::{self, LONG, Patterns};
use crate::loss::Size;
use crate::piece::{Piece, Place, Swap};
use crate::plan::{Plan, Trimmed, finish};
use crate::sieve::{BYTES, Line, Sieve};
use crate::signs;
use crate::strategy::Strategy;
use crate::view::{Look, Windows, first, last};

/// Whether more text can change the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It can.
    More,
    /// It cannot, but for the totals in the marker and the report.
    Enough,
}

/// What strategies that must see the whole text hold of it; a longer one is trimmed by lines.
const HELD_MAX: usize = 64 << 20;

/// Trims text that arrives in pieces. The result is that of the whole text, unless that is longer than 64 MiB and its
/// strategy must see all of it, or it fits only because it has more than 64 bytes a token, or a line is longer than 64 KiB.
#[derive(Debug)]
pub struct Trimmer {
    plan: Plan,
    state: State,
}

#[derive(Debug)]
enum State {
    /// All that has come, for strategies that must see it.
    Held(Vec<u8>),
    Passing(Box<Passing>),
}

impl Trimmer {
    pub(crate) fn new(plan: Plan) -> Self {
        let state = if passes(&plan.strategy) {
            State::Passing(Passing::new(plan.clone()).into())
        } else {
            State::Held(vec![])
        };
        Self { plan, state }
    }

    /// Takes the next piece.
    pub fn push(&mut self, piece: &[u8]) -> Need {
        match &mut self.state {
            State::Passing(passing) => passing.push(piece),
            State::Held(held) if held.len() + piece.len() <= HELD_MAX => {
                held.extend_from_slice(piece);
                Need::More
            }
            State::Held(held) => {
                let mut passing = by_lines(&self.plan, held);
                let need = passing.push(piece);
                self.state = State::Passing(passing.into());
                need
            }
        }
    }

    /// The source has ended.
    pub fn finish(self) -> Result<Trimmed<'static>, TrimError> {
        match self.state {
            State::Held(held) => self.plan.trim(&held).map(Trimmed::into_owned),
            State::Passing(passing) => passing.finish().map(|trimmed| told(&self.plan, trimmed)),
        }
    }

    /// Reading stopped before the end of the source: what is told of its size is what was read. What might still have
    /// become part of a secret is left out.
    pub fn stop(self) -> Result<Trimmed<'static>, TrimError> {
        let passing = match self.state {
            State::Held(held) => by_lines(&self.plan, &held),
            State::Passing(passing) => *passing,
        };
        passing.end(false).map(|trimmed| told(&self.plan, trimmed))
    }
}

/// Whether a strategy sees the text go by.
fn passes(strategy: &Strategy) -> bool {
    matches!(strategy, Strategy::FirstN | Strategy::LastN | Strategy::HeadTail | Strategy::Lines)
}

fn by_lines(plan: &Plan, held: &[u8]) -> Passing {
    let mut passing = Passing::new(Plan { strategy: Strategy::Lines, ..plan.clone() });
    passing.push(held);
    passing
}

/// Says why it is not the strategy that was asked for.
fn told<'t>(plan: &Plan, mut trimmed: Trimmed<'t>) -> Trimmed<'t> {
    if !passes(&plan.strategy) && trimmed.loss.strategy != "whole" {
        trimmed.loss.instead = Some("the source did not come as a whole of up to 64 MiB");
    }
    trimmed
}

/// Text that goes by.
#[derive(Debug)]
struct Passing {
    plan: Plan,
    source: Source,
    /// The first of the text and the last of it, each as much as could be kept.
    head: Piece<'static>,
    tail: Piece<'static>,
    most: usize,
    enough: bool,
    /// How much of the head is looked at next.
    want: usize,
    lines: Option<Lines>,
}

impl Passing {
    fn new(plan: Plan) -> Self {
        let by_lines = matches!(plan.strategy, Strategy::Lines);
        let lines = by_lines.then(|| Lines::new(plan.patterns.clone(), plan.budget));
        let stream = plan.redactor.as_ref().map(|redactor| redactor.stream(Format::Auto));
        let most = plan.first_look().max(plan.budget.saturating_mul(BYTES));
        Self {
            source: Source { stream, ..Source::default() },
            head: empty(0),
            tail: empty(0),
            most,
            enough: false,
            want: plan.first_look(),
            lines,
            plan,
        }
    }

    fn push(&mut self, piece: &[u8]) -> Need {
        self.source.push(piece);
        self.take();
        if self.enough { Need::Enough } else { Need::More }
    }

    fn take(&mut self) {
        let Source { out, swaps, .. } = &mut self.source;
        if let Some(lines) = &mut self.lines {
            lines.take(out, swaps);
        }
        let room = (self.most + 1).saturating_sub(self.head.len()).min(out.len());
        append(&mut self.head, &out[..room], swaps);
        if !matches!(self.plan.strategy, Strategy::FirstN) {
            append(&mut self.tail, out, swaps);
            if self.tail.len() > 2 * self.most {
                self.tail = last(std::mem::replace(&mut self.tail, empty(0)), self.most);
            }
        }
        self.source.taken();
        while matches!(self.plan.strategy, Strategy::FirstN) && !self.enough && self.head.len() > self.want {
            let look = &self.head.text[..self.want];
            self.enough =
                self.plan.counter.limit(look, self.plan.budget) < self.want || self.want >= self.most;
            self.want = self.want.saturating_mul(2).min(self.most);
        }
    }

    fn finish(mut self) -> Result<Trimmed<'static>, TrimError> {
        self.source.finish();
        self.take();
        self.end(true)
    }

    fn end(self, complete: bool) -> Result<Trimmed<'static>, TrimError> {
        let Self { plan, source, head, tail, most, lines, .. } = self;
        let held = Held { head, tail, total: source.place.text, most, size: source.size() };
        let which = match &plan.strategy {
            Strategy::FirstN => Ends::First,
            Strategy::LastN => Ends::Last,
            _ => Ends::Both,
        };
        let Some(lines) = lines else { return plan.ends(&held, which, complete) };
        let look = held.head(most);
        if look.whole
            && complete
            && let Some(tokens) = plan.fits(&look.piece.text)
        {
            return Ok(Plan::untouched(look, held.size, tokens));
        }
        let sorted = lines.finish();
        let fit = crate::fit::Fit { complete, ..plan.fit("lines", held.size) };
        let made = fit.run(lines::drafts(&sorted, held.size.lines, &*plan.counter, &lines::PLAIN))?;
        let swaps = sorted
            .ranked()
            .flat_map(|(_, line)| line.head.swaps.iter().chain(line.tail.iter().flat_map(|t| &t.swaps)));
        plan.or_ends(finish(made, swaps), &held, complete)
    }
}

fn empty(start: usize) -> Piece<'static> {
    Piece { text: Cow::Owned(vec![]), start, swaps: vec![] }
}

/// Adds text that follows a piece. `swaps` are where they stand in `text`, and further ones.
fn append(piece: &mut Piece<'static>, text: &[u8], swaps: &[Swap]) {
    let at = piece.len();
    let here = swaps.iter().take_while(|s| s.text.start < text.len());
    piece.swaps.extend(here.map(|s| Swap { text: s.text.start + at..s.text.end + at, ..s.clone() }));
    piece.text.to_mut().extend_from_slice(text);
}

/// The source, redacted as it arrives.
#[derive(Debug, Default)]
struct Source {
    stream: Option<Stream>,
    bytes: usize,
    rows: usize,
    open: bool,
    /// Where line breaks stand in the source that are not passed yet.
    breaks: VecDeque<usize>,
    /// How far the redacted text has been taken; in the source, the end of the last value that was replaced.
    place: Place,
    last: Place,
    /// What has come and was not taken, and the values replaced in it.
    out: Vec<u8>,
    swaps: Vec<Swap>,
}

impl Source {
    fn push(&mut self, piece: &[u8]) {
        for i in memchr::memchr_iter(b'\n', piece) {
            self.rows += 1;
            if self.stream.is_some() {
                self.breaks.push_back(self.bytes + i);
            }
        }
        self.bytes += piece.len();
        self.open = piece.last().map_or(self.open, |&b| b != b'\n');
        match &mut self.stream {
            Some(stream) => stream.feed(piece, &mut self.out),
            None => self.out.extend_from_slice(piece),
        }
        self.find();
    }

    fn finish(&mut self) {
        if let Some(stream) = &mut self.stream {
            stream.finish(&mut self.out);
        }
        self.find();
    }

    fn find(&mut self) {
        let Some(stream) = &mut self.stream else { return };
        for f in stream.take_findings() {
            while self.breaks.front().is_some_and(|&at| at < f.start) {
                self.breaks.pop_front();
            }
            let breaks = self.breaks.iter().take_while(|&&at| at < f.end).count();
            let mut swap = self.last.swap(&f, breaks);
            swap.text = swap.text.start - self.place.text..swap.text.end - self.place.text;
            self.swaps.push(swap);
        }
        let source = self.last.source + (self.place.text + self.out.len() - self.last.text);
        while self.breaks.front().is_some_and(|&at| at < source) {
            self.breaks.pop_front();
        }
    }

    fn taken(&mut self) {
        self.place.text += self.out.len();
        self.out.clear();
        self.swaps.clear();
    }

    fn size(&self) -> Size {
        Size { bytes: self.bytes, lines: self.rows + usize::from(self.open) }
    }
}

/// The ends that were held.
struct Held {
    head: Piece<'static>,
    tail: Piece<'static>,
    /// The length of the redacted text.
    total: usize,
    most: usize,
    size: Size,
}

impl Windows<'static> for Held {
    fn head(&self, want: usize) -> Look<'static> {
        let want = want.min(self.most);
        Look { piece: first(self.head.clone(), want), whole: self.total <= want }
    }

    fn tail(&self, want: usize) -> Look<'static> {
        let want = want.min(self.most);
        Look { piece: last(self.tail.clone(), want), whole: self.total <= want }
    }

    fn size(&self) -> Size {
        self.size
    }
}

/// Lines as they come.
#[derive(Debug)]
struct Lines {
    patterns: Patterns,
    sieve: Sieve<'static>,
    row: usize,
    /// The line that has not ended.
    head: Piece<'static>,
    tail: Option<Piece<'static>>,
    breaks: usize,
    /// Where in the source the next byte comes from.
    source: usize,
}

impl Lines {
    fn new(patterns: Patterns, budget: usize) -> Self {
        Self { patterns, sieve: Sieve::new(budget), row: 0, head: empty(0), tail: None, breaks: 0, source: 0 }
    }

    fn take(&mut self, text: &[u8], swaps: &[Swap]) {
        let mut start = 0;
        let mut swap = 0;
        while start < text.len() {
            let end = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |i| start + i + 1);
            let inside = swaps[swap..].iter().take_while(|s| s.text.start < end).count();
            let here: Vec<Swap> = swaps[swap..swap + inside]
                .iter()
                .map(|s| Swap { text: s.text.start - start..s.text.end - start, ..s.clone() })
                .collect();
            swap += inside;
            self.part(&text[start..end], &here);
            start = end;
        }
    }

    /// Takes a part of a line, up to its end or to the end of what has come.
    fn part(&mut self, text: &[u8], swaps: &[Swap]) {
        self.breaks += swaps.iter().map(|s| s.breaks).sum::<usize>();
        if let Some(tail) = &mut self.tail {
            append(tail, text, swaps);
        } else {
            append(&mut self.head, text, swaps);
        }
        self.source = match swaps.last() {
            Some(s) => s.source.end + (text.len() - s.text.end),
            None => self.source + text.len(),
        };
        if self.tail.is_none() && self.head.len() > 2 * LONG {
            self.tail = Some(self.head.clone());
            self.head = first(std::mem::replace(&mut self.head, empty(0)), LONG);
        }
        if let Some(tail) = self.tail.take() {
            self.tail = Some(if tail.len() > 2 * LONG { last(tail, LONG) } else { tail });
        }
        if text.last() == Some(&b'\n') {
            self.line();
        }
    }

    fn line(&mut self) {
        let head = std::mem::replace(&mut self.head, empty(self.source));
        let lines = 1 + std::mem::take(&mut self.breaks);
        let line = match self.tail.take() {
            None => {
                let all = lines::line(&head, 0..head.len(), self.row, lines);
                let tail = all.tail.map(|tail| Box::new(tail.into_owned()));
                Line { row: self.row, lines, head: all.head.into_owned(), tail, kind: 0 }
            }
            Some(tail) => {
                let first = head.slice(0..head.cut_before(LONG / 2)).into_owned();
                let from = tail.cut_after(tail.len() - LONG / 2);
                let tail = Some(Box::new(tail.slice(from..tail.len()).into_owned()));
                Line { row: self.row, lines, head: first, tail, kind: 0 }
            }
        };
        self.row += lines;
        let sign = lines::sign(&self.patterns, &line, signs::sign(&line.head.text));
        self.sieve.put(line, sign);
    }

    fn finish(mut self) -> crate::sieve::Sorted<'static> {
        if self.head.len() > 0 {
            self.line();
        }
        self.sieve.finish()
    }
}
