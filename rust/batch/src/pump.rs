//! The one loop: blocks in, redacted blocks out.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

use ctxproto_redact::{Finding, Format, Redactor};

use crate::utf16::{FromUtf8, Order, ToUtf8};
use crate::{Control, Error};

/// Text read at a time. Larger blocks leave the cache, smaller ones make the codecs and the disk wait.
pub(crate) const BLOCK: usize = 1 << 20;

/// What came out of one text.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Bytes of text after decompression.
    pub(crate) text: u64,
    /// Findings by rule number.
    pub(crate) counts: BTreeMap<u16, u64>,
    /// The first findings in detail.
    pub(crate) findings: Vec<Finding>,
    /// The text is binary: nothing was written.
    pub(crate) binary: bool,
}

/// How one text is read and rewritten.
pub(crate) struct Pump<'a> {
    pub(crate) redactor: &'a Arc<Redactor>,
    pub(crate) format: Format,
    /// Findings kept in detail; all of them are counted.
    pub(crate) details: usize,
    /// Hand on what has arrived instead of waiting for a full block, and flush it.
    pub(crate) eager: bool,
    pub(crate) control: Control<'a>,
}

impl Pump<'_> {
    /// Reads `input` to its end; no further than its first block when that holds a NUL and is not UTF-16.
    pub(crate) fn run(&self, input: &mut impl Read, output: &mut impl Write) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        let mut block = vec![0; BLOCK];
        let mut out = Vec::new();
        let mut filled = self.fill(input, &mut block, 2)?;
        if filled == 0 {
            return Ok(tally);
        }
        let order = Order::of(&block[..filled]);
        if order.is_none() && memchr::memchr(0, &block[..filled]).is_some() {
            tally.binary = true;
            return Ok(tally);
        }
        let mut stream = self.redactor.stream(self.format);
        let mut utf16 =
            order.map(|o| Utf16 { to: ToUtf8::new(o), from: FromUtf8::new(o), text: vec![], back: vec![] });
        while filled > 0 {
            tally.text += filled as u64;
            match &mut utf16 {
                None => stream.feed(&block[..filled], &mut out),
                Some(u) => stream.feed(u.decode(&block[..filled]), &mut out),
            }
            self.note(stream.take_findings(), &mut tally);
            self.emit(&mut out, utf16.as_mut(), output)?;
            filled = self.fill(input, &mut block, 1)?;
        }
        let mut odd = None;
        if let Some(u) = &mut utf16 {
            u.text.clear();
            odd = u.to.finish(&mut u.text);
            stream.feed(&u.text, &mut out);
        }
        stream.finish(&mut out);
        self.note(stream.take_findings(), &mut tally);
        self.emit(&mut out, utf16.as_mut(), output)?;
        if let Some(byte) = odd {
            output.write_all(&[byte]).map_err(Error::write)?;
        }
        Ok(tally)
    }

    fn emit(
        &self,
        out: &mut Vec<u8>,
        utf16: Option<&mut Utf16>,
        output: &mut impl Write,
    ) -> Result<(), Error> {
        let bytes = match utf16 {
            None => &out[..],
            Some(u) => u.encode(out),
        };
        output.write_all(bytes).map_err(Error::write)?;
        if self.eager && !bytes.is_empty() {
            output.flush().map_err(Error::write)?;
        }
        out.clear();
        // A burst of held-back text must not stay in memory for the rest of the file.
        out.shrink_to(4 * BLOCK);
        Ok(())
    }

    fn fill(&self, input: &mut impl Read, block: &mut [u8], least: usize) -> Result<usize, Error> {
        fill(input, block, self.eager.then_some(least), self.control)
    }

    fn note(&self, found: Vec<Finding>, tally: &mut Tally) {
        self.control.progress.add_findings(found.len() as u64);
        for f in &found {
            *tally.counts.entry(f.rule).or_default() += 1;
        }
        let room = self.details - tally.findings.len();
        tally.findings.extend(found.into_iter().take(room));
    }
}

/// Fills `block`; with `least`, that many bytes are enough (fewer at the end of the text).
pub(crate) fn fill(
    input: &mut impl Read,
    block: &mut [u8],
    least: Option<usize>,
    control: Control<'_>,
) -> Result<usize, Error> {
    let mut filled = 0;
    while filled < block.len() {
        if control.stopped() {
            return Err(Error::Stopped);
        }
        match input.read(&mut block[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) => return Err(Error::read(e, control)),
        }
        // Only a byte that may open a byte order mark is worth waiting for its second one.
        if least.is_some_and(|least| filled >= least || block[0] < 0xfe) {
            break;
        }
    }
    Ok(filled)
}

/// The way to UTF-8 and back, with its buffers.
struct Utf16 {
    to: ToUtf8,
    from: FromUtf8,
    text: Vec<u8>,
    back: Vec<u8>,
}

impl Utf16 {
    fn decode(&mut self, block: &[u8]) -> &[u8] {
        self.text.clear();
        self.to.push(block, &mut self.text);
        &self.text
    }

    fn encode(&mut self, text: &[u8]) -> &[u8] {
        self.back.clear();
        self.from.push(text, &mut self.back);
        &self.back
    }
}

/// Counts what is read, as progress too, and keeps signals from the codecs.
pub(crate) struct Source<'a, R> {
    inner: R,
    pub(crate) bytes: u64,
    control: Control<'a>,
}

impl<'a, R> Source<'a, R> {
    pub(crate) fn new(inner: R, control: Control<'a>) -> Self {
        Self { inner, bytes: 0, control }
    }
}

impl<R: Read> Read for Source<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.inner.read(buf) {
                Err(e) if e.kind() == ErrorKind::Interrupted => {
                    if self.control.stopped() {
                        return Err(io::Error::other("stopped"));
                    }
                }
                Err(e) => return Err(e),
                Ok(n) => {
                    self.bytes += n as u64;
                    self.control.progress.add_bytes(n as u64);
                    return Ok(n);
                }
            }
        }
    }
}

/// A sink with a valve: a compressor that is dropped after an error writes its trailer, and half a text must not
/// look like a whole one.
pub(crate) struct Sink<'a, W> {
    inner: W,
    valve: &'a Valve,
}

/// Counts what passes, until it is shut.
#[derive(Debug, Default)]
pub(crate) struct Valve {
    bytes: Cell<u64>,
    shut: Cell<bool>,
}

impl Valve {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.get()
    }

    pub(crate) fn shut(&self) {
        self.shut.set(true);
    }

    pub(crate) fn on<W>(&self, inner: W) -> Sink<'_, W> {
        Sink { inner, valve: self }
    }
}

impl<W: Write> Write for Sink<'_, W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        if self.valve.shut.get() {
            return Ok(buf.len());
        }
        let n = self.inner.write(buf)?;
        self.valve.bytes.set(self.valve.bytes.get() + n as u64);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
