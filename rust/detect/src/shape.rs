//! Shapes: tokens described in their own vocabulary, such as `ghp_ alnum{36}`.
//!
//! A shape is a list of items matched left to right, each taking as much as it may, without going back: matching is
//! linear by construction. The grammar is in `rules/README.md`.

use crate::class::{self, ByteSet};
use crate::window::{Look, Window};

/// The longest run an open count such as `alnum{36,}` takes; longer runs are not tokens but data.
pub(crate) const OPEN: usize = 4096;

/// The shortest body that an ellipsis cuts off.
const CUT: usize = 10;

/// Whether something that stands for the rest begins at `at`.
fn is_ellipsis(window: Window<'_>, at: usize) -> Look<bool> {
    for sign in ["...", "…", "\\u2026", "***", "[...]", "<truncated", "[truncated"] {
        if window.starts_with(at, sign.as_bytes())? {
            return Ok(true);
        }
    }
    Ok(false)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// One of these literals, the longest first.
    Literal(Vec<Vec<u8>>),
    /// `min..=max` bytes of a set.
    Class { set: ByteSet, min: usize, max: usize },
    /// The secret part begins here.
    Open,
    /// The secret part ends here.
    Close,
}

/// A compiled shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) items: Vec<Item>,
    /// Literals in either case.
    pub(crate) any_case: bool,
}

/// Where a shape matched: the whole, and the part that is secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) secret: (usize, usize),
    /// Where the public prefix ends and the body begins.
    pub(crate) body: usize,
    /// The end of the text cut the token off.
    pub(crate) short: bool,
}

impl Shape {
    pub(crate) fn parse(text: &str, any_case: bool) -> Result<Self, String> {
        let items = parse_items(text)?;
        let shape = Self { items, any_case };
        shape.check()?;
        Ok(shape)
    }

    /// Refuses what could be read in two ways or would never match.
    fn check(&self) -> Result<(), String> {
        let solid: Vec<&Item> =
            self.items.iter().filter(|i| !matches!(i, Item::Open | Item::Close)).collect();
        if solid.is_empty() {
            return Err("the shape is empty".into());
        }
        for pair in solid.windows(2) {
            let Item::Class { set, min, max } = pair[0] else { continue };
            if min == max {
                continue;
            }
            let first = match pair[1] {
                Item::Class { set, .. } => *set,
                Item::Literal(words) => {
                    let bytes: Vec<u8> = words.iter().filter_map(|w| w.first().copied()).collect();
                    ByteSet::of(&bytes)
                }
                Item::Open | Item::Close => ByteSet::EMPTY,
            };
            if set.intersects(&first) {
                return Err(format!(
                    "an open count of {set:?} is followed by something that begins with one of its characters"
                ));
            }
        }
        let opens = self.items.iter().filter(|i| matches!(i, Item::Open)).count();
        let closes = self.items.iter().filter(|i| matches!(i, Item::Close)).count();
        if opens != closes || opens > 1 {
            return Err("'<' and '>' must stand once each".into());
        }
        Ok(())
    }

    /// The public literal the shape begins with; empty if it begins with a class or a choice.
    pub(crate) fn prefixes(&self) -> Vec<Vec<u8>> {
        let mut out = vec![vec![]];
        for item in &self.items {
            match item {
                Item::Literal(words) => {
                    out = out
                        .iter()
                        .flat_map(|p: &Vec<u8>| words.iter().map(move |w| [p.as_slice(), w].concat()))
                        .collect();
                }
                Item::Open | Item::Close => {}
                Item::Class { .. } => break,
            }
        }
        out
    }

    /// The first class item: what the body after the prefix is made of.
    pub(crate) fn first_class(&self) -> Option<(ByteSet, usize, usize)> {
        self.items.iter().find_map(|i| match i {
            Item::Class { set, min, max } => Some((*set, *min, *max)),
            _ => None,
        })
    }

    /// Every byte a match may have.
    pub(crate) fn bytes(&self) -> ByteSet {
        self.items.iter().fold(ByteSet::EMPTY, |all, item| match item {
            Item::Class { set, .. } => all.or(*set),
            Item::Literal(words) => words.iter().fold(all, |all, w| all.or(ByteSet::of(w))),
            Item::Open | Item::Close => all,
        })
    }

    /// Bytes the shortest match has.
    pub(crate) fn min_len(&self) -> usize {
        self.items
            .iter()
            .map(|i| match i {
                Item::Literal(words) => words.iter().map(Vec::len).min().unwrap_or(0),
                Item::Class { min, .. } => *min,
                Item::Open | Item::Close => 0,
            })
            .sum()
    }

    /// Bytes the longest match has.
    pub(crate) fn max_len(&self) -> usize {
        self.items
            .iter()
            .map(|i| match i {
                Item::Literal(words) => words.iter().map(Vec::len).max().unwrap_or(0),
                Item::Class { max, .. } => *max,
                Item::Open | Item::Close => 0,
            })
            .sum()
    }

    /// How many bytes of the token alphabet surely stand in a row from the beginning.
    pub(crate) fn first_run(&self) -> usize {
        let mut n = 0;
        for item in &self.items {
            match item {
                Item::Literal(words) => {
                    let runs: Vec<usize> = words.iter().map(|w| class::TOKEN.run(w)).collect();
                    n += runs.iter().min().copied().unwrap_or(0);
                    if words.iter().zip(&runs).any(|(w, &r)| r < w.len()) {
                        return n;
                    }
                }
                Item::Class { set, min, max } => {
                    if !set.is_subset(&class::TOKEN) {
                        return n;
                    }
                    n += min;
                    if min != max {
                        return n;
                    }
                }
                Item::Open | Item::Close => {}
            }
        }
        n
    }

    /// The length of every match, if it is one number and all of it is of the token alphabet.
    pub(crate) fn fixed_run(&self) -> Option<usize> {
        let token = self.items.iter().all(|i| match i {
            Item::Literal(words) => words.iter().all(|w| class::TOKEN.run(w) == w.len()),
            Item::Class { set, .. } => set.is_subset(&class::TOKEN),
            Item::Open | Item::Close => true,
        });
        (token && self.min_len() == self.max_len()).then(|| self.min_len())
    }

    /// Whether a literal of four bytes or more stands inside.
    pub(crate) fn has_inner_literal(&self) -> bool {
        self.items
            .iter()
            .skip(1)
            .any(|i| matches!(i, Item::Literal(words) if words.iter().all(|w| w.len() >= 4)))
    }

    /// The bytes after the shape's last class, or its own: a match must not be followed by one of these.
    fn last_set(&self) -> ByteSet {
        match self.items.iter().rev().find(|i| !matches!(i, Item::Open | Item::Close)) {
            Some(Item::Class { set, .. }) => *set,
            _ => class::ALNUM,
        }
    }

    /// Matches at `start`. With `short`, a token that the end of the text cuts off counts when at least four bytes
    /// of its body are there.
    #[inline]
    pub(crate) fn matches(&self, window: Window<'_>, start: usize, short: bool) -> Look<Option<Hit>> {
        let mut at = start;
        let mut secret = (start, 0);
        let mut body = None;
        for item in &self.items {
            match item {
                Item::Literal(words) => {
                    let mut next = None;
                    for word in words {
                        let here = if self.any_case {
                            window.starts_with_any_case(at, word)
                        } else {
                            window.starts_with(at, word)
                        }?;
                        if here {
                            next = Some(at + word.len());
                            break;
                        }
                    }
                    match next {
                        Some(next) => at = next,
                        None if short && at == window.text.len() && body.is_some_and(|b| at - b >= 4) => {
                            let secret = (secret.0, at);
                            return Ok(Some(Hit {
                                start,
                                end: at,
                                secret,
                                body: body.unwrap_or(at),
                                short: true,
                            }));
                        }
                        None => return Ok(None),
                    }
                }
                Item::Class { set, min, max } => {
                    let end = window.run(at, set, *max)?;
                    let body = *body.get_or_insert(at);
                    if end - at < *min {
                        if short && end - body >= 4 && end == window.text.len() {
                            return Ok(Some(Hit { start, end, secret: (secret.0, end), body, short: true }));
                        }
                        return Ok(None);
                    }
                    at = end;
                }
                Item::Open => secret.0 = at,
                Item::Close => secret.1 = at,
            }
        }
        if window.at(at)?.is_some_and(|b| self.last_set().has(b)) {
            return Ok(None);
        }
        if secret.1 == 0 {
            secret.1 = at;
        }
        Ok(Some(Hit { start, end: at, secret, body: body.unwrap_or(start), short: false }))
    }

    /// A token of this shape at `start` to which something was glued, or which an ellipsis cuts short: a prefix and a
    /// body, but not of its length. What is certainly of the token ends where `secret` does.
    pub(crate) fn altered(&self, window: Window<'_>, start: usize) -> Look<Option<Hit>> {
        let mut at = start;
        let mut secret = start;
        let mut items = self.items.iter();
        let (set, min) = loop {
            match items.next() {
                Some(Item::Literal(words)) => {
                    let mut word = None;
                    for w in words {
                        if window.starts_with(at, w)? {
                            word = Some(w.len());
                            break;
                        }
                    }
                    let Some(len) = word else { return Ok(None) };
                    at += len;
                }
                Some(Item::Open) => secret = at,
                Some(Item::Class { set, min, .. }) if set.is_subset(&class::TOKEN) => break (set, *min),
                _ => return Ok(None),
            }
        };
        if at - start < 3 || items.any(|i| !matches!(i, Item::Close)) {
            return Ok(None);
        }
        let body = at;
        let run = window.run(body, set, OPEN)?;
        let mut end = run;
        if end - body >= min {
            end = window.run(body, &class::TOKEN, OPEN)?;
        } else if end - body < CUT || !is_ellipsis(window, end)? {
            return Ok(None);
        }
        Ok(Some(Hit { start, end, secret: (secret, run), body, short: false }))
    }

    /// Writes a token of this shape; `draw(n)` gives a number below `n`.
    pub(crate) fn generate(&self, draw: &mut dyn FnMut(usize) -> usize) -> Vec<u8> {
        let mut out = vec![];
        for item in &self.items {
            match item {
                Item::Literal(words) => out.extend_from_slice(&words[draw(words.len())]),
                Item::Class { set, min, max } => {
                    let bytes: Vec<u8> = set.iter().collect();
                    // Open counts: a little above the least is what providers issue.
                    let n = min + draw((*max - *min).min(24) + 1);
                    out.extend((0..n).map(|_| bytes[draw(bytes.len())]));
                }
                Item::Open | Item::Close => {}
            }
        }
        out
    }

    /// The same shape as a regular expression, for the naive oracle and for reports.
    #[cfg(test)]
    pub(crate) fn to_regex(&self) -> String {
        use std::fmt::Write;
        let mut out = String::from(if self.any_case { "(?i)" } else { "" });
        let escape = |w: &[u8]| regex::escape(&String::from_utf8_lossy(w));
        for item in &self.items {
            match item {
                Item::Literal(words) => {
                    let words: Vec<String> = words.iter().map(|w| escape(w)).collect();
                    let _ = write!(out, "(?:{})", words.join("|"));
                }
                Item::Class { set, min, max } => {
                    out.push('[');
                    for b in set.iter() {
                        let _ = write!(out, "\\x{b:02x}");
                    }
                    let _ = write!(out, "]{{{min},{max}}}");
                }
                Item::Open => out.push_str("(?P<secret>"),
                Item::Close => out.push(')'),
            }
        }
        out
    }
}

fn parse_items(text: &str) -> Result<Vec<Item>, String> {
    let mut items = vec![];
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (item, used) = parse_item(rest)?;
        items.push(item);
        let after = &rest[used..];
        if !after.is_empty() && !after.starts_with(char::is_whitespace) {
            return Err(format!("expected a blank before {after:?}"));
        }
        rest = after.trim_start();
    }
    Ok(items)
}

fn parse_item(rest: &str) -> Result<(Item, usize), String> {
    if let Some(quoted) = rest.strip_prefix('\'') {
        let end = quoted.find('\'').ok_or_else(|| format!("a quote is not closed in {rest:?}"))?;
        return Ok((Item::Literal(vec![quoted[..end].into()]), end + 2));
    }
    if let Some((set, used)) = parse_set(rest)? {
        let close = rest[used..].find('}').ok_or_else(|| format!("'}}' is missing in {rest:?}"))? + used;
        let (min, max) = parse_count(&rest[used + 1..close])?;
        return Ok((Item::Class { set, min, max }, close + 1));
    }
    let word = &rest[..rest.find(char::is_whitespace).unwrap_or(rest.len())];
    let item = match word {
        "<" => Item::Open,
        ">" => Item::Close,
        _ => {
            let mut words: Vec<Vec<u8>> = match word.strip_prefix('(').and_then(|w| w.strip_suffix(')')) {
                Some(group) => group.split('|').map(|w| w.as_bytes().to_vec()).collect(),
                None => vec![word.as_bytes().to_vec()],
            };
            if word.contains(['{', '}']) {
                return Err(format!("{word:?} is neither a known alphabet with a count nor a literal"));
            }
            words.sort_by_key(|w| std::cmp::Reverse(w.len()));
            Item::Literal(words)
        }
    };
    Ok((item, word.len()))
}

/// An alphabet at the beginning of `rest` that a `{` follows.
fn parse_set(rest: &str) -> Result<Option<(ByteSet, usize)>, String> {
    let used = if rest.starts_with('[') {
        let mut escaped = false;
        let close = rest.char_indices().skip(1).find(|&(_, c)| {
            let end = c == ']' && !escaped;
            escaped = c == '\\' && !escaped;
            end
        });
        match close {
            Some((i, _)) => i + 1,
            None => return Ok(None),
        }
    } else {
        rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len())
    };
    if used == 0 || !rest[used..].starts_with('{') {
        return Ok(None);
    }
    let name = &rest[..used];
    let set = if name.starts_with('[') { class::bracket(name) } else { class::named(name) };
    set.map(|set| Some((set, used))).ok_or_else(|| format!("{name:?} is no known alphabet"))
}

fn parse_count(text: &str) -> Result<(usize, usize), String> {
    let number = |t: &str| t.parse::<usize>().map_err(|_| format!("{{{text}}} is no count"));
    let (min, max) = match text.split_once(',') {
        None => (number(text)?, number(text)?),
        Some((min, "")) => (number(min)?, OPEN),
        Some((min, max)) => (number(min)?, number(max)?),
    };
    if min > max || max > OPEN || max == 0 {
        return Err(format!("{{{text}}} must count up, to {OPEN} at most"));
    }
    Ok((min, max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::window::Cut;

    fn hit(shape: &str, text: &str) -> Option<(usize, usize)> {
        let shape = Shape::parse(shape, false).expect(shape);
        shape.matches(Window::whole(text.as_bytes()), 0, false).expect("whole").map(|h| h.secret)
    }

    #[test]
    fn matches_what_it_says() {
        assert_eq!(hit("ghp_ alnum{4}", "ghp_abcd"), Some((0, 8)));
        assert_eq!(hit("ghp_ alnum{4}", "ghp_abcd."), Some((0, 8)));
        assert_eq!(hit("ghp_ alnum{4}", "ghp_abcde"), None);
        assert_eq!(hit("ghp_ alnum{4}", "ghp_abc"), None);
        assert_eq!(hit("sk_ (live|test|) _ hex{2,}", "sk_live_0af-"), Some((0, 11)));
        assert_eq!(hit("https://h/ < alnum{3} > /x", "https://h/abc/x"), Some((10, 13)));
        assert_eq!(hit("'a b' [=]{0,2}", "a b="), Some((0, 4)));
    }

    #[test]
    fn refuses_what_is_unclear() {
        for bad in [
            "",
            "nope{3}",
            "alnum{3",
            "alnum{5,3}",
            "alnum{1,} a",
            "alnum{1,} digit{3}",
            "< a",
            "'a",
            "alnum{x}",
            "alnum{9999}",
            "[z-a]{3}",
        ] {
            assert!(Shape::parse(bad, false).is_err(), "{bad}");
        }
    }

    #[test]
    fn cut_is_not_guessed() {
        let shape = Shape::parse("ghp_ alnum{4}", false).expect("parses");
        for n in 0..=8 {
            let window = Window { ended: false, ..Window::whole(&b"ghp_abcd"[..n]) };
            assert_eq!(shape.matches(window, 0, true), Err(Cut), "{n}");
        }
        let text = b"ghp_abcd ";
        assert!(
            shape
                .matches(Window { ended: false, ..Window::whole(text) }, 0, true)
                .expect("decided")
                .is_some()
        );
        let text = b"ghp_abcd";
        assert!(shape.matches(Window::whole(&text[..7]), 0, false).expect("decided").is_none());
    }
}
