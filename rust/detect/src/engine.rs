//! The scanner: triggers in, candidates out.
//!
//! Each trigger's check is a pure function of the text around it, so a text may be scanned in one piece, in a stream
//! or in parts side by side, with the same candidates.

use crate::index::Index;
use crate::keys::Kind as Promise;
use crate::masks::{Level, Wordlists};
use crate::shape::Hit;
use crate::triggers::{self, Kind, Trigger, Wanted};
use crate::window::{Look, Window};

/// How far before a trigger a candidate may begin, or a check may look, at most.
pub(crate) const BACK: usize = 4096;

/// Something found: `start..end` must go, `public` of its first bytes may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) rule: u16,
    pub(crate) rank: u8,
    pub(crate) public: u16,
}

/// The rule numbers of the parsers; `None` when the policy leaves one out.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parsers {
    pub(crate) pem: Option<u16>,
    pub(crate) userinfo: Option<u16>,
    pub(crate) userinfo_token: Option<u16>,
    pub(crate) database: Option<u16>,
    pub(crate) authorization: Option<u16>,
    pub(crate) cookie: Option<u16>,
    pub(crate) aws_secret: Option<u16>,
    pub(crate) password: Option<u16>,
    pub(crate) api_key: Option<u16>,
    pub(crate) token: Option<u16>,
    pub(crate) secret: Option<u16>,
    pub(crate) key: Option<u16>,
    pub(crate) card: Option<u16>,
    pub(crate) ssn: Option<u16>,
    pub(crate) iban: Option<u16>,
    pub(crate) email: Option<u16>,
    pub(crate) phone: Option<u16>,
    pub(crate) ip: Option<u16>,
    pub(crate) mac: Option<u16>,
}

impl Parsers {
    /// The place of the parser that rule files call `name`.
    pub(crate) fn slot(&mut self, name: &str) -> Option<&mut Option<u16>> {
        Some(match name {
            "pem" => &mut self.pem,
            "userinfo" => &mut self.userinfo,
            "userinfo-token" => &mut self.userinfo_token,
            "database" => &mut self.database,
            "authorization" => &mut self.authorization,
            "cookie" => &mut self.cookie,
            "aws-secret" => &mut self.aws_secret,
            "password" => &mut self.password,
            "api-key" => &mut self.api_key,
            "token" => &mut self.token,
            "secret" => &mut self.secret,
            "key" => &mut self.key,
            "card" => &mut self.card,
            "ssn" => &mut self.ssn,
            "iban" => &mut self.iban,
            "email" => &mut self.email,
            "phone" => &mut self.phone,
            "ip" => &mut self.ip,
            "mac" => &mut self.mac,
            _ => return None,
        })
    }

    /// The rule for the value of a key of this kind.
    pub(crate) fn of(&self, kind: Promise) -> Option<u16> {
        match kind {
            Promise::Password => self.password,
            Promise::Secret => self.secret,
            Promise::Token => self.token,
            Promise::ApiKey => self.api_key,
            Promise::Key => self.key,
            Promise::Authorization => self.authorization,
            Promise::Cookie => self.cookie,
        }
    }
}

/// Everything a scan needs, compiled.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) level: Level,
    pub(crate) index: Index,
    pub(crate) lists: Wordlists,
    pub(crate) wanted: Wanted,
    pub(crate) parsers: Parsers,
}

/// One scan of one window.
pub(crate) struct Scan<'e, 't> {
    pub(crate) engine: &'e Engine,
    pub(crate) window: Window<'t>,
    /// How many encodings have been taken off: text found inside base64 inside a view is not opened without end.
    pub(crate) depth: u8,
    pub(crate) out: &'e mut Vec<Candidate>,
    /// Context words found before a token (kept to spare the allocation).
    pub(crate) words: Vec<u16>,
    /// A key that was read reaches up to here.
    pub(crate) key_end: usize,
    /// A view has been taken up to here.
    pub(crate) view_end: usize,
    /// A candidate was added whose line, which it waits for, is not all there.
    open: bool,
}

impl Engine {
    /// Adds the candidates whose triggers stand at `from` or later; returns the place up to which all triggers have
    /// been decided (the end of the window, if it is the end of the text).
    pub(crate) fn scan(&self, window: Window<'_>, from: usize, depth: u8, out: &mut Vec<Candidate>) -> usize {
        let mut scan = Scan {
            engine: self,
            window,
            depth,
            out,
            words: Vec::new(),
            key_end: 0,
            view_end: 0,
            open: false,
        };
        let mut done = window.text.len();
        triggers::each(self.level, &self.lists, self.wanted, window.text, from, |trigger| {
            // After the first place that needs more text, all later ones wait with it.
            if trigger.at < done && (scan.visit(trigger).is_err() || scan.open) {
                done = trigger.at;
                scan.open = false;
            }
        });
        if window.last {
            scan.last_word();
        }
        done
    }
}

impl Scan<'_, '_> {
    #[inline]
    fn visit(&mut self, trigger: Trigger) -> Look<()> {
        let Trigger { kind, at, len } = trigger;
        match kind {
            Kind::Run => self.run(at, len),
            Kind::Stem => self.stem(at),
            Kind::Literal => self.literal(at),
            Kind::Url => self.url(at),
            Kind::Dashes => self.dashes(at),
            Kind::Flag => self.flag(at),
            Kind::Mark => self.mark(at),
            Kind::Ssn => self.ssn(at),
            Kind::Digits => self.card(at),
            Kind::Iban => self.iban(at),
            Kind::At => self.email(at),
            Kind::Word => self.word(at),
        }
    }

    pub(crate) fn push(&mut self, rule: u16, rank: u8, start: usize, end: usize, public: usize) {
        debug_assert!(start < end && end <= self.window.text.len());
        self.open |= self.window.lines && self.window.line_end(end).is_err();
        self.out.push(Candidate { start, end, rule, rank, public: public.min(64) as u16 });
    }

    /// Adds a shape's hit.
    pub(crate) fn push_hit(&mut self, rule: u16, rank: u8, hit: &Hit) {
        let public = if hit.secret.0 == hit.start { hit.body - hit.start } else { 0 };
        self.push(rule, rank, hit.secret.0, hit.secret.1, public);
    }
}
