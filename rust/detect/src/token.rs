//! Tokens that their own form gives away: public prefixes, and alphabets with a context word before them.

use crate::class::{ByteSet, DIGIT, SPACE, TOKEN};
use crate::decoy;
use crate::engine::Scan;
use crate::index::{self, NEAR, RUN};
use crate::random;
use crate::rule::ShapeRule;
use crate::shape::{Hit, OPEN};
use crate::window::{Look, Window};

/// What a wrapped token may be made of, piece by piece.
const VISIBLE: ByteSet = TOKEN.or(ByteSet::of(b"+/=.~:$!@"));
/// What tokens without a prefix may be made of beside the characters of runs.
const WIDE: ByteSet = TOKEN.or(ByteSet::of(b"+/.~"));
/// Pieces of a wrapped token, and bytes in all.
const PIECES: usize = 12;
const JOINED: usize = 2048;
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
        for (n, _) in engine.index.inside(self.window.text, at) {
            let rule = &engine.index.rules[usize::from(n)];
            if self.shape(rule, at, first)? {
                return Ok(true);
            }
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
        let wide = |b: u8| matches!(b, b'+' | b'/' | b'.' | b'~');
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
        let Some(plain) = short.max(whole).max(both) else { return Ok(false) };
        let mut words = std::mem::take(&mut self.words);
        let context = from.saturating_sub(NEAR);
        near.words_in(&window.text[context..], from + 1 - context, &mut words);
        let random =
            || random::is_random(token) || long > end - start && random::is_random(&window.text[start..end]);
        // Few contexts have a word: asked first, as it costs less than to look at the token.
        if words.is_empty() || !plain && !random() {
            self.words = words;
            return Ok(false);
        }
        let context = own_context(window.back(from, NEAR));
        near.words_in(context, context.len(), &mut words);
        let mut best: Option<(u16, u8, Hit)> = None;
        for n in near.rules_for(&words, [end - start, long, pair]) {
            let rule = &self.engine.index.rules[usize::from(n)];
            // The whole before a part: what begins in the run may be the rest of what began before it.
            for at in [from, start] {
                let free = at != start
                    || window.before(at).is_none_or(|b| !b.is_ascii_alphanumeric() && b != b'/')
                    || escape_len(window, at - 1) > 0;
                if !free || best.as_ref().is_some_and(|b| b.1 >= rule.rank) {
                    continue;
                }
                if let Some(hit) =
                    rule.shape.matches(window, at, false)?.filter(|h| accepts(rule, window.text, h))
                {
                    best = Some((rule.rule, rule.rank, hit));
                }
                if from == start {
                    break;
                }
            }
        }
        self.words = words;
        if let Some((rule, rank, hit)) = &best {
            self.push_hit(*rule, *rank, hit);
        }
        Ok(best.is_some())
    }

    /// A token that a line break, or a `\n` of JSON, cut into pieces.
    #[inline(never)]
    fn wrapped(&mut self, start: usize, escaped: usize, end: usize, found: bool) -> Look<()> {
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

/// Whether a piece on the next line goes on with the token rather than with the text: not a plain word.
fn continues(piece: &[u8]) -> bool {
    piece.len() >= 8 && random::is_random(piece)
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

/// The part of a token's context that is not another token's: what comes after the last of them, or after the
/// placeholder that took its place.
fn own_context(context: &[u8]) -> &[u8] {
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
