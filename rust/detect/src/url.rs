//! What hides in URLs: passwords in the user part, and paths that are secrets (webhooks).

use crate::class::{ALNUM, ByteSet};
use crate::decoy;
use crate::engine::Scan;
use crate::random;
use crate::rule::rank;
use crate::window::Look;

/// What ends the authority of a URL (RFC 3986 section 3.2), in text.
const AUTHORITY: ByteSet = ByteSet::of(b"/?# \t\r\n\"'`<>\\,|()").complement();
const AUTHORITY_MAX: usize = 512;

impl Scan<'_, '_> {
    /// `://` stands at `at`.
    pub(crate) fn url(&mut self, at: usize) -> Look<()> {
        let window = self.window;
        let host = at + 3;
        let engine = self.engine;
        for (n, start) in engine.index.url(window.text, host) {
            if self.shape(&engine.index.rules[usize::from(n)], start, true)? {
                break;
            }
        }
        if window.back(at, 4).eq_ignore_ascii_case(b"ldap") && window.back(at, 24).contains(&b'(') {
            return self.directory_entry(host);
        }
        let end = window.run(host, &AUTHORITY, AUTHORITY_MAX)?;
        let mut sign = memchr::memrchr(b'@', &window.text[host..end]);
        if sign.is_none() && window.at(end)?.is_some_and(|b| matches!(b, b'/' | b'#' | b'?' | b',')) {
            // Passwords are not always encoded as they should be: look on, if no port stands where it would.
            let colon = colon(&window.text[host..end]).map(|i| host + i + 1);
            if colon.is_some_and(|c| c < end && !window.text[c..end].iter().all(u8::is_ascii_digit)) {
                let wide = ByteSet::of(b" \t\r\n\"'`<>\\@").complement();
                let next = window.run(end, &wide, 128)?;
                if window.at(next)? == Some(b'@') {
                    sign = Some(next - host);
                }
            }
        }
        if sign.is_some() && window.at(end)? == Some(b'#') {
            // A `#` that was not encoded: the last `@` before a path ends the password.
            let wide = window.run(end, &ByteSet::of(b"/ \t\r\n\"'`<>\\").complement(), 128)?;
            sign = memchr::memrchr(b'@', &window.text[host..wide]);
        }
        let Some(sign) = sign else { return Ok(()) };
        let user = &window.text[host..host + sign];
        // A user may be an e-mail address, whose `@` was not encoded.
        match colon(user) {
            Some(colon) => {
                let password = &user[colon + 1..];
                let start = host + colon + 1;
                if password.len() >= 2
                    && !decoy::is_reference(password, true)
                    && !password.starts_with(b"$")
                    && !password.starts_with(b"{")
                {
                    if matches!(password, b"x-oauth-basic" | b"x-token-auth" | b"x") {
                        self.user_token(host, &user[..colon]);
                    } else if let Some(rule) =
                        self.engine.parsers.database.filter(|_| is_database(window.back(at, 24)))
                    {
                        // The server's name goes with its password: together they open the door.
                        let server =
                            window.run(host + sign + 1, &AUTHORITY.or(ByteSet::of(b",")), AUTHORITY_MAX)?;
                        self.push(rule, rank::FORM, host, server, 0);
                    } else if let Some(rule) = self.engine.parsers.userinfo {
                        self.push(rule, rank::FORM, start, host + sign, 0);
                    }
                } else if password.is_empty() {
                    self.user_token(host, &user[..colon]);
                }
            }
            None => self.user_token(host, user),
        }
        Ok(())
    }

    /// A connection string without `://` may have its sign at `at`: `user:x@tcp(host)/db`, `oracle:thin:user/x@host`,
    /// or a line of `.pgpass`, `host:5432:db:user:x`.
    pub(crate) fn connection(&mut self, at: usize) -> Look<bool> {
        let window = self.window;
        let visible = ByteSet::of(b" \t\r\n\"'`<>\\").complement();
        let (start, end) = if window.starts_with(at, b"@tcp(")? || window.starts_with(at, b"@unix(")? {
            let before = window.back(at, 256);
            let user = &before[before.len() - visible.run_back(before)..];
            let Some(colon) = colon(user).filter(|i| *i > 0) else { return Ok(true) };
            // A URL: it has a trigger of its own.
            if user[colon..].starts_with(b"://") {
                return Ok(true);
            }
            (at - user.len() + colon + 1, at)
        } else if window.starts_with_any_case(at, b"e:thin:")? {
            let name = window.run(at + 7, &ALNUM.or(ByteSet::of(b"_$#")), 64)?;
            let end = window.run(name, &ByteSet::of(b"@ \t\r\n\"'`<>\\").complement(), 128)?;
            if window.at(name)? != Some(b'/') || window.at(end)? != Some(b'@') {
                return Ok(true);
            }
            (name + 1, end)
        } else if matches!(window.at(at)?, Some(b':')) {
            let before = window.back(at, 256);
            let host = ALNUM.or(ByteSet::of(b"._*-")).run_back(before);
            let line = host > 0 && before[..before.len() - host].last().is_none_or(|b| *b == b'\n');
            let mut from = at;
            for _ in 0..4 {
                if !line || window.at(from)? != Some(b':') {
                    return Ok(true);
                }
                from = window.run(from + 1, &ALNUM.or(ByteSet::of(b"._*-")), 64)?;
            }
            // The password is the last: of the four fields that were passed, it may be a part.
            let from = window.text[..from].iter().rposition(|b| *b == b':').map_or(from, |i| i + 1);
            let end = window.run(from, &visible, 256)?;
            if window.at(end)?.is_some_and(|b| !matches!(b, b'\r' | b'\n')) {
                return Ok(true);
            }
            (from, end)
        } else {
            return Ok(false);
        };
        let value = &window.text[start..end];
        // Whatever stands there is the password, even this word.
        let literal = value == b"password" || !decoy::is_reference(value, true) && !value.starts_with(b"$");
        if let Some(rule) = self.engine.parsers.userinfo.filter(|_| value.len() >= 4 && literal) {
            self.push(rule, rank::FORM, start, end, 0);
        }
        Ok(true)
    }

    /// `new DirectoryEntry("LDAP://server", "user", "password")`: the third string is the password.
    fn directory_entry(&mut self, host: usize) -> Look<()> {
        let window = self.window;
        let mut at = host;
        for _ in 0..2 {
            at = window.run(at, &ByteSet::of(b",()\n").complement(), 128)?;
            at = window.run(at, &ByteSet::of(b", \t\r\n"), 64)?;
        }
        self.argument(at)
    }

    fn user_token(&mut self, start: usize, user: &[u8]) {
        let Some(rule) = self.engine.parsers.userinfo_token else { return };
        let form = user.iter().all(|&b| ALNUM.has(b) || matches!(b, b'_' | b'-' | b'.' | b'~'));
        if user.len() >= 16 && form && random::is_random(user) && !decoy::is_stand_in(user) {
            self.push(rule, rank::HEADER, start, start + user.len(), 0);
        }
    }
}

/// The colon between a name and its password: one inside a placeholder of this package is none.
fn colon(user: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let colon = at + memchr::memchr(b':', &user[at..])?;
        let open = memchr::memrchr(b'[', &user[at..colon]).map(|i| at + i);
        let close = memchr::memchr(b']', &user[colon..]).map(|i| colon + i + 1);
        match open.zip(close) {
            Some((open, close)) if decoy::is_own(&user[open..close]) => at = close,
            _ => return Some(colon),
        }
    }
}

/// Whether the scheme that ends here is a database's or a queue's.
fn is_database(before: &[u8]) -> bool {
    const SCHEMES: &[&str] = &[
        "postgres",
        "postgresql",
        "mysql",
        "mariadb",
        "mongodb",
        "mongodb+srv",
        "redis",
        "rediss",
        "amqp",
        "amqps",
        "mssql",
        "sqlserver",
        "oracle",
        "cockroachdb",
        "clickhouse",
        "couchbase",
        "cassandra",
        "neo4j",
        "bolt",
        "nats",
        "kafka",
        "influxdb",
        "snowflake",
        "redshift",
        "vertica",
        "db2",
        "firebird",
        "couchdb",
        "memcached",
    ];
    let scheme = &before[before.len() - ALNUM.or(ByteSet::of(b"+.-")).run_back(before)..];
    // `postgresql+psycopg2`, `jdbc:mysql` and the like.
    let scheme = String::from_utf8_lossy(scheme).to_ascii_lowercase();
    SCHEMES.iter().any(|s| scheme == *s || scheme.strip_prefix(s).is_some_and(|rest| rest.starts_with('+')))
}
