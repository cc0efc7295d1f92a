//! Rules as they stand in the files: TOML in, checked descriptions out.

use serde::Deserialize;

use crate::checks::{self, Check};
use crate::gitleaks::{self, Loaded, Read};
use crate::pattern::{Pattern, Spec};
use crate::policy::PolicyError;
use crate::shape::Shape;

/// The built-in rule files, one for each field.
pub(crate) const FILES: &[(&str, &str)] = &[
    ("ai.toml", include_str!("../rules/ai.toml")),
    ("cloud.toml", include_str!("../rules/cloud.toml")),
    ("crypto.toml", include_str!("../rules/crypto.toml")),
    ("hash.toml", include_str!("../rules/hash.toml")),
    ("messaging.toml", include_str!("../rules/messaging.toml")),
    ("monitoring.toml", include_str!("../rules/monitoring.toml")),
    ("payment.toml", include_str!("../rules/payment.toml")),
    ("pii.toml", include_str!("../rules/pii.toml")),
    ("registry.toml", include_str!("../rules/registry.toml")),
    ("saas.toml", include_str!("../rules/saas.toml")),
    ("vcs_ci.toml", include_str!("../rules/vcs_ci.toml")),
    ("parsers.toml", include_str!("../rules/parsers.toml")),
];

/// What users see of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleInfo {
    /// Unique name.
    pub id: String,
    /// What a placeholder shows.
    pub label: String,
    /// A short description.
    pub name: String,
    /// The rule file it came from.
    pub source: String,
    /// Personal data rather than a secret.
    pub pii: bool,
    /// The shapes, or the parser's name, or the pattern, as written.
    pub form: Vec<String>,
    /// The context words, if it needs any.
    pub near: Vec<String>,
    /// The checksum's name, if it carries one.
    pub check: Option<String>,
}

/// A rule made of shapes, ready to compile into the index.
#[derive(Clone, Debug)]
pub(crate) struct ShapeRule {
    pub(crate) rule: u16,
    pub(crate) shape: Shape,
    pub(crate) check: Option<&'static Check>,
    pub(crate) near: Vec<String>,
    pub(crate) random: bool,
    /// A secret rather than personal data.
    pub(crate) secret: bool,
    pub(crate) rank: u8,
}

/// How sure a rule is of its label; the surest names a value that several rules found.
pub(crate) mod rank {
    pub(crate) const KEYED: u8 = 10;
    pub(crate) const HEADER: u8 = 20;
    pub(crate) const KNOWN: u8 = 30;
    pub(crate) const NEAR: u8 = 40;
    pub(crate) const FORM: u8 = 50;
    pub(crate) const PREFIX: u8 = 60;
    pub(crate) const USER: u8 = 100;
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    rule: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl From<OneOrMany> for Vec<String> {
    fn from(it: OneOrMany) -> Self {
        match it {
            OneOrMany::One(s) => vec![s],
            OneOrMany::Many(v) => v,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    id: String,
    name: String,
    label: String,
    shape: Option<OneOrMany>,
    parser: Option<String>,
    pattern: Option<String>,
    check: Option<String>,
    #[serde(default)]
    near: Vec<String>,
    case: Option<String>,
    random: Option<bool>,
    group: Option<String>,
    #[serde(default)]
    default: bool,
    #[serde(default)]
    priority: i8,
    keywords: Option<Vec<String>>,
    secret_group: Option<usize>,
    entropy: Option<f64>,
}

/// One rule of a file, parsed.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) info: RuleInfo,
    pub(crate) default: bool,
    pub(crate) shapes: Vec<ShapeRule>,
    pub(crate) parser: Option<String>,
    pub(crate) pattern: Option<Pattern>,
    /// It came in gitleaks' form.
    pub(crate) gitleaks: bool,
}

/// Reads a rule file in ctxproto's own form.
pub(crate) fn parse(source: &str, text: &str, user: bool) -> Result<Vec<Parsed>, PolicyError> {
    let file: File = toml::from_str(text).map_err(|e| toml_error(source, text, &e))?;
    file.rule.into_iter().map(|entry| parse_entry(source, entry, user)).collect()
}

/// Reads a user's rule file, ours or gitleaks'.
pub(crate) fn load(source: &str, text: &str, read: Read<'_>) -> Result<Loaded, PolicyError> {
    let table: toml::Table = text.parse().map_err(|e| toml_error(source, text, &e))?;
    if gitleaks::is_gitleaks(&table) {
        return gitleaks::load(source, table, read);
    }
    Ok(Loaded { rules: parse(source, text, true)?, ..Loaded::default() })
}

/// Whether a built-in rule has this id.
pub(crate) fn is_builtin(id: &str) -> bool {
    let line = format!("\nid = {id:?}\n");
    FILES.iter().any(|(_, text)| text.contains(&line))
}

/// What is wrong with a file, and in which line.
pub(crate) fn toml_error(source: &str, text: &str, error: &toml::de::Error) -> PolicyError {
    let at = error.span().map_or(0, |s| s.start.min(text.len()));
    let line = text.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count() + 1;
    let message = error.message().lines().collect::<Vec<_>>().join(" ");
    PolicyError::new(format!("{source}: line {line}: {message}"))
}

fn parse_entry(source: &str, entry: Entry, user: bool) -> Result<Parsed, PolicyError> {
    let id = entry.id.clone();
    let fail = |what: String| PolicyError::new(format!("{source}: rule {id:?}: {what}"));
    let named = |text: &str, ok: fn(u8) -> bool| !text.is_empty() && text.bytes().all(ok);
    if !named(&entry.id, |b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b)) {
        return Err(fail("an id is made of lower-case letters, digits and dashes".into()));
    }
    if !named(&entry.label, |b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_') {
        return Err(fail(format!("label {:?} is not made of A-Z, 0-9 and _", entry.label)));
    }
    let forms = [entry.shape.is_some(), entry.parser.is_some() && !user, entry.pattern.is_some()];
    if forms.iter().filter(|&&f| f).count() != 1 {
        return Err(fail("one of shape and pattern must be given".into()));
    }
    let any_case = match entry.case.as_deref() {
        None => false,
        Some("any") => true,
        Some(other) => return Err(fail(format!("case is {other:?}; it can be \"any\""))),
    };
    let pii = match entry.group.as_deref() {
        None => false,
        Some("pii") => true,
        Some(other) => return Err(fail(format!("group is {other:?}; it can be \"pii\""))),
    };
    let check = entry
        .check
        .as_deref()
        .map(|name| checks::find(name).ok_or_else(|| fail(format!("{name:?} is no known check"))))
        .transpose()?;
    let shapes: Vec<String> = entry.shape.map(Vec::from).unwrap_or_default();
    let mut compiled = vec![];
    for text in &shapes {
        let shape = Shape::parse(text, any_case).map_err(|e| fail(format!("shape {text:?}: {e}")))?;
        let prefix = shape.prefixes().iter().map(Vec::len).min().unwrap_or(0);
        let signed = shape.fixed_run().is_some() && shape.has_inner_literal();
        if prefix < 2 && entry.near.is_empty() && check.is_none() && !signed {
            return Err(fail(format!(
                "shape {text:?} has no public prefix: it needs near words, a check, or a literal of 4 inside a fixed length"
            )));
        }
        if shape.min_len() < 16 && !pii {
            return Err(fail(format!("shape {text:?} is {} bytes long; the least is 16", shape.min_len())));
        }
        let weak = shape
            .prefixes()
            .iter()
            .any(|p| p.len() < 4 && !p.iter().any(|b| b"_-.".contains(b) || b.is_ascii_digit()));
        let base = match (user, prefix >= 2 && entry.near.is_empty()) {
            (true, _) => rank::USER,
            (_, true) => rank::PREFIX,
            (_, false) => rank::NEAR,
        };
        compiled.push(ShapeRule {
            rule: 0,
            shape,
            check,
            near: entry.near.iter().map(|w| w.to_ascii_lowercase()).collect(),
            random: entry.random.unwrap_or(!pii && check.is_none() && (!entry.near.is_empty() || weak)),
            secret: !pii,
            rank: base.saturating_add_signed(entry.priority.clamp(-9, 9)),
        });
    }
    if let Some(word) = entry.near.iter().find(|w| w.len() < 3) {
        return Err(fail(format!("near word {word:?} is too short; the least is 3 letters")));
    }
    let extras = [entry.keywords.is_some(), entry.secret_group.is_some(), entry.entropy.is_some()];
    if entry.pattern.is_none() && extras.contains(&true) {
        return Err(fail("keywords, secret_group and entropy belong to a pattern".into()));
    }
    let of_shapes = [
        !entry.near.is_empty(),
        entry.case.is_some(),
        entry.check.is_some(),
        entry.random.is_some(),
        entry.priority != 0,
    ];
    if entry.pattern.is_some() && of_shapes.contains(&true) {
        return Err(fail("near, case, check, random and priority belong to a shape".into()));
    }
    let pattern = entry.pattern.as_ref().map(|regex| {
        Pattern::new(Spec {
            regex: regex.clone(),
            keywords: entry.keywords.unwrap_or_default(),
            group: entry.secret_group,
            entropy: entry.entropy.unwrap_or(0.0),
            ..Spec::default()
        })
    });
    let pattern = pattern.transpose().map_err(&fail)?;
    let form = match (&entry.parser, &entry.pattern) {
        (Some(p), _) => vec![format!("parser {p}")],
        (_, Some(p)) => vec![p.clone()],
        _ => shapes,
    };
    Ok(Parsed {
        info: RuleInfo {
            id: entry.id,
            label: entry.label,
            name: entry.name,
            source: source.into(),
            pii,
            form,
            near: entry.near,
            check: entry.check,
        },
        default: entry.default,
        shapes: compiled,
        parser: entry.parser,
        pattern,
        gitleaks: false,
    })
}
