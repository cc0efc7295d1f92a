//! Why a policy was refused, told without what was given.
//!
//! The detector's own messages quote names and patterns. Those come from arguments, where a secret may stand by mistake:
//! here the argument is looked for that is to blame, and named by its place. Rule files are no place for secrets, and
//! their messages need the names in them: they are told, but as the default policy leaves them.

use ctxproto_once::Once;
use ctxproto_redact::detect::{Allow, Detector, Pii, Policy, PolicyError, RuleInfo};
use ctxproto_redact::{Format, Options, Placeholder, Redactor};

/// `text` as the default policy leaves it.
pub(crate) fn clean(text: &str) -> String {
    static DEFAULT: Once<Option<Redactor>> = Once::new(|| {
        let options = Options { placeholder: Placeholder::Label, key: [0; 32] };
        Some(Redactor::new(Detector::new(&Policy::default()).ok()?.into(), options))
    });
    let Some(redactor) = &*DEFAULT else { return "what is wrong cannot be told".into() };
    let text = without_quotes(text);
    match redactor.redact(text.as_bytes(), Format::Text) {
        Some(redaction) => String::from_utf8_lossy(&redaction.text).into_owned(),
        None => text,
    }
}

/// A file that was no rule file at all may be full of secrets: the TOML reader's `string "…"` loses its value.
fn without_quotes(message: &str) -> String {
    const BEFORE: &str = "invalid type: string \"";
    const AFTER: &str = "\", expected ";
    match (message.find(BEFORE), message.rfind(AFTER)) {
        (Some(from), Some(to)) if from + BEFORE.len() <= to => {
            let (from, to) = (from + BEFORE.len() - 2, to + 1);
            format!("{}{}", &message[..from], &message[to..])
        }
        _ => message.to_owned(),
    }
}

/// What to tell about `error`, with which `policy` was refused.
pub(crate) fn explain(
    policy: &Policy,
    read: &dyn Fn(&str) -> Result<String, String>,
    error: &PolicyError,
) -> String {
    // The same policy without what the caller named: is it to blame, and which names would have been right?
    let plain = Policy { pii: Pii::All, allow: Allow::default(), ..policy.clone() };
    let rules = match Detector::with_files(&plain, read) {
        Ok(detector) => detector.rules().to_vec(),
        Err(_) => return clean(&error.to_string()),
    };
    if let Pii::Named(names) = &policy.pii
        && let Some(told) =
            unknown("pii", "a rule for personal data", names, rules.iter().filter(|rule| rule.pii))
    {
        return told;
    }
    if let Some(told) = unknown("allow.rules", "a rule", &policy.allow.rules, rules.iter()) {
        return told;
    }
    for (at, pattern) in policy.allow.patterns.iter().enumerate() {
        let alone = Policy {
            no_builtin: true,
            allow: Allow { patterns: vec![pattern.clone()], ..Allow::default() },
            ..Policy::default()
        };
        if Detector::new(&alone).is_err() {
            let size = count(pattern.chars().count());
            return format!(
                "allow.patterns[{at}] is a regular expression, not this str of {size}: {}",
                fault(pattern)
            );
        }
    }
    clean(&error.to_string())
}

fn unknown<'r>(
    argument: &str,
    what: &str,
    names: &[String],
    mut rules: impl Iterator<Item = &'r RuleInfo> + Clone,
) -> Option<String> {
    let known = |name: &String| rules.clone().any(|rule| rule.id == *name || rule.label == *name);
    let (at, name) = names.iter().enumerate().find(|(_, name)| !known(name))?;
    let size = count(name.chars().count());
    // A wrong case is the likeliest of typing errors, and what it is answered with is ours.
    let near = rules.find_map(|rule| {
        [&rule.id, &rule.label].into_iter().find(|right| folded(right) == folded(name)).cloned()
    });
    let hint = near
        .map_or_else(|| "`ctxproto rules list` shows all".to_owned(), |near| format!("did you mean {near}?"));
    Some(format!("{argument}[{at}] is the label or the id of {what}, not this str of {size}; {hint}"))
}

fn folded(name: &str) -> String {
    name.to_ascii_lowercase().replace(['_', ' '], "-")
}

fn count(characters: usize) -> String {
    format!("{characters} character{}", if characters == 1 { "" } else { "s" })
}

/// What is wrong with a pattern, in words that quote nothing of it.
fn fault(pattern: &str) -> String {
    use regex_syntax::Error;
    match regex_syntax::parse(pattern) {
        Err(Error::Parse(error)) => {
            format!(
                "{} at character {}",
                error.kind(),
                pattern[..error.span().start.offset].chars().count() + 1
            )
        }
        Err(Error::Translate(error)) => {
            format!(
                "{} at character {}",
                error.kind(),
                pattern[..error.span().start.offset].chars().count() + 1
            )
        }
        _ => "it is too large when compiled, or open at its end".into(),
    }
}
