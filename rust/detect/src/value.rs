//! Where a value begins and ends: in quotes of any kind, in a tag, or bare.

use crate::assign::{BLANK, NAME, NAME_MAX, QUOTES, VALUE_MAX, not};
use crate::class::{ALNUM, ByteSet, SPACE, TOKEN};
use crate::decoy;
use crate::engine::Scan;
use crate::keys;
use crate::sign::Sign;
use crate::window::Look;

/// A value, without its quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) quoted: bool,
}

impl Scan<'_, '_> {
    /// Reads the value that begins at `at`.
    pub(crate) fn value(&mut self, sign: Sign, at: usize) -> Look<Option<Value>> {
        let window = self.window;
        let mut at = window.run(at, &BLANK, 64)?;
        // The dump of a switch: `password 7 0822455D0A16`.
        if sign == Sign::Blank
            && window.at(at)?.is_some_and(|b| b.is_ascii_digit())
            && window.at(at + 1)? == Some(b' ')
        {
            at += 2;
        }
        if sign == Sign::Assign {
            at = self.decorated(at)?;
        }
        if sign == Sign::Tag {
            let line = at;
            at = window.run(at, &SPACE, 64)?;
            // <Password><Value>x</Value>
            if window.starts_with_any_case(at, b"<value>")? {
                at += 7;
            }
            if window.starts_with(at, b"<![CDATA[")? {
                at += 9;
                let end = window.run(at, &not(b"]\n"), VALUE_MAX)?;
                return Ok((end > at).then_some(Value { start: at, end, quoted: true }));
            }
            // On the next line only between tags.
            if window.text[line..at].contains(&b'\n') {
                let end = window.run(window.run(at, &not(b"<\n"), VALUE_MAX)?, &SPACE, 64)?;
                if !window.starts_with(end, b"</")? {
                    return Ok(None);
                }
            }
        }
        // Marks before a string: b"", r'', @"", $"", new String("
        let prefix = window.run(at, &ByteSet::of(b"bBrRfFuULNs@$&"), 3)?;
        let opening = window.run(prefix, &ByteSet::of(b"\\"), 8)?;
        let (escapes, open) = match window.at(opening)? {
            Some(q) if QUOTES.has(q) => (opening - prefix, Some((opening, q))),
            _ => (0, None),
        };
        if let Some((open, quote)) = open {
            let value = self.quoted(open, quote, escapes)?;
            return Ok(value.filter(|v| !self.closes(open, quote, v.start)));
        }
        if window.starts_with(at, b"&quot;")? {
            let start = at + 6;
            let mut end = start;
            while end - start < VALUE_MAX && !window.starts_with(end, b"&quot;")? {
                match window.at(end)? {
                    None | Some(b'\n' | b'<') => break,
                    Some(_) => end += 1,
                }
            }
            return Ok((end > start).then_some(Value { start, end, quoted: true }));
        }
        if matches!(sign, Sign::Pair | Sign::Compare) {
            return Ok(None);
        }
        if sign == Sign::Tag {
            let end = window.run(at, &not(b"<\n"), VALUE_MAX)?;
            // A word in brackets is no element where nothing closes it: `-p <password> host`.
            if window.at(end)? != Some(b'<') && !self.begins_line(at) {
                return Ok(None);
            }
            let end = end - ByteSet::of(b" \t\r").run_back(&window.text[at..end]);
            return Ok((end > at).then_some(Value { start: at, end, quoted: true }));
        }
        self.bare(at)
    }

    /// Whether the tag that ends before `at` begins its line or follows another one.
    fn begins_line(&self, at: usize) -> bool {
        let before = self.window.back(at, 192);
        let Some(open) = memchr::memrchr(b'<', before) else { return false };
        let before = &before[..open];
        matches!(
            before[..before.len() - BLANK.run_back(before)].last(),
            None | Some(b'\n' | b'>' | b'"' | b'\\' | b'n')
        )
    }

    /// Past an anchor or a tag of YAML (`&name`, `!!str`), or the signs that end bold type.
    fn decorated(&self, at: usize) -> Look<usize> {
        let window = self.window;
        let mut at = at;
        for _ in 0..2 {
            let mark = match window.at(at)? {
                Some(b'&') => 1,
                Some(b'!') if window.at(at + 1)? == Some(b'!') => 2,
                Some(b'*') if window.at(at + 1)? == Some(b'*') => 2,
                _ => break,
            };
            let end = window.run(at + mark, &NAME, NAME_MAX)?;
            let blank = window.run(end, &BLANK, 8)?;
            let word = end > at + mark;
            if blank == end || word == (window.text[at] == b'*') {
                break;
            }
            at = blank;
        }
        Ok(at)
    }

    /// Whether the quote at `open` closes a string rather than opening one, as in `"password: " + x + ","`.
    pub(crate) fn closes(&self, open: usize, quote: u8, value: usize) -> bool {
        let text = self.window.text;
        matches!(
            text[value],
            b' ' | b'+' | b'.' | b',' | b')' | b';' | b':' | b'&' | b']' | b'>' | b'/' | b'}'
        ) && self.in_string(open, quote)
    }

    /// A quoted value: up to the same quote at the same depth of escaping.
    pub(crate) fn quoted(&mut self, open: usize, quote: u8, escapes: usize) -> Look<Option<Value>> {
        let window = self.window;
        let mut start = open + 1;
        // Three quotes, and quotes inside quotes.
        while start < open + 3 && window.at(start)? == Some(quote) {
            start += 1;
        }
        if start == open + 2 {
            return Ok(None);
        }
        let inner = quote != b'"' && escapes == 0 && self.in_string(open, b'"');
        if inner && self.ends_string(start)? {
            return Ok(None);
        }
        let nested = escapes == 0 && window.at(start)?.is_some_and(|b| QUOTES.has(b));
        start += usize::from(nested);
        let mut end = start;
        while end - start < VALUE_MAX {
            match window.at(end)? {
                None | Some(b'\n') => break,
                Some(b'"') if inner && self.ends_string(end)? => break,
                Some(b'\\') => {
                    let after = window.run(end, &ByteSet::of(b"\\"), 64)?;
                    let Some(next) = window.at(after)? else { break };
                    let run = after - end;
                    // A quote with no more backslashes than the opening one closes, and so does one behind escaped
                    // backslashes, which are of the value; any other quote with more is of the value itself.
                    if next == quote && (run <= escapes || (run - escapes).is_multiple_of(2 * (escapes + 1)))
                    {
                        end += run.saturating_sub(escapes);
                        break;
                    }
                    if escapes > 0 && after - end <= escapes && matches!(next, b'n' | b'r') {
                        break;
                    }
                    end = after + 1;
                }
                // A quote written twice is one of the value: `'it''s'`.
                Some(b)
                    if b == quote
                        && escapes == 0
                        && end > start
                        && window.at(end + 1)? == Some(quote)
                        && NAME.has(window.text[end - 1])
                        && window.at(end + 2)?.is_some_and(|b| ALNUM.has(b)) =>
                {
                    end += 2;
                }
                // Fewer backslashes than the opening quote has: an outer string ends.
                Some(b) if b == quote || escapes > 0 && b == b'"' => break,
                Some(_) => end += 1,
            }
        }
        let end = end.min(window.text.len());
        let end = end
            - usize::from(
                end > start && nested && QUOTES.has(window.text[end - 1]) && window.text[end - 2] != b'\\',
            );
        Ok((end > start).then_some(Value { start, end, quoted: true }))
    }

    /// Whether a string in such quotes may be open at `at`: `"password='` in a line, or the midst of a long one.
    fn in_string(&self, at: usize, quote: u8) -> bool {
        const LINE: usize = 256;
        let before = self.window.back(at, LINE);
        match memchr::memrchr(b'\n', before) {
            None if before.len() == LINE => true,
            line => {
                let line = line.map_or(before, |i| &before[i + 1..]);
                line.iter().filter(|&&b| b == quote).count() % 2 == 1
            }
        }
    }

    /// Whether a double quote at `at` ends a string of JSON: a sign of its structure follows.
    fn ends_string(&self, at: usize) -> Look<bool> {
        if self.window.at(at)? != Some(b'"') {
            return Ok(false);
        }
        let next = self.window.run(at + 1, &SPACE, 64)?;
        Ok(matches!(self.window.at(next)?, Some(b',' | b'}' | b']' | b':')))
    }

    /// A value without quotes: up to a blank, a quote, an escape, or a sign that begins the next pair.
    pub(crate) fn bare(&mut self, start: usize) -> Look<Option<Value>> {
        let window = self.window;
        if let Some(end) = self.set_line(start)? {
            return Ok(Some(Value { start, end, quoted: false }));
        }
        let mut end = start;
        while end - start < VALUE_MAX {
            let Some(b) = window.at(end)? else { break };
            match b {
                b'<' if end == start => end += 1,
                b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' | b'`' | b'<' | 0 => break,
                b'\\' => {
                    let after = window.run(end, &ByteSet::of(b"\\"), 64)?;
                    match window.at(after)? {
                        Some(b'n' | b'r' | b't' | b'"' | b'\'' | b'\n' | b'\r') | None => break,
                        Some(_) => end = after + 1,
                    }
                }
                // Another name and its sign: `token=password=x` is read again from there.
                b'=' if end > start
                    && end - start <= 32
                    && keys::classify(&window.text[start..end]).is_some() =>
                {
                    break;
                }
                b',' | b';' | b'&' | b')' | b']' | b'}' | b'|' | b'>' => {
                    if self.ends_value(end)? || b == b')' && self.ends_call(start, end)? {
                        break;
                    }
                    end += 1;
                }
                _ => end += 1,
            }
        }
        let end = end.min(window.text.len());
        let text = &window.text[start..end];
        let tag = text.first() == Some(&b'<') && !decoy::is_varied(text);
        Ok((end > start && !tag).then_some(Value { start, end, quoted: false }))
    }

    /// Where the line `NAME=value` ends that begins as those of environment files do, if the value was drawn from the
    /// whole keyboard: all signs are its own then.
    fn set_line(&self, start: usize) -> Look<Option<usize>> {
        let window = self.window;
        if window.before(start) != Some(b'=') {
            return Ok(None);
        }
        let end = window.run(start, &not(b" \t\r\n\"'`\\\0"), LINE_MAX)?;
        if window.at(end)?.is_some_and(|b| b != b'\n' && b != b'\r') {
            return Ok(None);
        }
        let before = window.back(start - 1, NAME_MAX + 8);
        let name = TOKEN.run_back(before);
        let line = &before[memchr::memrchr(b'\n', before).map_or(0, |i| i + 1)..before.len() - name];
        let value = &window.text[start..end];
        let set = name > 0
            && [&b""[..], b"export ", b"set ", b"- ", b"ENV ", b"env "].contains(&line)
            && decoy::is_drawn(value)
            && !is_query(value);
        Ok(set.then_some(end))
    }

    /// Whether the bracket at `at`, which nothing since `start` opened, closes a list of parameters or arguments:
    /// `password=None):`, `password=null){`, `password=x).run()`.
    fn ends_call(&self, start: usize, at: usize) -> Look<bool> {
        let window = self.window;
        if window.text[start..at].contains(&b'(') {
            return Ok(false);
        }
        Ok(match window.at(at + 1)? {
            Some(b'{') => true,
            Some(b':') => window.at(at + 2)?.is_none_or(|b| SPACE.has(b) || b == b'\\'),
            Some(b'.' | b'[') => {
                let before = window.back(start, 128);
                let line = memchr::memrchr(b'\n', before).map_or(before, |i| &before[i + 1..]);
                let count = |sign| line.iter().filter(|b| **b == sign).count();
                count(b'(') > count(b')')
            }
            _ => false,
        })
    }

    /// Whether the sign at `at` closes a bare value rather than being part of it: a blank, a quote, another sign or
    /// the next name with its own sign follows.
    fn ends_value(&self, at: usize) -> Look<bool> {
        let window = self.window;
        if window.text[at] == b'&' {
            return Ok(true);
        }
        let next = match window.at(at + 1)? {
            None
            | Some(
                b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'\'' | b'\\' | b',' | b';' | b')' | b']' | b'}' | b'<',
            ) => {
                return Ok(true);
            }
            Some(_) => at + 1,
        };
        let name = window.run(next, &NAME.or(ByteSet::of(b" ")), 48)?;
        Ok(name > next && window.at(name)?.is_some_and(|b| b == b'=' || b == b':'))
    }
}

/// The longest value of an environment file whose signs are taken for its own.
const LINE_MAX: usize = 128;

/// Whether further pairs follow in a value: `x&user=bob`.
fn is_query(value: &[u8]) -> bool {
    value.split(|&b| b == b'&' || b == b';' || b == b',').skip(1).any(|pair| {
        let name = NAME.run(pair);
        name >= 2 && pair.get(name) == Some(&b'=')
    })
}
