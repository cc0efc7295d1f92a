//! Passwords as arguments of calls: `login("user", "password")` and its like.

use crate::assign::{BLANK, QUOTES, not};
use crate::class::ByteSet;
use crate::engine::Scan;
use crate::keys::Kind;
use crate::sign::Sign;
use crate::window::Look;

/// What takes a password as an argument, and how many others go before it.
pub(crate) const CREDENTIALS: &[(&str, usize)] = &[
    ("NetworkCredential", 1),
    ("PSCredential", 1),
    ("PasswordCredentials", 1),
    ("PasswordCredential", 1),
    ("BasicAuth", 1),
    ("DigestAuth", 1),
    ("PasswordAuthenticationToken", 1),
    ("login", 1),
    ("WiFi.begin", 1),
    ("simple_bind", 1),
    ("simple_bind_s", 1),
    ("ldap_bind", 2),
    ("jwt.sign", 1),
    ("jwt.verify", 1),
    ("jwt.encode", 1),
    ("jwt.decode", 1),
    ("DriverManager.getConnection", 2),
    ("MySQLdb.connect", 2),
    ("mysqli", 2),
    ("mysqli_connect", 2),
    ("mysql_connect", 2),
    ("mysql_pconnect", 2),
];

impl Scan<'_, '_> {
    /// `new NetworkCredential("user", "password")`: the string after `n` arguments is the password.
    pub(crate) fn nth_argument(&mut self, end: usize, n: usize) -> Look<()> {
        let window = self.window;
        if window.at(end)? != Some(b'(') {
            return Ok(());
        }
        let mut at = end + 1;
        for _ in 0..n {
            // A string may hold commas and brackets.
            let open = window.run(at, &BLANK.or(ByteSet::of(b"\\")), 16)?;
            if let Some(quote) = window.at(open)?.filter(|b| QUOTES.has(*b)) {
                at = window.run(open + 1, &not(&[quote, b'\n']), 256)? + 1;
            }
            let next = window.run(at.min(window.text.len()), &not(b",\n()"), 128)?;
            at = window.run(next, &ByteSet::of(b", \t\n\r"), 64)?;
            if at == next || window.text[next] != b',' {
                return Ok(());
            }
        }
        self.argument(at)
    }

    /// A quoted password at `at`, as an argument.
    pub(crate) fn argument(&mut self, at: usize) -> Look<()> {
        self.assigned(Kind::Password, Sign::Pair, at)
    }
}
