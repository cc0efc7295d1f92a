//! The beginning or the end of a text's redaction, for the work of that part.
//!
//! What is found at a place depends on the text around it, so a part can be redacted alone if enough is scanned before
//! it and after it, and if it is cut where no finding stands.

use std::borrow::Cow;
use std::ops::Range;

use ctxproto_detect::{Detector, Match, Part, settle};

use crate::redactor::{Finding, Format, Redactor};
use crate::writer::{Writer, needs_place};

/// A part of a text, redacted: the same bytes as that part of the redaction of the whole.
#[derive(Clone, Debug)]
pub struct Excerpt<'t> {
    /// The new bytes; borrowed where nothing was replaced.
    pub text: Cow<'t, [u8]>,
    /// The part of the source that they stand for.
    pub source: Range<usize>,
    /// What was replaced, in order. An excerpt that does not begin the text knows lines, columns and paths only from
    /// its own beginning on.
    pub findings: Vec<Finding>,
}

/// More than is asked for, so that a finding at the edge does not lead to a second scan.
const MORE: usize = 1024;

impl Redactor {
    /// The beginning of the redaction of `text`: at least `want` bytes, or all.
    pub fn head<'t>(&self, text: &'t [u8], format: Format, want: usize) -> Excerpt<'t> {
        let mut take = want.saturating_add(MORE);
        loop {
            take = take.min(text.len());
            let ended = take == text.len();
            let mut found = vec![];
            let part = Part { bytes: &text[..take], from: 0, offset: 0, ended };
            let mut safe = self.detector().scan_part(part, &mut found);
            settle(&mut found);
            if let Some(m) = found.iter().find(|m| m.start < safe && m.end > safe) {
                safe = m.start;
            }
            found.retain(|m| m.end <= safe);
            let excerpt = self.write(text, 0..safe, &found, Writer::new(format));
            if ended || excerpt.text.len() >= want {
                return excerpt;
            }
            take = take.saturating_mul(2);
        }
    }

    /// The end of the redaction of `text`: at least `want` bytes, or all.
    pub fn tail<'t>(&self, text: &'t [u8], format: Format, want: usize) -> Excerpt<'t> {
        let mut take = want.saturating_add(MORE);
        loop {
            let mut start = text.len().saturating_sub(take);
            let from = line_start(text, start.saturating_sub(Detector::REACH));
            let offset = from.saturating_sub(Detector::LOOK_BACK);
            let mut found = vec![];
            self.detector().scan_part(
                Part { bytes: &text[offset..], from: from - offset, offset, ended: true },
                &mut found,
            );
            for m in &mut found {
                m.start += offset;
                m.end += offset;
            }
            settle(&mut found);
            if let Some(m) = found.iter().find(|m| m.start < start && m.end > start) {
                start = m.end;
            }
            found.retain(|m| m.start >= start);
            let mut writer = Writer::new(format);
            // Where something stands in JSON is known only from the beginning; few texts end in what depends on it.
            if found.iter().any(|m| needs_place(text, m)) {
                writer.advance(text, 0, start);
            } else {
                writer.jump(start);
            }
            let excerpt = self.write(text, start..text.len(), &found, writer);
            if start == 0 || excerpt.text.len() >= want {
                return excerpt;
            }
            take = take.saturating_mul(2);
        }
    }

    fn write<'t>(
        &self,
        text: &'t [u8],
        source: Range<usize>,
        found: &[Match],
        mut writer: Writer,
    ) -> Excerpt<'t> {
        if found.is_empty() {
            return Excerpt { text: Cow::Borrowed(&text[source.clone()]), source, findings: vec![] };
        }
        let mut out = Vec::with_capacity(source.len() + 16);
        let mut findings = Vec::with_capacity(found.len());
        let mut at = source.start;
        self.each(text, found, 0, &mut writer, |writer, m| {
            out.extend_from_slice(&text[at..m.start]);
            findings.push(writer.replace(self, text, m, 0, &mut out));
            at = m.end;
        });
        out.extend_from_slice(&text[at..source.end]);
        Excerpt { text: Cow::Owned(out), source, findings }
    }
}

/// The beginning of the line that `at` stands in, or of its part: where a scan may begin.
fn line_start(text: &[u8], at: usize) -> usize {
    const CELL: usize = 4096;
    let cell = at / CELL * CELL;
    memchr::memrchr(b'\n', &text[cell..at]).map_or(cell, |i| cell + i + 1)
}
