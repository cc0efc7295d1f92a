//! BM25 over the memories of one scope. Nothing of any other is counted: statistics, too, would tell of them.

#![expect(clippy::cast_precision_loss, reason = "nobody has 2^52 memories")]

use std::collections::HashMap;

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Words that say how others belong together: they tell nothing of what a question is about.
const FUNCTION_WORDS: &str = " a about an and any are as at be been but by can could did do does for from had has have he \
    her his how i if in into is it its me my of on or our s she should so t than that the their them then there these \
    they this to was we were what when where which who whom whose why will with would you your ";

/// The words of a text, in lower case; each character of a script without spaces is one.
pub fn words(text: &str) -> Vec<String> {
    let mut words = vec![];
    each_word(text, |word| words.push(word.to_owned()));
    words
}

pub(crate) fn each_word(text: &str, mut found: impl FnMut(&str)) {
    let mut word = String::new();
    for character in text.chars() {
        if character.is_ascii_alphanumeric() {
            word.push(character.to_ascii_lowercase());
            continue;
        }
        let alone =
            matches!(character, '\u{2E80}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' | '\u{F900}'..='\u{FAFF}');
        let letter = !character.is_ascii() && character.is_alphanumeric();
        if letter && !alone {
            word.extend(character.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            found(&word);
            word.clear();
        }
        if letter {
            found(character.encode_utf8(&mut [0; 4]));
        }
    }
    if !word.is_empty() {
        found(&word);
    }
}

/// The words that a query asks for, each once.
fn terms(query: &str) -> Vec<String> {
    let mut terms = words(query);
    terms.sort_unstable();
    terms.dedup();
    let tells = |term: &String| !FUNCTION_WORDS.contains(&format!(" {term} "));
    if terms.iter().any(tells) {
        terms.retain(tells);
    }
    terms
}

/// What each text scores for the words of a query, and the share of those words that it holds.
pub(crate) fn scores<'t>(query: &str, texts: impl Iterator<Item = &'t str>) -> Vec<(f64, f64)> {
    let terms = terms(query);
    let places: HashMap<&str, usize> = terms.iter().enumerate().map(|(at, term)| (&**term, at)).collect();
    let mut holders = vec![0_u32; terms.len()];
    // Of each text its length, and what it holds, with how often: no more than it has words, however long the query.
    let counted: Vec<(f64, Vec<(usize, f64)>)> = texts
        .map(|text| {
            let (mut length, mut found) = (0_u32, vec![]);
            each_word(text, |word| {
                length += 1;
                found.extend(places.get(word));
            });
            found.sort_unstable();
            let held: Vec<_> = found.chunk_by(usize::eq).map(|same| (same[0], same.len() as f64)).collect();
            for (place, _) in &held {
                holders[*place] += 1;
            }
            (f64::from(length), held)
        })
        .collect();
    let texts = counted.len() as f64;
    let average = (counted.iter().map(|(length, _)| length).sum::<f64>() / texts.max(1.0)).max(1.0);
    let weight = |n: &u32| (1.0 + (texts - f64::from(*n) + 0.5) / (f64::from(*n) + 0.5)).ln();
    let weights: Vec<f64> = holders.iter().map(weight).collect();
    let score = |(length, held): &(f64, Vec<(usize, f64)>)| {
        let norm = K1 * (1.0 - B + B * length / average);
        let parts = held.iter().map(|&(place, count)| weights[place] * count * (K1 + 1.0) / (count + norm));
        (parts.sum(), held.len() as f64 / terms.len().max(1) as f64)
    };
    counted.iter().map(score).collect()
}

/// A score as relevance in [0, 1]: relative to the best one, which is worth 1 when its text holds half of the words that
/// were asked for. Relative alone, the best of texts that do not fit at all would fit perfectly.
pub(crate) fn relevance(score: f64, best: (f64, f64)) -> f64 {
    if best.0 > 0.0 { (score / best.0) * (2.0 * best.1).min(1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The formula as it is printed, one term after the other.
    fn plain(query: &str, texts: &[String]) -> Vec<f64> {
        let docs: Vec<Vec<String>> = texts.iter().map(|text| words(text)).collect();
        let n = docs.len() as f64;
        let average = docs.iter().map(Vec::len).sum::<usize>() as f64 / n;
        let terms: std::collections::BTreeSet<String> = words(query).into_iter().collect();
        let mut scores = vec![0.0; docs.len()];
        for term in terms {
            let df = docs.iter().filter(|doc| doc.contains(&term)).count() as f64;
            let idf = (1.0 + (n - df + 0.5) / (df + 0.5)).ln();
            for (score, doc) in scores.iter_mut().zip(&docs) {
                let tf = doc.iter().filter(|word| **word == term).count() as f64;
                let norm = K1 * (1.0 - B + B * doc.len() as f64 / average.max(1.0));
                *score += idf * tf * (K1 + 1.0) / (tf + norm);
            }
        }
        scores
    }

    proptest! {
        #[test]
        fn scores_are_those_of_the_formula(
            texts in prop::collection::vec("[bcz k,é日本]{0,30}", 1..12),
            query in "[bcxz k日]{0,12}",
        ) {
            let scores = super::scores(&query, texts.iter().map(|text| &**text));
            let best = scores.iter().copied().fold((0.0, 0.0), |a, b| if b.0 > a.0 { b } else { a });
            for (score, plain) in scores.iter().zip(plain(&query, &texts)) {
                prop_assert!((score.0 - plain).abs() < 1e-9);
                prop_assert!((0.0..=1.0).contains(&relevance(score.0, best)));
            }
        }
    }

    #[test]
    fn only_words_that_tell_something_count() {
        assert_eq!(terms("Which tools does the project use?"), ["project", "tools", "use"]);
        assert_eq!(terms("What was it?"), ["it", "was", "what"]);
        let scores = scores("which zebra", ["which is it", "a zebra"].into_iter());
        assert!(scores[0] == (0.0, 0.0) && scores[1].0 > 0.0);
    }

    #[test]
    fn words_of_any_script() {
        assert_eq!(words("It's Größe-3, 日本 v2!"), ["it", "s", "größe", "3", "日", "本", "v2"]);
    }
}
