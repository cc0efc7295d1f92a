//! Diffs: headers of files and of hunks, then what changed, then what stands around it.

use crate::error::TrimError;
use crate::fit::Made;
use crate::lines::{self, PLAIN, Style};
use crate::plan::Source;
use crate::sieve::{Line, Sieve};
use crate::signs::Tier;

/// Where in a diff a line stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Place {
    /// Lines of the hunk that are to come, of the old file and of the new one.
    old: usize,
    new: usize,
}

impl Place {
    /// The tier of the next line.
    fn tier(&mut self, line: &[u8]) -> Tier {
        if self.old + self.new > 0 {
            match line.first() {
                Some(b'+') => {
                    self.new = self.new.saturating_sub(1);
                    return Tier::Error;
                }
                Some(b'-') => {
                    self.old = self.old.saturating_sub(1);
                    return Tier::Error;
                }
                Some(b'\\') => return Tier::Plain,
                Some(b' ' | b'\n' | b'\r') | None => {
                    (self.old, self.new) = (self.old.saturating_sub(1), self.new.saturating_sub(1));
                    return Tier::Plain;
                }
                // The hunk is not what its header says.
                Some(_) => *self = Self::default(),
            }
        }
        if let Some((old, new)) = hunk(line) {
            *self = Self { old, new };
            return Tier::Outcome;
        }
        let header = [
            &b"diff "[..],
            b"--- ",
            b"+++ ",
            b"rename ",
            b"new file",
            b"deleted file",
            b"Binary files",
            b"Index: ",
            b"Only in ",
        ];
        if header.iter().any(|h| line.starts_with(h)) { Tier::Asked } else { Tier::Near }
    }
}

/// How many lines a hunk has, by its header: `@@ -1,7 +1,8 @@`.
fn hunk(line: &[u8]) -> Option<(usize, usize)> {
    let rest = std::str::from_utf8(&line[..line.len().min(80)]).ok()?.strip_prefix("@@ -")?;
    let (old, rest) = rest.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let length = |range: &str| match range.split_once(',') {
        Some((_, length)) => length.parse().ok(),
        None => range.parse::<usize>().ok().map(|_| 1),
    };
    Some((length(old)?, length(new)?))
}

/// Whether a text is a diff: a hunk with the header of its file before it, among the first lines.
fn is_diff(text: &[u8]) -> bool {
    let end = memchr::memchr_iter(b'\n', text).nth(200).unwrap_or(text.len());
    if memchr::memmem::find(&text[..end], b"+++ ").is_none() {
        return false;
    }
    let mut lines = text[..end].split(|&b| b == b'\n');
    let mut before: &[u8] = b"";
    lines.any(|line| {
        let found = before.starts_with(b"+++ ") && hunk(line).is_some();
        before = line;
        found
    })
}

/// Trims a diff; `None` if it is none.
pub(crate) fn trim(source: &Source<'_>) -> Option<Result<Made, TrimError>> {
    let piece = source.piece();
    if !is_diff(&piece.text) {
        return None;
    }
    let mut sieve = Sieve::new(source.plan.budget);
    let mut place = Place::default();
    lines::each(piece, |_, line: Line<'_>| {
        let mut tier = place.tier(&line.head.text);
        if source.plan.patterns.asks_for(line.head.text.trim_ascii_end()) {
            tier = Tier::Asked;
        }
        sieve.shelve(tier, line);
    });
    let sorted = sieve.finish();
    let style = Style { fold: false, ..PLAIN };
    let rows = source.size.lines;
    Some(source.fit("diff").run(lines::drafts(&sorted, rows, &*source.plan.counter, &style)))
}
