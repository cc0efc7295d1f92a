//! Counting tokens.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use ctxproto_tokens::{Counter as Counting, Encoding as Engine, Estimate, Id, Weights};
use ctxproto_trim::Count;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::enter::{self, Stop, Stopped};
use crate::errors;
use crate::function::{self, Function};
use crate::redactor::{ATTACHED_MAX, SLICE, texts_of};
use crate::text::{Text, is_continuation};

/// A batch of less than this is done before the pool has woken up.
const POOL_MIN: usize = 16 << 10;

/// An encoding, and the weights of an estimate.
#[pyclass(frozen, subclass, module = "ctxproto._core")]
pub(crate) struct Encoding(pub(crate) Estimate);

#[pymethods]
impl Encoding {
    /// The encoding of this name; `weights` is what one of its tokens, a digit, a sign and a wide character come to.
    #[new]
    #[pyo3(signature = (name, *, weights=(1.0, 0.0, 0.0, 0.0)))]
    fn py_new(name: &str, weights: (f64, f64, f64, f64)) -> PyResult<Self> {
        let encoding: Engine = name.parse().map_err(|e| errors::input(format!("{e}")))?;
        let (token, digit, sign, wide) = weights;
        Ok(Self(Estimate { encoding, weights: Weights { token, digit, sign, wide } }))
    }

    /// How many tokens the text has (str or bytes).
    fn count(&self, text: &Bound<'_, PyAny>) -> PyResult<usize> {
        let py = text.py();
        let text = Text::of(text, "count()")?;
        let text = decoded(&text)?;
        let estimate = self.0;
        let count = || estimate.of(estimate.encoding.count(&text), &text);
        if text.len() < ATTACHED_MAX {
            enter::attached(count)
        } else if text.len() < SLICE {
            enter::detached(py, count)
        } else {
            enter::long(py, |stop| in_slices(estimate, &text, stop))
        }
    }

    /// The counts of many texts, on all CPUs, in their order.
    fn count_many(&self, texts: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
        let py = texts.py();
        let texts = texts_of(texts, "count_many()")?;
        let texts: Vec<Cow<'_, str>> = texts.iter().map(decoded).collect::<PyResult<_>>()?;
        let estimate = self.0;
        let total: usize = texts.iter().map(|text| text.len()).sum();
        if total < POOL_MIN || texts.len() < 2 {
            let count = |text: &Cow<'_, str>| estimate.of(estimate.encoding.count(text), text);
            enter::attached(|| texts.iter().map(count).collect())
        } else {
            enter::parallel(py, &texts, |text, stop| in_slices(estimate, text, stop), |_, tokens| Ok(tokens))
        }
    }

    /// The token ids of the text; with `special`, names of special tokens stand for them.
    #[pyo3(signature = (text, *, special=false))]
    fn encode(&self, text: &Bound<'_, PyAny>, special: bool) -> PyResult<Vec<Id>> {
        let py = text.py();
        let text = Text::of(text, "encode()")?;
        let text = decoded(&text)?;
        let encoding = self.0.encoding;
        let specials = if special { encoding.specials() } else { vec![] };
        enter::detached(py, || encoding.encode_with(&text, &specials))
    }

    /// The bytes that the tokens stand for. Raises `InputError` for an id that no token has.
    fn decode<'py>(&self, py: Python<'py>, ids: Vec<Id>) -> PyResult<Bound<'py, PyBytes>> {
        let mut bytes = vec![];
        for (at, id) in ids.into_iter().enumerate() {
            if let Some(token) = self.0.encoding.token(id) {
                bytes.extend_from_slice(token);
            } else if let Some((name, _)) = self.0.encoding.specials().iter().find(|s| s.1 == id) {
                bytes.extend_from_slice(name.as_bytes());
            } else {
                return Err(errors::input(format!(
                    "decode() at [{at}]: {} has no token {id}, its last one is {}",
                    self.0.encoding,
                    self.0.encoding.end() - 1
                )));
            }
        }
        Ok(PyBytes::new(py, &bytes))
    }

    /// Where the longest prefix of at most `most` tokens ends; with `tail`, where the longest such suffix begins. In characters of
    /// a str, in bytes of bytes.
    #[pyo3(signature = (text, most, *, tail=false))]
    fn limit(&self, text: &Bound<'_, PyAny>, most: usize, tail: bool) -> PyResult<usize> {
        limit_of(&self.0, text, most, tail)
    }

    /// Counts text that arrives in pieces.
    fn counter(&self) -> Counter {
        Counter { estimate: self.0, state: Mutex::new(Counting::new(self.0.encoding)) }
    }

    /// The special tokens and their ids.
    #[getter]
    fn specials<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let specials = PyDict::new(py);
        for (name, id) in self.0.encoding.specials() {
            specials.set_item(name, id)?;
        }
        Ok(specials)
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &'static str {
        self.0.encoding.name()
    }

    /// What a token, a digit, a sign and a wide character come to.
    #[getter]
    fn weights(&self) -> (f64, f64, f64, f64) {
        let Weights { token, digit, sign, wide } = self.0.weights;
        (token, digit, sign, wide)
    }

    /// Whether its counts are the encoding's own.
    #[getter]
    fn exact(&self) -> bool {
        self.0.is_exact()
    }
}

/// Counts text that arrives in pieces, str or bytes, wherever they were cut: also inside a character of bytes.
#[pyclass(frozen, module = "ctxproto._core")]
pub(crate) struct Counter {
    estimate: Estimate,
    state: Mutex<Counting>,
}

#[pymethods]
impl Counter {
    /// Takes the next piece.
    fn feed(&self, piece: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = piece.py();
        let text = Text::of(piece, "feed()")?;
        let decoded;
        let bytes = if text.is_str() {
            decoded = self::decoded(&text)?;
            decoded.as_bytes()
        } else {
            text.bytes()
        };
        self.with(py, |state| state.feed(bytes))
    }

    /// The tokens of all pieces so far, as if the text ended here.
    #[getter]
    fn count(&self, py: Python<'_>) -> PyResult<usize> {
        let (tokens, characters) = self.with(py, |state| (state.count(), state.characters()))?;
        Ok(self.estimate.sum(tokens, characters))
    }
}

impl Counter {
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut Counting) -> T + Send) -> PyResult<T> {
        // Only tried: waiting here would hold the interpreter.
        let Ok(mut state) = self.state.try_lock() else {
            return Err(errors::stream("the counter is in use by another thread"));
        };
        let state = &mut *state;
        enter::detached(py, || work(state))
    }
}

/// What counts for trimming: an encoding, or a function.
pub(crate) fn counter(given: &Bound<'_, PyAny>) -> Arc<dyn Count> {
    match given.cast::<Encoding>() {
        Ok(encoding) => Arc::new(encoding.get().0),
        Err(_) => Arc::new(Function(given.clone().unbind())),
    }
}

/// The encoding that counts exactly; none for an estimate and for a function.
pub(crate) fn exact(given: &Bound<'_, PyAny>) -> Option<Engine> {
    let estimate = given.cast::<Encoding>().ok()?.get().0;
    estimate.is_exact().then_some(estimate.encoding)
}

/// `Encoding.limit` for a function that counts.
#[pyfunction]
#[pyo3(signature = (function, text, most, *, tail=false))]
pub(crate) fn limit_by(
    function: Py<PyAny>,
    text: &Bound<'_, PyAny>,
    most: usize,
    tail: bool,
) -> PyResult<usize> {
    limit_of(&Function(function), text, most, tail)
}

fn limit_of(counter: &dyn Count, text: &Bound<'_, PyAny>, most: usize, tail: bool) -> PyResult<usize> {
    let py = text.py();
    let text = Text::of(text, "limit()")?;
    // What cannot be lent may have lone surrogates: they count as `count` has it.
    let told = match &text {
        Text::Encoded(..) => Some(decoded(&text)?),
        _ => None,
    };
    let bytes = told.as_ref().map_or_else(|| text.bytes(), |told| told.as_bytes());
    let at =
        function::settled(|| {
            enter::detached(py, || {
                if tail { counter.limit_back(bytes, most) } else { counter.limit(bytes, most) }
            })
        })?;
    if !text.is_str() {
        return Ok(at);
    }
    let characters = |part: &[u8]| part.iter().filter(|b| !is_continuation(**b)).count();
    // What is read twice is the shorter side: a limit takes the same time in a text of any length.
    let all = text.characters()?;
    Ok(if all == bytes.len() {
        at
    } else if matches!(told, Some(Cow::Owned(_))) {
        in_halves(text.bytes(), characters(&bytes[..at]))
    } else if tail {
        all - characters(&bytes[at..])
    } else {
        characters(&bytes[..at])
    })
}

/// How many characters of a str come to so many decoded ones: two halves of one in a row are decoded as that one.
fn in_halves(source: &[u8], decoded: usize) -> usize {
    let (mut characters, mut left, mut begun) = (0, decoded, false);
    for (at, first) in source.iter().enumerate().filter(|(_, b)| !is_continuation(**b)) {
        // A half has three bytes: 0xED, and from 0xA0, or from 0xB0 for the second half.
        let second = if *first == 0xED { source[at + 1] } else { 0 };
        let ends = begun && second >= 0xB0;
        if !ends && left == 0 {
            break;
        }
        left -= usize::from(!ends);
        begun = !ends && (0xA0..0xB0).contains(&second);
        characters += 1;
    }
    characters
}

fn in_slices(estimate: Estimate, text: &str, stop: &Stop) -> Result<usize, Stopped> {
    Ok(estimate.of(estimate.encoding.count_checked(text, || stop.check())?, text))
}

/// The text as `tiktoken` reads it: what is no character counts as U+FFFD, halves of one in a row as that one.
pub(crate) fn decoded<'t>(text: &'t Text<'_>) -> PyResult<Cow<'t, str>> {
    if let Text::Str(object) = text {
        return object.to_str().map(Cow::Borrowed);
    }
    // First, as it is several times faster than what follows.
    if let Ok(valid) = std::str::from_utf8(text.bytes()) {
        return Ok(Cow::Borrowed(valid));
    }
    if let Text::Encoded(object, _) = text {
        let py = object.py();
        let utf16 = py.get_type::<PyString>().call_method1("encode", (object, "utf-16", "surrogatepass"))?;
        let whole: String = utf16.call_method1("decode", ("utf-16", "replace"))?.extract()?;
        return Ok(Cow::Owned(whole));
    }
    Ok(String::from_utf8_lossy(text.bytes()))
}
