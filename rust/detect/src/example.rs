//! Rules tested against themselves: tokens generated from their shapes must be found, and near misses must not.

use crate::assign::QUOTES;
use crate::authorization::TOKEN68;
use crate::class::ByteSet;
use crate::detector::{Detector, Part};
use crate::rule::ShapeRule;
use crate::shape::Hit;
use crate::token::accepts;
use crate::window::Window;

/// Examples drawn for each shape of a rule under test.
const EXAMPLES: u64 = 20;
/// How often an example is drawn until the rule takes it: an even draw may look written, or like a stand-in.
const DRAWS: usize = 200;

/// Numbers that look random and are always the same (splitmix64, of Steele, Lea and Flood).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

/// What stands before and after an example.
type Carrier = (String, &'static str);

impl Detector {
    /// A token of the rule's shape, with its checksum, the same for the same seed; `None` if the rule has no shape.
    /// A rule with context words needs one of them before the token.
    pub fn example(&self, rule: u16, seed: u64) -> Option<Vec<u8>> {
        let shapes: Vec<&ShapeRule> = self.shapes(rule).collect();
        let shape = shapes.get(seed as usize % shapes.len().max(1))?;
        draw(shape, seed).map(|(token, _)| token)
    }

    /// Tests a rule against examples of its shapes and near misses; without shapes there is nothing to test. The error
    /// says what was wrong, and never anything of an example.
    pub fn self_test(&self, rule: u16) -> Result<(), String> {
        let shapes: Vec<&ShapeRule> = self.shapes(rule).collect();
        for (n, shape) in shapes.iter().enumerate() {
            let form = self.rules()[usize::from(rule)].form.get(n).map_or("", String::as_str);
            for seed in 0..EXAMPLES {
                self.test_shape(shape, seed, shapes.len() == 1)
                    .map_err(|what| format!("shape {form:?}: {what}"))?;
            }
        }
        Ok(())
    }

    fn shapes(&self, rule: u16) -> impl Iterator<Item = &ShapeRule> {
        self.engine.index.rules.iter().filter(move |s| s.rule == rule)
    }

    fn test_shape(&self, shape: &ShapeRule, seed: u64, alone: bool) -> Result<(), String> {
        let Some((token, hit)) = draw(shape, seed) else {
            return Err(format!("in {DRAWS} draws there is no example that the rule takes"));
        };
        // A quote that a value begins with is taken for that of the string it is in, and stays.
        let quote = token.iter().take_while(|b| QUOTES.has(**b)).count();
        for (before, after) in carriers(shape, seed) {
            let at = before.len();
            let text = [before.as_bytes(), &token, after.as_bytes()].concat();
            let (start, end) = (at + hit.secret.0.max(quote), at + hit.secret.1);
            if !self.scan(&text).iter().any(|m| m.start <= start && m.end >= end) {
                return Err(format!("example {seed} is not found in {before}…{after}"));
            }
        }
        let mut blank = token.clone();
        blank[hit.body.clamp(hit.secret.0, hit.secret.1)..hit.secret.1].fill(b'x');
        if blank != token && self.finds(shape, &blank) {
            return Err(format!("example {seed} with x for its body is found"));
        }
        let fixed = shape.shape.min_len() == shape.shape.max_len();
        if fixed && alone && shape.near.is_empty() && self.finds(shape, &token[..token.len() - 1]) {
            return Err(format!("example {seed} without its last character is found"));
        }
        Ok(())
    }

    /// Whether the rule finds anything of `token` in quotes.
    fn finds(&self, shape: &ShapeRule, token: &[u8]) -> bool {
        let word = shape.near.first().map_or("", String::as_str);
        let text = [word.as_bytes(), b" = \"", token, b"\"\n"].concat();
        let mut found = vec![];
        self.scan_part(Part { bytes: &text, from: 0, offset: 0, ended: true }, &mut found);
        found.iter().any(|m| m.rule == shape.rule)
    }
}

/// An example that the rule by itself takes, and how it matches.
fn draw(rule: &ShapeRule, seed: u64) -> Option<(Vec<u8>, Hit)> {
    let mut random = Random(seed);
    (0..DRAWS).find_map(|_| {
        let mut token = rule.shape.generate(&mut |n| random.below(n));
        if let Some(check) = rule.check {
            (check.complete)(&mut token);
            if !(check.verify)(&token) {
                return None;
            }
        }
        let hit = rule.shape.matches(Window::whole(&token), 0, false).ok().flatten()?;
        (hit.end == token.len() && accepts(rule, &token, &hit)).then_some((token, hit))
    })
}

/// Where a token of the rule is looked for.
fn carriers(rule: &ShapeRule, seed: u64) -> Vec<Carrier> {
    if rule.shape.prefixes().iter().any(|p| crate::index::find(p, b"://").is_some()) {
        return vec![(String::new(), ""), ("see ".into(), " now"), ("\"".into(), "\"")];
    }
    let words = &rule.near;
    let word = if words.is_empty() { "" } else { &words[seed as usize % words.len()] };
    // Words with the signs of their notation say where the token stands.
    if word.ends_with('"') {
        return vec![(format!("{{{word}: \""), "\"}"), (format!("{word}:\""), "\",")];
    } else if word.ends_with([':', '=']) {
        return vec![(word.to_owned(), "\n"), (format!("{word} "), " ")];
    }
    let name = if word.is_empty() { String::new() } else { format!("{word}_key=") };
    let dash = if word.is_empty() { "" } else { "_" };
    // What has signs of all kinds stands in quotes; what no header and no URL may have stands in none.
    let bytes = rule.shape.bytes();
    let mut carriers = vec![];
    if bytes.has(b'"') {
        carriers.push((format!("{word}{dash}value = '"), "';"));
    } else {
        carriers.push((format!("{{\"{word}{dash}value\": \""), "\"}"));
    }
    if !bytes.has(b' ') && !bytes.has(b'(') {
        carriers.push((format!("{word}{dash}KEY="), "\n"));
    }
    if bytes.is_subset(&TOKEN68.or(ByteSet::of(b"&"))) {
        carriers.push((format!("{word} Bearer "), "\r\n"));
        carriers.push((format!("密钥{name}"), "密钥"));
    }
    // A token that may hold the sign goes on behind it.
    if bytes.is_subset(&TOKEN68) {
        carriers.push((format!("GET https://host.test/v1?{name}"), "&page=2 HTTP/1.1"));
    }
    carriers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::class::TOKEN;
    use crate::policy::{Pii, Policy};

    fn all() -> Detector {
        Detector::new(&Policy { pii: Pii::All, ..Policy::default() }).expect("built-in rules compile")
    }

    #[test]
    fn every_built_in_rule_finds_its_examples() {
        let detector = all();
        let failed: Vec<String> = (0..detector.rules().len())
            .filter_map(|n| {
                detector.self_test(n as u16).err().map(|e| format!("{}: {e}", detector.rules()[n].id))
            })
            .collect();
        assert!(failed.is_empty(), "{} of {}\n{}", failed.len(), detector.rules().len(), failed.join("\n"));
    }

    #[test]
    fn examples_are_the_same_for_the_same_seed() {
        let detector = all();
        let n = detector.rules().iter().position(|r| r.id == "github-pat").expect("is there") as u16;
        assert_eq!(detector.example(n, 7), detector.example(n, 7));
        assert_ne!(detector.example(n, 7), detector.example(n, 8));
        assert!(detector.example(n, 7).is_some_and(|e| e.starts_with(b"ghp_") && e.len() == 40));
        let parser =
            detector.rules().iter().position(|r| r.form[0].starts_with("parser")).expect("is there") as u16;
        assert_eq!((detector.example(parser, 1), detector.self_test(parser)), (None, Ok(())));
    }

    /// Rules with a prefix, one after the other, each as an expression at every place where a word begins: what they
    /// take is covered, and what the engine finds by such a rule one of them took.
    #[test]
    fn prefixes_agree_with_one_expression_at_a_time() {
        let detector = all();
        let mut rules = vec![];
        for rule in &detector.engine.index.rules {
            let plain = rule.shape.prefixes().iter().all(|p| p.len() >= 4 && p.iter().all(|&b| TOKEN.has(b)));
            if plain && rule.near.is_empty() {
                let regex = regex::bytes::RegexBuilder::new(&format!("^(?:{})", rule.shape.to_regex()))
                    .unicode(false)
                    .build()
                    .expect("shapes are expressions");
                rules.push((rule, regex));
            }
        }
        assert!(rules.len() > 200, "{}", rules.len());
        let mut random = Random(1);
        for round in 0..60 {
            let mut text = vec![];
            for _ in 0..30 {
                let (rule, _) = &rules[random.below(rules.len())];
                let mut token = draw(rule, random.below(1 << 30) as u64).map(|d| d.0).unwrap_or_default();
                // Some are cut, some glued, some altered.
                match random.below(8) {
                    0 => token.truncate(random.below(token.len().max(1))),
                    1 => token.extend(b"Zz9"),
                    2 if !token.is_empty() => {
                        let at = random.below(token.len());
                        token[at] = b"a-_.Z0"[random.below(6)];
                    }
                    _ => {}
                }
                text.extend(token);
                text.extend([" ", "\"", ",", "; ", "(", ")", " = ", "é"][random.below(8)].as_bytes());
            }
            text.extend(b" .");
            let mut found = vec![];
            detector.scan_part(Part { bytes: &text, from: 0, offset: 0, ended: true }, &mut found);
            let covered = |from: usize, to: usize| found.iter().any(|m| m.start <= from && m.end >= to);
            for start in (0..text.len()).filter(|&i| i == 0 || !TOKEN.has(text[i - 1])) {
                for (rule, regex) in &rules {
                    let Some(m) = regex.find(&text[start..]) else { continue };
                    let hit = rule.shape.matches(Window::whole(&text), start, false).expect("all is there");
                    // The shape also minds what follows.
                    let Some(hit) = hit.filter(|h| h.end == start + m.end() && accepts(rule, &text, h))
                    else {
                        continue;
                    };
                    let id = &detector.rules()[usize::from(rule.rule)].id;
                    assert!(
                        covered(hit.secret.0, hit.secret.1),
                        "round {round}: {id} in {}",
                        text.escape_ascii()
                    );
                }
            }
            for m in &found {
                for (rule, _) in rules.iter().filter(|(r, _)| r.rule == m.rule) {
                    let shapes: Vec<_> = detector.shapes(rule.rule).collect();
                    let from = m.start.saturating_sub(128);
                    let taken = (from..=m.start).any(|at| {
                        shapes.iter().any(|s| {
                            let hit = s.shape.matches(Window::whole(&text), at, false).ok().flatten();
                            let exact =
                                hit.is_some_and(|h| h.secret == (m.start, m.end) && accepts(s, &text, &h));
                            let altered = || s.shape.altered(Window::whole(&text), at).ok().flatten();
                            exact || altered().is_some_and(|h| (h.start, h.end) == (m.start, m.end))
                        })
                    });
                    let id = &detector.rules()[usize::from(rule.rule)].id;
                    assert!(taken, "round {round}: {id} at {} of {}", m.start, text.escape_ascii());
                }
            }
        }
    }
}
