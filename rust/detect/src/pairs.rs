//! Names and values that stand apart: on the next lines (YAML), in two members of an object or two elements (JSON,
//! YAML, XML, HCL), in an object of their own.

use crate::assign::{BLANK, NAME, QUOTES, not};
use crate::chosen;
use crate::class::{ByteSet, SPACE};
use crate::engine::Scan;
use crate::keys::{self, Kind};
use crate::sign::Sign;
use crate::value::Value;
use crate::window::{Look, Window};
use crate::worth::strong;

/// How much of the key's line is looked at before it.
const INDENT: usize = 128;
/// Lines of a block, or items of a list, that are followed.
const LINES: usize = 256;
/// Members of an object that are passed over on the way to the value.
const MEMBERS: usize = 8;

/// Members that hold the value of an object named for a secret.
const VALUES: &[&str] =
    &["value", "stringvalue", "secretvalue", "plaintext", "s", "#text", "_text", "$value", "string"];

impl Scan<'_, '_> {
    /// The value of a YAML key whose sign ends at `at`, if it stands on the lines below: a scalar, a block or a list,
    /// deeper than the key. `None`: something else stands behind the sign.
    pub(crate) fn below(&mut self, kind: Kind, key: usize, at: usize) -> Look<Option<()>> {
        let window = self.window;
        let Some(indent) = indent(window, key) else { return Ok(None) };
        let blank = window.run(at, &BLANK, 64)?;
        let block = window.at(blank)?.is_some_and(|b| b == b'|' || b == b'>');
        let at = if block { window.run(blank + 1, &ByteSet::of(b"-+0123456789"), 3)? } else { at };
        let Some(mut line) = line_end(window, at)? else { return Ok(None) };
        let mut listed = false;
        for n in 0..LINES {
            let start = window.run(line, &ByteSet::of(b" "), INDENT)?;
            let depth = start - line;
            let item = window.at(start)? == Some(b'-') && window.at(start + 1)? == Some(b' ');
            // A list may stand as deep as its key.
            let flush = depth == indent && (block || !item);
            // On the next line by itself, as people write in messages.
            if n == 0 && flush && !block && kind == Kind::Password {
                if let Some((value, _)) = self.scalar(start)?
                    && chosen::is(&window.text[value.start..value.end])
                {
                    self.judge(kind, Sign::Assign, value);
                }
                break;
            }
            if depth < indent || flush || n > 0 && !block && item != listed {
                break;
            }
            listed = item;
            let at = if item && !block { window.run(start + 2, &BLANK, 64)? } else { start };
            let Some((value, next)) = self.scalar(at)? else { break };
            let text = &window.text[value.start..value.end];
            // Bare words below a key are names as often as not.
            let fits = match kind {
                Kind::Password => value.quoted || (if listed { chosen::is } else { chosen::may_be })(text),
                _ => strong(text) && text.len() >= 12,
            };
            if fits {
                self.judge(kind, Sign::Assign, value);
            }
            if !listed && !block {
                break;
            }
            let Some(next) = next else { break };
            line = next;
        }
        Ok(Some(()))
    }

    /// One word or one quoted text that is all there is on its line, and where the next line begins.
    fn scalar(&mut self, at: usize) -> Look<Option<(Value, Option<usize>)>> {
        let window = self.window;
        if window.at(at)?.is_none_or(|b| SPACE.has(b) || b == b'#') {
            return Ok(None);
        }
        let Some(value) = self.value(Sign::Assign, at)? else { return Ok(None) };
        let close = window.run(value.end, &QUOTES, 1)?;
        let blank = window.run(close, &BLANK, 64)?;
        Ok(match window.at(blank)? {
            None => Some((value, None)),
            Some(_) => line_end(window, close)?.map(|next| (value, Some(next))),
        })
    }

    /// Whether the text before a name at `start` calls it the name of something: `name: `, `"key":"`, `<name>`.
    pub(crate) fn is_named(&self, start: usize) -> bool {
        let before = self.window.back(start, 96);
        // A name may have a path: `/prod/db/password`.
        let path = if before.ends_with(b"/") { NAME.or(ByteSet::of(b"/")).run_back(before) } else { 0 };
        let before = &before[..before.len() - path];
        let quotes = QUOTES.or(BLANK).or(ByteSet::of(b"\\"));
        let before = &before[..before.len() - quotes.run_back(before)];
        let Some((b':' | b'=' | b'>', before)) = before.split_last() else { return false };
        let before = &before[..before.len() - quotes.run_back(before)];
        let word = &before[before.len() - NAME.run_back(before)..];
        names_member(word)
    }

    /// The value beside a name: the member or element after `at` that is called a value.
    pub(crate) fn beside(&self, at: usize) -> Look<Option<(Sign, usize)>> {
        let window = self.window;
        if window.at(at)? == Some(b'<') {
            // </name> <value>
            let close = window.run(at, &not(b">\n"), 48)?;
            let open = window.run(close + 1, &SPACE, 64)?;
            if window.text.get(at + 1) != Some(&b'/') || window.at(open)? != Some(b'<') {
                return Ok(None);
            }
            let end = window.run(open + 1, &NAME, 32)?;
            let found = is_value(&window.text[open + 1..end]) && window.at(end)? == Some(b'>');
            return Ok(found.then_some((Sign::Tag, end + 1)));
        }
        self.member(at, is_value)
    }

    /// `"value": "x", "name": "PASSWORD"`: the value stands before its name. `start..end` is the word of the first member.
    pub(crate) fn before_name(&mut self, start: usize, end: usize) -> Look<()> {
        let window = self.window;
        let quotes = QUOTES.or(ByteSet::of(b"\\"));
        if !is_value(&window.text[start..end]) || !window.before(start).is_some_and(|b| QUOTES.has(b)) {
            return Ok(());
        }
        let close = window.run(end, &quotes, 8)?;
        let sign = window.run(close, &BLANK, 8)?;
        if window.at(sign)? != Some(b':') {
            return Ok(());
        }
        let Some(value) = self.value(Sign::Pair, sign + 1)?.filter(|v| v.end - v.start <= 512) else {
            return Ok(());
        };
        let at = window.run(value.end, &quotes, 8)?;
        if window.at(at)? != Some(b',') {
            return Ok(());
        }
        if let Some((_, at)) =
            self.member(at, |name| name == b"name" || name == b"Name" || name == b"key" || name == b"Key")?
        {
            let name = window.run(at, &quotes.or(BLANK), 8)?;
            let end = window.run(name, &NAME, 64)?;
            if let Some(kind) = keys::classify(&window.text[name..end]).filter(|_| end > name) {
                self.judge(kind, Sign::Assign, value);
            }
        }
        Ok(())
    }

    /// The value inside an object that a secret's name introduces; `open` is behind its brace.
    pub(crate) fn inside(&self, open: usize) -> Look<Option<(Sign, usize)>> {
        self.member(open, is_content)
    }

    /// The default of a Terraform variable.
    pub(crate) fn default(&self, open: usize) -> Look<Option<(Sign, usize)>> {
        self.member(open, |name| name == b"default")
    }

    /// The place behind the sign of the first member, from `at` on, whose name is wanted. Members before it are passed
    /// over while their values are plain.
    fn member(&self, at: usize, wanted: impl Fn(&[u8]) -> bool) -> Look<Option<(Sign, usize)>> {
        let window = self.window;
        let mut at = at;
        for _ in 0..MEMBERS {
            at = skip(window, at)?;
            let end = window.run(at, &NAME.or(ByteSet::of(b"#$")), 64)?;
            let close = window.run(end, &QUOTES.or(ByteSet::of(b"\\")), 8)?;
            let sign = window.run(close, &BLANK, 16)?;
            if end == at || !window.at(sign)?.is_some_and(|b| b == b':' || b == b'=') {
                break;
            }
            if wanted(&window.text[at..end]) {
                return Ok(Some((Sign::Assign, sign + 1)));
            }
            at = window.run(sign + 1, &BLANK.or(ByteSet::of(b"\\")), 16)?;
            at = match window.at(at)? {
                Some(q) if QUOTES.has(q) => {
                    let close = window.run(at + 1, &not(&[q, b'\n']), 256)?;
                    if window.at(close)?.is_none() {
                        break;
                    }
                    close + 1
                }
                Some(b'{' | b'[' | b'\n' | b'\r') | None => break,
                Some(_) => window.run(at, &not(b",\n\r}]"), 256)?,
            };
        }
        Ok(None)
    }
}

/// Whether a member of this name holds the value of the object that it is in, or of the name beside it.
pub fn holds_value(name: &[u8]) -> bool {
    is_value(name) || is_content(name)
}

/// Whether a member of this name holds the name of the value beside it.
pub fn names_member(name: &[u8]) -> bool {
    let ends = |w: &[u8]| name.len() >= w.len() && name[name.len() - w.len()..].eq_ignore_ascii_case(w);
    ends(b"name") || ends(b"key") || ends(b"field")
}

fn is_content(name: &[u8]) -> bool {
    VALUES.iter().any(|v| name.eq_ignore_ascii_case(v.as_bytes()))
}

/// Whether a member's name says that it is the value of the one beside it.
fn is_value(name: &[u8]) -> bool {
    let ends = |w: &[u8]| name.len() >= w.len() && name[name.len() - w.len()..].eq_ignore_ascii_case(w);
    ends(b"value") || name == b"string" || name == b"Value" || name == b"SecureString"
}

/// Blanks, line ends, commas, quotes and their escapes.
fn skip(window: Window<'_>, at: usize) -> Look<usize> {
    let between = SPACE.or(QUOTES).or(ByteSet::of(b",\\"));
    let mut at = window.run(at, &between, 256)?;
    // `\n` inside a string: a blank, a quote or another escape follows.
    while window.before(at) == Some(b'\\')
        && window.at(at)?.is_some_and(|b| matches!(b, b'n' | b'r' | b't'))
        && window.at(at + 1)?.is_some_and(|b| between.has(b))
    {
        at = window.run(at + 1, &between, 256)?;
    }
    Ok(at)
}

/// How deep the key at `key` stands, if nothing but indentation, list signs and quotes is before it on its line.
fn indent(window: Window<'_>, key: usize) -> Option<usize> {
    let before = window.back(key, INDENT);
    let lead = ByteSet::of(b" -?\"'").run_back(before);
    let depth = lead - ByteSet::of(b"\"'").run_back(before);
    match before[..before.len() - lead].last() {
        Some(b'\n') => Some(depth),
        None if key == lead => Some(depth),
        _ => None,
    }
}

/// Where the next line begins, if nothing but a comment is left on this one.
fn line_end(window: Window<'_>, at: usize) -> Look<Option<usize>> {
    let blank = window.run(at, &BLANK, 64)?;
    let end = match window.at(blank)? {
        Some(b'#') if blank > at => window.run(blank, &not(b"\n"), 256)?,
        Some(b'\r') => blank + 1,
        _ => blank,
    };
    Ok((window.at(end)? == Some(b'\n')).then_some(end + 1))
}
