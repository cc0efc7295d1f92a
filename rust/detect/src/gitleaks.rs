//! Rule files of gitleaks, as far as a text alone allows: what needs paths, commits or a network is said, not guessed.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use toml::{Table, Value};

use crate::pattern::{self, AllowList, Pattern, Spec, Target};
use crate::policy::PolicyError;
use crate::rule::{Parsed, RuleInfo, toml_error};

/// How many files deep `extend.path` may lead.
const DEPTH: usize = 2;

/// Gives the text of the file that a rule file extends, by its path.
pub(crate) type Read<'r> = &'r dyn Fn(&str) -> Result<String, String>;

/// What a file comes to.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) rules: Vec<Parsed>,
    pub(crate) warnings: Vec<String>,
    /// Rules it switches off that are not its own.
    pub(crate) disabled: Vec<String>,
}

/// Keys that mean nothing here.
type Other = BTreeMap<String, Value>;

// All keys are in lower case: gitleaks reads them in either.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    extend: Extend,
    #[serde(default)]
    rules: Vec<Table>,
    allowlist: Option<List>,
    #[serde(default)]
    allowlists: Vec<List>,
    #[serde(flatten)]
    other: Other,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Extend {
    usedefault: bool,
    path: String,
    url: String,
    disabledrules: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Rule {
    id: String,
    description: String,
    regex: Option<String>,
    secretgroup: Option<usize>,
    entropy: Option<f64>,
    keywords: Vec<String>,
    #[serde(rename = "tags")]
    _tags: Vec<String>,
    path: Option<String>,
    skipreport: bool,
    required: Vec<Value>,
    allowlist: Option<List>,
    allowlists: Vec<List>,
    #[serde(flatten)]
    other: Other,
    /// The file it stands in.
    #[serde(skip)]
    source: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct List {
    #[serde(rename = "description")]
    _description: String,
    condition: String,
    regextarget: String,
    regexes: Vec<String>,
    stopwords: Vec<String>,
    paths: Vec<String>,
    commits: Vec<String>,
    targetrules: Vec<String>,
    #[serde(flatten)]
    other: Other,
}

/// Whether a rule file is in gitleaks' form.
pub(crate) fn is_gitleaks(table: &Table) -> bool {
    const KEYS: &[&str] = &["rules", "title", "extend", "allowlist", "allowlists", "minversion"];
    !table.contains_key("rule") && table.keys().any(|k| KEYS.contains(&k.to_ascii_lowercase().as_str()))
}

/// Reads a rule file in gitleaks' form, and those it extends.
pub(crate) fn load(source: &str, table: Table, read: Read<'_>) -> Result<Loaded, PolicyError> {
    let mut config = Config::default();
    config.add(source, table, read, &mut vec![normal(Path::new(source))])?;
    config.finish()
}

/// A file with what it extends, not compiled yet.
#[derive(Default)]
struct Config {
    rules: Vec<Rule>,
    lists: Vec<(String, List)>,
    default: bool,
    disabled: Vec<String>,
    warnings: Vec<String>,
}

impl Config {
    fn add(
        &mut self,
        source: &str,
        table: Table,
        read: Read<'_>,
        files: &mut Vec<PathBuf>,
    ) -> Result<(), PolicyError> {
        let fail = |what: String| PolicyError::new(format!("{source}: {what}"));
        let file: File = lower(table).try_into().map_err(|e: toml::de::Error| fail(one_line(e.message())))?;
        let other = file
            .other
            .keys()
            .filter(|k| !["title", "description", "version", "minversion"].contains(&k.as_str()));
        self.unknown(source, other);
        let mut rules: Vec<Rule> = vec![];
        for (n, table) in file.rules.into_iter().enumerate() {
            let id = table.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
            if id.is_empty() {
                return Err(fail(format!("rule {} has no id", n + 1)));
            }
            let rule: Rule = table
                .try_into()
                .map_err(|e: toml::de::Error| fail(format!("rule {id:?}: {}", one_line(e.message()))))?;
            if rules.iter().any(|r| r.id == id) {
                return Err(fail(format!("rule {id:?} is defined twice")));
            }
            rules.push(Rule { source: source.into(), ..rule });
        }
        let extend = file.extend;
        if extend.usedefault && !self.default {
            self.warnings.push(format!(
                "{source}: extend.useDefault means the built-in rules of ctxproto, not those of gitleaks"
            ));
            self.default = true;
        }
        if !extend.url.is_empty() {
            self.warnings
                .push(format!("{source}: extend.url is left out: no rules are loaded from a network"));
        }
        if !extend.path.is_empty() {
            let path = normal(&Path::new(source).parent().unwrap_or(Path::new("")).join(&extend.path));
            let name = path.display().to_string();
            if files.contains(&path) {
                return Err(fail(format!("extend.path leads back to {name}")));
            }
            if files.len() > DEPTH {
                return Err(fail(format!("extend.path leads more than {DEPTH} files deep")));
            }
            let text = read(&name).map_err(|e| fail(format!("extend.path: cannot read {name}: {e}")))?;
            let table = text.parse::<Table>().map_err(|e| toml_error(&name, &text, &e))?;
            if !is_gitleaks(&table) {
                return Err(fail(format!("extend.path: {name} is not in gitleaks' form")));
            }
            files.push(path);
            self.add(&name, table, read, files)?;
            files.pop();
        }
        for id in extend.disabledrules {
            let before = self.rules.len() + rules.len();
            self.rules.retain(|r| r.id != id);
            rules.retain(|r| r.id != id);
            if self.rules.len() + rules.len() == before {
                self.disabled.push(id);
            }
        }
        for rule in rules {
            match self.rules.iter_mut().find(|r| r.id == rule.id) {
                Some(base) => base.merge(rule),
                None => self.rules.push(rule),
            }
        }
        let lists = file.allowlist.into_iter().chain(file.allowlists);
        self.lists.extend(lists.map(|list| (source.to_owned(), list)));
        Ok(())
    }

    fn unknown<'k>(&mut self, source: &str, keys: impl Iterator<Item = &'k String>) {
        let keys: Vec<&str> = keys.map(String::as_str).collect();
        if !keys.is_empty() {
            self.warnings.push(format!("{source}: no meaning is known for {}", keys.join(", ")));
        }
    }

    fn finish(mut self) -> Result<Loaded, PolicyError> {
        let mut global = vec![];
        for (source, list) in std::mem::take(&mut self.lists) {
            let fail = |what: String| PolicyError::new(format!("{source}: allowlists: {what}"));
            let mut said = vec![];
            let targets = list.targetrules.clone();
            for id in targets.iter().filter(|id| !self.rules.iter().any(|r| r.id == **id)) {
                said.push(format!("targetRules names {id:?}, which is no rule of the file"));
            }
            if let Some(compiled) = list.compile(&mut said).map_err(fail)? {
                if self.default && targets.is_empty() {
                    said.push("they apply to the rules of the file, not to the built-in ones".into());
                }
                global.push((targets, compiled));
            }
            if !said.is_empty() {
                self.warnings.push(format!("{source}: allowlists: {}", said.join("; ")));
            }
        }
        let mut out = Loaded { rules: vec![], warnings: self.warnings, disabled: self.disabled };
        for rule in self.rules {
            let (source, id) = (rule.source.clone(), rule.id.clone());
            let mut said = vec![];
            let parsed = rule
                .compile(&global, self.default, &mut said)
                .map_err(|what| PolicyError::new(format!("{source}: rule {id:?}: {what}")))?;
            out.rules.extend(parsed);
            if !said.is_empty() {
                out.warnings.push(format!("{source}: rule {id:?}: {}", said.join("; ")));
            }
        }
        Ok(out)
    }
}

impl Rule {
    /// Takes over what a rule of the same id says in the file that extends this one's.
    fn merge(&mut self, over: Self) {
        if !over.description.is_empty() {
            self.description = over.description;
        }
        self.regex = over.regex.or(self.regex.take());
        self.secretgroup = over.secretgroup.or(self.secretgroup);
        self.entropy = over.entropy.or(self.entropy);
        self.path = over.path.or(self.path.take());
        self.skipreport |= over.skipreport;
        self.keywords.extend(over.keywords);
        self.required.extend(over.required);
        self.allowlists.extend(over.allowlist.into_iter().chain(over.allowlists));
        self.other.extend(over.other);
        self.source = over.source;
    }

    /// The rule as ours; `None` if it cannot be one, which is said.
    fn compile(
        self,
        global: &[(Vec<String>, Arc<AllowList>)],
        default: bool,
        said: &mut Vec<String>,
    ) -> Result<Option<Parsed>, String> {
        let Some(regex) = self.regex.filter(|r| !r.is_empty()) else {
            if self.path.is_some() {
                said.push("it is left out, for it looks at paths alone".into());
            } else if default {
                said.push("it is left out, for it only changes a rule of gitleaks that is not here".into());
            } else {
                return Err("it has no regex".into());
            }
            return Ok(None);
        };
        if self.skipreport {
            said.push("it is left out, for it is only a part of other rules (skipReport)".into());
            return Ok(None);
        }
        if self.path.is_some() {
            said.push("its path condition is left out: it applies to every text".into());
        }
        if !self.required.is_empty() {
            said.push("it applies without the parts it requires".into());
        }
        if !self.other.is_empty() {
            let keys: Vec<&str> = self.other.keys().map(String::as_str).collect();
            said.push(format!("no meaning is known for {}", keys.join(", ")));
        }
        let mut allow = vec![];
        for list in self.allowlist.into_iter().chain(self.allowlists) {
            allow.extend(list.compile(said).map_err(|e| format!("allowlists: {e}"))?);
        }
        allow.extend(
            global.iter().filter(|(ids, _)| ids.is_empty() || ids.contains(&self.id)).map(|(_, a)| a.clone()),
        );
        let regex = from_go(&regex);
        let entropy = self.entropy.unwrap_or(0.0);
        let pattern = Pattern::new(Spec {
            keywords: self.keywords,
            // In gitleaks zero is "not set".
            group: self.secretgroup.filter(|&g| g > 0),
            entropy,
            // As gitleaks has it, so that words are not taken for secrets.
            digit: self.id.starts_with("generic") && entropy > 0.0,
            allow,
            regex: regex.clone(),
        })?;
        Ok(Some(Parsed {
            info: RuleInfo {
                label: label(&self.id),
                name: if self.description.is_empty() { self.id.clone() } else { self.description },
                id: self.id,
                source: self.source,
                pii: false,
                form: vec![regex],
                near: vec![],
                check: None,
            },
            default: false,
            shapes: vec![],
            parser: None,
            pattern: Some(pattern),
            gitleaks: true,
        }))
    }
}

impl List {
    /// `None` if nothing of it can be honoured.
    fn compile(self, said: &mut Vec<String>) -> Result<Option<Arc<AllowList>>, String> {
        let all = match self.condition.to_ascii_lowercase().as_str() {
            "" | "or" | "||" => false,
            "and" | "&&" => true,
            _ => return Err(format!("condition is {:?}; it can be OR or AND", self.condition)),
        };
        let target = match self.regextarget.to_ascii_lowercase().as_str() {
            "" | "secret" => Target::Secret,
            "match" => Target::Match,
            "line" => Target::Line,
            _ => {
                return Err(format!(
                    "regexTarget is {:?}; it can be secret, match or line",
                    self.regextarget
                ));
            }
        };
        if !self.other.is_empty() {
            let keys: Vec<&str> = self.other.keys().map(String::as_str).collect();
            said.push(format!("no meaning is known for {} in an allowlist", keys.join(", ")));
        }
        let outside = match (self.paths.is_empty(), self.commits.is_empty()) {
            (true, true) => "",
            (false, true) => "paths",
            (true, false) => "commits",
            (false, false) => "paths and commits",
        };
        let nothing = self.regexes.is_empty() && self.stopwords.is_empty();
        if !outside.is_empty() {
            // Of conditions that must all hold one never does; the others would allow more than was meant.
            let what = if all && !nothing { "an allowlist that also wants" } else { "the allowlist's" };
            said.push(format!(
                "{what} {outside} cannot be honoured and {} left out",
                if all && !nothing { "is" } else { "are" }
            ));
            if all {
                return Ok(None);
            }
        }
        if nothing {
            return Ok(None);
        }
        let regexes =
            self.regexes.iter().map(|r| pattern::compile(&from_go(r)).map_err(|e| format!("{r:?}: {e}")));
        Ok(Some(Arc::new(AllowList {
            all,
            target,
            regexes: regexes.collect::<Result<_, _>>()?,
            stopwords: self
                .stopwords
                .iter()
                .filter(|w| !w.is_empty())
                .map(|w| w.to_ascii_lowercase())
                .collect(),
        })))
    }
}

/// A label from an id: `my-token.v2` is `MY_TOKEN_V2`.
fn label(id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let label: String = id.chars().map(plain).collect();
    let label = label.trim_matches('_');
    if label.is_empty() { "SECRET".into() } else { label.into() }
}

/// A path without `.` and without `x/..`, so that the same file has the same name.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(out.components().next_back(), Some(Component::Normal(_))) => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

fn lower(table: Table) -> Table {
    fn value(v: Value) -> Value {
        match v {
            Value::Table(t) => Value::Table(lower(t)),
            Value::Array(a) => Value::Array(a.into_iter().map(value).collect()),
            v => v,
        }
    }
    table.into_iter().map(|(k, v)| (k.to_ascii_lowercase(), value(v))).collect()
}

fn one_line(message: &str) -> String {
    message.lines().collect::<Vec<_>>().join(" ")
}

/// An expression of Go as one of ours: braces that repeat nothing, and brackets and doubled signs inside a class, stand
/// for themselves there.
fn from_go(pattern: &str) -> String {
    let bytes = pattern.as_bytes();
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern;
    // Whether a `{` here could repeat something, and whether a class is open.
    let (mut repeats, mut class) = (false, false);
    while let Some(c) = rest.chars().next() {
        let at = bytes.len() - rest.len();
        let mut taken = c.len_utf8();
        match c {
            '\\' if rest.starts_with("\\Q") => {
                // A text that stands for itself, to `\E` or the end.
                let text = &rest[2..];
                let end = text.find("\\E");
                out.push_str(&regex::escape(&text[..end.unwrap_or(text.len())]));
                taken = end.map_or(rest.len(), |i| i + 4);
            }
            '\\' => {
                taken += rest[1..].chars().next().map_or(0, char::len_utf8);
                if matches!(bytes.get(at + 1), Some(b'p' | b'P' | b'x')) && bytes.get(at + 2) == Some(&b'{') {
                    taken = rest.find('}').map_or(taken, |i| i + 1);
                }
                out.push_str(&rest[..taken]);
            }
            '[' if class && rest.starts_with("[:") && rest.contains(":]") => {
                taken = rest.find(":]").map_or(1, |i| i + 2);
                out.push_str(&rest[..taken]);
            }
            '[' if class => out.push_str("\\["),
            '[' => {
                class = true;
                // A bracket that comes first stands for itself.
                taken += usize::from(rest[taken..].starts_with('^'));
                out.push_str(&rest[..taken]);
                if rest[taken..].starts_with(']') {
                    out.push_str("\\]");
                    taken += 1;
                }
            }
            ']' if class => {
                class = false;
                out.push(']');
            }
            '&' | '~' | '-' if class && bytes.get(at + 1) == bytes.get(at) => {
                out.push(c);
                out.push('\\');
                out.push(c);
                taken = 2;
            }
            '{' if !class => {
                let count = rest.find('}').map(|i| &rest[1..i]).filter(|n| {
                    let (low, high) = n.split_once(',').unwrap_or((n, ""));
                    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
                    !low.is_empty() && digits(low) && digits(high)
                });
                if count.is_none() || !repeats {
                    out.push('\\');
                }
                out.push('{');
            }
            _ => out.push(c),
        }
        repeats = !matches!(c, '(' | '|' | '^');
        rest = &rest[taken..];
    }
    out
}
