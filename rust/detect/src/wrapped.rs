//! Tokens that a line break cut into pieces: a wrapped line, a `\n` of JSON, two literals of a program.

use crate::class::{ByteSet, SPACE, TOKEN};
use crate::engine::Scan;
use crate::index::RUN;
use crate::random;
use crate::token::{accepts, escape_len};
use crate::window::{Look, Window};

/// What a wrapped token may be made of, piece by piece.
const VISIBLE: ByteSet = TOKEN.or(ByteSet::of(b"+/=.~:$!@"));
/// Pieces of a wrapped token, and bytes in all.
const PIECES: usize = 12;
const JOINED: usize = 2048;

impl Scan<'_, '_> {
    /// A token that a line break, or a `\n` of JSON, cut into pieces.
    #[inline(never)]
    pub(crate) fn wrapped(&mut self, start: usize, escaped: usize, end: usize, found: bool) -> Look<()> {
        let window = self.window;
        let engine = self.engine;
        // Its beginning may be the short run that ends the line before.
        if !found && let Some(left) = left_piece(window, start) {
            let run = left + TOKEN.run(&window.text[left..start]);
            if engine.index.may_begin(&window.text[left..run]) {
                self.joined(left, 0)?;
            }
        }
        if !matches!(window.at(end)?, Some(b'\n' | b'\r' | b'\\' | b'.' | b'=' | b'/' | b'+' | b'"' | b'\''))
        {
            return Ok(());
        }
        for at in [start, escaped] {
            if engine.index.inside(window.text, at).next().is_some() {
                let matched = self.out.last().filter(|c| found && c.start == at).map_or(0, |c| c.end - at);
                self.joined(at, matched)?;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Joins the pieces of a token that begins at `start` until a rule is content; `matched` bytes already are a token.
    #[inline(never)]
    fn joined(&mut self, start: usize, matched: usize) -> Look<()> {
        let window = self.window;
        let mut text: Vec<u8> = vec![];
        // For each piece: its beginning in the joined text and in the source.
        let mut map: Vec<(usize, usize)> = vec![];
        let mut at = start;
        for piece in 0..PIECES {
            let end = window.run(at, &VISIBLE, JOINED)?;
            map.push((text.len(), at));
            text.extend_from_slice(&window.text[at..end]);
            let next = after_break(window, end)?;
            if piece > 0 && text.len() > matched {
                for (n, _) in self.engine.index.inside(&text, 0) {
                    let rule = &self.engine.index.rules[usize::from(n)];
                    let whole = Window::whole(&text);
                    let Ok(Some(hit)) = rule.shape.matches(whole, 0, false) else { continue };
                    let (from, source) = map[map.len() - 1];
                    // All of the last piece, and a piece that is no word of its own.
                    let fits = hit.end > from && accepts(rule, &text, &hit);
                    let certain = matched == 0;
                    if fits && (certain || continues(&text[from..hit.end])) {
                        let end = source + (hit.end - from);
                        let public = if hit.secret.0 == 0 { hit.body } else { 0 };
                        let begin = map
                            .iter()
                            .rev()
                            .find(|m| m.0 <= hit.secret.0)
                            .map_or(start, |m| m.1 + hit.secret.0 - m.0);
                        self.push(rule.rule, rule.rank, begin, end, public.min(map[1].0));
                        if matched == 0 {
                            return Ok(());
                        }
                    }
                }
            }
            match next {
                Some(next) if text.len() < JOINED => at = next,
                _ => break,
            }
        }
        Ok(())
    }
}

/// Whether a piece on the next line goes on with the token rather than with the text: not a plain word.
fn continues(piece: &[u8]) -> bool {
    piece.len() >= 8 && random::is_random(piece)
}

/// Where a token goes on after a line break at `end`: the break itself or its escaped form, and indentation.
fn after_break(window: Window<'_>, end: usize) -> Look<Option<usize>> {
    let mut at = end;
    while window.at(at)? == Some(b'\\') {
        at += 1;
    }
    let slashes = at - end;
    let broke = match window.at(at)? {
        Some(b'\n') => 1,
        Some(b'"' | b'\'') if slashes == 0 => return between_literals(window, at),
        Some(b'\r') if window.at(at + 1)? == Some(b'\n') => 2,
        Some(b'n') if slashes > 0 => 1,
        Some(b'r') if slashes > 0 => {
            let next = window.run(at + 1, &ByteSet::of(b"\\"), 4)?;
            if next > at + 1 && window.at(next)? == Some(b'n') { next + 1 - at } else { return Ok(None) }
        }
        _ => return Ok(None),
    };
    // Indentation, and the signs of quoted mail and of comments.
    let next = window.run(at + broke, &ByteSet::of(b" \t>#|*"), 64)?;
    Ok(window.at(next)?.filter(|&b| VISIBLE.has(b)).map(|_| next))
}

/// Where a string goes on in the next literal: `"abc" "def"`, `'abc' + 'def'`, on one line or two.
fn between_literals(window: Window<'_>, quote: usize) -> Look<Option<usize>> {
    let next = window.run(quote + 1, &SPACE.or(ByteSet::of(b"+.\\")), 64)?;
    let joined = next > quote + 1 && window.at(next)? == Some(window.text[quote]);
    Ok((joined && window.at(next + 1)?.is_some_and(|b| VISIBLE.has(b))).then_some(next + 1))
}

/// The short run that ends the line before the run at `start`, if nothing else stands between.
fn left_piece(window: Window<'_>, start: usize) -> Option<usize> {
    let text = window.text;
    let mut end = start - ByteSet::of(b" \t").run_back(window.back(start, 64));
    match window.before(end)? {
        b'\n' => {
            end -= 1;
            if window.before(end) == Some(b'\r') {
                end -= 1;
            }
        }
        // The run's own first letter is the `n` of an escaped break.
        b'\\' if text.get(start) == Some(&b'n') => {}
        _ => return None,
    }
    left_end(window, end)
}

/// The short run that ends at a line break at `end`.
fn left_end(window: Window<'_>, end: usize) -> Option<usize> {
    let end = end - ByteSet::of(b"\\").run_back(window.back(end, 4));
    let len = TOKEN.run_back(window.back(end, RUN));
    (4..RUN).contains(&len).then(|| {
        let left = end - len;
        left + escape_len(window, left)
    })
}

/// The short run, from where to where, that may be the first piece of a token which goes on at `at`.
pub(crate) fn open_piece(window: Window<'_>, at: usize) -> Option<(usize, usize)> {
    let blank = ByteSet::of(b" \t").run_back(window.back(at, 64));
    let mut end = at - blank;
    if window.before(end)? != b'\n' {
        return None;
    }
    end -= 1;
    if window.before(end) == Some(b'\r') {
        end -= 1;
    }
    left_end(window, end).map(|left| (left, end))
}
