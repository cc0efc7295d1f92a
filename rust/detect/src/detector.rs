//! A compiled policy: what callers hold.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use regex::bytes::Regex;

use crate::beginnings::{Beginnings, start};
use crate::engine::{Candidate, Engine, Parsers};
use crate::gitleaks::Loaded;
use crate::index::Index;
use crate::known::Known;
use crate::masks::{Level, Wordlists};
use crate::pattern::Patterns;
use crate::policy::{Pii, Policy, PolicyError};
use crate::rule::{self, Parsed, RuleInfo};
use crate::stems;
use crate::triggers::Wanted;
use crate::view;
use crate::window::Window;

/// One place in the text that must not be seen: `start..end` in bytes, found by rule number `rule`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Match {
    /// Index into [`Detector::rules`].
    pub rule: u16,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// How many of the first bytes are public: the prefix that says what it is.
    pub public: usize,
    /// How sure the rule is of its label: the surest names a place that several found.
    pub rank: u8,
}

/// A part of a text, and where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The bytes at hand: up to [`Detector::LOOK_BACK`] before `from`, and as many as there are after it.
    pub bytes: &'a [u8],
    /// Where the part that was not decided yet begins in `bytes`.
    pub from: usize,
    /// How far `bytes` is from the beginning of the text.
    pub offset: usize,
    /// Whether the text ends where `bytes` ends.
    pub ended: bool,
}

/// A compiled policy: immutable, shared by threads.
#[derive(Debug)]
pub struct Detector {
    rules: Vec<RuleInfo>,
    warnings: Vec<String>,
    pub(crate) engine: Engine,
    known: Option<Known>,
    patterns: Option<Patterns>,
    allow: Allowed,
}

/// Rules are numbered in 16 bits; known values need some too.
const MAX_RULES: usize = 60_000;

#[derive(Debug, Default)]
struct Allowed {
    values: Vec<Vec<u8>>,
    patterns: Vec<Regex>,
    keys: Vec<Vec<u8>>,
    inline: bool,
}

impl Detector {
    /// How many bytes before an undecided place a scan may need.
    pub const LOOK_BACK: usize = crate::engine::BACK + crate::pattern::BACK;
    /// No finding of a scan that begins at one place ends farther behind it unless it was found there or later.
    pub const REACH: usize = crate::pem::REACH;

    /// Compiles a policy whose rule files stand for themselves.
    pub fn new(policy: &Policy) -> Result<Self, PolicyError> {
        Self::with_files(policy, &|_| Err("no files are read here".into()))
    }

    /// Compiles a policy. `read` gives the text of a file that a gitleaks file extends, by its path: this crate itself
    /// reads none.
    pub fn with_files(
        policy: &Policy,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Self, PolicyError> {
        let mut warnings = vec![];
        let mut parsed: Vec<Parsed> = vec![];
        if !policy.no_builtin {
            for (source, text) in rule::FILES {
                parsed.extend(rule::parse(source, text, false)?);
            }
        }
        for (source, text) in &policy.rule_files {
            let mut file = rule::load(source, text, read)?;
            rename(source, &mut file, &parsed);
            for id in &file.disabled {
                if !rule::is_builtin(id) {
                    file.warnings.push(format!("{source}: disabledRules names {id:?}, which is no rule"));
                }
                parsed.retain(|p| p.info.id != *id || p.info.source == *source);
            }
            parsed.append(&mut file.rules);
            warnings.append(&mut file.warnings);
        }
        let mut seen = HashMap::new();
        for p in &parsed {
            if let Some(before) = seen.insert(p.info.id.clone(), p.info.source.clone()) {
                return Err(PolicyError::new(format!(
                    "{}: rule {:?} is already defined in {before}",
                    p.info.source, p.info.id
                )));
            }
        }
        check_names(policy, &parsed)?;
        parsed.retain(|p| is_on(policy, p));

        let mut rules = vec![];
        let mut shapes = vec![];
        let mut parsers = Parsers::default();
        let mut known_rule = None;
        let mut patterns = vec![];
        if parsed.len() > MAX_RULES {
            return Err(PolicyError::new(format!(
                "there are {} rules; the most is {MAX_RULES}",
                parsed.len()
            )));
        }
        for p in parsed {
            let n = rules.len() as u16;
            for mut shape in p.shapes {
                shape.rule = n;
                shapes.push(shape);
            }
            if let Some(mut pattern) = p.pattern {
                pattern.rule = n;
                patterns.push(pattern);
            }
            match p.parser.as_deref() {
                Some("known") => known_rule = Some(n),
                Some(name) => {
                    *parsers.slot(name).ok_or_else(|| {
                        PolicyError::new(format!("rule {:?}: {name:?} is no known parser", p.info.id))
                    })? = Some(n);
                }
                None => {}
            }
            rules.push(p.info);
        }
        let known = Self::known(policy, known_rule, &mut rules)?;
        let index = Index::new(shapes).map_err(PolicyError::new)?;
        let wanted = Wanted {
            numbers: parsers.card.is_some() || parsers.ssn.is_some() || parsers.iban.is_some(),
            at: parsers.email.is_some(),
            words: !index.words.is_empty()
                || parsers.ip.is_some()
                || parsers.phone.is_some()
                || parsers.mac.is_some(),
        };
        let lists = Wordlists {
            keys: Beginnings::new(stems::STEMS.iter().map(|stem| start(stem, None, true))),
            literals: Beginnings::new(index.starts.iter().copied()),
        };
        let engine = Engine { level: Level::best(), index, lists, wanted, parsers };
        let allowed = policy.allow.patterns.iter().map(|p| {
            Regex::new(&format!("^(?:{p})$"))
                .map_err(|e| PolicyError::new(format!("allow pattern {p:?}: {e}")))
        });
        let allow = Allowed {
            values: policy.allow.values.clone(),
            patterns: allowed.collect::<Result<_, _>>()?,
            keys: policy.allow.keys.iter().map(|k| k.to_ascii_lowercase().into_bytes()).collect(),
            inline: policy.allow.inline,
        };
        Ok(Self { rules, warnings, engine, known, patterns: Patterns::new(patterns)?, allow })
    }

    /// A rule of its own for each label of the known values.
    fn known(
        policy: &Policy,
        rule: Option<u16>,
        rules: &mut Vec<RuleInfo>,
    ) -> Result<Option<Known>, PolicyError> {
        let mut values = vec![];
        for (label, value) in &policy.known_values {
            let same = rules.iter().position(|r| r.source == "known values" && r.label == *label);
            let n = match (same, rule) {
                (Some(n), _) => n as u16,
                (None, Some(n)) if rules[usize::from(n)].label == *label => n,
                (None, _) => {
                    rules.push(RuleInfo {
                        id: format!("known-{}", label.to_ascii_lowercase().replace('_', "-")),
                        label: label.clone(),
                        name: "Value declared secret by the caller".into(),
                        source: "known values".into(),
                        pii: false,
                        form: vec![],
                        near: vec![],
                        check: None,
                    });
                    rules.len() as u16 - 1
                }
            };
            values.push((n, value.as_slice()));
        }
        Known::new(&values)
    }

    /// The active rules.
    pub fn rules(&self) -> &[RuleInfo] {
        &self.rules
    }

    /// What could not be honoured of the user's rule files, one sentence each.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The instruction set in use.
    pub fn simd(&self) -> &'static str {
        self.engine.level.name()
    }

    /// All findings in order, none overlapping another.
    pub fn scan(&self, text: &[u8]) -> Vec<Match> {
        let mut found = vec![];
        self.scan_part(Part { bytes: text, from: 0, offset: 0, ended: true }, &mut found);
        settle(&mut found);
        found
    }

    /// Adds the findings of a part, in no order and possibly overlapping: [`settle`] puts them right. Returns the place
    /// in `part.bytes` before which nothing can still be found: what stands there may be sent on, and the next scan
    /// must begin there.
    pub fn scan_part(&self, part: Part<'_>, out: &mut Vec<Match>) -> usize {
        let window = Window {
            text: part.bytes,
            ended: part.ended,
            offset: part.offset,
            last: part.ended,
            lines: self.allow.inline,
        };
        let mut candidates = vec![];
        // A flag such as ` -p ` begins at the blank before its word, which may have been sent on.
        let blank = part.from > 0 && window.before(part.from) == Some(b' ');
        let mut done = self.engine.scan(window, part.from - usize::from(blank), 0, &mut candidates);
        if let Some(known) = &self.known {
            done = done.min(known.scan(window, part.from, &mut candidates));
        }
        if let Some(patterns) = &self.patterns {
            done = done.min(patterns.scan(window, part.from, &mut candidates));
        }
        for c in candidates {
            if self.keep(window, &c) {
                out.push(Match {
                    rule: c.rule,
                    start: c.start,
                    end: c.end,
                    public: usize::from(c.public),
                    rank: c.rank,
                });
            }
        }
        if part.ended { part.bytes.len() } else { self.undecided(window, done) }
    }

    /// Where something may still begin, when `at` is the first undecided place: at the word it is in, or at a short
    /// piece before a line break with which a wrapped token may begin.
    fn undecided(&self, window: Window<'_>, at: usize) -> usize {
        let start = at - view::word_back(window, at);
        match crate::wrapped::open_piece(window, start) {
            Some((left, end)) if self.engine.index.may_begin(&window.text[left..end]) => left,
            _ => start,
        }
    }

    /// Whether the caller has not declared it harmless.
    fn keep(&self, window: Window<'_>, c: &Candidate) -> bool {
        let value = &window.text[c.start..c.end];
        let allow = &self.allow;
        if allow.values.iter().any(|v| v == value) || allow.patterns.iter().any(|p| p.is_match(value)) {
            return false;
        }
        if !allow.keys.is_empty() {
            let name = crate::assign::name_before(window, c.start).to_ascii_lowercase();
            if allow.keys.contains(&name) {
                return false;
            }
        }
        if allow.inline {
            // What waits for the rest of its line is found again.
            let Ok(end) = window.line_end(c.end) else { return false };
            let line = &window.text[c.start..end];
            return !["ctxproto:allow", "gitleaks:allow", "pragma: allowlist secret"]
                .iter()
                .any(|m| crate::index::find(line, m.as_bytes()).is_some());
        }
        true
    }

    /// The rule for the value under `key` in a parsed document, and which of its bytes must go: `Bearer ` and quotes stay.
    pub fn judge_value(&self, key: &str, value: &[u8]) -> Option<(u16, Range<usize>)> {
        if self.allow.keys.contains(&key.to_ascii_lowercase().into_bytes()) {
            return None;
        }
        let (kind, skip, place) = crate::assign::judge(key.as_bytes(), value)?;
        let parsers = &self.engine.parsers;
        let rule = if skip > 0 { parsers.authorization } else { parsers.of(kind) }?;
        let c = Candidate { start: place.start, end: place.end, rule, rank: 0, public: 0 };
        self.keep(Window::whole(value), &c).then_some((rule, place))
    }
}

/// Gives rules of a gitleaks file that have the id of one before a name of their own: both stay.
fn rename(source: &str, file: &mut Loaded, before: &[Parsed]) {
    let ids: HashSet<&str> = before.iter().map(|p| p.info.id.as_str()).collect();
    let mut renamed = vec![];
    for rule in file.rules.iter_mut().filter(|r| r.gitleaks && ids.contains(r.info.id.as_str())) {
        let id = format!("gitleaks-{}", rule.info.id);
        renamed.push(std::mem::replace(&mut rule.info.id, id));
    }
    if !renamed.is_empty() {
        file.warnings.push(format!(
            "{source}: rules that have the id of another are called gitleaks-… here: {}",
            renamed.join(", ")
        ));
    }
}

/// Puts findings in order and joins those that overlap: the surest rule names the whole, of equally sure ones the first
/// in the list of rules, in whatever order they were joined.
pub fn settle(found: &mut Vec<Match>) {
    found.sort_by_key(|m| (m.start, std::cmp::Reverse(m.end)));
    let mut kept = 0;
    for i in 1..found.len() {
        let next = found[i];
        let last = &mut found[kept];
        if next.start < last.end {
            let surest = |m: &Match| (m.rank, std::cmp::Reverse(m.rule));
            if surest(&next) > surest(last) {
                let public = if next.start == last.start { next.public } else { 0 };
                *last = Match { start: last.start, end: last.end.max(next.end), public, ..next };
            } else {
                last.end = last.end.max(next.end);
            }
        } else {
            kept += 1;
            found[kept] = next;
        }
    }
    found.truncate(if found.is_empty() { 0 } else { kept + 1 });
}

/// Whether the policy wants this rule.
fn is_on(policy: &Policy, p: &Parsed) -> bool {
    let listed = |list: &[String]| list.iter().any(|n| *n == p.info.id || *n == p.info.label);
    if listed(&policy.allow.rules) {
        return false;
    }
    if !p.info.pii {
        return true;
    }
    match &policy.pii {
        Pii::Dangerous => p.default,
        Pii::None => false,
        Pii::All => true,
        Pii::Named(names) => listed(names),
    }
}

/// Refuses names of rules that do not exist: a typing error would silently switch nothing on or off.
fn check_names(policy: &Policy, parsed: &[Parsed]) -> Result<(), PolicyError> {
    let known = |name: &String| parsed.iter().any(|p| p.info.id == *name || p.info.label == *name);
    if let Pii::Named(names) = &policy.pii
        && let Some(name) = names
            .iter()
            .find(|n| !parsed.iter().any(|p| p.info.pii && (p.info.id == **n || p.info.label == **n)))
    {
        return Err(PolicyError::new(format!("pii: {name:?} is neither a label nor an id of a PII rule")));
    }
    match policy.allow.rules.iter().find(|n| !known(n)) {
        Some(name) => {
            Err(PolicyError::new(format!("allow rules: {name:?} is neither a label nor an id of a rule")))
        }
        None => Ok(()),
    }
}
