//! `Stream`: redaction of text that arrives in pieces.

use std::mem;
use std::sync::{Arc, Mutex, TryLockError};

use ctxproto_redact::{Finding, Stream as Engine};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::redaction::{self, Names};
use crate::redactor::{ATTACHED_MAX, SLICE};
use crate::text::{self, Characters, Text};
use crate::{enter, errors};

/// Redacts text piece by piece.
///
/// `feed` returns what is certain by then, `finish` the rest; both in the type of the pieces. What may still become part
/// of a finding is held back, so less comes out than went in until the end.
#[pyclass(frozen, module = "ctxproto")]
pub(crate) struct Stream {
    // Only ever tried: a stream belongs to one thread at a time, and waiting here while holding the interpreter
    // would block the thread that works on it.
    state: Mutex<State>,
    names: Arc<Names>,
}

struct State {
    /// None when finished, or when interrupted in the middle of a piece.
    engine: Option<Engine>,
    /// Whether the pieces are str; the first one decides.
    is_str: Option<bool>,
    /// The first bytes of a character whose end has not come out yet.
    tail: Vec<u8>,
    findings: Vec<Finding>,
    positions: Positions,
}

impl Stream {
    pub(crate) fn new(engine: Engine, names: Arc<Names>) -> Self {
        let state = State {
            engine: Some(engine),
            is_str: None,
            tail: vec![],
            findings: vec![],
            positions: Positions::default(),
        };
        Self { state: Mutex::new(state), names }
    }

    fn with_state<T>(&self, work: impl FnOnce(&mut State) -> PyResult<T>) -> PyResult<T> {
        match self.state.try_lock() {
            Ok(mut state) => work(&mut state),
            Err(TryLockError::WouldBlock) => Err(errors::stream("the stream is in use by another thread")),
            Err(TryLockError::Poisoned(_)) => Err(errors::internal("the stream broke in an earlier call")),
        }
    }
}

#[pymethods]
impl Stream {
    /// Takes the next piece and returns the redacted text that is certain by now, maybe none.
    ///
    /// Raises `InputTypeError` when str and bytes are mixed, `StreamError` after `finish`.
    fn feed<'py>(&self, piece: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = piece.py();
        let text = Text::of(piece, "feed()")?;
        self.with_state(|state| {
            if *state.is_str.get_or_insert(text.is_str()) != text.is_str() {
                let expected = if text.is_str() { "bytes as before" } else { "str as before" };
                return Err(errors::wrong_type("feed()", expected, piece));
            }
            let mut engine = state.engine.take().ok_or_else(finished)?;
            let bytes = text.bytes();
            let mut out = mem::take(&mut state.tail);
            if bytes.len() < ATTACHED_MAX {
                enter::attached(|| engine.feed(bytes, &mut out))?;
            } else if bytes.len() < SLICE {
                enter::detached(py, || engine.feed(bytes, &mut out))?;
            } else {
                enter::long(py, |stop| {
                    for slice in bytes.chunks(SLICE) {
                        stop.check()?;
                        engine.feed(slice, &mut out);
                    }
                    Ok(())
                })?;
            }
            let mut found = engine.take_findings();
            if text.is_str() {
                state.positions.place(bytes, engine.held(), &mut found);
                state.tail = out.split_off(whole_characters(&out));
            }
            state.findings.append(&mut found);
            state.engine = Some(engine);
            text::output(py, &out, text.is_str())
        })
    }

    /// Ends the text and returns the rest of it ("" when nothing was fed). Raises `StreamError` the second time.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.with_state(|state| {
            let mut engine = state.engine.take().ok_or_else(finished)?;
            let mut out = mem::take(&mut state.tail);
            enter::detached(py, || engine.finish(&mut out))?;
            let mut found = engine.take_findings();
            let is_str = state.is_str.unwrap_or(true);
            if is_str {
                state.positions.place(&[], 0, &mut found);
            }
            state.findings.append(&mut found);
            text::output(py, &out, is_str)
        })
    }

    /// The findings so far, in order, with positions counted from the beginning of the stream.
    #[getter]
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let found = self.with_state(|state| Ok(state.findings.clone()))?;
        redaction::findings(py, &self.names, &found)
    }

    /// How many bytes (UTF-8 for str) are held back at the moment.
    #[getter]
    fn held(&self) -> PyResult<usize> {
        self.with_state(|state| Ok(state.engine.as_ref().map_or(0, Engine::held) + state.tail.len()))
    }

    fn __repr__(&self) -> String {
        let kind = self.with_state(|state| Ok(state.is_str)).ok().flatten();
        format!("<Stream{}>", kind.map_or("", |is_str| if is_str { " of str" } else { " of bytes" }))
    }
}

fn finished() -> PyErr {
    errors::stream("the stream is finished")
}

/// How much of `out` is whole characters: all but a beginning of up to three bytes at the very end.
fn whole_characters(out: &[u8]) -> usize {
    let from = out.len().saturating_sub(3);
    for at in (from..out.len()).rev() {
        let needs = match out[at] {
            0xF0.. => 4,
            0xE0.. => 3,
            0xC0.. => 2,
            0x80.. => continue,
            _ => 1,
        };
        return if at + needs > out.len() { at } else { out.len() };
    }
    out.len()
}

/// From positions in UTF-8 to characters, over the text that findings may still refer to.
#[derive(Default)]
struct Positions {
    /// Length of the stream's beginning where every byte is a character: no window is needed for it.
    ascii: usize,
    /// The text that was fed from where `count` stands.
    window: Vec<u8>,
    count: Characters,
}

impl Positions {
    /// Takes what was fed and places what was found; the last `held` bytes may be referred to later.
    fn place(&mut self, piece: &[u8], held: usize, found: &mut [Finding]) {
        if self.window.is_empty() && self.count.bytes <= self.ascii {
            if piece.is_ascii() {
                self.ascii += piece.len();
                return;
            }
            self.count = Characters { bytes: self.ascii, characters: self.ascii };
        }
        self.window.extend_from_slice(piece);
        let begin = self.count.bytes;
        for position in found.iter_mut().flat_map(|finding| [&mut finding.start, &mut finding.end]) {
            if *position > self.ascii {
                let at = (*position).max(self.count.bytes);
                self.count.advance(&self.window[self.count.bytes - begin..], at);
                *position = self.count.characters;
            }
        }
        let certain = (begin + self.window.len()).saturating_sub(held).max(self.count.bytes);
        self.count.advance(&self.window[self.count.bytes - begin..], certain);
        self.window.drain(..certain - begin);
    }
}
