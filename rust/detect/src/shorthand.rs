//! `user:password@host` without a scheme before it: connection strings cut short, as programs log them.
//!
//! E-mail addresses, images and packages are written so, too. What tells them apart is the host: it has a port, a number
//! for its name, or a name that no mail goes to; and the password, which must look like one.

use crate::chosen;
use crate::class::{ALNUM, ByteSet};
use crate::decoy;
use crate::engine::Scan;
use crate::rule::rank;
use crate::window::Look;

/// What such an address is made of before its `@`.
const USERINFO: ByteSet = ByteSet::of(b" \t\r\n\"'`<>\\,;|()[]{}=@/").complement();
const USER: ByteSet = ALNUM.or(ByteSet::of(b"_.-"));
const HOST: ByteSet = ALNUM.or(ByteSet::of(b".-_"));
/// The longest address before its `@`, and the longest host.
const MAX: usize = 96;

/// What stands before a colon and is no user.
const SCHEMES: &[&str] =
    &["mailto", "sip", "sips", "xmpp", "acct", "email", "mail", "from", "to", "cc", "bcc", "sha256"];
/// Ends of names that are of no use outside of a network.
const INSIDE: &[&str] = &["localhost", ".local", ".internal", ".lan", ".corp", ".svc", ".intranet", ".home"];

impl Scan<'_, '_> {
    /// `@` stands at `at`.
    pub(crate) fn shorthand(&mut self, at: usize) -> Look<()> {
        let window = self.window;
        // Most signs stand behind a blank, or a name without a colon.
        let before = window.back(at, MAX);
        let word = &before[before.len() - USERINFO.run_back(before)..];
        let start = at - word.len();
        let Some(colon) = memchr::memchr(b':', word) else { return Ok(()) };
        let (user, password) = (&word[..colon], &word[colon + 1..]);
        if user.is_empty()
            || word.len() == MAX
            || window.before(start) == Some(b'/')
            || USER.run(user) < user.len()
            || user.iter().all(u8::is_ascii_digit)
            || !chosen::is(password)
            || password.contains(&b'-') && !password.iter().any(u8::is_ascii_uppercase)
            || password.contains(&b':')
            || decoy::is_reference(password, false)
            || SCHEMES.iter().any(|s| user.eq_ignore_ascii_case(s.as_bytes()))
        {
            return Ok(());
        }
        let end = window.run(at + 1, &HOST, MAX)?;
        let host = &window.text[at + 1..end];
        let port = window.at(end)? == Some(b':') && window.at(end + 1)?.is_some_and(|b| b.is_ascii_digit());
        let number = host.iter().all(|b| b.is_ascii_digit() || *b == b'.')
            && host.iter().filter(|b| **b == b'.').count() == 3;
        let inside = INSIDE.iter().any(|name| host.ends_with(name.as_bytes()));
        let named = ALNUM.or(ByteSet::of(b".-")).run(host) == host.len() && !host.is_empty();
        if (number || inside || port && named)
            && let Some(rule) = self.engine.parsers.userinfo
        {
            self.push(rule, rank::FORM, start + colon + 1, at, 0);
        }
        Ok(())
    }

    /// `[mail.host]:587 user:password`, as Postfix keeps them; the bracket stands at `at`.
    pub(crate) fn relay(&mut self, at: usize) -> Look<()> {
        let window = self.window;
        let blank = ByteSet::of(b" \t");
        let user = window.run(at + 5, &blank, 64)?;
        if user == at + 5 || !window.starts_with(at, b"]:587")? {
            return Ok(());
        }
        let colon = window.run(user, &ByteSet::of(b": \t\r\n").complement(), MAX)?;
        let end = window.run(colon + 1, &ByteSet::of(b" \t\r\n").complement(), MAX)?;
        let ends = window.at(end)?.is_none_or(|b| matches!(b, b'\r' | b'\n'));
        if let Some(rule) = self.engine.parsers.userinfo
            && window.at(colon)? == Some(b':')
            && colon > user
            && ends
            && end >= colon + 5
            && !decoy::is_reference(&window.text[colon + 1..end], false)
        {
            self.push(rule, rank::FORM, colon + 1, end, 0);
        }
        Ok(())
    }
}
