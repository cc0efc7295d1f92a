//! Words of their own for who logs in: SQL, protocols of lines, `.netrc`, login modules of Java, wallets.

use crate::assign::{BLANK, NAME, QUOTES, VALUE_MAX, not};
use crate::authorization::TOKEN68;
use crate::chosen;
use crate::class::{ALNUM, ByteSet, SPACE};
use crate::engine::Scan;
use crate::keys::{self, Kind};
use crate::rule::rank;
use crate::sign::Sign;
use crate::value::Value;
use crate::window::Look;
use crate::worth::has_digit_or_mixed;

impl Scan<'_, '_> {
    /// `IDENTIFIED BY 'x'`, `IDENTIFIED WITH y BY 'x'`.
    pub(crate) fn identified(&mut self, end: usize) -> Look<()> {
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
    pub(crate) fn mnemonic(&mut self, start: usize, end: usize) -> Look<()> {
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
    pub(crate) fn logged_in(&mut self, start: usize, end: usize) -> Look<bool> {
        let window = self.window;
        let before = window.back(start, 48);
        let line = memchr::memrchr(b'\n', before).map_or(before, |i| &before[i + 1..]);
        let prompt = line.ends_with(b"> ") || line.ends_with(b"redis-cli ");
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
        if !fits || window.at(stop)?.is_some_and(|b| !matches!(b, b'\r' | b'\n') && !prompt) {
            return Ok(false);
        }
        self.judge(Kind::Password, Sign::Blank, Value { start: second, end: stop, quoted: false });
        Ok(true)
    }

    /// `"AUTH" "x"`, `"AUTH" "user" "x"`: what the monitor of Redis prints.
    pub(crate) fn monitored(&mut self, end: usize) -> Look<bool> {
        let window = self.window;
        let mut last = None;
        let mut at = end;
        for _ in 0..2 {
            if !window.starts_with(at, b"\" \"")? {
                break;
            }
            let Some(value) = self.value(Sign::Pair, at + 2)? else { break };
            at = value.end;
            last = Some(value);
        }
        if let Some(value) = last {
            self.judge(Kind::Password, Sign::Pair, value);
        }
        Ok(last.is_some())
    }

    /// The options of a login module of Java: `required username="a" user_bob="x";`.
    pub(crate) fn jaas(&mut self, end: usize) -> Look<()> {
        let window = self.window;
        let mut at = end;
        for _ in 0..64 {
            at = window.run(at, &SPACE.or(ByteSet::of(b"\\")), 64)?;
            let name = window.run(at, &NAME, 64)?;
            let option = &window.text[at..name];
            at = name;
            if window.at(name)? == Some(b'=') {
                let Some(value) = self.value(Sign::Assign, name + 1)? else { break };
                let secret = option.starts_with(b"user_") || keys::classify(option) == Some(Kind::Password);
                if secret {
                    self.judge(Kind::Password, Sign::Assign, value);
                }
                at = value.end + usize::from(value.quoted);
            } else if option.is_empty() {
                break;
            }
        }
        Ok(())
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
}
