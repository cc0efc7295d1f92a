//! `name = value` in the notations people use: env, INI, YAML, JSON, XML, HCL, code, flags, headers, query strings.
//!
//! The name is read around the key word that triggered; then the signs between, then the value. Values are judged by
//! what the name promises (`keys.rs`) and by what they are not: references, types, sentences, paths (`decoy.rs`).

use std::ops::Range;
use std::sync::LazyLock;

use crate::authorization::scheme_len;
use crate::call::CREDENTIALS;
use crate::chosen;
use crate::class::{ALNUM, ALPHA, ByteSet, SPACE};
use crate::decoy;
use crate::engine::Scan;
use crate::keys::{self, Kind};
use crate::lexicon::Lexicon;
use crate::rule::rank;
use crate::sign::{Sign, sign_may_follow};
use crate::stems;
use crate::token::escape_len;
use crate::value::Value;
use crate::window::{Look, Window};
use crate::worth::{COMMON, PRIMITIVES, is_sentence, worth};

/// What names are made of.
pub(crate) const NAME: ByteSet = ALNUM.or(ByteSet::of(b"_-."));
/// The longest name, and the longest value that is looked at.
pub(crate) const NAME_MAX: usize = 64;
pub(crate) const VALUE_MAX: usize = 4096;
pub(crate) const BLANK: ByteSet = ByteSet::of(b" \t");
pub(crate) const QUOTES: ByteSet = ByteSet::of(b"\"'`");

/// What stands between a value that may be missing and the one to take then.
const ALTERNATIVES: [&str; 3] = ["|| ", "?? ", " or "];
static OR: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::new(ALTERNATIVES));

impl Scan<'_, '_> {
    /// A key word may begin at `at`.
    #[inline(never)]
    pub(crate) fn stem(&mut self, at: usize) -> Look<()> {
        let window = self.window;
        let Some(&letters) = window.text.get(at..at + 4).and_then(<[u8]>::first_chunk) else {
            return window.at(at + 3).map(|_| ());
        };
        let Some(named) = stems::begins(letters).filter(|_| at >= self.key_end) else { return Ok(()) };
        if !named && (self.connection(at)? || self.foreign(at)?) {
            return Ok(());
        }
        match letters[0] {
            b']' => self.relay(at),
            b'@' => self.shorthand(at),
            _ => self.name(at, letters),
        }
    }

    /// One of [`stems::LEADS`] may stand at `at`.
    #[inline(never)]
    pub(crate) fn lead(&mut self, at: usize) -> Look<()> {
        let mut there = false;
        for lead in stems::LEADS {
            there = there || self.window.starts_with(at, lead)?;
        }
        if !there {
            return Ok(());
        }
        if self.window.text[at] | 0x20 == b's'
            && self.window.text[at..].get(1).is_some_and(|b| b | 0x20 == b's')
        {
            return self.named_ssn(at + 3);
        }
        if self.window.text[at] != b'-' {
            return self.name(at, [0; 4]);
        }
        match self.window.before(at) {
            Some(quote) if QUOTES.has(quote) => self.listed_flag(at - 1),
            _ => Ok(()),
        }
    }

    /// The name around a key word at `at`, which begins with `letters`.
    #[inline]
    fn name(&mut self, at: usize, letters: [u8; 4]) -> Look<()> {
        let window = self.window;
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
        let call = window.at(end)? == Some(b'(');
        if let Some(&(_, n)) = CREDENTIALS.iter().find(|c| call && name.ends_with(c.0.as_bytes())) {
            self.key_end = end;
            return self.nth_argument(end, n);
        }
        if name.ends_with(b"LoginModule") {
            self.key_end = end;
            return self.jaas(end);
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
        let kind = keys::classify(setter(name, window.at(end)?)).or_else(|| self.key_of(start, name));
        let Some(kind) = kind else {
            return if name.eq_ignore_ascii_case(b"identified") {
                self.identified(end)
            } else if name.eq_ignore_ascii_case(b"values") {
                self.inserted(start, end)
            } else if name.len() >= 8 && name[name.len() - 8..].eq_ignore_ascii_case(b"mnemonic") {
                self.mnemonic(start, end)
            } else if letters.eq_ignore_ascii_case(b"secu") && decoy::contains_any_case(name, b"social") {
                self.named_ssn(end)
            } else {
                self.before_name(start, end)?;
                self.signed(end)
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
                    && !self.is_chosen(at)?
                    && !self.beside_user(start) =>
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

    /// `API key`, `access key`: what the word before a key says of it.
    fn key_of(&self, start: usize, name: &[u8]) -> Option<Kind> {
        if !name.eq_ignore_ascii_case(b"key") {
            return None;
        }
        let before = self.window.back(start, 16).strip_suffix(b" ")?;
        let word = before[before.len() - ALPHA.run_back(before)..].to_ascii_lowercase();
        keys::classify(&[&word[..], b"_key"].concat()).filter(|_| !word.is_empty())
    }

    /// Whether the user stands before the password that begins at `start`: `user=bob pw=x`, and flags are given to
    /// programs.
    fn beside_user(&self, start: usize) -> bool {
        let before = self.window.back(start, 48);
        let line = memchr::memrchr(b'\n', before).map_or(before, |i| &before[i + 1..]);
        let named = |user: &&str| {
            crate::index::find(line, user.as_bytes())
                .is_some_and(|i| line.get(i + user.len()).is_some_and(|b| matches!(b, b'=' | b':' | b'"')))
        };
        self.window.text[start..].starts_with(b"--")
            || ["user", "usr", "uid", "login", "User"].iter().any(named)
    }

    /// No sign follows the name from `start` to `end`: a sentence may, or the rows of a table.
    fn loose(&mut self, kind: Kind, start: usize, end: usize) -> Look<()> {
        if matches!(&self.window.text[start..end], b"AUTH" | b"PASS")
            && (self.logged_in(start, end)? || self.monitored(end)?)
        {
            return Ok(());
        }
        if matches!(kind, Kind::Authorization | Kind::Cookie) {
            return Ok(());
        }
        let word_end = self.window.run(end, &QUOTES.or(ByteSet::of(b"*")), 2)?;
        match self.window.at(end)? {
            Some(b' ' | b'*' | b'"' | b'\'' | b'`') => {
                if self.beside_cell(kind, start, word_end)? {
                    return Ok(());
                }
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
                Some(b'[') if window.starts_with(open, b"[]byte(")? => {
                    return self.assigned_text(kind, Sign::Pair, open + 7);
                }
                Some(b'[') if window.at(open + 1)?.is_some_and(|b| b.is_ascii_digit()) => {
                    return self.array(open);
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
            if value.quoted && self.window.text[value.start] == b'[' {
                self.array(value.start)?;
            }
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
        if !OR.is_in(rest) {
            return Ok(());
        }
        let or = ALTERNATIVES.iter().find_map(|or| {
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
}

/// The name without `set` or `with`, where a call follows: what is given to it.
fn setter(name: &[u8], next: Option<u8>) -> &[u8] {
    if next != Some(b'(') {
        return name;
    }
    let member = name.iter().rposition(|&b| b == b'.').map_or(0, |i| i + 1);
    let rest = [&b"set"[..], b"with", b"Set", b"With"].iter().find_map(|s| name[member..].strip_prefix(*s));
    rest.filter(|r| r.first().is_some_and(|b| b.is_ascii_uppercase() || *b == b'_')).unwrap_or(name)
}

/// All bytes but these.
pub(crate) const fn not(bytes: &[u8]) -> ByteSet {
    ByteSet::of(bytes).complement()
}

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

/// The name whose value begins at `at`, as far as the common signs tell.
pub(crate) fn name_before(window: Window<'_>, at: usize) -> &[u8] {
    let before = window.back(at, 96);
    let signs = ByteSet::of(b" \t\\\"'`=:>(,[");
    let before = &before[..before.len() - signs.run_back(before)];
    &before[before.len() - NAME.run_back(before)..]
}

/// Whether the bytes under a key of this name, in a parsed document, are a secret: of which kind, behind how much of a
/// scheme, and where.
pub(crate) fn judge(name: &[u8], value: &[u8]) -> Option<(Kind, usize, Range<usize>)> {
    let kind = keys::classify(name)?;
    // Quotes inside quotes are none of it, as in text.
    let quote = |at: Option<&u8>| at.is_some_and(|b| QUOTES.has(*b));
    let start = usize::from(quote(value.first()));
    let end = value.len();
    let end = end - usize::from(end > start + 1 && quote(value.last()) && value[end - 2] != b'\\');
    let value = &value[start..end];
    let skip = scheme_len(value).unwrap_or(0);
    let kind = match kind {
        Kind::Authorization | Kind::Cookie if skip == 0 && kind == Kind::Authorization => Kind::Token,
        other => other,
    };
    worth(kind, &value[skip..], true).then_some((kind, skip, start + skip..end))
}

#[cfg(test)]
mod tests {
    use super::*;

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
