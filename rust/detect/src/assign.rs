//! `name = value` in the notations people use: env, INI, YAML, JSON, XML, HCL, code, flags, headers, query strings.
//!
//! The name is read around the key word that triggered; then the signs between, then the value. Values are judged by
//! what the name promises (`keys.rs`) and by what they are not: references, types, sentences, paths (`decoy.rs`).

use crate::chosen;
use crate::class::{ALNUM, ALPHA, ByteSet, HEX, SPACE};
use crate::decoy;
use crate::engine::Scan;
use crate::keys::{self, Kind};
use crate::random;
use crate::rule::rank;
use crate::token::escape_len;
use crate::window::{Look, Window};

/// What names are made of.
pub(crate) const NAME: ByteSet = ALNUM.or(ByteSet::of(b"_-."));
/// The longest name, and the longest value that is looked at.
const NAME_MAX: usize = 64;
const VALUE_MAX: usize = 4096;
pub(crate) const BLANK: ByteSet = ByteSet::of(b" \t");
pub(crate) const QUOTES: ByteSet = ByteSet::of(b"\"'`");

/// A value, without its quotes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) quoted: bool,
}

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
    /// A key word may begin at `at`.
    #[inline(never)]
    pub(crate) fn stem(&mut self, at: usize) -> Look<()> {
        let window = self.window;
        let Some(&letters) = window.text.get(at..at + 4).and_then(<[u8]>::first_chunk) else {
            return window.at(at + 3).map(|_| ());
        };
        if !keys::begins(letters) || at < self.key_end {
            return Ok(());
        }
        if !keys::known(letters) && (self.connection(at)? || self.foreign(at)?) {
            return Ok(());
        }
        let start = at - NAME.run_back(window.back(at, NAME_MAX));
        let start = start + escape_len(window, start);
        let end = window.run(at, &NAME, NAME_MAX)?;
        // A sentence may end in a name.
        let end = end - ByteSet::of(b".-").run_back(&window.text[at..end]);
        let start = start.min(at);
        if !sign_may_follow(window.at(end)?) && !self.rare_sign(start, end)? {
            return Ok(());
        }
        let name = &window.text[start..end];
        if self.command(start, end)? {
            self.key_end = end;
            return Ok(());
        }
        if name.len() >= 6 && name.len() < 12 && name[..5].eq_ignore_ascii_case(b"beare") {
            self.key_end = end;
            return self.bearer(end);
        }
        if name.eq_ignore_ascii_case(b"basic") {
            self.key_end = end;
            return self.basic(end);
        }
        if name.starts_with(b"PuTTY-User-Key-File") {
            self.key_end = end;
            return self.putty(end);
        }
        if CREDENTIALS.iter().any(|c| name.ends_with(c.as_bytes())) {
            self.key_end = end;
            return self.second_argument(end);
        }
        // A placeholder of this package names nothing: `[API_TOKEN:REDACTED]`.
        if window.before(start) == Some(b'[') {
            let close = window.run(end, &ALNUM.or(ByteSet::of(b":")), NAME_MAX)?;
            if window.at(close)? == Some(b']') && decoy::is_own(&window.text[start - 1..=close]) {
                return Ok(());
            }
        }
        // "AWS::ApiGateway::ApiKey": the name of a type.
        if window.before(start) == Some(b':')
            && window.back(start, 2) == b"::"
            && window.at(end)? == Some(b'"')
        {
            return Ok(());
        }
        let Some(kind) = keys::classify(setter(name, window.at(end)?)) else {
            return if name.eq_ignore_ascii_case(b"identified") {
                self.identified(end)
            } else if name.eq_ignore_ascii_case(b"values") {
                self.inserted(start, end)
            } else if name.len() >= 8 && name[name.len() - 8..].eq_ignore_ascii_case(b"mnemonic") {
                self.mnemonic(start, end)
            } else {
                self.before_name(start, end)
            };
        };
        // Elsewhere these are numbers of all kinds.
        if name == b"sid" && !matches!(window.before(start), Some(b'?' | b'&')) {
            return Ok(());
        }
        self.key_end = end;
        let Some((sign, at)) = self.sign(start, end, kind)? else { return self.loose(kind, start, end) };
        match kind {
            Kind::Authorization => self.authorization(sign, at),
            Kind::Cookie => self.cookie(name, sign, at),
            // Two letters are names of all kinds.
            Kind::Password
                if letters[0] | 0x20 == b'p'
                    && matches!(letters[2], b'=' | b':' | b'"' | b'\'' | b' ')
                    && !self.is_chosen(at)? =>
            {
                Ok(())
            }
            // The word of test runners: `PASS: test_name`.
            _ if name == b"PASS" && window.text[at - 1] == b':' && !self.is_chosen(at)? => Ok(()),
            _ => {
                // On the lines below.
                if sign == Sign::Assign && window.text[at - 1] == b':' {
                    let blank = window.run(at, &BLANK, 64)?;
                    let next = window.at(blank)?;
                    if next.is_some_and(|b| matches!(b, b'\n' | b'\r' | b'#' | b'|' | b'>'))
                        && self.below(kind, start, at)?.is_some()
                    {
                        return Ok(());
                    }
                }
                self.assigned(kind, sign, at)
            }
        }
    }

    /// Whether the word at `at` looks like a password, and not like the name of a test.
    fn is_chosen(&mut self, at: usize) -> Look<bool> {
        let Some(value) = self.value(Sign::Assign, at)? else { return Ok(false) };
        let word = &self.window.text[value.start..value.end];
        Ok(value.quoted
            || chosen::may_be(word) && !word.contains(&b'_') && !decoy::contains_any_case(word, b"test"))
    }

    /// No sign follows the name from `start` to `end`: a sentence may, or the rows of a table.
    fn loose(&mut self, kind: Kind, start: usize, end: usize) -> Look<()> {
        if matches!(&self.window.text[start..end], b"AUTH" | b"PASS") && self.logged_in(start, end)? {
            return Ok(());
        }
        if matches!(kind, Kind::Authorization | Kind::Cookie) {
            return Ok(());
        }
        let word_end = self.window.run(end, &QUOTES.or(ByteSet::of(b"*")), 2)?;
        match self.window.at(end)? {
            Some(b' ' | b'*' | b'"' | b'\'' | b'`') => {
                // A file, or what one does with anything.
                let name = &self.window.text[start..end];
                if self.window.before(start) != Some(b'/') && !name.eq_ignore_ascii_case(b"pass") {
                    self.told(kind, word_end)?;
                }
                self.column(kind, start, end)
            }
            Some(b',' | b';' | b'|' | b'\t' | b'\n' | b'\r') => self.column(kind, start, end),
            _ => Ok(()),
        }
    }

    /// `IDENTIFIED BY 'x'`, `IDENTIFIED WITH y BY 'x'`.
    fn identified(&mut self, end: usize) -> Look<()> {
        let window = self.window;
        let line = window.run(end, &not(b"\n;'\""), 64)?;
        let Some(by) = crate::index::find(&window.text[end..line].to_ascii_lowercase(), b" by ") else {
            return Ok(());
        };
        let at = end + by + 4;
        if window.at(at)? == Some(b'\'') {
            return self.assigned(Kind::Password, Sign::Blank, at);
        }
        let at = at + usize::from(window.at(at)? == Some(b'"'));
        let stop = window.run(at, &not(b"\" ;\n\r"), 64)?;
        if chosen::is(&window.text[at..stop]) {
            self.judge(Kind::Password, Sign::Blank, Value { start: at, end: stop, quoted: false });
        }
        Ok(())
    }

    /// The sign after a name that ends at `end`, and where the value may begin.
    #[inline(never)]
    fn sign(&mut self, start: usize, end: usize, kind: Kind) -> Look<Option<(Sign, usize)>> {
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
                self.typed(at)
            }
            _ => Ok(None),
        }
    }

    /// Whether one of the signs that stand behind few names goes on at `end`: `X?=y`, `$h->{password} = y`, the end of the
    /// columns that are copied.
    fn rare_sign(&mut self, start: usize, end: usize) -> Look<bool> {
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
    fn cell(&self, at: usize) -> Look<Option<(Sign, usize)>> {
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

    /// `MNEMONIC=` and the words that a wallet is made of (BIP 39).
    fn mnemonic(&mut self, start: usize, end: usize) -> Look<()> {
        let window = self.window;
        let Some((_, at)) = self.sign(start, end, Kind::Secret)? else { return Ok(()) };
        let from = window.run(at, &BLANK.or(QUOTES).or(ByteSet::of(b"\\")), 8)?;
        let stop = window.run(from, &crate::class::LOWER.or(ByteSet::of(b" ")), 256)?;
        let text = window.text[from..stop].trim_ascii_end();
        let words = text.split(|b| *b == b' ').count();
        let short = text.split(|b| *b == b' ').all(|w| (3..=8).contains(&w.len()));
        if let Some(rule) =
            self.engine.parsers.secret.filter(|_| short && matches!(words, 12 | 15 | 18 | 21 | 24))
        {
            self.push(rule, rank::KEYED, from, from + text.len(), 0);
        }
        Ok(())
    }

    /// `AUTH PLAIN x` (RFC 4954), `AUTH x` (Redis) and `PASS x` (FTP, POP3), as a line of their own.
    fn logged_in(&mut self, start: usize, end: usize) -> Look<bool> {
        let window = self.window;
        let before = window.back(start, 48);
        let line = memchr::memrchr(b'\n', before).map_or(before, |i| &before[i + 1..]);
        let prompt = line.ends_with(b"> ");
        let first = window.run(end, &BLANK, 2)?;
        let name = window.run(first, &ALNUM, 16)?;
        let auth = window.text[start] == b'A';
        if auth && matches!(&window.text[first..name], b"PLAIN" | b"LOGIN" | b"XOAUTH2") {
            let at = window.run(name, &BLANK, 2)?;
            let stop = window.run(at, &TOKEN68, VALUE_MAX)?;
            let value = &window.text[at..stop];
            if let Some(rule) =
                self.engine.parsers.authorization.filter(|_| value.len() >= 12 && has_digit_or_mixed(value))
            {
                self.push(rule, rank::HEADER, at, stop, 0);
            }
            return Ok(true);
        }
        if !line.is_empty() && !prompt {
            return Ok(false);
        }
        let visible = not(b" \t\r\n\"'`<>\\");
        let stop = window.run(first, &visible, 128)?;
        // `AUTH user password`
        let second = if auth && window.at(stop)? == Some(b' ') { stop + 1 } else { first };
        let stop = window.run(second, &visible, 128)?;
        let word = &window.text[second..stop];
        let fits = if prompt { chosen::may_be(word) } else { chosen::is(word) };
        if !fits || window.at(stop)?.is_some_and(|b| !matches!(b, b'\r' | b'\n')) {
            return Ok(false);
        }
        self.judge(Kind::Password, Sign::Blank, Value { start: second, end: stop, quoted: false });
        Ok(true)
    }

    /// `"name": "PASSWORD", "value": "x"` and `define('PASSWORD', 'x')`.
    fn second(&self, kind: Kind, start: usize, after_comma: usize) -> Look<Option<(Sign, usize)>> {
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
    fn typed(&self, at: usize) -> Look<Option<(Sign, usize)>> {
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

    /// `new NetworkCredential("user", "password")`: the second string is the password.
    fn second_argument(&mut self, end: usize) -> Look<()> {
        let window = self.window;
        if window.at(end)? != Some(b'(') {
            return Ok(());
        }
        let first = window.run(end + 1, &not(b",\n()"), 128)?;
        let second = window.run(first, &ByteSet::of(b", \t"), 8)?;
        if second == first { Ok(()) } else { self.argument(second) }
    }

    /// A quoted password at `at`, as an argument.
    pub(crate) fn argument(&mut self, at: usize) -> Look<()> {
        self.assigned(Kind::Password, Sign::Pair, at)
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

    /// `login x password y` of `.netrc` and its like: a name stands between the two words.
    fn logs_in(&self, start: usize, kind: Kind) -> bool {
        if kind != Kind::Password {
            return false;
        }
        let mut words = self.window.back(start, 128).rsplit(|b| SPACE.has(*b)).filter(|w| !w.is_empty());
        let (Some(name), Some(word)) = (words.next(), words.next()) else { return false };
        let filler = [
            &b"with"[..],
            b"and",
            b"using",
            b"by",
            b"or",
            b"the",
            b"a",
            b"to",
            b"for",
            b"from",
            b"his",
            b"your",
        ];
        [&b"login"[..], b"machine", b"account", b"username", b"user"]
            .iter()
            .any(|w| word.eq_ignore_ascii_case(w))
            && name.iter().any(u8::is_ascii_alphanumeric)
            && !name.starts_with(b"-")
            && !filler.contains(&name)
    }

    /// The value of a key of this kind, at `at` or after the blanks there.
    pub(crate) fn assigned(&mut self, kind: Kind, sign: Sign, at: usize) -> Look<()> {
        if sign == Sign::Assign {
            let window = self.window;
            let open = window.run(at, &SPACE, 64)?;
            match window.at(open)? {
                Some(b'[') if window.at(open + 1)? == Some(b'-') => return self.word_diff(kind, open),
                Some(b'{') if window.at(open + 1)? == Some(b'+') => return self.word_diff(kind, open),
                // The dump of a value: string(10) "x"
                Some(b's') if window.starts_with(open, b"string(")? => {
                    let close = window.run(open + 7, &ByteSet::of(b"0123456789"), 5)?;
                    if window.starts_with(close, b") \"")? {
                        return self.assigned_text(kind, Sign::Pair, close + 2);
                    }
                }
                // A plan: (sensitive value) -> "x"
                Some(b'(') if window.starts_with(open, b"(sensitive value) -> ")? => {
                    return self.assigned_text(kind, Sign::Pair, open + 21);
                }
                Some(b'[') => return self.listed(kind, open + 1, window.text[at - 1] == b':'),
                // "password": {"value": "x"}
                Some(b'{') => {
                    return match self.inside(open + 1)? {
                        Some((sign, at)) => self.assigned_text(kind, sign, at),
                        None => self.assigned_text(kind, sign, open),
                    };
                }
                // A string in brackets.
                Some(b'(') => {
                    let text = window.run(open + 1, &SPACE, 64)?;
                    let Some(value) = self.value(Sign::Pair, text)? else { return Ok(()) };
                    let close = window.run(value.end + 1, &SPACE, 64)?;
                    if window.at(close)? == Some(b')') {
                        self.judge(kind, Sign::Assign, value);
                    }
                    return Ok(());
                }
                _ => {}
            }
        }
        self.assigned_text(kind, sign, at)
    }

    /// `[-old-]{+new+}`
    fn word_diff(&mut self, kind: Kind, open: usize) -> Look<()> {
        let window = self.window;
        let mut at = open;
        for (open, close) in [(b"[-", b"-]"), (b"{+", b"+}")] {
            if !window.starts_with(at, open)? {
                continue;
            }
            let line = window.run(at + 2, &not(b" \t\n"), 512)?;
            let Some(len) = crate::index::find(&window.text[at + 2..line], close) else { break };
            let value = Value { start: at + 2, end: at + 2 + len, quoted: false };
            if len > 0 {
                self.judge(kind, Sign::Assign, value);
            }
            at = value.end + 2;
        }
        Ok(())
    }

    fn assigned_text(&mut self, kind: Kind, sign: Sign, at: usize) -> Look<()> {
        let Some(value) = self.value(sign, at)? else { return Ok(()) };
        if value.quoted || sign != Sign::Assign {
            self.judge(kind, sign, value);
            // A plan: "old" -> "new"
            if value.quoted && sign == Sign::Assign && self.window.starts_with(value.end, b"\" -> \"")? {
                return self.assigned_text(kind, Sign::Pair, value.end + 5);
            }
            return Ok(());
        }
        // **x**
        let bold = value.end - value.start > 4
            && self.window.text[value.start..].starts_with(b"**")
            && self.window.text[..value.end].ends_with(b"**");
        if bold {
            let inner = Value { start: value.start + 2, end: value.end - 2, quoted: false };
            if chosen::may_be(&self.window.text[inner.start..inner.end]) {
                self.judge(kind, sign, inner);
            }
            return Ok(());
        }
        let Some(value) = self.phrase(at, value)? else { return Ok(()) };
        if self.goes_on(at, value)? || !self.judge(kind, sign, value) {
            self.otherwise(kind, value)?;
        }
        Ok(())
    }

    /// Whether a bare word is the beginning of code: of an index (`row[2]`, `data["x"]`), of a type with its own
    /// (`Option<String>`), or a variable or type that is called as secrets are (`password: HiddenText,`).
    fn goes_on(&self, at: usize, value: Value) -> Look<bool> {
        let window = self.window;
        let word = &window.text[value.start..value.end];
        // Past the end of the text is the end of a line.
        let next = window.at(value.end)?.unwrap_or(b'\n');
        if let Some(open) = memchr::memchr(b'[', word) {
            let (name, index) = (&word[..open], &word[open + 1..]);
            let plain = ALPHA.or(ByteSet::of(b"_:")).run(index) == index.len()
                || ByteSet::of(b"0123456789:-").run(index) == index.len();
            return Ok(NAME.or(ByteSet::of(b"@$")).run(name) == open
                && open > 0
                && plain
                && (next == b']' || index.is_empty() && (QUOTES.has(next) || next == b'\\')));
        }
        if !word.iter().all(|b| b.is_ascii_alphabetic() || *b == b'_') {
            return Ok(false);
        }
        if next == b'<' {
            // No tag of HTML: those are short, or close.
            let inner = value.end + 1;
            let end = window.run(inner, &ALNUM.or(ByteSet::of(b"_&'[]:.")), 48)?;
            let own = &window.text[inner..end];
            let typed =
                own.first().is_some_and(|b| b.is_ascii_uppercase() || matches!(b, b'&' | b'\'' | b'['))
                    || PRIMITIVES.iter().any(|p| own == p.as_bytes());
            return Ok(typed
                && own.len() > 1
                && window.at(end)?.is_some_and(|b| matches!(b, b'>' | b'<' | b',' | b' ')));
        }
        let hump = word.windows(2).any(|p| p[0].is_ascii_lowercase() && p[1].is_ascii_uppercase());
        if !hump && !word.contains(&b'_') || keys::classify(word).is_none() {
            return Ok(false);
        }
        // In settings a value ends its line, and no blanks stand around the sign.
        let blanks = at < value.start && window.text[at - 1] == b'=';
        let listed = match next {
            b',' | b')' | b']' | b'|' => true,
            b' ' => window.at(value.end + 1)?.is_some_and(|b| matches!(b, b'|' | b'=')),
            _ => false,
        };
        Ok(blanks || listed)
    }

    /// A bare word, or all the words to the end of the line: a phrase goes whole, and of a sentence nothing.
    fn phrase(&self, at: usize, word: Value) -> Look<Option<Value>> {
        let window = self.window;
        let letters = ALPHA.or(BLANK);
        if window.text[at - 1] != b':' || window.at(word.end)? != Some(b' ') {
            return Ok(Some(word));
        }
        // "Password: must have 8 characters"
        let first = &window.text[word.start..word.end];
        if window.at(word.end + 1)?.is_some_and(|b| ALPHA.has(b))
            && COMMON.iter().any(|c| first.eq_ignore_ascii_case(c.as_bytes()))
        {
            return Ok(None);
        }
        let end = window.run(word.start, &letters, 96)?;
        let text = &window.text[word.start..end];
        let words = || text.split(|b| BLANK.has(*b)).filter(|w| !w.is_empty());
        let sentence =
            words().count() < 4 || !words().all(|w| w.len() >= 3 && w.iter().all(u8::is_ascii_lowercase));
        if end <= word.end
            || window.at(end)?.is_some_and(|b| !matches!(b, b'\n' | b'\r' | b'.' | b',' | b'!' | b'?'))
        {
            return Ok(Some(word));
        }
        let end = end - BLANK.run_back(&window.text[word.start..end]);
        Ok((!sentence && !is_sentence(&window.text[word.start..end])).then_some(Value { end, ..word }))
    }

    /// A literal behind a value that is none: `getenv("X") || "x"`, `String::from("x")`.
    fn otherwise(&mut self, kind: Kind, value: Value) -> Look<()> {
        let window = self.window;
        let word = &window.text[value.start..value.end];
        if WRAPPERS.iter().any(|w| word.ends_with(w.as_bytes())) {
            return self.assigned_text(kind, Sign::Pair, value.end);
        }
        let line = window.run(value.start, &not(b"\n;"), 128)?;
        let rest = &window.text[value.start..line];
        let or = ["|| ", "?? ", " or "].iter().find_map(|or| {
            let i = crate::index::find(rest, or.as_bytes())?;
            let count = |sign| rest[..i].iter().filter(|b| **b == sign).count();
            (count(b'(') == count(b')')).then_some(value.start + i + or.len())
        });
        match or {
            Some(at) => self.assigned_text(kind, Sign::Pair, at),
            None => Ok(()),
        }
    }

    /// A list of quoted values, as JSON and code write it: each is judged by itself.
    fn listed(&mut self, kind: Kind, at: usize, bare: bool) -> Look<()> {
        let between = SPACE.or(ByteSet::of(b","));
        let mut at = self.window.run(at, &between, 64)?;
        for _ in 0..256 {
            let sign = if bare { Sign::Assign } else { Sign::Pair };
            let Some(value) = self.value(sign, at)? else { break };
            if value.quoted || chosen::is(&self.window.text[value.start..value.end]) {
                self.judge(kind, Sign::Assign, value);
            }
            let close = self.window.run(value.end, &QUOTES.or(ByteSet::of(b"\\")), 8)?;
            at = self.window.run(close, &between, 64)?;
            if value.quoted && close == value.end || at == close {
                break;
            }
        }
        Ok(())
    }

    pub(crate) fn judge(&mut self, kind: Kind, sign: Sign, value: Value) -> bool {
        let text = self.window.text;
        let bytes = &text[value.start..value.end];
        let Some(rule) = self.engine.parsers.of(kind) else { return true };
        // A value may carry a scheme: `token: Bearer x`.
        if let Some(skip) = scheme_len(bytes) {
            let rest = &bytes[skip..];
            if let Some(rule) = self.engine.parsers.authorization.filter(|_| worth(kind, rest, value.quoted))
            {
                self.push(rule, rank::HEADER, value.start + skip, value.end, 0);
            }
            return true;
        }
        // A literal that a secret is compared with, or given to in a block of credentials, is one.
        // Numbers of sessions that are no more than that.
        if bytes.len() <= 40
            && bytes.contains(&b'-')
            && kind == Kind::Token
            && name_before(self.window, value.start).to_ascii_lowercase().ends_with(b"id")
        {
            return true;
        }
        let kind = if sign == Sign::Compare && kind == Kind::Secret { Kind::Password } else { kind };
        let attribute = sign == Sign::Assign && text[..value.start].ends_with(b"=\"");
        let literal = value.quoted
            && bytes == b"password"
            && (sign == Sign::Blank || attribute && kind == Kind::Password);
        let found = (literal || worth(kind, bytes, value.quoted))
            && !(sign == Sign::Blank && bytes.starts_with(b"-"));
        if found {
            self.push(rule, rank::KEYED, value.start, value.end, 0);
        }
        found
    }

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
    fn closes(&self, open: usize, quote: u8, value: usize) -> bool {
        let text = self.window.text;
        matches!(
            text[value],
            b' ' | b'+' | b'.' | b',' | b')' | b';' | b':' | b'&' | b']' | b'>' | b'/' | b'}'
        ) && self.in_string(open, quote)
    }

    /// A quoted value: up to the same quote at the same depth of escaping.
    fn quoted(&mut self, open: usize, quote: u8, escapes: usize) -> Look<Option<Value>> {
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
        if escapes == 0 && window.at(start)?.is_some_and(|b| QUOTES.has(b)) {
            start += 1;
        }
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
                end > start
                    && escapes == 0
                    && QUOTES.has(window.text[end - 1])
                    && window.text[end - 2] != b'\\',
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
    fn bare(&mut self, start: usize) -> Look<Option<Value>> {
        let window = self.window;
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

    /// `Bearer x` by itself.
    fn bearer(&mut self, end: usize) -> Look<()> {
        let window = self.window;
        let at = window.run(end, &ByteSet::of(b" \t:=+\""), 4)?;
        let at = if window.starts_with(at, b"%20")? { at + 3 } else { at };
        if at == end {
            return Ok(());
        }
        let stop = window.run(at, &TOKEN68, VALUE_MAX)?;
        let value = trim_dots(&window.text[at..stop]);
        if let Some(rule) = self.engine.parsers.authorization
            && value.len() >= 16
            && has_digit_or_mixed(value)
            && !decoy::is_stand_in(value)
        {
            self.push(rule, rank::HEADER, at, at + value.len(), 0);
        }
        Ok(())
    }

    /// `Basic x` by itself: base64 of `user:password`.
    fn basic(&mut self, end: usize) -> Look<()> {
        let window = self.window;
        let at = window.run(end, &BLANK, 4)?;
        if at == end {
            return Ok(());
        }
        let stop = window.run(at, &TOKEN68, VALUE_MAX)?;
        let value = &window.text[at..stop];
        let pair = crate::encoded::base64(value)
            .is_some_and(|plain| plain.contains(&b':') && plain.iter().all(|b| (0x20..0x7f).contains(b)));
        if let Some(rule) = self.engine.parsers.authorization.filter(|_| value.len() >= 8 && pair) {
            self.push(rule, rank::HEADER, at, stop, 0);
        }
        Ok(())
    }

    /// The value of an Authorization header (RFC 9110 section 11.6.2): a scheme, then credentials.
    fn authorization(&mut self, sign: Sign, at: usize) -> Look<()> {
        let window = self.window;
        let at = window.run(at, &BLANK, 64)?;
        let Some(rule) = self.engine.parsers.authorization else { return Ok(()) };
        // auth=("user", "password")
        let equals = window.text[..at].trim_ascii_end().ends_with(b"=");
        if equals && window.at(at)? == Some(b'(') {
            return self.second_argument(at);
        }
        if sign == Sign::Pair {
            return self.second_argument(at - 1);
        }
        let opening = window.run(at, &ByteSet::of(b"fFbBrR["), 2)?;
        let opened = window.at(opening)?.is_some_and(|b| QUOTES.has(b) || b == b'\\');
        let prefix = window.run(if opened { opening } else { at }, &ByteSet::of(b"\\\"'`[ "), 8)?;
        let scheme = window.run(prefix, &ALNUM.or(ByteSet::of(b"-")), 32)?;
        let blank = window.run(scheme, &BLANK, 4)?;
        if scheme > prefix && blank > scheme {
            let known = is_scheme(&window.text[prefix..scheme]);
            // Everything up to the end of the header: a quote, an escape, a line end.
            let end = window.run(blank, &not(b"\"'`\r\n\\<"), VALUE_MAX)?;
            let credentials = &window.text[blank..end];
            let bare = credentials.len() - ByteSet::of(b" \t,;)").run_back(credentials);
            let credentials = &credentials[..bare];
            if known {
                let first = credentials.split(|b| *b == b' ').next().unwrap_or_default();
                // Schemes with parameters (Digest, AWS4-HMAC-SHA256) go whole; others end at a blank.
                let value = if first.ends_with(b",") || first.contains(&b'=') && bare > first.len() {
                    credentials
                } else {
                    first
                };
                let value = trim_dots(value);
                // "token refreshed for user 42", "auth: token validated"
                let told = prefix == at
                    && value.iter().all(u8::is_ascii_lowercase)
                    && (bare > first.len()
                        || value.len() < 16
                            && name_before(window, at).eq_ignore_ascii_case(b"auth")
                            && window.text[prefix].is_ascii_lowercase());
                if value.len() >= 4
                    && !told
                    && !decoy::is_reference(value, true)
                    && !decoy::is_stand_in(value)
                {
                    self.push(rule, rank::HEADER, blank, blank + value.len(), 0);
                }
                return Ok(());
            }
            if sign == Sign::Assign && prefix == at {
                return Ok(());
            }
        }
        // `auth: x`, `"auth": "x"` (docker): a token without a scheme.
        if sign != Sign::Assign {
            return Ok(());
        }
        let Some(value) = self.value(sign, at)? else { return Ok(()) };
        if worth(Kind::Token, &window.text[value.start..value.end], value.quoted) {
            self.push(rule, rank::KEYED, value.start, value.end, 0);
        }
        Ok(())
    }

    /// The values of a cookie header (RFC 6265): each `name=value`; attributes of Set-Cookie stay.
    fn cookie(&mut self, name: &[u8], sign: Sign, at: usize) -> Look<()> {
        let window = self.window;
        let Some(rule) = self.engine.parsers.cookie.filter(|_| sign == Sign::Assign) else { return Ok(()) };
        let set = name.len() >= 3 && name[..3].eq_ignore_ascii_case(b"set");
        let mut at = window.run(at, &ByteSet::of(b" \t\\\"'[u"), 16)?;
        for n in 0..64 {
            let start = window.run(at, &BLANK, 8)?;
            let name_end = window.run(start, &NAME.or(ByteSet::of(b"%!#$*+^|~")), NAME_MAX)?;
            if name_end == start || window.at(name_end)? != Some(b'=') {
                break;
            }
            let value = name_end + 1;
            let end = window.run(value, &not(b" \t;,\"'\\\r\n<"), VALUE_MAX)?;
            let bytes = &window.text[value..end];
            if bytes.len() >= 6
                && !decoy::is_reference(bytes, true)
                && (bytes.len() >= 16 || has_digit_or_mixed(bytes))
            {
                self.push(rule, rank::HEADER, value, end, 0);
            }
            if set && n == 0 || window.at(end)? != Some(b';') {
                break;
            }
            at = end + 1;
        }
        Ok(())
    }
}

/// What types of declarations are made of: `&'static str`, `string | undefined`, `Option<String>`.
const TYPE: ByteSet = ALPHA.or(ByteSet::of(b"<>[]&'*|?._: 0123456789"));

/// What takes a user and a password, in this order.
const CREDENTIALS: &[&str] = &[
    "NetworkCredential",
    "PSCredential",
    "PasswordCredentials",
    "PasswordCredential",
    "BasicAuth",
    "DigestAuth",
    "PasswordAuthenticationToken",
];

/// The name without `set` or `with`, where a call follows: what is given to it.
fn setter(name: &[u8], next: Option<u8>) -> &[u8] {
    if next != Some(b'(') {
        return name;
    }
    let member = name.iter().rposition(|&b| b == b'.').map_or(0, |i| i + 1);
    let rest = [&b"set"[..], b"with", b"Set", b"With"].iter().find_map(|s| name[member..].strip_prefix(*s));
    rest.filter(|r| r.first().is_some_and(|b| b.is_ascii_uppercase() || *b == b'_')).unwrap_or(name)
}

/// What the token of a header may be made of (RFC 9110 `token68`, and what is seen beside it).
const TOKEN68: ByteSet = ALNUM.or(ByteSet::of(b"-._~+/=!|:"));

/// All bytes but these.
pub(crate) const fn not(bytes: &[u8]) -> ByteSet {
    ByteSet::of(bytes).complement()
}

fn sign_may_follow(b: Option<u8>) -> bool {
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

const SCHEMES: &[&str] = &[
    "basic",
    "bearer",
    "digest",
    "hoba",
    "mutual",
    "negotiate",
    "ntlm",
    "kerberos",
    "oauth",
    "scram-sha-1",
    "scram-sha-256",
    "vapid",
    "aws4-hmac-sha256",
    "aws",
    "hawk",
    "token",
    "apikey",
    "api-key",
    "key",
    "signature",
    "sharedkey",
    "sharedkeylite",
    "sharedaccesssignature",
    "jwt",
    "splunk",
    "ssws",
    "bot",
    "client-id",
    "genieKey",
    "dpop",
    "gnap",
    "concealed",
    "privatetoken",
    "snowflake",
    "discogs",
    "zoho-oauthtoken",
    "access",
    "secret",
    "apikeyauth",
    "hmac",
    "mac",
    "wsse",
    "passport1.4",
    "bolt",
    "deepl-auth-key",
    "klaviyo-api-key",
];

fn is_scheme(word: &[u8]) -> bool {
    SCHEMES.iter().any(|s| word.eq_ignore_ascii_case(s.as_bytes()))
}

/// The length of `Bearer ` and its like at the beginning of a value.
fn scheme_len(value: &[u8]) -> Option<usize> {
    let blank = memchr::memchr(b' ', value)?;
    (blank > 2 && is_scheme(&value[..blank]) && blank + 1 < value.len()).then_some(blank + 1)
}

fn trim_dots(value: &[u8]) -> &[u8] {
    &value[..value.len() - ByteSet::of(b".,:;").run_back(value)]
}

fn has_digit_or_mixed(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit)
        || value.iter().any(u8::is_ascii_lowercase) && value.iter().skip(1).any(u8::is_ascii_uppercase)
}

/// What stands in code and prose, and in no token.
const NO_TOKEN: ByteSet = ByteSet::of(b" ()[{<>,*");

/// Whether `value`, assigned to a name of this kind, is a secret to take out.
pub(crate) fn worth(kind: Kind, value: &[u8], quoted: bool) -> bool {
    let len = value.len();
    if len < 4 || decoy::is_reference(value, quoted) || is_code(value, quoted) {
        return false;
    }
    match kind {
        Kind::Password => {
            len <= 512 && !is_sentence(value) && !is_path(value) && (quoted || !value.ends_with(b"("))
        }
        Kind::Secret => {
            (6..=2048).contains(&len)
                && !is_sentence(value)
                && !is_path(value)
                && (has_digit_or_mixed(value) || len >= 10 && !is_name(value))
        }
        Kind::Token | Kind::ApiKey | Kind::Key | Kind::Authorization | Kind::Cookie => {
            if quoted && is_mixed(value) {
                return true;
            }
            len >= 8
                && !value.iter().any(|&b| NO_TOKEN.has(b))
                && !is_path(value)
                && !decoy::is_stand_in(value)
                && strong(value)
                && !is_number(value)
        }
    }
}

/// Long, of all kinds of characters: drawn from the whole keyboard, as `WordPress` and Django do.
fn is_mixed(value: &[u8]) -> bool {
    if value.len() < 32 {
        return false;
    }
    let (mut digits, mut small, mut capitals, mut signs, mut blanks) = (0, 0, 0, 0, 0);
    for b in value {
        digits += u32::from(b.is_ascii_digit());
        small += u32::from(b.is_ascii_lowercase());
        capitals += u32::from(b.is_ascii_uppercase());
        signs += u32::from(b.is_ascii_punctuation());
        blanks += u32::from(b.is_ascii_whitespace());
    }
    digits >= 2 && small >= 4 && capitals >= 4 && signs >= 6 && blanks <= 4
}

/// Enough variety for a token: random, or letters and digits mixed at some length.
pub(crate) fn strong(value: &[u8]) -> bool {
    let digits = value.iter().filter(|b| b.is_ascii_digit()).count();
    let letters = value.iter().filter(|b| b.is_ascii_alphabetic()).count();
    if digits == value.len() {
        return false;
    }
    if value.iter().all(|&b| HEX.has(b)) {
        return value.len() >= 16;
    }
    random::is_random(value)
        || letters > 0 && digits >= 3 && value.len() >= 12
        || value.len() >= 32 && has_digit_or_mixed(value)
}

/// A number in hexadecimal, as session and object numbers are logged.
fn is_number(value: &[u8]) -> bool {
    value.strip_prefix(b"0x").is_some_and(|v| v.len() <= 16 && v.iter().all(u8::is_ascii_hexdigit))
}

/// Words joined by `_`, `-` or `.`: the name of something.
fn is_name(value: &[u8]) -> bool {
    let short = value.split(|b| !b.is_ascii_alphabetic()).all(|word| word.len() < 20);
    short && value.iter().all(|&b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'-' | b'.' | b':' | b'/'))
}

/// Types in lower case that others are made of.
const PRIMITIVES: &[&str] = &[
    "string", "str", "number", "boolean", "bool", "any", "unknown", "void", "bytes", "u8", "char", "object",
];

/// What makes a secret of a literal.
const WRAPPERS: &[&str] = &[
    "String::from(",
    "Some(",
    "SecretString::new(",
    "SecretString::from(",
    "Secret::new(",
    "SecretStr(",
    "new String(",
    "Zeroizing::new(",
];

/// Words that sentences have and passphrases rarely.
const COMMON: &[&str] = &[
    "the",
    "your",
    "for",
    "is",
    "to",
    "of",
    "and",
    "must",
    "please",
    "enter",
    "a",
    "an",
    "in",
    "not",
    "with",
    "user",
    "this",
    "that",
    "are",
    "has",
    "have",
    "be",
    "or",
    "should",
    "invalid",
    "wrong",
    "does",
    "cannot",
    "new",
    "must",
    "choose",
    "confirm",
    "forgot",
    "change",
    "reset",
    "mot",
    "passe",
    "oublié",
    "votre",
    "contraseña",
    "olvidaste",
    "senha",
    "sua",
    "passwort",
    "ihr",
    "vergessen",
    "esqueceu",
];

/// A blank-separated text of several words.
fn is_sentence(value: &[u8]) -> bool {
    let words: Vec<&[u8]> = value.split(|&b| b == b' ').filter(|w| !w.is_empty()).collect();
    // What a placeholder of this package already stands in was judged with the value that it replaced.
    words.len() > 8
        || words.len() >= 2 && crate::index::find(value, b":REDACTED]").is_some()
        || words.len() >= 2
            && words.iter().any(|w| COMMON.iter().any(|c| w.eq_ignore_ascii_case(c.as_bytes())))
}

fn is_path(value: &[u8]) -> bool {
    let rooted = value.starts_with(b"/")
        || value.starts_with(b"./")
        || value.starts_with(b"~/")
        || value.starts_with(b"../");
    let windows = value.len() > 3 && value[1] == b':' && (value[2] == b'\\' || value[2] == b'/');
    let url = decoy::contains_any_case(value, b"://");
    (rooted && value[1..].iter().filter(|&&b| b == b'/').count() >= 1 && is_name_or_digits(value))
        || windows
        || url
}

fn is_name_or_digits(value: &[u8]) -> bool {
    value.iter().all(|&b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/' | b'~' | b'@'))
        && !random::is_random(value.rsplit(|&b| b == b'/').next().unwrap_or(value))
}

/// Code rather than a literal: a call, an index, a member of an object.
fn is_code(value: &[u8], quoted: bool) -> bool {
    if quoted {
        return matches!(value.first(), Some(b'{' | b'[')) && !is_mixed(value) && !decoy::is_varied(value);
    }
    // Signs alone make no code of what was drawn from the whole keyboard, if it goes on behind them.
    if decoy::is_varied(value) && value.last().is_some_and(u8::is_ascii_alphanumeric) {
        return false;
    }
    let call = memchr::memchr(b'(', value).is_some_and(|i| {
        i > 0
            && value[..i]
                .iter()
                .all(|&b| ALNUM.has(b) || matches!(b, b'_' | b'.' | b':' | b'>' | b'-' | b'&' | b'*'))
    });
    let member = memchr::memchr(b'.', value).is_some_and(|i| {
        i > 0 && value.iter().all(|&b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'.' | b'[' | b']'))
    });
    let arrow = value.windows(2).any(|w| w == b"->" || w == b"::");
    let star = matches!(
        value.first(),
        Some(b'{' | b'[' | b'(' | b'*' | b'&' | b'<' | b'|' | b'!' | b',' | b';' | b')' | b']' | b'}')
    );
    let index = value.ends_with(b"]") && memchr::memchr(b'[', value).is_some_and(|i| i > 0);
    call || member || arrow || star || index
}

/// The name whose value begins at `at`, as far as the common signs tell.
pub(crate) fn name_before(window: Window<'_>, at: usize) -> &[u8] {
    let before = window.back(at, 96);
    let signs = ByteSet::of(b" \t\\\"'`=:>(,[");
    let before = &before[..before.len() - signs.run_back(before)];
    &before[before.len() - NAME.run_back(before)..]
}

/// Whether the bytes under a key of this name, in a parsed document, are a secret; and of which kind.
pub(crate) fn judge(name: &[u8], value: &[u8]) -> Option<(Kind, usize)> {
    let kind = keys::classify(name)?;
    let skip = scheme_len(value).unwrap_or(0);
    let kind = match kind {
        Kind::Authorization | Kind::Cookie if skip == 0 && kind == Kind::Authorization => Kind::Token,
        other => other,
    };
    worth(kind, &value[skip..], true).then_some((kind, skip))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        for v in ["hunter2", "letmein", "P@ssw0rd!", "correct horse battery", "s3cr3t"] {
            assert!(worth(Kind::Password, v.as_bytes(), true), "{v}");
        }
        for v in ["Enter your password", "/home/user/project", "getpass()", "${X}", "null", "self.password"] {
            assert!(!worth(Kind::Password, v.as_bytes(), false), "{v}");
        }
    }

    #[test]
    fn short_names() {
        let detector = crate::Detector::new(&crate::Policy::default()).unwrap_or_else(|e| panic!("{e}"));
        for (text, found) in
            [("pwd=letmein", 1), ("Pwd=letmein;", 1), ("pw=letmein", 0), ("pw=l3tme1n", 1), ("pw: 1200px", 0)]
        {
            assert_eq!(detector.scan(text.as_bytes()).len(), found, "{text}");
        }
    }

    #[test]
    fn window_is_not_guessed() {
        let window = Window { ended: false, ..Window::whole(b"password=abc") };
        assert!(window.run(9, &not(b" "), 100).is_err());
    }
}
