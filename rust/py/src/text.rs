//! Text between Python and Rust: str and bytes in without a copy where that is possible, and out again.
//!
//! A str is worked on as UTF-8. ASCII is lent as it stands. Lone surrogates (from `surrogateescape`, or half an emoji
//! in JSON) pass through as the three bytes that the "surrogatepass" handler writes for them.

use std::ffi::CStr;
use std::fmt::Display;

use crate::names::name;
use ctxproto_redact::{Finding, Format};
use pyo3::buffer::PyBuffer;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::errors;

/// Above this many characters, a str that is not ASCII is encoded into a temporary: the interpreter would keep the
/// UTF-8 of a lent str for as long as the str lives.
const LEND_MAX: usize = 64 << 10;

const SURROGATES: &CStr = c"surrogatepass";

/// A text as Python gave it.
pub(crate) enum Text<'py> {
    /// Lent by the str itself.
    Str(Bound<'py, PyString>),
    /// A str and its UTF-8.
    Encoded(Bound<'py, PyString>, Bound<'py, PyBytes>),
    /// Lent: bytes never change.
    Bytes(Bound<'py, PyBytes>),
    /// The copy of a buffer that might change while it is read.
    Copied(Vec<u8>),
}

impl<'py> Text<'py> {
    /// Takes str, bytes, or anything with a buffer of bytes; `what` is named in the error.
    pub(crate) fn of(object: &Bound<'py, PyAny>, what: impl Display) -> PyResult<Self> {
        if let Ok(text) = object.cast::<PyString>() {
            return Self::of_str(text);
        }
        if let Ok(bytes) = object.cast::<PyBytes>() {
            return Ok(Self::Bytes(bytes.clone()));
        }
        match PyBuffer::<u8>::get(object).and_then(|buffer| buffer.to_vec(object.py())) {
            Ok(copy) => Ok(Self::Copied(copy)),
            Err(_) => Err(errors::wrong_type(what, "str or bytes", object)),
        }
    }

    fn of_str(text: &Bound<'py, PyString>) -> PyResult<Self> {
        let py = text.py();
        // The methods of str itself: a subclass may have others.
        let ascii = || py.get_type::<PyString>().call_method1(name!(py, "isascii"), (text,))?.is_truthy();
        if (text.code_point_len()? <= LEND_MAX || ascii()?) && text.to_str().is_ok() {
            return Ok(Self::Str(text.clone()));
        }
        let encoded = py
            .get_type::<PyString>()
            .call_method1(name!(py, "encode"), (text, name!(py, "utf-8"), name!(py, "surrogatepass")))?;
        Ok(Self::Encoded(text.clone(), encoded.cast_into::<PyBytes>()?))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Str(text) => text.to_str().expect("checked when it was taken").as_bytes(),
            Self::Encoded(_, bytes) | Self::Bytes(bytes) => bytes.as_bytes(),
            Self::Copied(copy) => copy,
        }
    }

    pub(crate) fn is_str(&self) -> bool {
        matches!(self, Self::Str(_) | Self::Encoded(..))
    }

    /// How many characters a str has; bytes of anything else.
    pub(crate) fn characters(&self) -> PyResult<usize> {
        match self {
            Self::Str(text) | Self::Encoded(text, _) => text.code_point_len(),
            Self::Bytes(_) | Self::Copied(_) => Ok(self.bytes().len()),
        }
    }

    /// The object to hand back when nothing changed: the very one that came, unless that can still change.
    pub(crate) fn unchanged(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        match self {
            Self::Str(text) | Self::Encoded(text, _) => text.clone().into_any(),
            Self::Bytes(bytes) => bytes.clone().into_any(),
            Self::Copied(copy) => PyBytes::new(py, copy).into_any(),
        }
    }

    /// The new text in the type of the old one (bytes for every kind of buffer).
    pub(crate) fn rewritten(&self, py: Python<'py>, text: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        output(py, text, self.is_str())
    }

    /// Turns positions in bytes into positions in what Python counts: characters of a str.
    pub(crate) fn place(&self, findings: &mut [Finding]) -> PyResult<()> {
        if let Self::Str(text) | Self::Encoded(text, _) = self
            && !findings.is_empty()
        {
            let bytes = self.bytes();
            if text.code_point_len()? != bytes.len() {
                Characters::default().place(bytes, findings);
            }
        }
        Ok(())
    }
}

/// Bytes as a new str or bytes object.
pub(crate) fn output<'py>(py: Python<'py>, text: &[u8], as_str: bool) -> PyResult<Bound<'py, PyAny>> {
    if !as_str {
        return Ok(PyBytes::new(py, text).into_any());
    }
    if let Ok(text) = PyString::from_bytes(py, text) {
        return Ok(text.into_any());
    }
    // The decoder's own error would carry the text.
    PyString::from_encoded_object(&PyBytes::new(py, text), Some(c"utf-8"), Some(SURROGATES))
        .map(Bound::into_any)
        .map_err(|_| errors::internal("a character was cut in two"))
}

/// Counts characters along a text, once, from its beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Characters {
    /// Bytes passed so far.
    pub(crate) bytes: usize,
    /// The characters that begin in them.
    pub(crate) characters: usize,
}

impl Characters {
    /// Goes on to byte `end`; `rest` is the text from where the count stands.
    pub(crate) fn advance(&mut self, rest: &[u8], end: usize) {
        let passed = &rest[..end - self.bytes];
        self.characters += passed.iter().filter(|b| !is_continuation(**b)).count();
        self.bytes = end;
    }

    /// Rewrites the byte positions of `findings`, which are in order; `rest` begins where the count stands.
    pub(crate) fn place(&mut self, rest: &[u8], findings: &mut [Finding]) {
        let begin = self.bytes;
        for finding in findings {
            for position in [&mut finding.start, &mut finding.end] {
                self.advance(&rest[self.bytes - begin..], *position);
                *position = self.characters;
            }
        }
    }
}

/// Whether a UTF-8 byte goes on with a character instead of beginning one.
pub(crate) fn is_continuation(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Which layout a caller forces, by its name.
pub(crate) fn format(name: &Bound<'_, PyAny>) -> PyResult<Format> {
    let text = name.cast::<PyString>();
    // A lone surrogate is no name either; the error of the conversion would carry the text.
    match text.as_ref().map(|text| text.to_str()) {
        Ok(Ok("auto")) => Ok(Format::Auto),
        Ok(Ok("text")) => Ok(Format::Text),
        Ok(Ok("json")) => Ok(Format::Json),
        Ok(Ok("jsonl")) => Ok(Format::JsonLines),
        _ => Err(errors::argument("format", "one of auto, text, json, jsonl", name, text.is_ok())),
    }
}
