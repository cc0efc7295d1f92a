//! Where in a JSON document a text has got to, without parsing it into values.
//!
//! Takes a document in pieces, several documents one after another, or lines of which some are JSON: what does not
//! look like JSON is passed over up to the end of its line.

use std::ops::Range;

/// How deep a document may nest before it is passed over.
const DEPTH: usize = 512;
/// The longest key that is kept for paths.
const KEY: usize = 256;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Frame {
    Object { key: Vec<u8> },
    Array { index: usize },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before a document, at the beginning of a line.
    Idle,
    /// This line is no JSON.
    Prose,
    /// Between tokens; `key`: a string here is a key.
    Between { key: bool },
    /// In a string.
    Text { key: bool },
}

/// What a string holds, as far as its first characters say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Content {
    #[default]
    Unknown,
    /// After the bracket that a document may begin with.
    Opened(u8),
    /// A document, with so many brackets open.
    Document(u32),
    Other,
}

impl Content {
    /// Whether a string of the document may begin here.
    fn is_open(self) -> bool {
        matches!(self, Self::Opened(_) | Self::Document(1..))
    }

    /// A document after one more of the bytes that stand outside of its strings.
    fn after(self, b: u8) -> Self {
        match (self, b) {
            (Self::Document(open @ 1..), b'{' | b'[') => Self::Document(open + 1),
            (Self::Document(open @ 1..), b'}' | b']') => Self::Document(open - 1),
            // Numbers, and the letters of `true`, `false` and `null`.
            (Self::Document(1..), b'0'..=b'9') => self,
            (Self::Document(1..), _) if b",:-+.Etruefalsn".contains(&b) => self,
            _ => Self::Other,
        }
    }
}

/// Documents in strings: there a quote stands behind a backslash, one level deeper behind three, and so on.
#[derive(Clone, Debug, Default)]
struct Nest {
    /// What the strings hold that the place is in, from the outermost in.
    content: [Content; Nest::MAX],
    /// How many strings the place is in, beside the outermost.
    depth: usize,
    /// The backslashes right before the place.
    slashes: u32,
}

impl Nest {
    /// What nests deeper is taken for ordinary text.
    const MAX: usize = 8;

    /// Goes on over text without quotes and backslashes.
    fn plain(&mut self, text: &[u8]) {
        for (i, &b) in text.iter().enumerate() {
            let escaped = i == 0 && self.slashes > 0;
            let blank = if escaped { b"ntr".contains(&b) } else { b" \t\r\n".contains(&b) };
            let content = &mut self.content[self.depth];
            let open = b == b'{' || b == b'[';
            *content = match *content {
                Content::Other => break,
                known if blank => known,
                _ if escaped => Content::Other,
                Content::Unknown if open => Content::Opened(b),
                Content::Opened(b'{') if b == b'}' => Content::Document(0),
                Content::Opened(b'[') => Content::Document(1).after(b),
                known @ Content::Document(_) => known.after(b),
                _ => Content::Other,
            };
        }
        if !text.is_empty() {
            self.slashes = 0;
        }
    }

    /// Goes on over a quote; whether it ends the outermost string.
    fn quote(&mut self) -> bool {
        let level = level(self.slashes);
        self.slashes = 0;
        let content = &mut self.content[self.depth];
        if level <= self.depth {
            self.depth = level.saturating_sub(1);
        } else if level == self.depth + 1 && level < Self::MAX && content.is_open() {
            if let Content::Opened(_) = content {
                *content = Content::Document(1);
            }
            self.depth = level;
            self.content[level] = Content::Unknown;
        } else {
            *content = Content::Other;
        }
        level == 0
    }
}

/// How many strings a quote is in that stands behind so many backslashes.
fn level(slashes: u32) -> usize {
    slashes.trailing_ones() as usize
}

/// Whether a place right behind so many backslashes is inside of an escape, for strings in `depth` others.
fn escaped(slashes: usize, depth: usize) -> bool {
    slashes > 0 && slashes.trailing_zeros() as usize <= depth
}

/// The backslashes that `text` ends with.
fn slashes(text: &[u8]) -> usize {
    text.iter().rev().take_while(|&&b| b == b'\\').count()
}

/// Whether the place between `before` and what follows is inside of an escape, for strings in `depth` others.
fn cuts_escape(before: &[u8], depth: usize) -> bool {
    // `\uXXXX`, or one character.
    let digits = before.iter().rev().take(3).take_while(|b| b.is_ascii_hexdigit()).count();
    escaped(slashes(before), depth)
        || (0..=digits).any(|n| {
            let head = before[..before.len() - n].strip_suffix(b"u");
            head.is_some_and(|head| escaped(slashes(head), depth))
        })
}

/// A place in JSON text.
#[derive(Clone, Debug)]
pub struct JsonPath {
    stack: Vec<Frame>,
    state: State,
    /// In a string: where in the documents that it may hold.
    nest: Nest,
}

/// Whether it depends on the place in a document what of `text[start..end]` can be replaced without harm: few values
/// hold what only documents are made of, or begin or end near a backslash.
pub fn depends_on_place(text: &[u8], start: usize, end: usize) -> bool {
    let near = |at: usize| text[at.saturating_sub(5)..at].contains(&b'\\');
    goes_beyond(&text[start..end]) || near(start) || near(end)
}

/// Whether a value holds more than a number or a word does.
fn goes_beyond(value: &[u8]) -> bool {
    // All of the value without a way out, in numbers: that is what becomes vector instructions.
    let holds = |any: u8, &b: &u8| {
        any | u8::from(b == b'"') | u8::from((b | 0x20).wrapping_sub(b'{') < 3) & u8::from(b != b'|')
    };
    value.iter().fold(0, holds) != 0 || value.first().is_some_and(|b| b" \t\r\n,:".contains(b))
}

impl Default for JsonPath {
    fn default() -> Self {
        Self { stack: Vec::new(), state: State::Idle, nest: Nest::default() }
    }
}

impl JsonPath {
    /// Goes on over `text`.
    pub fn advance(&mut self, text: &[u8]) {
        let mut at = 0;
        while at < text.len() {
            match self.state {
                State::Text { key } => {
                    let end = memchr::memchr2(b'"', b'\\', &text[at..]).map_or(text.len(), |i| at + i);
                    self.keep(key, &text[at..end]);
                    self.nest.plain(&text[at..end]);
                    let Some(&b) = text.get(end) else { return };
                    at = end + 1;
                    if b == b'\\' {
                        self.nest.slashes += 1;
                    } else if self.nest.quote() {
                        self.state = State::Between { key: false };
                        continue;
                    }
                    self.keep(key, &[b]);
                }
                State::Prose => match memchr::memchr(b'\n', &text[at..]) {
                    Some(i) => {
                        at += i + 1;
                        self.state = State::Idle;
                    }
                    None => return,
                },
                State::Idle | State::Between { .. } => {
                    self.token(text[at]);
                    at += 1;
                }
            }
        }
    }

    fn keep(&mut self, key: bool, part: &[u8]) {
        if let (true, Some(Frame::Object { key })) = (key, self.stack.last_mut()) {
            let room = KEY.saturating_sub(key.len());
            key.extend_from_slice(&part[..part.len().min(room)]);
        }
    }

    /// One byte outside strings.
    fn token(&mut self, b: u8) {
        let expects_key = matches!(self.state, State::Between { key: true });
        match b {
            b'{' | b'[' if self.stack.len() < DEPTH => {
                let object = b == b'{';
                self.stack.push(if object {
                    Frame::Object { key: vec![] }
                } else {
                    Frame::Array { index: 0 }
                });
                self.state = State::Between { key: object };
            }
            b'}' | b']' if !self.stack.is_empty() => {
                self.stack.pop();
                self.state = if self.stack.is_empty() { State::Idle } else { State::Between { key: false } };
            }
            b',' if !self.stack.is_empty() => {
                let object = match self.stack.last_mut() {
                    Some(Frame::Array { index }) => {
                        *index += 1;
                        false
                    }
                    _ => true,
                };
                self.state = State::Between { key: object };
            }
            b'"' => {
                if let (true, Some(Frame::Object { key })) = (expects_key, self.stack.last_mut()) {
                    key.clear();
                }
                self.state = State::Text { key: expects_key };
                self.nest = Nest::default();
            }
            b' ' | b'\t' | b'\r' | b'\n' | b':' => {}
            b'0'..=b'9' | b'-' | b'+' | b'.' | b'a'..=b'z' | b'E' if !self.stack.is_empty() => {}
            _ => {
                self.stack.clear();
                self.state = if b == b'\n' { State::Idle } else { State::Prose };
            }
        }
    }

    /// Where the next byte is inside a document but outside its strings: how many strings the document is in.
    pub fn bare(&self) -> Option<usize> {
        match self.state {
            State::Between { .. } if !self.stack.is_empty() => Some(0),
            State::Text { .. } if matches!(self.nest.content[self.nest.depth], Content::Document(1..)) => {
                Some(self.nest.depth + 1)
            }
            _ => None,
        }
    }

    /// How many strings the next byte is in.
    pub fn strings(&self) -> usize {
        match self.state {
            State::Text { .. } => self.nest.depth + 1,
            _ => 0,
        }
    }

    /// The part of `text[start..end]` that can be replaced without harm to the document: it ends where the string or
    /// the number does that it begins in, and cuts no escape. The place is that of `start`.
    pub fn within(&self, text: &[u8], start: usize, end: usize) -> Range<usize> {
        if !depends_on_place(text, start, end) {
            return start..end;
        }
        if self.bare().is_some() {
            let value = &text[start..end];
            let stop = value.iter().position(|b| b" \t\r\n\"\\{}[],:".contains(b));
            return start..stop.filter(|_| goes_beyond(value)).map_or(end, |len| start + len);
        }
        let State::Text { .. } = self.state else { return start..end };
        let depth = self.nest.depth;
        let (mut from, mut to) = (start, end);
        while from < to && cuts_escape(&text[..from], depth) {
            from += 1;
        }
        let quotes = memchr::memchr_iter(b'"', &text[from..to]).map(|i| from + i);
        let levels = quotes.map(|at| (at, level(slashes(&text[..at]) as u32)));
        if let Some((quote, level)) = { levels }.find(|(_, level)| *level <= depth) {
            // The last of the backslashes before it are its own.
            to = from.max(quote + 1 - (1 << level));
        }
        while from < to && cuts_escape(&text[..to], depth) {
            to -= 1;
        }
        from..to
    }

    /// The place as a path such as `messages[2].content`; `None` outside any document.
    pub fn path(&self) -> Option<String> {
        use std::fmt::Write;
        if self.stack.is_empty() {
            return None;
        }
        let mut path = String::new();
        for frame in &self.stack {
            match frame {
                Frame::Array { index } => {
                    let _ = write!(path, "[{index}]");
                }
                Frame::Object { key } => {
                    let key = String::from_utf8_lossy(key);
                    let plain =
                        !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-$@".contains(c));
                    if plain {
                        let dot = if path.is_empty() { "" } else { "." };
                        let _ = write!(path, "{dot}{key}");
                    } else {
                        let _ = write!(path, "[\"{key}\"]");
                    }
                }
            }
        }
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_documents_are_made_of() {
        for byte in 0..=u8::MAX {
            let inside = b"\"\\{}[]".contains(&byte);
            assert_eq!(goes_beyond(&[b'x', byte, b'y']), inside);
            assert_eq!(goes_beyond(&[byte, b'y']), inside || b" \t\r\n,:".contains(&byte));
        }
    }

    fn at(text: &str) -> Option<String> {
        let here = text.find('@').expect("marked");
        let text = text.as_bytes();
        let mut whole = JsonPath::default();
        whole.advance(&text[..here]);
        for cut in 0..here {
            let mut parts = JsonPath::default();
            parts.advance(&text[..cut]);
            parts.advance(&text[cut..here]);
            assert_eq!(parts.path(), whole.path());
        }
        whole.path()
    }

    #[test]
    fn paths() {
        for (text, path) in [
            (r#"{"a": {"b": [1, {"c": "x@"}]}}"#, Some("a.b[1].c")),
            (r#"[["x"], "@"]"#, Some("[1]")),
            (r#"{"a b": "@"}"#, Some(r#"["a b"]"#)),
            (r#"{"a": "\"}", "b": "@"}"#, Some("b")),
            ("{\"a\": 1}\n{\"b\": \"@\"}\n", Some("b")),
            ("plain {\"b\": \"@\"}\n", None),
            ("plain\n{\"b\": \"@\"}\n", Some("b")),
            (r#""@""#, None),
        ] {
            assert_eq!(at(text).as_deref(), path, "{text}");
        }
    }

    #[test]
    fn bare_places() {
        let mut p = JsonPath::default();
        p.advance(b"{\"n\": ");
        assert_eq!(p.bare(), Some(0));
        p.advance(b"\"");
        assert_eq!(p.bare(), None);
        p.advance(br"[1, ");
        assert_eq!(p.bare(), Some(1));
        p.advance(br#"\"[{\\\""#);
        assert_eq!(p.bare(), None);
        p.advance(br#"a\\\": 1"#);
        assert_eq!(p.bare(), Some(2));
        p.advance(br#" x \""#);
        assert_eq!(p.bare(), Some(1));
    }
}
