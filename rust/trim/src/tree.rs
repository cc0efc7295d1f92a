//! JSON as a tree of spans: nothing is decoded, so numbers, escapes and duplicate keys stay as they were written.
//!
//! Reading is a loop with a stack of its own: no depth is too deep.

use std::borrow::Cow;
use std::ops::Range;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Number,
    /// `true`, `false`, `null`
    Word,
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) span: Range<usize>,
    /// The key it stands under, with its quotes; empty if under none.
    pub(crate) key: Range<usize>,
    pub(crate) parent: usize,
    /// Its values, in [`Tree::children`].
    pub(crate) inside: Range<usize>,
}

/// One document, or several one after another, which are the items of a root that is not written.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    pub(crate) children: Vec<usize>,
    /// Whether the root is not written: a document a line.
    pub(crate) lines: bool,
}

/// The root's number, and the parent of the root.
pub(crate) const ROOT: usize = 0;

impl Tree {
    /// Reads a text that is JSON throughout; `None` if it is not.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let mut nodes = vec![node(Kind::Array, 0..text.len(), 0..0, ROOT)];
        let mut open = ROOT;
        let mut at = blank(text, 0);
        while at < text.len() {
            if open == ROOT && nodes.len() > 1 {
                // Documents stand on lines of their own.
                let before = text[..at].iter().rev().take_while(|b| b.is_ascii_whitespace());
                if !before.into_iter().any(|&b| b == b'\n') {
                    return None;
                }
            }
            let mut key = 0..0;
            if nodes[open].kind == Kind::Object && text[at] != b'}' {
                key = at..string(text, at)?;
                at = blank(text, key.end);
                if text.get(at) != Some(&b':') {
                    return None;
                }
                at = blank(text, at + 1);
            }
            let number = nodes.len();
            let closes = match *text.get(at)? {
                b'{' => {
                    nodes.push(node(Kind::Object, at..at, key, open));
                    open = number;
                    at = blank(text, at + 1);
                    text.get(at) == Some(&b'}')
                }
                b'[' => {
                    nodes.push(node(Kind::Array, at..at, key, open));
                    open = number;
                    at = blank(text, at + 1);
                    text.get(at) == Some(&b']')
                }
                _ => {
                    let (kind, end) = scalar(text, at)?;
                    nodes.push(node(kind, at..end, key, open));
                    at = blank(text, end);
                    open != ROOT
                }
            };
            // After a value: what closes, and the comma before the next.
            let mut after_value = number + 1 == nodes.len() && open != number;
            let mut go = closes;
            while go && open != ROOT {
                let close = if nodes[open].kind == Kind::Object { b'}' } else { b']' };
                match text.get(at)? {
                    b',' if after_value => {
                        at = blank(text, at + 1);
                        if matches!(text.get(at)?, b'}' | b']') {
                            return None;
                        }
                        go = false;
                    }
                    b if *b == close => {
                        nodes[open].span.end = at + 1;
                        open = nodes[open].parent;
                        at = blank(text, at + 1);
                        after_value = true;
                    }
                    _ => return None,
                }
            }
        }
        if open != ROOT || nodes.len() == 1 {
            return None;
        }
        Some(Self::link(nodes))
    }

    fn link(mut nodes: Vec<Node>) -> Self {
        let lines = nodes.iter().skip(1).filter(|n| n.parent == ROOT).count() > 1;
        for n in 1..nodes.len() {
            let parent = nodes[n].parent;
            nodes[parent].inside.end += 1;
        }
        let mut sum = 0;
        for node in &mut nodes {
            let count = node.inside.end;
            node.inside = sum..sum;
            sum += count;
        }
        let mut children = vec![0; sum];
        for n in 1..nodes.len() {
            let inside = &mut nodes[n].parent;
            let parent = *inside;
            let place = &mut nodes[parent].inside.end;
            children[*place] = n;
            *place += 1;
        }
        Self { nodes, children, lines }
    }

    pub(crate) fn inside(&self, n: usize) -> &[usize] {
        &self.children[self.nodes[n].inside.clone()]
    }

    /// The value that is written first: the document, or the root of several.
    pub(crate) fn top(&self) -> usize {
        if self.lines { ROOT } else { 1 }
    }
}

fn node(kind: Kind, span: Range<usize>, key: Range<usize>, parent: usize) -> Node {
    Node { kind, span, key, parent, inside: 0..0 }
}

/// The inside of a string without its escapes; half a pair of surrogates as the three bytes of its number.
pub(crate) fn unescaped(inside: &[u8]) -> Cow<'_, [u8]> {
    if !inside.contains(&b'\\') {
        return Cow::Borrowed(inside);
    }
    let mut text = Vec::with_capacity(inside.len());
    let mut at = 0;
    while at < inside.len() {
        if inside[at] != b'\\' {
            text.push(inside[at]);
            at += 1;
            continue;
        }
        let plain = match inside.get(at + 1) {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'u') => {
                let high = unit(inside, at);
                let low = unit(inside, at + 6).filter(|low| (0xDC00..0xE000).contains(low));
                match (high, low) {
                    (Some(high @ 0xD800..0xDC00), Some(low)) => {
                        push(&mut text, 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00));
                        at += 12;
                    }
                    (Some(unit), _) => {
                        push(&mut text, unit);
                        at += 6;
                    }
                    (None, _) => at += 2,
                }
                continue;
            }
            Some(&other) => other,
            None => break,
        };
        text.push(plain);
        at += 2;
    }
    Cow::Owned(text)
}

/// The number of a `\uXXXX` that begins at `at`.
fn unit(inside: &[u8], at: usize) -> Option<u32> {
    let digits = inside.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[expect(clippy::cast_possible_truncation, reason = "six bits of it")]
fn push(text: &mut Vec<u8>, number: u32) {
    match char::from_u32(number) {
        Some(c) => text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        None => text.extend([
            0xE0 | (number >> 12) as u8,
            0x80 | (number >> 6 & 63) as u8,
            0x80 | (number & 63) as u8,
        ]),
    }
}

fn blank(text: &[u8], at: usize) -> usize {
    let more = text[at..].iter().position(|b| !matches!(b, b' ' | b'\t' | b'\r' | b'\n'));
    more.map_or(text.len(), |i| at + i)
}

/// Where the string that begins at `at` ends.
fn string(text: &[u8], at: usize) -> Option<usize> {
    if text.get(at) != Some(&b'"') {
        return None;
    }
    let mut at = at + 1;
    loop {
        let hit = at + memchr::memchr2(b'"', b'\\', &text[at..])?;
        if text[hit] == b'"' {
            return Some(hit + 1);
        }
        at = hit + 2;
        if at > text.len() {
            return None;
        }
    }
}

fn scalar(text: &[u8], at: usize) -> Option<(Kind, usize)> {
    match text[at] {
        b'"' => Some((Kind::String, string(text, at)?)),
        b'-' | b'0'..=b'9' => Some((Kind::Number, number(text, at)?)),
        _ => {
            let word = [&b"true"[..], b"false", b"null"].into_iter().find(|w| text[at..].starts_with(w))?;
            Some((Kind::Word, at + word.len()))
        }
    }
}

fn number(text: &[u8], at: usize) -> Option<usize> {
    let digits = |at: usize| at + text[at..].iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = at + usize::from(text[at] == b'-');
    let mut end = digits(whole);
    if end == whole || text[whole] == b'0' && end > whole + 1 {
        return None;
    }
    if text.get(end) == Some(&b'.') {
        let from = end + 1;
        end = digits(from);
        if end == from {
            return None;
        }
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let from = end + 1 + usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        end = digits(from.min(text.len()));
        if end <= from.min(text.len()) {
            return None;
        }
    }
    Some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_json_and_nothing_else() {
        for good in [
            "{}",
            "[]",
            "1",
            "-0.5e+7",
            "\"a\\\"b\"",
            " [1, 2 ,{\"a\":[], \"a\":null}] ",
            "{\"a\":{\"b\":[[[]]]}}",
            "{\"a\":1}\n{\"b\":2}\n",
            "[1]\n\n[2]",
            "\"\\\\\"",
            "[[],[]]",
            "[{},{}]",
        ] {
            assert!(Tree::read(good.as_bytes()).is_some(), "{good}");
        }
        for bad in [
            "",
            " ",
            "{",
            "[1",
            "[1,]",
            "{\"a\"}",
            "{\"a\":}",
            "{a:1}",
            "01",
            "1.",
            "1e",
            "-",
            "[1 2]",
            "[1]]",
            "\"a",
            "\"\\",
            "{\"a\":1,}",
            "nul",
            "[1}",
            "{]",
            "[,1]",
            "[1] [2]",
            "1 2",
            "x",
        ] {
            assert!(Tree::read(bad.as_bytes()).is_none(), "{bad}");
        }
        let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
        assert_eq!(Tree::read(&deep).expect("any depth").nodes.len(), 100_001);
    }

    #[test]
    fn escapes_come_off_as_a_parser_takes_them_off() {
        for inside in [r"plain", r#"\"\\\/\b\f\n\r\t"#, r"caf\u00e9 \ud83d\ude42 \u65e5", "日本 \\u0041"] {
            let parsed: String = serde_json::from_str(&format!("\"{inside}\"")).expect("JSON");
            assert_eq!(String::from_utf8_lossy(&unescaped(inside.as_bytes())), parsed);
        }
        assert_eq!(&*unescaped(br"\ud83dx"), b"\xED\xA0\xBDx");
    }

    #[test]
    fn spans_and_children() {
        let text = b"{\"a\": [1, \"x\"], \"b\": {}}";
        let tree = Tree::read(text).expect("JSON");
        let top = &tree.nodes[tree.top()];
        assert_eq!((top.kind, top.span.clone()), (Kind::Object, 0..text.len()));
        let inside = tree.inside(1);
        let spans = |n: usize| &text[tree.nodes[n].span.clone()];
        assert_eq!(inside.iter().map(|&n| spans(n)).collect::<Vec<_>>(), [&b"[1, \"x\"]"[..], b"{}"]);
        assert_eq!(
            tree.inside(inside[0]).iter().map(|&n| spans(n)).collect::<Vec<_>>(),
            [&b"1"[..], b"\"x\""]
        );
    }
}
