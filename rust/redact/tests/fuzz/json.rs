//! A strict reader of JSON (RFC 8259) that knows nothing of ours: it tells whether two documents have one shape.

/// Deeper documents are passed over: this reader calls itself.
const DEPTH_MAX: usize = 500;

/// A step through a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// `{`, `}`, `[`, `]`.
    Bracket(u8),
    /// The name of a member, as written between its quotes.
    Key(Vec<u8>),
    /// A string, as written between its quotes.
    Text(Vec<u8>),
    /// A number, `true`, `false` or `null`, as written.
    Bare(Vec<u8>),
}

/// The document in `text`; `None` when it is not one.
pub(crate) fn events(text: &[u8]) -> Option<Vec<Event>> {
    let mut reader = Reader { text, at: 0, events: vec![] };
    reader.value(0)?;
    reader.space();
    (reader.at == text.len()).then_some(reader.events)
}

/// Whether `after` is `before` with some values replaced: keys, order, nesting, and what was not replaced are equal.
pub(crate) fn same_shape(before: &[Event], after: &[Event]) -> Result<(), String> {
    if before.len() != after.len() {
        return Err(format!("{} parts became {}", before.len(), after.len()));
    }
    for (old, new) in before.iter().zip(after) {
        let same = match (old, new) {
            (Event::Bare(_), Event::Text(new)) => replaced(new),
            (Event::Key(old), Event::Key(new)) | (Event::Text(old), Event::Text(new)) => {
                old == new || replaced(new)
            }
            _ => old == new,
        };
        if !same {
            return Err(format!("{old:?} became {new:?}"));
        }
    }
    Ok(())
}

fn replaced(text: &[u8]) -> bool {
    text.windows(10).any(|w| w == b":REDACTED]")
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    events: Vec<Event>,
}

impl Reader<'_> {
    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        self.space();
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        self.space();
        match self.peek()? {
            _ if depth > DEPTH_MAX => None,
            b'{' => self.members(depth, b'}'),
            b'[' => self.members(depth, b']'),
            b'"' => {
                let text = self.string()?;
                self.events.push(Event::Text(text));
                Some(())
            }
            _ => self.bare(),
        }
    }

    fn members(&mut self, depth: usize, close: u8) -> Option<()> {
        self.events.push(Event::Bracket(self.text[self.at]));
        self.at += 1;
        let mut first = true;
        while self.take(close).is_none() {
            if !first {
                self.take(b',')?;
            }
            first = false;
            if close == b'}' {
                self.space();
                let key = self.string()?;
                self.events.push(Event::Key(key));
                self.take(b':')?;
            }
            self.value(depth + 1)?;
        }
        self.events.push(Event::Bracket(close));
        Some(())
    }

    fn string(&mut self) -> Option<Vec<u8>> {
        if self.peek()? != b'"' {
            return None;
        }
        let begin = self.at + 1;
        self.at = begin;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => {
                    self.at += 1;
                    match self.peek()? {
                        b'u' => {
                            let hex = self.text.get(self.at + 1..self.at + 5)?;
                            if !hex.iter().all(u8::is_ascii_hexdigit) {
                                return None;
                            }
                            self.at += 4;
                        }
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                        _ => return None,
                    }
                }
                0..0x20 => return None,
                _ => {}
            }
            self.at += 1;
        }
        self.at += 1;
        let text = &self.text[begin..self.at - 1];
        std::str::from_utf8(text).ok().map(|text| text.as_bytes().to_vec())
    }

    fn bare(&mut self) -> Option<()> {
        let begin = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9' | b'a'..=b'z' | b'E' | b'+' | b'-' | b'.')) {
            self.at += 1;
        }
        let bare = &self.text[begin..self.at];
        if !matches!(bare, b"true" | b"false" | b"null") && !number(bare) {
            return None;
        }
        self.events.push(Event::Bare(bare.to_vec()));
        Some(())
    }
}

fn number(text: &[u8]) -> bool {
    let digits = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let (mantissa, exponent) = match text.iter().position(|b| matches!(b, b'e' | b'E')) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.iter().position(|b| *b == b'.') {
        Some(at) => (&mantissa[..at], Some(&mantissa[at + 1..])),
        None => (mantissa, None),
    };
    let unsigned =
        |text| <[u8]>::strip_prefix(text, b"+").or(<[u8]>::strip_prefix(text, b"-")).unwrap_or(text);
    digits(whole)
        && (whole == b"0" || whole[0] != b'0')
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|e| digits(unsigned(e)))
}
