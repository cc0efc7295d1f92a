//! The words of a text, as they are compared: in lower case, and without the endings of English.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use rust_stemmers::{Algorithm, Stemmer};

/// A word for an index: its hash. That two words share one is less likely than a fault of the memory it is kept in.
pub(crate) type Term = u64;

/// Words that say how others belong together: they tell nothing of what a question is about.
const FUNCTION_WORDS: &str = " a about an and any are as at be been but by can could did do does for from had has have he \
    her his how i if in into is it its me my of on or our s she should so t than that the their them then there these \
    they this to was we were what when where which who whom whose why will with would you your ";

/// The words of a text: in lower case, English ones by their stem; each character of a script without spaces is one.
pub fn words(text: &str) -> Vec<String> {
    let (mut words, stemmer) = (vec![], Stemmer::create(Algorithm::English));
    each_word(text, |word| words.push(stem(&stemmer, word).into_owned()));
    words
}

/// The words of a text, hashed.
pub(crate) fn terms(text: &str, mut found: impl FnMut(Term)) {
    let stemmer = Stemmer::create(Algorithm::English);
    each_word(text, |word| found(hashed(&stem(&stemmer, word))));
}

/// Words of a query that count, the first ones: each is looked up in every namespace that is searched.
const ASKED_MAX: usize = 256;

/// The words that a query asks for, each once; those that tell nothing only when there are no others.
pub fn query_words(query: &str) -> Vec<String> {
    let (mut telling, mut others) = (BTreeSet::new(), BTreeSet::new());
    let stemmer = Stemmer::create(Algorithm::English);
    each_word(query, |word| {
        if telling.len() < ASKED_MAX {
            let found =
                if FUNCTION_WORDS.contains(&format!(" {word} ")) { &mut others } else { &mut telling };
            found.insert(stem(&stemmer, word).into_owned());
        }
    });
    (if telling.is_empty() { others } else { telling }).into_iter().collect()
}

/// The same, hashed.
pub(crate) fn asked(query: &str) -> Vec<Term> {
    query_words(query).iter().map(|word| hashed(word)).collect()
}

pub(crate) fn each_word(text: &str, mut found: impl FnMut(&str)) {
    if !text.is_ascii() {
        return each_word_of_any(text, found);
    }
    // Most texts, and most words in them are as they are compared already.
    let mut lower = String::new();
    for word in text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        if word.bytes().any(|byte| byte.is_ascii_uppercase()) {
            lower.clear();
            lower.push_str(word);
            lower.make_ascii_lowercase();
            found(&lower);
        } else {
            found(word);
        }
    }
}

fn each_word_of_any(text: &str, mut found: impl FnMut(&str)) {
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

/// Names and numbers such as `v2` have no endings; words of other alphabets not those of English.
fn stem<'w>(stemmer: &Stemmer, word: &'w str) -> std::borrow::Cow<'w, str> {
    if word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        stemmer.stem(word)
    } else {
        word.into()
    }
}

fn hashed(word: &str) -> Term {
    let mut hasher = DefaultHasher::new();
    word.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn words_of_ascii_are_those_of_any_text(text in "[ -~\\n]{0,40}") {
            let (mut one, mut other) = (vec![], vec![]);
            each_word(&text, |word| one.push(word.to_owned()));
            each_word_of_any(&text, |word| other.push(word.to_owned()));
            prop_assert_eq!(one, other);
        }
    }

    #[test]
    fn words_of_any_script() {
        assert_eq!(words("It's Größe-3, 日本 v2!"), ["it", "s", "größe", "3", "日", "本", "v2"]);
    }

    #[test]
    fn endings_do_not_count() {
        assert_eq!(words("Dependencies depended upon"), words("dependency depends upon"));
        assert_ne!(words("v2s"), words("v2"));
    }

    #[test]
    fn only_words_that_tell_something_are_asked_for() {
        assert_eq!(query_words("Which tools does the tool use?"), ["tool", "use"]);
        assert_eq!(query_words("What was it?"), ["it", "was", "what"]);
    }

    #[test]
    fn of_many_words_the_first_count() {
        let query: Vec<String> = (0..2 * ASKED_MAX).map(|at| format!("w{}", 1_000 + at)).collect();
        assert_eq!(query_words(&query.join(" the ")), query[..ASKED_MAX]);
    }
}
