//! Passwords in sentences, and the words that other languages have for them.
//!
//! Sentences about passwords are many and passwords in sentences few: what stands there must look like one.

use std::sync::LazyLock;

use crate::assign::{BLANK, QUOTES, not};
use crate::chosen;
use crate::class::{ALPHA, ByteSet};
use crate::engine::Scan;
use crate::keys::Kind;
use crate::lexicon::Lexicon;
use crate::sign::Sign;
use crate::value::Value;
use crate::window::{Look, Window};

/// How far from its name a value may stand in a sentence.
const REACH: usize = 64;

/// What tells the value in a sentence, after the name.
const TELLS: &[&str] =
    &[" is ", " is: ", " to ", " to: ", ": ", " = ", " ist ", " lautet ", " est ", " es ", " é ", " è "];
/// The same, where nothing stands between it and the name.
const JOINS: &[&str] = &[" - ", " – ", " -> ", " => ", " → ", " "];

/// Words for a password that no key word above is part of, by four bytes in them, and how far those are from the
/// beginning.
pub(crate) const WORDS: &[(&str, [u8; 4], usize)] = &[
    ("contraseña", *b"se\xC3\xB1", 6),
    ("senha", *b"enha", 1),
    ("kennwort", *b"nwor", 3),
    ("wachtwoord", *b"htwo", 3),
    ("hasło", *b"s\xC5\x82o", 2),
    ("şifre", *b"\xC5\x9Fif", 0),
    ("пароль", *b"\xD0\xBB\xD1\x8C", 8),
    ("密码", *b"\xE5\xAF\x86\xE7", 0),
    ("密碼", *b"\xE5\xAF\x86\xE7", 0),
    ("口令", *b"\xE5\x8F\xA3\xE4", 0),
    ("パスワード", *b"\xE3\x83\x91\xE3", 0),
    ("비밀번호", *b"\xEB\xB9\x84\xEB", 0),
];

/// What other scripts put between a name and its value beside the signs of ASCII: 是, 为, は and their like.
const PARTICLES: &[&str] = &["：", "＝", "是", "为", "為", "は", "는", "은", "가"];

static TELLING: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::new(TELLS));

impl Scan<'_, '_> {
    /// A sentence after a name that ends at `end`, at `word_end` with its quote: the value that it tells.
    pub(crate) fn told(&mut self, kind: Kind, word_end: usize) -> Look<()> {
        let window = self.window;
        let line = window.run(word_end, &not(b"\n\r"), REACH)?;
        let rest = &window.text[word_end..line];
        // Nothing but words before the sign, perhaps in brackets.
        let words = ALPHA.or(ByteSet::of(b" ()'\"@%_-")).run(rest);
        if !TELLING.is_in(rest.get(..words + 16).unwrap_or(rest)) {
            return self.joined_by(kind, word_end, rest);
        }
        let near =
            |tell: &&str| crate::index::find(&rest[..(words + tell.len()).min(rest.len())], tell.as_bytes());
        // "was changed to", "has been set to"
        let done = |i: usize| rest[..i].ends_with(b"set") || rest[..i].ends_with(b"changed");
        let told = TELLS.iter().filter_map(|t| near(t).map(|i| (i, t)));
        let told = told.filter(|(i, t)| done(*i) || !t.starts_with(" to"));
        // "is generated for root: x": the first word that tells may tell of something else.
        let ends = told.fold(None, |ends: Option<[(usize, &&str); 2]>, tell| {
            let [first, last] = ends.unwrap_or([tell; 2]);
            Some([first.min(tell), last.max(tell)])
        });
        for (i, tell) in ends.into_iter().flatten() {
            if self.tell(kind, word_end + i + tell.len(), i == 0, *tell == " is ")? {
                return Ok(());
            }
        }
        self.joined_by(kind, word_end, rest)
    }

    /// `password, V` and the like.
    fn joined_by(&mut self, kind: Kind, word_end: usize, rest: &[u8]) -> Look<()> {
        if let Some(join) = JOINS.iter().find(|j| rest.starts_with(j.as_bytes())) {
            self.tell(kind, word_end + join.len(), false, false)?;
        }
        Ok(())
    }

    /// The value that a sentence tells at `at`. `next`: the telling word follows the name at once. `is`: it is that
    /// word, behind which a quoted text is meant.
    fn tell(&mut self, kind: Kind, at: usize, next: bool, is: bool) -> Look<bool> {
        let window = self.window;
        let at = window.run(at, &BLANK, 64)?;
        let open = window.run(at, &ByteSet::of(b"\\"), 4)?;
        if window.at(open)?.is_some_and(|b| QUOTES.has(b)) {
            let Some(value) = self.value(Sign::Pair, at)? else { return Ok(false) };
            let word = &window.text[value.start..value.end];
            if next || is || chosen::may_be(word) {
                self.judge(kind, Sign::Pair, value);
            }
            return Ok(true);
        }
        let stop = window.run(at, &not(b" \t\r\n\"'`\\<>"), 128)?;
        let end = stop - ByteSet::of(b".,;:!?)*").run_back(&window.text[at..stop]);
        // An exclamation mark may be of the password: a sentence that ends in one after it says so.
        let end = if window.text.get(end) == Some(&b'!') && stop > end { end + 1 } else { end };
        let word = &window.text[at..end];
        let fits = match kind {
            Kind::Password if next => chosen::may_be(word),
            Kind::Password => chosen::is(word),
            _ => word.len() >= 16 && chosen::is(word),
        };
        if fits {
            self.judge(kind, Sign::Assign, Value { start: at, end, quoted: false });
        }
        Ok(fits)
    }

    /// A word for a password in another script or language may have its four bytes at `at`.
    pub(crate) fn foreign(&mut self, at: usize) -> Look<bool> {
        let window = self.window;
        for &(word, bytes, back) in WORDS {
            if !window.text[at..].iter().zip(bytes).all(|(a, b)| a.to_ascii_lowercase() == b) {
                continue;
            }
            let Some(start) = at.checked_sub(back) else { continue };
            if same(window, start, word)? {
                let end = start + word.len();
                self.key_end = end;
                self.foreign_value(end)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What follows a foreign word: a sign and a value, or a sentence.
    fn foreign_value(&mut self, end: usize) -> Look<()> {
        let window = self.window;
        let quoted = window.run(end, &ByteSet::of(b"\"'\\*"), 4)?;
        let at = window.run(quoted, &BLANK, 4)?;
        if window.at(at)?.is_some_and(|b| b == b':' || b == b'=') {
            return self.foreign_word(at + 1);
        }
        for particle in PARTICLES {
            if window.starts_with(at, particle.as_bytes())? {
                let mut after = at + particle.len();
                while window.starts_with(after, "：".as_bytes())? {
                    after += 3;
                }
                return self.foreign_word(after);
            }
        }
        self.told(Kind::Password, end)
    }

    /// A value among words of another script: it ends where the script goes on.
    fn foreign_word(&mut self, at: usize) -> Look<()> {
        let window = self.window;
        let at = window.run(at, &BLANK, 16)?;
        let open = window.run(at, &ByteSet::of(b"\\"), 4)?;
        if window.at(open)?.is_some_and(|b| QUOTES.has(b)) {
            return self.assigned(Kind::Password, Sign::Pair, at);
        }
        let visible = ByteSet::of(b" \t\r\n\"'`\\<>,;").complement();
        let stop = window.run(at, &visible, 128)?;
        let word = &window.text[at..stop];
        let ascii = word.iter().position(|b| *b >= 0x80).unwrap_or(word.len());
        let end = at + ascii - ByteSet::of(b".:)").run_back(&word[..ascii]);
        let word = &window.text[at..end];
        if chosen::may_be(word) || word.len() >= 4 && word.iter().all(u8::is_ascii_digit) {
            self.judge(Kind::Password, Sign::Assign, Value { start: at, end, quoted: false });
        }
        Ok(())
    }
}

/// Whether `word` stands at `at`; ASCII letters in either case, and `П` for `п`.
fn same(window: Window<'_>, at: usize, word: &str) -> Look<bool> {
    for (i, &b) in word.as_bytes().iter().enumerate() {
        let Some(here) = window.at(at + i)? else { return Ok(false) };
        let capital = word.starts_with('п') && i == 1 && here == 0x9F;
        if !here.eq_ignore_ascii_case(&b) && !capital {
            return Ok(false);
        }
    }
    Ok(true)
}
