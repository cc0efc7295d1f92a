//! Messages within a budget.

use std::collections::HashMap;
use std::sync::Arc;

use ctxproto_budget::{Kept, Limits, Message, Role, Short, Text as Shortened, Turn, What};
use ctxproto_trim::Plan;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::messages::{Counter, Parts, REPLY, Reader};
use crate::redactor::Redactor;
use crate::text::{self, Text};
use crate::{enter, errors, trim};

/// How messages are made to fit; `ctxproto.budget` has validated the arguments.
#[pyclass(frozen, module = "ctxproto._core")]
pub(crate) struct Flusher {
    counter: Counter,
    /// How the texts of a category are shortened, where they are.
    plans: HashMap<String, Plan>,
}

/// What is known of a message beside its texts.
struct Facts<'py> {
    role: Role,
    calls: Vec<Option<Text<'py>>>,
    answers: Option<Option<Text<'py>>>,
    category: String,
}

/// What was done to messages: action, reason, indices, category, tokens before, tokens after.
type Told<'py> = (&'static str, &'static str, Bound<'py, PyTuple>, String, usize, usize);

#[pymethods]
impl Flusher {
    #[new]
    fn py_new(
        counter: Counter,
        strategies: HashMap<String, String>,
        redactor: Option<&Bound<'_, Redactor>>,
    ) -> Self {
        let plans = counter.estimate().map_or_else(HashMap::new, |estimate| {
            let counter: Arc<dyn ctxproto_trim::Count> = Arc::new(estimate);
            let plan = |strategy: &str| {
                let mut plan = Plan::new(trim::strategy(strategy), 0, Arc::clone(&counter));
                plan.redactor = redactor.map(|r| Arc::clone(&r.get().engine));
                plan
            };
            strategies.iter().map(|(category, strategy)| (category.clone(), plan(strategy))).collect()
        });
        Self { counter, plans }
    }

    /// The messages that fit into `most` tokens, `fixed` of them taken by other things: the messages, what they took and
    /// take, what was done, and the first index that is not what it was.
    #[pyo3(signature = (messages, categories, priorities, most, fixed, *, stride, cached))]
    #[expect(clippy::too_many_arguments, reason = "the limits of a call")]
    #[expect(clippy::type_complexity, reason = "as Python takes it apart")]
    fn flush<'py>(
        &self,
        messages: &Bound<'py, PyList>,
        categories: Option<Vec<Option<String>>>,
        priorities: HashMap<String, u8>,
        most: usize,
        fixed: usize,
        stride: usize,
        cached: usize,
    ) -> PyResult<(Bound<'py, PyList>, usize, usize, Vec<Told<'py>>, Option<usize>)> {
        let py = messages.py();
        let (reader, parts, facts) = enter::attached(|| -> PyResult<_> {
            let mut reader = Reader::new();
            let parts: Vec<Parts> =
                messages.iter().enumerate().map(|(at, m)| reader.message(at, &m)).collect::<PyResult<_>>()?;
            Ok((reader, parts, facts(messages, categories)?))
        })??;
        let texts = reader.texts(py)?;
        let tokens = self.counter.count(py, &texts)?;
        let fixed = fixed + REPLY;
        let limits = Limits { most: most.saturating_sub(fixed), stride, cached };
        let views: Vec<Message<'_>> = parts
            .iter()
            .zip(&facts)
            .map(|(parts, facts)| self.message(parts, facts, &texts, &tokens, &priorities))
            .collect();
        let outcome = enter::detached(py, || ctxproto_budget::flush(&views, limits))?
            .map_err(|short| told(&short, &facts, most, fixed))?;
        let kept = PyList::empty(py);
        for one in &outcome.kept {
            let message = messages.get_item(one.at)?;
            kept.append(if one.is_untouched() {
                message
            } else {
                rewritten(&message, one, &parts[one.at])?
            })?;
        }
        let first = outcome.first_changed(parts.len());
        let changes = outcome.changes.into_iter().map(|change| {
            let (action, reason) = words(change.what);
            let category = facts[change.at[0]].category.clone();
            Ok((action, reason, PyTuple::new(py, change.at)?, category, change.before, change.after))
        });
        let changes = changes.collect::<PyResult<_>>()?;
        Ok((kept, outcome.before + fixed, outcome.after + fixed, changes, first))
    }
}

impl Flusher {
    fn message<'t>(
        &'t self,
        parts: &Parts,
        facts: &'t Facts<'_>,
        texts: &'t [Text<'_>],
        tokens: &[usize],
        priorities: &HashMap<String, u8>,
    ) -> Message<'t> {
        let sum = |(from, to): (usize, usize)| tokens[from..to].iter().sum();
        let text = |&(at, _): &(usize, Option<usize>)| {
            let plan = self.plans.get(&facts.category)?;
            Some(Shortened { text: texts[at].bytes(), tokens: tokens[at], plan })
        };
        let shortened: Option<Vec<Shortened<'_>>> = match facts.role {
            // A model that reads markers in what it said itself will write some.
            Role::Assistant => None,
            _ => parts.texts.iter().map(text).collect(),
        };
        Message {
            role: facts.role,
            turn: Turn {
                calls: facts.calls.iter().map(id).collect(),
                answers: facts.answers.as_ref().map(id),
            },
            call_tokens: parts.calls.iter().copied().map(sum).collect(),
            bare: !parts.speaks,
            tokens: parts.framing + sum((parts.from, parts.to)),
            texts: shortened.unwrap_or_default(),
            priority: priorities.get(&facts.category).copied().unwrap_or(0),
        }
    }
}

/// An id, empty where there is none: those without pair by their order.
fn id<'t>(id: &'t Option<Text<'_>>) -> &'t [u8] {
    id.as_ref().map_or(b"", Text::bytes)
}

/// What is known of each message, and the category of those that were given none.
fn facts<'py>(
    messages: &Bound<'py, PyList>,
    categories: Option<Vec<Option<String>>>,
) -> PyResult<Vec<Facts<'py>>> {
    let py = messages.py();
    let mut facts = Vec::with_capacity(messages.len());
    for (at, message) in messages.iter().enumerate() {
        let get = |key: &Bound<'py, PyString>| -> PyResult<Option<Bound<'py, PyAny>>> {
            let value = match message.cast::<PyDict>() {
                Ok(message) => message.get_item(key)?,
                Err(_) => Some(message.call_method1(intern!(py, "get"), (key,))?),
            };
            Ok(value.filter(|value| !value.is_none()))
        };
        let role = get(intern!(py, "role"))?;
        let role = match role.as_ref().and_then(|role| role.cast::<PyString>().ok()).map(|role| role.to_str())
        {
            Some(Ok("system" | "developer")) => Role::System,
            Some(Ok("user")) => Role::User,
            Some(Ok("assistant")) => Role::Assistant,
            Some(Ok("tool")) => Role::Tool,
            _ => {
                let place = format!("messages[{at}].role");
                let role = role.unwrap_or_else(|| py.None().into_bound(py));
                let is_str = role.is_instance_of::<PyString>();
                return Err(errors::argument(
                    &place,
                    "one of system, developer, user, assistant, tool",
                    &role,
                    is_str,
                ));
            }
        };
        let mut calls = vec![];
        if role == Role::Assistant
            && let Some(given) = get(intern!(py, "tool_calls"))?
        {
            let place = || format!("messages[{at}].tool_calls");
            let Ok(given) = given.cast::<PyList>() else {
                return Err(errors::argument(&place(), "a list", &given, false));
            };
            for (n, call) in given.iter().enumerate() {
                let Ok(call) = call.cast::<PyDict>() else {
                    return Err(errors::argument(&format!("{}[{n}]", place()), "a dict", &call, false));
                };
                calls.push(name(call.get_item(intern!(py, "id"))?, || format!("{}[{n}].id", place()))?);
            }
        }
        let answers = match role {
            Role::Tool => {
                Some(name(get(intern!(py, "tool_call_id"))?, || format!("messages[{at}].tool_call_id"))?)
            }
            _ => None,
        };
        facts.push(Facts { role, calls, answers, category: String::new() });
    }
    // The turn that goes on began with the last message of the user.
    let turn = facts.iter().rposition(|facts| facts.role == Role::User);
    let mut given = categories.into_iter().flatten();
    for (at, facts) in facts.iter_mut().enumerate() {
        facts.category = given.next().flatten().unwrap_or_else(|| {
            let now = turn.is_none_or(|turn| at > turn);
            let category = match facts.role {
                Role::System => "system",
                Role::User if turn == Some(at) => "user_messages",
                Role::Tool if now => "tool_results",
                Role::Assistant if now && !facts.calls.is_empty() => "tool_results",
                _ => "history",
            };
            category.to_owned()
        });
    }
    Ok(facts)
}

fn name<'py>(id: Option<Bound<'py, PyAny>>, place: impl Fn() -> String) -> PyResult<Option<Text<'py>>> {
    match id {
        None => Ok(None),
        Some(id) if id.is_none() => Ok(None),
        Some(id) if id.is_instance_of::<PyString>() => Text::of(&id, "messages").map(Some),
        Some(id) => Err(errors::argument(&place(), "a str", &id, false)),
    }
}

/// The message with its new texts, and without the calls that are cut.
fn rewritten<'py>(message: &Bound<'py, PyAny>, kept: &Kept, parts: &Parts) -> PyResult<Bound<'py, PyAny>> {
    let py = message.py();
    let message = py.get_type::<PyDict>().call1((message,))?.cast_into::<PyDict>()?;
    let (content, calls) = (intern!(py, "content"), intern!(py, "tool_calls"));
    for (new, &(_, part)) in kept.texts.iter().zip(&parts.texts) {
        let Some(new) = new else { continue };
        let new = text::output(py, new, true)?;
        let Some(part) = part else {
            message.set_item(content, new)?;
            continue;
        };
        let all = message.as_any().get_item(content)?.cast_into::<PyList>()?;
        let all = PyList::new(py, all.iter())?;
        let old = all.get_item(part)?;
        if let Ok(old) = old.cast::<PyDict>() {
            let part_new = old.copy()?;
            part_new.set_item(intern!(py, "text"), new)?;
            all.set_item(part, part_new)?;
        } else {
            all.set_item(part, new)?;
        }
        message.set_item(content, all)?;
    }
    if !kept.cut.is_empty() {
        let all = message.as_any().get_item(calls)?.cast_into::<PyList>()?;
        let left = all.iter().enumerate().filter(|(n, _)| !kept.cut.contains(n)).map(|(_, call)| call);
        let left = PyList::new(py, left.collect::<Vec<_>>())?;
        if left.is_empty() {
            message.del_item(calls)?;
        } else {
            message.set_item(calls, left)?;
        }
    }
    Ok(message.into_any())
}

/// What `ctxproto.budget` calls it: action and reason.
fn words(what: What) -> (&'static str, &'static str) {
    match what {
        What::OverBudget => ("dropped", "budget"),
        What::Leading => ("dropped", "leading"),
        What::Orphan => ("dropped", "orphan"),
        What::Duplicate => ("dropped", "duplicate"),
        What::Unanswered => ("dropped", "unanswered"),
        What::Cut => ("cut", "unanswered"),
        What::Shortened => ("shortened", "budget"),
        What::Moved => ("moved", "late"),
    }
}

/// The error with its numbers, category by category.
fn told(short: &Short, facts: &[Facts<'_>], most: usize, fixed: usize) -> PyErr {
    let mut shares: Vec<(&str, usize)> = vec![];
    for &(first, tokens) in &short.stays {
        let category = &facts[first].category;
        match shares.iter_mut().find(|(name, _)| name == category) {
            Some((_, sum)) => *sum += tokens,
            None => shares.push((category, tokens)),
        }
    }
    let shares: Vec<String> = shares.iter().map(|(name, tokens)| format!("{name} {tokens}")).collect();
    let needed = short.needed + fixed;
    errors::budget(
        format!(
            "what must stay takes {needed} tokens at least, and {most} are allowed: {}, framing and tools {fixed}",
            shares.join(", ")
        ),
        needed,
    )
}
