//! The one way in which anything is made to fit: draft, count the whole with its marker, draft again with less room.

use std::fmt::Write;
use std::ops::Range;

use crate::count::Count;
use crate::error::TrimError;
use crate::loss::{Loss, Size, Units};

/// What a strategy makes of the source for a given room.
#[derive(Clone, Debug, Default)]
pub(crate) struct Draft {
    pub(crate) body: Vec<u8>,
    /// What of the source it holds, in order.
    pub(crate) kept: Vec<Range<usize>>,
    /// How many of the source's lines have a part in it.
    pub(crate) lines: usize,
    pub(crate) units: Option<Units>,
    pub(crate) place: Place,
}

/// Where the marker goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// On a line above.
    #[default]
    Above,
    /// In the body at this offset, as the first member of an object.
    Member { at: usize, empty: bool },
    /// In the body at this offset, as the first item of an array.
    Item { at: usize, empty: bool },
    /// In the body at this offset, inside a JSON string.
    Inside { at: usize },
    /// Above, as a line of JSON.
    JsonLine,
}

impl Draft {
    fn render(&self, marker: &str) -> Vec<u8> {
        let quoted = || json_string(marker);
        let comma = |empty: bool| if empty { "" } else { "," };
        let (at, marker) = match self.place {
            Place::Above => (0, format!("{marker}\n")),
            Place::Member { at, empty } => (at, format!("\"[trimmed]\":{}{}", quoted(), comma(empty))),
            Place::Item { at, empty } => (at, format!("{}{}", quoted(), comma(empty))),
            Place::Inside { at } => {
                let quoted = quoted();
                (at, quoted[1..quoted.len() - 1].to_owned())
            }
            Place::JsonLine => (0, format!("{}\n", quoted())),
        };
        [&self.body[..at], marker.as_bytes(), &self.body[at..]].concat()
    }
}

/// `text` as a string of JSON.
pub(crate) fn json_string(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// What the marker takes at most, in bytes beside the hint; its tokens are counted.
const MARKER: &str = "[trimmed: 1000 of 100000 lines, 10000 of 1000000 bytes kept]\n";
/// How often a draft that is over is made smaller by what it is over, before its room is halved.
const STEPS: usize = 4;

/// A result, its loss, and the draft it was made from.
pub(crate) type Made = (Vec<u8>, Loss, Draft);

/// The target, and how the result is counted.
pub(crate) struct Fit<'p> {
    pub(crate) strategy: &'static str,
    pub(crate) budget: usize,
    pub(crate) hint: Option<&'p str>,
    pub(crate) counter: &'p dyn Count,
    pub(crate) source: Size,
    pub(crate) complete: bool,
}

impl Fit<'_> {
    /// The largest draft that was found to fit, with its marker.
    pub(crate) fn run(&self, mut draft: impl FnMut(usize) -> Draft) -> Result<Made, TrimError> {
        let hint = self.hint.map_or(0, |hint| self.counter.count(hint.as_bytes()) + 1);
        let mut room = self.budget.saturating_sub(self.counter.count(MARKER.as_bytes()) + hint);
        let mut best: Option<Made> = None;
        for step in 0.. {
            let made = self.make(draft(room));
            let tokens = made.1.tokens;
            // A draft that keeps everything cannot be what was asked for: the source does not fit.
            if tokens <= self.budget && (made.1.dropped.bytes > 0 || !self.complete) {
                let left = self.budget - tokens;
                let better = best.as_ref().is_none_or(|b| b.1.tokens < tokens);
                if better {
                    best = Some(made);
                }
                // Much is left when what was drafted was thought to take more than it does: one more try.
                if step > 0 || left <= self.budget / 10 {
                    break;
                }
                room += left - left / 8;
                continue;
            }
            if best.is_some() {
                break;
            }
            if room == 0 {
                return Err(TrimError::TooSmall { budget: self.budget, needed: tokens.max(self.budget + 1) });
            }
            let over = tokens.saturating_sub(self.budget).max(1);
            room = if step < STEPS { room.saturating_sub(over) } else { room / 2 };
        }
        Ok(best.expect("the loop ends with one or returns"))
    }

    /// A draft without a marker, if it fits.
    pub(crate) fn plain(&self, draft: Draft) -> Option<Made> {
        let mut loss = Loss::new(self.strategy, self.source, &draft.kept, draft.lines, draft.units);
        loss.count(self.counter.count(&draft.body), draft.body.len());
        (loss.tokens <= self.budget).then(|| (draft.body.clone(), loss, draft))
    }

    fn make(&self, draft: Draft) -> Made {
        let mut loss = Loss::new(self.strategy, self.source, &draft.kept, draft.lines, draft.units);
        loss.complete = self.complete;
        let text = draft.render(&loss.marker(self.hint));
        loss.count(self.counter.count(&text), text.len());
        (text, loss, draft)
    }
}
