//! Redaction of text that arrives in pieces.

use std::sync::Arc;

use ctxproto_detect::{Detector, Match, Part};

use crate::redactor::{Finding, Format, Redactor, in_order};
use crate::writer::Writer;

/// What is scanned at once: more is cut, so that a large piece needs no more memory than a small one.
const STEP: usize = 1 << 20;
/// Below this, held text is looked at again with every piece.
const EAGER: usize = 4096;

/// Redacts text piece by piece: the outputs joined equal the redaction of the pieces joined.
///
/// What may still become part of a finding is held back, and nothing else.
#[derive(Debug)]
pub struct Stream {
    redactor: Arc<Redactor>,
    writer: Writer,
    /// Text that is needed yet; its first byte is at `offset` of the whole.
    text: Vec<u8>,
    offset: usize,
    /// Up to here, in `text`, all has been written.
    written: usize,
    /// Up to here, in `text`, all has been decided; not before `written`.
    done: usize,
    /// Findings whose end has not been written.
    open: Vec<Match>,
    /// The length of `text` at which it is worth another look.
    next_look: usize,
    findings: Vec<Finding>,
}

impl Stream {
    pub(crate) fn new(redactor: Arc<Redactor>, format: Format) -> Self {
        Self {
            redactor,
            writer: Writer::new(format),
            text: vec![],
            offset: 0,
            written: 0,
            done: 0,
            open: vec![],
            next_look: 0,
            findings: vec![],
        }
    }

    /// Takes the next piece; appends to `out` what is certain by now.
    pub fn feed(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        for step in piece.chunks(STEP) {
            self.text.extend_from_slice(step);
            if self.text.len() >= self.next_look {
                self.look(false, out);
            }
        }
    }

    /// Ends the text; appends the rest to `out`. The stream is then as new.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.look(true, out);
        self.text.clear();
        self.open.clear();
        (self.offset, self.written, self.done, self.next_look) = (0, 0, 0, 0);
        self.writer.restart();
    }

    /// The findings since the last call, offsets counted from the stream's beginning.
    pub fn take_findings(&mut self) -> Vec<Finding> {
        std::mem::take(&mut self.findings)
    }

    /// Bytes held back at the moment.
    pub fn held(&self) -> usize {
        self.text.len() - self.written
    }

    fn look(&mut self, ended: bool, out: &mut Vec<u8>) {
        let part = Part { bytes: &self.text, from: self.done, offset: self.offset, ended };
        let decided = self.redactor.detector().scan_part(part, &mut self.open);
        // A finding that was written may be found again when its surroundings are.
        let mut written = self.written;
        self.open.retain(|m| m.start >= written);
        in_order(&mut self.open);
        let mut safe = decided.max(self.written);
        for m in &self.open {
            if m.start < safe && m.end > safe {
                safe = m.start;
            }
        }
        let count = self.open.iter().take_while(|m| m.end <= safe).count();
        let Self { redactor, writer, text, offset, findings, .. } = self;
        redactor.each(text, &self.open[..count], *offset, writer, |writer, m| {
            out.extend_from_slice(&text[written..m.start]);
            findings.push(writer.replace(redactor, text, m, *offset, out));
            written = m.end;
        });
        self.written = written;
        self.open.drain(..count);
        out.extend_from_slice(&self.text[self.written..safe]);
        self.written = safe;
        self.writer.advance(&self.text, self.offset, self.offset + safe);
        self.done = decided.max(self.written);
        self.forget();
        let held = self.text.len() - self.written;
        // A long piece that waits for its end is not looked at again for every few bytes.
        self.next_look = if held < EAGER { 0 } else { self.text.len() + held / 4 };
    }

    /// Drops what no later look needs.
    fn forget(&mut self) {
        let needed = self.written.min(self.done).saturating_sub(Detector::LOOK_BACK);
        if needed > Detector::LOOK_BACK * 4 || needed > 0 && needed == self.text.len() {
            self.text.drain(..needed);
            self.offset += needed;
            self.written -= needed;
            self.done -= needed;
            for m in &mut self.open {
                m.start -= needed;
                m.end -= needed;
            }
        }
    }
}
