//! Credentials in headers: `Authorization` of every scheme (RFC 9110) and cookies (RFC 6265).

use crate::assign::{BLANK, NAME, NAME_MAX, QUOTES, VALUE_MAX, name_before, not};
use crate::class::{ALNUM, ByteSet};
use crate::decoy;
use crate::engine::Scan;
use crate::keys::Kind;
use crate::rule::rank;
use crate::sign::Sign;
use crate::window::Look;
use crate::worth::{has_digit_or_mixed, worth};

impl Scan<'_, '_> {
    /// `Bearer x` by itself.
    pub(crate) fn bearer(&mut self, end: usize) -> Look<()> {
        let window = self.window;
        let at = window.run(end, &ByteSet::of(b" \t:=\""), 4)?;
        let at = if at == end && window.at(end)? == Some(b'+') { end + 1 } else { at };
        let at = if window.starts_with(at, b"%20")? { at + 3 } else { at };
        if at == end {
            return Ok(());
        }
        let stop = window.run(at, &TOKEN68, VALUE_MAX)?;
        let value = trim_dots(&window.text[at..stop]);
        if let Some(rule) = self.engine.parsers.authorization
            && value.len() >= 16
            && has_digit_or_mixed(value)
            && !decoy::is_stand_in(value)
        {
            self.push(rule, rank::HEADER, at, at + value.len(), 0);
        }
        Ok(())
    }

    /// `Basic x` by itself: base64 of `user:password`.
    pub(crate) fn basic(&mut self, end: usize) -> Look<()> {
        let window = self.window;
        let at = window.run(end, &BLANK, 4)?;
        if at == end {
            return Ok(());
        }
        let stop = window.run(at, &TOKEN68, VALUE_MAX)?;
        let value = &window.text[at..stop];
        let pair = crate::encoded::base64(value)
            .is_some_and(|plain| plain.contains(&b':') && plain.iter().all(|b| (0x20..0x7f).contains(b)));
        if let Some(rule) = self.engine.parsers.authorization.filter(|_| value.len() >= 8 && pair) {
            self.push(rule, rank::HEADER, at, stop, 0);
        }
        Ok(())
    }

    /// The value of an Authorization header (RFC 9110 section 11.6.2): a scheme, then credentials.
    pub(crate) fn authorization(&mut self, sign: Sign, at: usize) -> Look<()> {
        let window = self.window;
        let at = window.run(at, &BLANK, 64)?;
        let Some(rule) = self.engine.parsers.authorization else { return Ok(()) };
        // auth=("user", "password")
        let equals = window.text[..at].trim_ascii_end().ends_with(b"=");
        if equals && window.at(at)? == Some(b'(') {
            return self.nth_argument(at, 1);
        }
        if sign == Sign::Pair {
            return self.nth_argument(at - 1, 1);
        }
        let opening = window.run(at, &ByteSet::of(b"fFbBrR["), 2)?;
        let opened = window.at(opening)?.is_some_and(|b| QUOTES.has(b) || b == b'\\');
        let prefix = window.run(if opened { opening } else { at }, &ByteSet::of(b"\\\"'`[ "), 8)?;
        let scheme = window.run(prefix, &ALNUM.or(ByteSet::of(b"-")), 32)?;
        let blank = window.run(scheme, &BLANK, 4)?;
        if scheme > prefix && blank > scheme {
            let known = is_scheme(&window.text[prefix..scheme]);
            // Everything up to the end of the header: a quote, an escape, a line end.
            let end = self.parameters(blank)?;
            let credentials = &window.text[blank..end];
            let bare = credentials.len() - ByteSet::of(b" \t,;)").run_back(credentials);
            let credentials = &credentials[..bare];
            if known {
                let first = credentials.split(|b| *b == b' ').next().unwrap_or_default();
                // Schemes with parameters (Digest, AWS4-HMAC-SHA256) go whole; others end at a blank.
                let value = if first.ends_with(b",") || first.contains(&b'=') && bare > first.len() {
                    credentials
                } else {
                    first
                };
                let value = trim_dots(value);
                // "token refreshed for user 42", "auth: token validated"
                let told = prefix == at
                    && value.iter().all(u8::is_ascii_lowercase)
                    && (bare > first.len()
                        || value.len() < 16
                            && name_before(window, at).eq_ignore_ascii_case(b"auth")
                            && window.text[prefix].is_ascii_lowercase());
                if value.len() >= 4
                    && !told
                    && !decoy::is_reference(value, true)
                    && !decoy::is_stand_in(value)
                {
                    self.push(rule, rank::HEADER, blank, blank + value.len(), 0);
                }
                return Ok(());
            }
            if sign == Sign::Assign && prefix == at {
                return Ok(());
            }
        }
        // `auth: x`, `"auth": "x"` (docker): a token without a scheme.
        if sign != Sign::Assign {
            return Ok(());
        }
        let Some(value) = self.value(sign, at)? else { return Ok(()) };
        if worth(Kind::Token, &window.text[value.start..value.end], value.quoted) {
            self.push(rule, rank::KEYED, value.start, value.end, 0);
        }
        Ok(())
    }

    /// Where the credentials of a header end that begin at `at`, quoted parameters among them: `username="a", nonce="b"`.
    fn parameters(&self, at: usize) -> Look<usize> {
        let window = self.window;
        let plain = not(b"\"'`\r\n\\<");
        let mut end = window.run(at, &plain, VALUE_MAX)?;
        for _ in 0..32 {
            let open = window.run(end, &ByteSet::of(b"\\"), 8)?;
            if window.before(end) != Some(b'=') || window.at(open)? != Some(b'"') {
                break;
            }
            let stop = window.run(open + 1, &plain, VALUE_MAX)?;
            let mark = open + 1 - end;
            if window.text.get(stop..stop + mark) != Some(&window.text[end..=open]) {
                break;
            }
            end = window.run(stop + mark, &plain, VALUE_MAX)?;
        }
        Ok(end)
    }

    /// The values of a cookie header (RFC 6265): each `name=value`; attributes of Set-Cookie stay.
    pub(crate) fn cookie(&mut self, name: &[u8], sign: Sign, at: usize) -> Look<()> {
        let window = self.window;
        let Some(rule) = self.engine.parsers.cookie.filter(|_| sign == Sign::Assign) else { return Ok(()) };
        let set = name.len() >= 3 && name[..3].eq_ignore_ascii_case(b"set");
        let mut at = window.run(at, &ByteSet::of(b" \t\\\"'[u"), 16)?;
        for n in 0..64 {
            let start = window.run(at, &BLANK, 8)?;
            let name_end = window.run(start, &NAME.or(ByteSet::of(b"%!#$*+^|~")), NAME_MAX)?;
            if name_end == start || window.at(name_end)? != Some(b'=') {
                break;
            }
            let value = name_end + 1;
            let end = window.run(value, &not(b" \t;,\"'\\\r\n<"), VALUE_MAX)?;
            let bytes = &window.text[value..end];
            if bytes.len() >= 6
                && !decoy::is_reference(bytes, true)
                && (bytes.len() >= 16 || has_digit_or_mixed(bytes))
            {
                self.push(rule, rank::HEADER, value, end, 0);
            }
            if set && n == 0 || window.at(end)? != Some(b';') {
                break;
            }
            at = end + 1;
        }
        Ok(())
    }
}

/// What the token of a header may be made of (RFC 9110 `token68`, and what is seen beside it).
pub(crate) const TOKEN68: ByteSet = ALNUM.or(ByteSet::of(b"-._~+/=!|:"));

pub(crate) const SCHEMES: &[&str] = &[
    "basic",
    "bearer",
    "digest",
    "hoba",
    "mutual",
    "negotiate",
    "ntlm",
    "kerberos",
    "oauth",
    "scram-sha-1",
    "scram-sha-256",
    "vapid",
    "aws4-hmac-sha256",
    "aws",
    "hawk",
    "token",
    "apikey",
    "api-key",
    "key",
    "signature",
    "sharedkey",
    "sharedkeylite",
    "sharedaccesssignature",
    "jwt",
    "splunk",
    "ssws",
    "bot",
    "client-id",
    "genieKey",
    "dpop",
    "gnap",
    "concealed",
    "privatetoken",
    "snowflake",
    "discogs",
    "zoho-oauthtoken",
    "access",
    "secret",
    "apikeyauth",
    "hmac",
    "mac",
    "wsse",
    "passport1.4",
    "bolt",
    "deepl-auth-key",
    "klaviyo-api-key",
];

fn is_scheme(word: &[u8]) -> bool {
    SCHEMES.iter().any(|s| word.eq_ignore_ascii_case(s.as_bytes()))
}

/// The length of `Bearer ` and its like at the beginning of a value.
pub(crate) fn scheme_len(value: &[u8]) -> Option<usize> {
    let blank = memchr::memchr(b' ', value)?;
    (blank > 2 && is_scheme(&value[..blank]) && blank + 1 < value.len()).then_some(blank + 1)
}

fn trim_dots(value: &[u8]) -> &[u8] {
    &value[..value.len() - ByteSet::of(b".,:;").run_back(value)]
}

#[cfg(test)]
mod tests {
    #[test]
    fn quoted_parameters_go_with_the_rest() {
        let detector = crate::Detector::new(&crate::Policy::default()).unwrap_or_else(|e| panic!("{e}"));
        let digest = r#"username="bob", nonce="x1", response="0a4f113b9c""#;
        for (before, after) in [("Authorization: Digest ", "\r\nHost: x"), ("authorization: digest ", "\n")] {
            let text = format!("{before}{digest}{after}");
            let found: Vec<&str> =
                detector.scan(text.as_bytes()).iter().map(|m| &text[m.start..m.end]).collect();
            assert_eq!(found, [digest]);
        }
    }
}
