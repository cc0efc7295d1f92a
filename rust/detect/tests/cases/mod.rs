//! Texts with a value to find, and texts to leave alone, by the notation that they are written in.
//!
//! `{p}` stands for a password, `{s}` for one with signs, `{d}` for a long one of signs as much as of letters, `{h}` for
//! the digits of a hash, `{i}` and `{k}` for an access key's id and its secret, `{t}` for a token and `{w}` for a phrase of words: they are drawn when a test runs, so that this
//! directory holds no secret.

#![allow(dead_code)] // each test uses its part

mod code;
mod command;
pub(crate) mod damage;
mod places;
mod prose;
mod signs;
mod tools;
mod yaml;

/// One notation: what must be found in it, and what looks like it and must not be.
pub(crate) struct Notation {
    pub(crate) name: &'static str,
    pub(crate) found: &'static [&'static str],
    pub(crate) kept: &'static [&'static str],
}

pub(crate) const NOTATIONS: &[Notation] = &[
    yaml::YAML,
    yaml::PAIRS,
    yaml::XML,
    code::DECLARED,
    code::CALLED,
    code::PHRASES,
    places::PLACES,
    signs::SIGNS,
    signs::FORMS,
    command::FLAGS,
    command::SETTINGS,
    command::SQL,
    prose::ENGLISH,
    prose::LANGUAGES,
    prose::TABLES,
    tools::LISTS,
    tools::CALLS,
    tools::SERVERS,
    tools::DUMPS,
    tools::MIXED,
];

/// A text, and where in it the values stand.
pub(crate) struct Case {
    pub(crate) text: String,
    pub(crate) values: Vec<(usize, usize)>,
}

/// Numbers that look random and are always the same (splitmix64, of Steele, Lea and Flood).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    pub(crate) fn text(&mut self, len: usize, alphabet: &str) -> String {
        (0..len).map(|_| char::from(alphabet.as_bytes()[self.below(alphabet.len())])).collect()
    }

    /// As people choose them: letters, then digits, then letters.
    fn password(&mut self) -> String {
        let [small, large] = ["abcdefghijkmnpqrstuvwxyz", "ABCDEFGHJKLMNPQRSTUVWXYZ"];
        let (a, b, c, d) =
            (self.text(1, large), self.text(4, small), self.text(3, "23456789"), self.text(3, small));
        a + &b + &c + &d
    }

    /// As programs draw them: of all kinds, signs among them.
    fn signs(&mut self) -> String {
        let (a, b, sign) = (self.password(), self.password(), self.text(1, "!@#%^"));
        a[..5].to_string() + &sign + &b[3..]
    }

    /// As frameworks draw their keys.
    fn drawn(&mut self) -> String {
        self.text(50, "abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)")
    }

    fn token(&mut self) -> String {
        let token = self.text(28, "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789");
        format!("a7{token}Q9")
    }

    /// The id of an access key of AWS.
    fn key_id(&mut self) -> String {
        format!("AKIA{}", self.text(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"))
    }

    /// Its secret, whose signs leave no long run.
    fn key(&mut self) -> String {
        let [a, b, c] =
            [13, 12, 13].map(|n| self.text(n, "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"));
        format!("{a}+{b}/{c}")
    }

    fn phrase(&mut self) -> String {
        let words =
            ["walnut", "copper", "meadow", "lantern", "orbit", "velvet", "thunder", "pickle", "harbor"];
        let four: Vec<&str> = (0..4).map(|_| words[self.below(words.len())]).collect();
        four.join(" ")
    }
}

/// The template with its values drawn.
pub(crate) fn draw(template: &str, seed: u64) -> Case {
    let mut random = Random(seed);
    let (mut text, mut values) = (String::new(), vec![]);
    let mut rest = template;
    while let Some(at) =
        ["{p}", "{s}", "{d}", "{h}", "{i}", "{k}", "{t}", "{w}"].iter().filter_map(|m| rest.find(m)).min()
    {
        text.push_str(&rest[..at]);
        let value = match &rest[at..at + 3] {
            "{p}" => random.password(),
            "{s}" => random.signs(),
            "{d}" => random.drawn(),
            "{h}" => random.text(40, "0123456789ABCDEF"),
            "{i}" => random.key_id(),
            "{k}" => random.key(),
            "{t}" => random.token(),
            _ => random.phrase(),
        };
        values.push((text.len(), text.len() + value.len()));
        text.push_str(&value);
        rest = &rest[at + 3..];
    }
    text.push_str(rest);
    Case { text, values }
}
