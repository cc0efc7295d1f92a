//! Where in a JSON document a text has got to, without parsing it into values.
//!
//! Takes a document in pieces, several documents one after another, or lines of which some are JSON: what does not
//! look like JSON is passed over up to the end of its line.

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
    Text { key: bool, escaped: bool },
}

/// A place in JSON text.
#[derive(Clone, Debug)]
pub struct JsonPath {
    stack: Vec<Frame>,
    state: State,
}

impl Default for JsonPath {
    fn default() -> Self {
        Self { stack: Vec::new(), state: State::Idle }
    }
}

impl JsonPath {
    /// Goes on over `text`.
    pub fn advance(&mut self, text: &[u8]) {
        let mut at = 0;
        while at < text.len() {
            match self.state {
                State::Text { key, escaped: false } => {
                    let end = memchr::memchr2(b'"', b'\\', &text[at..]).map_or(text.len(), |i| at + i);
                    self.keep(key, &text[at..end]);
                    if end == text.len() {
                        return;
                    }
                    at = end + 1;
                    if text[end] == b'"' {
                        self.state = State::Between { key: false };
                    } else {
                        self.keep(key, b"\\");
                        self.state = State::Text { key, escaped: true };
                    }
                }
                State::Text { key, escaped: true } => {
                    self.keep(key, &text[at..=at]);
                    self.state = State::Text { key, escaped: false };
                    at += 1;
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
                self.state = State::Text { key: expects_key, escaped: false };
            }
            b' ' | b'\t' | b'\r' | b'\n' | b':' => {}
            b'0'..=b'9' | b'-' | b'+' | b'.' | b'a'..=b'z' | b'E' if !self.stack.is_empty() => {}
            _ => {
                self.stack.clear();
                self.state = if b == b'\n' { State::Idle } else { State::Prose };
            }
        }
    }

    /// Whether the next byte is inside a document but outside its strings.
    pub fn is_bare(&self) -> bool {
        matches!(self.state, State::Between { .. }) && !self.stack.is_empty()
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
        assert!(p.is_bare());
        p.advance(b"\"");
        assert!(!p.is_bare());
    }
}
