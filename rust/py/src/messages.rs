//! What a model reads of messages: chat messages in the forms of the providers' APIs, as dicts and lists.

use std::borrow::Cow;
use std::fmt::{self, Display};

use crate::names::name;
use ctxproto_tokens::{Estimate, IMAGE_LEAST, IMAGE_MOST, image_tokens};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyMapping, PyString, PyTuple};

use crate::enter;
use crate::errors;
use crate::redactor::{ATTACHED_MAX, SLICE};
use crate::text::Text;
use crate::tokens::{self, Encoding};

/// Of less than this the pool makes no difference that anybody would notice, but takes the other threads' time.
const POOL_MIN: usize = 128 << 10;

/// Deeper than any message.
const DEPTH: usize = 50;

/// Framing, as the cookbook of `OpenAI` gives it: around a message, for its name, around a tool definition, and before the reply.
const MESSAGE: usize = 3;
const NAME: usize = 1;
const TOOL: usize = 8;
pub(crate) const REPLY: usize = 3;

/// Something that the model reads.
pub(crate) enum Read<'py> {
    Text(Text<'py>),
    /// To be written as JSON when the walk is over: that may run anybody's code. With the place it stands in.
    Json(Bound<'py, PyAny>, Place<'static>),
}

/// A place in an argument, for errors.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    list: &'static str,
    at: usize,
    key: Option<&'a str>,
}

impl Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.list, self.at)?;
        self.key.map_or(Ok(()), |key| write!(f, ".{key}"))
    }
}

impl Place<'_> {
    fn whole(self) -> Place<'static> {
        Place { list: self.list, at: self.at, key: None }
    }
}

/// How the reading of a message is divided.
#[derive(Default)]
pub(crate) struct Parts<'py> {
    /// What stands under these keys.
    pub(crate) role: Option<Bound<'py, PyAny>>,
    pub(crate) tool_calls: Option<Bound<'py, PyAny>>,
    pub(crate) tool_call_id: Option<Bound<'py, PyAny>>,
    /// The first of what was read of it, and one past the last.
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// What of its content is text, and stands in which part of it.
    pub(crate) texts: Vec<(usize, Option<usize>)>,
    /// What was read of each of its calls: the first, and one past the last.
    pub(crate) calls: Vec<(usize, usize)>,
    /// Whether it says anything but its calls: empty texts and thoughts do not.
    pub(crate) speaks: bool,
    /// What stands around it, and what its images take.
    pub(crate) framing: usize,
}

/// Collects what the model reads.
pub(crate) struct Reader<'py> {
    pub(crate) read: Vec<Read<'py>>,
    /// Whether every part was text, or of a known kind that counts nothing.
    pub(crate) known: bool,
    /// What images take.
    images: usize,
}

impl<'py> Reader<'py> {
    pub(crate) fn new() -> Self {
        Self { read: vec![], known: true, images: 0 }
    }

    /// Takes the message at `at`.
    pub(crate) fn message(&mut self, at: usize, message: &Bound<'py, PyAny>) -> PyResult<Parts<'py>> {
        let place = Place { list: "messages", at, key: None };
        let Some(message) = dict(message)? else {
            return Err(errors::argument(&place.to_string(), "a mapping", message, false));
        };
        let mut parts = Parts { from: self.read.len(), framing: MESSAGE, ..Parts::default() };
        let images = self.images;
        let mut known = false;
        for (key, value) in &message {
            let Ok(key) = key.cast::<PyString>() else { continue };
            let Ok(name) = key.to_str() else { continue };
            let place = Place { key: Some(name), ..place };
            let from = self.read.len();
            match (name, value.cast::<PyList>()) {
                ("content", Ok(content)) => {
                    known = true;
                    for (n, part) in content.iter().enumerate() {
                        let from = self.read.len();
                        self.value(place, &part, 2)?;
                        // Of an image nothing is read.
                        parts.speaks |= !is_thought(&part) && (self.read.len() == from || self.says(from));
                        let text = part.cast::<PyDict>().map_or(part.is_instance_of::<PyString>(), is_text);
                        if text && self.read.len() == from + 1 {
                            parts.texts.push((from, Some(n)));
                        }
                    }
                }
                ("tool_calls", Ok(calls)) => {
                    known = true;
                    for call in calls {
                        let from = self.read.len();
                        self.value(place, &call, 2)?;
                        parts.calls.push((from, self.read.len()));
                    }
                }
                _ => {
                    known |= self.key(place, name, &value, 0)?;
                    if name == "content" && value.is_instance_of::<PyString>() && self.read.len() == from + 1
                    {
                        parts.texts.push((from, None));
                    }
                }
            }
            match name {
                "name" if value.is_truthy()? => parts.framing += NAME,
                "name" => {}
                "role" => parts.role = Some(value),
                "tool_calls" => parts.tool_calls = Some(value),
                "tool_call_id" => parts.tool_call_id = Some(value),
                "content" if value.is_instance_of::<PyList>() => {}
                _ => parts.speaks |= self.says(from),
            }
        }
        if !known {
            self.unknown(place, message.into_any());
        }
        parts.to = self.read.len();
        parts.framing += self.images - images;
        Ok(parts)
    }

    /// Whether what was read since is more than empty texts.
    fn says(&self, from: usize) -> bool {
        self.read[from..].iter().any(|read| match read {
            Read::Text(text) => !text.bytes().is_empty(),
            Read::Json(..) => true,
        })
    }

    /// Takes what stands in a message. Deeper than `DEPTH`, it refers to itself.
    fn value(&mut self, place: Place<'_>, value: &Bound<'py, PyAny>, depth: usize) -> PyResult<()> {
        if value.is_none() {
            return Ok(());
        }
        if value.is_instance_of::<PyString>() {
            return self.text(value);
        }
        if depth > DEPTH {
            return Err(errors::config(format!("{place} refers to itself, or is nested too deep")));
        }
        if let Ok(list) = value.cast::<PyList>() {
            return list.iter().try_for_each(|item| self.value(place, &item, depth + 1));
        }
        if let Ok(tuple) = value.cast::<PyTuple>() {
            return tuple.iter().try_for_each(|item| self.value(place, &item, depth + 1));
        }
        let Some(part) = dict(value)? else {
            return Err(errors::holds(place, "text and parts", value));
        };
        let mut known = false;
        for (key, value) in &part {
            if let Ok(key) = key.cast::<PyString>()
                && let Ok(name) = key.to_str()
            {
                known |= self.key(place, name, &value, depth)?;
            }
        }
        if !known {
            self.unknown(place, part.into_any());
        }
        Ok(())
    }

    /// Takes what stands under a key; whether the key says of what kind the part is.
    fn key(
        &mut self,
        place: Place<'_>,
        key: &str,
        value: &Bound<'py, PyAny>,
        depth: usize,
    ) -> PyResult<bool> {
        match key {
            // Text, or further parts.
            "role" | "name" | "text" | "content" | "parts" | "output" | "refusal" | "thinking"
            | "summary" | "arguments" | "title" | "context" | "tool_calls" | "function" | "function_call"
            | "functionCall" | "functionResponse" | "function_response" | "custom" => {
                self.value(place, value, depth + 1)?;
            }
            // What the model reads as JSON.
            "input" | "args" | "response" => {
                if value.is_instance_of::<PyString>() {
                    self.text(value)?;
                } else {
                    self.read.push(Read::Json(value.clone(), place.whole()));
                }
            }
            "source" => {
                let Some(source) = dict(value)? else { return Ok(true) };
                if let Some(kind) = source.get_item(name!(value.py(), "type"))?
                    && let Ok(kind) = kind.cast::<PyString>()
                    && matches!(kind.to_str(), Ok("text" | "content"))
                {
                    for name in ["data", "content"] {
                        if let Some(inner) = source.get_item(name)? {
                            self.value(place, &inner, depth + 1)?;
                        }
                    }
                } else {
                    self.media(source.as_any())?;
                }
            }
            // What is no text.
            "image_url" | "input_audio" | "audio" | "file" | "file_id" | "file_data" | "file_url"
            | "inlineData" | "inline_data" | "fileData" => self.media(value)?,
            // An image of an MCP server, or what only its provider can read.
            "data" | "encrypted_content" => {
                self.known = false;
                let data = value.cast::<PyString>().ok().and_then(|data| data.to_str().ok());
                self.images += data.and_then(|data| image_tokens(data.as_bytes())).unwrap_or(0);
            }
            "uri" => {}
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Takes what is no text: a mapping with data or a URL in it, or that itself. Where nothing says how large it is,
    /// it counts as the largest image.
    fn media(&mut self, media: &Bound<'py, PyAny>) -> PyResult<()> {
        if media.is_none() {
            return Ok(());
        }
        self.known = false;
        let text = |value: &Bound<'py, PyAny>| value.cast::<PyString>().ok().cloned();
        let (mut given, mut low) = (text(media), false);
        if let Some(media) = dict(media)? {
            let under = |key: &str| Ok::<_, PyErr>(media.get_item(key)?.as_ref().and_then(text));
            given = under("data")?.map_or_else(|| under("url"), |data| Ok(Some(data)))?;
            low = under("detail")?.is_some_and(|detail| detail.to_str().is_ok_and(|detail| detail == "low"));
        }
        let given = given.as_ref().and_then(|given| given.to_str().ok()).unwrap_or_default();
        let data = given.split_once(";base64,").filter(|_| given.starts_with("data:"));
        let tokens = image_tokens(data.map_or(given, |(_, data)| data).as_bytes()).unwrap_or(IMAGE_MOST);
        self.images += if low { IMAGE_LEAST } else { tokens };
        Ok(())
    }

    /// Takes the definition of a tool.
    pub(crate) fn tool(&mut self, at: usize, tool: Bound<'py, PyAny>) -> usize {
        self.read.push(Read::Json(tool, Place { list: "tools", at, key: None }));
        TOOL
    }

    fn unknown(&mut self, place: Place<'_>, part: Bound<'py, PyAny>) {
        self.known = false;
        self.read.push(Read::Json(part, place.whole()));
    }

    fn text(&mut self, text: &Bound<'py, PyAny>) -> PyResult<()> {
        self.read.push(Read::Text(Text::of(text, "messages")?));
        Ok(())
    }

    /// All of it as text.
    pub(crate) fn texts(self, py: Python<'py>) -> PyResult<Vec<Text<'py>>> {
        let text = |read| match read {
            Read::Text(text) => Ok(text),
            Read::Json(value, place) => {
                match written(py, &value).and_then(|json| Text::of(&json, "messages")) {
                    Ok(text) => Ok(text),
                    // A stranger's error may quote anything.
                    Err(_) => Err(errors::config(format!(
                        "{place} cannot be written as JSON: it refers to itself, or is nested too deep"
                    ))),
                }
            }
        };
        self.read.into_iter().map(text).collect()
    }
}

/// A mapping as a dict, and an object of an SDK as what it would send; none for anything else.
pub(crate) fn dict<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyDict>>> {
    if let Ok(dict) = value.cast::<PyDict>() {
        return Ok(Some(dict.clone()));
    }
    let Ok(mapping) = value.cast::<PyMapping>() else { return Ok(dumped(value)) };
    let py = value.py();
    // A stranger's mapping may fail in any way, and say anything.
    let copy = py
        .get_type::<PyDict>()
        .call1((mapping,))
        .map_err(|_| errors::config("a mapping among the messages cannot be read".into()))?;
    Ok(copy.cast_into::<PyDict>().ok())
}

/// Whether a part is what a model thought.
fn is_thought(part: &Bound<'_, PyAny>) -> bool {
    let kind = part.cast::<PyDict>().ok().and_then(|part| part.get_item(name!(part.py(), "type")).ok()?);
    kind.is_some_and(|kind| {
        kind.cast::<PyString>().is_ok_and(|kind| {
            matches!(kind.to_str(), Ok("thinking" | "redacted_thinking" | "thought" | "reasoning"))
        })
    })
}

/// What an object of an SDK, which is a pydantic model, would send.
fn dumped<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyDict>> {
    let py = value.py();
    let options = PyDict::new(py);
    options.set_item(name!(py, "mode"), "json").ok()?;
    options.set_item(name!(py, "exclude_unset"), true).ok()?;
    let dump = value.get_type().getattr(name!(py, "model_dump")).ok()?;
    dump.call((value,), Some(&options)).ok()?.cast_into::<PyDict>().ok()
}

/// Whether a part is text that may be shortened where it stands.
fn is_text(part: &Bound<'_, PyDict>) -> bool {
    let kind = part.get_item(name!(part.py(), "type")).ok().flatten();
    let text = part.get_item(name!(part.py(), "text")).ok().flatten();
    text.is_some_and(|text| text.is_instance_of::<PyString>())
        && kind.is_some_and(|kind| {
            kind.cast::<PyString>()
                .is_ok_and(|kind| matches!(kind.to_str(), Ok("text" | "input_text" | "output_text")))
        })
}

fn written<'py>(py: Python<'py>, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let options = PyDict::new(py);
    options.set_item(name!(py, "ensure_ascii"), false)?;
    options.set_item(name!(py, "default"), py.get_type::<PyString>())?;
    options.set_item(name!(py, "separators"), (",", ":"))?;
    py.import(name!(py, "json"))?.call_method(name!(py, "dumps"), (value,), Some(&options))
}

/// What counts: an encoding, or a function of a str.
#[derive(FromPyObject)]
pub(crate) enum Counter {
    Encoding(Py<Encoding>),
    Function(Py<PyAny>),
}

impl Counter {
    /// What each text takes; those that were counted before are not counted again.
    pub(crate) fn count(&self, py: Python<'_>, texts: &[Text<'_>]) -> PyResult<Vec<usize>> {
        match self {
            Self::Encoding(encoding) => counts(py, encoding.get().0, texts),
            Self::Function(function) => {
                let one = |text: &Text<'_>| match text {
                    Text::Str(text) | Text::Encoded(text, _) => function.call1(py, (text,))?.extract(py),
                    Text::Bytes(_) | Text::Copied(_) => Err(errors::internal("a text of messages is no str")),
                };
                texts.iter().map(one).collect()
            }
        }
    }
}

fn counts(py: Python<'_>, estimate: Estimate, texts: &[Text<'_>]) -> PyResult<Vec<usize>> {
    let encoding = estimate.encoding;
    let texts: Vec<Cow<'_, str>> = texts.iter().map(tokens::decoded).collect::<PyResult<_>>()?;
    let bytes: usize = texts.iter().map(|text| text.len()).sum();
    let known = || texts.iter().map(|text| encoding.remembered(text)).collect::<Vec<_>>();
    let mut known = if bytes < SLICE { enter::attached(known)? } else { enter::detached(py, known)? };
    let new: Vec<usize> = (0..texts.len()).filter(|&n| known[n].is_none()).collect();
    let bytes: usize = new.iter().map(|&n| texts[n].len()).sum();
    let count = |&n: &usize| {
        let tokens = encoding.count(&texts[n]);
        encoding.remember(&texts[n], tokens);
        tokens
    };
    let counted: Vec<usize> = if bytes < ATTACHED_MAX {
        enter::attached(|| new.iter().map(count).collect())?
    } else if bytes < POOL_MIN {
        enter::detached(py, || new.iter().map(count).collect())?
    } else {
        let work = |&n: &usize, stop: &enter::Stop| {
            let tokens = encoding.count_checked(&texts[n], || stop.check())?;
            encoding.remember(&texts[n], tokens);
            Ok(tokens)
        };
        enter::parallel(py, &new, work, |_, tokens| Ok(tokens))?
    };
    for (n, tokens) in new.into_iter().zip(counted) {
        known[n] = Some(tokens);
    }
    let weighed = |(text, tokens): (&Cow<'_, str>, Option<usize>)| estimate.of(tokens.unwrap_or(0), text);
    Ok(texts.iter().zip(known).map(weighed).collect())
}

/// Tokens of messages and of tool definitions: of their texts, of what stands around them, and whether every part was of
/// a known kind.
#[pyfunction]
pub(crate) fn count_messages(
    py: Python<'_>,
    messages: &Bound<'_, PyList>,
    tools: &Bound<'_, PyList>,
    counter: &Bound<'_, PyAny>,
) -> PyResult<(usize, usize, bool)> {
    let counter: Counter = counter.extract()?;
    let (reader, framing) = enter::attached(|| -> PyResult<_> {
        let (mut reader, mut framing) = (Reader::new(), REPLY);
        for (at, message) in messages.iter().enumerate() {
            framing += reader.message(at, &message)?.framing;
        }
        for (at, tool) in tools.iter().enumerate() {
            framing += reader.tool(at, tool);
        }
        Ok((reader, framing))
    })??;
    let known = reader.known;
    let texts = reader.texts(py)?;
    Ok((counter.count(py, &texts)?.iter().sum(), framing, known))
}
