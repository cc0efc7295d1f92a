//! Where the scanner stops to look: the beginnings of key words, and words that lead where they begin.

/// How many of the stems are those of names.
const NAMES: usize = 21;

/// What every word that can introduce a value begins with: where the scanner stops to look.
pub(crate) const STEMS: [&[u8]; NAMES + 43] = [
    b"pass",
    b"key",
    b"secr",
    b"toke",
    b"auth",
    b"cred",
    b"pwd",
    b"cook",
    b"bear",
    b"sess",
    b"sign",
    b"sig",
    b"basi",
    b"salt",
    b"nonc",
    b"csrf",
    b"psk",
    b"psw",
    b"pw_",
    b"jwt",
    b"otp",
    // Parts of the names of commands, and of words in SQL and in pairs.
    b"ysql",
    b"iadb",
    b"curl",
    b"echo",
    b"net ",
    b"7z ",
    b"7za ",
    b"7zr ",
    b"qlcm",
    b"tifi",
    b"secu",
    b"valu",
    b"qlpl",
    b"mnem",
    b"]:58",
    // Servers behind a user and a password.
    b"@10.",
    b"@127",
    b"@172",
    b"@192",
    b"@loc",
    // Names too short to be looked for without their sign.
    b"pw=",
    b"pw:",
    b"pw\"",
    b"pw'",
    b"pw =",
    b"-pw ",
    b"sid=",
    // Parts of connection strings.
    b"@tcp",
    b"@uni",
    b"e:th",
    b":543",
    b":*:*",
    // Words of other languages.
    b"se\xC3\xB1",
    b"enha",
    b"nwor",
    b"htwo",
    b"s\xC5\x82o",
    b"\xC5\x9Fif",
    b"\xD0\xBB\xD1\x8C",
    b"\xE5\xAF\x86\xE7",
    b"\xE5\x8F\xA3\xE4",
    b"\xE3\x83\x91\xE3",
    b"\xEB\xB9\x84\xEB",
];

/// Words that are looked for only where a word begins, which costs less: names of commands and of what takes a
/// password as an argument, numbers of social security, and flags in lists, before whose dash a quote stands.
pub(crate) const LEADS: [&[u8]; 26] = [
    b"schtasks",
    b"rabbitmqctl",
    b"DriverManager.",
    b"login(",
    b"simple_bind",
    b"ldap_bind(",
    b"WiFi.begin(",
    b"bindpw ",
    b"rootpw ",
    b"encrypt",
    b"ssn",
    b"SSN ",
    b"SSN:",
    b"SSN=",
    b"-a\"",
    b"-p\"",
    b"-P\"",
    b"-P'",
    b"-w\"",
    b"-a\\",
    b"-p\\",
    b"-P\\",
    b"-w\\",
    b"-a'",
    b"-p'",
    b"-w'",
];

/// The stems as numbers, and masks of the letters they have.
const NUMBERS: [(u32, u32); STEMS.len()] = {
    let mut t = [(0, 0); STEMS.len()];
    let mut n = 0;
    while n < t.len() {
        let mut i = 0;
        while i < STEMS[n].len() {
            t[n].0 |= ((STEMS[n][i] | 0x20) as u32) << (8 * i);
            t[n].1 |= 0xff << (8 * i);
            i += 1;
        }
        n += 1;
    }
    t
};

/// By the last five bits of a letter: the stems that begin with it, a bit each.
const BY_LETTER: [u64; 32] = {
    let mut t = [0; 32];
    let mut n = 0;
    while n < STEMS.len() {
        t[(STEMS[n][0] & 31) as usize] |= 1 << n;
        n += 1;
    }
    t
};

/// Whether one of the stems stands in these four letters, and if so, whether it is that of a name rather than of a
/// command or a word of another language.
#[inline]
pub(crate) fn begins(letters: [u8; 4]) -> Option<bool> {
    let lower = u32::from_le_bytes(letters) | 0x2020_2020;
    let mut bits = BY_LETTER[usize::from(letters[0] & 31)];
    while bits != 0 {
        let n = bits.trailing_zeros() as usize;
        let (stem, mask) = NUMBERS[n];
        if lower & mask == stem {
            // Those of names come first.
            return Some(n < NAMES);
        }
        bits &= bits - 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn stems_are_where_they_are(letters in "[7a-zA-Z@:=' ]{4}", stem in 0..STEMS.len(), take in 0..=4usize) {
            let stem = STEMS[stem];
            let mut four = *letters.as_bytes().first_chunk().expect("four");
            let take = take.min(stem.len());
            four[..take].copy_from_slice(&stem[..take]);
            let naive = STEMS.iter().position(|s| four[..s.len()].eq_ignore_ascii_case(s));
            prop_assert_eq!(begins(four), naive.map(|n| n < NAMES));
        }
    }
}
