//! What stands between a name and its value.

use crate::assign::{BLANK, NAME, QUOTES, not};
use crate::chosen;
use crate::class::{ALNUM, ALPHA, ByteSet, SPACE};
use crate::engine::Scan;
use crate::keys::{self, Kind};
use crate::window::Look;
use crate::worth::strong;

/// What stands between a name and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    /// `=`, `:`, `=>`, `:=`
    Assign,
    /// `(` or `,`: a call or a pair; only quoted values count.
    Pair,
    /// `>`: a tag; the value ends at `<`.
    Tag,
    /// A blank after a flag or a word.
    Blank,
    /// `==`, `!=`: only quoted values count, and those are literals.
    Compare,
}

impl Scan<'_, '_> {
    /// The sign after a name that ends at `end`, and where the value may begin.
    #[inline(never)]
    pub(crate) fn sign(&mut self, start: usize, end: usize, kind: Kind) -> Look<Option<(Sign, usize)>> {
        let window = self.window;
        let mut at = end;
        // The quote that closes the name, at any depth of escaping; an index's bracket.
        let mut quoted = false;
        let escaped = window.run(at, &ByteSet::of(b"\\"), 8)?;
        if window.at(escaped)?.is_some_and(|b| QUOTES.has(b)) {
            quoted = true;
            at = escaped + 1;
        } else if escaped > at {
            return Ok(None);
        } else if window.starts_with(at, b"&quot;")? {
            quoted = true;
            at += 6;
        }
        // char password[16]
        if !quoted && window.at(at)? == Some(b'[') {
            let close = window.run(at + 1, &ALNUM.or(ByteSet::of(b"_")), 32)?;
            if window.at(close)? != Some(b']') {
                return Ok(None);
            }
            at = close;
        }
        // $x->{password}
        if !quoted && window.at(at)? == Some(b'}') {
            at += 1;
        }
        while window.at(at)?.is_some_and(|b| b == b']' || b == b')' && quoted) {
            at += 1;
        }
        let word_end = at;
        at = window.run(at, &BLANK, 64)?;
        let Some(b) = window.at(at)? else { return Ok(None) };
        let after = |n: usize| -> Look<Option<(Sign, usize)>> { Ok(Some((Sign::Assign, at + n))) };
        match b {
            b'=' => {
                let n = if window.at(at + 1)?.is_some_and(|b| b == b'>' || b == b'=') { 2 } else { 1 };
                let compare = n == 2 && window.text[at + 1] == b'=';
                let n = n + usize::from(n == 2 && window.at(at + 2)? == Some(b'='));
                if compare { Ok(Some((Sign::Compare, at + n))) } else { after(n) }
            }
            b'!' if window.at(at + 1)? == Some(b'=') => {
                Ok(Some((Sign::Compare, at + 2 + usize::from(window.at(at + 2)? == Some(b'=')))))
            }
            b':' => {
                if window.starts_with(at, b"://")? {
                    return Ok(None);
                }
                // A path of code: `onepass::DFA`.
                if window.starts_with(at, b"::")? {
                    // LDIF: base64 follows.
                    if kind == Kind::Password
                        && window.at(at + 2)? == Some(b' ')
                        && self.begins_its_line(start)
                    {
                        return after(2);
                    }
                    let name = &window.text[start..end];
                    let made = window.at(at + 2)? == Some(b'=') && !name.iter().any(u8::is_ascii_lowercase);
                    return Ok(made.then_some((Sign::Assign, at + 3)));
                }
                let n = if window.at(at + 1)? == Some(b'=') { 2 } else { 1 };
                if window.starts_with(at + 1, b"</")? {
                    return self.cell(at + 1);
                }
                // A type between: `password: str = "x"`.
                let type_start = window.run(at + n, &BLANK, 8)?;
                let type_end = window.run(type_start, &ByteSet::of(b"[]<>?").or(ALNUM), 32)?;
                let typed = window.run(type_end, &BLANK, 8)?;
                let is_type = type_end > type_start
                    && typed > type_end
                    && window.at(typed)? == Some(b'=')
                    && window.text[type_start..type_end].iter().all(|b| !b.is_ascii_digit());
                if is_type {
                    return Ok(Some((Sign::Assign, typed + 1)));
                }
                let typed = if kind == Kind::Authorization { None } else { self.typed(type_start)? };
                Ok(typed.or(Some((Sign::Assign, at + n))))
            }
            0xEF if window.starts_with(at, "：".as_bytes())?
                || window.starts_with(at, "＝".as_bytes())? =>
            {
                after(3)
            }
            b'>' if self.in_tag(start) || quoted && self.in_name(start) => Ok(Some((Sign::Tag, at + 1))),
            b'\n' | b'\r' | b'<' if self.is_named(start) => self.beside(at),
            // R: password <- "x"
            b'<' if window.starts_with(at, b"<- ")? => Ok(Some((Sign::Pair, at + 2))),
            b'<' => self.cell(at),
            b'\n' if window.text[start] == b'-' => self.next_item(start, at),
            // A default: `process.env.X || "x"`, `getenv("X") or "x"`, `fetch("X") { "x" }`, `X ?= x`.
            b'?' if window.at(at + 1)? == Some(b'=') => after(2),
            b'|' | b'?' if window.at(at + 1)? == Some(b) && self.is_read(start, word_end) => {
                Ok(Some((Sign::Pair, at + 2)))
            }
            b'o' if window.starts_with(at, b"or ")? && self.is_read(start, word_end) => {
                Ok(Some((Sign::Pair, at + 3)))
            }
            b'{' if quoted && window.text[word_end - 1] == b')' => Ok(Some((Sign::Pair, at + 1))),
            // PHP: s:8:"password";s:10:"x"
            b';' if quoted && window.starts_with(at, b";s:")? => {
                let colon = window.run(at + 3, &ByteSet::of(b"0123456789"), 4)?;
                Ok((window.at(colon)? == Some(b':')).then_some((Sign::Pair, colon + 1)))
            }
            b'{' if quoted && self.window.back(start, 16).ends_with(b"variable \"") => self.default(at + 1),
            // `**Password:**`
            b'*' if window.starts_with(at, b"**:")? => after(3),
            b',' if quoted => self.second(kind, start, at + 1),
            b'(' if word_end == at => Ok(Some((Sign::Pair, at + 1))),
            b'a'..=b'z' | b'A'..=b'Z' if at > word_end && !quoted && self.in_tag(start) => {
                // <Pass encoding="base64">
                let close = window.run(at, &not(b"<>\n"), 128)?;
                Ok((window.at(close)? == Some(b'>')).then_some((Sign::Tag, close + 1)))
            }
            // <setting name="ApiSecret" serializeAs="String"><value>
            b's' | b'x' | b't' if at > word_end && quoted && self.in_name(start) => {
                let close = window.run(at, &not(b"<>\n"), 128)?;
                Ok((window.at(close)? == Some(b'>')).then_some((Sign::Tag, close + 1)))
            }
            b'v' | b'V' | b'c' if quoted && at > word_end => {
                // <add key="Password" value="x"/>, <meta name="token" content="x">
                for word in [&b"value"[..], b"content"] {
                    if window.starts_with_any_case(at, word)? && window.at(at + word.len())? == Some(b'=') {
                        return Ok(Some((Sign::Assign, at + word.len() + 1)));
                    }
                }
                Ok(None)
            }
            _ if at > word_end && !quoted => {
                let name = &window.text[start..end];
                let quote = QUOTES.has(b) && kind == Kind::Password;
                if name.starts_with(b"-") || quote || self.logs_in(start, kind) || self.is_set(start, name) {
                    return Ok(Some((Sign::Blank, at)));
                }
                if let Some(place) = self.dumped(kind, start, word_end, at)? {
                    return Ok(Some((Sign::Blank, place)));
                }
                self.typed(at)
            }
            _ => Ok(None),
        }
    }

    /// Where the value begins behind blanks alone, in the notations that have no sign: `DefaultPassword  REG_SZ  x` of the
    /// Windows registry, `password 7 0822455D` and `secret 5 $1$…` of network devices, `secret "x";` of servers, and
    /// columns with nothing else on their line.
    fn dumped(&self, kind: Kind, start: usize, word_end: usize, at: usize) -> Look<Option<usize>> {
        let window = self.window;
        if !matches!(kind, Kind::Password | Kind::Secret | Kind::Token) {
            return Ok(None);
        }
        for lead in [&b"REG_SZ"[..], b"/t REG_SZ /d"] {
            let value = at + lead.len();
            if window.starts_with(at, lead)? && window.at(value)?.is_some_and(|b| BLANK.has(b)) {
                return Ok(Some(value));
            }
        }
        let end = window.run(at, &not(b" \t\r\n"), 256)?;
        let word = &window.text[at..end];
        let next = window.at(end)?;
        if kind == Kind::Secret {
            let quoted = word.len() > 12 && word.starts_with(b"\"") && word.ends_with(b"\";");
            let server = quoted && window.text[start..word_end].eq_ignore_ascii_case(b"secret");
            return Ok((server && strong(&word[1..word.len() - 2])).then_some(at));
        }
        // One digit says how the device has written it.
        if word.len() == 1 && word[0].is_ascii_digit() && next == Some(b' ') {
            let stop = window.run(end + 1, &not(b" \t\r\n"), 128)?;
            let value = &window.text[end + 1..stop];
            let hex = value.len() >= 8 && value.iter().all(u8::is_ascii_hexdigit);
            return Ok((hex || chosen::may_be(value)).then_some(at));
        }
        let lone = at - word_end >= 2
            && self.begins_its_line(start)
            && next.is_none_or(|b| matches!(b, b'\r' | b'\n'))
            && chosen::may_be(word);
        Ok(lone.then_some(at))
    }

    /// Whether nothing but blanks stands before `start` on its line.
    fn begins_its_line(&self, start: usize) -> bool {
        let before = self.window.back(start, 64);
        before[..before.len() - BLANK.run_back(before)].last().is_none_or(|b| *b == b'\n')
    }

    /// Whether one of the signs that stand behind few names goes on at `end`: `X?=y`, `$h->{password} = y`, the end of the
    /// columns that are copied.
    pub(crate) fn rare_sign(&mut self, start: usize, end: usize) -> Look<bool> {
        let window = self.window;
        Ok(match window.at(end)? {
            Some(b'?') => window.at(end + 1)?.is_some_and(|b| b == b'=' || b == b'?'),
            Some(b'}') if window.before(start) == Some(b'{') => {
                let blank = window.run(end + 1, &BLANK, 4)?;
                window.at(blank)? == Some(b'=')
            }
            Some(b')') if window.starts_with_any_case(end, b") from std")? => {
                if let Some(kind) = keys::classify(&window.text[start..end]) {
                    self.column(kind, start, end)?;
                }
                false
            }
            _ => false,
        })
    }

    /// Whether what ends at `end` reads a value from elsewhere: `process.env.X`, `getenv("X")`, `$X`.
    fn is_read(&self, start: usize, end: usize) -> bool {
        let text = &self.window.text[start..end];
        text.ends_with(b")")
            || text.ends_with(b"]")
            || crate::index::find(text, b"env.").is_some()
            || text.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_')
    }

    /// `<td>Password</td><td>x</td>`: the next cell of a table, if it looks like a password.
    pub(crate) fn cell(&self, at: usize) -> Look<Option<(Sign, usize)>> {
        let window = self.window;
        if window.at(at + 1)? != Some(b'/') {
            return Ok(None);
        }
        let close = window.run(at, &not(b">\n"), 16)?;
        let open = window.run(close + 1, &SPACE.or(ByteSet::of(b":")), 64)?;
        if !window.starts_with_any_case(open, b"<td")? && !window.starts_with_any_case(open, b"<dd")? {
            return Ok(None);
        }
        let value = window.run(open, &not(b">\n"), 128)? + 1;
        let end = window.run(value, &not(b"<\n"), 128)?;
        let fits = end > value && chosen::may_be(&window.text[value..end]);
        Ok(fits.then_some((Sign::Tag, value)))
    }

    /// `- --password` and, as the next item of the list, its value.
    fn next_item(&self, start: usize, at: usize) -> Look<Option<(Sign, usize)>> {
        let window = self.window;
        let before = window.back(start, 96);
        let line = memchr::memrchr(b'\n', before).map_or(before, |i| &before[i + 1..]);
        let lead = line.len() - QUOTES.run_back(line);
        if !line[..lead].ends_with(b"- ") || BLANK.run(line) + 2 != lead {
            return Ok(None);
        }
        let item = window.run(at + 1, &BLANK, 96)?;
        Ok((item - at - 1 + 2 == lead && window.starts_with(item, b"- ")?).then_some((Sign::Blank, item + 2)))
    }

    /// `"name": "PASSWORD", "value": "x"` and `define('PASSWORD', 'x')`.
    pub(crate) fn second(&self, kind: Kind, start: usize, after_comma: usize) -> Look<Option<(Sign, usize)>> {
        if self.is_named(start) {
            return self.beside(after_comma);
        }
        let quotes = QUOTES.or(ByteSet::of(b"\\"));
        // ["--password", "x"]
        if self.window.text[start] == b'-' {
            let open = self.window.run(after_comma, &SPACE, 64)?;
            let word = self.window.run(open, &quotes, 8)?;
            let end = self.window.run(word, &not(b"\"'\\\n"), 128)?;
            let value = &self.window.text[word..end];
            let fits = word > open && chosen::may_be(value) && keys::classify(value).is_none();
            return Ok((fits && self.window.text[word] != b'-').then_some((Sign::Pair, open)));
        }
        let before = self.window.back(start, 16);
        let before = &before[..before.len() - quotes.run_back(before)];
        let before = &before[..before.len() - SPACE.run_back(before)];
        // A list of names is no pair: a call is, or an element of two.
        let pair = kind == Kind::ApiKey
            || match before.last() {
                Some(b'(') => before.len() > 1 && NAME.has(before[before.len() - 2]),
                Some(b'{') => true,
                _ => false,
            };
        Ok(pair.then_some((Sign::Pair, after_comma)))
    }

    /// `password string = "x"`: a type at `at` before the sign; the value of one is quoted.
    pub(crate) fn typed(&self, at: usize) -> Look<Option<(Sign, usize)>> {
        let window = self.window;
        let end = window.run(at, &TYPE, 48)?;
        let Some(name) = window.text[at..end].strip_suffix(b" ") else { return Ok(None) };
        // Blanks stand only beside the signs of alternatives and after a reference's own.
        let mut words = name.split(|b| *b == b' ');
        let first = words.next().unwrap_or_default();
        let begins = first.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'&');
        let lone = words.clone().skip(usize::from(first.starts_with(b"&"))).step_by(2).all(|w| w == b"|");
        if !begins || !lone || window.at(end)? != Some(b'=') {
            return Ok(None);
        }
        let value = window.run(end + 1, &SPACE, 8)?;
        Ok(window.at(value)?.filter(|b| QUOTES.has(*b)).map(|_| (Sign::Assign, end + 1)))
    }

    /// Whether the name is that of an XML element: `<` or `<ns:` stands before it.
    fn in_tag(&self, start: usize) -> bool {
        let before = self.window.back(start, 32);
        let before = &before[..before.len() - ByteSet::of(b":").or(NAME).run_back(before)];
        before.ends_with(b"<") || before.ends_with(b"u003c") || before.ends_with(b"&lt;")
    }

    /// Whether the name is the value of an attribute that names an element: `<property name="password"`.
    fn in_name(&self, start: usize) -> bool {
        let before = self.window.back(start, 96);
        let Some(open) = memchr::memrchr(b'<', before) else { return false };
        let quotes = QUOTES.or(ByteSet::of(b"\\"));
        let before = &before[open..before.len() - quotes.run_back(before)];
        [&b" name="[..], b" key="].iter().any(|a| before.ends_with(a))
    }
}

/// What types of declarations are made of: `&'static str`, `string | undefined`, `Option<String>`.
const TYPE: ByteSet = ALPHA.or(ByteSet::of(b"<>[]&'*|?._: 0123456789"));

pub(crate) fn sign_may_follow(b: Option<u8>) -> bool {
    b.is_some_and(|b| {
        matches!(
            b,
            b'=' | b':'
                | b'"'
                | b'\''
                | b'`'
                | b'\\'
                | b'>'
                | b','
                | b'('
                | b' '
                | b'\t'
                | b']'
                | b'['
                | b'&'
                | b'%'
                | b'*'
                | b'<'
                | b'|'
                | b';'
                | b'\n'
                | b'\r'
                | 0xEF
        )
    })
}
