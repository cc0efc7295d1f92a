//! Messages within a budget.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use ctxproto_budget::{Change, Kept, Limits, Message, Role, Short, Text as Shortened, Turn, What};
use ctxproto_trim::Plan;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::messages::{self, Counter, Parts, REPLY, Reader};
use crate::redactor::Redactor;
use crate::text::{self, Text};
use crate::{enter, errors, function, tokens, trim};

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
    /// The ids of its calls, and that of the call which a tool's message answers. None where one was given none: those
    /// without pair by their order.
    calls: Vec<Option<Text<'py>>>,
    answers: Option<Text<'py>>,
    category: Cow<'static, str>,
}

/// What was done to messages in a row: action, reason, indices, category, tokens before, tokens after.
type Told<'py> = (&'static str, &'static str, Bound<'py, PyTuple>, String, usize, usize);

#[pymethods]
impl Flusher {
    #[new]
    fn py_new(
        counter: &Bound<'_, PyAny>,
        strategies: &Bound<'_, PyDict>,
        redactor: Option<&Bound<'_, Redactor>>,
    ) -> PyResult<Self> {
        let strategies: HashMap<String, String> = strategies.extract()?;
        let plan = |strategy: &str| {
            let mut plan = Plan::new(trim::strategy(strategy), 0, tokens::counter(counter));
            plan.redactor = redactor.map(|r| Arc::clone(&r.get().engine));
            plan
        };
        let plans =
            strategies.iter().map(|(category, strategy)| (category.clone(), plan(strategy))).collect();
        Ok(Self { counter: counter.extract()?, plans })
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
        priorities: &Bound<'py, PyDict>,
        most: usize,
        fixed: usize,
        stride: usize,
        cached: usize,
    ) -> PyResult<(Bound<'py, PyList>, usize, usize, Vec<Told<'py>>, Option<usize>)> {
        let py = messages.py();
        let priorities: HashMap<String, u8> = priorities.extract()?;
        let (reader, parts, facts) = enter::attached(|| -> PyResult<_> {
            let mut reader = Reader::new();
            let read = messages.iter().enumerate().map(|(at, message)| reader.message(at, &message));
            let parts: Vec<Parts<'_>> = read.collect::<PyResult<_>>()?;
            let facts = facts(&parts, categories)?;
            Ok((reader, parts, facts))
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
        // Only what is shortened takes time.
        let fits = views.iter().map(|message| message.tokens).sum::<usize>() <= limits.most;
        let work = || ctxproto_budget::flush(&views, limits);
        let outcome = function::settled(|| {
            (if fits { enter::attached(work) } else { enter::detached(py, work) })?
                .map_err(|short| told(&short, &facts, &self.plans, most, fixed))
        })?;
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
        let same = |one: &Change, next: &Change| {
            let category = |change: &Change| &facts[change.at[0]].category;
            next.what == one.what && next.what.is_drop() && category(next) == category(one)
        };
        let rows = outcome.changes.chunk_by(same).map(|row| {
            let (action, reason) = words(row[0].what);
            let at = PyTuple::new(py, row.iter().flat_map(|c| c.at.iter().copied()).collect::<Vec<_>>())?;
            let category = facts[row[0].at[0]].category.clone().into_owned();
            let (before, after) = (row.iter().map(|c| c.before).sum(), row.iter().map(|c| c.after).sum());
            Ok((action, reason, at, category, before, after))
        });
        let changes = rows.collect::<PyResult<_>>()?;
        Ok((kept, outcome.before + fixed, outcome.after + fixed, changes, first))
    }
}

impl Flusher {
    fn message<'t>(
        &'t self,
        parts: &Parts<'_>,
        facts: &'t Facts<'_>,
        texts: &'t [Text<'_>],
        tokens: &[usize],
        priorities: &HashMap<String, u8>,
    ) -> Message<'t> {
        let sum = |(from, to): (usize, usize)| tokens[from..to].iter().sum();
        let text = |&(at, _): &(usize, Option<usize>)| {
            let plan = self.plans.get(&*facts.category)?;
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
                calls: facts.calls.iter().map(|id| bytes(id.as_ref())).collect(),
                answers: (facts.role == Role::Tool).then(|| bytes(facts.answers.as_ref())),
            },
            call_tokens: parts.calls.iter().copied().map(sum).collect(),
            bare: !parts.speaks,
            tokens: parts.framing + sum((parts.from, parts.to)),
            texts: shortened.unwrap_or_default(),
            priority: priorities.get(&*facts.category).copied().unwrap_or(0),
        }
    }
}

fn bytes<'t>(id: Option<&'t Text<'_>>) -> &'t [u8] {
    id.map_or(b"", Text::bytes)
}

/// What is known of each message, and the category of those that were given none.
fn facts<'py>(parts: &[Parts<'py>], categories: Option<Vec<Option<String>>>) -> PyResult<Vec<Facts<'py>>> {
    let mut facts: Vec<Facts<'_>> =
        parts.iter().enumerate().map(|(at, parts)| Facts::of(at, parts)).collect::<PyResult<_>>()?;
    // The turn that goes on began with the last message of the user.
    let turn = facts.iter().rposition(|facts| facts.role == Role::User);
    let mut given = categories.into_iter().flatten();
    for (at, facts) in facts.iter_mut().enumerate() {
        let now = turn.is_none_or(|turn| at > turn);
        facts.category = match (given.next().flatten(), facts.role) {
            (Some(category), _) => category.into(),
            (None, Role::System) => "system".into(),
            (None, Role::User) if turn == Some(at) => "user_messages".into(),
            (None, Role::Tool) if now => "tool_results".into(),
            (None, Role::Assistant) if now && !facts.calls.is_empty() => "tool_results".into(),
            _ => "history".into(),
        };
    }
    Ok(facts)
}

impl<'py> Facts<'py> {
    /// What is known of the message at `at`, but for its category.
    fn of(at: usize, parts: &Parts<'py>) -> PyResult<Self> {
        let role =
            parts.role.as_ref().and_then(|role| role.cast::<PyString>().ok()).map(|role| role.to_str());
        let role = match role {
            Some(Ok("system" | "developer")) => Role::System,
            Some(Ok("user")) => Role::User,
            Some(Ok("assistant")) => Role::Assistant,
            Some(Ok("tool")) => Role::Tool,
            _ => {
                let place = format!("messages[{at}].role");
                return Err(match &parts.role {
                    Some(other) => errors::argument(&place, ROLES, other, role.is_some()),
                    None => errors::config(format!("{place} is {ROLES}, and is not given")),
                });
            }
        };
        let (mut calls, mut answers) = (vec![], None);
        match (role, &parts.tool_calls, &parts.tool_call_id) {
            (Role::Assistant, Some(given), _) if !given.is_none() => {
                let place = || format!("messages[{at}].tool_calls");
                let Ok(given) = given.cast::<PyList>() else {
                    return Err(errors::argument(&place(), "a list", given, false));
                };
                for (n, call) in given.iter().enumerate() {
                    let Some(found) = messages::dict(&call)? else {
                        return Err(errors::argument(&format!("{}[{n}]", place()), "a dict", &call, false));
                    };
                    let id = found.get_item(intern!(call.py(), "id"))?;
                    calls.push(name(id, || format!("{}[{n}].id", place()))?);
                }
            }
            (Role::Tool, _, Some(id)) => {
                answers = name(Some(id.clone()), || format!("messages[{at}].tool_call_id"))?;
            }
            _ => {}
        }
        Ok(Self { role, calls, answers, category: Cow::Borrowed("") })
    }
}

const ROLES: &str = "one of system, developer, user, assistant, tool";

fn name(id: Option<Bound<'_, PyAny>>, place: impl Fn() -> String) -> PyResult<Option<Text<'_>>> {
    match id.filter(|id| !id.is_none()) {
        None => Ok(None),
        Some(id) if id.is_instance_of::<PyString>() => Text::of(&id, "messages").map(Some),
        Some(id) => Err(errors::argument(&place(), "a str", &id, false)),
    }
}

/// The message with its new texts, and without the calls that are cut.
fn rewritten<'py>(
    message: &Bound<'py, PyAny>,
    kept: &Kept,
    parts: &Parts<'_>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = message.py();
    let message =
        messages::dict(message)?.ok_or_else(|| errors::internal("a message is no dict now"))?.copy()?;
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
fn told(
    short: &Short,
    facts: &[Facts<'_>],
    plans: &HashMap<String, Plan>,
    most: usize,
    fixed: usize,
) -> PyErr {
    let mut shares: Vec<(&str, usize)> = vec![];
    for &(first, tokens) in &short.stays {
        let category = &facts[first].category;
        match shares.iter_mut().find(|(name, _)| name == category) {
            Some((_, sum)) => *sum += tokens,
            None => shares.push((category, tokens)),
        }
    }
    let whole: Vec<&str> =
        shares.iter().map(|(name, _)| *name).filter(|name| !plans.contains_key(*name)).collect();
    let hint = if whole.is_empty() {
        String::new()
    } else {
        format!("; `strategies` lets {} be shortened", whole.join(", "))
    };
    let shares: Vec<String> = shares.iter().map(|(name, tokens)| format!("{name} {tokens}")).collect();
    let needed = short.needed + fixed;
    errors::budget(
        format!(
            "what must stay takes {needed} tokens at least, and {most} are allowed: {}, framing and tools {fixed}{hint}",
            shares.join(", ")
        ),
        needed,
    )
}
