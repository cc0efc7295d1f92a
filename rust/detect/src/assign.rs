//! `name = value` in the notations people use: env, INI, YAML, JSON, XML, HCL, code, flags, headers, query strings.
//!
//! The name is read around the key word that triggered; then the signs between, then the value. Values are judged by
//! what the name promises (`keys.rs`) and by what they are not: references, types, sentences, paths (`decoy.rs`).

use std::sync::LazyLock;

use std::ops::Range;

use crate::authorization::{TOKEN68, scheme_len};
use crate::chosen;
use crate::class::{ALNUM, ALPHA, ByteSet, SPACE};
use crate::decoy;
use crate::engine::Scan;
use crate::keys::{self, Kind};
use crate::lexicon::Lexicon;
use crate::rule::rank;
use crate::sign::{Sign, sign_may_follow};
use crate::token::escape_len;
use crate::value::Value;
use crate::window::{Look, Window};
use crate::worth::{COMMON, PRIMITIVES, has_digit_or_mixed, is_sentence, worth};

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
        let Some(named) = keys::begins(letters).filter(|_| at >= self.key_end) else { return Ok(()) };
        if !named && (self.connection(at)? || self.foreign(at)?) {
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

    /// `new NetworkCredential("user", "password")`: the second string is the password.
    pub(crate) fn second_argument(&mut self, end: usize) -> Look<()> {
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

    /// `login x password y` of `.netrc` and its like: a name stands between the two words.
    pub(crate) fn logs_in(&self, start: usize, kind: Kind) -> bool {
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
