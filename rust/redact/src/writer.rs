//! Writes one finding: its place, its path, its placeholder.

use std::ops::Range;

use ctxproto_detect::Match;
use ctxproto_text::{JsonPath, Position, depends_on_place};

use crate::redactor::{Finding, Format, Redactor};

/// Follows a text as its findings are written, in order.
#[derive(Debug)]
pub(crate) struct Writer {
    position: Position,
    json: Option<JsonPath>,
    /// The text is known to be JSON: a number may be all of it.
    forced: bool,
    /// How far the two above have got.
    at: usize,
}

impl Writer {
    pub(crate) fn new(format: Format) -> Self {
        let json = (format != Format::Text).then(JsonPath::default);
        let forced = matches!(format, Format::Json | Format::JsonLines);
        Self { position: Position::default(), json, forced, at: 0 }
    }

    /// Begins anew.
    pub(crate) fn restart(&mut self) {
        self.position = Position::default();
        self.json = self.json.take().map(|_| JsonPath::default());
        self.at = 0;
    }

    /// Goes on from `at` as if nothing stood before it.
    pub(crate) fn jump(&mut self, at: usize) {
        self.at = at;
    }

    /// Goes on to `to`. `text` begins at `offset` of the whole.
    pub(crate) fn advance(&mut self, text: &[u8], offset: usize, to: usize) {
        let passed = &text[self.at - offset..to - offset];
        self.position.advance(passed);
        if let Some(json) = &mut self.json {
            json.advance(passed);
        }
        self.at = to;
    }

    /// The part of a match that can go without harm to the JSON around it; `text` begins at `offset` of the whole.
    pub(crate) fn fit(&mut self, text: &[u8], m: &Match, offset: usize) -> Match {
        self.advance(text, offset, offset + m.start);
        let Some(json) = &self.json else { return *m };
        let Range { start, end } = json.within(text, m.start, m.end);
        let public = m.public.saturating_sub(start - m.start).min(end - start);
        Match { start, end, public, ..*m }
    }

    /// The finding of a match; `text` begins at `offset` of the whole.
    pub(crate) fn finding(&mut self, redactor: &Redactor, text: &[u8], m: &Match, offset: usize) -> Finding {
        self.advance(text, offset, offset + m.start);
        let key_path = self.json.as_ref().and_then(JsonPath::path).map(|path| clean(redactor, path));
        Finding {
            rule: m.rule,
            start: offset + m.start,
            end: offset + m.end,
            line: self.position.line,
            column: self.position.column,
            key_path,
            fingerprint: redactor.fingerprint(&text[m.start..m.end]),
            placed: 0,
        }
    }

    /// Appends the placeholder of a match.
    pub(crate) fn replace(
        &mut self,
        redactor: &Redactor,
        text: &[u8],
        m: &Match,
        offset: usize,
        out: &mut Vec<u8>,
    ) -> Finding {
        let mut finding = self.finding(redactor, text, m, offset);
        let before = out.len();
        let bare = self.json.as_ref().and_then(JsonPath::bare);
        let quote = bare_number(text, m, bare, self.forced);
        if let Some(quote) = quote {
            out.extend_from_slice(quote);
        }
        let strings = self.json.as_ref().map_or(0, JsonPath::strings);
        redactor.write_placeholder(out, m.rule, &text[m.start..m.end], m.public, strings);
        if let Some(quote) = quote {
            out.extend_from_slice(quote);
        }
        finding.placed = out.len() - before;
        finding
    }
}

/// A path without what a key of it may itself give away.
fn clean(redactor: &Redactor, path: String) -> String {
    match redactor.redact(path.as_bytes(), Format::Text) {
        Some(r) => String::from_utf8_lossy(&r.text).into_owned(),
        None => path,
    }
}

/// Whether what becomes of a match may depend on where in a JSON document it stands.
pub(crate) fn needs_place(text: &[u8], m: &Match) -> bool {
    is_number(&text[m.start..m.end]) || depends_on_place(text, m.start, m.end)
}

/// Whether a value may be a number of JSON.
pub(crate) fn is_number(value: &[u8]) -> bool {
    value.iter().all(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.' | b'e' | b'E'))
}

/// The quote that a placeholder needs where a number of JSON stood: that of the strings the document is in, or of the
/// key before it where the text around is none. `bare` says that a value stands here and in how many strings, `forced`
/// that a whole text or line may be a number.
fn bare_number(text: &[u8], m: &Match, bare: Option<usize>, forced: bool) -> Option<&'static [u8]> {
    if !is_number(&text[m.start..m.end]) {
        return None;
    }
    if forced {
        let line_before = text[..m.start].iter().rev().find(|b| !matches!(b, b' ' | b'\t' | b'\r'));
        let line_after = text[m.end..].iter().find(|b| !matches!(b, b' ' | b'\t' | b'\r'));
        if matches!((line_before, line_after), (None | Some(b'\n'), None | Some(b'\n'))) {
            return Some(quote(0));
        }
    }
    let after = text[m.end..].trim_ascii_start().first();
    if !matches!(after, Some(b',' | b'}' | b']' | b'\\') | None) {
        return None;
    }
    let before = trim_breaks(&text[..m.start]);
    match before.last()? {
        b':' if bare.is_none() => {
            let key = before[..before.len() - 1].trim_ascii_end();
            let name = key.strip_suffix(b"\"")?;
            let slashes = name.iter().rev().take_while(|&&b| b == b'\\').count();
            Some(quote((slashes.trailing_ones() as usize).min(8)))
        }
        b':' | b'[' | b',' => bare.map(quote),
        _ => None,
    }
}

/// A quote in so many strings.
fn quote(level: usize) -> &'static [u8] {
    const SLASHES: &[u8; 256] = &{
        let mut all = [b'\\'; 256];
        all[255] = b'"';
        all
    };
    &SLASHES[SLASHES.len() - (1 << level)..]
}

/// `text` without the blanks and line breaks at its end, those in a string (`\n`) too.
fn trim_breaks(text: &[u8]) -> &[u8] {
    let mut text = text.trim_ascii_end();
    while let [head @ .., b'\\', b'n' | b'r' | b't'] = text {
        let slashes = head.iter().rev().take_while(|&&b| b == b'\\').count();
        text = head[..head.len() - slashes].trim_ascii_end();
    }
    text
}
