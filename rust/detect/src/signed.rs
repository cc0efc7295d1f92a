//! Base64 whose `+` and `/` leave no run of token characters long enough to be looked at: found by the key word before it.

use crate::assign::{BLANK, QUOTES, not};
use crate::class::{ByteSet, TOKEN};
use crate::engine::Scan;
use crate::index::{self, NEAR, RUN};
use crate::random;
use crate::token::{WIDE, accepts, own_context};
use crate::window::Look;

/// The shortest base64 that a rule takes.
const LEAST: usize = 20;
const MOST: usize = 512;
/// What an array of numbers is made of.
const NUMBERS: ByteSet = ByteSet::of(b"0123456789, ");
/// The longest token with signs of all kinds.
const DRAWN: usize = 64;

impl Scan<'_, '_> {
    /// The name of no secret ends at `end`: the token behind its sign, if a rule knows it by a word before.
    #[inline(never)]
    pub(crate) fn signed(&mut self, end: usize) -> Look<()> {
        let window = self.window;
        if !matches!(window.at(end)?, Some(b'=' | b':' | b'"' | b'\'' | b'\\' | b' ')) {
            return Ok(());
        }
        let close = match window.text[end] {
            b'=' | b':' => end,
            _ => window.run(end, &QUOTES.or(ByteSet::of(b"\\")), 4)?,
        };
        let sign = if window.at(close)? == Some(b' ') { window.run(close, &BLANK, 4)? } else { close };
        if !window.at(sign)?.is_some_and(|b| b == b'=' || b == b':') {
            return Ok(());
        }
        let start = window.run(window.run(sign + 1, &BLANK, 4)?, &ByteSet::of(b"\\"), 4)?;
        let start = start + usize::from(window.at(start)?.is_some_and(|b| QUOTES.has(b)));
        if window.at(start)? == Some(b'[') && window.at(start + 1)?.is_some_and(|b| NUMBERS.has(b)) {
            return self.array(start);
        }
        // Signs that a bare token would not have: all up to the quote.
        if let Some(quote) = window.before(start).filter(|b| QUOTES.has(*b)) {
            let stop = window.run(start, &not(&[quote, b'\n']), DRAWN + 1)?;
            let stop = stop - ByteSet::of(b"\\").run_back(&window.text[start..stop]);
            if (start + LEAST..=start + DRAWN).contains(&stop)
                && index::features(&window.text[start..stop]) & index::OTHERS != 0
            {
                return self.known_by_word(start, stop);
            }
        }
        let first = window.run(start, &TOKEN, RUN)?;
        // Letters alone are as often words.
        if first - start >= RUN && !window.text[start..first].iter().any(u8::is_ascii_digit) {
            let stop = window.run(start, &WIDE, MOST)?;
            return if random::is_random(&window.text[start..stop]) {
                self.known_by_word(start, stop)
            } else {
                Ok(())
            };
        }
        if first - start >= RUN || !window.at(first)?.is_some_and(|b| b == b'+' || b == b'/') {
            return Ok(());
        }
        let stop = window.run(start, &WIDE.or(ByteSet::of(b"=")), MOST)?;
        let token = &window.text[start..stop];
        if token.len() < LEAST
            || token.split(|b| !TOKEN.has(*b)).any(|piece| piece.len() >= RUN)
            || !random::is_random(token)
        {
            return Ok(());
        }
        self.known_by_word(start, stop)
    }

    /// An array of numbers, as some wallets keep a key: `keypair = [12, 34, …]`.
    pub(crate) fn array(&mut self, start: usize) -> Look<()> {
        let end = self.window.run(start + 1, &NUMBERS, MOST)?;
        if end - start > LEAST { self.known_by_word(start, end + 1) } else { Ok(()) }
    }

    /// The token `start..stop`, if a rule takes it for a word before it.
    fn known_by_word(&mut self, start: usize, stop: usize) -> Look<()> {
        let window = self.window;
        let Some(token) = window.text.get(start..stop) else { return Ok(()) };
        let near = &self.engine.index.near;
        if near.takes(token.len(), index::features(token)).is_none() {
            return Ok(());
        }
        let mut words = std::mem::take(&mut self.words);
        let context = start - own_context(window.back(start, NEAR)).len();
        near.words_in(&window.text[context..], start - context, &mut words);
        let mut best = None;
        for n in near.rules_for(&words, [token.len(); 4]) {
            let rule = &self.engine.index.rules[usize::from(n)];
            if best.as_ref().is_none_or(|&(_, rank, _)| rank < rule.rank)
                && let Some(hit) =
                    rule.shape.matches(window, start, false)?.filter(|h| accepts(rule, window.text, h))
            {
                best = Some((rule.rule, rule.rank, hit));
            }
        }
        self.words = words;
        if let Some((rule, rank, hit)) = &best {
            self.push_hit(*rule, *rank, hit);
        }
        Ok(())
    }
}
