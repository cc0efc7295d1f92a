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
        for &(n, back) in engine.index.url(window.text, host).iter().chain(&engine.index.url_any) {
            if let Some(start) = host.checked_sub(usize::from(back)) {
                let rule = &engine.index.rules[usize::from(n)];
                if self.shape(rule, start, true)? {
                    break;
                }
            }
        }
        let mut end = window.run(host, &AUTHORITY, AUTHORITY_MAX)?;
        let mut sign = memchr::memrchr(b'@', &window.text[host..end]);
        if sign.is_none() && window.at(end)?.is_some_and(|b| matches!(b, b'/' | b'#' | b'?' | b',')) {
            // Passwords are not always encoded as they should be: look on, if no port stands where it would.
            let colon = memchr::memchr(b':', &window.text[host..end]).map(|i| host + i + 1);
            if colon.is_some_and(|c| c < end && !window.text[c..end].iter().all(u8::is_ascii_digit)) {
                let wide = ByteSet::of(b" \t\r\n\"'`<>\\@").complement();
                let next = window.run(end, &wide, 128)?;
                if window.at(next)? == Some(b'@') {
                    sign = Some(next - host);
                    end = next;
                }
            }
        }
        let Some(sign) = sign else { return Ok(()) };
        let _ = end;
        let user = &window.text[host..host + sign];
        match memchr::memchr(b':', user) {
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

    fn user_token(&mut self, start: usize, user: &[u8]) {
        let Some(rule) = self.engine.parsers.userinfo_token else { return };
        let form = user.iter().all(|&b| ALNUM.has(b) || matches!(b, b'_' | b'-' | b'.' | b'~'));
        if user.len() >= 16 && form && random::is_random(user) && !decoy::is_stand_in(user) {
            self.push(rule, rank::HEADER, start, start + user.len(), 0);
        }
    }
}
