//! Values that only stand for a secret: placeholders, references, masks.

use crate::class::{ALNUM, ALPHA};
use crate::lexicon::{Dictionary, Lexicon};
use ctxproto_once::Once;

static STAND_INS: Once<Lexicon> = Once::new(|| Lexicon::new(WORDS));
static BLANKS: Once<Lexicon> = Once::new(|| Lexicon::new(STRONG));
static REFERENCES: Once<Lexicon> = Once::new(|| Lexicon::new(PHRASES));
static PARTS: Once<Lexicon> = Once::new(|| Lexicon::new(MEMBERS));
static VOID: Once<Dictionary> = Once::new(|| Dictionary::new(&[NOTHING]));

/// Words that say "put yours here", in lower case.
const WORDS: &[&str] = &[
    "example",
    "placeholder",
    "changeme",
    "change_me",
    "change-me",
    "replaceme",
    "replace_me",
    "replace-me",
    "your_",
    "your-",
    "yourtoken",
    "yourkey",
    "yourapi",
    "yourpass",
    "yoursecret",
    "my_secret",
    "my-secret",
    "mysecret",
    "insert_",
    "insert-",
    "xxxx",
    "notreal",
    "not-real",
    "not_real",
    "goes-here",
    "goes_here",
    "goeshere",
    "a1b2c3d4",
    "d4c3b2a1",
];

/// What no real body contains.
const STRONG: &[&str] = &["placeholder", "xxxxxx", "your_", "your-", "yourtoken", "changeme", "replace"];

/// Words for "no value here", and names of types and things.
const NOTHING: &[&str] = &[
    "none",
    "null",
    "nil",
    "true",
    "false",
    "undefined",
    "yes",
    "no",
    "on",
    "off",
    "empty",
    "default",
    "string",
    "str",
    "int",
    "integer",
    "bool",
    "boolean",
    "bytes",
    "text",
    "number",
    "float",
    "object",
    "array",
    "any",
    "required",
    "optional",
    "password",
    "passwd",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "key",
    "value",
    "invalid",
    "missing",
    "unset",
    "set",
    "not_set",
    "hidden",
    "redacted",
    "disabled",
    "enabled",
    "username",
    "user",
    "unknown",
    "varchar",
    "char",
    "enter",
    "prompt",
    "ask",
    "todo",
    "tbd",
    "n/a",
    "na",
    "bearer",
    "basic",
    "incorrect",
    "wrong",
    "expired",
    "changed",
    "reset",
    "ok",
    "failed",
    "denied",
    "refused",
    "accepted",
    "valid",
    "authentication",
    "method",
    "type",
    "and",
    "for",
    "from",
    "with",
    "the",
    "this",
    "that",
    "optional[str]",
    "your_password",
    "yourpassword",
    "your-password",
    "nullable",
    "sha256",
    "md5",
    "bcrypt",
    "not-set",
    "notset",
    "public",
    "private",
    "protected",
    "oublié",
    "vergessen",
    // Types of other languages, fields of files, ways of hashing.
    "string!",
    "int!",
    "gecos",
    "files",
    "compat",
    "argon2",
    "argon2id",
    "pbkdf2",
    "scrypt",
    // The word itself, as translations have it.
    "passwort",
    "kennwort",
    "senha",
    "contraseña",
    "contrasenya",
    "contrasena",
    "wachtwoord",
    "adgangskode",
    "lösenord",
    "passord",
    "salasana",
    "parola",
    "parool",
    "heslo",
    "hasło",
    "jelszó",
    "lozinka",
    "geslo",
    "şifre",
    "пароль",
    "Пароль",
    "ПАРОЛЬ",
    "парола",
    "Парола",
    "密码",
    "密碼",
    "口令",
    "パスワード",
    "비밀번호",
    "암호",
    "סיסמה",
    "รหัสผ่าน",
];

/// Words of rules for the values of a form: `required|string|min:8`.
const CHECKS: &[&str] = &[
    "required",
    "nullable",
    "string",
    "confirmed",
    "sometimes",
    "optional",
    "min:",
    "max:",
    "between:",
    "regex:",
    "same:",
];

/// Parts of references and of stand-ins.
const PHRASES: &[&str] = &[
    "placeholder",
    "changeme",
    "change_me",
    "change-me",
    "replace_me",
    "replace-me",
    "replaceme",
    "your_",
    "your-",
    "yourpassword",
    "insert_",
    "xxxx",
    "<your",
    "secretkeyref",
    "valuefrom",
    "process.env",
    "os.environ",
    "os.getenv",
    "getenv(",
    "import.meta",
    "vault:",
    "ssm:",
    "arn:aws",
    "secretsmanager",
    "op://",
    "keyring",
    "projects/",
];

/// Beginnings of members of objects: references where no quotes stand around them.
const MEMBERS: &[&str] = &[
    "env.",
    "config.",
    "settings.",
    "self.",
    "this.",
    "args.",
    "params.",
    "secrets.",
    "data.",
    "var.",
    "local.",
    "module.",
];

/// Whether a token's body is a stand-in: a phrase for one, a single character repeated, or a mask.
pub(crate) fn is_stand_in(body: &[u8]) -> bool {
    repeats(body) || masked(body) || STAND_INS.is_in(body)
}

/// The narrow form, for tokens whose public prefix already says what they are: only bodies that cannot be real.
pub(crate) fn is_blank(body: &[u8]) -> bool {
    // Documentation ends its examples so; in the midst of a long token the word is chance or play.
    let example = body.len() < 64 && contains_any_case(body, b"example");
    repeats(body) || masked(body) || example || BLANKS.is_in(body)
}

/// A filler makes up the whole, with at most one other character: `xxxxxxxx`, `00000000`, `xxxx-xxxx`.
fn repeats(body: &[u8]) -> bool {
    let filler = |b: &u8| matches!(b, b'x' | b'X' | b'0' | b'*' | b'.' | b'#' | b'-' | b'_');
    // Ordinary bodies fail at their second byte.
    body.iter().all(|b| filler(b) || *b == body[0])
        && (body.len() < 2 || body.iter().filter(|b| filler(b)).count() * 2 > body.len())
}

/// Asterisks, bullets or dots stand for the characters, as the masks of this and other tools do.
fn masked(body: &[u8]) -> bool {
    body.iter().any(|b| matches!(b, b'*' | b'.' | 0xE2))
        && (body.windows(3).any(|w| w == b"***" || w == b"..." || w == "…".as_bytes())
            || body.windows(9).any(|w| w == "•••".as_bytes()))
}

/// Whether `text` contains `word` (lower case) in either case.
pub(crate) fn contains_any_case(text: &[u8], word: &[u8]) -> bool {
    text.len() >= word.len()
        && text.windows(word.len()).any(|w| w[0] | 0x20 == word[0] | 0x20 && w.eq_ignore_ascii_case(word))
}

/// A placeholder of this package: `[LABEL:REDACTED]`, `[LABEL:3f9a12c4]`, `[LABEL:V…]`.
pub(crate) fn is_own(value: &[u8]) -> bool {
    let Some(inner) = value.strip_prefix(b"[").and_then(|v| v.strip_suffix(b"]")) else { return false };
    let Some(colon) = memchr::memchr(b':', inner) else { return false };
    let (label, tail) = (&inner[..colon], &inner[colon + 1..]);
    !label.is_empty()
        && label.iter().all(|&b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
        && !tail.is_empty()
        && tail.iter().all(u8::is_ascii_alphanumeric)
}

/// Whether a value with no blanks has letters of both cases, digits and signs in its midst: drawn from the whole
/// keyboard, so that brackets around it or in it are its own.
pub(crate) fn is_varied(value: &[u8]) -> bool {
    let Some((_, inner)) = value.split_first() else { return false };
    let any = |of: fn(&u8) -> bool| inner.iter().any(of);
    let sign = inner.windows(2).any(|p| {
        matches!(p[0], b'!' | b'@' | b'#' | b'$' | b'%' | b'^') && !matches!(p[1], b'=' | b'{' | b'(')
    });
    value.len() >= 8
        && sign
        && any(u8::is_ascii_lowercase)
        && any(u8::is_ascii_uppercase)
        && any(u8::is_ascii_digit)
        && !any(|b| !b.is_ascii_graphic() || matches!(b, b'"' | b'\'' | b'\\' | b':' | b'=' | b';' | b'>'))
        && ![&b"A-Z"[..], b"a-z", b"0-9", b"{{", b"${"]
            .iter()
            .any(|r| memchr::memmem::find(value, r).is_some())
}

/// Whether letters, digits and signs alternate as only a generator lets them: no code, no reference, no pattern.
pub(crate) fn is_drawn(value: &[u8]) -> bool {
    let class = |b: u8| match b {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'+' | b'~' | b'?' => 3,
        0x21..0x7F => 4,
        _ => 5,
    };
    let mut of = [0; 6];
    let mut turns = 0;
    for (i, &b) in value.iter().enumerate() {
        of[class(b)] += 1;
        turns += usize::from(i > 0 && class(b) != class(value[i - 1]));
    }
    let [digits, small, capitals, signs, _, others] = of;
    value.len() >= 12
        && others == 0
        && digits >= 1
        && small + capitals >= 4
        && signs >= 2
        && turns * 9 >= value.len() * 4
        && !["${", "$(", "{{"].iter().any(|code| value.starts_with(code.as_bytes()))
        && !["A-Z", "a-z", "0-9", "}}", "://", "\\"]
            .iter()
            .any(|code| memchr::memmem::find(value, code.as_bytes()).is_some())
}

/// Whether a reference is only the beginning of a value: `${HOME}x9Kq`.
fn is_glued(value: &[u8]) -> bool {
    let Some(close) = memchr::memchr(b'}', value) else { return false };
    let rest = &value[close + 1..];
    let any = |of: fn(&u8) -> bool| rest.iter().any(of);
    rest.len() >= 4
        && any(u8::is_ascii_lowercase)
        && any(u8::is_ascii_uppercase)
        && any(u8::is_ascii_digit)
        && !any(|b| {
            matches!(
                b,
                b'$' | b'{' | b'}' | b'/' | b'.' | b':' | b'-' | b'_' | b' ' | b'(' | b'|' | b'+' | b'"'
            )
        })
}

/// Text of forms and pages: a prompt, the rules of a field, a selector.
fn is_form(value: &[u8]) -> bool {
    let prompt = value.trim_ascii_end();
    let asked = prompt.len() < value.len()
        && prompt.ends_with(b":")
        && prompt[..prompt.len() - 1].iter().all(|b| b.is_ascii_alphabetic() || *b == b' ');
    let rules = memchr::memchr(b'|', value).is_some()
        && value.split(|b| *b == b'|').any(|part| {
            CHECKS.iter().any(|c| part == c.as_bytes() || c.ends_with(':') && part.starts_with(c.as_bytes()))
        });
    let selected = matches!(value[0], b'.' | b'#')
        && value.len() > 1
        && ALPHA.has(value[1])
        && value.iter().any(|b| matches!(b, b'-' | b'_'))
        && value[1..]
            .iter()
            .all(|b| b.is_ascii_lowercase() || matches!(b, b'-' | b'_' | b'.' | b'#' | b'>' | b' '));
    asked || rules || selected
}

/// Whether an assigned value is no literal secret at all: a reference to a variable, a template, a mask, a word for
/// "nothing", a path. `quoted`: it stood in quotes, so code and paths are not what it is.
pub(crate) fn is_reference(value: &[u8], quoted: bool) -> bool {
    let value = &value[value.iter().take_while(|&&b| b == b'\\').count()..];
    let Some((&first, &last)) = value.first().zip(value.last()) else { return true };
    if is_own(value) || repeats(value) || masked(value) {
        return true;
    }
    // ${VAR} $(cmd) $VAR %VAR% {{x}} {x} <x> #{x} @x@ [x] __X__
    let braced = matches!(
        (first, last),
        (b'<', b'>')
            | (b'{', b'}')
            | (b'[', b']')
            | (b'%', b'%')
            | (b'(', b')')
            | (b'@', b'@')
            | (b'`', b'`')
    ) && value.len() > 1;
    let inner = &value[1..];
    let braced = braced && !is_varied(&value[..value.len() - 1]);
    if braced
        || value.starts_with(b"${") && !is_glued(value)
        || value.starts_with(b"ENC[")
        || quoted && is_form(value)
        || value.starts_with(b"$(")
        || value.starts_with(b"#{")
        || value.starts_with(b"{{")
        || value.starts_with(b"<%")
        || value.starts_with(b"%{")
        || value.starts_with(b"%(")
        || value.starts_with(b"$env:")
        || value.starts_with(b"$_")
        || value.starts_with(b"&lt;")
        || value.starts_with(b"\\u003c")
        || first == b'$'
            && memchr::memchr(b'/', value)
                .is_some_and(|i| inner[..i - 1].iter().all(|&b| ALNUM.has(b) || b == b'_'))
        || first == b'$'
            && !inner.is_empty()
            && inner.iter().all(|&b| ALNUM.has(b) || b == b'_' || b == b'.')
            && (ALPHA.has(inner[0]) || inner[0] == b'_')
            && !inner.iter().any(u8::is_ascii_digit)
        || value.starts_with(b"__") && value.ends_with(b"__")
        || matches!(value, b"%s" | b"%d" | b"%v" | b"%r" | b"?" | b"{}" | b"$1" | b"$2")
    {
        return true;
    }
    let mut lower = [0; 16];
    if let Some(lower) = lower.get_mut(..value.len()) {
        lower.copy_from_slice(value);
        lower.make_ascii_lowercase();
        if VOID.get(lower) != 0 {
            return true;
        }
    }
    let example = contains_any_case(value, b"example") && !value.iter().any(u8::is_ascii_digit);
    example || REFERENCES.is_in(value) || !quoted && PARTS.is_in(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stand_ins() {
        for v in
            ["EXAMPLEKEY", "xxxxxxxxxxxx", "************", "your-api-key-here", "xxxx-xxxx-xxxx", "abc...def"]
        {
            assert!(is_stand_in(v.as_bytes()), "{v}");
        }
        assert!(!is_stand_in(b"h8Zq0p3LmX7sT2vB"));
    }

    #[test]
    fn references() {
        for v in [
            "${DB_PASSWORD}",
            "$(cat x)",
            "$PASSWORD",
            "%PASSWORD%",
            "{{ password }}",
            "<your-password>",
            "null",
            "[PASSWORD:REDACTED]",
            "[TOKEN:3f9a12c4]",
            "****",
            "os.environ['X']",
            "process.env.PASS",
            "",
            "string",
        ] {
            assert!(is_reference(v.as_bytes(), false), "{v}");
        }
        for v in ["hunter2", "$ecr3t!", "P@ssw0rd", "a{b}c", "[x:REDACTED]y", "letmein"] {
            assert!(!is_reference(v.as_bytes(), true), "{v}");
        }
    }
}
