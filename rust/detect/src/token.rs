//! Tokens that their own form gives away: public prefixes, and alphabets with a context word before them.

use crate::class::{ByteSet, DIGIT, SPACE, TOKEN};
use crate::decoy;
use crate::engine::{Candidate, Scan};
use crate::index::{self, NEAR, RUN};
use crate::random;
use crate::rule::ShapeRule;
use crate::shape::{Hit, OPEN};
use crate::window::{Look, Window};

/// What tokens without a prefix may be made of beside the characters of runs.
pub(crate) const WIDE: ByteSet = TOKEN.or(ByteSet::of(b"+/.~^"));
/// What several parts are made of, and the signs between them.
const PARTS: ByteSet = WIDE.or(ByteSet::of(b":|*"));
/// The last of several parts is at least so long.
const PART: usize = 20;
/// How many bytes of a run are searched for a prefix after `-` or `_`.
const INNER: usize = 128;

impl Scan<'_, '_> {
    /// A run of token characters: is there a prefix, a context word, an encoded text?
    #[inline(never)]
    pub(crate) fn run(&mut self, start: usize, len: usize) -> Look<()> {
        let window = self.window;
        let end = if len > 0 { start + len } else { window.run(start, &TOKEN, OPEN)? };
        let escaped = start + escape_len(window, start);
        let mut found = self.prefixes(start, escaped, end)?;
        if let Some(rules) = self.engine.index.fixed.get(end - escaped).filter(|_| !found) {
            for &n in rules {
                found = found || self.shape(&self.engine.index.rules[usize::from(n)], escaped, true)?;
            }
        }
        // Also where a prefix was found: it may be the rest of a longer one, which takes more.
        found |= self.dotted(start)? || escaped > start && self.dotted(escaped)?;
        if self.depth == 0 || !found {
            self.wrapped(start, escaped, end, found)?;
        }
        if !found {
            found = self.near(escaped, end)?;
        } else if end - escaped == 20 {
            self.aws_secret(escaped, end)?;
        }
        let account = &window.text[escaped..end];
        if let [a, b, c, d, ..] = account
            && [a, b].iter().all(|x| x.is_ascii_alphabetic())
            && [c, d].iter().all(|x| x.is_ascii_digit())
        {
            self.iban(escaped)?;
        }
        if !found && self.depth < 2 {
            self.encoded(escaped, end)?;
        }
        Ok(())
    }

    /// Tokens with a prefix in the run `start..end`: at its beginning, where its escape ends, after `-` and `_`, and
    /// where another token ends.
    fn prefixes(&mut self, start: usize, escaped: usize, end: usize) -> Look<bool> {
        let mut found = false;
        let mut at = start;
        let mut first = true;
        let mut last = start + INNER;
        loop {
            if self.engine.index.may_be_inside(self.window.text, at) && self.prefix(at, first)? {
                found = true;
                first = true;
                let mut next = self.out.last().map_or(end, |c| c.end).max(at + 1);
                // The first letters of another token's prefix may be the last that this one took.
                if matches!(self.window.text.get(next), Some(b'_' | b'-')) {
                    for back in 2..=4 {
                        if next - back > at && self.prefix(next - back, true)? {
                            next = self.out.last().map_or(end, |c| c.end).max(next);
                            break;
                        }
                    }
                }
                at = next + usize::from(matches!(self.window.text.get(next), Some(b'-' | b'_')));
                last = at + INNER;
            } else {
                let jump = at == start && escaped > start;
                at = if jump {
                    escaped
                } else {
                    let rest = &self.window.text[at.min(end)..last.min(end).max(at.min(end))];
                    match memchr::memchr2(b'-', b'_', rest) {
                        Some(i) => at + i + 1,
                        None => return Ok(found),
                    }
                };
                // Weak prefixes count where the word begins: after an escape, or after dashes that lead it.
                first = jump || self.window.text[start..at].iter().all(|&b| b == b'-' || b == b'_');
            }
            if at + RUN > end {
                return Ok(found);
            }
        }
    }

    /// The last word of a text may be a token that was cut short before it became a run.
    pub(crate) fn last_word(&mut self) {
        let text = self.window.text;
        let start = text.len() - TOKEN.run_back(&text[text.len().saturating_sub(RUN)..]);
        let len = text.len() - start;
        if len < RUN && len > 6 && (start == 0 || !TOKEN.has(text[start - 1])) {
            let escaped = start + escape_len(self.window, start);
            let _ = self.prefix(escaped, true);
        }
    }

    /// Rules whose prefix begins at `at`. `first`: the run begins here, so that weak prefixes count too.
    #[inline(never)]
    fn prefix(&mut self, at: usize, first: bool) -> Look<bool> {
        let engine = self.engine;
        let before = self.out.len();
        for (n, _) in engine.index.inside(self.window.text, at) {
            self.shape(&engine.index.rules[usize::from(n)], at, first)?;
        }
        if self.out.len() > before {
            // The one that takes most: what is a token to one rule may be the beginning of another's.
            let better = |a: Candidate, b: Candidate| if (b.end, b.rank) > (a.end, a.rank) { b } else { a };
            let best = self.out.drain(before..).reduce(better);
            self.out.extend(best);
            return Ok(true);
        }
        if first {
            for (n, _) in engine.index.inside(self.window.text, at) {
                if self.altered(&engine.index.rules[usize::from(n)], at)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Rules whose prefix ends before the run at `at`, such as `SG.`.
    #[inline(never)]
    fn dotted(&mut self, at: usize) -> Look<bool> {
        let engine = self.engine;
        for (n, start) in engine.index.before(self.window.text, at) {
            let rule = &engine.index.rules[usize::from(n)];
            let glued = self.window.text[start].is_ascii_alphanumeric();
            if glued && self.window.before(start).is_some_and(|b| b.is_ascii_alphanumeric()) {
                let before = self.window.back(start, OPEN);
                let word = &before[before.len() - TOKEN.run_back(before)..];
                // Behind an escape, or glued to another token.
                let escaped = escape_len(self.window, start - word.len()) == word.len();
                if !escaped && (word.len() < RUN || !random::is_random(word)) {
                    continue;
                }
            }
            if self.shape(rule, start, true)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Rules whose prefix begins the word at `at`.
    #[inline(never)]
    pub(crate) fn literal(&mut self, at: usize) -> Look<()> {
        let window = self.window;
        // The escape that the word goes after: its own backslash leads here, or the word begins with its letter.
        let led = usize::from(window.text[at] == b'\\');
        let after = at + led + escape_len(window, at + led);
        self.begins_at(at)?;
        if after > at { self.begins_at(after) } else { Ok(()) }
    }

    #[inline]
    fn begins_at(&mut self, at: usize) -> Look<()> {
        let engine = self.engine;
        for (n, at) in engine.index.literal(self.window.text, at) {
            if n == index::LEAD {
                self.lead(at)?;
                continue;
            }
            if self.shape(&engine.index.rules[usize::from(n)], at, true)? {
                break;
            }
        }
        Ok(())
    }

    /// One rule at one place.
    pub(crate) fn shape(&mut self, rule: &ShapeRule, at: usize, first: bool) -> Look<bool> {
        let window = self.window;
        let Some(hit) = rule.shape.matches(window, at, window.last)? else { return Ok(false) };
        if !first && hit.body - hit.start < 4 || !rule.near.is_empty() && !self.context(rule, at) {
            return Ok(false);
        }
        if !accepts(rule, window.text, &hit) {
            return Ok(false);
        }
        self.push_hit(rule.rule, rule.rank, &hit);
        Ok(true)
    }

    /// A token whose length is not the rule's: something was glued to it, or an ellipsis cuts it short.
    fn altered(&mut self, rule: &ShapeRule, at: usize) -> Look<bool> {
        if !rule.secret || !rule.near.is_empty() {
            return Ok(false);
        }
        let Some(hit) = rule.shape.altered(self.window, at)? else { return Ok(false) };
        // In the midst of encoded data anything may look like a prefix.
        let data = |b: Option<u8>| b.is_some_and(|b| matches!(b, b'/' | b'+'));
        if data(self.window.before(hit.start)) || data(self.window.at(hit.end)?) {
            return Ok(false);
        }
        let body = &self.window.text[hit.body..hit.secret.1.min(hit.body + 64)];
        let found = !decoy::is_stand_in(body) && random::is_random(body);
        if found {
            self.push_hit(rule.rule, rule.rank, &Hit { secret: (hit.secret.0, hit.end), ..hit });
        }
        Ok(found)
    }

    /// Whether one of the rule's words stands before `at`.
    fn context(&mut self, rule: &ShapeRule, at: usize) -> bool {
        let context = self.window.back(at, NEAR);
        rule.near.iter().any(|word| decoy::contains_any_case(context, word.as_bytes()))
    }

    /// Tokens with no prefix, known by their length, their alphabet and a word before them.
    #[inline(never)]
    pub(crate) fn near(&mut self, start: usize, end: usize) -> Look<bool> {
        let window = self.window;
        let near = &self.engine.index.near;
        let wide = |b: u8| matches!(b, b'+' | b'/' | b'.' | b'~' | b'^');
        let next = window.at(end)?;
        let (mut from, mut long) = (start, end - start);
        if window.before(start).is_some_and(wide) || next.is_some_and(|b| wide(b) || b == b'=') {
            // The token may have begun before the run, and go on after it, with characters that are in no run.
            from -= WIDE.run_back(window.back(start, 64));
        }
        if !introduced(window, from) {
            return Ok(false);
        }
        let kinds = index::features(&window.text[start..end]);
        // Every token here has a digit: it must look random.
        if kinds & 1 == 0 {
            return Ok(false);
        }
        if from < start || next.is_some_and(|b| wide(b) || b == b'=') {
            long = window.run(end, &WIDE.or(ByteSet::of(b"=")), 512)? - from;
        }
        // Two parts with a sign between them: an id and its secret.
        let mut pair = long;
        if matches!(window.at(from + long)?, Some(b':' | b'|')) {
            pair = window.run(from + long, &WIDE.or(ByteSet::of(b"=:|")), 512)? - from;
        }
        let token = &window.text[from..from + long];
        let (left, right) = (&window.text[from..start], &window.text[end..from + long]);
        let wider = || kinds | index::features(left) | index::features(right);
        let whole = (long > end - start).then(|| near.takes(long, wider())).flatten();
        let short = near.takes(end - start, kinds);
        let both = || near.takes(pair, index::features(&window.text[from..from + pair]));
        let both = (pair > long).then(both).flatten();
        // The same, where the run is the last of the parts.
        let (mut first, mut last) = (from, None);
        if end - start >= PART && matches!(window.before(from), Some(b':' | b'|')) {
            (first, last) = self.last_part(from, from + long);
        }
        let Some(plain) = short.max(whole).max(both).max(last) else { return Ok(false) };
        let mut words = std::mem::take(&mut self.words);
        let context = first.saturating_sub(NEAR);
        near.words_in(&window.text[context..], from + 1 - context, &mut words);
        let random =
            || random::is_random(token) || long > end - start && random::is_random(&window.text[start..end]);
        // Few contexts have a word: asked first, as it costs less than to look at the token.
        if words.is_empty() || !plain && !random() {
            self.words = words;
            return Ok(false);
        }
        self.words = words;
        self.nearest([first, from, start], [end, from + long, from + pair])
    }

    /// Where the parts begin of which `from..end` is the last, and whether a rule takes them all: see [`index::Near::takes`].
    #[inline(never)]
    fn last_part(&self, from: usize, end: usize) -> (usize, Option<bool>) {
        let window = self.window;
        let first = from - PARTS.run_back(window.back(from, 128));
        let near = &self.engine.index.near;
        (first, near.takes(end - first, index::features(&window.text[first..end])))
    }

    /// The surest rule, of those with a word before the token, that takes one beginning at one of `starts`: the whole
    /// before a part, as what begins in the run may be the rest of what began before it.
    #[inline(never)]
    fn nearest(&mut self, starts: [usize; 3], ends: [usize; 3]) -> Look<bool> {
        let window = self.window;
        let near = &self.engine.index.near;
        let [first, from, start] = starts;
        let mut words = std::mem::take(&mut self.words);
        let lengths = [ends[0] - start, ends[1] - from, ends[2] - from, ends[1] - first];
        let context = first - own_context(window.back(first, NEAR)).len();
        near.words_in(&window.text[context..], from - context, &mut words);
        let mut best: Option<(u16, u8, Hit)> = None;
        for n in near.rules_for(&words, lengths) {
            let rule = &self.engine.index.rules[usize::from(n)];
            for (n, at) in starts.into_iter().enumerate() {
                if n > 0 && at == starts[n - 1] {
                    continue;
                }
                let free = at != start
                    || at == from && first < from
                    || window.before(at).is_none_or(|b| !b.is_ascii_alphanumeric() && b != b'/')
                    || escape_len(window, at - 1) > 0;
                if !free || best.as_ref().is_some_and(|b| b.1 > rule.rank) {
                    continue;
                }
                if let Some(hit) =
                    rule.shape.matches(window, at, false)?.filter(|h| accepts(rule, window.text, h))
                    && best
                        .as_ref()
                        .is_none_or(|b| (rule.rank, hit.end - hit.start) > (b.1, b.2.end - b.2.start))
                {
                    best = Some((rule.rule, rule.rank, hit));
                }
            }
        }
        self.words = words;
        if let Some((rule, rank, hit)) = &best {
            self.push_hit(*rule, *rank, hit);
        }
        Ok(best.is_some())
    }
}

/// What prefixes and names of one's own begin with: `secret_redacted` is no token that was cut short.
const WORDS: &[&[u8]] = &[
    b"access_",
    b"access-",
    b"console-",
    b"local-",
    b"persona_",
    b"private_",
    b"sandbox_",
    b"secret_",
    b"secret-",
    b"standard_",
    b"token-",
];

/// Whether a matched token is one, beyond its form.
pub(crate) fn accepts(rule: &ShapeRule, text: &[u8], hit: &Hit) -> bool {
    let token = &text[hit.start..hit.end];
    let body = &text[hit.body.min(hit.secret.1).max(hit.secret.0)..hit.secret.1];
    if hit.short {
        let prefix = &text[hit.start..hit.body];
        let named = (prefix.len() >= 4
            || prefix.ends_with(b"_") && body.len() >= 12 && random::is_random(body))
            && crate::index::find(prefix, b"://").is_none();
        let mut parts = body.split(|b| *b == b'_');
        let told = !WORDS.iter().any(|word| prefix.starts_with(word)) || parts.any(random::is_random);
        return named && told && rule.near.is_empty() && !decoy::is_blank(body);
    }
    let mut random = rule.random;
    if let Some(check) = rule.check
        && !(check.verify)(token)
    {
        // With a public prefix a checksum only tells an issued token from an altered one, which is no less a leak.
        if hit.body - hit.start < 3 || !rule.secret {
            return false;
        }
        random = true;
    }
    if random { !decoy::is_stand_in(body) && random::is_random(body) } else { !decoy::is_blank(body) }
}

/// How many characters of a run belong to an escape sequence that began before it: `\n`, `\u0041`, `\x41`, `%2D`, colours.
pub(crate) fn escape_len(window: Window<'_>, start: usize) -> usize {
    match window.before(start) {
        Some(b'\\') => {}
        Some(b'[' | b';') => return color_len(window, start),
        Some(b'%') => {
            let digits = window.text.get(start..start + 2);
            return if digits.is_some_and(|d| d.iter().all(u8::is_ascii_hexdigit)) { 2 } else { 0 };
        }
        _ => return 0,
    }
    let hex = |n: usize| {
        let digits = window.text.get(start + 1..start + 1 + n);
        if digits.is_some_and(|d| d.iter().all(u8::is_ascii_hexdigit)) { n + 1 } else { 1 }
    };
    match window.text.get(start) {
        Some(b'u') => hex(4),
        Some(b'x') => hex(2),
        Some(b'n' | b'r' | b't' | b'b' | b'f' | b'v' | b'0' | b'e' | b'a') => 1,
        _ => 0,
    }
}

/// How many characters of a run belong to a terminal's colour code: `31m` after `ESC [`.
fn color_len(window: Window<'_>, start: usize) -> usize {
    let before = window.back(start, 24);
    let before = &before[..before.len() - ByteSet::of(b"0123456789;").run_back(before)];
    let Some(before) = before.strip_suffix(b"[") else { return 0 };
    let escape = [&b"\x1b"[..], b"u001b", b"u001B", b"x1b", b"x1B", b"033", b"\\e"]
        .iter()
        .any(|e| before.ends_with(e));
    let run = &window.text[start..];
    let digits = DIGIT.run(&run[..run.len().min(8)]);
    if escape && run.get(digits).is_some_and(u8::is_ascii_alphabetic) { digits + 1 } else { 0 }
}

/// The part of a token's context that is not another token's: what comes after the last of them, or after the
/// placeholder that took its place.
pub(crate) fn own_context(context: &[u8]) -> &[u8] {
    let mut at = 0;
    let mut from = 0;
    while at < context.len() {
        let run = TOKEN.run(&context[at..]);
        let token = &context[at..at + run];
        if run >= RUN && token.iter().filter(|b| b.is_ascii_digit()).count() >= 3
            || token.ends_with(b"REDACTED") && context.get(at + run) == Some(&b']')
        {
            from = at + run;
        }
        at += run.max(1);
    }
    &context[from..]
}

/// Whether something that assigns or names stands before a bare token: `=`, `:`, a quote, a comma, a tag, a flag.
fn introduced(window: Window<'_>, start: usize) -> bool {
    let before = window.back(start, NEAR);
    let before = &before[..before.len() - ByteSet::of(b"\\\"'`").or(SPACE).run_back(before)];
    match before.last() {
        None => false,
        Some(b'=' | b':' | b'>' | b',' | b'|') => true,
        // A bare word in brackets is a name; a string may be a token.
        Some(b'(' | b'[' | b'{') => matches!(window.before(start), Some(b'"' | b'\'' | b'`')),
        // A name and a blank: a word, not another number.
        Some(_) => {
            let word = &before[before.len() - TOKEN.run_back(before).min(8)..];
            word.len() >= 2
                && !word.iter().any(u8::is_ascii_digit)
                && before.len() < window.back(start, NEAR).len()
        }
    }
}
