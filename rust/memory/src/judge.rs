//! What is not worth remembering: the rules of the write gate, on text alone (seed 000, section 4).

use std::collections::HashSet;

use ctxproto_once::Once;
use regex::Regex;

use crate::words::each_word;

/// What is said of a text, by the first rule that is against it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Judgement {
    /// Nothing is against it.
    Fine,
    /// The share of letters is too small.
    LowDensity(f64),
    /// A tool's output as it came: lines of a log, a trace, a diff, a listing, a dump of JSON.
    RawLog,
    /// Steps on the way, no outcome.
    Reasoning,
    /// What an assistant says to be polite.
    Chatter,
    /// Nearly all of it stands in a text that was seen.
    Echo,
    /// The text at this place says the same in the same words.
    Duplicate(usize),
    /// The text at this place says nearly the same.
    Merge(usize),
}

/// The share of letters that text has at least.
pub const LEAST_LETTERS: f64 = 0.3;

/// Judges a text beside those that were `seen` by the model and those that are remembered already.
pub fn judge(text: &str, seen: &[&str], existing: &[&str]) -> Judgement {
    let density = density(text);
    if density < LEAST_LETTERS {
        return Judgement::LowDensity(density);
    }
    if is_log(text) {
        return Judgement::RawLog;
    }
    if is_reasoning(text) {
        return Judgement::Reasoning;
    }
    if share_of_sentences(text, &CHATTER) {
        return Judgement::Chatter;
    }
    let own = Said::of(text);
    if seen.iter().any(|one| own.is_in(one)) {
        return Judgement::Echo;
    }
    own.closest(existing)
}

/// How long a text is, in characters; those that stand for a syllable or a word, as in Chinese, count twice.
pub fn length(text: &str) -> usize {
    let wide = |c| matches!(c, '\u{2E80}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' | '\u{F900}'..='\u{FAFF}');
    text.trim().chars().map(|c| 1 + usize::from(wide(c))).sum()
}

#[expect(clippy::cast_precision_loss, reason = "no text has 2^52 characters")]
fn density(text: &str) -> f64 {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    letters as f64 / text.chars().count().max(1) as f64
}

macro_rules! pattern {
    ($name:ident, $($part:literal)+) => {
        static $name: Once<Regex> = Once::new(|| Regex::new(concat!($($part),+)).expect("a pattern of ours"));
    };
}

// What a line of a machine's output begins with: a time, a level, or what a trace, a shell, a compiler, a diff, a search
// or a listing writes there.
pattern! { LOG_LINE, r"^\s*(?:"
r"[\[(]?\d{4}-\d\d-\d\d[T\s]\d\d:\d\d|[\[(]?\d\d:\d\d:\d\d\b|[A-Z][a-z]{2}\s+\d{1,2}\s\d\d:\d\d:\d\d"
r"|[IWEF]\d{4}\s\d\d:\d\d|\d{10}(?:\.\d+)?\s|\d+(?:\.\d+){3}\s-\s"
r"|[\[(<]?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b[\])>:\s]"
r"|(?:error|warning|note|panic|fatal)(?:\[\w+\])?:\s|npm\s(?:WARN|ERR!)|(?:level|time|ts)="
r#"|Traceback\s\(most|File\s".*",\sline\s\d+|at\s[\w$.<>\[\]\s]+\(|goroutine\s\d|exit\sstatus\s\d|Caused\sby:|Exception\sin"#
r"|\S+\.\w{1,5}:\d+(?::\d+)?(?::|\s\+0x|$)|-->\s\S+:\d+|\d*\s*\|(?:\s|$)|(?:[MADRU]{1,2}|\?\?)\s+\S+$|On\sbranch\s|\$\s\S"
r"|diff\s--git|index\s[0-9a-f]+\.\.|(?:\+\+\+|---|@@)\s|[+-][^\s+-]|[dl-](?:[r-][w-][xsStT-]){3}[.+@]?\s"
r"|HTTP/\d|(?:Compiling|Downloading|Downloaded|Installing|Collecting|Fetching|Finished|Requirement)\s\S+\s"
r"|collected\s\d+\sitem|=+\s.*\s=+$|\S+\s+[.FEsx]+\s+\[\s*\d+%\]|added\s\d+\spackages"
r"|\S+(?:\s{2,}\S+(?:\s\S+)?){3,}\s*$|[^\t]+(?:\t[^\t]*){3,}$"
r")" }
// A header of HTTP, where its first line is.
pattern! { HEADER, r"^[A-Z][\w-]+:\s\S" }

const LOG_LINES_LEAST: usize = 3;
const DUMP_LEAST: usize = 1_000;

fn is_log(text: &str) -> bool {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let headers = text.trim_start().starts_with("HTTP/");
    let written =
        |line: &&str| LOG_LINE.is_match(line) || (headers && HEADER.is_match(line)) || is_json(line, b"{", 1);
    let (all, machine) = (lines().count(), lines().filter(written).count());
    (all >= LOG_LINES_LEAST && 2 * machine > all) || is_json(text, b"{[", DUMP_LEAST)
}

fn is_json(text: &str, begins: &[u8], least: usize) -> bool {
    let text = text.trim();
    text.len() >= least
        && text.as_bytes().first().is_some_and(|first| begins.contains(first))
        && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

// A step on the way, not an outcome. `let me know` and `Let's Encrypt` are none: the verb decides. What is no step by
// itself may be one with a word before it.
pattern! { STEP, r"^\W*(?i:(?:(?:ok(?:ay)?|now|so|hm+|well|first|firstly|second|secondly|next|then|finally|alright|all\sright"
r"|actually|but|and|also|good|great|perfect|excellent|sure|right|yes|no|oh|ah|interesting)\b[,.!:\s—-]+)*"
// What comes before it in the same sentence.
    r"(?:[^,:]{1,80}[,:]\s(?:(?:so|and|then|but|now|next)\s)?)?"
    r"(?:(?:maybe|perhaps|it\sseems|i\sthink|i\sguess|probably)\s)?"
r"(?:let\sme\s(?:(?:now|first|also|just|quickly|try\sto)\s)*(?:[a-jl-z]\w*|k(?:[a-mo-z]\w*|eep))\b"
r"|(?:let['\u{2019}]?s|let\sus|i(?:['\u{2019}]ll|\swill|\sshould|\sneed\sto|\shave\sto|\swant\sto|\scan|\smust"
r"|\sam\sgoing\sto|['\u{2019}]m\sgoing\sto|['\u{2019}]d\sbetter)|we\s(?:should|need\sto)\s(?:now|first))"
r"\s(?:(?:now|first|also|just|quickly|then|try\sto)\s)*"
r"(?:add|analy[sz]e|be\scareful|begin|call|check|confirm|consider|create|determine|dig|double-check|examine|execute|explore|figure|find|gather"
r"|go\s(?:back|through|ahead)|grep|here|identify|implement|inspect|investigate|list|look|open|print|proceed|query|query"
r"|re-?read|re-?run|read|recheck|review|run|scan|search|see|start|step|test|think|trace|try|understand|update|use"
r"|verify|work\sout|write)\b"
r"|(?:maybe|perhaps|i\sthink|i\sguess|probably)\swe\s(?:should|need\sto|have\sto)\b"
r"|hm+\b|wait(?:[,.!…]|\sa\s(?:minute|second|moment)\b)|thinking(?:[.:…]|$)|reasoning:|thought:|action(?:\sinput)?:"
r"|observation:|looking\sat\sthe\b|now\si\s(?:understand|see|have|know)\b"
r"|the\suser\s(?:wants|asked|is\sasking|asks)\s(?:me|for\sme|us)\b))" }
pattern! { CHATTER, r"^\W*(?i:(?:(?:ok(?:ay)?|and|but|so|well|thanks|thank\syou)\b[,.!\s]+)*"
r"(?:(?:sure|certainly|of\scourse|absolutely|great|you['\u{2019}]re\swelcome|thank\syou|sorry)(?:[,.!]|$|\sfor\b)"
r"|i(?:['\u{2019}]d|\swould|['\u{2019}]m|\sam)\s(?:be\s)?(?:happy|glad)\sto\b|i\shope\sthis\b|i\sapologi[sz]e\b"
r"|(?:please\s)?let\sme\sknow\s(?:if|how|what|whether)\s(?:you|there|this|i)\b|feel\sfree\sto\b|is\sthere\sanything\selse\b"
r"|(?:could|can|would)\syou\s(?:please\s)?(?:share|provide|clarify|tell|give)\b|how\scan\si\s(?:help|assist)\b"
r"|(?:as\san?\s(?:ai|language\smodel|assistant)\b)|here['\u{2019}]?s?\s(?:is|are)?\s?(?:the|your|a)\b[^.]*:$"
r"|i(?:['\u{2019}]ve|\shave)\s(?:now\s|successfully\s)*(?:completed|finished|done)\s(?:the|your|this|all)\b))" }
pattern! { SENTENCE_END, r"[.!?…]+(?:[\x22')\]\u{201D}\u{2019}]*)(?:\s|$)|[。！？]+|\n" }

fn is_reasoning(text: &str) -> bool {
    let begin: String = text.chars().take(200).flat_map(char::to_lowercase).collect();
    begin.contains("<think") || begin.contains("think step by step") || share_of_sentences(text, &STEP)
}

/// Whether half of the sentences or more match.
fn share_of_sentences(text: &str, pattern: &Regex) -> bool {
    let (mut all, mut matching) = (0, 0);
    for sentence in SENTENCE_END.split(text).filter(|one| one.chars().any(char::is_alphanumeric)) {
        all += 1;
        matching += usize::from(pattern.is_match(sentence));
    }
    all > 0 && 2 * matching >= all
}

/// Words in a row that two texts must share to have them in common.
const ROW: usize = 4;
const ECHO: f64 = 0.8;
const ALIKE: f64 = 0.8;
const NEGATIONS: &str = " not no never nor without neither none cannot t nicht kein keine nie pas jamais sin nunca \
                         non não sem не нет без 不 没 沒 未 無 无 ない ";

static NEGATION: Once<Vec<u64>> = Once::new(|| {
    let mut hashes: Vec<u64> = NEGATIONS.split_ascii_whitespace().map(|word| fnv(word.as_bytes())).collect();
    hashes.sort_unstable();
    hashes
});

/// What a text says: its words, and what tells it from one that is ever so alike.
#[derive(Default)]
struct Said {
    words: Vec<u64>,
    /// Numbers, names with a digit, negations. Sorted.
    facts: Vec<u64>,
}

impl Said {
    fn of(text: &str) -> Self {
        let mut said = Self::default();
        said.reads(text);
        said
    }

    /// Another text, in the same place.
    fn reads(&mut self, text: &str) {
        self.words.clear();
        self.facts.clear();
        each_word(text, |word| {
            let hash = fnv(word.as_bytes());
            self.words.push(hash);
            if NEGATION.binary_search(&hash).is_ok() || word.chars().any(char::is_numeric) {
                self.facts.push(hash);
            }
        });
        self.facts.sort_unstable();
    }

    /// The rows of words in it, with those that it has more than once.
    fn each_row(&self) -> impl Iterator<Item = u64> {
        let alone = (1..ROW).contains(&self.words.len()).then(|| row(&self.words));
        self.words.windows(ROW).map(row).chain(alone)
    }

    fn rows(&self) -> HashSet<u64> {
        self.each_row().collect()
    }

    fn is_in(&self, seen: &str) -> bool {
        let rows = self.rows();
        let there = Self::of(seen).rows();
        !rows.is_empty() && count(rows.intersection(&there).count()) >= ECHO * count(rows.len())
    }

    fn closest(&self, others: &[&str]) -> Judgement {
        let rows = self.rows();
        let mut best: Option<(f64, usize)> = None;
        let mut other = Self::default();
        for (at, text) in others.iter().enumerate() {
            other.reads(text);
            if self.words == other.words {
                return Judgement::Duplicate(at);
            }
            // Few get beyond this, whatever is remembered.
            if self.facts != other.facts
                || count(other.each_row().filter(|row| rows.contains(row)).count())
                    < ALIKE * count(rows.len())
            {
                continue;
            }
            let there = other.rows();
            let common = rows.intersection(&there).count();
            let alike = count(common) / count((rows.len() + there.len() - common).max(1));
            if alike >= ALIKE && best.is_none_or(|(most, _)| alike > most) {
                best = Some((alike, at));
            }
        }
        best.map_or(Judgement::Fine, |(_, at)| Judgement::Merge(at))
    }
}

#[expect(clippy::cast_precision_loss, reason = "nobody has 2^52 words")]
fn count(n: usize) -> f64 {
    n as f64
}

fn row(words: &[u64]) -> u64 {
    words.iter().fold(0, |sum: u64, word| sum.rotate_left(17).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ word)
}

fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum: u64, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut words = vec![];
        each_word(text, |word| words.push(word.to_owned()));
        words
    }

    /// The same with words as they are, one comparison after the other.
    fn plain_rows(text: &str) -> BTreeSet<Vec<String>> {
        let words = words(text);
        if words.is_empty() {
            return BTreeSet::new();
        }
        (0..words.len().saturating_sub(3).max(1))
            .map(|at| words[at..words.len().min(at + 4)].to_vec())
            .collect()
    }

    fn plain_facts(text: &str) -> Vec<String> {
        let says =
            |word: &String| NEGATIONS.split(' ').any(|one| one == word) || word.chars().any(char::is_numeric);
        let mut facts: Vec<_> = words(text).into_iter().filter(says).collect();
        facts.sort();
        facts
    }

    fn plain_closest(text: &str, others: &[&str]) -> Judgement {
        let rows = plain_rows(text);
        let mut best = (0.0, Judgement::Fine);
        for (at, other) in others.iter().enumerate() {
            if words(text) == words(other) {
                return Judgement::Duplicate(at);
            }
            let there = plain_rows(other);
            let alike = count(rows.intersection(&there).count()) / count(rows.union(&there).count().max(1));
            if plain_facts(text) == plain_facts(other) && alike >= ALIKE && alike > best.0 {
                best = (alike, Judgement::Merge(at));
            }
        }
        best.1
    }

    proptest! {
        #[test]
        fn repetitions_are_those_that_a_plain_comparison_finds(
            text in "([abc] ){0,30}(not |7 |日本語)?([ab] ){0,6}",
            edits in prop::collection::vec((0_usize..70, "[abc7 ]{0,3}"), 0..4),
        ) {
            let others: Vec<String> = edits
                .iter()
                .map(|(at, put)| {
                    let at = text.char_indices().map(|(at, _)| at).nth(*at).unwrap_or(text.len());
                    format!("{}{put}{}", &text[..at], &text[at..])
                })
                .collect();
            let others: Vec<&str> = others.iter().map(|one| &**one).collect();
            let own = Said::of(&text);
            prop_assert_eq!(own.closest(&others), plain_closest(&text, &others));
            for other in others {
                let (rows, there) = (plain_rows(&text), plain_rows(other));
                let shared = count(rows.intersection(&there).count());
                prop_assert_eq!(own.is_in(other), !rows.is_empty() && shared >= ECHO * count(rows.len()));
            }
        }

        #[test]
        fn any_text_is_judged(text in ".{0,200}") {
            judge(&text, &[&text[..0]], &["x"]);
            prop_assert!(length(&text) >= text.trim().chars().count());
        }
    }

    #[test]
    fn a_character_that_is_a_word_counts_twice() {
        assert_eq!((length("  abc é "), length("日本a"), length("")), (5, 5, 0));
    }
}
