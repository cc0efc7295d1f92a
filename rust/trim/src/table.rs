//! Tables: the header stays, rows are sampled from both ends, those that are odd come first.

use std::ops::Range;

use crate::error::TrimError;
use crate::fit::Made;
use crate::lines::{self, Style};
use crate::loss::{Units, lines_in};
use crate::piece::Piece;
use crate::plan::Source;
use crate::sieve::Sieve;
use crate::signs::{self, Tier};

/// How cells are set apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// RFC 4180 with this separator; quotes may hold line breaks.
    Separated(u8),
    /// `| a | b |`, with a line of dashes under the header.
    Markdown,
}

/// How many rows tell whether a text is a table.
const PROBE: usize = 32;
/// A record with a quote that is not closed ends here.
const RECORD: usize = 64 * 1024;

impl Form {
    fn of(text: &[u8]) -> Option<Self> {
        let mut lines = text.split(|&b| b == b'\n');
        let first = lines.next()?;
        let second = lines.next()?.trim_ascii();
        let rule = |b: &u8| matches!(b, b'|' | b'-' | b':' | b' ');
        if first.contains(&b'|')
            && second.contains(&b'|')
            && second.contains(&b'-')
            && second.iter().all(rule)
        {
            return Some(Self::Markdown);
        }
        [b'\t', b',', b';', b'|'].into_iter().map(Self::Separated).find(|form| {
            let header = form.records(text).next();
            if header.is_none_or(|h| form.columns(&text[h.clone()]) < 2 || !form.names(&text[h])) {
                return false;
            }
            let records: Vec<_> = form.records(text).take(PROBE + 1).collect();
            // The last one may be cut short, or a blank line.
            let full = &records[..records.len() - usize::from(records.len() > 3)];
            let columns = form.columns(&text[full[0].clone()]);
            let alike = full.iter().filter(|r| form.columns(&text[(**r).clone()]) == columns).count();
            full.len() >= 3 && alike * 10 >= full.len() * 9
        })
    }

    /// The records of a text, with their line breaks.
    fn records(self, text: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut at = 0;
        std::iter::from_fn(move || {
            if at == text.len() {
                return None;
            }
            let line =
                |from: usize| memchr::memchr(b'\n', &text[from..]).map_or(text.len(), |i| from + i + 1);
            let start = at;
            at = line(start);
            if let Self::Separated(_) = self {
                let limit = text.len().min(start + RECORD);
                let mut end = at;
                let mut quotes = count(b'"', &text[start..end]);
                while quotes % 2 == 1 && end < limit {
                    let more = line(end);
                    quotes += count(b'"', &text[end..more]);
                    end = more;
                }
                if quotes.is_multiple_of(2) {
                    at = end;
                }
            }
            Some(start..at)
        })
    }

    /// Whether a record may be a header: its cells are short, and the first is no number or date. Logs often have the
    /// same few commas in every line.
    fn names(self, record: &[u8]) -> bool {
        let Self::Separated(separator) = self else { return true };
        let first = record.iter().find(|b| !matches!(b, b'"' | b' '));
        first.is_none_or(|b| !b.is_ascii_digit())
            && record.split(|&b| b == separator).all(|cell| cell.len() <= 64)
    }

    fn columns(self, record: &[u8]) -> usize {
        let separator = if let Self::Separated(b) = self { b } else { b'|' };
        let mut quoted = false;
        let cuts = record.iter().filter(|&&b| {
            quoted ^= b == b'"' && self != Self::Markdown;
            b == separator && !quoted
        });
        cuts.count() + 1
    }
}

fn count(byte: u8, text: &[u8]) -> usize {
    memchr::memchr_iter(byte, text).count()
}

/// Trims a table; `None` if it is none.
pub(crate) fn trim(source: &Source<'_>) -> Option<Result<Made, TrimError>> {
    let piece: &Piece<'_> = source.piece();
    let text = &piece.text;
    let form = Form::of(text)?;
    let header = if form == Form::Markdown { 2 } else { 1 };
    let mut sieve = Sieve::new(source.plan.budget);
    let mut columns = 0;
    let mut rows = 0;
    for range in form.records(text) {
        let record = &text[range.clone()];
        let blank = record.trim_ascii().is_empty();
        if rows == 0 {
            columns = form.columns(record);
        }
        let asked = source.plan.patterns.asks_for(record.trim_ascii_end());
        let tier = if rows < header || asked {
            Tier::Asked
        } else if blank {
            Tier::Blank
        } else if form.columns(record) != columns || signs::sign(record) == Some(Tier::Error) {
            Tier::Error
        } else {
            Tier::Plain
        };
        // Rows are counted here, not lines.
        sieve.shelve(tier, lines::line(piece, range, rows, 1));
        rows += 1;
    }
    let sorted = sieve.finish();
    let style = Style { mark: |rows| format!("[{rows} rows cut]\n"), fold: false };
    let mut drafts = lines::drafts(&sorted, rows, &*source.plan.counter, &style);
    Some(source.fit("table").run(|room| {
        let mut draft = drafts(room);
        let kept = draft.lines.saturating_sub(header);
        draft.units = Some(Units { name: "rows", kept, total: rows - header });
        draft.lines = lines_in(source.view.raw, &draft.kept);
        draft
    }))
}
