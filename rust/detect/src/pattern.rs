//! Rules that are regular expressions: the user's own, and those of gitleaks files.
//!
//! A pattern is tried only on lines that hold one of its keywords. A line of up to 4 KiB is read as it is; a longer one
//! in parts, on a grid of the whole text with margins, so that whatever stands in a text is found alike however it
//! arrives. A pattern that can match a line feed sees a bounded piece of what follows the line.

use std::ops::Range;
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::literal::{ExtractKind, Extractor};
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::class::ByteSet;
use crate::decoy;
use crate::engine::Candidate;
use crate::policy::PolicyError;
use crate::rule::rank;
use crate::window::{Cut, Look, Window};

/// Long lines are taken in parts of this size, each seen with a margin on both sides.
const CELL: usize = 4096;
const MARGIN: usize = 4096;
/// How far before an undecided place a part may be seen; a few bytes more, for assertions such as `\b`.
pub(crate) const BACK: usize = CELL + MARGIN + 64;
/// The least that a pattern sees after its line, if it can match a line feed and its length has no limit.
const AHEAD: usize = 8192;
/// What one compiled pattern may take.
const SIZE: usize = 4 << 20;
/// The shortest word worth looking for when a pattern names none.
const WORD: usize = 3;

/// A pattern as a rule file gives it.
#[derive(Debug, Default)]
pub(crate) struct Spec {
    pub(crate) regex: String,
    pub(crate) keywords: Vec<String>,
    /// Which group is the secret; by itself the first that takes part, or the whole if there are no groups.
    pub(crate) group: Option<usize>,
    /// A secret must have more Shannon bits per byte than this.
    pub(crate) entropy: f64,
    pub(crate) digit: bool,
    pub(crate) allow: Vec<Arc<AllowList>>,
}

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) rule: u16,
    regex: Regex,
    /// In lower case; empty: tried on every line.
    keywords: Vec<String>,
    group: Option<usize>,
    entropy: f64,
    /// Secrets without a digit do not count.
    digit: bool,
    /// How much of what follows the line it sees: zero, or a power of two.
    ahead: usize,
    allow: Vec<Arc<AllowList>>,
}

/// What the expressions of an allowlist are tried on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Target {
    #[default]
    Secret,
    Match,
    Line,
}

/// Secrets that are none.
#[derive(Debug, Default)]
pub(crate) struct AllowList {
    /// All conditions must hold rather than one.
    pub(crate) all: bool,
    pub(crate) target: Target,
    pub(crate) regexes: Vec<Regex>,
    /// In lower case.
    pub(crate) stopwords: Vec<String>,
}

impl AllowList {
    fn allows(&self, secret: &[u8], whole: &[u8], line: &[u8]) -> bool {
        let on = match self.target {
            Target::Secret => secret,
            Target::Match => whole,
            Target::Line => line,
        };
        let regex = || self.regexes.iter().any(|r| r.is_match(on));
        let word = || self.stopwords.iter().any(|w| decoy::contains_any_case(secret, w.as_bytes()));
        if self.all {
            (self.regexes.is_empty() || regex()) && (self.stopwords.is_empty() || word())
        } else {
            regex() || word()
        }
    }
}

/// Compiles an expression. Letters and digits are those of ASCII where that can be: the automata stay small, and
/// nothing is missed beside other scripts.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > 64 << 10 {
        return Err(format!("the pattern is {} bytes long; the most is 65536", pattern.len()));
    }
    let build = |unicode| {
        RegexBuilder::new(pattern).unicode(unicode).multi_line(true).crlf(true).size_limit(SIZE).build()
    };
    match build(false) {
        Err(regex::Error::Syntax(_)) => build(true),
        other => other,
    }
    .map_err(|e| match e {
        regex::Error::CompiledTooBig(limit) => {
            format!("the pattern takes more than {} MiB when compiled", limit >> 20)
        }
        // The last line says what is wrong; those before it draw where.
        e => e.to_string().lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned(),
    })
}

/// The same expression, parsed.
fn parse(pattern: &str) -> Result<Hir, String> {
    let parse = |unicode| {
        let mut parser = regex_syntax::ParserBuilder::new();
        parser.utf8(false).unicode(unicode).multi_line(true).crlf(true);
        parser.build().parse(pattern).map_err(|e| e.to_string())
    };
    parse(false).or_else(|_| parse(true))
}

/// Whether a match may hold a line feed.
fn takes_line_feed(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => false,
        HirKind::Literal(literal) => literal.0.contains(&b'\n'),
        HirKind::Class(Class::Unicode(class)) => class.iter().any(|r| r.start() <= '\n' && '\n' <= r.end()),
        HirKind::Class(Class::Bytes(class)) => class.iter().any(|r| r.start() <= b'\n' && b'\n' <= r.end()),
        HirKind::Repetition(repetition) => takes_line_feed(&repetition.sub),
        HirKind::Capture(capture) => takes_line_feed(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(takes_line_feed),
    }
}

/// Words one of which every match on one line begins or ends with; empty when there are none worth it.
fn required_words(hir: &Hir, one_line: bool) -> Vec<String> {
    let mut kinds = vec![ExtractKind::Prefix];
    if one_line {
        kinds.push(ExtractKind::Suffix);
    }
    for kind in kinds {
        let seq = Extractor::new().kind(kind).extract(hir);
        let Some(literals) = seq.literals() else { continue };
        let words: Option<Vec<String>> = literals
            .iter()
            .map(|l| String::from_utf8(l.as_bytes().to_ascii_lowercase()).ok())
            .map(|w| w.filter(|w| w.len() >= WORD && !w.contains('\n')))
            .collect();
        if let Some(mut words) = words.filter(|w| !w.is_empty()) {
            words.sort_unstable();
            words.dedup();
            return words;
        }
    }
    vec![]
}

impl Pattern {
    pub(crate) fn new(spec: Spec) -> Result<Self, String> {
        let regex = compile(&spec.regex)?;
        let hir = parse(&spec.regex)?;
        if hir.properties().minimum_len().unwrap_or(0) == 0 {
            return Err("the pattern can match nothing at all; it must take one character at least".into());
        }
        if let Some(group) = spec.group.filter(|&g| g >= regex.captures_len()) {
            return Err(format!(
                "secret group {group} does not exist; the pattern has {}",
                regex.captures_len() - 1
            ));
        }
        if !spec.entropy.is_finite() || !(0.0..=8.0).contains(&spec.entropy) {
            return Err(format!("entropy is {}; it can be 0 to 8 bits per byte", spec.entropy));
        }
        let ahead = if takes_line_feed(&hir) {
            hir.properties().maximum_len().unwrap_or(AHEAD).clamp(64, AHEAD).next_power_of_two()
        } else {
            0
        };
        let mut keywords: Vec<String> =
            spec.keywords.iter().filter(|k| !k.is_empty()).map(|k| k.to_ascii_lowercase()).collect();
        if keywords.is_empty() {
            keywords = required_words(&hir, ahead == 0);
        }
        Ok(Self {
            rule: 0,
            regex,
            keywords,
            group: spec.group,
            entropy: spec.entropy,
            digit: spec.digit,
            ahead,
            allow: spec.allow,
        })
    }
}

/// All patterns of a policy.
#[derive(Debug)]
pub(crate) struct Patterns {
    list: Vec<Pattern>,
    /// Finds the keywords; `by_keyword` says which patterns want each.
    automaton: AhoCorasick,
    by_keyword: Vec<Vec<u16>>,
    /// Patterns without keywords.
    always: Vec<u16>,
}

impl Patterns {
    pub(crate) fn new(list: Vec<Pattern>) -> Result<Option<Self>, PolicyError> {
        if list.is_empty() {
            return Ok(None);
        }
        let mut keywords: Vec<&str> = vec![];
        let mut by_keyword: Vec<Vec<u16>> = vec![];
        let mut places = std::collections::HashMap::new();
        let mut always = vec![];
        for (n, pattern) in list.iter().enumerate() {
            if pattern.keywords.is_empty() {
                always.push(n as u16);
            }
            for word in &pattern.keywords {
                let place = *places.entry(word.as_str()).or_insert_with(|| {
                    keywords.push(word);
                    by_keyword.push(vec![]);
                    keywords.len() - 1
                });
                by_keyword[place].push(n as u16);
            }
        }
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(&keywords)
            .map_err(|e| PolicyError::new(format!("keywords of patterns: {e}")))?;
        Ok(Some(Self { list, automaton, by_keyword, always }))
    }

    /// Adds what the patterns find in the lines from the one at `from` on; returns the place from which on lines are
    /// not decided, for want of their end or of what follows them.
    pub(crate) fn scan(&self, window: Window<'_>, from: usize, out: &mut Vec<Candidate>) -> usize {
        let mut search = Search {
            patterns: self,
            window,
            wanted: vec![],
            seen: vec![0; self.list.len()],
            round: 0,
            next: vec![None; self.list.len()],
            out,
        };
        let mut at = part_start(window, from);
        while at < window.text.len() {
            match search.part(at) {
                Ok(next) => at = next,
                Err(Cut) => return at.max(from),
            }
        }
        window.text.len()
    }
}

/// Where the part of a line that `at` stands in begins.
fn part_start(window: Window<'_>, at: usize) -> usize {
    let cell = ((window.offset + at) / CELL * CELL).saturating_sub(window.offset);
    memchr::memrchr(b'\n', &window.text[cell..at]).map_or(cell, |i| cell + i + 1)
}

/// A match that was looked for from `from` on in the text up to `end`.
#[derive(Clone, Debug)]
struct Next {
    from: usize,
    end: usize,
    found: Option<Range<usize>>,
}

/// A part of a line: `claim` is where its matches begin, `line` what is seen of the line around it.
struct Part {
    claim: Range<usize>,
    line: Range<usize>,
}

struct Search<'p, 't, 'o> {
    patterns: &'p Patterns,
    window: Window<'t>,
    /// The patterns to try on the part at hand.
    wanted: Vec<u16>,
    /// The round in which each pattern was last put among them.
    seen: Vec<u32>,
    round: u32,
    /// For each pattern that sees beyond its line: its next match, so that lines that see the same text share a search.
    next: Vec<Option<Next>>,
    out: &'o mut Vec<Candidate>,
}

impl Search<'_, '_, '_> {
    /// The part of a line that begins at `start`; returns where the next one begins.
    fn part(&mut self, start: usize) -> Look<usize> {
        let window = self.window;
        let text = window.text;
        let cell = (window.offset + start) / CELL * CELL;
        let cell_end = cell + CELL - window.offset;
        let most = cell_end + MARGIN;
        let line_end = match memchr::memchr(b'\n', &text[start..most.min(text.len())]) {
            Some(i) => start + i,
            None if text.len() < most && !window.ended => return Err(Cut),
            None => most.min(text.len()),
        };
        let next = if line_end < cell_end { line_end + 1 } else { cell_end };
        let inside = window.offset + start == cell && window.before(start).is_some_and(|b| b != b'\n');
        let line_start = if inside {
            let least = start.saturating_sub(MARGIN);
            memchr::memrchr(b'\n', &text[least..start]).map_or(least, |i| least + i + 1)
        } else {
            start
        };
        let part = Part { claim: start..line_end.min(cell_end), line: line_start..line_end };
        if part.claim.is_empty() {
            return Ok(next);
        }
        self.choose(&text[part.line.clone()]);
        let wanted = std::mem::take(&mut self.wanted);
        let done = wanted.iter().try_for_each(|&n| self.try_pattern(usize::from(n), &part));
        self.wanted = wanted;
        done.map(|()| next)
    }

    /// Which patterns to try on a line.
    fn choose(&mut self, line: &[u8]) {
        let patterns = self.patterns;
        self.round += 1;
        self.wanted.clear();
        self.wanted.extend_from_slice(&patterns.always);
        for hit in patterns.automaton.find_overlapping_iter(line) {
            for &n in &patterns.by_keyword[hit.pattern().as_usize()] {
                let seen = &mut self.seen[usize::from(n)];
                if *seen != self.round {
                    *seen = self.round;
                    self.wanted.push(n);
                }
            }
        }
    }

    fn try_pattern(&mut self, n: usize, part: &Part) -> Look<()> {
        let window = self.window;
        let pattern = &self.patterns.list[n];
        let (mut at, mut claim, mut end) = (part.line.start, part.claim.clone(), part.line.end);
        if pattern.ahead > 0 {
            // An end on a grid, the same for many lines.
            end = (window.offset + claim.end).next_multiple_of(pattern.ahead) + pattern.ahead - window.offset;
            if end > window.text.len() && !window.ended {
                return Err(Cut);
            }
            end = end.min(window.text.len());
            // The line feed before a line is its own.
            if at == claim.start && window.before(at) == Some(b'\n') {
                at -= 1;
                claim.start -= 1;
            }
        }
        loop {
            let found = if pattern.ahead == 0 {
                pattern.regex.find_at(&window.text[..end], at).map(|m| m.range())
            } else {
                self.shared(n, at, end)
            };
            let Some(found) = found.filter(|f| f.start < claim.end) else { return Ok(()) };
            at = found.end;
            if found.start >= claim.start {
                self.found(pattern, &part.line, found, end)?;
            }
        }
    }

    /// The first match at `at` or later in the text up to `end`.
    fn shared(&mut self, n: usize, at: usize, end: usize) -> Option<Range<usize>> {
        if let Some(next) = &self.next[n]
            && next.end == end
            && next.from <= at
            && next.found.as_ref().is_none_or(|f| f.start >= at)
        {
            return next.found.clone();
        }
        let found = self.patterns.list[n].regex.find_at(&self.window.text[..end], at).map(|m| m.range());
        self.next[n] = Some(Next { from: at, end, found: found.clone() });
        found
    }

    /// Adds what a match holds, if it is a secret.
    fn found(&mut self, pattern: &Pattern, line: &Range<usize>, whole: Range<usize>, end: usize) -> Look<()> {
        let window = self.window;
        let text = window.text;
        let mut secret = whole.clone();
        if pattern.regex.captures_len() > 1
            && pattern.group != Some(0)
            && let Some(groups) = pattern.regex.captures_at(&text[..end], whole.start)
        {
            let group = match pattern.group {
                Some(n) => groups.get(n),
                None => groups.iter().skip(1).flatten().find(|g| !g.is_empty()),
            };
            secret = group.filter(|g| !g.is_empty()).map_or(secret, |g| g.range());
        }
        let is_break = |b: &u8| matches!(b, b'\n' | b'\r');
        let lead = text[secret.clone()].iter().take_while(|b| is_break(b)).count();
        if lead == secret.len() {
            return Ok(());
        }
        let tail = text[secret.clone()].iter().rev().take_while(|b| is_break(b)).count();
        secret = secret.start + lead..secret.end - tail;
        if window.lines {
            window.line_end(secret.end)?;
        }
        let value = &text[secret.clone()];
        let line = &text[line.start..line.end.max(whole.end)];
        if pattern.entropy > 0.0 && entropy(value) <= pattern.entropy
            || pattern.digit && !value.iter().any(u8::is_ascii_digit)
            || in_own_placeholder(text, &secret, end)
            || pattern.allow.iter().any(|a| a.allows(value, &text[whole.clone()], line))
        {
            return Ok(());
        }
        // Characters are never cut.
        for _ in 0..3 {
            if secret.start > 0 && is_inner(text[secret.start]) {
                secret.start -= 1;
            }
        }
        for _ in 0..3 {
            match window.at(secret.end)? {
                Some(b) if is_inner(b) => secret.end += 1,
                _ => break,
            }
        }
        let Range { start, end } = secret;
        self.out.push(Candidate { start, end, rule: pattern.rule, rank: rank::USER, public: 0 });
        Ok(())
    }
}

/// Whether a byte goes on with a character of UTF-8.
fn is_inner(byte: u8) -> bool {
    byte & 0xC0 == 0x80
}

/// Shannon's entropy in bits per byte.
#[expect(clippy::cast_precision_loss, reason = "a match has far fewer bytes than a double has steps")]
fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    for &b in value {
        counts[usize::from(b)] += 1;
    }
    let all = value.len() as f64;
    -counts.iter().filter(|&&n| n > 0).map(|&n| f64::from(n) / all).map(|p| p * p.log2()).sum::<f64>()
}

/// Whether a match lies in a placeholder of this package, which is no secret again.
fn in_own_placeholder(text: &[u8], at: &Range<usize>, end: usize) -> bool {
    const INNER: ByteSet = crate::class::ALNUM.or(ByteSet::of(b"_:"));
    const MOST: usize = 96;
    let open = at.start - INNER.run_back(&text[at.start.saturating_sub(MOST)..at.start]);
    let open = if text[at.start] == b'[' { at.start } else { open.saturating_sub(1) };
    let close = if text[at.end - 1] == b']' {
        at.end
    } else {
        let rest = &text[at.end..(at.end + MOST).min(end)];
        (at.end + INNER.run(rest) + 1).min(end)
    };
    decoy::is_own(&text[open..close])
}
