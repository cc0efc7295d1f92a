//! Passwords on command lines: behind a flag, glued to one, in a place of their own, or piped in.
//!
//! What a flag means is known only for the command it belongs to; the tables below say so.

use std::sync::LazyLock;

use crate::assign::QUOTES;
use crate::chosen;
use crate::class::{ByteSet, SPACE};
use crate::engine::Scan;
use crate::keys::Kind;
use crate::lexicon::Dictionary;
use crate::rule::rank;
use crate::sign::Sign;
use crate::value::Value;
use crate::window::{Look, Window};

/// How far a command line is followed.
const LINE: usize = 512;

/// What stands behind a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Password,
    /// The same, but only where it is glued to the flag.
    Glued,
    /// A name, this sign, and a password.
    After(u8),
}

/// A command whose name leads to its password: its flags, and which of its plain words is one.
struct Command {
    names: &'static [&'static str],
    flags: &'static [(&'static str, Holds)],
}

const COMMANDS: &[Command] = &[
    Command {
        names: &[
            "mysql",
            "mysqldump",
            "mysqladmin",
            "mysqlimport",
            "mysqlshow",
            "mysqlcheck",
            "mysqlpump",
            "mysqlbinlog",
            "mysqlsh",
            "mariadb",
            "mariadb-dump",
            "mariadb-admin",
        ],
        flags: &[("-p", Holds::Glued)],
    },
    Command {
        names: &["curl"],
        flags: &[
            ("--user", Holds::After(b':')),
            ("--proxy-user", Holds::After(b':')),
            ("-u", Holds::After(b':')),
            ("-U", Holds::After(b':')),
        ],
    },
    Command { names: &["sshpass"], flags: &[("-p", Holds::Password)] },
    Command { names: &["ssh-keygen"], flags: &[("-N", Holds::Password)] },
    Command { names: &["7z", "7za", "7zr"], flags: &[("-p", Holds::Glued)] },
    Command { names: &["sqlcmd"], flags: &[("-P", Holds::Glued)] },
    Command {
        names: &["schtasks", "schtasks.exe"],
        flags: &[("/rp", Holds::Password), ("/RP", Holds::Password)],
    },
];

/// Flags of one letter with a word of their own, and the commands whose password that is.
const FLAGS: &[(u8, Holds, &[&str])] = &[
    (
        b'p',
        Holds::Password,
        &[
            "psexec",
            "sshpass",
            "smbclient",
            "docker login",
            "podman login",
            "skopeo login",
            "buildah login",
            "registry login",
            "az login",
            "az acr login",
            "oc login",
            "cf login",
            "mongo",
            "mongosh",
            "mongodump",
            "mongorestore",
            "mongoexport",
            "mongoimport",
            "twine upload",
            "crackmapexec",
            "netexec",
            "evil-winrm",
            "rdesktop",
            "ncftp",
            "ncftpget",
            "ncftpput",
        ],
    ),
    (
        b'P',
        Holds::Password,
        &["sqlcmd", "osql", "isql", "bcp", "zip", "unzip", "mosquitto_pub", "mosquitto_sub", "ipmitool"],
    ),
    (b'a', Holds::Password, &["redis-cli"]),
    (
        b'w',
        Holds::Password,
        &["ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldapwhoami", "ldappasswd", "ldapcompare"],
    ),
    (b'k', Holds::Password, &["openssl enc"]),
    (b'U', Holds::After(b'%'), &["smbclient", "rpcclient", "smbmap", "net rpc", "net ads"]),
    (b'u', Holds::After(b':'), &["curl", "http", "https", "wget"]),
    (b'u', Holds::After(b','), &["lftp"]),
    (b'a', Holds::After(b':'), &["http ", "https "]),
    (b'A', Holds::Password, SNMP),
    (b'X', Holds::Password, SNMP),
];
const SNMP: &[&str] = &["snmpget", "snmpset", "snmpwalk", "snmpbulkwalk", "snmptrap", "snmpinform"];

/// Commands with a password among their plain words: which of them it is, after a word of these if there are any.
const PLACES: &[(&str, &[&str], usize)] =
    &[("wpa_passphrase", &[], 1), ("rabbitmqctl", &["add_user", "change_password", "authenticate_user"], 2)];

/// What takes a password from its standard input.
const READERS: &[&str] =
    &["--password-stdin", "sudo -S", "chpasswd", "passwd --stdin", "--passphrase-fd 0", "--with-token"];

/// Words before a name that give it the value which follows: `setx NAME value`, `ENV NAME value`.
const SETTERS: &[&str] = &["env", "arg", "setx", "setenv", "-x", "-gx", "-ux", "-xg"];
/// The same, in two words.
const TWO_SETTERS: &[&str] =
    &["configure set", "config set", "git config", "config --global", "config --add"];
/// Settings whose names alone say that a password follows.
const SETTINGS: &[&str] =
    &["requirepass", "masterauth", "sentinel auth-pass", "bindpw", "rootpw", "pre-shared-key"];

/// Every name that [`Scan::command`] knows.
static KNOWN: LazyLock<Dictionary> = LazyLock::new(|| {
    let others = ["htpasswd", "net", "echo", "sqlplus", "secret", "ConvertTo-SecureString", "auth"];
    let places = PLACES.iter().map(|p| p.0);
    let all: Vec<&'static str> =
        COMMANDS.iter().flat_map(|c| c.names).copied().chain(others).chain(places).collect();
    Dictionary::new(&[&all])
});

impl Scan<'_, '_> {
    /// The name of a command, perhaps, from `start` to `end`: its passwords.
    pub(crate) fn command(&mut self, start: usize, end: usize) -> Look<bool> {
        let name = &self.window.text[start..end];
        // Most names are none of a command: one look says so.
        if KNOWN.get(name) == 0 {
            return Ok(false);
        }
        if let Some(command) = COMMANDS.iter().find(|c| c.names.iter().any(|n| name == n.as_bytes())) {
            self.flags(command, end)?;
            if name == b"mysql" {
                self.mysql(start, end)?;
            }
        } else if let Some(&(_, first, place)) = PLACES.iter().find(|p| name == p.0.as_bytes()) {
            if self.window.at(end)? != Some(b' ') {
                return Ok(false);
            }
            self.placed(first, place, end)?;
        } else if name == b"auth" && self.window.back(start, 6) == b"stats " {
            self.held(Holds::After(b':'), end)?;
        } else if name == b"htpasswd" {
            self.htpasswd(end)?;
        } else if name == b"sqlplus" {
            self.sqlplus(end)?;
        } else if name == b"net" {
            self.net(end)?;
        } else if name == b"echo" {
            self.echo(end)?;
        } else if name == b"secret" && self.window.back(start, 16).ends_with(b"kubectl create ") {
            self.literals(end)?;
        } else if name == b"ConvertTo-SecureString" {
            let word = b" -String";
            let at = if self.window.starts_with(end, word)? { end + word.len() } else { end };
            self.assigned(Kind::Password, Sign::Pair, at)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// The command's flags on the rest of its line.
    fn flags(&mut self, command: &Command, end: usize) -> Look<()> {
        let window = self.window;
        let line = command_end(window, end)?;
        for at in end + 1..line {
            let first = matches!(window.text[at], b'-' | b'/')
                && matches!(window.text[at - 1], b' ' | b'\t' | b'"' | b'\'' | b'[');
            let flag = command
                .flags
                .iter()
                .find(|(flag, _)| first && window.text[at..].starts_with(flag.as_bytes()));
            let Some(&(flag, holds)) = flag else { continue };
            let behind = at + flag.len();
            // ["curl", "-u", "bob:x"]
            let close = window.run(behind, &QUOTES.or(ByteSet::of(b"\\")), 4)?;
            if close > behind {
                let next = window.run(close, &ByteSet::of(b", "), 4)?;
                let open = window.at(next)?.is_some_and(|b| QUOTES.has(b) || b == b'\\');
                if holds != Holds::Glued && open && window.text[close] == b',' {
                    self.held(holds, next)?;
                }
                if open {
                    continue;
                }
            }
            let apart = window.at(behind)?.is_some_and(|b| b == b' ' || b == b'=');
            // A longer flag, or one whose word is read elsewhere.
            if flag.len() > 2 && !apart || holds == Holds::Glued && (apart || behind >= line) {
                continue;
            }
            // ` -u ` and its like have a trigger of their own.
            if flag.len() == 2 && apart && FLAGS.iter().any(|f| f.0 == flag.as_bytes()[1]) {
                continue;
            }
            self.held(holds, behind + usize::from(apart))?;
        }
        Ok(())
    }

    /// ` -p ` or another flag of one letter stands at `at`: the password of a command that is known to take one so.
    pub(crate) fn flag(&mut self, at: usize) -> Look<()> {
        let window = self.window;
        let letter = window.text[at + 2];
        if !FLAGS.iter().any(|f| f.0 == letter) {
            return Ok(());
        }
        let before = window.back(at + 1, 256);
        let cut = before.iter().rposition(|b| matches!(b, b'\n' | b'|' | b';' | b'&')).map_or(0, |i| i + 1);
        match holder(letter, &before[cut..]) {
            Some(holds) => self.held(holds, at + 4),
            None => Ok(()),
        }
    }

    /// `"-p"` or its like stands at `at`: the flag of a command in a list, `["redis-cli", "-a", "x"]`.
    pub(crate) fn listed_flag(&mut self, at: usize) -> Look<()> {
        let window = self.window;
        let Some(letter) = window.at(at + 2)? else { return Ok(()) };
        let close = window.run(at + 3, &ByteSet::of(b"\\"), 8)?;
        if window.at(close)? != Some(window.text[at]) || !FLAGS.iter().any(|f| f.0 == letter) {
            return Ok(());
        }
        let value = window.run(close + 1, &SPACE.or(ByteSet::of(b",")), 64)?;
        if !window.text[close..value].contains(&b',') {
            return Ok(());
        }
        // The words of the list, as a command line has them.
        let before = window.back(at, 256);
        let cut = before.iter().rposition(|b| matches!(b, b';' | b')' | b'}' | b']')).map_or(0, |i| i + 1);
        let mut line: Vec<u8> = Vec::with_capacity(256);
        for (i, &b) in before.iter().enumerate().skip(cut) {
            let escape = matches!(b, b'n' | b'r' | b't') && i > cut && before[i - 1] == b'\\';
            if (b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/')) && !escape {
                line.push(b);
            } else if line.last().is_some_and(|b| *b != b' ') {
                line.push(b' ');
            }
        }
        match holder(letter, &line) {
            Some(holds) if self.value(Sign::Pair, value)?.is_some() => self.held(holds, value),
            _ => Ok(()),
        }
    }

    /// What a flag holds, at `at`.
    fn held(&mut self, holds: Holds, at: usize) -> Look<()> {
        let window = self.window;
        let Some(value) = self.value(Sign::Blank, at)? else { return Ok(()) };
        let text = &window.text[value.start..value.end];
        match holds {
            Holds::Password | Holds::Glued => {
                // The word is the password, even this one.
                if let Some(rule) =
                    self.engine.parsers.password.filter(|_| text.eq_ignore_ascii_case(b"password"))
                {
                    self.push(rule, rank::KEYED, value.start, value.end, 0);
                } else {
                    self.judge(Kind::Password, Sign::Blank, value);
                }
            }
            Holds::After(sign) => {
                if let Some(i) = memchr::memchr(sign, text).filter(|i| *i > 0 && *i + 1 < text.len()) {
                    self.judge(Kind::Password, Sign::Blank, Value { start: value.start + i + 1, ..value });
                }
            }
        }
        Ok(())
    }

    /// The plain word number `place` behind the command, whose first is one of `first`.
    fn placed(&mut self, first: &[&str], place: usize, end: usize) -> Look<()> {
        let mut at = end;
        for n in 0..=place {
            let Some(value) = self.shell_word(at)? else { break };
            let word = &self.window.text[value.start..value.end];
            if n == 0 && !first.is_empty() && !first.iter().any(|f| word == f.as_bytes()) {
                break;
            }
            if n == place && chosen::may_be(word) {
                self.judge(Kind::Password, Sign::Blank, value);
            }
            at = value.end + usize::from(value.quoted);
        }
        Ok(())
    }

    /// The name of a driver in code: `sql.Open("mysql", "user:x@/db")`, `new PDO("mysql:host=db", "user", "x")`.
    fn mysql(&mut self, start: usize, end: usize) -> Look<()> {
        let window = self.window;
        let Some(quote) = window.before(start).filter(|b| QUOTES.has(*b)) else { return Ok(()) };
        if window.back(start - 1, 4) == b"PDO(" {
            return self.nth_argument(start - 2, 2);
        }
        let open = window.run(end + 1, &ByteSet::of(b", "), 4)?;
        if window.at(end)? != Some(quote) || window.at(open)? != Some(quote) {
            return Ok(());
        }
        let Some(value) = self.value(Sign::Pair, open)? else { return Ok(()) };
        let text = &window.text[value.start..value.end];
        let (Some(colon), Some(at)) = (memchr::memchr(b':', text), memchr::memrchr(b'@', text)) else {
            return Ok(());
        };
        if colon > 0 && colon + 1 < at && text[at..].contains(&b'/') && !text[colon..].starts_with(b"://") {
            let password = Value { start: value.start + colon + 1, end: value.start + at, quoted: true };
            self.judge(Kind::Password, Sign::Pair, password);
        }
        Ok(())
    }

    /// `htpasswd -b file user password`; without a file with `-n`.
    fn htpasswd(&mut self, end: usize) -> Look<()> {
        let window = self.window;
        let (mut at, mut skip, mut given) = (end, 2, false);
        while let Some(value) = self.shell_word(at)? {
            let word = &window.text[value.start..value.end];
            if let Some(letters) = word.strip_prefix(b"-") {
                given |= letters.contains(&b'b');
                skip -= usize::from(letters.contains(&b'n') && skip == 2);
            } else if skip == 0 {
                self.judge(Kind::Password, Sign::Blank, value);
                break;
            } else if given {
                skip -= 1;
            } else {
                break;
            }
            at = value.end + usize::from(value.quoted);
        }
        Ok(())
    }

    /// `sqlplus user/password@database`.
    fn sqlplus(&mut self, end: usize) -> Look<()> {
        let mut at = end;
        for _ in 0..4 {
            let Some(value) = self.shell_word(at)? else { break };
            let word = &self.window.text[value.start..value.end];
            let password = memchr::memchr(b'/', word).map(|i| i + 1).filter(|i| *i > 1);
            if let Some(from) = password {
                let to = memchr::memrchr(b'@', word).filter(|i| *i > from).unwrap_or(word.len());
                if chosen::may_be(&word[from..to]) {
                    let place = Value { start: value.start + from, end: value.start + to, quoted: false };
                    self.judge(Kind::Password, Sign::Blank, place);
                }
                break;
            }
            if !word.starts_with(b"-") {
                break;
            }
            at = value.end + usize::from(value.quoted);
        }
        Ok(())
    }

    /// `net user name password`, `net use target password`.
    fn net(&mut self, end: usize) -> Look<()> {
        let window = self.window;
        let (mut at, mut n) = (end, 0);
        while n < 3 {
            let Some(value) = self.shell_word(at)? else { break };
            let word = &window.text[value.start..value.end];
            if n == 0 && word != b"user" && word != b"use" || word.starts_with(b"/") {
                break;
            }
            // The drive that a target gets.
            if n == 1 && (word == b"*" || word.len() == 2 && word[1] == b':') {
                at = value.end;
                continue;
            }
            // A sentence about nets goes on in words.
            let ends = window.at(value.end + usize::from(value.quoted))?;
            if n == 2 && ends.is_none_or(|b| SPACE.has(b)) && chosen::may_be(word) {
                self.judge(Kind::Password, Sign::Blank, value);
            }
            at = value.end + usize::from(value.quoted);
            n += 1;
        }
        Ok(())
    }

    /// `echo password | reader`.
    fn echo(&mut self, end: usize) -> Look<()> {
        let window = self.window;
        let mut at = end;
        for _ in 0..3 {
            let Some(value) = self.shell_word(at)? else { break };
            let close = value.end + usize::from(value.quoted);
            let word = &window.text[value.start..value.end];
            if word.starts_with(b"-") || word == b"%s" || word == b"%s\\n" {
                at = close;
                continue;
            }
            let pipe = window.run(close, &ByteSet::of(b" \t"), 8)?;
            if window.at(pipe)? != Some(b'|') {
                break;
            }
            let line = window.run(pipe, &ByteSet::of(b"\n").complement(), 160)?;
            let reader = &window.text[pipe..line];
            if READERS.iter().any(|r| crate::index::find(reader, r.as_bytes()).is_some()) {
                let pair = crate::index::find(reader, b"chpasswd").is_some();
                let skip = memchr::memchr(b':', word).filter(|_| pair).map_or(0, |i| i + 1);
                self.judge(Kind::Password, Sign::Blank, Value { start: value.start + skip, ..value });
            }
            break;
        }
        Ok(())
    }

    /// `kubectl create secret … --from-literal=name=value`.
    fn literals(&mut self, end: usize) -> Look<()> {
        const FLAG: &[u8] = b"--from-literal";
        let window = self.window;
        let line = command_end(window, end)?;
        let mut at = end;
        while let Some(i) = crate::index::find(&window.text[at..line], FLAG) {
            at += i + FLAG.len();
            let name = at + 1;
            let sign = window.run(name, &ByteSet::of(b"= \t\n\"'").complement(), 64)?;
            if window.at(sign)? == Some(b'=') {
                self.assigned(Kind::Password, Sign::Blank, sign + 1)?;
            }
        }
        Ok(())
    }

    /// The next word of a command line.
    fn shell_word(&mut self, at: usize) -> Look<Option<Value>> {
        let blank = self.window.run(at, &ByteSet::of(b" \t"), 16)?;
        if blank == at
            || self.window.at(blank)?.is_none_or(|b| matches!(b, b'\n' | b'\r' | b'|' | b'>' | b'&'))
        {
            return Ok(None);
        }
        self.value(Sign::Assign, blank)
    }

    /// Whether the words before a name give it the value that follows: `setx NAME value`.
    pub(crate) fn is_set(&self, start: usize, name: &[u8]) -> bool {
        if SETTINGS.iter().any(|s| name == s.as_bytes()) {
            return true;
        }
        let before = self.window.back(start, 96);
        let line = memchr::memrchr(b'\n', before).map_or(before, |i| &before[i + 1..]);
        // A registry may stand before the name: `//host/:_authToken`.
        let line = &line[..line.len() - SPACE.complement().run_back(line)];
        let Some(line) = line.strip_suffix(b" ") else { return false };
        let word = &line[line.len() - SPACE.complement().run_back(line)..];
        SETTERS.iter().any(|s| word.eq_ignore_ascii_case(s.as_bytes()))
            || TWO_SETTERS.iter().any(|s| line.ends_with(s.as_bytes()))
            || has_word(line, b"rclone config")
    }
}

/// What the flag of this letter holds on a line that begins so.
fn holder(letter: u8, line: &[u8]) -> Option<Holds> {
    let named = |names: &[&str]| names.iter().any(|n| has_word(line, n.as_bytes()));
    FLAGS.iter().find(|f| f.0 == letter && named(f.2)).map(|f| f.1)
}

/// Where the command line that goes on at `at` ends: the line, a pipe, or [`LINE`] bytes.
fn command_end(window: Window<'_>, at: usize) -> Look<usize> {
    window.run(at, &ByteSet::of(b"\n|").complement(), LINE)
}

/// Whether `word` stands in `text`, and not as the end of a longer word.
fn has_word(text: &[u8], word: &[u8]) -> bool {
    (0..(text.len() + 1).saturating_sub(word.len())).any(|i| {
        if text[i] | 0x20 != word[0] || !text[i..i + word.len()].eq_ignore_ascii_case(word) {
            return false;
        }
        let after = text.get(i + word.len()).is_none_or(|b| !b.is_ascii_alphanumeric());
        after && (i == 0 || !text[i - 1].is_ascii_alphanumeric() && text[i - 1] != b'-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        assert!(has_word(b"sudo zip -r x", b"zip") && !has_word(b"gzip -r x", b"zip"));
    }
}
