//! What callers hold: a strategy, a budget, a counter, a redactor.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use ctxproto_redact::Redactor;

use crate::count::Count;
use crate::ends::{self, Ends};
use crate::error::TrimError;
use crate::fit::{Draft, Fit, Made};
use crate::lines::{self, Patterns};
use crate::loss::{Loss, Size};
use crate::piece::{Piece, Swap};
use crate::strategy::Strategy;
use crate::stream::Trimmer;
use crate::view::{Look, View, Windows};
use crate::{diff, fields, json, summary, table};

/// How text is to be trimmed. Immutable, shared by threads.
#[derive(Clone)]
pub struct Plan {
    /// How.
    pub strategy: Strategy,
    /// The most tokens that a result may take, marker included.
    pub budget: usize,
    /// What is kept before anything else, where lines, rows or values are chosen.
    pub patterns: Patterns,
    /// What the marker says about getting the rest, such as a command that exists.
    pub hint: Option<String>,
    /// Counts tokens.
    pub counter: Arc<dyn Count>,
    /// Redacts before anything is cut.
    pub redactor: Option<Arc<Redactor>>,
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Plan({}, {} tokens)", self.strategy.name(), self.budget)
    }
}

/// A text within its budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trimmed<'t> {
    /// The text; borrowed when nothing was left out and nothing replaced.
    pub text: Cow<'t, [u8]>,
    /// What was lost.
    pub loss: Loss,
    /// The values that were replaced in what was kept.
    pub replaced: Vec<Replaced>,
}

impl Trimmed<'_> {
    pub(crate) fn into_owned(self) -> Trimmed<'static> {
        Trimmed { text: Cow::Owned(self.text.into_owned()), loss: self.loss, replaced: self.replaced }
    }
}

/// A value that a placeholder stands for: where it stood, never what it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// Index into the rules of the redactor's detector.
    pub rule: u16,
    /// First byte in the source.
    pub start: usize,
    /// One past the last byte in the source.
    pub end: usize,
    /// Keyed HMAC of the value.
    pub fingerprint: [u8; 8],
}

impl From<&Swap> for Replaced {
    fn from(s: &Swap) -> Self {
        Self { rule: s.rule, start: s.source.start, end: s.source.end, fingerprint: s.fingerprint }
    }
}

/// Tokens are seldom longer on the average: as much is looked at first.
const GUESS: usize = 6;
/// And this much more, for budgets of a few tokens.
const LEAST: usize = 1024;

impl Plan {
    /// A plan without patterns, a hint and a redactor.
    pub fn new(strategy: Strategy, budget: usize, counter: Arc<dyn Count>) -> Self {
        Self { strategy, budget, patterns: Patterns::default(), hint: None, counter, redactor: None }
    }

    /// Redacts `text` and makes it fit. The same bytes as redacting all of it and then trimming, for the work of what
    /// is kept where the strategy is `first_n`, `last_n` or `head_tail`.
    pub fn trim<'t>(&self, text: &'t [u8]) -> Result<Trimmed<'t>, TrimError> {
        let view = View { raw: text, redactor: self.redactor.as_deref() };
        match &self.strategy {
            Strategy::FirstN => self.ends(&view, Ends::First, true),
            Strategy::LastN => self.ends(&view, Ends::Last, true),
            Strategy::HeadTail => self.ends(&view, Ends::Both, true),
            _ => self.whole(view),
        }
    }

    /// The form for text that arrives in pieces.
    pub fn stream(&self) -> Trimmer {
        Trimmer::new(self.clone())
    }

    pub(crate) fn fit(&self, strategy: &'static str, source: Size) -> Fit<'_> {
        Fit {
            strategy,
            budget: self.budget,
            hint: self.hint.as_deref(),
            counter: &*self.counter,
            source,
            complete: true,
        }
    }

    /// Whether all of a text fits; what it counts if it does.
    pub(crate) fn fits(&self, text: &[u8]) -> Option<usize> {
        let near = text.len() <= self.first_look() || !self.counter.exceeds(text, self.budget);
        near.then(|| self.counter.count(text)).filter(|&tokens| tokens <= self.budget)
    }

    pub(crate) fn first_look(&self) -> usize {
        self.budget.saturating_mul(GUESS).saturating_add(LEAST)
    }

    /// The text as it is, but for what was redacted.
    pub(crate) fn untouched(look: Look<'_>, raw: Size, tokens: usize) -> Trimmed<'_> {
        let mut loss = Loss::new("whole", raw, std::slice::from_ref(&(0..raw.bytes)), raw.lines, None);
        loss.count(tokens, look.piece.len());
        let replaced = look.piece.swaps.iter().map(Replaced::from).collect();
        Trimmed { text: look.piece.text, loss, replaced }
    }

    /// Keeps the ends of a text; it is not `complete` where reading stopped before its end.
    pub(crate) fn ends<'t>(
        &self,
        windows: &impl Windows<'t>,
        which: Ends,
        complete: bool,
    ) -> Result<Trimmed<'t>, TrimError> {
        let counter = &*self.counter;
        let size = windows.size();
        let mut want = self.first_look();
        let head = loop {
            let look = windows.head(want);
            if look.whole && complete {
                if let Some(tokens) = self.fits(&look.piece.text) {
                    return Ok(Self::untouched(look, size, tokens));
                }
                break look.piece;
            }
            if look.piece.len() < want || counter.limit(&look.piece.text, self.budget) < want {
                break look.piece;
            }
            want = want.saturating_mul(2);
        };
        let mut want = self.first_look();
        let tail = loop {
            if which == Ends::First {
                break Piece { text: Cow::Borrowed(&[]), start: size.bytes, swaps: vec![] };
            }
            let look = windows.tail(want);
            if look.piece.len() < want || counter.limit_back(&look.piece.text, self.budget) > 0 {
                break look.piece;
            }
            want = want.saturating_mul(2);
        };
        let fit = Fit { complete, ..self.fit(self.strategy.name(), size) };
        let made =
            fit.run(|room| draft_ends(which, &head, &tail, room, complete.then_some(size.lines), counter))?;
        Ok(finish(made, head.swaps.iter().chain(&tail.swaps)))
    }

    /// The lines that were kept; where not one fits, the ends of the text: better parts of a line than none.
    pub(crate) fn or_ends<'t>(
        &self,
        lines: Trimmed<'t>,
        windows: &impl Windows<'t>,
        complete: bool,
    ) -> Result<Trimmed<'t>, TrimError> {
        if lines.loss.kept.bytes > 0 || lines.loss.strategy != "lines" || lines.loss.source.bytes == 0 {
            return Ok(lines);
        }
        let mut ends = self.ends(windows, Ends::Both, complete)?;
        ends.loss.strategy = "head_tail";
        ends.loss.instead = Some("no line fits");
        Ok(ends)
    }

    /// Strategies that must see all of the text.
    fn whole<'t>(&self, view: View<'t, '_>) -> Result<Trimmed<'t>, TrimError> {
        let raw = Size::of(view.raw);
        let look = view.all();
        if !matches!(self.strategy, Strategy::FieldWhitelist(_) | Strategy::Summary)
            && let Some(tokens) = self.fits(&look.piece.text)
        {
            return Ok(Self::untouched(look, raw, tokens));
        }
        let source = Source { plan: self, view, look: &look, size: raw };
        let made = match &self.strategy {
            Strategy::Auto => auto(&source),
            Strategy::Lines => source.lines(),
            Strategy::Json => source.or_lines(json::trim(&source), "the text is no JSON"),
            Strategy::Table => source.or_lines(table::trim(&source), "the text is no table"),
            Strategy::Diff => source.or_lines(diff::trim(&source), "the text is no diff"),
            Strategy::FieldWhitelist(wanted) => match fields::trim(&source, wanted) {
                Some(Ok(fields::Chosen::All)) => match self.fits(&look.piece.text) {
                    Some(tokens) => return Ok(Self::untouched(look, raw, tokens)),
                    None => source.or_lines(json::trim(&source), ""),
                },
                Some(Ok(fields::Chosen::Some(made))) => Ok(*made),
                Some(Err(error)) => Err(error),
                None => match self.fits(&look.piece.text) {
                    Some(tokens) => {
                        let mut same = Self::untouched(look, raw, tokens);
                        same.loss.instead = Some(fields::NO_JSON);
                        return Ok(same);
                    }
                    None => source.or_lines(None, fields::NO_JSON),
                },
            },
            Strategy::Summary => {
                let Some(made) = summary::trim(&source)? else {
                    let tokens = self.counter.count(&look.piece.text);
                    return Ok(Self::untouched(look, raw, tokens));
                };
                Ok(made)
            }
            Strategy::FirstN | Strategy::LastN | Strategy::HeadTail => unreachable!("see trim"),
        }?;
        self.or_ends(finish(made, &look.piece.swaps), &view, true)
    }
}

/// The ends of a text of so many `rows`, drafted for `room`; without them, its beginning, and nobody knows what follows.
pub(crate) fn draft_ends(
    which: Ends,
    head: &Piece<'_>,
    tail: &Piece<'_>,
    room: usize,
    rows: Option<usize>,
    counter: &dyn Count,
) -> Draft {
    // Room for the mark at the cut.
    let room = room.saturating_sub(counter.count(b"[100000 lines cut]\n"));
    let cut = which.cut(head, tail, room, counter);
    let kept = ends::kept(head, tail, cut);
    let lines = head.lines(0..cut.head) + tail.lines(cut.tail..tail.len());
    let lines = lines.min(rows.unwrap_or(lines));
    let mut body = vec![];
    match rows {
        Some(rows) => ends::write(head, tail, cut, rows - lines, &mut body),
        None if cut.head == 0 => {}
        None => body.extend_from_slice(&[&head.text[..cut.head], b"[cut here]"].concat()),
    }
    Draft { body, kept: kept.to_vec(), lines, ..Draft::default() }
}

/// A result, and those of the replaced values that it holds.
pub(crate) fn finish<'t, 's>(
    (text, loss, draft): Made,
    swaps: impl IntoIterator<Item = &'s Swap>,
) -> Trimmed<'t> {
    let kept = |s: &&Swap| {
        let next = draft.kept.partition_point(|k| k.end <= s.source.start);
        draft.kept.get(next).is_some_and(|k| k.start <= s.source.start)
    };
    let mut replaced: Vec<Replaced> = swaps.into_iter().filter(kept).map(Replaced::from).collect();
    replaced.sort_unstable_by_key(|r| r.start);
    replaced.dedup();
    Trimmed { text: Cow::Owned(text), loss, replaced }
}

/// A text that does not fit, for strategies that see all of it.
pub(crate) struct Source<'s> {
    pub(crate) plan: &'s Plan,
    pub(crate) view: View<'s, 's>,
    pub(crate) look: &'s Look<'s>,
    pub(crate) size: Size,
}

impl Source<'_> {
    pub(crate) fn piece(&self) -> &Piece<'_> {
        &self.look.piece
    }

    pub(crate) fn fit(&self, strategy: &'static str) -> Fit<'_> {
        self.plan.fit(strategy, self.size)
    }

    fn lines(&self) -> Result<Made, TrimError> {
        let sorted = lines::sorted(self.piece(), &self.plan.patterns, self.plan.budget);
        self.fit("lines").run(lines::drafts(&sorted, self.size.lines, &*self.plan.counter, &lines::PLAIN))
    }

    /// What another strategy made, or lines where it is not for this text.
    fn or_lines(&self, made: Option<Result<Made, TrimError>>, why: &'static str) -> Result<Made, TrimError> {
        made.unwrap_or_else(|| {
            let mut made = self.lines()?;
            made.1.instead = Some(why);
            Ok(made)
        })
    }
}

/// The strategy that suits the text: the first that finds what it is for.
fn auto(source: &Source<'_>) -> Result<Made, TrimError> {
    json::trim(source)
        .or_else(|| diff::trim(source))
        .or_else(|| table::trim(source))
        .unwrap_or_else(|| source.lines())
}
